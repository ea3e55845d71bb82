// SPDX-License-Identifier: MIT
#pragma once

#include <dsl/data/dataset.hpp>
#include <dsl/detail/mode.hpp>

namespace dsl::detail::TYPENET_MODE {

/// Sets the mean and the standard deviation (of the population) of each number over all samples; with `by_channel`
/// those of each channel, repeated for all its pixels. Constant numbers get the deviation 1. Sums are in double, in the
/// samples' order.
void find_moments(dataset& data, bool by_channel);
/// Gives a data set the mean and deviation of another one, also for each further input that both have. Throws
/// data_error if such an input has another shape.
void take_moments(dataset& data, dataset const& from);

}  // namespace dsl::detail::TYPENET_MODE

namespace dsl::TYPENET_MODE {

/// Normalises each number of a sample, and of further inputs, to (number - mean) / deviation, with the training set's
/// mean and deviation also for the other sets: normalize(train, validation, test);
template <class... Others>
void normalize(dataset& train, Others&... others) {
  detail::find_moments(train, false);
  (detail::take_moments(others, train), ...);
}
/// Normalises with one mean and one deviation per channel, as is usual for images.
template <class... Others>
void normalize_channels(dataset& train, Others&... others) {
  detail::find_moments(train, true);
  (detail::take_moments(others, train), ...);
}

}  // namespace dsl::TYPENET_MODE

#ifndef TYPENET_COMPILED
#include <dsl/data/normalize_inl.hpp>
#endif
