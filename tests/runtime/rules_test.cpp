// SPDX-License-Identifier: MIT
// Rules at run time, as the import of ONNX files uses them: what compilers print about a broken rule is what exceptions
// say, and a graph with one wrong number breaks the rule about that number.
#include "support/catch.hpp"

#include <dsl/dsl.hpp>
#include <dsl/rules/check_graph.hpp>
#include <dsl/rules/diagnose.hpp>
#include <dsl/rules/rule_message.hpp>

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
  INFO("operation " << static_cast<int>(kind) << "\nwanted: " << rules::rule_message(wanted)
                    << "\nfound:  " << rules::rule_message(found));
  CHECK(found == wanted);
  CHECK(node == at);
}

/// Returns what diagnose says about a network that a function appends to a builder at run time, as an import does.
verdict judged(std::function<value(builder&)> const& lower) {
  builder counting;
  lower(counting);
  graph_sizes const size = counting.sizes();
  auto const many = [](int n) { return static_cast<std::size_t>(n); };
  std::vector<node> nodes(many(size.nodes));
  std::vector<int> edges(many(size.edges));
  std::vector<tensor> tensors(many(size.tensors));
  std::vector<parameter> parameters(many(size.parameters));
  std::vector<scope> scopes(many(size.scopes));
  builder b(nodes.data(), edges.data(), tensors.data(), parameters.data(), scopes.data());
  value const out = lower(b);
  return detail::diagnose(b, {nodes.data(), edges.data(), tensors.data(), parameters.data(), scopes.data(), size}, out);
}

/// Appends an input; one with a name is a further input.
value input(builder& b, shape const& s, std::string const& name = "") {
  if (name.empty()) return b.append({.kind = op::input}, nullptr, 0, s);
  int const parent = b.enter(0, {"named_input", 11});
  b.name_layer({name.data(), static_cast<int>(name.size())});
  value const v = b.append({.kind = op::input}, nullptr, 0, s);
  b.leave(parent);
  return v;
}

parameter kernel_of(int out, int in, int height = 1, int width = 1) {
  return {.role = role::kernel, .dims = {out, in, height, width}, .fan_in = 1, .fan_out = 1};
}

/// Returns what diagnose says about a network of one node, whose operands are inputs.
verdict verdict_on(node const& n, std::vector<shape> const& in, shape const& out,
                   std::vector<parameter> const& own = {}) {
  static constexpr char const* names[] = {"", "second", "third"};
  return judged([&](builder& b) {
    std::vector<value> operands;
    for (shape const& s : in) operands.push_back(input(b, s, names[operands.size()]));
    for (parameter const& p : own) b.parameter(p);
    return b.append(n, operands.data(), static_cast<int>(operands.size()), out);
  });
}

template <class T>
void computes_nothing(custom_call<T> const&) {}
custom_op const complete{"own", computes_nothing<float>, computes_nothing<float>, computes_nothing<double>,
                         computes_nothing<double>};

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
    std::string const sentence = rules::rule_message(r);
    INFO(i << ": " << sentence);
    CHECK(said.insert(sentence).second);  // no two rules say the same
    if (r == rule::own_rule) continue;
    CHECK(printed.count(sentence) == 1);
  }
  CHECK(std::string(rules::rule_message(rule::holds)).find("every rule") != std::string::npos);
  CHECK(said.count(rules::rule_message(rule::is_reported)) == 0);
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
                          conv2d_transpose<8, 2, stride<2>>, channel_slice<2, 4>, flatten, dense<3>>;
  using sentence = network<token_numbers<6>, embedding<20, 8>, position_embedding, class_token, pointwise_dense<24>,
                           attention<2>, token_slice<1, 3>, flatten, dense<3>>;
  using waves = network<sequence<2, 12>, lstm<4>, flatten, dense<3>>;
  using grown = std::function<void(changeable&, node&)>;
  grown const wider = [](changeable& c, node const& n) { ++c.output(n).shape.width; };
  grown const deeper = [](changeable& c, node const& n) { ++c.output(n).shape.channels; };
  CHECK(broken_by<picture>([](changeable&) {}).first == rule::holds);
  CHECK(broken_by<sentence>([](changeable&) {}).first == rule::holds);
  CHECK(broken_by<waves>([](changeable&) {}).first == rule::holds);

  for (op const kind : {op::group_norm, op::multiply, op::local_response_norm, op::channel_shuffle, op::zero_pad2d,
                        op::upsample_nearest})
    check_broken<picture>(rule::shapes_follow_from_operands, kind, deeper);
  for (op const kind : {op::class_token, op::position_embedding, op::attention})
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

