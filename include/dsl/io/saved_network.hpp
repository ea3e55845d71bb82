// SPDX-License-Identifier: MIT
#pragma once

#include <dsl/data/normalization.hpp>
#include <dsl/detail/mode.hpp>
#include <dsl/executors/engine.hpp>

#include <memory>
#include <string>

/// What typenet's files contain about a network besides its weights: the normalisation of its inputs, and the name and
/// shape of each parameter. Files of earlier versions lack both.
namespace dsl::detail::TYPENET_MODE {

inline constexpr char const* normalization_key = "the data's normalisation";
inline constexpr char const* parameters_key = "the network's parameters";

/// Returns both, as bytes to follow the callbacks' state.
[[gnu::cold]] std::string state_of_network(engine& e);

/// Returns a file's normalisation; null if it has none. `callbacks` are the bytes of the callbacks' state. Throws
/// file_error if it does not fit the network.
[[gnu::cold]] std::shared_ptr<normalization const> saved_normalization(graph_view const& g,
                                                                       std::string const& callbacks,
                                                                       std::string const& file);

/// Returns the first parameter whose name or shape in a file is not that of the network, as the end of a sentence;
/// empty if the file does not contain them.
[[gnu::cold]] std::string differing_parameter(graph_view const& g, std::string const& callbacks,
                                              std::string const& file);

}  // namespace dsl::detail::TYPENET_MODE

#ifndef TYPENET_COMPILED
#include <dsl/io/saved_network_inl.hpp>
#endif
