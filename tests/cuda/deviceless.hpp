// SPDX-License-Identifier: MIT
#pragma once

#include "cuda/described_device.hpp"

#include <dlfcn.h>

#include <string>

// cuDNN 9.19 leaks what cublasLt allocates for the plans of one engine. A test is one source file, so that this is
// defined once.
extern "C" char const* __lsan_default_suppressions();  // NOLINT: the sanitizer's name
extern "C" char const* __lsan_default_suppressions() { return "leak:libcublasLt.so\n"; }

namespace dsl::test {

/// cuDNN compiles kernels of fused graphs only where a libcuda.so.1 is in the process; it need not do anything. Where
/// there is no driver the CUDA toolkit's stub, found beside libcudart, serves: kernels are then compiled, but not
/// loaded. Must come before the first use of cuDNN. False where there is neither.
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

/// The real libraries; nothing of them that needs a device may be called.
inline cu::api const& real_api() {
  static cu::api const a = [] {
    load_driver_library();
    return cu::api{};
  }();
  return a;
}

/// Whether cuDNN at run time can build plans for a described device.
inline bool cudnn_is_recent() { return real_api().cudnnGetVersion.function() >= 91100; }

inline cu::plan_target const& h200_target() {
  static cu::plan_target const target = target_of(real_api(), h200);
  return target;
}

}  // namespace dsl::test