TEST_CASE("rules: a node of an import is checked against its operands", "[rules]") {
  shape const image{4, 8, 8}, row{12, 1, 5};
  auto const breaks = [](rule wanted, node const& n, std::vector<shape> const& in, shape const& out,
                         std::vector<parameter> const& own = {}) {
    verdict const why = verdict_on(n, in, out, own);
    INFO("wanted: " << rules::rule_message(wanted) << "\nfound:  " << rules::rule_message(why.broken));
    CHECK(why.broken == wanted);
    CHECK((wanted == rule::holds || why.kind == n.kind));
    return why;
  };
  auto const holds = [&](node const& n, std::vector<shape> const& in, shape const& out,
                         std::vector<parameter> const& own = {}) { breaks(rule::holds, n, in, out, own); };
  auto const strays = [&](node const& n, std::vector<shape> const& in, shape const& out,
                          std::vector<parameter> const& own = {}) {
    return breaks(rule::shapes_follow_from_operands, n, in, out, own).first;
  };

  holds({.kind = op::activation}, {image}, image);
  for (shape const& other : {shape{4, 9, 8}, shape{4, 8, 9}})
    CHECK(strays({.kind = op::activation}, {image}, other) == image);
  for (shape const& none : {shape{0, 8, 8}, shape{4, 0, 8}, shape{4, 8, 0}})
    breaks(rule::outputs_have_a_size, {.kind = op::activation}, {image}, none);
  CHECK(strays({.kind = op::flatten}, {image}, {256, 2, 1}) == shape{256});
  std::vector<parameter> const three_units{kernel_of(3, 4), {.role = role::bias, .dims = {3, 1, 1, 1}}};
  holds({.kind = op::dense}, {{4}}, {3}, three_units);
  breaks(rule::dense_takes_a_flat_input, {.kind = op::dense}, {image}, {3}, three_units);
  CHECK(strays({.kind = op::dense}, {{4}}, {3, 2, 1}, three_units) == shape{3});
  breaks(rule::nodes_own_their_parameters, {.kind = op::dense}, {{4}}, {3});
  breaks(rule::nodes_own_their_parameters, {.kind = op::flatten}, {{4}}, {4}, {kernel_of(3, 4)});
  breaks(rule::kernels_have_fans, {.kind = op::dense}, {{4}}, {3},
         {{.role = role::kernel, .dims = {3, 4, 1, 1}, .fan_in = 1}, three_units[1]});
  breaks(rule::nodes_take_their_operands, {.kind = op::concat}, {image}, image);
  holds({.kind = op::concat}, {image, image, image}, {12, 8, 8});
  CHECK(breaks(rule::branches_share_height_and_width, {.kind = op::concat}, {image, image, {4, 8, 9}}, {12, 8, 8})
            .found == 2);
  CHECK(strays({.kind = op::add}, {image, image}, {5, 8, 8}) == image);
  holds({.kind = op::multiply}, {image, {1, 8, 8}}, image);
  CHECK(breaks(rule::branches_broadcast, {.kind = op::multiply}, {image, {3, 8, 8}}, image).second == shape{3, 8, 8});
  CHECK(strays({.kind = op::multiply}, {{1, 8, 8}, {4}}, {1, 8, 8}) == image);
  CHECK(breaks(rule::slice_is_in_the_channels, {.kind = op::channel_slice}, {image}, {5, 8, 8}).wanted == 5);
  CHECK(breaks(rule::slice_is_in_the_tokens, {.kind = op::token_slice}, {row}, {12, 1, 6}).wanted == 6);
  CHECK(breaks(rule::slice_is_in_the_tokens, {.kind = op::token_slice, .first_channel = -1}, {row}, {12, 1, 1}).found ==
        -1);
  CHECK(strays({.kind = op::upsample_nearest}, {image}, {4, 4, 17}) == shape{4, 8, 16});
  CHECK(breaks(rule::embedding_reads_token_numbers, {.kind = op::embedding, .groups = 9}, {{2, 1, 5}}, {3, 1, 5},
               {kernel_of(9, 3)})
            .first == shape{2, 1, 5});
  verdict const computed = judged([](builder& b) {
    value v = input(b, {1, 1, 5});
    v = b.append({.kind = op::activation}, v, v.shape);
    b.parameter(kernel_of(9, 3));
    return b.append({.kind = op::embedding, .groups = 9}, v, {3, 1, 5});
  });
  CHECK(computed.broken == rule::embedding_reads_token_numbers);
  CHECK(computed.found == 0);
  breaks(rule::response_size_is_odd, {.kind = op::local_response_norm, .groups = 0}, {image}, image);
  for (double const wrong : {-1.0, 1e30, std::numeric_limits<double>::infinity()})
    CHECK(breaks(rule::slope_is_not_negative, {.kind = op::activation, .function = function::leaky_relu, .rate = wrong},
                 {image}, image)
              .number == wrong);
  // As a float this rate is 1, so that nothing would be kept.
  breaks(rule::dropout_rate_is_a_probability, {.kind = op::dropout, .rate = 1 - 1e-12}, {image}, image);

  // All four parameters of an lstm with three channels for each place, or for the last one.
  std::vector<parameter> const gates{kernel_of(12, 2),
                                     {.role = role::recurrent_kernel, .dims = {12, 3, 1, 1}, .fan_in = 1, .fan_out = 1},
                                     {.role = role::bias, .dims = {12, 1, 1, 1}},
                                     {.role = role::recurrent_bias, .dims = {12, 1, 1, 1}}};
  holds({.kind = op::lstm}, {{2, 1, 5}}, {3, 1, 5}, gates);
  holds({.kind = op::lstm}, {{2, 1, 5}}, {3, 1, 1}, gates);
  CHECK(strays({.kind = op::lstm}, {{2, 1, 5}}, {3, 1, 2}, gates) == shape{3, 1, 5});
  CHECK(breaks(rule::sequences_have_one_row, {.kind = op::lstm}, {{2, 2, 5}}, {3, 1, 5}, gates).first ==
        shape{2, 2, 5});
  CHECK(breaks(rule::parameters_fit_their_node, {.kind = op::lstm}, {{2, 1, 5}}, {600'000'000, 1, 1}, gates).wanted ==
        0x7fffffff);  // 4 * 600,000,000 is no int
}

