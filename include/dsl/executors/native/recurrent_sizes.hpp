// SPDX-License-Identifier: MIT
#pragma once

#include <dsl/detail/mode.hpp>
#include <dsl/executors/host/bound_step.hpp>
#include <dsl/executors/native/row_product.hpp>
#include <dsl/executors/native/cpu_device.hpp>
#include <dsl/operations/recurrent/facts.hpp>

#include <cstring>

namespace dsl::native_cpu::TYPENET_MODE {

/// The sizes of a recurrent step, and copies between its tensors and rows. There is a row for each position and sample;
/// rows of one position are neighbours. Units and channels are rounded up to whole vectors with zeros. A row of gates
/// has four: an lstm's i, f, g and o, all computed from inputs and outputs; a gru's n, r, z from inputs, and r, z and
/// its recurrent part of n from outputs.
class recurrent_sizes {
 public:
  recurrent_sizes(kernels const& k, host::bound_step<float> const& s, shape const& y)
      : lanes_(k.lanes),
        is_gru_(s.node->kind == op::gru),
        inputs_(s.x.shape.channels),
        units_(y.channels),
        vectors_(blocks_of(units_, k.lanes)),
        length_(static_cast<int>(s.x.shape.area())),
        batch_(s.x.batch),
        is_whole_(y.area() == length_) {}

  int width() const { return vectors_ * lanes_; }                    // of a gate
  int depth() const { return blocks_of(inputs_, lanes_) * lanes_; }  // of an input
  int gates() const { return is_gru_ ? 3 : 4; }
  int first_of_output() const { return is_gru_ ? width() : 0; }  // where gates that outputs add to begin
  long long rows() const { return 1LL * length_ * batch_; }
  /// Returns the row of the kernels for a column of the gates that inputs add to, or -1 for a column of zeros.
  int kernel_row(int column, bool of_output) const {
    int const gate = column / width(), u = column % width();
    int const theirs = !is_gru_ || of_output ? gate : gate == 0 ? 2 : gate - 1;
    return u < units_ ? theirs * units_ + u : -1;
  }

  /// Copies a sample's numbers into the rows of all positions.
  void read(view<float const> const& v, int n, float* to) const {
    long long const row = 1LL * batch_ * depth();
    for (int c = 0; c < depth(); ++c) {
      float* at = to + 1LL * n * depth() + c;
      if (c >= inputs_) {
        for (int t = 0; t < length_; ++t, at += row) *at = 0;
        continue;
      }
      auto const from = v.pixels(n, c);
      for (int t = 0; t < length_; ++t, at += row) *at = from[t];
    }
  }
  /// Copies rows back to a sample.
  void write(float const* rows, view<float> const& v, int n, bool accumulate) const {
    long long const row = 1LL * batch_ * depth();
    for (int c = 0; c < inputs_; ++c) {
      auto const to = v.pixels(n, c);
      float const* at = rows + 1LL * n * depth() + c;
      for (int t = 0; t < length_; ++t, at += row) to[t] = accumulate ? to[t] + *at : *at;
    }
  }
  /// Returns where the saved numbers of a sample's position begin.
  float* saved(float* states, int n, int t) const {
    return states + (1LL * n * length_ + t) * operations::saved_numbers * units_;
  }
  /// Copies saved number k of a sample's position into a gate of zeros beyond its units; before the first position it
  /// is 0.
  void load_saved(float* states, int n, int t, int k, float* to) const {
    int const count = t < 0 ? 0 : units_;
    if (t >= 0) std::memcpy(to, saved(states, n, t) + 1LL * k * units_, sizeof(float) * static_cast<unsigned>(count));
    for (int u = count; u < width(); ++u) to[u] = 0;
  }

  /// Returns the samples whose sequences one item computes: those of a tile of rows, or fewer if threads would have
  /// nothing to do. The bits do not depend on it.
  int samples_of_item(int threads) const {
    int const share = (batch_ + threads - 1) / threads;
    return share < most_samples ? (share > 0 ? share : 1) : most_samples;
  }
  static constexpr int most_samples = 12;

  int lanes_;
  bool is_gru_;
  int inputs_, units_, vectors_, length_, batch_;
  bool is_whole_;
};

}  // namespace dsl::native_cpu::TYPENET_MODE
