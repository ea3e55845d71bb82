// SPDX-License-Identifier: MIT
#pragma once

#include <dsl/data/dataset.hpp>
#include <dsl/detail/mode.hpp>
#include <dsl/executors/engine.hpp>
#include <dsl/training/fit_options.hpp>

#include <memory>
#include <vector>

/// Whether data and options fit a network, asked before the first step. All throw option_error; `what` begins the
/// sentence.
namespace dsl::detail::TYPENET_MODE {

[[gnu::cold]] void require_pictures(graph_view const& g, dataset const& data, char const* what);

/// What the loss compares with: class numbers, where it is made for them, or values. binary_crossentropy and losses of
/// a distance take a class for values of 0 and 1, as batch::values says.
[[gnu::cold]] target_kind targets_for(loss l, dataset const& data);

/// Samples with what the loss needs.
[[gnu::cold]] void require_samples(graph_view const& g, loss l, dataset const& data, char const* what);

/// What to do about a loss that is no number: a NaN that came with the batch is none that training made.
[[gnu::cold]] char const* advice_on_bad_loss(float const* samples, long long numbers, float const* values,
                                             long long targets);

/// By its numbers: a set that was read anew has a mean of its own.
[[gnu::cold]] bool same_mean(std::shared_ptr<std::vector<float> const> const& a,
                             std::shared_ptr<std::vector<float> const> const& b);

[[gnu::cold]] void require_fit(graph_view const& g, loss l, dataset const& data, fit_options const& o);

}  // namespace dsl::detail::TYPENET_MODE

#ifndef TYPENET_COMPILED
#include <dsl/training/checks_inl.hpp>
#endif
