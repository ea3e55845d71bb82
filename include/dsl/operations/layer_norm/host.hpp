// SPDX-License-Identifier: MIT
#pragma once

#include <dsl/detail/math.hpp>
#include <dsl/detail/mode.hpp>
#include <dsl/executors/host/vector_tasks.hpp>
#include <dsl/executors/host/operation.hpp>

#include <cstddef>

namespace dsl::plain::TYPENET_MODE {

/// The mean of the channels of one pixel, and 1 / sqrt(variance + epsilon) with the biased variance, in double.
struct pixel_moments {
  double mean = 0;
  double inverse = 0;

  template <class T>
  pixel_moments(view<T const> const& x, int n, long long pixel, double epsilon) {
    int const channels = x.shape.channels;
    double squares = 0;
    for (int c = 0; c < channels; ++c) mean += static_cast<double>(x(n, c, pixel));
    mean /= channels;
    for (int c = 0; c < channels; ++c) {
      double const distance = static_cast<double>(x(n, c, pixel)) - mean;
      squares += distance * distance;
    }
    inverse = 1 / detail::sqrt(squares / channels + epsilon);
  }
  template <class T>
  double normal(T x) const {
    return (static_cast<double>(x) - mean) * inverse;
  }
};

/// Computes y = gamma (x - mean) / sqrt(variance + epsilon) + beta. y may be x.
template <class T>
void layer_norm_forward(host::bound_step<T> const& b, step_context const&) {
  T const *const gamma = b.parameter(role::gamma), *const beta = b.parameter(role::beta);
  for (int n = 0; n < b.to.batch; ++n)
    for (long long pixel = 0; pixel < b.to.shape.area(); ++pixel) {
      pixel_moments const m(b.x, n, pixel, b.node->epsilon);
      for (int c = 0; c < b.to.shape.channels; ++c)
        b.to(n, c, pixel) =
            static_cast<T>(m.normal(b.x(n, c, pixel)) * static_cast<double>(gamma[c]) + static_cast<double>(beta[c]));
    }
}

/// Computes dx = (g - mean(g) - h mean(g h)) / sqrt(variance + epsilon), with g = dy gamma and h the normalised x. dx
/// may be x or dy, or null; the gradients of gamma and beta are sums over samples and pixels in double.
template <class T>
void layer_norm_backward(host::bound_step<T> const& b, step_context const&) {
  int const channels = b.x.shape.channels;
  T const* const gamma = b.parameter(role::gamma);
  constexpr int most = 256;  // channels at a time, whose sums fit on the stack
  for (int begin = 0; b.gradient(role::gamma) && begin < channels; begin += most) {
    int const count = channels - begin < most ? channels - begin : most;
    double products[most] = {}, sums[most] = {};
    for (int n = 0; n < b.x.batch; ++n)
      for (long long pixel = 0; pixel < b.x.shape.area(); ++pixel) {
        pixel_moments const m(b.x, n, pixel, b.node->epsilon);
        for (int c = 0; c < count; ++c) {
          auto const dy = static_cast<double>(b.dy(n, begin + c, pixel));
          sums[c] += dy, products[c] += dy * m.normal(b.x(n, begin + c, pixel));
        }
      }
    for (int c = 0; c < count; ++c) {
      b.gradient(role::gamma)[begin + c] = static_cast<T>(products[c]);
      b.gradient(role::beta)[begin + c] = static_cast<T>(sums[c]);
    }
  }
  for (int n = 0; b.to.data && n < b.x.batch; ++n)
    for (long long pixel = 0; pixel < b.x.shape.area(); ++pixel) {
      pixel_moments const m(b.x, n, pixel, b.node->epsilon);
      double sum = 0, product = 0;
      for (int c = 0; c < channels; ++c) {
        double const g = static_cast<double>(b.dy(n, c, pixel)) * static_cast<double>(gamma[c]);
        sum += g, product += g * m.normal(b.x(n, c, pixel));
      }
      for (int c = 0; c < channels; ++c) {
        double const g = static_cast<double>(b.dy(n, c, pixel)) * static_cast<double>(gamma[c]);
        double const h = m.normal(b.x(n, c, pixel));
        T const dx = static_cast<T>(m.inverse * (g - sum / channels - h * product / channels));
        T& to = b.to(n, c, pixel);
        to = b.accumulate ? to + dx : dx;
      }
    }
}

template <class T>
inline constexpr loops<T> loops_for<T, op::layer_norm>{
    .forward = layer_norm_forward<T>, .backward = layer_norm_backward<T>, .parts = parts_of::samples};

}  // namespace dsl::plain::TYPENET_MODE

