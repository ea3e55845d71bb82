// SPDX-License-Identifier: MIT
#pragma once

#include <dsl/executors/cuda/api.hpp>

#include <cstdint>
#include <vector>

#include "support/simulated_device/numbers.hpp"

namespace dsl_test {

/// Device memory for n numbers of some type, read and written as floats.
struct typed_buffer {
  dsl::cu::api const& a;
  std::size_t n;
  simulated::storage type;
  void* p = nullptr;
  typed_buffer(dsl::cu::api const& table, std::size_t count, simulated::storage t) : a(table), n(count), type(t) {
    a(a.cudaMalloc, &p, bytes());
  }
  typed_buffer(typed_buffer const&) = delete;
  ~typed_buffer() { a.cudaFree.function(p); }
  std::size_t bytes() const { return n * simulated::bytes_of(type); }
  void write(std::vector<float> const& x, cudaStream_t s) {
    std::vector<char> raw(bytes());
    for (std::size_t i = 0; i < n; ++i) simulated::store(raw.data(), static_cast<std::int64_t>(i), type, x[i]);
    a(a.cudaMemcpyAsync, p, static_cast<void const*>(raw.data()), raw.size(), cudaMemcpyHostToDevice, s);
  }
  std::vector<float> read(cudaStream_t s) const {
    std::vector<char> raw(bytes());
    a(a.cudaMemcpyAsync, static_cast<void*>(raw.data()), static_cast<void const*>(p), raw.size(),
      cudaMemcpyDeviceToHost, s);
    std::vector<float> x(n);
    for (std::size_t i = 0; i < n; ++i) x[i] = simulated::load(raw.data(), static_cast<std::int64_t>(i), type);
    return x;
  }
};

}  // namespace dsl_test
