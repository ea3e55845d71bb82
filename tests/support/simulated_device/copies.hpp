// SPDX-License-Identifier: MIT
#pragma once

#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include "support/simulated_device/streams.hpp"

namespace dsl_test::simulated {

inline cudaError_t device_malloc(state& s, void** p, std::size_t bytes) {
  if (refused_by_capture(s)) return cudaErrorStreamCaptureUnsupported;
  if (!p) return cudaErrorInvalidValue;
  *p = nullptr;
  if (bytes == 0) return cudaSuccess;
  if (s.memory.used(state::current_device) + bytes > s.memory_bytes(state::current_device))
    return cudaErrorMemoryAllocation;
  *p = s.memory.allocate(bytes, state::current_device);
  return *p ? cudaSuccess : cudaErrorMemoryAllocation;
}
inline cudaError_t host_malloc(state& s, void** p, std::size_t bytes) {
  if (refused_by_capture(s)) return cudaErrorStreamCaptureUnsupported;
  if (!p) return cudaErrorInvalidValue;
  *p = nullptr;
  if (bytes == 0) return cudaSuccess;
  *p = s.memory.allocate_pinned(bytes);
  return *p ? cudaSuccess : cudaErrorMemoryAllocation;
}
/// Frees memory; like the driver's, it waits until nothing uses the memory.
template <bool Pinned>
cudaError_t give_memory_back(state& s, void* p) {
  if (refused_by_capture(s)) return cudaErrorStreamCaptureUnsupported;
  if (!p) return cudaSuccess;
  s.finish_all();
  if (s.memory.free(p, Pinned)) return cudaSuccess;
  s.misuse(Pinned ? "cudaFreeHost: not pinned memory, or freed twice" : "cudaFree: not device memory, or freed twice");
  return cudaErrorInvalidValue;
}

/// Throws simulation_error unless [p, p + bytes) is inside one live allocation.
inline void expect_device(state& s, void const* p, std::size_t bytes, char const* what) {
  auto const* b = s.memory.find(p, bytes);
  if (!b || b->device < 0)
    throw simulation_error(std::string(what) + ": " + std::to_string(bytes) +
                           " bytes that are not inside one allocation of device memory");
}

enum class place { device, pinned, pageable, nowhere };
inline place find_place(state& s, void const* p, std::size_t bytes) {
  if (auto const* b = s.memory.find(p, bytes)) return b->device < 0 ? place::pinned : place::device;
  // Past an allocation's end, or freed.
  return s.memory.is_device(p) || s.memory.find(p, 1) ? place::nowhere : place::pageable;
}
inline bool fits(cudaMemcpyKind kind, place to, place from) {
  bool const to_device = to == place::device, from_device = from == place::device;
  switch (kind) {
    case cudaMemcpyHostToHost: return !to_device && !from_device;
    case cudaMemcpyHostToDevice: return to_device && !from_device;
    case cudaMemcpyDeviceToHost: return !to_device && from_device;
    case cudaMemcpyDeviceToDevice: return to_device && from_device;
    case cudaMemcpyDefault: return true;
  }
  return false;
}

/// Copies pageable memory as the manual's section "API synchronization behavior" says: a source is staged before the
/// call returns, a destination is complete when it returns, and a capture refuses both. Such copies are counted,
/// because they overlap nothing.
inline cudaError_t memcpy_async(state& s, void* to, void const* from, std::size_t bytes, cudaMemcpyKind kind,
                                cudaStream_t in) {
  cudaError_t error;
  auto const q = find_stream(s, in, "cudaMemcpyAsync", error);
  if (!q) return error;
  if (bytes == 0) return cudaSuccess;
  if (!to || !from) return cudaErrorInvalidValue;
  place const to_place = find_place(s, to, bytes), from_place = find_place(s, from, bytes);
  if (to_place == place::nowhere || from_place == place::nowhere || !fits(kind, to_place, from_place))
    return cudaErrorInvalidValue;
  double const milliseconds = 0.002 + static_cast<double>(bytes) / 20e6;  // 20 GB/s
  bool const pageable = to_place == place::pageable || from_place == place::pageable;
  if (pageable) {
    ++s.pageable_copies;
    if (q->capturing) {
      q->capturing->invalid = true;
      return cudaErrorStreamCaptureUnsupported;
    }
  }
  std::shared_ptr<std::vector<char>> staged;
  if (from_place == place::pageable) {
    auto const* first = static_cast<char const*>(from);
    staged = std::make_shared<std::vector<char>>(first, first + bytes);
  }
  error = enqueue(s, *q, "cudaMemcpyAsync", milliseconds, [&s, to, from, bytes, to_place, from_place, staged] {
    auto const expect = [&](void const* p, place where) {
      if (where != place::pageable && find_place(s, p, bytes) != where)
        throw simulation_error("memory that was freed before the copy");
    };
    expect(to, to_place);
    expect(from, from_place);
    std::memmove(to, staged ? staged->data() : from, bytes);
  });
  if (error == cudaSuccess && to_place == place::pageable) {
    s.finish({q->last});
    error = s.sticky;
  }
  return error;
}
inline cudaError_t memset_async(state& s, void* to, int value, std::size_t bytes, cudaStream_t in) {
  cudaError_t error;
  auto const q = find_stream(s, in, "cudaMemsetAsync", error);
  if (!q) return error;
  if (bytes == 0) return cudaSuccess;
  if (find_place(s, to, bytes) != place::device) return cudaErrorInvalidValue;
  return enqueue(s, *q, "cudaMemsetAsync", 0.002, [&s, to, value, bytes] {
    expect_device(s, to, bytes, "memory that was freed before it was set");
    std::memset(to, value, bytes);
  });
}

inline void install_memory(installer& table) {
  using dsl::cu::api;
  table.set<&api::cudaMalloc, &device_malloc>();
  table.set<&api::cudaFree, &give_memory_back<false>>();
  table.set<&api::cudaMallocHost, &host_malloc>();
  table.set<&api::cudaFreeHost, &give_memory_back<true>>();
  table.set<&api::cudaMemcpyAsync, &memcpy_async>();
  table.set<&api::cudaMemsetAsync, &memset_async>();
}

}  // namespace dsl_test::simulated