TEST_CASE("rules: a window of an import must lead to its output", "[rules]") {
  shape const image{4, 8, 8};
  auto const slides = [&](op kind, window const& w, shape const& out, int groups = 1) {
    std::vector<parameter> own;
    if (kind == op::conv2d) own = {kernel_of(out.channels, 4 / groups, w.height, w.width)};
    return verdict_on({.kind = kind, .window = w, .groups = groups}, {image}, out, own);
  };
  auto const found = [&](rule wanted, op kind, window const& w) {
    verdict const why = slides(kind, w, image);
    CHECK(why.broken == wanted);
    return why.found;
  };
  CHECK(slides(op::conv2d, {3, 3, 1, 1, 1}, image).holds());
  CHECK(slides(op::conv2d, {3, 3, 1, 2, 2, 0, 2, 2}, image).holds());
  for (window const& astray : {window{3, 3, 1, -1, 1}, {3, 3, 1, 1, -1}, {3, 3, 1, 3, 1}, {3, 3, 1, 1, 3}}) {
    verdict const why = slides(op::conv2d, astray, image);
    CHECK(why.broken == rule::windows_lead_to_their_output);
    CHECK(why.window == astray);
  }
  CHECK(found(rule::dilation_is_positive, op::conv2d, {3, 3, 1, 1, 1, 0, 0, 1}) == 0);
  CHECK(found(rule::dilation_is_positive, op::conv2d, {3, 3, 1, 1, 1, 0, -2, 3}) == -2);
  CHECK(found(rule::dilation_is_positive, op::conv2d, {3, 3, 1, 1, 1, 0, 2, -3}) == -3);
  CHECK(found(rule::pools_are_not_dilated, op::avg_pool2d, {3, 3, 1, 1, 1, 0, 1, 2}) == 2);
  CHECK(slides(op::avg_pool2d, {0, 3, 1, 1, 1}, image).broken == rule::pool_window_is_positive);
  CHECK(slides(op::conv2d, {3, 3, 1, 1, 1}, {6, 8, 8}, 2).holds());
  CHECK(slides(op::conv2d, {3, 3, 1, 1, 1}, {6, 8, 8}, 4).found == 6);  // four groups of the input's four channels
  CHECK(slides(op::conv2d, {3, 3, 1, 1, 1}, {6, 8, 8}, 4).broken == rule::groups_divide_the_channels);
  CHECK(slides(op::conv2d, {3, 3, 1, 1, 1}, {6, 8, 8}, 3).broken == rule::groups_divide_the_channels);

  window const by_two_and_one{1, 1, 1, 2, 1};
  CHECK(slides(op::zero_pad2d, by_two_and_one, {4, 12, 10}).holds());
  for (window const& astray : {window{2, 1, 1, 2, 1},
                               {1, 2, 1, 2, 1},
                               {1, 1, 1, 2, 1, 2},
                               {1, 1, 1, 2, 1, 0, 2, 1},
                               {1, 1, 1, -2, 1},
                               {1, 1, 1, 2, -1}})
    CHECK(slides(op::zero_pad2d, astray, {4, 12, 10}).broken == rule::windows_lead_to_their_output);
  for (shape const& small : {shape{4, 9, 10}, shape{4, 12, 8}}) {
    verdict const why = slides(op::zero_pad2d, by_two_and_one, small);
    CHECK(why.broken == rule::shapes_follow_from_operands);
    CHECK(why.first == shape{4, 10, 9});  // the smallest
  }
}