namespace dsl::host::TYPENET_MODE {

/// Runs a layer_norm, forward or backward. The gradients of gamma and beta are first summed over each part of the
/// batch; these sums are added in the order of the parts, so the bits do not depend on the number of threads. A frozen
/// layer has no such gradients. vector_tasks.hpp explains Device.
template <class Device>
class layer_norm {
 public:
  /// A layer that is not `centred` neither subtracts the mean nor has a beta.
  layer_norm(Device& at, bound_step<float> const& s, bool centred = true)
      : at_(&at),
        step_(&s),
        centred_(centred),
        blocks_(blocks_of(s.x.shape.channels, at.lanes())),
        apart_(s.x.shape.area() * at.lanes()),
        parts_(least(s.x.batch, 16)) {}

  /// Returns the number of floats that this step needs in the shared memory of its place: gamma and beta, then two sums
  /// per part, in double.
  long long floats() const { return 2LL * (2 + 2LL * parts_) * padded(); }

  void forward() const {
    fill();
    constexpr int most_pixels = 64;
    long long const area = step_->x.shape.area();
    int const pieces = static_cast<int>((area + most_pixels - 1) / most_pixels);
    at_->run(step_->x.batch * pieces, [&](int i) {
      long long const first = 1LL * i % pieces * most_pixels;
      run(i / pieces, first, area - first < most_pixels ? area - first : most_pixels, nullptr);
    });
  }
  void backward() const {
    fill();
    at_->run(parts_, [&](int part) {
      double* const sums = doubles() + (2LL + 2LL * part) * padded();
      for (int i = 0; i < 2 * padded(); ++i) sums[i] = 0;
      share const samples(step_->x.batch, part, parts_);
      for (int n = samples.begin; n < samples.end; ++n) run(n, 0, step_->x.shape.area(), sums);
    });
    for (int c = 0; step_->gradient(role::gamma) && c < step_->x.shape.channels; ++c) {
      double product = 0, sum = 0;
      for (int part = 0; part < parts_; ++part) {
        double const* const sums = doubles() + (2LL + 2LL * part) * padded();
        product += sums[c], sum += sums[padded() + c];
      }
      step_->gradient(role::gamma)[c] = static_cast<float>(product);
      if (centred_) step_->gradient(role::beta)[c] = static_cast<float>(sum);
    }
  }

 private:
  int padded() const { return blocks_ * at_->lanes(); }
  double* doubles() const { return reinterpret_cast<double*>(at_->shared()); }
  void fill() const {
    float const* const gamma = step_->parameter(role::gamma);
    float const* const beta = centred_ ? step_->parameter(role::beta) : nullptr;
    for (int c = 0; c < padded(); ++c) {
      bool const used = c < step_->x.shape.channels;
      doubles()[c] = used ? static_cast<double>(gamma[c]) : 0;
      doubles()[padded() + c] = used && beta ? static_cast<double>(beta[c]) : 0;
    }
  }
  /// Processes pixels [first, first + count) of sample n. If `sums` is not null, runs the backward pass.
  void run(int n, long long first, long long count, double* sums) const {
    long long const offset = first * at_->lanes();
    at_->vectors().layer_norm({.x = sample_of(step_->x, n) + offset,
                               .dy = sums ? sample_of(step_->dy, n) + offset : nullptr,
                               .to = step_->to.data ? sample_of(step_->to, n) + offset : nullptr,
                               .apart = apart_,
                               .pixels = count,
                               .blocks = blocks_,
                               .channels = step_->x.shape.channels,
                               .gamma = doubles(),
                               .beta = doubles() + padded(),
                               .epsilon = step_->node->epsilon,
                               .products = sums,
                               .sums = sums && centred_ ? sums + padded() : nullptr,
                               .accumulate = step_->accumulate,
                               .centred = centred_});
  }

  Device* at_;
  bound_step<float> const* step_;
  bool centred_;
  int blocks_;
  long long apart_;  // floats between channel blocks of a sample
  int parts_;        // number of parts of the batch
};

/// Returns the task of a layer_norm step, or an empty task if a tensor does not consist of whole channel blocks.
template <class Device>
task layer_norm_task(Device& at, bound_step<float> const& s, bool centred) {
  int const L = at.lanes();
  if (!in_blocks(s.x, L) || !in_blocks(s.dy, L) || !in_blocks(s.to, L)) return {};
  layer_norm<Device> const made(at, s, centred);
  at.need_shared(made.floats());
  if (s.step->what == action::forward) return [made] { made.forward(); };
  return [made] { made.backward(); };
}

template <>
struct step_task<op::layer_norm> {
  template <operation_set, class Device>
  static task make(Device& at, bound_step<float> const& s) {
    return layer_norm_task(at, s, true);
  }
};

}  // namespace dsl::host::TYPENET_MODE
