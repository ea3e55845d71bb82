// SPDX-License-Identifier: MIT
#pragma once

#include <dsl/detail/mode.hpp>
#include <dsl/executors/host/vector_tasks.hpp>

#include <cstring>

namespace dsl::host::TYPENET_MODE {

/// A step that copies tokens, vector by vector. An item is a channel block of a sample, so that no two threads write to
/// the same numbers. vector_tasks.hpp explains Device.
template <class Device>
struct token_steps {
  token_steps(Device& place, bound_step<float> const& s) : at(&place), step(&s), lanes(place.lanes()) {}

  /// Whether the channels of all tensors are whole vectors.
  bool fits() const {
    auto const whole = [this](auto const& v) {
      return !v.data || (v.shape.channels % lanes == 0 && in_blocks(v, lanes));
    };
    return whole(step->x) && whole(step->dy) && whole(step->to);
  }

  template <class T>
  T* numbers(view<T> const& v, int n, int block) const {
    return sample_of(v, n) + 1LL * block * lanes * v.shape.area();
  }
  /// Calls f(sample, channel block) for all channel blocks of a tensor.
  template <class V, class F>
  void each_block(V const& v, F const& f) const {
    int const blocks = v.shape.channels / lanes;
    at->run(v.batch * blocks, [&f, blocks](int i) { f(i / blocks, i % blocks); });
  }
  /// Sums the gradient of one pixel over the samples, in double.
  void sum_samples(long long pixel, float* to) const {
    for (int c = 0; c < step->dy.shape.channels; ++c) {
      double sum = 0;
      for (int n = 0; n < step->dy.batch; ++n)
        sum += static_cast<double>(numbers(step->dy, n, c / lanes)[pixel * lanes + c % lanes]);
      to[c] = static_cast<float>(sum);
    }
  }
  static void move(float* to, float const* from, long long count, bool accumulate) {
    if (!accumulate) std::memcpy(to, from, sizeof(float) * static_cast<unsigned long long>(count));
    for (long long i = 0; accumulate && i < count; ++i) to[i] += from[i];
  }

  Device* at;
  bound_step<float> const* step;
  int lanes;
};

}  // namespace dsl::host::TYPENET_MODE