TEST_CASE("rules: an attention of an import has whole heads, and windows that fill its image", "[rules]") {
  shape const image{12, 8, 8};
  auto const attends = [&](op kind, int heads, window const& w, shape const& out, shape const& biases = {}) {
    std::vector<shape> in{image};
    std::vector<parameter> own;
    if (kind == op::window_attention) own = {kernel_of((2 * w.height - 1) * (2 * w.width - 1), heads)};
    if (kind == op::bounded_window_attention) in.push_back(biases);
    return verdict_on({.kind = kind, .window = w, .groups = heads}, in, out, own);
  };
  shape const out{4, 8, 8}, biases{2, 7, 7};
  window const whole{4, 4}, tall{3, 4}, wide{4, 3}, moved{4, 4, 1, 1, 3};
  for (op const kind : {op::causal_attention, op::window_attention, op::bounded_window_attention}) {
    INFO(static_cast<int>(kind));
    CHECK(attends(kind, 2, whole, out, biases).holds());
    CHECK(attends(kind, 3, whole, out, {3, 7, 7}).broken == rule::attention_has_whole_heads);
    CHECK(attends(kind, 3, whole, out, {3, 7, 7}).wanted == 3);
    verdict const more = attends(kind, 2, whole, {5, 8, 8}, biases);
    CHECK(more.broken == rule::shapes_follow_from_operands);
    CHECK(more.first == out);  // a third of the channels
    if (kind == op::causal_attention) continue;
    CHECK(attends(kind, 2, moved, out, biases).holds());
    for (window const& astray : {tall, wide}) {
      verdict const why = attends(kind, 2, astray, out, biases);
      CHECK(why.broken == rule::windows_fill_the_image);
      CHECK((why.first == image && why.wanted == 3 && why.found == 0));
    }
    CHECK(attends(kind, 2, {4, 4, 1, 4, 0}, out, biases).found == 4);  // moved by a whole window
    CHECK(attends(kind, 2, {4, 4, 1, 0, 0, 0, 2, 2}, out, biases).holds());
    CHECK(attends(kind, 2, {4, 4, 1, 0, 0, 0, 2, 3}, out, biases).found == -1);  // pixels that are too far apart
  }
  CHECK(attends(op::bounded_window_attention, 2, whole, out, {2, 7, 6}).first == biases);

  for (shape const& offsets : {shape{2, 7, 7}, shape{2, 1, 3}})
    CHECK(verdict_on({.kind = op::window_offsets}, {image}, offsets).holds());
  for (shape const& offsets : {shape{3, 7, 7}, shape{2, 6, 7}, shape{2, 7, 6}}) {
    verdict const why = verdict_on({.kind = op::window_offsets}, {image}, offsets);
    CHECK(why.broken == rule::shapes_follow_from_operands);
    CHECK(why.first == shape{2, 7, 7});
  }
}

