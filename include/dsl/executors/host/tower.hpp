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

/// The parameters of one batch_norm, C numbers each. `bias` is that of a convolution whose arithmetic was skipped, or
/// null: the running mean includes it all the same.
template <class T>
struct batch_norm_parameters {
  T const* gamma;
  T const* beta;
  T* moving_mean;
  T* moving_variance;
  T const* bias;
};

/// Two sums over each sample's pixels, as a kernel over blocks of `lanes` channels leaves them: (block, sample, 2,
/// lane).
struct sample_sums {
  double const* data = nullptr;
  int samples = 0;
  int channels = 0;
  int lanes = 1;
  double area = 0;  // pixels

  double get(int sample, int which, int channel) const {
    long long const row = 2 * (1LL * (channel / lanes) * samples + sample) + which;
    return data[row * lanes + channel % lanes];
  }
};

/// What an engine in host memory does about batch_norm when it trains a part of each batch, as one of several towers. T
/// is the number it computes in. An interface, so that engines for one device don't compile what they don't need:
/// towers/host_tower.hpp has the rest.
template <class T>
class tower {
 public:
  virtual ~tower() = default;

  /// Where training steps leave their batch's moments, laid out like the running ones; null: they move those.
  virtual T* moments() = 0;
  /// What the step of micro-batch m keeps of those moments, so that with a momentum k, after m of them, they are the
  /// mean that moves the running ones at once, by k^m, to where the micro-batches' move them one after the other.
  virtual double keeps(double momentum, int micro) const = 0;
  /// Moves the running moments by those of all towers that had samples: by those of so many batches, micro-batches
  /// counted, that are joined in moments().
  virtual void move_running_moments(int batches, T* running) = 0;

  /// batch_norm over the whole batch, of which x is this tower's part. Not where moments() has a place for its own.
  virtual void batch_norm_forward(view<T const> const& x, batch_norm_parameters<T> const&, T* statistics,
                                  view<T> const& y, double epsilon, double momentum, bool unbiased, bool relu) = 0;
  /// dgamma and dbeta become this tower's share of them; `whole` counts the batch's samples.
  virtual void batch_norm_backward(plain::batch_norm_gradient<T> const&, T* dgamma, T* dbeta, view<T> const& dx,
                                   int whole, bool accumulate) = 0;

  /// The meetings alone, for engines that make and use the sums themselves. The result has two values a channel, those
  /// of the whole batch, until the next call. Of each sample's mean and sum of squared deviations: the same; it also
  /// moves the running moments, and says of how many values a channel they are.
  virtual double const* join_moments(sample_sums const&, batch_norm_parameters<T> const&, double momentum,
                                     bool unbiased, double& count) = 0;
  /// Of each sample's sums of d and d * (x - mean): dgamma and dbeta; the arguments become this tower's share of them.
  virtual double const* join_gradients(sample_sums const&, T const* statistics, T* dgamma, T* dbeta) = 0;
};

/// A communicator whose ranks are engines in host memory. Each of them gets from it what it needs of the others beside
/// sums, for the number that it computes in. `layout` must outlive that.
class group : public communicator {
 public:
  virtual detail::owner<tower<float>> make_tower(graph_view const&, engine_options const&, plan const& layout,
                                                 float) = 0;
  virtual detail::owner<tower<double>> make_tower(graph_view const&, engine_options const&, plan const& layout,
                                                  double) = 0;
};

}  // namespace dsl::host::TYPENET_MODE
