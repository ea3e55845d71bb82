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
template <class Network = checked_network>
std::pair<rule, int> broken_by(std::function<void(changeable&)> const& change) {
  changeable c(Network::view());
  change(c);
  detail::graph_check check(c.view);
  bool const holds = check.holds(c.view.size.nodes);
  CHECK(holds == (check.why.broken == rule::holds));
  return {check.why.broken, check.node};
}

/// Checks that a change of the first node of a kind breaks a rule, at this node.
template <class Network>
void check_broken(rule wanted, op kind, std::function<void(changeable&, node&)> const& change) {
  int at = -1;
  auto const [found, node] = broken_by<Network>([&](changeable& c) {
    dsl::node& n = c.first(kind);
    at = static_cast<int>(&n - c.nodes.data());
    change(c, n);
  });
  INFO("operation " << static_cast<int>(kind) << "\nwanted: " << rules::sentence_of(wanted)
                    << "\nfound:  " << rules::sentence_of(found));
  CHECK(found == wanted);
  CHECK(node == at);
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
    check_broken<checked_network>(wanted, kind, change);
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

TEST_CASE("rules: operations on channels, pixels and tokens have rules of their own", "[rules]") {
  using picture = network<image<8, 8, 8>, group_norm<2>, multiply<identity, sequential<global_avg_pool2d, relu>>,
                          local_response_norm<3>, channel_shuffle<4>, upsample2d<2>, zero_pad2d<1>,
                          conv2d_transpose<8, 2, stride<2>>, channel_slice<2, 4>, merge_pixels<2>, flatten, dense<3>>;
  using sentence = network<token_numbers<6>, embedding<20, 8>, position_embedding, class_token, pointwise_dense<24>,
                           attention<2>, transpose_tokens, token_slice<1, 3>, flatten, dense<3>>;
  using waves = network<sequence<2, 12>, lstm<4>, flatten, dense<3>>;
  using grown = std::function<void(changeable&, node&)>;
  grown const wider = [](changeable& c, node const& n) { ++c.output(n).shape.width; };
  grown const deeper = [](changeable& c, node const& n) { ++c.output(n).shape.channels; };
  CHECK(broken_by<picture>([](changeable&) {}).first == rule::holds);
  CHECK(broken_by<sentence>([](changeable&) {}).first == rule::holds);
  CHECK(broken_by<waves>([](changeable&) {}).first == rule::holds);

  for (op const kind : {op::group_norm, op::multiply, op::local_response_norm, op::channel_shuffle, op::zero_pad2d,
                        op::merge_pixels, op::upsample_nearest})
    check_broken<picture>(rule::shapes_follow_from_operands, kind, deeper);
  for (op const kind : {op::class_token, op::position_embedding, op::attention, op::transpose_tokens})
    check_broken<sentence>(rule::shapes_follow_from_operands, kind, deeper);
  check_broken<sentence>(rule::shapes_follow_from_operands, op::embedding, wider);
  check_broken<waves>(rule::shapes_follow_from_operands, op::lstm, wider);
  check_broken<picture>(rule::windows_lead_to_their_output, op::conv2d_transpose,
                        [](changeable& c, node const& n) { c.output(n).shape.width += 2; });  // its stride
  check_broken<picture>(rule::slice_is_in_the_channels, op::channel_slice,
                        [](changeable&, node& n) { n.first_channel = 5; });
  check_broken<picture>(rule::slice_is_in_the_channels, op::channel_slice,
                        [](changeable&, node& n) { n.first_channel = -1; });
  check_broken<picture>(rule::shapes_follow_from_operands, op::channel_slice, wider);
  check_broken<sentence>(rule::slice_is_in_the_tokens, op::token_slice,
                         [](changeable&, node& n) { n.first_channel = 6; });
  check_broken<sentence>(rule::shapes_follow_from_operands, op::token_slice, deeper);

  check_broken<picture>(rule::norm_groups_divide_the_channels, op::group_norm,
                        [](changeable&, node& n) { n.groups = 3; });
  check_broken<picture>(rule::shuffle_divides_the_channels, op::channel_shuffle,
                        [](changeable&, node& n) { n.groups = 0; });
  check_broken<picture>(rule::response_size_is_odd, op::local_response_norm,
                        [](changeable&, node& n) { n.groups = 4; });
  check_broken<picture>(rule::response_numbers_are_positive, op::local_response_norm,
                        [](changeable&, node& n) { n.power = 0; });
  check_broken<picture>(rule::windows_lead_to_their_output, op::zero_pad2d,
                        [](changeable&, node& n) { n.window.stride = 2; });
  check_broken<sentence>(rule::embedding_has_a_vocabulary, op::embedding, [](changeable&, node& n) { n.groups = 0; });
  check_broken<sentence>(rule::attention_has_whole_heads, op::attention, [](changeable&, node& n) { n.groups = 3; });
  for (op const kind : {op::embedding, op::class_token, op::position_embedding})
    check_broken<sentence>(rule::parameters_fit_their_node, kind,
                           [](changeable& c, node const& n) { ++c.own(n, 0).dims[0]; });
  for (int i = 0; i < 4; ++i)
    check_broken<waves>(rule::parameters_fit_their_node, op::lstm,
                        [&](changeable& c, node const& n) { ++c.own(n, i).dims[0]; });
}
