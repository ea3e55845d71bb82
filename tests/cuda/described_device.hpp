// SPDX-License-Identifier: MIT
#pragma once

#include <dsl/executors/cuda/cudnn.hpp>

#include <string>

namespace dsl::test {

/// A GPU as cuDNN wants it described to build plans without one. The figures are from the data sheets and the CUDA
/// programming guide's table of compute capabilities. The number of partitions of the chip is not among them, so
/// engines that need it are left out.
struct described_device {
  char const* name;
  int major, minor;
  int multiprocessors;
  int shared_memory;  // the most bytes that a block may have
  long long l2_bytes, memory_bytes;
  int clock_khz, memory_clock_khz;
};

inline constexpr described_device a100{
    "NVIDIA A100-SXM4-80GB", 8, 0, 108, 163 << 10, 40LL << 20, 80LL << 30, 1'410'000, 1'593'000};
inline constexpr described_device h200{
    "NVIDIA H200", 9, 0, 132, 227 << 10, 60LL << 20, 141LL * 1000 * 1000 * 1000, 1'980'000, 3'201'000};
inline constexpr described_device b200{
    "NVIDIA B200", 10, 0, 148, 227 << 10, 126LL << 20, 180LL * 1000 * 1000 * 1000, 1'965'000, 3'996'000};

inline std::string json_of(described_device const& d) {
  std::string text = "{";
  auto const add = [&text](char const* field, std::string const& value) {
    text += (text.size() > 1 ? ",\"" : "\"") + std::string(field) + "\":" + value;
  };
  auto const number = [&add](char const* field, long long value) { add(field, std::to_string(value)); };
  add("deviceName", '"' + std::string(d.name) + '"');
  number("cudaDeviceId", 0);
  number("pciDeviceId", 0);
  number("deviceVer", d.major * 100 + d.minor * 10);
  number("driverVer", CUDART_VERSION);
  number("isTccDriver", 0);
  number("supportCoopLaunch", 1);
  number("multiProcessorCount", d.multiprocessors);
  number("warpSize", 32);
  number("maxThreadsPerBlock", 1024);
  number("maxThreadsPerSM", 2048);
  number("maxCtasPerSM", 32);
  number("regsPerBlock", 65536);
  number("maxRegistersPerSM", 65536);
  number("maxSharedMemoryPerBlock", 48 << 10);
  number("maxSharedMemoryPerBlockOptin", d.shared_memory);
  number("reservedSharedMemoryPerBlock", 1 << 10);
  number("l2CacheSize", d.l2_bytes);
  number("totalGlobalMem", d.memory_bytes);
  number("smClockRateKHz", d.clock_khz);
  number("memClockRateKHz", d.memory_clock_khz);
  add("maxGridSize", "[2147483647,65535,65535]");
  add("maxBlockSize", "[1024,1024,64]");
  return text + "}";
}

inline cu::plan_target target_of(cu::api const& a, described_device const& d) {
  return {a, json_of(d),
          std::string(d.name) + ", compute capability " + std::to_string(d.major) + "." + std::to_string(d.minor)};
}

}  // namespace dsl::test
