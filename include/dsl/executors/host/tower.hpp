// SPDX-License-Identifier: MIT
#pragma once

#include <dsl/detail/mode.hpp>
#include <dsl/detail/owner.hpp>
#include <dsl/executors/engine.hpp>
#include <dsl/view.hpp>

namespace dsl::plain::TYPENET_MODE {
template <class T>
struct batch_norm_gradient;
}  // namespace dsl::plain::TYPENET_MODE

namespace dsl::host::TYPENET_MODE {

/// The parameters of one batch_norm, C numbers each. `bias` is that of a convolution whose addition was skipped, or
/// null; the running mean includes it.
template <class T>
struct batch_norm_parameters {
  T const* gamma;
  T const* beta;
  T* moving_mean;
  T* moving_variance;
  T const* bias;
};

/// Two sums over each sample's pixels, in the order of a kernel with `lanes` channels per block: (block, sample, 2,
/// lane).
struct sample_sums {
  double const* data = nullptr;
  int samples = 0;
  int channels = 0;
  int lanes = 1;
  double area = 0;  // number of pixels

  double get(int sample, int which, int channel) const {
    long long const row = 2 * (1LL * (channel / lanes) * samples + sample) + which;
    return data[row * lanes + channel % lanes];
  }
};

/// How an engine in host memory handles batch_norm when it is one of several towers that each train a part of the
/// batch. T is the type that it computes in. It is an interface, so that engines for one device need not compile the
/// implementation, towers/host_tower.hpp.
template <class T>
class tower {
 public:
  virtual ~tower() = default;

  /// Returns where training steps store their batch's moments, laid out like the running ones; null if steps update
  /// those directly.
  virtual T* moments() = 0;
  /// Returns the share of those moments that the step of micro-batch `micro` keeps. With momentum k, m micro-batches
  /// then have a joint mean that, applied once with momentum k^m, updates the running moments as m single updates
  /// would.
  virtual double keeps(double momentum, int micro) const = 0;
  /// Updates the running moments with moments() of all towers that had samples, each joined from `batches`
  /// micro-batches.
  virtual void move_running_moments(int batches, T* running) = 0;

  /// Runs batch_norm over the whole batch, of which x is this tower's part. Not used if moments() is not null.
  virtual void batch_norm_forward(view<T const> const& x, batch_norm_parameters<T> const&, T* statistics,
                                  view<T> const& y, double epsilon, double momentum, bool unbiased, bool relu) = 0;
  /// Runs the backward pass of such a batch_norm. dgamma and dbeta receive this tower's share; `whole` is the number of
  /// samples in the batch.
  virtual void batch_norm_backward(plain::batch_norm_gradient<T> const&, T* dgamma, T* dbeta, view<T> const& dx,
                                   int whole, bool accumulate) = 0;

  /// Only exchanges sums, for engines that make and use them. The result has two values per channel for the whole batch
  /// and is valid until the next call. join_moments joins each sample's mean and sum of squared deviations; it also
  /// updates the running moments, and sets `count` to the number of values per channel.
  virtual double const* join_moments(sample_sums const&, batch_norm_parameters<T> const&, double momentum,
                                     bool unbiased, double& count) = 0;
  /// Joins each sample's sums of d and d * (x - mean), which give dgamma and dbeta; the arguments receive this tower's
  /// share.
  virtual double const* join_gradients(sample_sums const&, T const* statistics, T* dgamma, T* dbeta) = 0;
};

/// A communicator whose ranks are engines in host memory. It also makes the tower of each engine, for the type that the
/// engine computes in. `layout` must outlive the tower.
class group : public communicator {
 public:
  virtual detail::owner<tower<float>> make_tower(graph_view const&, engine_options const&, plan const& layout,
                                                 float) = 0;
  virtual detail::owner<tower<double>> make_tower(graph_view const&, engine_options const&, plan const& layout,
                                                  double) = 0;
};

}  // namespace dsl::host::TYPENET_MODE
