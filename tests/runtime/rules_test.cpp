// SPDX-License-Identifier: MIT
// Rules at run time, as the import of ONNX files uses them: what compilers print about a broken rule is what exceptions
// say, and a graph with one wrong number breaks the rule about that number.
#include "support/catch.hpp"

#include <dsl/dsl.hpp>
#include <dsl/rules/check_graph.hpp>
#include <dsl/rules/judge.hpp>
#include <dsl/rules/sentence.hpp>

#include <filesystem>
#include <fstream>
#include <functional>
#include <iterator>
#include <limits>
#include <set>
#include <string>
#include <vector>

namespace {

using namespace dsl;

/// The literals of a source file; those that only white space separates are one.
void add_literals(std::string const& source, std::set<std::string>& all) {
  std::string literal;
  bool inside = false;
  for (std::size_t i = 0; i < source.size(); ++i) {
    char const c = source[i];
    if (c == '"') {
      inside = !inside;
    } else if (inside) {
      literal += c == '\\' ? source[++i] : c;
    } else if (c != ' ' && c != '\n') {
      if (!literal.empty()) all.insert(literal);
      literal.clear();
    }
  }
}

using checked_network = network<image<2, 8, 8>, conv2d<4, 3>, batch_norm<>, relu, residual<conv2d<4, 1>>, max_pool2d<2>,
                                concat<identity, conv2d<2, 1>>, dropout<0.5>, flatten, dense<3>, softmax>;

/// A graph whose numbers can be changed.
struct changeable {
  std::vector<node> nodes;
  std::vector<int> edges;
  std::vector<tensor> tensors;
  std::vector<parameter> parameters;
  graph_view view;

  explicit changeable(graph_view const& g)
      : nodes(g.nodes, g.nodes + g.size.nodes),
        edges(g.edges, g.edges + g.size.edges),
        tensors(g.tensors, g.tensors + g.size.tensors),
        parameters(g.parameters, g.parameters + g.size.parameters),
        view(g) {
    view.nodes = nodes.data(), view.edges = edges.data(), view.tensors = tensors.data();
    view.parameters = parameters.data();
  }
  node& first(op kind) {
    for (node& n : nodes)
      if (n.kind == kind) return n;
    throw std::logic_error("the network has no such node");
  }
  int& operand(node const& n) { return edges[static_cast<std::size_t>(n.first_input)]; }
  tensor& output(node const& n) { return tensors[static_cast<std::size_t>(n.output)]; }
  parameter& own(node const& n, int i) { return parameters[static_cast<std::size_t>(n.first_parameter + i)]; }
};

/// Returns the first rule that a change of the network breaks, and the node.
std::pair<rule, int> broken_by(std::function<void(changeable&)> const& change) {
  changeable c(checked_network::view());
  change(c);
  detail::graph_check check(c.view);
  bool const holds = check.holds(c.view.size.nodes);
  CHECK(holds == (check.why.broken == rule::holds));
  return {check.why.broken, check.node};
}

}  // namespace

TEST_CASE("rules: an exception has the sentence that compilers print", "[rules]") {
  std::set<std::string> printed, said;
  for (auto const& file :
       std::filesystem::directory_iterator(std::filesystem::path(TYPENET_TEST_DATA) / "../../include/dsl/rules")) {
    if (file.path().filename().string().rfind("broken", 0) != 0) continue;
    std::ifstream in(file.path());
    add_literals({std::istreambuf_iterator<char>(in), {}}, printed);
  }
  CHECK(printed.size() > 80);
  for (int i = 1; i < static_cast<int>(rule::is_reported); ++i) {
    rule const r = static_cast<rule>(i);
    std::string const sentence = rules::sentence_of(r);
    INFO(i << ": " << sentence);
    CHECK(said.insert(sentence).second);  // no two rules say the same
    if (r == rule::own_rule) continue;
    CHECK(printed.count(sentence) == 1);
  }
  CHECK(std::string(rules::sentence_of(rule::holds)).find("every rule") != std::string::npos);
  CHECK(said.count(rules::sentence_of(rule::is_reported)) == 0);
}

