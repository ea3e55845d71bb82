// SPDX-License-Identifier: MIT
#pragma once

#include <dsl/detail/math.hpp>
#include <dsl/detail/mode.hpp>
#include <dsl/executors/host/vector_tasks.hpp>
#include <dsl/executors/host/operation.hpp>

namespace dsl::plain::TYPENET_MODE {

/// A group of consecutive channels that are normalised together.
struct channel_group {
  int first = 0;
  int count = 0;
};

/// The mean of a group in one sample, and 1 / sqrt(variance + epsilon) with the biased variance, in double.
struct group_moments {
  double mean = 0;
  double inverse = 0;

  template <class T>
  group_moments(view<T const> const& x, int n, channel_group const& g, double epsilon) {
    double const numbers = static_cast<double>(g.count) * static_cast<double>(x.shape.area());
    double squares = 0;
    for (int c = g.first; c < g.first + g.count; ++c) {
      auto const from = x.pixels(n, c);
      for (long long i = 0; i < x.shape.area(); ++i) mean += static_cast<double>(from[i]);
    }
    mean /= numbers;
    for (int c = g.first; c < g.first + g.count; ++c) {
      auto const from = x.pixels(n, c);
      for (long long i = 0; i < x.shape.area(); ++i) {
        double const distance = static_cast<double>(from[i]) - mean;
        squares += distance * distance;
      }
    }
    inverse = 1 / detail::sqrt(squares / numbers + epsilon);
  }
  template <class T>
  double normal(T x) const {
    return (static_cast<double>(x) - mean) * inverse;
  }
};

/// Calls f(sample, group) for all groups of all samples.
template <class F>
void for_each_group(shape const& s, int batch, int groups, F f) {
  int const count = s.channels / groups;
  for (int n = 0; n < batch; ++n)
    for (int g = 0; g < groups; ++g) f(n, channel_group{g * count, count});
}

/// Computes y = gamma (x - mean) / sqrt(variance + epsilon) + beta. y may be the same memory as x.
template <class T>
void group_norm_forward(host::bound_step<T> const& b, step_context const&) {
  for_each_group(b.to.shape, b.to.batch, b.node->groups, [&](int n, channel_group const& g) {
    group_moments const m(b.x, n, g, b.node->epsilon);
    for (int c = g.first; c < g.first + g.count; ++c) {
      auto const from = b.x.pixels(n, c);
      auto const to = b.to.pixels(n, c);
      auto const gamma = static_cast<double>(b.parameter(role::gamma)[c]);
      auto const beta = static_cast<double>(b.parameter(role::beta)[c]);
      for (long long i = 0; i < b.to.shape.area(); ++i) to[i] = static_cast<T>(m.normal(from[i]) * gamma + beta);
    }
  });
}

/// Computes the gradients of gamma and beta, which are summed over samples and pixels in double.
template <class T>
void group_norm_weights(host::bound_step<T> const& b) {
  int const groups = b.node->groups, each = b.x.shape.channels / groups;
  constexpr int most = 256;  // channels at a time, whose sums fit on the stack
  for (int g = 0; g < groups; ++g)
    for (int begin = g * each, end = begin + each; begin < end; begin += most) {
      int const count = end - begin < most ? end - begin : most;
      double products[most] = {}, sums[most] = {};
      for (int n = 0; n < b.x.batch; ++n) {
        group_moments const m(b.x, n, {g * each, each}, b.node->epsilon);
        for (int c = 0; c < count; ++c) {
          auto const x = b.x.pixels(n, begin + c), from = b.dy.pixels(n, begin + c);
          for (long long i = 0; i < b.x.shape.area(); ++i) {
            auto const dy = static_cast<double>(from[i]);
            sums[c] += dy, products[c] += dy * m.normal(x[i]);
          }
        }
      }
      for (int c = 0; c < count; ++c) {
        b.gradient(role::gamma)[begin + c] = static_cast<T>(products[c]);
        b.gradient(role::beta)[begin + c] = static_cast<T>(sums[c]);
      }
    }
}

/// Computes dx = (g - mean(g) - h mean(g h)) / sqrt(variance + epsilon), with g = dy gamma and h the normalised x; the
/// means are over the group. dx may be x or dy, or null.
template <class T>
void group_norm_backward(host::bound_step<T> const& b, step_context const&) {
  if (b.gradient(role::gamma)) group_norm_weights(b);
  if (!b.to.data) return;
  long long const area = b.x.shape.area();
  for_each_group(b.x.shape, b.x.batch, b.node->groups, [&](int n, channel_group const& g) {
    group_moments const m(b.x, n, g, b.node->epsilon);
    double const numbers = static_cast<double>(g.count) * static_cast<double>(area);
    double sum = 0, product = 0;
    auto const scaled = [&](int c, T dy) {
      return static_cast<double>(dy) * static_cast<double>(b.parameter(role::gamma)[c]);
    };
    for (int c = g.first; c < g.first + g.count; ++c) {
      auto const x = b.x.pixels(n, c), dy = b.dy.pixels(n, c);
      for (long long i = 0; i < area; ++i) {
        double const v = scaled(c, dy[i]);
        sum += v, product += v * m.normal(x[i]);
      }
    }
    for (int c = g.first; c < g.first + g.count; ++c) {
      auto const x = b.x.pixels(n, c), dy = b.dy.pixels(n, c);
      auto const to = b.to.pixels(n, c);
      for (long long i = 0; i < area; ++i) {
        double const h = m.normal(x[i]);
        T const dx = static_cast<T>(m.inverse * (scaled(c, dy[i]) - sum / numbers - h * product / numbers));
        to[i] = b.accumulate ? to[i] + dx : dx;
      }
    }
  });
}

template <class T>
inline constexpr loops<T> loops_for<T, op::group_norm>{
    .forward = group_norm_forward<T>, .backward = group_norm_backward<T>, .parts = parts_of::samples};

}  // namespace dsl::plain::TYPENET_MODE

