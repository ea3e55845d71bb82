// SPDX-License-Identifier: MIT
#pragma once

#include <dsl/graph/facts.hpp>
#include <dsl/graph/graph.hpp>
#include <dsl/graph/verdict.hpp>

namespace dsl::detail {

/// Whether a pointer is null. With -fsanitize=undefined, GCC does not evaluate the comparison of a valid address as a
/// constant.
template <class P>
constexpr bool is_null(P p) {
  return (!__builtin_is_constant_evaluated() || __builtin_constant_p(!p)) && !p;
}
/// Whether a custom_op has its functions, and declares only facts that a custom_call can satisfy: one input, no
/// parameters, and nothing saved for the backward pass.
constexpr bool is_complete(custom_op const* own) {
  if (is_null(own)) return false;
  operations::row const& r = own->facts;
  bool const callable = r.inputs == 1 && !r.or_more && r.parameters == 0 && r.kept == operations::kept::nothing &&
                        r.gradients == operations::gradient_steps::one_an_input &&
                        r.renames == operations::renames::never &&
                        !contains(r.reads[0], operations::values::second_input) && !r.takes_flat &&
                        (r.output == operations::makes::any_shape || r.output == operations::makes::same_shape ||
                         r.output == operations::makes::flat || r.output == operations::makes::units);
  return callable && !is_null(own->forward_float) && !is_null(own->backward_float) && !is_null(own->forward_double) &&
         !is_null(own->backward_double);
}

/// Whether a node has the number of operands that its operation takes.
constexpr bool takes_enough(operations::row const& row, int inputs) {
  return inputs == row.inputs || (row.or_more && inputs > row.inputs);
}

/// Whether windows on `in` rows or columns give `out` rows or columns. The padding before and after the image must be
/// smaller than a window, so that every window without dilation contains a row of the image, and there must be no room
/// for another window.
constexpr bool side_leads(int in, int out, window_side const& s) {
  long long const behind = s.behind(in, out);
  return s.before >= 0 && s.before < s.span() && behind < s.span() && behind > -s.stride;
}
/// Whether a window of positive size gives the shape `out` for the input shape `in`: {3, 3, 2, 0, 0} gives 15x15 for
/// 32x32.
constexpr bool window_leads(window const& w, shape const& in, shape const& out) {
  return side_leads(in.height, out.height, w.rows()) && side_leads(in.width, out.width, w.columns());
}

/// Whether a node has the number of parameters that its operation takes.
constexpr bool owns_enough(operations::row const& row, int parameters) {
  return parameters <= row.parameters && parameters >= row.parameters - row.optional;
}

/// Checks, node by node, what plans and executors rely on: with a wrong shape, window or parameter they would read
/// beyond the end of a tensor. `why` is the first violation, with its scope as the place. The code is optimised for
/// evaluation by compilers, where a call takes as long as ten comparisons.
class graph_check {
 public:
  constexpr explicit graph_check(graph_view const& g, bool is_intended = false) : g_(g), is_intended_(is_intended) {}

  verdict why{};
  int node = 0;  // the one being checked

  /// Checks the first `nodes` nodes. It first checks their operands and parameters, since no plan can be made if these
  /// are wrong, and then everything else.
  constexpr bool holds(int nodes) {
    for (node = 0; node < nodes; ++node) {
      dsl::node const& n = g_.nodes[node];
      op const kind = n.kind;
      if (kind == op::custom && !is_complete(n.custom)) return breaks(rule::custom_operations_are_complete, 1, 0);
      operations::row const& row = facts_of(n);
      if ((kind == op::input) != (node == 0) && !is_named_input(n)) return breaks(rule::inputs_come_first, 0, node);
      for (int other = 1; kind == op::input && other < node; ++other)
        if (is_named_input(g_.nodes[other]) && same_name(n, g_.nodes[other]))
          return breaks(rule::inputs_have_names_of_their_own, 0, node);
      if (n.inputs != row.inputs && !takes_enough(row, n.inputs))
        return breaks(rule::nodes_take_their_operands, row.inputs, n.inputs);
      for (int i = 0; i < n.inputs; ++i)
        if (int const t = g_.edges[n.first_input + i]; t < 0 || t >= node)
          return breaks(rule::values_are_in_the_graph, node, t);
      bool const in_place = row.forward_in_place || row.gradient_in_place || row.gradient_over_input;
      if (kind == op::custom && in_place && !(g_.input_shape(n, 0) == g_.output_shape(n)))
        return breaks(rule::operations_in_place_keep_their_shape, g_.input_shape(n, 0), g_.output_shape(n));
      if (n.parameters != row.parameters && !owns_enough(row, n.parameters))
        return breaks(rule::nodes_own_their_parameters, row.parameters, n.parameters);
      if (!fits(n, row)) return false;
    }
    return true;
  }

