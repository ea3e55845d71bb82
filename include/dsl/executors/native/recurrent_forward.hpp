// SPDX-License-Identifier: MIT
#pragma once

#include <dsl/detail/mode.hpp>
#include <dsl/executors/native/recurrent_sizes.hpp>

#include <cstring>

namespace dsl::native_cpu::TYPENET_MODE {

/// Computes an lstm or a gru: first what the inputs of all positions add to the gates, as one matrix product, then
/// position after position what the outputs add. Samples do not depend on each other, so each item computes the
/// positions of some samples without waiting for other threads.
class recurrent_forward {
 public:
  recurrent_forward(cpu_device& at, host::bound_step<float> const& s)
      : at_(at),
        step_(s),
        sizes_(at.kernels(), s, s.to.shape),
        of_input_(at.kernels(), sizes_.depth(), sizes_.gates() * sizes_.width()),
        of_output_(at.kernels(), sizes_.width(), sizes_.gates() * sizes_.width()) {
    at.need(2LL * recurrent_sizes::most_samples * sizes_.width(), end());
  }

  void operator()() const {
    recurrent_sizes const& z = sizes_;
    float* const memory = at_.shared();
    auto& pool = at_.pool();
    for (int j = 0; j < 4 * z.width(); ++j) memory[bias() + j] = bias_of(j);
    pool.run(of_input_.tiles() + of_output_.tiles(), [&](int i, int) {
      bool const second = i >= of_input_.tiles();
      float const* const kernel = step_.parameter(second ? role::recurrent_kernel : role::kernel);
      int const columns = second ? z.units_ : z.inputs_;
      auto const number = [&](int k, int column) {
        int const row = z.kernel_row(column, second);
        return row >= 0 && k < columns ? kernel[1LL * row * columns + k] : 0.0F;
      };
      second ? of_output_.pack(i - of_input_.tiles(), number, memory + outputs_kernel())
             : of_input_.pack(i, number, memory + inputs_kernel());
    });
    pool.run(z.batch_, [&](int n, int) { z.read(step_.x, n, memory + inputs()); });
    constexpr int together = 48;
    pool.run(static_cast<int>((z.rows() + together - 1) / together), [&](int i, int) {
      long long const first = 1LL * i * together, left = z.rows() - first;
      int const count = left < together ? static_cast<int>(left) : together;
      float* const to = memory + gates() + first * 4 * z.width();
      of_input_.multiply(
          {memory + inputs() + first * z.depth(), z.depth(), memory + bias(), 0, to, 4LL * z.width(), count},
          memory + inputs_kernel());
      for (int r = 0; z.is_gru_ && r < count; ++r)
        std::memcpy(to + (4LL * r + 3) * z.width(), memory + bias() + 3LL * z.width(), row_bytes());
    });
    int const each = z.samples_of_item(pool.threads());
    pool.run((z.batch_ + each - 1) / each,
             [&](int i, int thread) { run(i * each, least(each, z.batch_ - i * each), memory, at_.scratch(thread)); });
    if (step_.ends_block) host::zero_rest_of_block(step_.to);
  }

 private:
  // The shared memory: a bias for each column of the gates, the packed kernels, the rows of the inputs, the gates.
  static long long bias() { return 0; }
  long long inputs_kernel() const { return cpu_device::rounded(4LL * sizes_.width()); }
  long long outputs_kernel() const { return inputs_kernel() + cpu_device::rounded(of_input_.packed()); }
  long long inputs() const { return outputs_kernel() + cpu_device::rounded(of_output_.packed()); }
  long long gates() const { return inputs() + cpu_device::rounded(sizes_.rows() * sizes_.depth()); }
  long long end() const { return gates() + 4 * sizes_.rows() * sizes_.width(); }
  unsigned row_bytes() const { return static_cast<unsigned>(sizes_.width()) * sizeof(float); }

  /// Returns the sum of both biases of a column's gate. The two biases of a gru's gate n belong to separate columns.
  float bias_of(int column) const {
    recurrent_sizes const& z = sizes_;
    float const *const one = step_.parameter(role::bias), *const two = step_.parameter(role::recurrent_bias);
    int const gate = column / z.width(), row = z.kernel_row(column, false);
    if (row < 0) return 0;
    if (z.is_gru_ && gate == 0) return one[row];
    if (z.is_gru_ && gate == 3) return two[2 * z.units_ + column % z.width()];
    return one[row] + two[row];
  }

  /// Computes all positions of `count` samples from `first` on.
  void run(int first, int count, float* memory, float* own) const {
    recurrent_sizes const& z = sizes_;
    long long const width = z.width();
    float *const hidden = own, *const cell = own + count * width;
    std::memset(own, 0, 2U * static_cast<unsigned>(count) * row_bytes());
    for (int t = 0; t < z.length_; ++t) {
      float* const at = memory + gates() + (1LL * t * z.batch_ + first) * 4 * width;
      float* const from_output = at + z.first_of_output();
      if (t > 0)
        of_output_.multiply({hidden, width, from_output, 4 * width, from_output, 4 * width, count},
                            memory + outputs_kernel());
      cell_call const c{.gates = at, .cell = cell, .hidden = hidden, .rows = count, .vectors = z.vectors_};
      z.is_gru_ ? at_.kernels().gru_cell(c) : at_.kernels().lstm_cell(c);
      for (int r = 0; r < count; ++r) finish(first + r, t, at + r * 4 * width, cell + r * width, hidden + r * width);
    }
  }
  /// Saves a sample's numbers at one position, and writes its output.
  void finish(int n, int t, float const* gates, float const* cell, float const* hidden) const {
    recurrent_sizes const& z = sizes_;
    unsigned const bytes = static_cast<unsigned>(z.units_) * sizeof(float);
    if (step_.states) {
      float* const to = z.saved(step_.states, n, t);
      for (int k = 0; k < 4; ++k) std::memcpy(to + 1LL * k * z.units_, gates + 1LL * k * z.width(), bytes);
      std::memcpy(to + 4LL * z.units_, z.is_gru_ ? hidden : cell, bytes);
    }
    if (!z.is_whole_ && t + 1 < z.length_) return;
    for (int u = 0; u < z.units_; ++u) step_.to(n, u, z.is_whole_ ? t : 0) = hidden[u];
  }

  cpu_device& at_;
  host::bound_step<float> const& step_;
  recurrent_sizes sizes_;
  row_product of_input_, of_output_;
};

}  // namespace dsl::native_cpu::TYPENET_MODE
