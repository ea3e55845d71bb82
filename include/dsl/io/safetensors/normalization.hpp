// SPDX-License-Identifier: MIT
#pragma once

#include <dsl/data/normalization.hpp>
#include <dsl/detail/mode.hpp>
#include <dsl/executors/engine.hpp>
#include <dsl/io/safetensors/read.hpp>

#include <memory>

/// The normalisation of the data in a file's metadata: "typenet.mean" and "typenet.deviation" are the numbers of the
/// first input as text, separated by spaces, and "typenet.mean.weather" those of the input "weather". One number per
/// channel stands for equal ones, and an empty text for none.
namespace dsl::detail::TYPENET_MODE {

[[gnu::cold]] void put_normalization(graph_view const& g, normalization const& n, safetensors::text_by_name& metadata);

/// Returns a file's normalisation; null if it has none. Throws format_error if it does not fit the network.
[[gnu::cold]] std::shared_ptr<normalization const> saved_normalization(graph_view const& g, safetensors::file const& f);

}  // namespace dsl::detail::TYPENET_MODE

#ifndef TYPENET_COMPILED
#include <dsl/io/safetensors/normalization_inl.hpp>
#endif
