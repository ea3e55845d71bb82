// SPDX-License-Identifier: MIT
#pragma once

#include <dsl/detail/mode.hpp>
#include <dsl/shape.hpp>

#include <cstdint>
#include <vector>

namespace dsl::detail::TYPENET_MODE {

/// A run of evenly spaced positions along the channels, the height or the width of a value.
struct onnx_atom {
  char along = 'c';  // or 'h', 'w'
  int size = 1;
  int step = 1;
  int shift = 0;  // of a rolled image: row 0 of the tensor is the value's row `shift`, and the first rows are behind

  friend bool operator==(onnx_atom const&, onnx_atom const&) = default;
};
/// One axis of a file's tensor, as a list of the parts of typenet's value that it consists of, from the
/// slowest-changing to the fastest. No part has size 1.
using onnx_axis = std::vector<onnx_atom>;
/// The axes of a file's tensor. Reshapes and transposes compute nothing and only change this list. A layer is made when
/// a later operator needs all channels of a value in one axis:
///   (1, 64, 8, 8) is [] [c64] [h8] [w8]; flattened, it is [] [c64 h8 w8], and dense needs a flatten;
///   reshaped to (1, 2, 32, 8, 8), transposed and reshaped, [] [c32 step 1, c2 step 32] [h8] [w8]: channel_shuffle<2>
using onnx_axes = std::vector<onnx_axis>;

/// Returns the axes of a value. They are (batch, channels, height, width), or (batch, features) if `rank` is 2.
onnx_axes onnx_axes_of(shape const& s, int rank);
std::int64_t onnx_size(onnx_axis const& a);
/// Returns the dims of a file's tensor that has these axes.
std::vector<std::int64_t> onnx_dims(onnx_axes const& axes);

/// Joins neighbouring parts of an axis that together form one run.
void onnx_merge(onnx_axis& a);

/// Splits and joins axes so that they have these dims. Returns false if an axis would begin or end in the middle of a
/// part.
bool onnx_reshape(onnx_axes& axes, std::vector<std::int64_t> const& dims);

}  // namespace dsl::detail::TYPENET_MODE

#ifdef TYPENET_DEFINITIONS
#include <dsl/io/onnx/import_axes_inl.hpp>
#endif
