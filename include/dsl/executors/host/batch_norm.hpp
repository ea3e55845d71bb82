// SPDX-License-Identifier: MIT
#pragma once

#include <dsl/detail/math.hpp>
#include <dsl/detail/mode.hpp>
#include <dsl/executors/host/vector_tasks.hpp>
#include <dsl/executors/host/batch_norm_step.hpp>

namespace dsl::host::TYPENET_MODE {

/// Runs a batch_norm over channel blocks, forward or backward. The sums of each sample are computed separately, in
/// double, and are joined in the order of the samples, so the bits do not depend on the number of threads. If there are
/// no statistics of the batch, the running means and variances are used. vector_tasks.hpp explains Device.
template <class Device>
class batch_norm : batch_norm_step<float> {
 public:
  batch_norm(Device& at, batch_norm_step<float> const& s) : batch_norm_step<float>(s), at_(&at) {}

  /// Returns the number of floats that this step needs in the shared memory of its place: two sums per sample in
  /// double, then five constants per channel.
  long long floats() const { return 4LL * x.batch * padded() + 5LL * padded(); }

  void forward() const {
    if (again && statistics) {
      at_->run(blocks(), [&](int b) { take_constants(b); });
      return at_->run(blocks() * x.batch, [&](int i) { normalize(i / x.batch, i % x.batch); });
    }
    if (!statistics) {
      at_->run(blocks(), [&](int b) { take_running(b); });
      return at_->run(blocks() * x.batch, [&](int i) { normalize(i / x.batch, i % x.batch); });
    }
    auto const sum = [&](int b, int n) {
      at_->vectors().normalize_sums({.x = plane(x, b, n), .count = x.shape.area(), .to = sums(b, n)});
    };
    if (made.data) {
      at_->run(blocks(), [&](int b) {
        if (take_moments(b)) return;
        for (int n = 0; n < x.batch; ++n) sum(b, n);
        join_moments(b, {});
      });
      return at_->run(blocks() * x.batch, [&](int i) { normalize(i / x.batch, i % x.batch); });
    }
    run(sum, [&](int b, joined const& all) { join_moments(b, all); }, [&](int b, int n) { normalize(b, n); });
  }
  void backward() const {
    if (!statistics) {
      at_->run(blocks(), [&](int b) { take_running_scale(b); });
      return at_->run(blocks() * x.batch, [&](int i) { scale_gradient(i / x.batch, i % x.batch); });
    }
    at_->run(blocks(), [&](int b) { take_statistics(b); });
    run(
        [&](int b, int n) {
          at_->vectors().normalize_sums({plane(x, b, n), plane(dy, b, n), x.shape.area(), constants(scale, b),
                                         constants(shift, b), constants(mean, b), relu, sums(b, n)});
        },
        [&](int b, joined const& all) { join_gradients(b, all); },
        [&](int b, int n) {
          if (to.data) scale_gradient(b, n);
        });
  }

 private:
  int lanes() const { return at_->lanes(); }
  int blocks() const { return blocks_of(x.shape.channels, lanes()); }
  int padded() const { return blocks() * lanes(); }
  double area() const { return static_cast<double>(x.shape.area()); }
  double* sums(int b, int n) const {
    return reinterpret_cast<double*>(at_->shared()) + 2LL * (1LL * b * x.batch + n) * lanes();
  }
  enum constant { scale, shift, mean, slope, offset };
  float* constants(constant which, int b) const {
    return at_->shared() + 4LL * x.batch * padded() + 1LL * which * padded() + b * lanes();
  }
  template <class T>
  T* plane(view<T> const& v, int b, int n) const {
    return sample_of(v, n) + b * lanes() * v.shape.area();
  }
  /// The sums over all towers, and the number of values per channel in all towers. `sums` is null if there is only one
  /// tower.
  struct joined {
    double const* sums = nullptr;
    double count = 0;
  };
  /// Calls sum(block, sample) for all blocks and samples, then join(block, joined) for each block, then apply(block,
  /// sample) for all blocks and samples. If there are enough blocks, each thread does all of this for its own blocks,
  /// so that they are still in the cache when apply() reads them.
  template <class F, class G, class H>
  void run(F sum, G join, H apply) const {
    int const n = x.batch;
    if (!tower && blocks() >= 4 * at_->threads())
      return at_->run(blocks(), [&](int b) {
        for (int i = 0; i < n; ++i) sum(b, i);
        join(b, joined{});
        for (int i = 0; i < n; ++i) apply(b, i);
      });
    at_->run(blocks() * n, [&](int i) { sum(i / n, i % n); });
    joined const all = meet();
    at_->run(blocks(), [&](int b) { join(b, all); });
    at_->run(blocks() * n, [&](int i) { apply(i / n, i % n); });
  }

