// SPDX-License-Identifier: MIT
#pragma once

#include <dsl/detail/mode.hpp>
#include <dsl/executors/native/recurrent_sizes.hpp>

#include <cstring>

namespace dsl::native_cpu::TYPENET_MODE {

/// The gradient of an lstm or a gru; operations/recurrent/host.hpp has the equations. Each item goes from the last
/// position of some samples to the first, and leaves the gradients of all gates. The gradients of inputs and parameters
/// are then one matrix product each, over the rows of all positions.
class recurrent_backward {
 public:
  recurrent_backward(cpu_device& at, host::bound_step<float> const& s)
      : at_(at),
        step_(s),
        sizes_(at.kernels(), s, s.dy.shape),
        to_input_(at.kernels(), columns(), sizes_.depth()),
        to_output_(at.kernels(), columns(), sizes_.width()),
        kernel_(at.kernels(), columns(), sizes_.depth()),
        recurrent_(at.kernels(), columns(), sizes_.width()) {
    at.need(9LL * recurrent_sizes::most_samples * sizes_.width(), end());
  }

  void operator()() const {
    recurrent_sizes const& z = sizes_;
    float* const memory = at_.shared();
    auto& pool = at_.pool();
    for (int j = 0; j < z.depth(); ++j) memory[zeros() + j] = 0;
    int const first = step_.to.data ? to_input_.tiles() : 0;
    pool.run(first + to_output_.tiles(), [&](int i, int) {
      bool const second = i >= first;
      float const* const kernel = step_.parameter(second ? role::recurrent_kernel : role::kernel);
      int const columns = second ? z.units_ : z.inputs_;
      auto const number = [&](int k, int column) {
        int const row = z.kernel_row(k, second);
        return row >= 0 && column < columns ? kernel[1LL * row * columns + column] : 0.0F;
      };
      second ? to_output_.pack(i - first, number, memory + outputs_kernel())
             : to_input_.pack(i, number, memory + inputs_kernel());
    });
    int const each = z.samples_of_item(pool.threads());
    pool.run((z.batch_ + each - 1) / each,
             [&](int i, int thread) { run(i * each, least(each, z.batch_ - i * each), memory, at_.scratch(thread)); });
    if (float* const to = step_.gradient(role::kernel)) {
      pool.run(z.batch_, [&](int n, int) { z.read(step_.x, n, memory + inputs()); });
      multiply(kernel_, 0, memory + inputs(), z.inputs_, z.depth(), false, to);
    }
    if (float* const to = step_.gradient(role::recurrent_kernel))
      multiply(recurrent_, z.first_of_output(), memory + outputs(), z.units_, z.width(), true, to);
    if (float* const to = step_.gradient(role::bias)) sum(0, false, to);
    if (float* const to = step_.gradient(role::recurrent_bias)) sum(z.first_of_output(), true, to);
    if (!step_.to.data) return;
    constexpr int together = 48;
    pool.run(static_cast<int>((z.rows() + together - 1) / together), [&](int i, int) {
      long long const row = 1LL * i * together, left = z.rows() - row;
      to_input_.multiply(
          {memory + gradients() + row * 4 * z.width(), 4LL * z.width(), memory + zeros(), 0,
           memory + inputs() + row * z.depth(), z.depth(), left < together ? static_cast<int>(left) : together},
          memory + inputs_kernel());
    });
    pool.run(z.batch_, [&](int n, int) { z.write(memory + inputs(), step_.to, n, step_.accumulate); });
    if (step_.ends_block) host::zero_rest_of_block(step_.to);
  }

 private:
  int columns() const { return sizes_.gates() * sizes_.width(); }
  // The shared memory: zeros, the packed kernels, the rows of inputs, of outputs at the previous position and of the
  // gates' gradients, and a kernel's gradient.
  static long long zeros() { return 0; }
  long long inputs_kernel() const { return cpu_device::rounded(sizes_.depth()); }
  long long outputs_kernel() const { return inputs_kernel() + cpu_device::rounded(to_input_.packed()); }
  long long inputs() const { return outputs_kernel() + cpu_device::rounded(to_output_.packed()); }
  long long outputs() const { return inputs() + cpu_device::rounded(sizes_.rows() * sizes_.depth()); }
  long long gradients() const { return outputs() + cpu_device::rounded(sizes_.rows() * sizes_.width()); }
  long long product() const { return gradients() + cpu_device::rounded(4 * sizes_.rows() * sizes_.width()); }
  long long end() const {
    return product() + (kernel_.result() > recurrent_.result() ? kernel_.result() : recurrent_.result());
  }