TEST_CASE("rules: one wrong number breaks the rule about it, at its node", "[rules]") {
  auto const breaks = [](rule wanted, op kind, std::function<void(changeable&, node&)> const& change) {
    int at = -1;
    auto const [found, node] = broken_by([&](changeable& c) {
      dsl::node& n = c.first(kind);
      at = static_cast<int>(&n - c.nodes.data());
      change(c, n);
    });
    INFO("wanted: " << rules::sentence_of(wanted) << "\nfound:  " << rules::sentence_of(found));
    CHECK(found == wanted);
    CHECK(node == at);
  };
  CHECK(broken_by([](changeable&) {}).first == rule::holds);

  breaks(rule::inputs_come_first, op::batch_norm, [](changeable&, node& n) { n.kind = op::input; });
  breaks(rule::nodes_take_their_operands, op::flatten, [](changeable&, node& n) { n.inputs = 0; });
  breaks(rule::values_are_in_the_graph, op::conv2d, [](changeable& c, node const& n) { c.operand(n) = n.output; });
  breaks(rule::values_are_in_the_graph, op::conv2d, [](changeable& c, node const& n) { c.operand(n) = -1; });
  breaks(rule::nodes_own_their_parameters, op::batch_norm, [](changeable&, node& n) { n.parameters = 3; });
  breaks(rule::outputs_have_a_size, op::dense, [](changeable& c, node const& n) { c.output(n).shape.channels = 0; });
  for (op const kind : {op::activation, op::batch_norm, op::dropout, op::flatten, op::softmax, op::concat})
    breaks(rule::shapes_follow_from_operands, kind, [](changeable& c, node const& n) { ++c.output(n).shape.channels; });
  breaks(rule::shapes_follow_from_operands, op::max_pool2d,
         [](changeable& c, node const& n) { ++c.output(n).shape.channels; });
  breaks(rule::windows_lead_to_their_output, op::max_pool2d,
         [](changeable& c, node const& n) { ++c.output(n).shape.height; });

  breaks(rule::kernel_is_positive, op::conv2d, [](changeable&, node& n) { n.window.height = 0; });
  breaks(rule::stride_is_positive, op::conv2d, [](changeable&, node& n) { n.window.stride = 0; });
  breaks(rule::stride_is_positive, op::conv2d, [](changeable&, node& n) { n.window.column_stride = -1; });
  breaks(rule::dilation_is_positive, op::conv2d, [](changeable&, node& n) { n.window.column_dilation = 0; });
  breaks(rule::windows_lead_to_their_output, op::conv2d, [](changeable&, node& n) { n.window.stride = 2; });
  breaks(rule::groups_divide_the_channels, op::conv2d, [](changeable&, node& n) { n.groups = 3; });
  breaks(rule::pool_window_is_positive, op::max_pool2d, [](changeable&, node& n) { n.window.width = 0; });
  breaks(rule::pools_are_not_dilated, op::max_pool2d, [](changeable&, node& n) { n.window.row_dilation = 2; });
  breaks(rule::pool_window_fits_16_bits, op::max_pool2d,
         [](changeable&, node& n) { n.window.height = 256, n.window.width = 257; });

  for (double const wrong : {0.0, -1.0, 1e30, std::numeric_limits<double>::quiet_NaN()})
    breaks(rule::epsilon_is_positive, op::batch_norm, [&](changeable&, node& n) { n.epsilon = wrong; });
  for (double const wrong : {-0.1, 1.0, std::numeric_limits<double>::quiet_NaN()}) {
    breaks(rule::momentum_keeps_less_than_all, op::batch_norm, [&](changeable&, node& n) { n.momentum = wrong; });
    breaks(rule::dropout_rate_is_a_probability, op::dropout, [&](changeable&, node& n) { n.rate = wrong; });
  }

  breaks(rule::parameters_come_in_order, op::conv2d,
         [](changeable& c, node const& n) { c.own(n, 0).role = role::bias; });
  breaks(rule::parameters_come_in_order, op::batch_norm,
         [](changeable& c, node const& n) { c.own(n, 1).role = role::gamma; });
  for (int i = 0; i < 4; ++i) {
    breaks(rule::parameters_fit_their_node, op::conv2d, [&](changeable& c, node const& n) { ++c.own(n, 0).dims[i]; });
    breaks(rule::parameters_fit_their_node, op::dense, [&](changeable& c, node const& n) { ++c.own(n, 1).dims[i]; });
  }
  breaks(rule::kernels_have_fans, op::dense, [](changeable& c, node const& n) { c.own(n, 0).fan_in = 0; });
  breaks(rule::branches_share_their_shape, op::add,
         [](changeable& c, node const& n) { c.operand(n) = 0; });  // the network's input has other channels
  breaks(rule::branches_share_height_and_width, op::concat, [](changeable& c, node const& n) { c.operand(n) = 0; });
}
