// SPDX-License-Identifier: MIT
#pragma once

#include "support/catch.hpp"
#include "support/guarded_floats.hpp"

#include <dsl/detail/philox.hpp>
#include <dsl/executors/native/direct_weights.hpp>
#include <dsl/executors/native/winograd.hpp>
#include <dsl/executors/native/winograd_small.hpp>
#include <dsl/operations/conv2d/host.hpp>

#include <cmath>
#include <cstring>
#include <vector>

namespace dsl::test {

using numbers = std::vector<double>;

/// Returns the instruction sets of this processor.
inline std::vector<host::instructions> instruction_sets() {
  std::vector<host::instructions> all;
  for (auto set : {host::instructions::baseline, host::instructions::avx2, host::instructions::avx512})
    if (host::has(set)) all.push_back(set);
  return all;
}

/// A tensor in double, NCHW, and in a kernel's layout: channels [first, first + shape.channels) of a buffer in blocks,
/// whose other channels must not change.
class block_tensor {
 public:
  block_tensor(int batch, shape s, int block, int first = 0, int more = 0)
      : values(static_cast<std::size_t>(batch * s.size())),
        shape_(s),
        batch_(batch),
        block_(block),
        first_(first),
        channels_(native_cpu::blocks_of(first + s.channels, block) * block + more),
        memory_(1LL * batch * channels_ * s.area()) {}

  void draw(std::uint64_t seed) {
    std::uint64_t state = seed * 0x9e3779b97f4a7c15U + 1;
    for (double& v : values) {
      state = state * 6364136223846793005U + 1442695040888963407U;
      v = static_cast<double>(static_cast<float>(static_cast<double>(state >> 40) * 0x1p-23 - 1));
    }
    write();
  }
  /// Writes the values to memory, with zeros in a last block's unused channels.
  void write() const {
    view<float> const v = floats();
    for (int n = 0; n < batch_; ++n)
      for (int c = 0; c < native_cpu::blocks_of(shape_.channels, block_) * block_; ++c)
        for (long long i = 0; i < shape_.area(); ++i)
          v(n, c, i) = c < shape_.channels ? static_cast<float>(values[index(n, c, i)]) : 0.0F;
  }
  view<float> floats() const { return {memory_.data(), shape_, batch_, block_, channels_, first_}; }
  view<float const> read() const { return {memory_.data(), shape_, batch_, block_, channels_, first_}; }
  view<double const> exact() const { return {values.data(), shape_, batch_, 1, shape_.channels, 0}; }
  view<double> result() { return {values.data(), shape_, batch_, 1, shape_.channels, 0}; }
  std::size_t index(int n, int c, long long i) const {
    return static_cast<std::size_t>((1LL * n * shape_.channels + c) * shape_.area() + i);
  }
  /// Returns what is in memory, in NCHW.
  std::vector<float> found() const {
    std::vector<float> all(values.size());
    for (int n = 0; n < batch_; ++n)
      for (int c = 0; c < shape_.channels; ++c)
        for (long long i = 0; i < shape_.area(); ++i) all[index(n, c, i)] = floats()(n, c, i);
    return all;
  }
  /// Whether a last block's unused channels are 0, and the buffer's other channels are unchanged.
  bool others_are_untouched() const {
    view<float> const v = floats();
    bool good = true;
    for (int n = 0; n < batch_; ++n)
      for (int c = -first_; first_ + c < channels_; ++c)
        for (long long i = 0; i < shape_.area(); ++i) {
          float const x = v(n, c, i);
          if (c < 0 || c >= native_cpu::blocks_of(shape_.channels, block_) * block_) good = good && std::isnan(x);
          if (c >= shape_.channels && c < native_cpu::blocks_of(shape_.channels, block_) * block_)
            good = good && x == 0;
        }
    return good;
  }

  numbers values;

 private:
  shape shape_;
  int batch_;
  int block_;
  int first_;
  int channels_;
  guarded_floats memory_;
};

inline numbers absolute(numbers v) {
  for (double& x : v) x = std::fabs(x);
  return v;
}

/// Compares floats with exact numbers: each may differ by `factor` times its bound.
inline void check_within(std::vector<float> const& found, numbers const& wanted, numbers const& bound, double factor) {
  REQUIRE(found.size() == wanted.size());
  double worst = 0;
  std::size_t where = 0;
  for (std::size_t i = 0; i < found.size(); ++i) {
    double const off = std::fabs(static_cast<double>(found[i]) - wanted[i]) / (bound[i] * factor + 1e-300);
    if (!(off <= worst)) worst = std::isnan(off) ? HUGE_VAL : off, where = i;
  }
  INFO("number " << where << ": " << found[where] << ", exactly " << wanted[where]);
  CHECK(worst <= 1);
}

/// The memory of one pass.
struct pass_memory {
  guarded_floats packed;
  guarded_floats scratch;
  guarded_floats bias;
};

}  // namespace dsl::test