 private:
  /// Whether an input's scope has a name, which named_input<...> gives it.
  constexpr bool is_named_input(dsl::node const& n) const { return n.kind == op::input && g_.scopes[n.scope].is_named; }
  constexpr bool same_name(dsl::node const& a, dsl::node const& b) const {
    detail::name const &one = g_.scopes[a.scope].name, &two = g_.scopes[b.scope].name;
    bool same = one.size == two.size;
    for (int i = 0; same && i < one.size; ++i) same = one.data[i] == two.data[i];
    return same;
  }
  /// Whether x is in [least, below); false for NaN.
  static constexpr bool is_between(double x, double least, double below) { return x >= least && x < below; }
  static constexpr int narrowed(long long n) { return n > 0x7fffffffLL ? 0x7fffffff : static_cast<int>(n); }

  /// Returns the largest multiple of `size` up to `most`, and at least `size`.
  static constexpr int multiple(int size, int most) { return most < size ? size : most - most % size; }

  constexpr bool fits(dsl::node const& n, operations::row const& row) {
    shape const out = g_.tensors[n.output].shape;
    if (out.channels < 1 || out.height < 1 || out.width < 1) return breaks(rule::outputs_have_a_size, out, out);
    if (n.kind == op::input) return true;
    shape const in = g_.input_shape(n);
    if (row.takes_flat && !in.is_flat()) return breaks(rule::dense_takes_a_flat_input, in, out);
    if (n.kind == op::softmax && !softmax_fits(in, g_.input(n))) return false;
    using operations::makes;
    switch (row.output) {
      case makes::same_shape:
        if (in.channels != out.channels || in.height != out.height || in.width != out.width)
          return breaks(rule::shapes_follow_from_operands, in, out);
        break;
      case makes::windows:
        if (!window_fits(n, in, out) || !sees_image(n, in)) return false;
        break;
      case makes::pooled:
        if (!window_fits(n, in, out)) return false;
        if (in.channels != out.channels)
          return breaks(rule::shapes_follow_from_operands, {in.channels, out.height, out.width}, out);
        break;
      case makes::flat:
        if (!out.is_flat() || out.channels != in.size())
          return breaks(rule::shapes_follow_from_operands, {narrowed(in.size()), 1, 1}, out);
        break;
      case makes::units:
        if (!out.is_flat()) return breaks(rule::shapes_follow_from_operands, {out.channels, 1, 1}, out);
        break;
      case makes::joined:
      case makes::common_shape:
        if (!branches_fit(n, in, out)) return false;
        break;
      case makes::broadcast: {
        shape const other = g_.input_shape(n, 1);
        if (!broadcasts(in, other)) return breaks(rule::branches_broadcast, in, other);
        if (broadcast(in, other) != out) return breaks(rule::shapes_follow_from_operands, broadcast(in, other), out);
        break;
      }
      case makes::stretched:
        if (!window_fits(n, out, in)) return false;
        break;
      case makes::sliced: {
        int const from = n.first_channel;
        if (from < 0 || out.channels > in.channels || from > in.channels - out.channels) {
          why.first = in;
          return breaks(rule::slice_is_in_the_channels, out.channels, from);
        }
        shape const slice{out.channels, in.height, in.width};
        if (slice != out) return breaks(rule::shapes_follow_from_operands, slice, out);
        break;
      }
      case makes::enlarged: {
        shape const whole{in.channels, multiple(in.height, out.height), multiple(in.width, out.width)};
        if (whole != out) return breaks(rule::shapes_follow_from_operands, whole, out);
        break;
      }
      case makes::with_token: {
        shape const longer{in.channels, 1, narrowed(in.area() + 1)};
        if (longer != out) return breaks(rule::shapes_follow_from_operands, longer, out);
        break;
      }
      case makes::some_tokens: {
        int const from = n.first_channel;
        if (from < 0 || out.width > in.area() || from > in.area() - out.width) {
          why.first = in;
          return breaks(rule::slice_is_in_the_tokens, out.width, from);
        }
        shape const slice{in.channels, 1, out.width};
        if (slice != out) return breaks(rule::shapes_follow_from_operands, slice, out);
        break;
      }
      case makes::looked_up: {
        if (!is_vocabulary(n.groups)) return breaks(rule::embedding_has_a_vocabulary, out.channels, n.groups);
        bool const is_input = g_.nodes[g_.tensors[g_.input(n)].producer].kind == op::input;
        if (in.channels != 1 || !is_input) {
          why.first = in;
          return breaks(rule::embedding_reads_token_numbers, 1, is_input ? 1 : 0);
        }
        shape const each{out.channels, in.height, in.width};
        if (each != out) return breaks(rule::shapes_follow_from_operands, each, out);
        break;
      }
      case makes::offsets:
        if (out.channels != 2 || out.height % 2 == 0 || out.width % 2 == 0)
          return breaks(rule::shapes_follow_from_operands, {2, out.height | 1, out.width | 1}, out);
        break;
      case makes::merged: {
        int const side = in.height / out.height;
        if (side < 1 || in.height % side != 0 || in.width % side != 0) {
          why.first = in;
          return breaks(rule::windows_fill_the_image, side, 0);
        }
        shape const fewer{narrowed(1LL * in.channels * side * side), in.height / side, in.width / side};
        if (fewer != out) return breaks(rule::shapes_follow_from_operands, fewer, out);
        if (contains(row.options, operations::options::groups) && !divides(n.groups, in.channels))
          return groups_break(n, in);
        break;
      }
      case makes::squares: {
        int const side = out.height / in.height;
        long long const parts = 1LL * side * side;
        if (side < 1 || in.channels % parts != 0) {
          why.first = in;
          return breaks(rule::shuffle_divides_the_channels, parts, 0);
        }
        shape const more{static_cast<int>(in.channels / parts), narrowed(1LL * in.height * side),
                         narrowed(1LL * in.width * side)};
        if (more != out) return breaks(rule::shapes_follow_from_operands, more, out);
        if (!divides(n.groups, out.channels)) return groups_break(n, in);
        break;
      }
      case makes::unrolled: {
        if (in.height != 1) return breaks(rule::sequences_have_one_row, in, out);
        shape const whole{out.channels, 1, in.width}, last{out.channels, 1, 1};
        if (whole != out && last != out) return breaks(rule::shapes_follow_from_operands, whole, out);
        break;
      }
      case makes::transposed: {
        shape const turned{narrowed(in.area()), 1, in.channels};
        if (turned != out) return breaks(rule::shapes_follow_from_operands, turned, out);
        break;
      }
      case makes::padded:
        if (!padding_fits(n, in, out)) return false;
        break;
      case makes::any_shape: break;  // the author of a custom operation chooses its output
    }
    if (row.parameters > 0 && !parameters_fit(n, row, in, out)) return false;
    if (n.kind == op::channel_shuffle && !divides(n.groups, in.channels)) return groups_break(n, in);
    if (n.kind == op::group_norm && !divides(n.groups, in.channels)) {
      why.first = in;
      return breaks(rule::norm_groups_divide_the_channels, n.groups, 0);
    }
    if (n.kind == op::local_response_norm) return response_fits(n);
    if (n.kind == op::bounded_window_attention) {
      if (!windows_fill(n.window, in)) return windows_break(n, in);
      shape const biases{n.groups, 2 * n.window.height - 1, 2 * n.window.width - 1};
      if (g_.input_shape(n, 1) != biases)
        return breaks(rule::shapes_follow_from_operands, biases, g_.input_shape(n, 1));
    }
    if (n.kind == op::head_norm && !has_whole_heads(in.channels, n.groups)) {
      why.first = in;
      return breaks(rule::attention_has_whole_heads, n.groups, 0);
    }
    if (n.kind == op::attention || n.kind == op::causal_attention || n.kind == op::window_attention ||
        n.kind == op::bounded_window_attention) {
      if (!has_whole_heads(in.channels, n.groups)) {
        why.first = in;
        return breaks(rule::attention_has_whole_heads, n.groups, 0);
      }
      if (out.channels != in.channels / 3)
        return breaks(rule::shapes_follow_from_operands, {in.channels / 3, in.height, in.width}, out);
    }
    constexpr auto checked = static_cast<unsigned>(operations::options::window | operations::options::groups |
                                                   operations::options::counted_padding |
                                                   operations::options::first_channel | operations::options::power);
    auto const used = static_cast<unsigned>(row.options) & ~checked;
    return used == 0 || options_fit(n, used);
  }