namespace dsl::host::TYPENET_MODE {

/// Runs a group_norm, forward or backward, with the kernels of batch_norm: each channel of each sample has a scale and
/// a shift of its own. The sums of each channel of each sample are computed separately, in double, and are joined in
/// the order of channels and samples, so the bits do not depend on the number of threads.
template <class Device>
class group_norm {
 public:
  group_norm(Device& at, bound_step<float> const& s) : at_(&at), step_(&s) {}

  /// Returns the number of floats that this step needs in the shared memory of its place: for each channel of each
  /// sample, four numbers in double and five in float.
  long long floats() const { return (8LL + 5) * step_->x.batch * padded(); }

  void forward() const {
    int const batch = step_->x.batch;
    at_->run(blocks() * batch, [&](int i) { sum(i / batch, i % batch, false); });
    at_->run(batch, [&](int n) { take_moments(n, true); });
    at_->run(blocks() * batch, [&](int i) {
      int const b = i / batch, n = i % batch;
      at_->vectors().normalize(
          {plane(step_->x, b, n), plane(step_->to, b, n), area(), constant(scale, b, n), constant(shift, b, n), false});
    });
  }
  void backward() const {
    int const batch = step_->x.batch;
    at_->run(blocks() * batch, [&](int i) { sum(i / batch, i % batch, false); });
    at_->run(batch, [&](int n) { take_moments(n, false); });
    at_->run(blocks() * batch, [&](int i) { sum(i / batch, i % batch, true); });
    add_samples();
    if (!step_->to.data) return;
    at_->run(batch, [&](int n) { take_slopes(n); });
    at_->run(blocks() * batch, [&](int i) {
      int const b = i / batch, n = i % batch;
      at_->vectors().normalize_gradient({plane(step_->x, b, n), plane(step_->dy, b, n), plane(step_->to, b, n), area(),
                                         constant(scale, b, n), constant(shift, b, n), constant(mean, b, n),
                                         constant(slope, b, n), constant(offset, b, n), false, step_->accumulate});
    });
  }

 private:
  int lanes() const { return at_->lanes(); }
  int channels() const { return step_->x.shape.channels; }
  int blocks() const { return blocks_of(channels(), lanes()); }
  int padded() const { return blocks() * lanes(); }
  long long area() const { return step_->x.shape.area(); }
  int of_group() const { return channels() / step_->node->groups; }
  double numbers() const { return static_cast<double>(area()) * of_group(); }
  template <class T>
  T* plane(view<T> const& v, int b, int n) const {
    return sample_of(v, n) + b * lanes() * v.shape.area();
  }

  /// Two sums of L channels each, of a block of a sample: first the means and the squared deviations, which become the
  /// means and inverse deviations of groups; then, in the other half of the memory, the sums of gradients.
  double* sums(int b, int n, bool gradients) const {
    long long const half = 2LL * step_->x.batch * padded();
    return reinterpret_cast<double*>(at_->shared()) + (gradients ? half : 0) +
           2LL * (1LL * b * step_->x.batch + n) * lanes();
  }
  double& of_channel(int c, int n, bool gradients, int which) const {
    return sums(c / lanes(), n, gradients)[which * lanes() + c % lanes()];
  }
  enum kind { scale, shift, mean, slope, offset };
  float* constant(kind which, int b, int n) const {
    long long const each = 1LL * step_->x.batch * padded();
    return at_->shared() + 8 * each + which * each + (1LL * b * step_->x.batch + n) * lanes();
  }
  float& constant_of(kind which, int c, int n) const { return constant(which, c / lanes(), n)[c % lanes()]; }
  double gamma(int c) const { return static_cast<double>(step_->parameter(role::gamma)[c]); }