TEST_CASE("rules: what a softmax or a convolution gets is plausible, or intended", "[rules]") {
  auto const softmax_of = [](shape const& from, std::vector<node> const& before, bool intended = false) {
    return judged([&](builder& b) {
      if (intended) b.set_intended();
      value v = input(b, from);
      for (node const& n : before) v = b.append(n, v, v.shape);
      return b.append({.kind = op::softmax}, v, v.shape);
    });
  };
  node const bent{.kind = op::activation, .function = function::tanh};
  std::vector<node> const moves{{.kind = op::flatten}, {.kind = op::channel_slice}, {.kind = op::channel_shuffle}};
  CHECK(softmax_of({4}, {bent}).holds());
  CHECK(softmax_of({1}, {bent}).broken == rule::softmax_has_classes);
  CHECK(softmax_of({1}, {bent}, true).holds());
  std::vector<node> positive{{.kind = op::softmax}, {.kind = op::dropout}, {.kind = op::stochastic_depth}};
  for (function const f : {function::relu, function::relu6, function::sigmoid, function::hard_sigmoid})
    positive.push_back({.kind = op::activation, .function = f});
  for (node const& n : positive) {
    std::vector<node> all{bent, n};
    for (std::size_t i = 0; i <= moves.size(); ++i) {
      verdict const why = softmax_of({4}, all);
      CHECK(why.broken == rule::softmax_takes_logits);
      CHECK(why.found == static_cast<int>(n.kind));
      CHECK((n.kind == op::softmax || softmax_of({4}, all, true).holds()));
      if (i < moves.size()) all.push_back(moves[i]);
    }
    all.push_back(bent);
    CHECK(softmax_of({4}, all).holds());
  }
  CHECK(judged([&](builder& b) {
          value v = input(b, {4, 1, 3});
          v = b.append({.kind = op::activation}, v, v.shape);
          v = b.append({.kind = op::token_slice}, v, {4, 1, 1});
          return b.append({.kind = op::softmax}, v, v.shape);
        }).broken == rule::softmax_takes_logits);

  // A kernel of 3x3 on a single pixel, which may be what a convolution has left of an image.
  auto const convolved = [](bool intended, std::function<value(builder&)> const& pixel, int height = 3, int width = 3) {
    return judged([&](builder& b) {
      if (intended) b.set_intended();
      value v = pixel(b);
      v = b.append({.kind = op::activation}, v, v.shape);
      b.parameter(kernel_of(2, v.shape.channels, height, width));
      return b.append({.kind = op::conv2d, .window = {height, width, 1, height / 2, width / 2}}, v, {2, 1, 1});
    });
  };
  std::function<value(builder&)> const pixels[] = {
      [](builder& b) { return input(b, {4}); },
      [](builder& b) { return b.append({.kind = op::flatten}, input(b, {1, 2, 2}), {4}); },
      [](builder& b) {
        value const in = input(b, {4});
        b.parameter(kernel_of(3, 4)), b.parameter({.role = role::bias, .dims = {3, 1, 1, 1}});
        return b.append({.kind = op::dense}, in, {3});
      }};
  for (auto const& pixel : pixels) {
    verdict const why = convolved(false, pixel);
    CHECK(why.broken == rule::convolutions_see_images);
    CHECK(why.second == shape{1, 3, 3});
    CHECK(convolved(true, pixel).holds());
    CHECK(convolved(false, pixel, 1, 1).holds());
    CHECK(convolved(false, pixel, 3, 1).broken == rule::convolutions_see_images);
    CHECK(convolved(false, pixel, 1, 3).broken == rule::convolutions_see_images);
  }
  CHECK(convolved(false,
                  [](builder& b) {  // a sum may be one of what convolutions have left
                    value const both[] = {input(b, {4}), input(b, {4}, "other")};
                    return b.append({.kind = op::add}, both, {4});
                  })
            .holds());
  CHECK(convolved(false, [](builder& b) {
          return b.append({.kind = op::avg_pool2d, .window = {3, 3}}, input(b, {4, 3, 3}), {4, 1, 1});
        }).holds());
}