  /// Whether the window of channels has an odd size, so that a channel is in its middle, and the divisor is positive.
  constexpr bool response_fits(dsl::node const& n) {
    if (n.groups < 1 || n.groups % 2 == 0) return breaks(rule::response_size_is_odd, 1, n.groups);
    double const numbers[] = {n.rate, n.power, n.epsilon};
    for (double x : numbers)
      if (!is_between(x, 1e-30, 1e30)) return breaks(rule::response_numbers_are_positive, x);
    return true;
  }

  /// Whether an operation only moves values, so that the operation before it also decides what a softmax after it gets.
  static constexpr bool only_moves(op kind) {
    return kind == op::flatten || kind == op::channel_slice || kind == op::channel_shuffle || kind == op::token_slice;
  }

  /// Whether the input of a softmax is plausible: it has at least two numbers, which can have any sign, so it does not
  /// come from a relu, sigmoid, dropout, stochastic_depth or softmax.
  constexpr bool softmax_fits(shape const& in, int tensor) {
    if (is_intended_) return true;
    if (in.channels < 2) return breaks(rule::softmax_has_classes, in, in);
    dsl::node const* from = &g_.nodes[g_.tensors[tensor].producer];
    while (only_moves(from->kind)) from = &g_.nodes[g_.tensors[g_.input(*from)].producer];
    bool const is_positive = from->kind == op::activation &&
                             (from->function == function::relu || from->function == function::relu6 ||
                              from->function == function::sigmoid || from->function == function::hard_sigmoid);
    bool const drops = from->kind == op::dropout || from->kind == op::stochastic_depth;
    return (from->kind != op::softmax && !drops && !is_positive) ||
           breaks(rule::softmax_takes_logits, 0, static_cast<int>(from->kind));
  }

