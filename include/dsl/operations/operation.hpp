// SPDX-License-Identifier: MIT
#pragma once

#include <dsl/operations/activation/function.hpp>

namespace dsl {

/// The role of a parameter in its layer. No optimizer changes moving_mean and moving_variance, batch_norm's running
/// statistics. The recurrent ones multiply, and are added to, a recurrent layer's own output.
enum class role : unsigned char {
  kernel,
  bias,
  gamma,
  beta,
  moving_mean,
  moving_variance,
  recurrent_kernel,
  recurrent_bias
};
/// The number of roles.
inline constexpr int role_count = 8;

}  // namespace dsl

namespace dsl::operations {

/// A set of the values in an operation's forward pass, as bits.
enum class values : unsigned char { none = 0, first_input = 1, second_input = 2, output = 4 };
constexpr values operator|(values a, values b) {
  return static_cast<values>(static_cast<unsigned>(a) | static_cast<unsigned>(b));
}
constexpr bool contains(values all, values some) {
  return (static_cast<unsigned>(all) & static_cast<unsigned>(some)) != 0;
}

/// Returns the operand with this number, 0 or 1.
constexpr values input_number(int i) { return i == 0 ? values::first_input : values::second_input; }

/// The backward steps that compute an operation's gradients.
enum class gradient_steps : unsigned char {
  none,              // it has no gradient
  one_an_input,      // a step for each input; that of the first also computes the parameters' gradients
  weights_and_data,  // a step for the parameters and a step for the input
  copies,            // an input's gradient is the output's, or a slice of it
};

/// The values that a forward step in training saves for the backward step, in addition to its input and output.
enum class kept : unsigned char { nothing, statistics, argmax, states };

/// Says when an operation's output is the memory of its input under another name, so that no step computes it.
enum class renames : unsigned char { never, in_inference, without_blocks };

/// Says when a step may write its output into a range of channels of a larger buffer.
enum class slices : unsigned char { never, in_training, where_the_library_does, always };

/// The shape of an operation's output.
enum class makes : unsigned char {
  any_shape,     // any shape that its node states
  same_shape,    // that of its input
  windows,       // one value per filter and window
  pooled,        // one value per channel and window
  flat,          // all values as channels of one pixel
  units,         // a flat output of any size
  joined,        // the channels of all operands
  common_shape,  // the shape that all operands have
  broadcast,     // the larger channels and pixels of two operands, which are equal or 1 in the other one
  stretched,     // one value per filter and pixel; windows over it would give its input's shape
  sliced,        // some of the channels of its input
  enlarged,      // its input's channels, with a multiple of its rows and columns
  with_token,    // its input's pixels and one more, in one row
  some_tokens,   // a range of its input's pixels, in one row
  looked_up,     // any number of channels for each number of its input, which is a network's input
  offsets,       // two channels, and any odd numbers of rows and columns
  merged,        // all channels of a square of its input's pixels, as one pixel
  squares,       // a square of pixels for each pixel of its input, of as many of its channels
  unrolled,      // any number of channels for each place of a sequence, or for its last place
  transposed,    // a channel for each pixel of its input, and a pixel for each channel, in one row
  padded,        // its input with any number of rows and columns around it
};

/// A set, as bits, of the fields of a node that an operation uses in addition to operands and parameters.
enum class options : unsigned short {
  none = 0,
  window = 1,
  slope = 2,
  share = 4,
  epsilon = 8,
  momentum = 16,
  groups = 32,
  counted_padding = 64,
  first_channel = 128,
  power = 256
};
constexpr options operator|(options a, options b) {
  return static_cast<options>(static_cast<unsigned>(a) | static_cast<unsigned>(b));
}
constexpr bool contains(options all, options some) {
  return (static_cast<unsigned>(all) & static_cast<unsigned>(some)) != 0;
}

/// The largest number of parameters that any operation has.
inline constexpr int most_roles = 4;

/// The facts about an operation that the rules, the plan and the plan's checker need. `row` means the row of a table.
/// It has no pointer to code, so that every compiler can evaluate it as a constant; loops, ONNX operators and weight
/// names are in separate tables, which are also indexed by op. The fields are in the order in which they are read, not
/// in the order with the least padding.
struct row {  // NOLINT(clang-analyzer-optin.performance.Padding)
  char const* name = "";
  int inputs = 1;        // number of operands
  bool or_more = false;  // whether it accepts more operands
  int parameters = 0;
  role roles[most_roles] = {};  // of the parameters, in the order of their declaration
  unsigned char optional = 0;   // how many of the last ones a node may lack
  bool takes_flat = false;      // whether inputs must have a single pixel
  makes output = makes::same_shape;
  operations::options options = operations::options::none;

  gradient_steps gradients = gradient_steps::one_an_input;
  values reads[2] = {};               // by the backward step of each input
  unsigned char parameters_read = 0;  // by the backward steps: bit i is parameter i
  operations::kept kept = operations::kept::nothing;

  bool forward_in_place = false;     // the output may overwrite the input
  bool gradient_in_place = false;    // the input's gradient may overwrite the output's
  bool gradient_over_input = false;  // the input's gradient may overwrite the input
  operations::slices slices = operations::slices::never;
  operations::renames renames = operations::renames::never;

  bool mixes_samples = false;        // a sample's output depends on the other samples of its batch
  bool gives_probabilities = false;  // a sample's outputs are positive and their sum is 1
};

}  // namespace dsl::operations
