// SPDX-License-Identifier: MIT
// The simulated NCCL behind its table of calls, compiled once for all tests.
#include "support/simulated_device/nccl.hpp"

#include <stdexcept>

#include "support/simulated_device/nccl_table.hpp"
#include "support/simulated_device/nccl_waits.hpp"

void dsl_test::simulated::install_nccl_device(dsl::cu::nccl_api& nccl, dsl::cu::api& device) {
  installer waits(device);
  install_waits(waits);
  nccl_installer table(nccl);
  install_nccl(table);
  if (!table.complete()) throw std::logic_error("an entry of dsl::cu::nccl_api has no simulated function");
}
