// SPDX-License-Identifier: MIT
#pragma once

#include <dsl/executors/cuda/device.hpp>
#include <dsl/executors/cuda/nccl.hpp>
#include <dsl/executors/cuda/nccl_communicator.hpp>

#include <exception>
#include <string>
#include <thread>
#include <vector>

#include "support/simulated_device/nccl.hpp"

namespace dsl_test {

/// Calls f(rank) in a thread for each rank with GPU `rank` selected; returns the message of each exception, or "".
template <class F>
std::vector<std::string> on_ranks(int ranks, F f) {
  std::vector<std::string> thrown(static_cast<std::size_t>(ranks));
  std::vector<std::thread> threads;
  for (int r = 0; r < ranks; ++r)
    threads.emplace_back([r, &f, &text = thrown[static_cast<std::size_t>(r)]] {
      simulated::state::current_device = r;
      try {
        f(r);
      } catch (dsl::error const& e) {
        text = e.what();
      } catch (std::exception const& e) {
        text = std::string("not one of typenet's errors: ") + e.what();
      }
    });
  for (std::thread& t : threads) t.join();
  return thrown;
}

/// A rank's floats on its GPU, with host memory from and to which they are copied, in recordings too.
struct rank_floats {
  dsl::cu::api const& a;
  dsl::cu::stream s;
  long long count;
  dsl::cu::device_memory device;
  dsl::cu::pinned_memory host;
  rank_floats(dsl::cu::api const& table, long long n)
      : a(table), s(table), count(n), device(table, 4 * n, s.get()), host(table, 4 * n) {}
  float* on_device() const { return reinterpret_cast<float*>(device.data()); }
  float* on_host() const { return host.as<float>(); }
  std::size_t bytes() const { return 4 * static_cast<std::size_t>(count); }
  void to_device(cudaStream_t in) const {
    a(a.cudaMemcpyAsync, on_device(), on_host(), bytes(), cudaMemcpyHostToDevice, in);
  }
  void to_host(cudaStream_t in) const {
    a(a.cudaMemcpyAsync, on_host(), on_device(), bytes(), cudaMemcpyDeviceToHost, in);
  }
  void fill(int rank, int step) const {
    for (long long i = 0; i < count; ++i) on_host()[i] = value(rank, step, i);
  }
  std::vector<float> numbers() const { return {on_host(), on_host() + count}; }
  static float value(int rank, int step, long long i) {
    return static_cast<float>((i * 37 + rank * 101 + step * 13) % 997) * 0.37f - 150.0f;
  }
  static std::vector<float> values(int rank, int step, long long n) {
    std::vector<float> x;
    for (long long i = 0; i < n; ++i) x.push_back(value(rank, step, i));
    return x;
  }
};

}  // namespace dsl_test
