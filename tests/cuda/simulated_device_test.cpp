// SPDX-License-Identifier: MIT
// Tests the test double itself: what it must detect and what it must refuse.
#include "support/catch.hpp"
#include "support/simulated_device/kills.hpp"
#include "support/simulated_device/simulated_device.hpp"

#include <cmath>
#include <cstdio>
#include <set>
#include <string>
#include <vector>

using dsl::cu::api;
using dsl_test::kills;
using dsl_test::simulated_device;
using dsl_test::timing;

namespace {

struct stream {
  api const& a;
  cudaStream_t s = nullptr;
  explicit stream(api const& table) : a(table) { a(a.cudaStreamCreateWithFlags, &s, unsigned{cudaStreamNonBlocking}); }
  stream(stream const&) = delete;
  ~stream() { a.cudaStreamDestroy.function(s); }
  void wait() const { a(a.cudaStreamSynchronize, s); }
};
struct event {
  api const& a;
  cudaEvent_t e = nullptr;
  explicit event(api const& table, unsigned flags = cudaEventDefault) : a(table) {
    a(a.cudaEventCreateWithFlags, &e, flags);
  }
  event(event const&) = delete;
  ~event() { a.cudaEventDestroy.function(e); }
};
template <class T>
struct array {
  api const& a;
  std::size_t n;
  bool pinned;
  T* p = nullptr;
  array(api const& table, std::size_t count, bool in_host_memory = false) : a(table), n(count), pinned(in_host_memory) {
    a(pinned ? a.cudaMallocHost : a.cudaMalloc, reinterpret_cast<void**>(&p), n * sizeof(T));
  }
  array(array const&) = delete;
  ~array() { (pinned ? a.cudaFreeHost : a.cudaFree).function(p); }
};
template <class T>
void copy(api const& a, T* to, T const* from, std::size_t n, stream const& s) {
  a(a.cudaMemcpyAsync, static_cast<void*>(to), static_cast<void const*>(from), n * sizeof(T), cudaMemcpyDefault, s.s);
}

}  // namespace

TEST_CASE("memory is poisoned outside of work, full of NaN, aligned to 256 bytes and no more") {
  simulated_device device;
  api const& a = device.api();
  {
    stream s(a);
    array<float> d(a, 10);
    std::vector<float> h(10);
    CHECK(reinterpret_cast<std::uintptr_t>(d.p) % 512 == 256);
    CHECK(kills([&] { std::fprintf(stdout, "%g", static_cast<double>(d.p[3])); }));
    CHECK(kills([&] { d.p[3] = 1; }));
    CHECK_FALSE(kills([&] { h[3] = 1; }));
    copy(a, h.data(), d.p, 10, s);
    s.wait();
    for (float const x : h) CHECK(std::isnan(x));

    std::vector<float> more(11);
    auto const copy_of = [&](void* to, void const* from, std::size_t n, cudaMemcpyKind kind) {
      return a.cudaMemcpyAsync.function(to, from, n * sizeof(float), kind, s.s);
    };
    CHECK(copy_of(more.data(), d.p, 11, cudaMemcpyDeviceToHost) == cudaErrorInvalidValue);  // past the end
    CHECK(copy_of(more.data(), d.p - 1, 2, cudaMemcpyDeviceToHost) == cudaErrorInvalidValue);
    CHECK(copy_of(h.data(), d.p, 10, cudaMemcpyHostToDevice) == cudaErrorInvalidValue);  // the wrong direction
    CHECK(copy_of(h.data(), d.p, 10, cudaMemcpyDeviceToHost) == cudaSuccess);
    CHECK(a.cudaMemsetAsync.function(h.data(), 0, 8, s.s) == cudaErrorInvalidValue);

    float* const freed = d.p;
    a(a.cudaFree, d.p);
    d.p = nullptr;
    CHECK(copy_of(h.data(), freed, 10, cudaMemcpyDeviceToHost) == cudaErrorInvalidValue);
    CHECK(device.take_misuses().empty());
    CHECK(a.cudaFree.function(freed) == cudaErrorInvalidValue);
    CHECK(device.take_misuses().size() == 1);
  }
  CHECK(device.report() == "");
}

