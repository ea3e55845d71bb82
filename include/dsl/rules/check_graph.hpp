// SPDX-License-Identifier: MIT
#pragma once

#include <dsl/graph/graph.hpp>
#include <dsl/graph/verdict.hpp>
#include <dsl/view.hpp>

namespace dsl::detail {

/// How many parameters a node owns.
constexpr int parameters_of(op kind) {
  return kind == op::conv2d || kind == op::dense ? 2 : kind == op::batch_norm ? 4 : 0;
}

/// From `in` rows or columns to `out`. `behind` are the zeros that the last window needs after the last row; a
/// negative number of them is rows that no window reaches. Pools take no zeros.
constexpr bool side_leads(int in, int out, int size, int stride, int before, bool pool) {
  long long const behind = (out - 1LL) * stride + size - in - before;
  int const limit = pool ? 1 : size;
  return before >= 0 && before < limit && behind < limit && behind > -stride;
}
/// Whether a window, a positive one, makes `out` of `in`: {3, 3, 2, 0, 0} makes 15x15 of 32x32.
constexpr bool window_leads(op kind, window const& w, shape const& in, shape const& out) {
  bool const pool = kind != op::conv2d;
  return side_leads(in.height, out.height, w.height, w.stride, w.pad_top, pool) &&
         side_leads(in.width, out.width, w.width, w.stride, w.pad_left, pool);
}

/// Looks at one node after the other for what plans and executors take as given: they believe a node's shapes, window
/// and parameters, and would read beyond a tensor's end where those are wrong. `why` is the first thing that does not
/// hold; its place is a scope. Written for compilers, to whom a call costs as much as ten comparisons.
class graph_check {
 public:
  constexpr explicit graph_check(graph_view const& g) : g_(g) {}

  verdict why{};
  int node = 0;  // the one that is looked at

  /// Of the first `nodes`: what they take and own, without which a node can't even be planned; then the rest.
  constexpr bool holds(int nodes) {
    for (node = 0; node < nodes; ++node) {
      dsl::node const& n = g_.nodes[node];
      op const kind = n.kind;
      bool const joins = kind == op::concat || kind == op::add;
      int const owned = parameters_of(kind);
      if ((kind == op::input) != (node == 0)) return breaks(rule::inputs_come_first, 0, node);
      if (node > 0 && (joins ? n.inputs < 2 : n.inputs != 1))
        return breaks(rule::nodes_take_their_operands, joins ? 2 : 1, n.inputs);
      for (int i = 0; i < n.inputs; ++i)
        if (int const t = g_.edges[n.first_input + i]; t < 0 || t >= node)
          return breaks(rule::values_are_in_the_graph, node, t);
      if (n.parameters != owned) return breaks(rule::nodes_own_their_parameters, owned, n.parameters);
      if (kind == op::custom && !is_complete(n.custom)) return breaks(rule::custom_operations_are_complete, 1, 0);
      if (!fits(n)) return false;
    }
    return true;
  }

 private:
  /// A NaN is not.
  static constexpr bool is_between(double x, double least, double below) { return x >= least && x < below; }
  /// GCC's -fsanitize=undefined makes no constant of a good address's test; only a null is known for one.
  template <class P>
  static constexpr bool is_null(P p) {
    return __builtin_constant_p(!p) && !p;
  }
  static constexpr bool is_complete(custom_op const* own) {
    return !is_null(own) && !is_null(own->forward_float) && !is_null(own->backward_float) &&
           !is_null(own->forward_double) && !is_null(own->backward_double);
  }
  static constexpr int narrowed(long long n) { return n > 0x7fffffffLL ? 0x7fffffff : static_cast<int>(n); }

