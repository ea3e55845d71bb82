// SPDX-License-Identifier: MIT
#pragma once

#include <dsl/rules/broken.hpp>
#include <dsl/rules/check_graph.hpp>

// Rules that a lower() appending nodes by itself can break. typenet's own layers never break them.
namespace dsl::broken {

template <class At, class Layer, op Kind, int Node>
struct inputs_come_first {
  static_assert((Kind == op::input) == (Node == 0),
                "node: only the first node may be an op::input, and image<...> appends it; for further inputs use "
                "named_input<...>");
};

template <class At, class Layer, bool IsFree = false>
struct inputs_have_names_of_their_own {
  static_assert(IsFree, "named_input: another one has the same name; give one of them another name");
};

template <class At, class Layer, long long Tensor, long long Tensors>
struct values_are_in_the_graph {
  static_assert(Tensor >= 0 && Tensor < Tensors,
                "value: it must be in the graph; pass only values that append() and lower() returned");
};

template <class At, class Layer, shape Given, shape Made>
struct values_keep_their_shape {
  static_assert(Given.channels == Made.channels && Given.height == Made.height && Given.width == Made.width,
                "value: it must keep the shape that its node gave it; append a node that produces the other shape");
};

template <class At, class Layer, op Kind, shape Output, int Readers = 0>
struct values_are_read {
  static_assert(Readers > 0, "value: it must be used; return it, pass it to another node, or remove its node");
};

template <class At, class Layer, op Kind, int Wanted, int Found>
struct nodes_take_their_operands {
  static_assert(Found == Wanted,
                "node: it must have as many operands as its operation takes; pass that many to append()");
};

template <class At, class Layer, op Kind, int Wanted, int Found>
struct nodes_own_their_parameters {
  static_assert(Found == Wanted,
                "node: it must own its operation's parameters; declare all of them before it, and no others");
};

template <class At, class Layer, op Kind, role Wanted, role Found>
struct parameters_come_in_order {
  static_assert(Found == Wanted,
                "parameter: the order is wrong; declare kernel before bias, and for batch_norm gamma, beta, "
                "moving_mean, moving_variance in this order");
};

template <class At, class Layer, op Kind, role Parameter, int Dimension, int Wanted, int Found>
struct parameters_fit_their_node {
  static_assert(Found == Wanted,
                "parameter: its dims must fit its node; the error's last three template arguments are the index of the "
                "wrong dim, the size that the node needs there, and the size found; for example, the kernel of a "
                "conv2d is {out, in / groups, height, width}, and its bias {out, 1, 1, 1}");
};

template <class At, class Layer, int LeftOver>
struct parameters_have_a_node {
  static_assert(
      LeftOver == 0,
      "parameter: the append() of its node must follow in the same layer; declare the parameter before the node");
};

template <class At, class Layer, op Kind, int FanIn, int FanOut>
struct kernels_have_fans {
  static_assert(FanIn > 0 && FanOut > 0,
                "parameter: a kernel's fan_in and fan_out must be at least 1; its initial values depend on them");
};

template <class At, class Layer, op Kind, shape Output>
struct outputs_have_a_size {
  static_assert(Output.channels > 0 && Output.height > 0 && Output.width > 0,
                "node: its output must have at least one channel, one row and one column; change the shape");
};

template <class At, class Layer, op Kind, shape Wanted, shape Found>
struct shapes_follow_from_operands {
  static_assert(
      Found.channels == Wanted.channels && Found.height == Wanted.height && Found.width == Wanted.width,
      "node: its output must have the shape that its operation gives for its operands; pass that shape to append()");
};

template <class At, class Layer, op Kind, window Window, shape In, shape Output>
struct windows_lead_to_their_output {
  static_assert(detail::window_leads(Window, In, Output),
                "window: the padding on each side must be less than the window's size, and no further window may fit "
                "after the last one; change the output's shape, the stride or the padding");
};

template <class At, class Layer, op Kind, int Dilation>
struct pools_are_not_dilated {
  static_assert(Dilation == 1, "window: a pool has no dilation; leave its row_dilation and column_dilation at 1");
};

template <class At, class Layer, bool Complete = false>
struct custom_operations_are_complete {
  static_assert(Complete,
                "node: op::custom needs a custom_op with all four functions, and facts that declare one input, no "
                "parameters and nothing kept for the backward pass; give the missing function, or correct the facts");
};

template <class At, class Layer, shape In, shape Output>
struct operations_in_place_keep_their_shape {
  static_assert(In.channels == Output.channels && In.height == Output.height && In.width == Output.width,
                "node: the output of an op::custom that works in place must have the shape of its input; pass that "
                "shape to append(), or set the facts forward_in_place, gradient_in_place and gradient_over_input to "
                "false");
};

template <class At, class Layer, bool Has = false>
struct functions_have_a_derivative {
  static_assert(
      Has,
      "elementwise: its function must have a name, and static functions value(x) and derivative(x) for float and "
      "double");
};

template <class At, class Layer, bool Left = false>
struct children_are_left {
  static_assert(Left,
                "layer: each enter() needs a leave() with the value that enter() returned; call lower_child() instead");
};

}  // namespace dsl::broken
