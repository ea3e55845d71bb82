// SPDX-License-Identifier: MIT
#pragma once

#include <dsl/detail/message.hpp>
#include <dsl/detail/mode.hpp>
#include <dsl/error.hpp>
#include <dsl/graph/graph.hpp>

#include <string>

namespace dsl::cu::TYPENET_MODE {

/// A two-dimensional convolution over packed, channels-last tensors. There are zeros around the input, possibly more
/// after than before it. In the forward passes the output may be a slice of a buffer with more channels, such as that
/// of a concat. Each of `groups` equal parts of the output's channels depends on one part of the input's.
///   input (batch, in_height, in_width, in_channels),
///   kernel (out_channels, kernel_height, kernel_width, in_channels / groups),
///   output (batch, out_height, out_width, out_channels)
struct convolution {
  int batch = 1;
  int in_channels = 1, in_height = 1, in_width = 1;
  int out_channels = 1, out_height = 1, out_width = 1;
  int kernel_height = 1, kernel_width = 1;
  int stride = 1;  // of rows, and of columns unless they have their own
  int pad_top = 0, pad_left = 0, pad_bottom = 0, pad_right = 0;
  int output_pitch = 0;   // channels of the buffer that the output is a slice of; 0: it has its own buffer
  int groups = 1;         // which divides in_channels and out_channels
  int column_stride = 0;  // 0: that of rows
  int row_dilation = 1, column_dilation = 1;

  constexpr window_side rows() const { return {kernel_height, stride, pad_top, row_dilation}; }
  constexpr window_side columns() const {
    return {kernel_width, column_stride == 0 ? stride : column_stride, pad_left, column_dilation};
  }
  constexpr int group_in_channels() const { return in_channels / groups; }
  constexpr long long input_count() const { return 1LL * batch * in_height * in_width * in_channels; }
  constexpr long long output_count() const { return 1LL * batch * out_height * out_width * out_channels; }
  constexpr long long kernel_count() const {
    return 1LL * out_channels * kernel_height * kernel_width * group_in_channels();
  }
};

}  // namespace dsl::cu::TYPENET_MODE

namespace dsl::cu::backend::TYPENET_MODE {

// Returns the padding after the last row or column: the number of rows that the last window needs beyond the input, or
// 0 if the stride leaves the last rows unread. missing_behind(32, 16, {3, 2, 0}) == 1, missing_behind(32, 15, {3, 2,
// 0}) == 0.
constexpr int missing_behind(int in, int out, window_side const& w) {
  long long const missing = w.behind(in, out);
  return missing > 0 ? static_cast<int>(missing) : 0;
}

constexpr bool fits(int in, int out, window_side const& w, int behind) {
  if (in <= 0 || out <= 0 || w.size <= 0 || w.stride <= 0 || w.dilation <= 0 || w.before < 0 || behind < 0)
    return false;
  long long const room = 1LL * in + w.before + behind - w.span();
  return room >= 0 && room / w.stride + 1 == out;
}

}  // namespace dsl::cu::backend::TYPENET_MODE