  /// Whether an operation computes each number of a flat vector separately, so that its output is flat, too.
  constexpr bool keeps_flat(dsl::node const& n) const {
    return n.kind != op::input && n.inputs == 1 && facts_of(n).output == operations::makes::same_shape;
  }

  /// Whether the input of a kernel of several pixels is an image, not the output of flatten, dense or features<N>.
  constexpr bool sees_image(dsl::node const& n, shape const& in) {
    if (is_intended_ || !in.is_flat() || (n.window.height == 1 && n.window.width == 1)) return true;
    dsl::node const* from = &g_.nodes[g_.tensors[g_.input(n)].producer];
    while (keeps_flat(*from)) from = &g_.nodes[g_.tensors[g_.input(*from)].producer];
    return (from->kind != op::flatten && from->kind != op::dense && from->kind != op::input) ||
           breaks(rule::convolutions_see_images, in, {1, n.window.height, n.window.width});
  }

  constexpr bool parameters_fit(dsl::node const& n, operations::row const& row, shape const& in, shape const& out) {
    bool const stretches = row.output == operations::makes::stretched;
    int const groups = stretches || row.output == operations::makes::windows ? n.groups : 1;
    if (groups != 1 && (!divides(groups, in.channels) || !divides(groups, out.channels))) {
      why.first = in;
      return breaks(rule::groups_divide_the_channels, groups, out.channels);
    }
    if (n.kind == op::embedding) return kernel_fits(n, 0, {n.groups, out.channels, 1, 1});
    if (n.kind == op::head_norm) return row_fits(n, 0, role::gamma, n.groups);
    if (n.kind == op::window_attention) {
      if (windows_fill(n.window, in)) return kernel_fits(n, 0, {offsets_in(n.window), n.groups, 1, 1});
      return windows_break(n, in);
    }
    if (n.kind == op::class_token || n.kind == op::position_embedding) {
      int const tokens = n.kind == op::class_token ? 1 : narrowed(out.area());
      return kernel_fits(n, 0, {1, tokens, out.channels, 1});
    }
    if (row.output == operations::makes::unrolled) {
      int const rows = narrowed(1LL * recurrent_gates(n.kind) * out.channels);
      return kernel_fits(n, 0, {rows, in.channels, 1, 1}) &&
             kernel_fits(n, 1, {rows, out.channels, 1, 1}, role::recurrent_kernel) &&
             row_fits(n, 2, role::bias, rows) && row_fits(n, 3, role::recurrent_bias, rows);
    }
    int const kernel[] = {stretches ? in.channels : out.channels, (stretches ? out : in).channels / groups,
                          n.window.height, n.window.width};
    for (int i = 0; i < n.parameters; ++i)
      if (!(row.roles[i] == role::kernel ? kernel_fits(n, i, kernel) : row_fits(n, i, row.roles[i], out.channels)))
        return false;
    return true;
  }

