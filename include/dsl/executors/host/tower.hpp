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

/// The parameters of one batch_norm, C numbers each. If the convolution before it has a bias that is not added to its
/// output, `bias` is this bias, which the running mean must include; otherwise it is null.
template <class T>
struct batch_norm_parameters {
  T const* gamma;
  T const* beta;
  T* moving_mean;
  T* moving_variance;
  T const* bias;
};

/// Two sums over the pixels of each sample, in the layout of a kernel with `lanes` channels per block: (block, sample,
/// 2, lane).
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

/// Exchanges the moments of batch_norm for an engine in host memory that is one of several towers, each of which trains
/// on a part of the batch. Gradients are summed by the communicator instead. The engine computes in the type T. This is
/// an interface, so that an engine for one device need not compile the implementation, towers/host_tower.hpp.
template <class T>
class tower {
 public:
  virtual ~tower() = default;

  /// Returns where training steps store the means and variances of their batch, in the same layout as the running means
  /// and variances. Returns null if the steps update the running ones directly.
  virtual T* moments() = 0;
  /// Returns the factor by which the step of micro-batch `micro` multiplies the old content of moments(). It is chosen
  /// so that, with momentum k and m micro-batches, applying the joint mean once with momentum k^m changes the running
  /// values in the same way as m single updates.
  virtual double keeps(double momentum, int micro) const = 0;
  /// Updates the running means and variances with moments() of all towers that had samples. Each tower's moments() were
  /// joined from `batches` micro-batches.
  virtual void move_running_moments(int batches, T* running) = 0;

  /// Runs batch_norm over the whole batch; x is this tower's part of the batch. Not used if moments() is not null.
  virtual void batch_norm_forward(view<T const> const& x, batch_norm_parameters<T> const&, T* statistics,
                                  view<T> const& y, double epsilon, double momentum, bool unbiased, bool relu) = 0;
  /// Runs the backward pass of a batch_norm over the whole batch. dgamma and dbeta receive this tower's share; `whole`
  /// is the number of samples in the batch.
  virtual void batch_norm_backward(plain::batch_norm_gradient<T> const&, T* dgamma, T* dbeta, view<T> const& dx,
                                   int whole, bool accumulate) = 0;

  /// Joins the means and the sums of squared deviations of the samples of all towers, for engines that compute these
  /// and normalise themselves. The result has two values per channel for the whole batch, and is valid until the next
  /// call. The function also updates the running means and variances, and sets `count` to the number of values per
  /// channel.
  virtual double const* join_moments(sample_sums const&, batch_norm_parameters<T> const&, double momentum,
                                     bool unbiased, double& count) = 0;
  /// Joins the sums of d and of d * (x - mean) over the samples of all towers, in the same way. dgamma and dbeta
  /// receive this tower's share of these sums.
  virtual double const* join_gradients(sample_sums const&, T const* statistics, T* dgamma, T* dbeta) = 0;
};

/// A communicator whose ranks are engines in host memory. It also makes the tower of each engine, for the type in which
/// the engine computes. `layout` must outlive the tower.
class group : public communicator {
 public:
  virtual detail::owner<tower<float>> make_tower(graph_view const&, engine_options const&, plan const& layout,
                                                 float) = 0;
  virtual detail::owner<tower<double>> make_tower(graph_view const&, engine_options const&, plan const& layout,
                                                  double) = 0;
};

}  // namespace dsl::host::TYPENET_MODE