  /// Computes the gates' gradients of `count` samples from `first` on. A thread's memory has five saved numbers of each
  /// unit, one of the previous position, the output's gradient, what is carried, and the output.
  void run(int first, int count, float* memory, float* own) const {
    recurrent_sizes const& z = sizes_;
    long long const width = z.width(), block = count * width;
    float *const saved = own, *const before = saved + 5 * block, *const dhidden = before + block;
    float *const carried = dhidden + block, *const hidden = carried + block;
    for (long long i = 0; i < block; ++i) dhidden[i] = carried[i] = 0;
    int const k_before = 4;  // an lstm's cell, a gru's output
    for (int t = z.length_ - 1; t >= 0; --t) {
      for (int r = 0; r < count; ++r) {
        for (int k = 0; k < operations::saved_numbers; ++k)
          z.load_saved(step_.states, first + r, t, k, saved + (5LL * r + k) * width);
        z.load_saved(step_.states, first + r, t - 1, k_before, before + r * width);
        if (z.is_whole_ || t == z.length_ - 1)
          for (int u = 0; u < z.units_; ++u) dhidden[r * width + u] += step_.dy(first + r, u, z.is_whole_ ? t : 0);
      }
      float* const to = memory + gradients() + (1LL * t * z.batch_ + first) * 4 * width;
      cell_gradient_call const c{.saved = saved,
                                 .before = before,
                                 .dhidden = dhidden,
                                 .carried = carried,
                                 .gradients = to,
                                 .hidden = hidden,
                                 .rows = count,
                                 .vectors = z.vectors_};
      z.is_gru_ ? at_.kernels().gru_gradient(c) : at_.kernels().lstm_gradient(c);
      keep_outputs(first, count, t, memory, before, hidden);
      if (t == 0) break;
      for (long long i = 0; i < block; ++i) dhidden[i] = z.is_gru_ ? carried[i] : 0;
      to_output_.multiply({to + z.first_of_output(), 4 * width, dhidden, width, dhidden, width, count},
                          memory + outputs_kernel());
    }
  }
  /// Copies the outputs at the previous position into the rows of position t, where they are multiplied.
  void keep_outputs(int first, int count, int t, float* memory, float const* before, float const* hidden) const {
    recurrent_sizes const& z = sizes_;
    unsigned const bytes = static_cast<unsigned>(count * z.width()) * sizeof(float);
    auto const row = [&](int position) { return memory + outputs() + (1LL * position * z.batch_ + first) * z.width(); };
    if (z.is_gru_) std::memcpy(row(t), before, bytes);
    if (!z.is_gru_ && t + 1 < z.length_) std::memcpy(row(t + 1), hidden, bytes);
    if (!z.is_gru_ && t == 0) std::memset(row(0), 0, bytes);
  }

  /// Computes a kernel's gradient: the product of the gates' gradients, transposed, and the rows of what they read.
  void multiply(transposed_product const& p, int gate, float const* rows, int columns, int padded, bool of_output,
                float* to) const {
    recurrent_sizes const& z = sizes_;
    float *const memory = at_.shared(), *const result = memory + product();
    int const each = at_.kernels().outer_rows;
    at_.pool().run(p.items(), [&](int i, int) {
      p.run(i, memory + gradients() + gate, 4LL * z.width(), rows, static_cast<int>(z.rows()), result);
      for (int j = i * each; j < (i + 1) * each; ++j)
        if (int const row = z.kernel_row(j, of_output); row >= 0)
          std::memcpy(to + 1LL * row * columns, result + 1LL * j * padded,
                      static_cast<unsigned>(columns) * sizeof(float));
    });
  }
  /// Sums the gates' gradients over all rows, in order.
  void sum(int gate, bool of_output, float* to) const {
    recurrent_sizes const& z = sizes_;
    at_.pool().run(z.gates() * z.vectors_, [&](int i, int) {
      int const first = i * z.lanes_;
      float sums[16] = {};
      float const* from = at_.shared() + gradients() + gate + first;
      for (long long r = 0; r < z.rows(); ++r, from += 4LL * z.width())
        for (int l = 0; l < z.lanes_; ++l) sums[l] += from[l];
      for (int l = 0; l < z.lanes_; ++l)
        if (int const row = z.kernel_row(first + l, of_output); row >= 0) to[row] = sums[l];
    });
  }

  cpu_device& at_;
  host::bound_step<float> const& step_;
  recurrent_sizes sizes_;
  row_product to_input_, to_output_;
  transposed_product kernel_, recurrent_;
};

}  // namespace dsl::native_cpu::TYPENET_MODE
