// SPDX-License-Identifier: MIT
#pragma once

#include <dsl/detail/mode.hpp>
#include <dsl/detail/philox.hpp>
#include <dsl/executors/engine.hpp>

#include <cstdint>

namespace dsl::TYPENET_MODE {

/// Initialises the parameters, depending only on the seed and each parameter's number: kernels uniform in +-sqrt(6 /
/// (fan_in + fan_out)) (Glorot & Bengio 2010), gammas and running variances 1, all others 0.
[[gnu::cold]] void initialize(engine& e, std::uint64_t seed);

}  // namespace dsl::TYPENET_MODE

#ifndef TYPENET_COMPILED
#include <dsl/training/initialize_inl.hpp>
#endif
