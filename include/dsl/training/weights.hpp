// SPDX-License-Identifier: MIT
#pragma once

#include <dsl/detail/mode.hpp>
#include <dsl/executors/engine.hpp>

#include <vector>

namespace dsl::detail::TYPENET_MODE {

std::size_t count_weights(engine& e);
/// Throws option_error unless `all` has as many numbers as read_weights() returns.
void require_weights(engine& e, std::vector<float> const& all);
/// Returns all parameters and running statistics, one after the other in the graph's order.
std::vector<float> read_weights(engine& e);
/// Replaces all parameters and running statistics. Throws option_error unless `all` has the size that read_weights()
/// returns.
void write_weights(engine& e, std::vector<float> const& all);

}  // namespace dsl::detail::TYPENET_MODE

#ifdef TYPENET_DEFINITIONS
#include <dsl/training/weights_inl.hpp>
#endif