  joined meet() const {
    if (!tower) return {};
    sample_sums const mine{sums(0, 0), x.batch, x.shape.channels, lanes(), area()};
    if (dy.data) return {tower->join_gradients(mine, statistics, dgamma, dbeta), area() * whole};
    joined all;
    all.sums = tower->join_moments(mine, parameters, momentum, unbiased, all.count);
    return all;
  }
  void normalize(int b, int n) const {
    at_->vectors().normalize(
        {plane(x, b, n), plane(to, b, n), x.shape.area(), constants(scale, b), constants(shift, b), relu});
  }

  /// Computes dx = scale * dy + slope * (x - mean) + offset. For a frozen batch_norm, `slope`, `mean` and `offset` are
  /// 0, and dy is passed as x.
  void scale_gradient(int b, int n) const {
    at_->vectors().normalize_gradient({plane(x, b, n), plane(dy, b, n), plane(to, b, n), x.shape.area(),
                                       constants(scale, b), constants(shift, b), constants(mean, b),
                                       constants(slope, b), constants(offset, b), relu, accumulate});
  }

  /// Calls f(channel, lane) for the channels of a block. Sets the constants of unused lanes to 0.
  template <class F>
  void for_each_channel(int b, F f) const {
    for (int l = 0; l < lanes(); ++l) {
      for (constant c : {scale, shift, mean, slope, offset}) constants(c, b)[l] = 0;
      if (b * lanes() + l < x.shape.channels) f(b * lanes() + l, l);
    }
  }
  void take_running(int b) const {
    for_each_channel(b, [&](int k, int l) {
      double const root = detail::sqrt(static_cast<double>(parameters.moving_variance[k]) + epsilon);
      put(b, l, k, static_cast<double>(parameters.moving_mean[k]), 1 / root);
    });
  }
  void take_constants(int b) const {
    for_each_channel(b, [&](int k, int l) {
      constants(scale, b)[l] = saved(scale, k);
      constants(shift, b)[l] = saved(shift, k);
    });
  }
  /// Returns where the scale or shift of a channel is stored for the step that computes the output a second time.
  float& saved(constant which, int k) const { return scale_and_shift[which * x.shape.channels + k]; }
  void take_running_scale(int b) const {
    for_each_channel(b, [&](int k, int l) {
      double const root = detail::sqrt(static_cast<double>(parameters.moving_variance[k]) + epsilon);
      constants(scale, b)[l] = static_cast<float>(static_cast<double>(parameters.gamma[k]) / root);
    });
  }
  void put(int b, int l, int k, double middle, double inverse) const {
    double const factor = static_cast<double>(parameters.gamma[k]) * inverse;
    constants(scale, b)[l] = static_cast<float>(factor);
    constants(shift, b)[l] = static_cast<float>(static_cast<double>(parameters.beta[k]) - product_of(middle, factor));
  }
  /// Computes the mean and variance of the whole batch from those of its samples (Chan, Golub, LeVeque 1979, for equal
  /// counts).
  void join_moments(int b, joined const& all) const {
    for_each_channel(b, [&](int k, int l) {
      double middle = 0, squares = 0, count = area() * x.batch;
      if (all.sums) {
        middle = all.sums[k], squares = all.sums[x.shape.channels + k], count = all.count;
      } else {
        for (int n = 0; n < x.batch; ++n) middle += sums(b, n)[l];
        middle /= x.batch;
        for (int n = 0; n < x.batch; ++n) {
          double const d = sums(b, n)[l] - middle;
          squares += sums(b, n)[lanes() + l];
          squares += product_of(area() * d, d);
        }
      }
      take(b, l, k, middle, squares, count, !all.sums);
    });
  }
  /// Computes a block's mean and variance from the sums that were computed together with x. Returns false if a large
  /// mean would make the variance imprecise.
  bool take_moments(int b) const {
    double all[2][16] = {};
    double const count = area() * x.batch;
    for (int r = 0; r < made.records; ++r) {
      double const* const from = made.data + 2LL * (1LL * r * blocks() + b) * lanes();
      for (int l = 0; l < lanes(); ++l) all[0][l] += from[l], all[1][l] += from[lanes() + l];
    }
    for (int l = 0; l < lanes() && b * lanes() + l < x.shape.channels; ++l) {
      double const middle = all[0][l] / count, whole_squares = product_of(middle * middle, count);
      all[0][l] = middle;
      all[1][l] -= whole_squares;
      if (!(whole_squares < 4096 * all[1][l]) && whole_squares != 0) return false;  // also for NaN
    }
    for_each_channel(b, [&](int k, int l) { take(b, l, k, all[0][l], all[1][l] > 0 ? all[1][l] : 0, count, true); });
    return true;
  }
  /// Computes the constants and statistics of channel k from its mean and its sum of squares. If `moves` is true, also
  /// updates the running mean and variance.
  void take(int b, int l, int k, double middle, double squares, double count, bool moves) const {
    double const inverse = 1 / detail::sqrt(squares / count + epsilon);
    put(b, l, k, middle, inverse);
    if (scale_and_shift) saved(scale, k) = constants(scale, b)[l], saved(shift, k) = constants(shift, b)[l];
    statistics[k] = static_cast<float>(middle);
    statistics[x.shape.channels + k] = static_cast<float>(inverse);
    if (!moves) return;  // the towers have updated them
    auto const move = [&](float& old, double now) {
      old = static_cast<float>(product_of(momentum, static_cast<double>(old)) + product_of(1 - momentum, now));
    };
    move(parameters.moving_mean[k], middle + (parameters.bias ? static_cast<double>(parameters.bias[k]) : 0));
    move(parameters.moving_variance[k], squares / (unbiased && count > 1 ? count - 1 : count));
  }
  void take_statistics(int b) const {
    for_each_channel(b, [&](int k, int l) {
      float const factor = parameters.gamma[k] * statistics[x.shape.channels + k];
      constants(scale, b)[l] = factor;
      constants(mean, b)[l] = statistics[k];
      double const middle = product_of(static_cast<double>(statistics[k]), static_cast<double>(factor));
      if (relu) constants(shift, b)[l] = static_cast<float>(static_cast<double>(parameters.beta[k]) - middle);
    });
  }
  /// Computes dgamma, dbeta, and the constants of dx = scale * dy + slope * (x - mean) + offset from the sums over the
  /// batch.
  void join_gradients(int b, joined const& all) const {
    for (int l = 0; l < lanes() && b * lanes() + l < x.shape.channels; ++l) {
      int const k = b * lanes() + l;
      double const inverse = static_cast<double>(statistics[x.shape.channels + k]);
      double sum = 0, product = 0;
      if (all.sums) {
        product = all.sums[k] / inverse, sum = all.sums[x.shape.channels + k];
      } else {
        for (int n = 0; n < x.batch; ++n) sum += sums(b, n)[l], product += sums(b, n)[lanes() + l];
        dgamma[k] = static_cast<float>(product * inverse);
        dbeta[k] = static_cast<float>(sum);
      }
      double const factor = static_cast<double>(parameters.gamma[k]) * inverse;
      double const count = all.sums ? all.count : area() * x.batch;
      constants(offset, b)[l] = static_cast<float>(-factor * sum / count);
      constants(slope, b)[l] = static_cast<float>(-factor * inverse * inverse * product / count);
    }
  }

  Device* at_;
};

/// Returns the task of a batch_norm step, or an empty task if a tensor does not consist of whole channel blocks.
/// Reserves in `at` the shared memory that the task needs.
template <class Device>
task batch_norm_task(Device& at, batch_norm_step<float> const& s) {
  int const L = at.lanes();
  if (!in_blocks(s.x, L) || !in_blocks(s.to, L) || !in_blocks(s.dy, L)) return {};
  batch_norm<Device> const b(at, s);
  at.need_shared(b.floats());
  if (s.dy.data) return [b] { b.backward(); };
  return [b] { b.forward(); };
}

}  // namespace dsl::host::TYPENET_MODE
