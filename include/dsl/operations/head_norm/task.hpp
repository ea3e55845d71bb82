// SPDX-License-Identifier: MIT
#pragma once

#include <dsl/detail/math.hpp>
#include <dsl/detail/mode.hpp>
#include <dsl/executors/host/memory_tasks.hpp>
#include <dsl/executors/host/step_task.hpp>

#include <cstring>

namespace dsl::host::TYPENET_MODE {

/// Runs a head_norm, forward or backward. An item is the queries, the keys or the values of one head of one sample; the
/// gradients of the factors are added in the order of the samples. memory_tasks.hpp explains Place.
template <class Place>
class head_norm {
 public:
  head_norm(Place& at, bound_step<float> const& s)
      : at_(&at), step_(&s), lanes_(at.lanes()), heads_(s.node->groups), width_(s.x.shape.channels / 3 / heads_) {}

  /// Returns how many floats of shared memory it needs: a sum in double for each head of each sample.
  long long floats() const { return 2LL * step_->x.batch * heads_; }

  void forward() const {
    run([this](int n, int part, int head, int first) {
      double const factor = factor_of(part, head);
      for (long long i = 0; i < step_->x.shape.area(); ++i) {
        double const times = part == 2 ? 1 : factor / length_of(n, first, i);
        each_block(first, i, [&](long long at) {
          float const* const x = sample_of(step_->x, n) + at;
          float* const to = sample_of(step_->to, n) + at;
          for (int l = 0; l < lanes_; ++l)
            to[l] = part == 2 ? x[l] : static_cast<float>(static_cast<double>(x[l]) * times);
        });
      }
    });
  }
  void backward() const {
    run([this](int n, int part, int head, int first) {
      double const factor = factor_of(part, head);
      double sum = 0;
      for (long long i = 0; i < step_->x.shape.area(); ++i) {
        double const length = part == 2 ? 1 : length_of(n, first, i);
        double product = 0;
        each_block(first, i, [&](long long at) {
          float const *const x = sample_of(step_->x, n) + at, *const dy = sample_of(step_->dy, n) + at;
          for (int l = 0; l < lanes_; ++l) product += static_cast<double>(x[l]) * static_cast<double>(dy[l]);
        });
        product = part == 2 ? 0 : product / length;
        sum += product;
        if (!step_->to.data) continue;
        each_block(first, i, [&](long long at) {
          float const *const x = sample_of(step_->x, n) + at, *const dy = sample_of(step_->dy, n) + at;
          float* const to = sample_of(step_->to, n) + at;
          for (int l = 0; l < lanes_; ++l) {
            double const own = static_cast<double>(dy[l]) - static_cast<double>(x[l]) / length * product;
            float const dx = static_cast<float>(own * factor / length);
            to[l] = step_->accumulate ? to[l] + dx : dx;
          }
        });
      }
      if (part == 0) sums()[n * heads_ + head] = factor >= 100 ? 0 : factor * sum;
    });
    float* const gradient = step_->gradient(role::gamma);
    for (int head = 0; gradient && head < heads_; ++head) {
      double sum = 0;
      for (int n = 0; n < step_->x.batch; ++n) sum += sums()[n * heads_ + head];
      gradient[head] = static_cast<float>(sum);
    }
  }

 private:
  double* sums() const { return reinterpret_cast<double*>(at_->shared()); }
  double factor_of(int part, int head) const {
    double const gamma = part == 0 ? static_cast<double>(step_->parameter(role::gamma)[head]) : 0;
    return gamma >= 4.605170185988091 ? 100 : detail::exp(gamma);  // e^gamma, at most 100; NaN stays NaN
  }
  /// Calls f(sample, part, head, first channel); the parts are queries, keys and values.
  template <class F>
  void run(F const& f) const {
    at_->run(step_->x.batch * 3 * heads_, [&](int i) {
      int const which = i % (3 * heads_);
      f(i / (3 * heads_), which / heads_, which % heads_, which * width_);
    });
  }
  /// Calls f(place in the sample) for each channel block of a head at one pixel.
  template <class F>
  void each_block(int first, long long pixel, F const& f) const {
    for (int c = 0; c < width_; c += lanes_) f((first + c) * step_->x.shape.area() + pixel * lanes_);
  }
  double length_of(int n, int first, long long pixel) const {
    double squares = 0;
    each_block(first, pixel, [&](long long at) {
      float const* const x = sample_of(step_->x, n) + at;
      for (int l = 0; l < lanes_; ++l) squares += static_cast<double>(x[l]) * static_cast<double>(x[l]);
    });
    double const length = detail::sqrt(squares);
    return length < 1e-12 ? 1e-12 : length;
  }

  Place* at_;
  bound_step<float> const* step_;
  int lanes_, heads_, width_;
};

template <>
struct step_task<op::head_norm> {
  /// Returns the task of a head_norm, or an empty task if its heads are not whole channel blocks.
  template <operation_set, class Place>
  static task make(Place& at, bound_step<float> const& s) {
    int const L = at.lanes();
    bool const whole = in_blocks(s.x, L) && in_blocks(s.dy, L) && in_blocks(s.to, L) && s.x.block == L;
    if (!whole || s.x.shape.channels / 3 / s.node->groups % L != 0) return {};
    head_norm<Place> const made(at, s);
    at.need_shared(made.floats());
    if (s.step->what == action::forward) return [made] { made.forward(); };
    return [made] { made.backward(); };
  }
};

}  // namespace dsl::host::TYPENET_MODE
