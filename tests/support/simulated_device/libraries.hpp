// SPDX-License-Identifier: MIT
#pragma once

#include <cstring>
#include <map>
#include <memory>
#include <string>
#include <utility>

#include "support/simulated_device/programs.hpp"
#include "support/simulated_device/streams.hpp"

namespace dsl_test::simulated {

struct library : object {
  std::map<std::string, kernel_line> kernels;
  std::map<std::string, cudaKernel_t> handles;
};
struct library_kernel : object {
  std::weak_ptr<library> from;
  kernel_line line;
  bool loaded = false;  // lazily, as CUDA does by default
};

/// Refuses code that the simulated NVRTC has not compiled, and kernels for another generation of GPUs.
inline cudaError_t library_load(state& s, cudaLibrary_t* handle, void const* code, cudaJitOption*, void**,
                                unsigned jit_options, cudaLibraryOption*, void**, unsigned options) {
  if (refused_by_capture(s)) return cudaErrorStreamCaptureUnsupported;
  if (!handle || !code || jit_options != 0 || options != 0) return cudaErrorInvalidValue;
  image_header header;
  std::string const magic(header.magic, sizeof header.magic);
  if (std::memcmp(code, magic.data(), 4) != 0) return cudaErrorInvalidKernelImage;  // a caller may have few bytes
  std::memcpy(&header, code, sizeof header);
  if (std::string(header.magic, sizeof header.magic) != magic) return cudaErrorInvalidKernelImage;
  std::string_view const text(static_cast<char const*>(code) + sizeof header, header.bytes);
  if (hash_of(text) != header.hash) return cudaErrorInvalidKernelImage;
  if (header.major != s.options.major || header.minor > s.options.minor) return cudaErrorNoKernelImageForDevice;
  auto l = std::make_shared<library>();
  for (std::string_view const line : lines_of(text)) {
    kernel_line k = parse_kernel_line(line);
    l->kernels.emplace(k.name, std::move(k));
  }
  *handle = s.add<cudaLibrary_t>("library", l);
  return cudaSuccess;
}
inline cudaError_t library_unload(state& s, cudaLibrary_t handle) {
  if (refused_by_capture(s)) return cudaErrorStreamCaptureUnsupported;
  auto const l = s.find<library>(handle, "cudaLibraryUnload");
  if (!l) return cudaErrorInvalidResourceHandle;
  s.finish_all();
  for (auto const& [name, kernel] : l->handles) s.remove(kernel);
  s.remove(handle);
  return cudaSuccess;
}
inline cudaError_t library_get_kernel(state& s, cudaKernel_t* result, cudaLibrary_t handle, char const* name) {
  auto const l = s.find<library>(handle, "cudaLibraryGetKernel");
  if (!l) return cudaErrorInvalidResourceHandle;
  if (!result || !name) return cudaErrorInvalidValue;
  auto const at = l->kernels.find(name);
  if (at == l->kernels.end()) return cudaErrorSymbolNotFound;
  auto& known = l->handles[name];
  if (!known) {
    auto k = std::make_shared<library_kernel>();
    k->from = l;
    k->line = at->second;
    known = s.add<cudaKernel_t>("kernel", k);
  }
  *result = known;
  return cudaSuccess;
}

/// Whether an argument, or a pointer in a struct, points to another device's memory, which no kernel may access. Any 8
/// bytes that look like such a pointer count as one.
inline bool reaches_elsewhere(state const& s, std::vector<std::size_t> const& sizes, void** arguments, int device) {
  for (std::size_t a = 0; a < sizes.size(); ++a)
    for (std::size_t at = 0; at + sizeof(void*) <= sizes[a]; at += sizeof(void*)) {
      void const* p = nullptr;
      std::memcpy(&p, static_cast<char const*>(arguments[a]) + at, sizeof p);
      auto const* const b = s.memory.find(p, 1);
      if (b && b->device >= 0 && b->device != device) return true;
    }
  return false;
}

inline cudaError_t kernel_attributes(state& s, cudaFuncAttributes* facts, void const* function) {
  auto const k = s.find<library_kernel>(function, "cudaFuncGetAttributes");
  if (!facts || !k) return cudaErrorInvalidDeviceFunction;
  if (refused_by_capture(s)) return cudaErrorStreamCaptureUnsupported;
  *facts = {};
  facts->maxThreadsPerBlock = 1024;
  k->loaded = true;
  return cudaSuccess;
}

/// Enforces the limits of compute capability 9.0; shared memory beyond 48 KiB would need an attribute that the table
/// lacks.
inline cudaError_t launch_kernel(state& s, void const* function, dim3 grid, dim3 block, void** arguments,
                                 std::size_t shared_bytes, cudaStream_t in) {
  cudaError_t error;
  auto const q = find_stream(s, in, "cudaLaunchKernel", error);
  if (!q) return error;
  auto const k = s.find<library_kernel>(function, "cudaLaunchKernel");
  if (!k) return cudaErrorInvalidDeviceFunction;
  if (q->capturing && !k->loaded) {
    q->capturing->invalid = true;
    return cudaErrorStreamCaptureUnsupported;
  }
  k->loaded = true;
  std::uint64_t const threads = std::uint64_t{block.x} * block.y * block.z;
  if (threads == 0 || threads > 1024 || block.z > 64 || grid.x == 0 || grid.x > 2147483647u || grid.y == 0 ||
      grid.y > 65535 || grid.z == 0 || grid.z > 65535)
    return cudaErrorInvalidConfiguration;
  if (shared_bytes > 48 * 1024 || !arguments) return cudaErrorInvalidValue;
  auto const& known = all_kernels().at({k->line.function, k->line.storage});
  if (reaches_elsewhere(s, known.arguments, arguments, q->device)) {
    s.misuse(std::string("cudaLaunchKernel: ") + known.name + " on device " + std::to_string(q->device) +
             " gets memory of another device");
    return cudaErrorInvalidValue;
  }
  double const milliseconds = 0.003 + static_cast<double>(threads * grid.x * grid.y * grid.z) * 1e-8;
  return enqueue(s, *q, known.name, milliseconds, known.bind(k->line.numbers, grid, block, arguments), {k});
}

inline void install_libraries(installer& table) {
  using dsl::cu::api;
  table.set<&api::cudaLibraryLoadData, &library_load>();
  table.set<&api::cudaLibraryUnload, &library_unload>();
  table.set<&api::cudaLibraryGetKernel, &library_get_kernel>();
  table.set<&api::cudaFuncGetAttributes, &kernel_attributes>();
  table.set<&api::cudaLaunchKernel, &launch_kernel>();
}

}  // namespace dsl_test::simulated
