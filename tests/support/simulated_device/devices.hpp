// SPDX-License-Identifier: MIT
#pragma once

#include <cstring>
#include <string>

#include "support/simulated_device/calls.hpp"

namespace dsl_test::simulated {

inline cudaError_t get_device_count(state& s, int* count) {
  if (!count) return cudaErrorInvalidValue;
  *count = s.options.devices;
  return s.options.devices > 0 ? cudaSuccess : cudaErrorNoDevice;
}
inline cudaError_t set_device(state& s, int device) {
  if (device < 0 || device >= s.options.devices) return cudaErrorInvalidDevice;
  state::current_device = device;
  return cudaSuccess;
}
inline cudaError_t get_device(state&, int* device) {
  if (!device) return cudaErrorInvalidValue;
  *device = state::current_device;
  return cudaSuccess;
}
inline cudaError_t get_device_properties(state& s, cudaDeviceProp* p, int device) {
  if (!p) return cudaErrorInvalidValue;
  if (device < 0 || device >= s.options.devices) return cudaErrorInvalidDevice;
  *p = {};
  std::string const name = s.options.name + " " + std::to_string(device);
  name.copy(p->name, sizeof p->name - 1);
  p->uuid.bytes[0] = static_cast<char>(device);
  p->totalGlobalMem = s.memory_bytes(device);
  p->sharedMemPerBlock = 48 * 1024;
  p->sharedMemPerBlockOptin = 227 * 1024;
  p->sharedMemPerMultiprocessor = 228 * 1024;
  p->regsPerBlock = p->regsPerMultiprocessor = 65536;
  p->warpSize = 32;
  p->maxThreadsPerBlock = 1024;
  p->maxThreadsPerMultiProcessor = 2048;
  int const block[] = {1024, 1024, 64}, grid[] = {2147483647, 65535, 65535};
  std::memcpy(p->maxThreadsDim, block, sizeof block);
  std::memcpy(p->maxGridSize, grid, sizeof grid);
  p->major = s.options.major;
  p->minor = s.options.minor;
  p->multiProcessorCount = 132;
  p->l2CacheSize = 50 * 1024 * 1024;
  p->unifiedAddressing = 1;
  p->asyncEngineCount = 3;
  p->concurrentKernels = 1;
  p->memoryBusWidth = 5120;
  p->pciBusID = device + 1;
  return cudaSuccess;
}
inline cudaError_t runtime_version(state& s, int* version) {
  if (!version) return cudaErrorInvalidValue;
  *version = s.options.runtime_version;
  return cudaSuccess;
}
inline cudaError_t driver_version(state& s, int* version) {
  if (!version) return cudaErrorInvalidValue;
  *version = s.options.driver_version;
  return cudaSuccess;
}
inline char const* cuda_error_string(state&, cudaError_t error) { return ::cudaGetErrorString(error); }
/// Forgets the last error, but not a failed kernel's.
inline cudaError_t get_last_error(state& s) {
  cudaError_t const error = state::last_error;
  state::last_error = s.sticky;
  return error;
}

inline void install_devices(installer& table) {
  using dsl::cu::api;
  table.set<&api::cudaGetDeviceCount, &get_device_count>();
  table.set<&api::cudaSetDevice, &set_device>();
  table.set<&api::cudaGetDevice, &get_device>();
  table.set<&api::cudaGetDeviceProperties, &get_device_properties>();
  table.set<&api::cudaRuntimeGetVersion, &runtime_version>();
  table.set<&api::cudaDriverGetVersion, &driver_version>();
  table.set<&api::cudaGetErrorString, &cuda_error_string>();
  table.set<&api::cudaGetLastError, &get_last_error>();
}

}  // namespace dsl_test::simulated
