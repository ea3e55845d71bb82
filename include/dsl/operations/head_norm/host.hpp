// SPDX-License-Identifier: MIT
#pragma once

#include <dsl/detail/list.hpp>
#include <dsl/detail/math.hpp>
#include <dsl/detail/mode.hpp>
#include <dsl/executors/host/elementwise.hpp>
#include <dsl/executors/host/vector_tasks.hpp>
#include <dsl/executors/host/operation.hpp>

#include <cstring>

namespace dsl::plain::TYPENET_MODE {

/// Returns e^gamma, at most 100, as in Swin Transformers (Liu et al. 2022); NaN stays NaN.
inline double factor_of_queries(double gamma) { return gamma >= 4.605170185988091 ? 100 : detail::exp(gamma); }

/// The queries or keys of one head at one pixel.
template <class T>
struct head_vector {
  view<T> const& v;
  int n, first, width;
  long long pixel;

  T& operator[](int c) const { return v(n, first + c, pixel); }
};
/// Returns the length of a vector, at least 1e-12, as in PyTorch; NaN if a number of the vector is NaN.
template <class T>
double length_of(head_vector<T> const& x) {
  double squares = 0;
  for (int c = 0; c < x.width; ++c) squares += static_cast<double>(x[c]) * static_cast<double>(x[c]);
  double const length = detail::sqrt(squares);
  return length < 1e-12 ? 1e-12 : length;
}

/// Calls f(sample, part, head, first channel, width, pixel) for all queries and keys; part is 0 for queries.
template <class T, class F>
void for_each_vector(view<T> const& v, int heads, F f) {
  int const channels = v.shape.channels / 3, width = channels / heads;
  for (int n = 0; n < v.batch; ++n)
    for (int part = 0; part < 2; ++part)
      for (int head = 0; head < heads; ++head)
        for (long long i = 0; i < v.shape.area(); ++i) f(n, part, head, part * channels + head * width, width, i);
}

template <class T>
void head_norm_forward(host::bound_step<T> const& b, step_context const&) {
  T const* const gamma = b.parameter(role::gamma);
  for_each_vector(b.to, b.node->groups, [&](int n, int part, int head, int first, int width, long long pixel) {
    head_vector<T const> const x{b.x, n, first, width, pixel};
    double const factor = part == 0 ? factor_of_queries(static_cast<double>(gamma[head])) : 1;
    double const times = factor / length_of(x);
    for (int c = 0; c < width; ++c) b.to(n, first + c, pixel) = static_cast<T>(static_cast<double>(x[c]) * times);
  });
  int const values = b.to.shape.channels / 3 * 2;
  for (int n = 0; n < b.to.batch; ++n)
    for (int c = values; c < b.to.shape.channels; ++c)
      for (long long i = 0; i < b.to.shape.area(); ++i) b.to(n, c, i) = b.x(n, c, i);
}

/// Computes dx = f (dy - u (u dy)) / |x|, with u = x / |x| and f the factor of the queries, and the gradient of gamma,
/// which is the sum of f u dy over all queries if f is below 100.
template <class T>
void head_norm_backward(host::bound_step<T> const& b, step_context const&) {
  T const* const gamma = b.parameter(role::gamma);
  detail::list<double> sums(b.node->groups, 0.0);
  for_each_vector(b.x, b.node->groups, [&](int n, int part, int head, int first, int width, long long pixel) {
    head_vector<T const> const x{b.x, n, first, width, pixel}, dy{b.dy, n, first, width, pixel};
    double const given = static_cast<double>(gamma[head]), factor = part == 0 ? factor_of_queries(given) : 1;
    double const length = length_of(x);
    double product = 0;
    for (int c = 0; c < width; ++c) product += static_cast<double>(x[c]) * static_cast<double>(dy[c]);
    product /= length;
    if (part == 0 && !(factor >= 100)) sums[head] += factor * product;
    for (int c = 0; b.to.data && c < width; ++c) {
      double const dx = (static_cast<double>(dy[c]) - static_cast<double>(x[c]) / length * product) * factor / length;
      add_to(b.to(n, first + c, pixel), static_cast<T>(dx), b.accumulate);
    }
  });
  for (int head = 0; b.gradient(role::gamma) && head < sums.size(); ++head)
    b.gradient(role::gamma)[head] = static_cast<T>(sums[head]);
  int const values = b.x.shape.channels / 3 * 2;
  for (int n = 0; b.to.data && n < b.to.batch; ++n)
    for (int c = values; c < b.to.shape.channels; ++c)
      for (long long i = 0; i < b.to.shape.area(); ++i) add_to(b.to(n, c, i), b.dy(n, c, i), b.accumulate);
}

template <class T>
inline constexpr loops<T> loops_for<T, op::head_norm>{.forward = head_norm_forward<T>,
                                                      .backward = head_norm_backward<T>};

}  // namespace dsl::plain::TYPENET_MODE

namespace dsl::host::TYPENET_MODE {

/// Runs a head_norm, forward or backward. An item is the queries, the keys or the values of one head of one sample; the
/// gradients of the factors are added in the order of the samples. vector_tasks.hpp explains Device.
template <class Device>
class head_norm {
 public:
  head_norm(Device& at, bound_step<float> const& s)
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

  Device* at_;
  bound_step<float> const* step_;
  int lanes_, heads_, width_;
};

template <>
struct step_task<op::head_norm> {
  /// Returns the task of a head_norm, or an empty task if its heads are not whole channel blocks.
  template <operation_set, class Device>
  static task make(Device& at, bound_step<float> const& s) {
    int const L = at.lanes();
    bool const whole = in_blocks(s.x, L) && in_blocks(s.dy, L) && in_blocks(s.to, L) && s.x.block == L;
    if (!whole || s.x.shape.channels / 3 / s.node->groups % L != 0) return {};
    head_norm<Device> const made(at, s);
    at.need_shared(made.floats());
    if (s.step->what == action::forward) return [made] { made.forward(); };
    return [made] { made.backward(); };
  }
};

}  // namespace dsl::host::TYPENET_MODE
