// SPDX-License-Identifier: MIT
// The simulated device behind the tables of vendor calls, compiled once for all tests.
#include "support/simulated_device/simulated_device.hpp"

#include <stdexcept>

#include "support/simulated_device/copies.hpp"
#include "support/simulated_device/cudnn_backend.hpp"
#include "support/simulated_device/devices.hpp"
#include "support/simulated_device/events.hpp"
#include "support/simulated_device/graphs.hpp"
#include "support/simulated_device/libraries.hpp"
#include "support/simulated_device/matmul.hpp"
#include "support/simulated_device/programs.hpp"

void dsl_test::simulated::install_device(dsl::cu::api& to) {
  installer table(to);
  install_devices(table);
  install_memory(table);
  install_streams(table);
  install_events(table);
  install_graphs(table);
  install_programs(table);
  install_libraries(table);
  install_cudnn(table);
  install_matmul(table);
  if (!table.complete()) throw std::logic_error("an entry of dsl::cu::api has no simulated function");
}
