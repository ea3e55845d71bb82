// SPDX-License-Identifier: MIT
#pragma once

#include <dsl/operations/custom/facts.hpp>
#include <dsl/shape.hpp>

namespace dsl {

/// The pixels of one channel of one sample in row-major order, `step` elements apart.
template <class T>
struct pixel_row {
  T* first = nullptr;
  long long step = 1;
  /// Returns the value of a pixel.
  constexpr T& operator[](long long pixel) const { return first[pixel * step]; }
};

/// A batch of tensors in an executor's memory, possibly in channel blocks (struct target in plan/plan.hpp) and possibly
/// a slice of a larger buffer. The kernels of your own layer work on views. T is float or double, const for inputs.
template <class T>
struct view {
  T* data = nullptr;
  dsl::shape shape{};
  int batch = 0;
  int block = 1;
  int buffer_channels = 0;  // of the whole buffer, rounded up to whole blocks
  int channel = 0;          // where this tensor begins in the buffer

  /// Returns the value of channel c at pixel (row * width + column) of sample n.
  constexpr T& operator()(int n, int c, long long pixel) const { return pixels(n, c)[pixel]; }
  /// Returns the pixels of channel c of sample n. Call it once, outside the loop over pixels.
  constexpr pixel_row<T> pixels(int n, int c) const {
    int const at = channel + c;
    return {data + (1LL * n * buffer_channels + at - at % block) * shape.area() + at % block, block};
  }
  /// Returns a pointer to the pixels of one channel, which are contiguous only if block == 1.
  constexpr T* plane(int n, int c) const { return data + (1LL * n * buffer_channels + channel + c) * shape.area(); }
};

/// The arguments of a custom operation: x -> y forward, dy -> dx backward, added to dx if `accumulate` is set.
template <class T>
struct custom_call {
  view<T const> x{};
  view<T> y{};
  view<T const> dy{};
  view<T> dx{};
  bool accumulate = false;
};

/// A custom operation: its kernels as function pointers, and its facts, since no table has them; see layers/custom.hpp.
struct custom_op {
  char const* name = "";
  void (*forward_float)(custom_call<float> const&) = nullptr;
  void (*backward_float)(custom_call<float> const&) = nullptr;
  void (*forward_double)(custom_call<double> const&) = nullptr;
  void (*backward_double)(custom_call<double> const&) = nullptr;
  operations::row facts = operations::custom;
};

}  // namespace dsl
