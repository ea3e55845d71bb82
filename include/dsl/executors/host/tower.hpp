// SPDX-License-Identifier: MIT
#pragma once

#include <dsl/view.hpp>

namespace dsl::plain {
template <class T>
struct batch_norm_parameters;
template <class T>
struct batch_norm_gradient;
}  // namespace dsl::plain

namespace dsl::host {

/// What an engine in host memory does about batch_norm when it trains a part of each batch, as one of several towers. T
/// is the number it computes in. An interface, so that engines for one device don't compile what they don't need:
/// towers/host_tower.hpp has the rest.
template <class T>
class tower {
 public:
  virtual ~tower() = default;

  /// Where training steps leave their batch's moments, laid out like the running ones; null: they move those.
  virtual T* moments() = 0;
  /// Moves the running moments by those of all towers that had samples.
  virtual void move_running_moments(bool had_samples, T* running) = 0;

  /// batch_norm over the whole batch, of which x is this tower's part. Not where moments() has a place for its own.
  virtual void batch_norm_forward(view<T const> const& x, plain::batch_norm_parameters<T> const&, T* statistics,
                                  view<T> const& y, double epsilon, double momentum, bool unbiased, bool relu) = 0;
  /// dgamma and dbeta become this tower's share of them; `whole` counts the batch's samples.
  virtual void batch_norm_backward(plain::batch_norm_gradient<T> const&, T* dgamma, T* dbeta, view<T> const& dx,
                                   int whole, bool accumulate) = 0;
};

}  // namespace dsl::host
