// SPDX-License-Identifier: MIT
#pragma once

#include <dsl/detail/mode.hpp>
#include <dsl/executors/host/blocks.hpp>
#include <dsl/executors/host/vector.hpp>

// -ffast-math reorders sums, which changes bits; this executor promises the same bits with any compiler flags.
#if defined(__FAST_MATH__) || defined(__ASSOCIATIVE_MATH__)
#error "dsl::native must give the same bits with any flags, so it cannot be compiled with -ffast-math; remove that flag"
#endif

namespace dsl::native_cpu::TYPENET_MODE {

using host::add_moments;
using host::blocks_of;
using host::broadcast;
using host::clamp_below;
using host::instructions;
using host::least;
using host::load;
using host::multiply;
using host::multiply_add;
using host::product_of;
using host::sample_of;
using host::share;
using host::store;
using host::vector;

}  // namespace dsl::native_cpu::TYPENET_MODE
