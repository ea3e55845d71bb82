// SPDX-License-Identifier: MIT
#pragma once

#include <dsl/data/dataset.hpp>
#include <dsl/detail/mode.hpp>

namespace dsl::detail::TYPENET_MODE {

/// Sets the data set's mean and (population) standard deviation, for each number of a sample. With `by_channel` they
/// are computed for each channel and repeated for all pixels of the channel. A number that is the same in all samples
/// gets the deviation 1. Sums are computed in double, in the order of the samples.
void find_moments(dataset& data, bool by_channel);
/// Gives a data set the mean and the deviation of another data set, including for each further input that both have.
/// Throws data_error if the shape of an input differs.
void take_moments(dataset& data, dataset const& from);

}  // namespace dsl::detail::TYPENET_MODE

namespace dsl::TYPENET_MODE {

/// Normalises each number of a sample, and of further inputs, to (number - mean) / deviation. The mean and the
/// deviation of the training set are used for all given data sets: normalize(train, validation, test);
template <class... Others>
void normalize(dataset& train, Others&... others) {
  detail::find_moments(train, false);
  (detail::take_moments(others, train), ...);
}
/// Normalises as above, but with one mean and one deviation per channel, as is usual for images.
template <class... Others>
void normalize_channels(dataset& train, Others&... others) {
  detail::find_moments(train, true);
  (detail::take_moments(others, train), ...);
}

}  // namespace dsl::TYPENET_MODE

#ifdef TYPENET_DEFINITIONS
#include <dsl/data/normalize_inl.hpp>
#endif
