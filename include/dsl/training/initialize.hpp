// SPDX-License-Identifier: MIT
#pragma once

#include <dsl/detail/mode.hpp>
#include <dsl/detail/philox.hpp>
#include <dsl/executors/engine.hpp>

#include <cstddef>
#include <cstdint>

namespace dsl::detail::TYPENET_MODE {

/// Draws a kernel's initial values from its initializer's distribution.
void draw_kernel(parameter const& p, random_stream& random, float* values, std::size_t count);

}  // namespace dsl::detail::TYPENET_MODE

namespace dsl::TYPENET_MODE {

/// Initialises the parameters, depending only on the seed and each parameter's number: kernels from the distribution
/// that initialized<...> around them selects, by default uniformly in +-sqrt(6 / (fan_in + fan_out)) (Glorot & Bengio
/// 2010), gammas and running variances with 1, all others with 0.
[[gnu::cold]] void initialize(engine& e, std::uint64_t seed);

}  // namespace dsl::TYPENET_MODE

#ifndef TYPENET_COMPILED
#include <dsl/training/initialize_inl.hpp>
#endif