TEST_CASE("rules: an operation of your own is complete before anything calls it", "[rules]") {
  auto const why = [&](std::function<void(custom_op&)> const& change, shape const& out = {4}) {
    custom_op own = complete;
    change(own);
    return verdict_on({.kind = op::custom, .custom = &own}, {{4}}, out);
  };
  auto const with = [&](std::function<void(custom_op&)> const& change, shape const& out = {4}) {
    rule const broken = why(change, out).broken;
    CHECK((broken == rule::holds || broken == rule::custom_operations_are_complete));
    return broken == rule::holds;
  };
  using operations::makes;
  CHECK(with([](custom_op&) {}));
  CHECK(with([](custom_op&) {}, {5, 3, 1}));
  for (makes const each : {makes::same_shape, makes::flat, makes::units})
    CHECK(with([&](custom_op& own) { own.facts.output = each; }));
  CHECK_FALSE(with([](custom_op& own) { own.facts.output = makes::windows; }));
  CHECK_FALSE(with([](custom_op& own) { own.facts.inputs = 2; }));
  CHECK_FALSE(with([](custom_op& own) { own.facts.or_more = true; }));
  CHECK_FALSE(with([](custom_op& own) { own.facts.parameters = 1; }));
  CHECK_FALSE(with([](custom_op& own) { own.facts.kept = operations::kept::argmax; }));
  CHECK_FALSE(with([](custom_op& own) { own.facts.gradients = operations::gradient_steps::copies; }));
  CHECK_FALSE(with([](custom_op& own) { own.facts.renames = operations::renames::in_inference; }));
  CHECK_FALSE(with([](custom_op& own) { own.facts.reads[0] = operations::values::second_input; }));
  CHECK_FALSE(with([](custom_op& own) { own.facts.takes_flat = true; }));
  CHECK_FALSE(with([](custom_op& own) { own.forward_float = nullptr; }));
  CHECK_FALSE(with([](custom_op& own) { own.backward_float = nullptr; }));
  CHECK_FALSE(with([](custom_op& own) { own.forward_double = nullptr; }));
  CHECK_FALSE(with([](custom_op& own) { own.backward_double = nullptr; }));
  verdict const without = verdict_on({.kind = op::custom}, {{4}}, {4});
  CHECK(without.broken == rule::custom_operations_are_complete);
  CHECK((without.wanted == 1 && without.found == 0));
  // What is computed in place keeps its shape.
  for (bool operations::row::* const in_place :
       {&operations::row::forward_in_place, &operations::row::gradient_in_place,
        &operations::row::gradient_over_input}) {
    CHECK(with([&](custom_op& own) { own.facts.*in_place = true; }));
    verdict const other = why([&](custom_op& own) { own.facts.*in_place = true; }, {5, 3, 1});
    CHECK(other.broken == rule::operations_in_place_keep_their_shape);
    CHECK((other.first == shape{4} && other.second == shape{5, 3, 1}));
  }
}

