// SPDX-License-Identifier: MIT
#pragma once

#include "cuda/described_device.hpp"

#include <dlfcn.h>

#include <string>

// cuDNN 9.19 leaks what cublasLt allocates for the plans of one engine. Each test is one source file, so this is
// defined once.
extern "C" char const* __lsan_default_suppressions();  // NOLINT: the sanitizer's name
extern "C" char const* __lsan_default_suppressions() { return "leak:libcublasLt.so\n"; }

namespace dsl::test {

/// Loads a libcuda.so.1, without which cuDNN does not compile kernels of fused graphs; the library need not work.
/// Without a driver, the CUDA toolkit's stub, found beside libcudart, serves: kernels are then compiled but not loaded.
/// Call it before the first use of cuDNN. Returns false if there is neither.
inline bool load_driver_library() {
  static bool const loaded = [] {
    if (::dlopen("libcuda.so.1", RTLD_NOW | RTLD_GLOBAL)) return true;
    Dl_info runtime{};
    void* const function = ::dlsym(RTLD_DEFAULT, "cudaGetDeviceCount");
    if (!function || ::dladdr(function, &runtime) == 0) return false;
    std::string const file = runtime.dli_fname;
    std::string const folder = file.substr(0, file.rfind('/') + 1);
    return ::dlopen((folder + "stubs/libcuda.so").c_str(), RTLD_NOW | RTLD_GLOBAL) != nullptr;
  }();
  return loaded;
}

/// Returns the real libraries; no function of theirs that needs a device may be called.
inline cu::api const& real_api() {
  static cu::api const a = [] {
    load_driver_library();
    return cu::api{};
  }();
  return a;
}

/// Returns whether cuDNN can build plans for a described device at run time.
inline bool cudnn_is_recent() { return real_api().cudnnGetVersion.function() >= 91100; }

inline cu::plan_target const& h200_target() {
  static cu::plan_target const target = target_of(real_api(), h200);
  return target;
}

}  // namespace dsl::test
