// SPDX-License-Identifier: MIT
#pragma once

#include <dsl/data/normalization.hpp>
#include <dsl/detail/mode.hpp>
#include <dsl/graph/graph.hpp>
#include <dsl/io/safetensors/read.hpp>

#include <memory>

/// Reads and writes the normalisation of the data in a file's metadata. "typenet.mean" and "typenet.deviation" are the
/// numbers of the first input as text, separated by spaces; "typenet.mean.weather" has those of the input "weather".
/// One number per channel stands for all numbers of the channel, and an empty text means that there is no mean or no
/// deviation.
namespace dsl::detail::TYPENET_MODE {

void put_normalization(graph_view const& g, normalization const& n, safetensors::text_by_name& metadata);

/// Returns the normalisation stored in a file, or null if there is none. Throws format_error if the normalisation does
/// not fit the network.
std::shared_ptr<normalization const> saved_normalization(graph_view const& g, safetensors::file const& f);

}  // namespace dsl::detail::TYPENET_MODE

namespace dsl::TYPENET_MODE {

/// Returns the metadata with which a .safetensors file has this normalisation of the inputs of a network, as
/// save_safetensors writes it.
safetensors::text_by_name normalization_metadata(graph_view const& g, normalization const& n);

}  // namespace dsl::TYPENET_MODE

#ifdef TYPENET_DEFINITIONS
#include <dsl/io/safetensors/normalization_inl.hpp>
#endif