namespace dsl::cu::TYPENET_MODE {

/// Returns the convolution of an op::conv2d node, or the one whose data gradient an op::conv2d_transpose node computes:
/// its output has the shape of the node's input.
///   conv2d<80, 3, 3, 2, padding::same> on 80x32x32: pads 0 before, 1 after
constexpr convolution convolution_of(graph_view const& g, node const& n, int batch) {
  bool const transposed = n.kind == op::conv2d_transpose;
  shape const& in = transposed ? g.output_shape(n) : g.input_shape(n);
  shape const& out = transposed ? g.input_shape(n) : g.output_shape(n);
  window const& w = n.window;
  return {.batch = batch,
          .in_channels = in.channels,
          .in_height = in.height,
          .in_width = in.width,
          .out_channels = out.channels,
          .out_height = out.height,
          .out_width = out.width,
          .kernel_height = w.height,
          .kernel_width = w.width,
          .stride = w.stride,
          .pad_top = w.pad_top,
          .pad_left = w.pad_left,
          .pad_bottom = backend::missing_behind(in.height, out.height, w.rows()),
          .pad_right = backend::missing_behind(in.width, out.width, w.columns()),
          .groups = n.groups,
          .column_stride = w.strides_by(w.stride) ? 0 : w.column_stride,
          .row_dilation = w.row_dilation,
          .column_dilation = w.column_dilation};
}

/// The passes of a convolution. forward: output = input * kernel. forward_inference: output = input * kernel + bias,
/// then relu if requested. backward_data computes the input's gradient from the output's. backward_weights computes the
/// kernel's gradient from the input and the output's gradient.
enum class convolution_pass : unsigned char { forward, forward_inference, backward_data, backward_weights };

/// The types in which tensors are stored and multiplied; sums are always in float. tf32 stores floats, and tensor cores
/// round the factors to 10 bits of mantissa. fp32_strict allows no rounded factors and no Winograd or Fourier
/// transforms. fp16 serves only to find out what cuDNN supports.
enum class convolution_precision : unsigned char { bf16, fp16, tf32, fp32_strict };

/// The alignment in bytes of all tensors, and of each pixel of a slice.
inline constexpr int tensor_alignment = 16;

constexpr int bytes_of(convolution_precision p) {
  return p == convolution_precision::bf16 || p == convolution_precision::fp16 ? 2 : 4;
}

struct convolution_options {
  convolution_pass pass = convolution_pass::forward;
  convolution_precision precision = convolution_precision::bf16;
  bool accumulate = false;      // forward, backward_data: the result is added to what is there
  bool relu = false;            // forward_inference
  bool float_gradient = false;  // backward_weights: the kernel's gradient is float although storage is 16 bits
  bool deterministic = false;   // exclude plans whose results depend on the order in which threads finish
  long long workspace_limit = 64LL << 20;  // bytes
  int most_plans = 16;    // maximum number, in cuDNN's order, best first; each takes milliseconds to build and time
  int most_compiled = 1;  // how many of these cuDNN may compile at run time, which takes 0.3 to 2 s each
};

constexpr char const* name_of(convolution_pass p) {
  constexpr char const* names[] = {"forward", "forward_inference", "backward_data", "backward_weights"};
  return names[static_cast<int>(p)];
}
constexpr char const* name_of(convolution_precision p) {
  constexpr char const* names[] = {"bf16", "fp16", "tf32", "fp32_strict"};
  return names[static_cast<int>(p)];
}

/// Returns everything that determines which plan is best, in one line: "backward_data bf16, accumulating: batch 64,
/// 96x32x32 to 32x32x32, kernel 3x3, stride 1, pads 1 1 1 1, workspace 67108864".
inline std::string describe(convolution const& c, convolution_options const& o) {
  std::string text = detail::message({name_of(o.pass), " ", name_of(o.precision)});
  if (o.accumulate) text += ", accumulating";
  if (o.relu) text += ", relu";
  if (o.float_gradient) text += ", float gradient";
  if (o.deterministic) text += ", deterministic";
  text += detail::message({": batch ", c.batch, ", ", c.in_channels, "x", c.in_height, "x", c.in_width});
  text += detail::message({" to ", c.out_channels, "x", c.out_height, "x", c.out_width});
  if (c.output_pitch > 0) text += detail::message({" among ", c.output_pitch, " channels"});
  text += detail::message({", kernel ", c.kernel_height, "x", c.kernel_width, ", stride ", c.stride});
  if (c.columns().stride != c.stride) text += detail::message({" ", c.columns().stride});
  if (c.row_dilation != 1 || c.column_dilation != 1)
    text += detail::message({", dilation ", c.row_dilation, " ", c.column_dilation});
  if (c.groups != 1) text += detail::message({", ", c.groups, " groups"});
  text += detail::message({", pads ", c.pad_top, " ", c.pad_left, " ", c.pad_bottom, " ", c.pad_right});
  return text + detail::message({", workspace ", o.workspace_limit});
}

/// Throws executor_error if the shapes contradict each other or if an option is not for the pass.
inline void check(convolution const& c, convolution_options const& o) {
  auto const require = [&](bool holds, char const* what) {
    if (!holds) throw executor_error(detail::message({"convolution: ", what, "; found ", describe(c, o)}));
  };
  require(c.batch > 0 && c.in_channels > 0 && c.out_channels > 0, "batch and channels must be positive");
  require(divides(c.groups, c.in_channels) && divides(c.groups, c.out_channels),
          "groups must divide the channels of the input and of the output");
  require(backend::fits(c.in_height, c.out_height, c.rows(), c.pad_bottom) &&
              backend::fits(c.in_width, c.out_width, c.columns(), c.pad_right),
          "the output must have (input + pads - kernel) / stride + 1 rows and columns");
  require(!o.accumulate || o.pass == convolution_pass::backward_data || o.pass == convolution_pass::forward,
          "only forward and backward_data accumulate");
  require(!o.relu || o.pass == convolution_pass::forward_inference, "only forward_inference has a relu");
  require(!o.float_gradient || o.pass == convolution_pass::backward_weights,
          "only backward_weights has a float_gradient");
  require(c.output_pitch == 0 || o.pass == convolution_pass::forward || o.pass == convolution_pass::forward_inference,
          "only forward passes write slices");
  require(c.output_pitch == 0 || c.output_pitch > c.out_channels, "a slice must have fewer channels than its buffer");
  require(c.output_pitch * bytes_of(o.precision) % tensor_alignment == 0, "pixels of a slice must be aligned");
  require(o.workspace_limit >= 0 && o.most_plans > 0, "workspace_limit must be 0 or more, and most_plans 1 or more");
}

}  // namespace dsl::cu::TYPENET_MODE
