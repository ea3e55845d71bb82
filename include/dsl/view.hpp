// SPDX-License-Identifier: MIT
#pragma once

#include <dsl/operations/custom/facts.hpp>
#include <dsl/shape.hpp>

namespace dsl {

/// The pixels of one channel of one sample, in row-major order; neighbours are `step` numbers apart.
template <class T>
struct pixel_row {
  T* first = nullptr;
  long long step = 1;
  constexpr T& operator[](long long pixel) const { return first[pixel * step]; }
};

/// A batch of tensors as an executor holds it: maybe channel blocks (plan.hpp, struct target), maybe a slice of a
/// larger buffer. Kernels of a user's own layer work on these; T is float or double, const where they only read.
template <class T>
struct view {
  T* data = nullptr;
  dsl::shape shape{};
  int batch = 0;
  int block = 1;
  int buffer_channels = 0;  // of the whole buffer, padded to the block
  int channel = 0;          // where this tensor begins in it

  /// Value of channel c at pixel (row * width + column) of sample n.
  constexpr T& operator()(int n, int c, long long pixel) const { return pixels(n, c)[pixel]; }
  /// All of channel c of sample n: what a loop over pixels should ask for once.
  constexpr pixel_row<T> pixels(int n, int c) const {
    int const at = channel + c;
    return {data + (1LL * n * buffer_channels + at - at % block) * shape.area() + at % block, block};
  }
  /// The pixels of one channel, contiguous where block == 1.
  constexpr T* plane(int n, int c) const { return data + (1LL * n * buffer_channels + channel + c) * shape.area(); }
};

/// What a user's own operation gets: x -> y, and in the backward pass dy -> dx (added to dx where `accumulate`).
template <class T>
struct custom_call {
  view<T const> x{};
  view<T> y{};
  view<T const> dy{};
  view<T> dx{};
  bool accumulate = false;
};

/// A user's own operation: function pointers, and its facts, since no table has it; see layers/custom.hpp.
struct custom_op {
  char const* name = "";
  void (*forward_float)(custom_call<float> const&) = nullptr;
  void (*backward_float)(custom_call<float> const&) = nullptr;
  void (*forward_double)(custom_call<double> const&) = nullptr;
  void (*backward_double)(custom_call<double> const&) = nullptr;
  operations::row facts = operations::custom;
};

}  // namespace dsl