TEST_CASE("rules: the network of an import as a whole", "[rules]") {
  shape const image{4, 8, 8};
  auto const inputs = [&](std::string const& first, std::string const& second) {
    return judged([&](builder& b) {
      value all[] = {input(b, image), input(b, image, first), {}};
      all[1] = b.append({.kind = op::activation}, all[1], image);
      all[2] = input(b, image, second);
      return b.append({.kind = op::add}, all, image);
    });
  };
  CHECK(inputs("left", "right").holds());
  CHECK(inputs("left", "lift").holds());
  verdict const twice = inputs("left", "left");
  CHECK(twice.broken == rule::inputs_have_names_of_their_own);
  CHECK(twice.found == 3);  // the node

  // The two further outputs are in layers 0 and 1, each on a device of its own.
  auto const outputs = [&](std::string const& first, std::string const& second, int device = 0, bool is_last = false) {
    return judged([&](builder& b) {
      value v = input(b, image);
      int index = 0;
      for (std::string const* const name : {&first, &second}) {
        int const parent = b.enter(index++, {"named_output", 12});
        b.name_layer({name->data(), static_cast<int>(name->size())});
        int const before = b.move_to(name == &second ? device : 0);
        v = b.append({.kind = op::activation}, v, image);
        b.mark_output(v);
        b.move_to(before);
        b.leave(parent);
      }
      return is_last ? v : b.append({.kind = op::activation}, v, image);
    });
  };
  CHECK(outputs("left", "right").holds());
  for (char const* const taken : {"left", "main", "val", "val_x", "val_"}) {
    verdict const why = outputs("left", taken);
    INFO(taken);
    bool const is_double = std::string(taken) == "left";
    CHECK(why.broken == (is_double ? rule::outputs_have_names_of_their_own : rule::output_names_are_not_reserved));
    CHECK((why.depth == 1 && why.path[0] == 1));
  }
  for (char const* const free : {"value", "va", "val-x", "mains"}) CHECK(outputs("left", free).holds());
  verdict const apart = outputs("left", "right", 1);
  CHECK(apart.broken == rule::outputs_share_a_device);
  CHECK((apart.found == 1 && apart.wanted == 0));
  verdict const at_the_end = outputs("left", "right", 0, true);
  CHECK(at_the_end.broken == rule::outputs_come_before_the_last_layer);
  CHECK((at_the_end.depth == 1 && at_the_end.path[0] == 1));
  for (bool const is_last : {false, true}) {  // of two layers, what the network returns is the first one's input
    verdict const why = judged([&](builder& b) {
      value const in = input(b, image);
      int const parent = b.enter(0, {"named_output", 12});
      b.name_layer({"left", 4});
      value const further = b.append({.kind = op::activation}, in, image);
      b.mark_output(further);
      b.leave(parent);
      if (!is_last) b.append({.kind = op::activation}, further, image);
      return in;
    });
    CHECK(why.broken == (is_last ? rule::outputs_come_before_the_last_layer : rule::values_are_read));
    CHECK((!is_last || (why.depth == 1 && why.path[0] == 0)));
  }

  // A value that nothing reads is a mistake at its layer: layer 0 of layer 2, at most 24 deep.
  for (int const deeper : {0, 30}) {
    verdict const unread = judged([&](builder& b) {
      value const in = input(b, image);
      std::vector<int> parents{b.enter(2, {"outer", 5})};
      for (int i = 0; i < deeper; ++i) parents.push_back(b.enter(3, {"nested", 6}));
      parents.push_back(b.enter(0, {"inner", 5}));
      b.append({.kind = op::flatten}, in, {256});
      while (!parents.empty()) b.leave(parents.back()), parents.pop_back();
      return b.append({.kind = op::activation}, in, image);
    });
    CHECK(unread.broken == rule::values_are_read);
    CHECK((unread.kind == op::flatten && unread.first == shape{256}));
    CHECK(unread.depth == (deeper == 0 ? 2 : deepest_layer));
    CHECK((unread.path[0] == 2 && unread.path[1] == (deeper == 0 ? 0 : 3)));
  }

  // Device 1 of three has no layer.
  auto const placed = [&](std::vector<int> const& devices) {
    return judged([&](builder& b) {
      value v = input(b, image);
      for (int const d : devices) b.move_to(d), v = b.append({.kind = op::activation}, v, image);
      return v;
    });
  };
  CHECK(placed({0, 1, 2}).holds());
  verdict const idle = placed({0, 2});
  CHECK(idle.broken == rule::devices_have_layers);
  CHECK((idle.wanted == 3 && idle.found == 1));
  CHECK(placed({1}).found == 0);

  // Of a wrong node and a broken rule, the one in front counts.
  auto const two_faults = [&](bool node_is_first) {
    return judged([&](builder& b) {
      value v = input(b, image);
      if (!node_is_first) b.require(false, {.broken = rule::own_rule, .found = 7});
      v = b.append({.kind = op::activation}, v, {5, 8, 8});
      if (node_is_first) b.require(false, {.broken = rule::own_rule, .found = 7});
      return v;
    });
  };
  CHECK(two_faults(true).broken == rule::shapes_follow_from_operands);
  CHECK(two_faults(false).broken == rule::own_rule);
  CHECK(two_faults(false).found == 7);
}

