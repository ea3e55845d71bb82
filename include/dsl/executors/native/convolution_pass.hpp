// SPDX-License-Identifier: MIT
#pragma once

#include <dsl/detail/mode.hpp>
#include <dsl/graph/node.hpp>
#include <dsl/view.hpp>

namespace dsl::native_cpu::TYPENET_MODE {

/// An algorithm for a convolution's forward pass or data gradient. Its items may run in any order, on several threads.
class convolution_pass {
 public:
  convolution_pass() = default;
  convolution_pass(convolution_pass const&) = default;
  convolution_pass& operator=(convolution_pass const&) = delete;

  /// Returns the size of the packed kernel in floats.
  virtual long long packed() const = 0;
  /// Returns how many floats of scratch memory each thread needs.
  virtual long long scratch() const = 0;

  virtual int pack_items() const = 0;
  /// Packs a part of the kernel from the parameter (out, in, height, width).
  virtual void pack(int item, float const* kernel, float* to) const = 0;

  virtual int items() const = 0;
  /// Returns the number of records, each of which has separate sums for the moments of the results.
  virtual int records() const = 0;
  /// Returns how many doubles the sums of all records have.
  virtual long long moments() const = 0;
  /// Computes y = x * kernel + bias, or y += x * kernel if `accumulate` is set. `bias` is null or in whole blocks. If
  /// `moments` is not null, it receives the sums of y and of its squares: (record, channel block, 2, lane).
  virtual void run(int item, view<float const> const& x, float const* packed, float const* bias, view<float> const& y,
                   bool accumulate, bool relu, float* scratch, double* moments) const = 0;

 protected:
  ~convolution_pass() = default;
};

/// An algorithm for the gradient of a convolution's kernel. The bits of its result do not depend on the number of
/// threads.
class convolution_weights {
 public:
  convolution_weights() = default;
  convolution_weights(convolution_weights const&) = default;
  convolution_weights& operator=(convolution_weights const&) = delete;

  /// Returns the number of floats in the partial sums, which all threads share.
  virtual long long sums() const = 0;
  /// Returns how many floats of scratch memory each thread needs.
  virtual long long scratch() const = 0;
  virtual int items() const = 0;
  virtual void run(int item, view<float const> const& x, view<float const> const& dy, float* sums,
                   float* scratch) const = 0;
  virtual int finish_items() const = 0;
  /// Writes a part of the gradient (out, in, height, width) from the sums.
  virtual void finish(int item, float const* sums, float* gradient) const = 0;

 protected:
  ~convolution_weights() = default;
};

/// Returns into how many groups of output channels each of `blocks` blocks of pixels is divided to keep the threads
/// busy. If the groups of a block each copy or transform its input, there are as few groups as possible.
constexpr int output_groups(int blocks, int tiles, int threads, bool copies) {
  int const most = copies && threads < tiles ? threads : tiles;
  int groups = 1;
  for (int items = blocks; groups < most && items < 4 * threads; items = blocks * groups) {
    if (copies && items % threads == 0) break;
    ++groups;
  }
  return groups;
}

}  // namespace dsl::native_cpu::TYPENET_MODE