  constexpr bool groups_break(dsl::node const& n, shape const& in) {
    why.first = in;
    return breaks(rule::shuffle_divides_the_channels, n.groups, 0);
  }
  constexpr bool windows_break(dsl::node const& n, shape const& in) {
    window_side const s = windows_fill(n.window.rows(), in.height) ? n.window.columns() : n.window.rows();
    why.first = in;
    return breaks(rule::windows_fill_the_image, s.size, s.dilation == 1 ? s.before : -1);
  }

  constexpr bool options_fit(dsl::node const& n, unsigned used) {
    using enum operations::options;
    if ((used & static_cast<unsigned>(epsilon)) != 0 && !is_between(n.epsilon, 1e-30, 1e30))
      return breaks(rule::epsilon_is_positive, n.epsilon);
    if ((used & static_cast<unsigned>(momentum)) != 0 && !is_between(n.momentum, 0, 1))
      return breaks(rule::momentum_keeps_less_than_all, n.momentum);
    if ((used & static_cast<unsigned>(slope)) != 0 && !is_between(n.rate, 0, 1e30))
      return breaks(rule::slope_is_not_negative, n.rate);
    if ((used & static_cast<unsigned>(share)) != 0 && (!is_between(n.rate, 0, 1) || static_cast<float>(n.rate) == 1))
      return breaks(rule::dropout_rate_is_a_probability, n.rate);
    return true;
  }

