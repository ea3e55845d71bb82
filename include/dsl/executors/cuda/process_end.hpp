// SPDX-License-Identifier: MIT
#pragma once

#include <dsl/detail/mode.hpp>

#include <cstdlib>

namespace dsl::cu::TYPENET_MODE {

/// Tells whether the process has begun to end. NVIDIA's libraries load parts of themselves when they are first needed,
/// and these parts are destroyed before objects in static storage that are older. The destructor of such an object must
/// therefore not call the libraries any more. The driver releases everything that a process leaves behind. Each shared
/// object has its own process_end, because it is also told when it is unloaded while the process goes on: then only its
/// own engines, if there are any left, keep what they have on the device.
class [[gnu::visibility("hidden")]] process_end {
 public:
  /// Makes has_begun() true at the end of the process, before anything that exists now is destroyed. Call it again when
  /// a library may have loaded more parts. Without memory for another function to be called at the end, it does
  /// nothing.
  static void watch() {
    std::atexit([] { __atomic_store_n(&begun_, true, __ATOMIC_RELAXED); });
  }
  static bool has_begun() { return __atomic_load_n(&begun_, __ATOMIC_RELAXED); }

 private:
  inline static bool begun_ = false;
};

}  // namespace dsl::cu::TYPENET_MODE