  void sum(int b, int n, bool gradients) const {
    static constexpr float zeros[16] = {};
    at_->vectors().normalize_sums({plane(step_->x, b, n), gradients ? plane(step_->dy, b, n) : nullptr, area(), zeros,
                                   zeros, gradients ? constant(mean, b, n) : zeros, false, sums(b, n, gradients)});
  }
  /// Joins the moments of a group's channels (Chan, Golub, LeVeque 1979, for equal counts), and computes the constants
  /// of y = scale * x + shift, or only the mean.
  void take_moments(int n, bool forward) const {
    for (kind k : {scale, shift, mean, slope, offset})
      for (int c = channels(); c < padded(); ++c) constant_of(k, c, n) = 0;
    for (int first = 0; first < channels(); first += of_group()) {
      int const end = first + of_group();
      double middle = 0, squares = 0;
      for (int c = first; c < end; ++c) middle += of_channel(c, n, false, 0);
      middle /= of_group();
      for (int c = first; c < end; ++c) {
        double const d = of_channel(c, n, false, 0) - middle;
        squares += of_channel(c, n, false, 1);
        squares += product_of(static_cast<double>(area()) * d, d);
      }
      double const inverse = 1 / detail::sqrt(squares / numbers() + step_->node->epsilon);
      for (int c = first; c < end; ++c) {
        of_channel(c, n, false, 0) = middle;
        of_channel(c, n, false, 1) = inverse;
        constant_of(mean, c, n) = static_cast<float>(middle);
        if (!forward) continue;
        double const factor = gamma(c) * inverse;
        constant_of(scale, c, n) = static_cast<float>(factor);
        constant_of(shift, c, n) =
            static_cast<float>(static_cast<double>(step_->parameter(role::beta)[c]) - product_of(middle, factor));
      }
    }
  }
  /// Adds the sums of all samples to the gradients of gamma and beta. A frozen layer has no such gradients.
  void add_samples() const {
    for (int c = 0; step_->gradient(role::gamma) && c < channels(); ++c) {
      double product = 0, sum = 0;
      for (int n = 0; n < step_->x.batch; ++n) {
        sum += of_channel(c, n, true, 0);
        product += product_of(of_channel(c, n, true, 1), of_channel(c, n, false, 1));
      }
      step_->gradient(role::gamma)[c] = static_cast<float>(product);
      step_->gradient(role::beta)[c] = static_cast<float>(sum);
    }
  }
  /// Computes the constants of dx = scale * dy + slope * (x - mean) + offset. With g = dy gamma and h the normalised x,
  /// dx = (g - mean(g) - h mean(g h)) / sqrt(variance + epsilon).
  void take_slopes(int n) const {
    for (int first = 0; first < channels(); first += of_group()) {
      int const end = first + of_group();
      double const inverse = of_channel(first, n, false, 1);
      double sum = 0, product = 0;
      for (int c = first; c < end; ++c) {
        sum += product_of(gamma(c), of_channel(c, n, true, 0));
        product += product_of(gamma(c), of_channel(c, n, true, 1));
      }
      for (int c = first; c < end; ++c) {
        constant_of(scale, c, n) = static_cast<float>(gamma(c) * inverse);
        constant_of(slope, c, n) = static_cast<float>(-product * inverse * inverse * inverse / numbers());
        constant_of(offset, c, n) = static_cast<float>(-sum * inverse / numbers());
      }
    }
  }

  Device* at_;
  bound_step<float> const* step_;
};

template <>
struct step_task<op::group_norm> {
  /// Returns the task of a group_norm step, or an empty task if a tensor does not consist of whole channel blocks.
  template <operation_set, class Device>
  static task make(Device& at, bound_step<float> const& s) {
    int const L = at.lanes();
    if (!in_blocks(s.x, L) || !in_blocks(s.dy, L) || !in_blocks(s.to, L)) return {};
    group_norm<Device> const made(at, s);
    at.need_shared(made.floats());
    if (s.step->what == action::forward) return [made] { made.forward(); };
    return [made] { made.backward(); };
  }
};

}  // namespace dsl::host::TYPENET_MODE