TEST_CASE("device memory ends at its limit") {
  simulated_device device{{.memory_bytes = 4096}};
  api const& a = device.api();
  void* p = nullptr;
  CHECK(a.cudaMalloc.function(&p, 5000) == cudaErrorMemoryAllocation);
  CHECK(a.cudaGetLastError.function() == cudaErrorMemoryAllocation);
  CHECK(a.cudaGetLastError.function() == cudaSuccess);
  CHECK_THROWS_WITH(a(a.cudaMalloc, &p, std::size_t{5000}), Catch::Contains("cudaMalloc") && Catch::Contains("memory"));
  a(a.cudaMalloc, &p, std::size_t{4096});
  void* q = nullptr;
  CHECK(a.cudaMalloc.function(&q, 1) == cudaErrorMemoryAllocation);
  a(a.cudaFree, p);
  CHECK(device.report() == "");
}

TEST_CASE("work runs as late as possible, or as early") {
  timing const when = GENERATE(timing::late, timing::early);
  simulated_device device{{.when = when}};
  api const& a = device.api();
  {
    stream s(a);
    array<int> d(a, 1), h(a, 2, true);
    h.p[0] = 7;
    h.p[1] = 0;
    copy(a, d.p, h.p, 1, s);
    h.p[0] = 8;  // too soon
    copy(a, h.p + 1, d.p, 1, s);
    CHECK(h.p[1] == (when == timing::late ? 0 : 7));  // nothing was waited for
    s.wait();
    CHECK(h.p[1] == (when == timing::late ? 8 : 7));
    CHECK(device.pageable_copies() == 0);

    int pageable = 5;  // staged before the call returns, and read back before it returns
    copy(a, d.p, &pageable, 1, s);
    pageable = 6;
    int back = 0;
    copy(a, &back, d.p, 1, s);
    CHECK(back == 5);
    CHECK(device.pageable_copies() == 2);
  }
  CHECK(device.report() == "");
}

TEST_CASE("streams race unless events order them") {
  bool const ordered = GENERATE(false, true);
  std::set<int> seen;
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    simulated_device device{{.seed = seed, .when = timing::random}};
    api const& a = device.api();
    {
      stream one(a), two(a);
      event e(a, cudaEventDisableTiming);
      array<int> d(a, 1), h(a, 3, true);
      h.p[0] = 1, h.p[1] = 2;
      copy(a, d.p, h.p, 1, one);
      a(a.cudaEventRecord, e.e, one.s);
      if (ordered) a(a.cudaStreamWaitEvent, two.s, e.e, 0u);
      copy(a, d.p, h.p + 1, 1, two);
      one.wait();
      two.wait();
      copy(a, h.p + 2, d.p, 1, two);
      two.wait();
      seen.insert(h.p[2]);
    }
    CHECK(device.report() == "");
  }
  CHECK(seen == (ordered ? std::set<int>{2} : std::set<int>{1, 2}));
}

TEST_CASE("events: what they refuse, and a plausible time") {
  simulated_device device;
  api const& a = device.api();
  {
    stream s(a);
    event before(a), behind(a), untimed(a, cudaEventDisableTiming);
    array<char> d(a, 1 << 20);
    float ms = -1;
    CHECK(a.cudaEventQuery.function(before.e) == cudaSuccess);  // never recorded
    CHECK(a.cudaEventElapsedTime.function(&ms, before.e, behind.e) == cudaErrorInvalidResourceHandle);
    a(a.cudaEventRecord, before.e, s.s);
    for (int i = 0; i < 40; ++i) a(a.cudaMemsetAsync, static_cast<void*>(d.p), 0, d.n, s.s);
    a(a.cudaEventRecord, behind.e, s.s);
    a(a.cudaEventRecord, untimed.e, s.s);
    CHECK(a.cudaEventElapsedTime.function(&ms, before.e, behind.e) == cudaErrorNotReady);
    CHECK(a.cudaStreamQuery.function(s.s) == cudaErrorNotReady);
    int questions = 0;
    while (a.cudaEventQuery.function(untimed.e) == cudaErrorNotReady) ++questions;
    CHECK(questions > 0);
    a(a.cudaEventElapsedTime, &ms, before.e, behind.e);
    CHECK(ms > 0);
    CHECK(ms < 1000);
    CHECK(a.cudaEventElapsedTime.function(&ms, before.e, untimed.e) == cudaErrorInvalidResourceHandle);
  }
  CHECK(device.report() == "");
}