TEST_CASE("rules: of a broken network, the nodes that no plan could be made for are replaced", "[rules]") {
  changeable c(checked_network::view());
  int const count = c.view.size.nodes;
  std::vector<node> const sound = c.nodes;
  detail::make_harmless(c.nodes.data(), c.edges.data(), count);
  CHECK(c.nodes == sound);

  for (node& n : c.nodes) n.device = 3;
  node &first = c.nodes[0], &conv = c.first(op::conv2d), &norm = c.first(op::batch_norm),
       &pool = c.first(op::max_pool2d), &dense = c.first(op::dense), &join = c.first(op::concat);
  first.kind = op::dense, first.inputs = 1;
  conv.parameters = 0;
  norm.inputs = 2;
  c.operand(pool) = count + 5;
  c.operand(dense) = -1;
  join.kind = op::custom, join.custom = nullptr;
  node& bent = c.first(op::activation);
  bent.kind = op::custom, bent.custom = &complete;
  detail::make_harmless(c.nodes.data(), c.edges.data(), count);
  CHECK((first.kind == op::input && first.inputs == 0));
  for (node const* const n : {&conv, &norm, &pool, &dense, &join}) {
    CHECK(n->kind == op::concat);
    CHECK(n->parameters == 0);
  }
  for (int i = 0; i < count; ++i) {
    node const& n = c.nodes[static_cast<std::size_t>(i)];
    CHECK(n.device == 0);
    for (int k = n.first_input; k < n.first_input + n.inputs; ++k)
      CHECK((c.edges[static_cast<std::size_t>(k)] >= 0 && c.edges[static_cast<std::size_t>(k)] < i));
  }
  CHECK((bent.kind == op::custom && bent.custom == &complete));
  node const& untouched = c.first(op::flatten);
  CHECK(untouched == sound[static_cast<std::size_t>(&untouched - c.nodes.data())]);
}