  constexpr bool fits(dsl::node const& n) {
    shape const out = g_.tensors[n.output].shape;
    if (out.channels < 1 || out.height < 1 || out.width < 1) return breaks(rule::outputs_have_a_size, out, out);
    if (n.kind == op::input) return true;
    shape const in = g_.input_shape(n);
    bool const same = in.channels == out.channels && in.height == out.height && in.width == out.width;
    switch (n.kind) {
      case op::conv2d: {
        int const kernel[] = {out.channels, in.channels, n.window.height, n.window.width};
        return window_fits(n, in, out) && kernel_fits(n, kernel) && row_fits(n, 1, role::bias, out.channels);
      }
      case op::dense: {
        int const kernel[] = {out.channels, in.channels, 1, 1};
        if (!in.is_flat()) return breaks(rule::dense_takes_a_flat_input, in, out);
        if (!out.is_flat()) return breaks(rule::shapes_follow_from_operands, {out.channels, 1, 1}, out);
        return kernel_fits(n, kernel) && row_fits(n, 1, role::bias, out.channels);
      }
      case op::batch_norm:
        if (!same) break;
        if (!is_between(n.epsilon, 1e-30, 1e30)) return breaks(rule::epsilon_is_positive, n.epsilon);
        if (!is_between(n.momentum, 0, 1)) return breaks(rule::momentum_keeps_less_than_all, n.momentum);
        for (int i = 0; i < 4; ++i)
          if (!row_fits(n, i, static_cast<role>(static_cast<int>(role::gamma) + i), out.channels)) return false;
        return true;
      case op::activation:
        if (!is_between(n.rate, 0, 1e30)) return breaks(rule::slope_is_not_negative, n.rate);
        break;
      case op::dropout:
        if (!is_between(n.rate, 0, 1) || static_cast<float>(n.rate) == 1)
          return breaks(rule::dropout_rate_is_a_probability, n.rate);
        break;
      case op::max_pool2d:
      case op::avg_pool2d:
        if (!window_fits(n, in, out)) return false;
        return in.channels == out.channels ||
               breaks(rule::shapes_follow_from_operands, {in.channels, out.height, out.width}, out);
      case op::flatten:
        return (out.is_flat() && out.channels == in.size()) ||
               breaks(rule::shapes_follow_from_operands, {narrowed(in.size()), 1, 1}, out);
      case op::softmax:
        if (!in.is_flat()) return breaks(rule::softmax_takes_a_flat_input, in, out);
        break;
      case op::concat:
      case op::add: return branches_fit(n, in, out);
      case op::transfer: break;
      default: return true;  // the output of a user's own operation is the user's to say
    }
    return same || breaks(rule::shapes_follow_from_operands, in, out);
  }

  constexpr bool window_fits(dsl::node const& n, shape const& in, shape const& out) {
    window const w = n.window;
    if (w.height < 1 || w.width < 1)
      return breaks(n.kind == op::conv2d ? rule::kernel_is_positive : rule::pool_window_is_positive, in,
                    {1, w.height, w.width});
    if (w.stride < 1) return breaks(rule::stride_is_positive, 1, w.stride);
    if (n.kind == op::max_pool2d && 1LL * w.height * w.width > 65'536)
      return breaks(rule::pool_window_fits_16_bits, 65'536, 1LL * w.height * w.width);
    if (window_leads(n.kind, w, in, out)) return true;
    why.window = w;
    return breaks(rule::windows_lead_to_their_output, in, out);
  }

  constexpr bool kernel_fits(dsl::node const& n, int const (&dims)[4]) {
    parameter const& p = g_.parameters[n.first_parameter];
    if (p.role != role::kernel) return role_breaks(role::kernel, p.role);
    for (int i = 0; i < 4; ++i)
      if (p.dims[i] != dims[i]) return dims_break(p, i, dims[i]);
    return (p.fan_in > 0 && p.fan_out > 0) || breaks(rule::kernels_have_fans, p.fan_in, p.fan_out);
  }
  /// A parameter of one number a channel.
  constexpr bool row_fits(dsl::node const& n, int which, role wanted, int channels) {
    parameter const& p = g_.parameters[n.first_parameter + which];
    if (p.role == wanted && p.dims[0] == channels && p.dims[1] == 1 && p.dims[2] == 1 && p.dims[3] == 1) return true;
    if (p.role != wanted) return role_breaks(wanted, p.role);
    for (int i = 1; i < 4; ++i)
      if (p.dims[i] != 1) return dims_break(p, i, 1);
    return dims_break(p, 0, channels);
  }

  constexpr bool branches_fit(dsl::node const& n, shape const& first, shape const& out) {
    bool const adds = n.kind == op::add;
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
};

}  // namespace dsl::detail