TEST_CASE("handles: the default stream, a destroyed stream and a leak are noticed") {
  simulated_device device;
  api const& a = device.api();
  CHECK(a.cudaStreamSynchronize.function(nullptr) == cudaErrorInvalidResourceHandle);
  CHECK(device.take_misuses() == std::vector<std::string>{"cudaStreamSynchronize: the default stream"});
  cudaStream_t gone = nullptr;
  a(a.cudaStreamCreateWithFlags, &gone, 0u);
  a(a.cudaStreamDestroy, gone);
  CHECK(a.cudaStreamSynchronize.function(gone) == cudaErrorInvalidResourceHandle);
  CHECK(a.cudaEventRecord.function(nullptr, gone) == cudaErrorInvalidResourceHandle);
  CHECK(device.take_misuses().size() == 2);

  cudaStream_t kept = nullptr;
  cudaEvent_t e = nullptr;
  void* d = nullptr;
  void* h = nullptr;
  a(a.cudaStreamCreateWithFlags, &kept, 0u);
  a(a.cudaEventCreateWithFlags, &e, 0u);
  a(a.cudaMalloc, &d, std::size_t{100});
  a(a.cudaMallocHost, &h, std::size_t{50});
  CHECK(kept != gone);
  CHECK(device.report() ==
        "leak: event #3\nleak: stream #2\nleak: device memory, 100 bytes\nleak: pinned memory, 50 bytes\n");
  a(a.cudaStreamDestroy, kept);
  a(a.cudaEventDestroy, e);
  a(a.cudaFree, d);
  a(a.cudaFreeHost, h);
  CHECK(device.report() == "");
}

TEST_CASE("a report that nobody asks for ends the program") {
  CHECK(kills([] {
    simulated_device device;
    cudaStream_t s = nullptr;
    device.api()(device.api().cudaStreamCreateWithFlags, &s, 0u);
  }));
  CHECK_FALSE(kills([] { simulated_device const device; }));
  CHECK_THROWS_AS(
      [] {
        simulated_device const one;
        simulated_device const two;
      }(),
      std::logic_error);
}

TEST_CASE("faults strike the n-th call, of one name or of all, and calls are counted") {
  simulated_device device;
  api const& a = device.api();
  void *p = nullptr, *q = nullptr;
  device.fail_call("cudaMalloc", 2, cudaErrorMemoryAllocation);
  a(a.cudaMalloc, &p, std::size_t{8});
  CHECK(a.cudaMalloc.function(&q, 8) == cudaErrorMemoryAllocation);
  CHECK(device.calls("cudaMalloc") == 2);
  CHECK(device.faults_struck() == 1);
  device.fail_call(1);
  CHECK(a.cudaFree.function(p) == cudaErrorUnknown);  // it is freed all the same
  device.fail_call(1);
  cudnnHandle_t h = nullptr;
  CHECK(a.cudnnCreate.function(&h) == CUDNN_STATUS_INTERNAL_ERROR);
  CHECK(device.calls() == 4);
  device.reset_calls();
  CHECK(device.calls() == 0);
  CHECK(device.report() == "");
}

TEST_CASE("several devices have their own memory and streams") {
  simulated_device device{{.devices = 2, .memory_bytes = 1000, .name = "Made-up GPU"}};
  api const& a = device.api();
  int count = 0;
  a(a.cudaGetDeviceCount, &count);
  CHECK(count == 2);
  cudaDeviceProp p;
  a(a.cudaGetDeviceProperties, &p, 1);
  CHECK(std::string(p.name) == "Made-up GPU 1");
  CHECK(p.major == 9);
  CHECK(a.cudaSetDevice.function(2) == cudaErrorInvalidDevice);
  {
    stream s(a);
    array<char> first(a, 900);
    a(a.cudaSetDevice, 1);
    array<char> second(a, 900);
    CHECK(a.cudaMemsetAsync.function(second.p, 0, 1, s.s) == cudaErrorInvalidResourceHandle);  // a stream of device 0
    a(a.cudaSetDevice, 0);
  }
  CHECK(device.report() == "");
}
