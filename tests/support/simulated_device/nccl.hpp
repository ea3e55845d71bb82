// SPDX-License-Identifier: MIT
#pragma once

#include <cstdio>
#include <cstdlib>
#include <stdexcept>

#include "support/simulated_device/nccl_state.hpp"
#include "support/simulated_device/simulated_device.hpp"

namespace dsl_test::simulated {

/// Fills NCCL's table, and replaces the device's calls that may have to wait for another rank. Defined in nccl.cpp.
void install_nccl_device(dsl::cu::nccl_api& nccl, dsl::cu::api& device);

}  // namespace dsl_test::simulated

namespace dsl_test {

/// A test double for NCCL among the GPUs of one simulated device, whose ranks are threads of this process:
///   dsl_test::simulated_device device{{.devices = 2}};
///   dsl_test::simulated_nccl nccl(device);
///   // in each rank's thread: cudaSetDevice(rank), then nccl.api() and nccl.nccl()
/// Use its api(), not the device's: calls that wait for a device may have to wait for another rank. device.report()
/// reports what would hang, after nccl_options::patience. It does not simulate ranks that are processes (here each
/// frees its own communicator, as processes do) or types other than float; two collectives of equal size in different
/// order give wrong sums without a report, as on GPUs.
class simulated_nccl {
 public:
  explicit simulated_nccl(simulated_device& device, nccl_options options = {}) : api_(device.api()) {
    if (simulated::nccl_world::active) throw std::logic_error("a simulated NCCL exists already");
    world_.options = options;
    simulated::install_nccl_device(nccl_, api_);
    simulated::nccl_world::active = &world_;
  }
  simulated_nccl(simulated_nccl const&) = delete;
  simulated_nccl& operator=(simulated_nccl const&) = delete;
  ~simulated_nccl() {
    wait_until_quiet();
    simulated::nccl_world::active = nullptr;
    for (auto const& [id, clique] : world_.cliques) {  // which hold each other
      clique->members.clear();
      clique->meetings.clear();
    }
  }

  dsl::cu::api const& api() const { return api_; }
  dsl::cu::nccl_api const& nccl() const { return nccl_; }

  /// Makes ncclCommGetAsyncError return this error on this rank from now on.
  void break_rank(int rank, ncclResult_t error) {
    std::lock_guard const lock(simulated::state::active->mutex);
    for (auto const& [id, clique] : world_.cliques)
      for (auto const& m : clique->members)
        if (m && m->rank == rank && !m->gone) m->result = error;
  }
  /// Returns the number of collectives that all ranks have reached.
  long done() const {
    std::lock_guard const lock(simulated::state::active->mutex);
    return world_.done;
  }
  /// Lets aborts end once there is one, with nccl_options::aborts_last.
  void let_aborts_end() {
    wait_until([this] { return world_.aborts_may_end = world_.aborts > 0; });
  }
  /// Waits until no thread is inside a call that waits: aborts continue in the background.
  void wait_until_quiet() const {
    wait_until([this] { return world_.waiting == 0; });
  }

 private:
  template <class F>
  void wait_until(F so) const {
    for (int i = 0; i < 100'000; ++i) {
      {
        std::lock_guard const lock(simulated::state::active->mutex);
        if (so()) return;
      }
      std::this_thread::sleep_for(std::chrono::microseconds(200));
    }
    std::fprintf(stderr, "simulated NCCL: a call never returns\n");
    std::abort();
  }

  dsl::cu::api api_;
  dsl::cu::nccl_api nccl_;
  simulated::nccl_world world_;
};

}  // namespace dsl_test
