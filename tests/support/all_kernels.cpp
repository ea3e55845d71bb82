// SPDX-License-Identifier: MIT
// All kernels for a host, compiled once for all tests.
#include "support/all_kernels.hpp"

#include "support/kernels_as_host.hpp"
#include "support/simulated_device/kernels.hpp"

void dsl_test::add_all_kernels() {
#define TYPENET_ADD(name)                                           \
  add_kernel(#name, "bf16", &dsl_kernels::name<dsl_kernels::bf16>); \
  add_kernel(#name, "float", &dsl_kernels::name<float>);
#include <typenet_kernels/names.inc>
#undef TYPENET_ADD
}
