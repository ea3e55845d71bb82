// SPDX-License-Identifier: MIT
#pragma once

#include <dsl/detail/mode.hpp>
#include <dsl/training/trainer.hpp>

#include <string>

namespace dsl::TYPENET_MODE {

/// Writes all parameters and running statistics to a file for an embedded_network of the same network
/// (<dsl/embedded.hpp>). The file has floats in the byte order of this processor, at the addresses that the network's
/// plans give them. Throws option_error for a network on several devices, and file_error if the file cannot be written.
void save_embedded_weights(trainer& t, std::string const& path);

}  // namespace dsl::TYPENET_MODE

#ifdef TYPENET_DEFINITIONS
#include <dsl/io/embedded_weights_inl.hpp>
#endif