  static constexpr bool is_pool(dsl::node const& n) { return n.kind == op::max_pool2d || n.kind == op::avg_pool2d; }
  /// Whether a zero_pad2d adds at least no rows and columns on each side, in windows of one pixel.
  constexpr bool padding_fits(dsl::node const& n, shape const& in, shape const& out) {
    window_side const rows = n.window.rows(), columns = n.window.columns();
    bool const steps = rows.size == 1 && columns.size == 1 && rows.stride == 1 && columns.stride == 1 &&
                       !n.window.is_dilated() && rows.before >= 0 && columns.before >= 0;
    if (!steps) return breaks(rule::windows_lead_to_their_output, in, out);
    if (in.channels == out.channels && rows.behind(in.height, out.height) >= 0 &&
        columns.behind(in.width, out.width) >= 0)
      return true;
    return breaks(rule::shapes_follow_from_operands,
                  {in.channels, narrowed(0LL + in.height + rows.before), narrowed(0LL + in.width + columns.before)},
                  out);
  }
  /// Whether the windows of node n on `in` give `out`.
  constexpr bool window_fits(dsl::node const& n, shape const& in, shape const& out) {
    window const w = n.window;
    if (w.height < 1 || w.width < 1)
      return breaks(is_pool(n) ? rule::pool_window_is_positive : rule::kernel_is_positive, in, {1, w.height, w.width});
    if (w.stride < 1 || w.column_stride < 0)
      return breaks(rule::stride_is_positive, 1, w.stride < 1 ? w.stride : w.column_stride);
    if (w.row_dilation != 1 || w.column_dilation != 1) {
      int const found = w.row_dilation < 1 || w.column_dilation == 1 ? w.row_dilation : w.column_dilation;
      if (w.row_dilation < 1 || w.column_dilation < 1) return breaks(rule::dilation_is_positive, 1, found);
      if (is_pool(n)) return breaks(rule::pools_are_not_dilated, 1, found);
    }
    if (n.kind == op::max_pool2d && 1LL * w.height * w.width > 65'536)
      return breaks(rule::pool_window_fits_16_bits, 65'536, 1LL * w.height * w.width);
    if (window_leads(w, in, out)) return true;
    why.window = w;
    return breaks(rule::windows_lead_to_their_output, in, out);
  }

  constexpr bool kernel_fits(dsl::node const& n, int which, int const (&dims)[4], role wanted = role::kernel) {
    parameter const& p = g_.parameters[n.first_parameter + which];
    if (p.role != wanted) return role_breaks(wanted, p.role);
    for (int i = 0; i < 4; ++i)
      if (p.dims[i] != dims[i]) return dims_break(p, i, dims[i]);
    return (p.fan_in > 0 && p.fan_out > 0) || breaks(rule::kernels_have_fans, p.fan_in, p.fan_out);
  }
  /// Checks that a parameter has one number per channel.
  constexpr bool row_fits(dsl::node const& n, int which, role wanted, int channels) {
    parameter const& p = g_.parameters[n.first_parameter + which];
    if (p.role == wanted && p.dims[0] == channels && p.dims[1] == 1 && p.dims[2] == 1 && p.dims[3] == 1) return true;
    if (p.role != wanted) return role_breaks(wanted, p.role);
    for (int i = 1; i < 4; ++i)
      if (p.dims[i] != 1) return dims_break(p, i, 1);
    return dims_break(p, 0, channels);
  }

  constexpr bool branches_fit(dsl::node const& n, shape const& first, shape const& out) {
    bool const adds = facts_of(n).output == operations::makes::common_shape;
    long long channels = 0;
    for (int i = 0; i < n.inputs; ++i) {
      shape const x = g_.input_shape(n, i);
      channels += x.channels;
      if (x.height == first.height && x.width == first.width && (!adds || x.channels == first.channels)) continue;
      why.found = i;
      return breaks(adds ? rule::branches_share_their_shape : rule::branches_share_height_and_width, first, x);
    }
    shape const joined{adds ? first.channels : narrowed(channels), first.height, first.width};
    return joined == out || breaks(rule::shapes_follow_from_operands, joined, out);
  }

  constexpr bool breaks(rule r, shape const& first, shape const& second) {
    why.broken = r;
    why.first = first;
    why.second = second;
    why.kind = g_.nodes[node].kind;
    return false;
  }
  constexpr bool breaks(rule r, long long wanted, long long found) {
    why.wanted = wanted;
    why.found = found;
    return breaks(r, why.first, why.second);
  }
  constexpr bool breaks(rule r, double number) {
    why.number = number;
    return breaks(r, why.first, why.second);
  }
  constexpr bool role_breaks(role wanted, role found) {
    why.parameter = wanted;
    return breaks(rule::parameters_come_in_order, static_cast<int>(wanted), static_cast<int>(found));
  }
  constexpr bool dims_break(parameter const& p, int dimension, int wanted) {
    why.parameter = p.role;
    why.first.channels = dimension;
    return breaks(rule::parameters_fit_their_node, wanted, p.dims[dimension]);
  }

  graph_view const& g_;
  bool is_intended_;
};

}  // namespace dsl::detail
