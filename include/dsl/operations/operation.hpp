// SPDX-License-Identifier: MIT
#pragma once

namespace dsl {

/// What a node computes, and the number of its operation's row in operations/table.hpp. Files keep these numbers: new
/// operations go to the end.
enum class op : unsigned char {
  input,
  conv2d,
  batch_norm,
  activation,
  max_pool2d,
  avg_pool2d,
  dropout,
  flatten,
  dense,
  softmax,
  concat,
  add,
  custom,
  transfer,  // its input, on another device
  multiply,
  layer_norm,
};

/// Elementwise functions of op::activation; alpha is the slope of leaky_relu and the scale of elu.
enum class function : unsigned char { relu, leaky_relu, elu, sigmoid, tanh, silu, relu6, hard_sigmoid, hard_swish };

/// What a parameter is to its layer. The last two are batch_norm's running statistics: no optimizer changes them.
enum class role : unsigned char { kernel, bias, gamma, beta, moving_mean, moving_variance };

}  // namespace dsl

namespace dsl::operations {

/// Values of a forward pass, as a set of bits.
enum class values : unsigned char { none = 0, first_input = 1, second_input = 2, output = 4 };
constexpr values operator|(values a, values b) {
  return static_cast<values>(static_cast<unsigned>(a) | static_cast<unsigned>(b));
}
constexpr bool contains(values all, values some) {
  return (static_cast<unsigned>(all) & static_cast<unsigned>(some)) != 0;
}

constexpr values input_number(int i) { return i == 0 ? values::first_input : values::second_input; }

/// How an operation's gradients are computed.
enum class gradient_steps : unsigned char {
  none,              // it has no gradient
  one_an_input,      // a step for each input; that of the first one computes the parameters' gradients, too
  weights_and_data,  // a step for the parameters and a step for the input
  copies,            // an input's gradient is the output's, or a slice of it
};

/// What a forward step in training keeps for the backward step, beside its input and output.
enum class kept : unsigned char { nothing, statistics, argmax };

/// When an operation's output is its input under another name, so that no step computes it.
enum class renames : unsigned char { never, in_inference, without_blocks };

/// Whether a step may write its output into channels of a larger buffer.
enum class slices : unsigned char { never, in_training, where_the_library_does, always };

/// What shape an operation makes of its operands.
enum class makes : unsigned char {
  any_shape,     // what its node says
  same_shape,    // that of its input
  windows,       // one number a filter and window
  pooled,        // one number a channel and window
  flat,          // all numbers as channels of one pixel
  units,         // a flat output of any size
  joined,        // the channels of all operands
  common_shape,  // that which all operands have
  broadcast,     // the larger of two operands in channels and in pixels; the other has as many, or one
};

/// What of a node an operation looks at, beside its operands and parameters, as a set of bits.
enum class options : unsigned char {
  none = 0,
  window = 1,
  slope = 2,
  share = 4,
  epsilon = 8,
  momentum = 16,
  groups = 32,
  counted_padding = 64
};
constexpr options operator|(options a, options b) {
  return static_cast<options>(static_cast<unsigned>(a) | static_cast<unsigned>(b));
}
constexpr bool contains(options all, options some) {
  return (static_cast<unsigned>(all) & static_cast<unsigned>(some)) != 0;
}

inline constexpr int most_roles = 4;

/// The facts of an operation: what rules, plan and checker know of it. A row has no pointer to code, so that it is a
/// constant to every compiler; loops, ONNX's operators and names of weights are in tables of their own, by its number.
struct row {
  char const* name = "";
  int inputs = 1;        // operands
  bool or_more = false;  // operands beyond those
  int parameters = 0;
  role roles[most_roles] = {};  // of the parameters, in the order of their declaration
  unsigned char optional = 0;   // of them, as many of the last ones a node may do without
  bool takes_flat = false;      // inputs of one pixel alone
  makes output = makes::same_shape;
  operations::options options = operations::options::none;

  gradient_steps gradients = gradient_steps::one_an_input;
  values reads[2] = {};               // by the backward step of each input
  unsigned char parameters_read = 0;  // by the backward steps: bit i is parameter i
  operations::kept kept = operations::kept::nothing;

  bool forward_in_place = false;     // the output may lie where the input is
  bool gradient_in_place = false;    // the input's gradient may lie where the output's is
  bool gradient_over_input = false;  // the input's gradient may lie where the input is
  operations::slices slices = operations::slices::never;
  operations::renames renames = operations::renames::never;

  bool mixes_samples = false;        // a sample's output depends on the others of its batch
  bool gives_probabilities = false;  // a sample's outputs are positive and their sum is 1
};

}  // namespace dsl::operations
