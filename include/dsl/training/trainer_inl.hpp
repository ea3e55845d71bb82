// SPDX-License-Identifier: MIT
#pragma once

#include <dsl/data/normalization.hpp>
#include <dsl/detail/message.hpp>
#include <dsl/detail/mode.hpp>
#include <dsl/executors/engine.hpp>
#include <dsl/training/callback.hpp>
#include <dsl/training/checks.hpp>
#include <dsl/training/initialize.hpp>
#include <dsl/training/trainer.hpp>

#include <ctime>
#include <memory>
#include <utility>

namespace dsl::TYPENET_MODE {

TYPENET_INLINE trainer::trainer(std::unique_ptr<dsl::engine> e, double learning_rate) : trainer(std::move(e)) {
  learning_rate_ = learning_rate;
  initialize(*engine_, engine_->options().seed);
}

TYPENET_INLINE trainer::trainer(std::unique_ptr<dsl::engine> e)
    : engine_(require(std::move(e))),
      graph_(engine_->graph()),
      outputs_(detail::names_of_outputs(graph_)),
      learning_rate_(0) {}

TYPENET_INLINE double& fit_run::rate_of(dsl::trainer& t) { return t.learning_rate_; }

TYPENET_INLINE void trainer::set_learning_rate(double rate) {
  if (!detail::is_learning_rate(rate))
    detail::throw_error<option_error>({"set_learning_rate: it must be at least 0 and less than 1e30; found ", rate});
  learning_rate_ = rate;
}

TYPENET_INLINE std::unique_ptr<dsl::engine> trainer::require(std::unique_ptr<dsl::engine> e) {
  if (!e) detail::throw_error<option_error>({"trainer: it needs an engine; found none; compile<...>() makes both"});
  return e;
}

TYPENET_INLINE dsl::normalization trainer::normalization() const {
  auto const known = engine_->normalization();
  return known ? *known : dsl::normalization{};
}

TYPENET_INLINE void trainer::set_normalization(dsl::normalization n) {
  detail::require_moments_fit(graph_, n);
  engine_->set_normalization(std::make_shared<dsl::normalization const>(std::move(n)));
}

TYPENET_INLINE dataset trainer::as_learned(dataset const& data, char const* what) const {
  auto const known = engine_->normalization();
  if (!known) return data;
  dsl::normalization const own = normalization_of(data);
  if (own == *known) return data;
  if (own.empty()) return normalize_as(data, *known);
  detail::throw_error<option_error>(
      {what, ": the data set must have the normalisation of the data that the weights were trained on; found ",
       detail::difference(own, *known),
       "; leave out its mean and deviation to use those of the weights, or call forget_normalization() to train the "
       "weights with another normalisation"});
}

TYPENET_INLINE double trainer::seconds() {
  std::timespec now{};
  clock_gettime(CLOCK_MONOTONIC, &now);
  return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

}  // namespace dsl::TYPENET_MODE
