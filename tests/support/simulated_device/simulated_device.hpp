// SPDX-License-Identifier: MIT
#pragma once

#include <cstdio>
#include <cstdlib>
#include <exception>
#include <memory>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "support/simulated_device/kernels.hpp"
#include "support/simulated_device/state.hpp"

namespace dsl_test::simulated {

/// Fills the table of vendor calls. Defined in simulated_device.cpp, so that tests need not compile the device.
void install_device(dsl::cu::api& table);

}  // namespace dsl_test::simulated

namespace dsl_test {

/// A test double for one or more GPUs, behind the table of vendor calls:
///   dsl_test::simulated_device device{{.seed = 3}};
///   dsl::cu::api const& a = device.api();
///   { ... what is tested ... }
///   CHECK(device.report() == "");
/// The report lists what was not released and what a real GPU would not have tolerated; if there is anything to report
/// and the test has not asked for it, the destructor ends the test. There is one simulated device at a time, since the
/// table's functions have no context. Its limits: kernels and blocks run one after the other, so a race shows only if
/// another order gives another result, and atomics are never tested; shared memory keeps the last block's values; a
/// kernel may read host memory without a report; cuDNN's real numbers and workspaces differ; times are made up. No
/// published figure comes from it.
class simulated_device {
 public:
  explicit simulated_device(device_options options = {})
      : state_(std::make_unique<simulated::state>(std::move(options))) {
    if (simulated::state::active) throw std::logic_error("a simulated device exists already");
    simulated::install_device(api_);
    launch_seed = state_->options.seed * 0x2545F4914F6CDD1Du + 0x9E3779B97F4A7C15u;
    simulated::state::current_device = 0;
    simulated::state::last_error = cudaSuccess;
    simulated::state::active = state_.get();
  }
  simulated_device(simulated_device const&) = delete;
  simulated_device& operator=(simulated_device const&) = delete;
  ~simulated_device() {
    std::string const text = reported_ || std::uncaught_exceptions() > unwinding_ ? "" : report();
    simulated::state::active = nullptr;
    if (text.empty()) return;
    std::fprintf(stderr, "simulated device: nobody asked for this report:\n%s", text.c_str());
    std::abort();
  }

  dsl::cu::api const& api() const { return api_; }

  /// Returns an empty string, or lines: "leak: stream #7", "leak: device memory, 512 bytes", "misuse: cudaFree: ...".
  std::string report() {
    reported_ = true;
    std::string text;
    for (auto const& m : state_->misuses) text += "misuse: " + m + "\n";
    return text + state_->leaks();
  }
  /// Returns the misuses so far and forgets them, for tests that misuse on purpose.
  std::vector<std::string> take_misuses() { return std::exchange(state_->misuses, {}); }
  /// Forgets errors, as a new process would, for tests that make a kernel go wrong.
  void forget_errors() { state_->sticky = simulated::state::last_error = cudaSuccess; }

  /// Returns how often a call was made since the last reset; without a name, all calls together.
  long calls(std::string_view name = {}) const {
    if (!name.empty()) {
      auto const at = state_->calls.find(name);
      return at == state_->calls.end() ? 0 : at->second;
    }
    long sum = 0;
    for (auto const& [call, count] : state_->calls) sum += count;
    return sum;
  }
  std::map<std::string, long, std::less<>> const& calls_by_name() const { return state_->calls; }
  void reset_calls() { state_->calls.clear(); }
  /// Returns the number of copies to or from memory that is not pinned, for which the host waits.
  long pageable_copies() const { return state_->pageable_copies; }

  /// Makes the n-th call from now on (1: the next) that returns a status fail; status 0 is its library's "unknown
  /// error". A failing call that releases something still does so. Several faults may wait at once.
  void fail_call(long n, int status = 0) { fail_call("", n, status); }
  void fail_call(std::string name, long n, int status = 0) { state_->faults.push_back({std::move(name), n, status}); }
  /// Makes a call fail among those made by one device's threads.
  void fail_call_on(int device, std::string name, long n, int status = 0) {
    state_->faults.push_back({std::move(name), n, status, device});
  }
  void cancel_faults() { state_->faults.clear(); }
  /// Returns the number of faults injected so far, for loops over n that end when nothing fails any more.
  long faults_struck() const { return state_->faults_struck; }

 private:
  dsl::cu::api api_;
  std::unique_ptr<simulated::state> state_;
  int unwinding_ = std::uncaught_exceptions();
  bool reported_ = false;
};

}  // namespace dsl_test
