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

/// Initialises the parameters. The values depend only on the seed and each parameter's number. Kernels are drawn from
/// the distribution that initialized<...> around their layer selects, by default uniformly in +-sqrt(6 / (fan_in +
/// fan_out)) (Glorot & Bengio 2010). Gammas and running variances become 1, and all others 0.
void initialize(engine& e, std::uint64_t seed);

}  // namespace dsl::TYPENET_MODE

#ifdef TYPENET_DEFINITIONS
#include <dsl/training/initialize_inl.hpp>
#endif
