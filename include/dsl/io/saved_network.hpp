// SPDX-License-Identifier: MIT
#pragma once

#include <dsl/data/normalization.hpp>
#include <dsl/detail/mode.hpp>
#include <dsl/executors/engine.hpp>

#include <memory>
#include <string>

/// The facts about a network that typenet's files contain besides its weights: the normalisation of its inputs, and the
/// name and shape of each parameter. Files of earlier versions lack both.
namespace dsl::detail::TYPENET_MODE {

inline constexpr char const* normalization_key = "the data's normalisation";
inline constexpr char const* parameters_key = "the network's parameters";

/// Returns the normalisation and the parameters' names and shapes as bytes, which follow the callbacks' state in a
/// file.
std::string state_of_network(engine& e);

/// Returns the normalisation stored in a file, or null if there is none. `callbacks` are the bytes of the callbacks'
/// state. Throws file_error if the normalisation does not fit the network, with the advice `otherwise` if the file is
/// damaged.
std::shared_ptr<normalization const> saved_normalization(graph_view const& g, std::string const& callbacks,
                                                         std::string const& file, char const* otherwise);

/// Returns the first parameter whose name or shape in the file differs from that in the network, as the end of a
/// sentence. Returns an empty text if the file has no names and shapes. Throws file_error, with the advice `otherwise`,
/// if the file is damaged.
std::string differing_parameter(graph_view const& g, std::string const& callbacks, std::string const& file,
                                char const* otherwise);

}  // namespace dsl::detail::TYPENET_MODE

#ifdef TYPENET_DEFINITIONS
#include <dsl/io/saved_network_inl.hpp>
#endif
