// SPDX-License-Identifier: MIT
#pragma once

#include <dsl/combinators/named.hpp>
#include <dsl/combinators/sequential.hpp>
#include <dsl/layers/activation.hpp>
#include <dsl/layers/batch_norm.hpp>
#include <dsl/layers/conv1d.hpp>
#include <dsl/layers/dense.hpp>
#include <dsl/layers/flatten.hpp>
#include <dsl/layers/pool1d.hpp>
#include <dsl/layers/recurrent.hpp>
#include <dsl/layers/softmax.hpp>

namespace dsl::models {

/// One-dimensional convolution, batch normalisation, ReLU.
template <int Filters, int Length>
struct time_series_module : sequential<conv1d<Filters, Length>, batch_norm<>, relu> {};

/// Fully convolutional network for the classification of time series (Wang, Yan & Oates 2017). The network's input has
/// the channels and the length, which may be any: network<sequence<3, 128>, models::time_series_fcn<4>>. Filters is the
/// number of filters of the first and of the last convolution; the paper has 128.
template <int Classes, int Filters = 128>
struct time_series_fcn
    : sequential<time_series_module<Filters, 8>, time_series_module<2 * Filters, 5>, time_series_module<Filters, 3>,
                 global_avg_pool1d, flatten, dense<Classes>, softmax> {};
// time_series_fcn<4> on 1x1x128 -> 4

/// An LSTM that reads a time series from its first place to its last, followed by a dense layer of Outputs numbers, for
/// example forecasts: network<sequence<1, 40>, models::time_series_lstm<1, 32>>. A softmax after it gives classes.
template <int Outputs, int Units = 64>
struct time_series_lstm : sequential<named<"lstm", lstm<Units, last_step>>, named<"fc", dense<Outputs>>> {};
// time_series_lstm<1, 32> on 1x1x40 -> 1, with 4 * 32 * (1 + 32 + 2) + 33 parameters

}  // namespace dsl::models
