// SPDX-License-Identifier: MIT
// Tests the double's kernels: fibers, compilation, launches, capture and replay.
#include "support/catch.hpp"
#include "support/simulated_device/kills.hpp"
#include "support/simulated_device/simulated_device.hpp"

#include <dsl/executors/cuda/kernels/program.hpp>

#include <bit>
#include <clocale>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <memory>
#include <string>
#include <thread>
#include <vector>

using dsl::cu::api;
using dsl_test::launch;
using dsl_test::simulated_device;
using dsl_test::simulation_error;
using dsl_test::timing;
namespace gpu = dsl_simulated;

namespace {

struct window_shape {
  int size[2];
};
struct sum_shape {
  int count;
  float scale;
  window_shape window;
};
static_assert(dsl_test::simulated::numbers_in<sum_shape>() == 4);

// y[0] = scale * the sum of x.
template <class T>
void sum_kernel(sum_shape s, T const* x, T* y) {
  static thread_local float shared[1024];
  unsigned const t = gpu::thread_index.x;
  shared[t] = 0;
  for (int i = static_cast<int>(t); i < s.count; i += static_cast<int>(gpu::block_extent.x))
    shared[t] += static_cast<float>(x[i]);
  gpu::barrier();
  for (unsigned half = gpu::block_extent.x / 2; half > 0; half /= 2) {
    if (t < half) shared[t] += shared[t + half];
    gpu::barrier();
  }
  if (t == 0) y[0] = static_cast<T>(s.scale * shared[0]);
}
struct add_shape {
  int by;
};
template <class T>
void add_kernel(add_shape s, T* x) {
  x[gpu::block_index.x] += static_cast<T>(s.by);
}
// Writes past the end.
template <class T>
void wild_kernel(add_shape s, T* x) {
  x[s.by] = 0;
}
template <class T>
void diverging_kernel(add_shape, T*) {
  if (gpu::thread_index.x > 3) gpu::barrier();
}

void know_kernels() {
  dsl_test::add_kernel("sum", "float", &sum_kernel<float>);
  dsl_test::add_kernel("add", "float", &add_kernel<float>);
  dsl_test::add_kernel("wild", "float", &wild_kernel<float>);
  dsl_test::add_kernel("diverging", "float", &diverging_kernel<float>);
}

std::string compile(api const& a, std::string const& source, std::string const& option = "--gpu-architecture=sm_90a") {
  nvrtcProgram p = nullptr;
  a(a.nvrtcCreateProgram, &p, source.c_str(), "k.cu", 0, nullptr, nullptr);
  char const* const options[] = {option.c_str()};
  nvrtcResult const result = a.nvrtcCompileProgram.function(p, 1, options);
  std::size_t size = 0;
  std::string text;
  a(result == NVRTC_SUCCESS ? a.nvrtcGetCUBINSize : a.nvrtcGetProgramLogSize, p, &size);
  text.resize(size);
  a(result == NVRTC_SUCCESS ? a.nvrtcGetCUBIN : a.nvrtcGetProgramLog, p, text.data());
  a(a.nvrtcDestroyProgram, &p);
  return text;
}

/// A device with kernels sum, add, wild, diverging, one stream, and 64 floats.
struct bench {
  explicit bench(dsl_test::device_options o = {}) : device(std::move(o)), a(device.api()) {
    know_kernels();
    std::string const image = compile(a,
                                      "// dsl-kernel k0 sum float 40 0x1p-1f 3 3\n"
                                      "// dsl-kernel k1 add float 1\n"
                                      "// dsl-kernel k2 wild float 64\n"
                                      "// dsl-kernel k3 diverging float 0\n");
    a(a.cudaLibraryLoadData, &library, image.data(), nullptr, nullptr, 0u, nullptr, nullptr, 0u);
    a(a.cudaStreamCreateWithFlags, &s, 0u);
    a(a.cudaMalloc, reinterpret_cast<void**>(&d), 64 * sizeof(float));
    a(a.cudaMallocHost, reinterpret_cast<void**>(&h), 64 * sizeof(float));
    for (int i = 0; i < 64; ++i) h[i] = static_cast<float>(i);
    a(a.cudaMemcpyAsync, static_cast<void*>(d), static_cast<void const*>(h), 64 * sizeof(float), cudaMemcpyHostToDevice,
      s);
    a(a.cudaStreamSynchronize, s);
  }
  ~bench() { end(); }
  void end() {
    if (!s) return;
    a.cudaFree.function(d);
    a.cudaFreeHost.function(h);
    a.cudaStreamDestroy.function(s);
    a.cudaLibraryUnload.function(library);
    s = nullptr;
  }
  void load(char const* name) {
    cudaKernel_t k = nullptr;
    cudaFuncAttributes facts{};
    a(a.cudaLibraryGetKernel, &k, library, name);
    a(a.cudaFuncGetAttributes, &facts, static_cast<void const*>(k));
  }
  cudaError_t launch(char const* name, dim3 grid, dim3 block, float* x, float* y = nullptr, std::size_t shared = 0) {
    cudaKernel_t k = nullptr;
    a(a.cudaLibraryGetKernel, &k, library, name);
    void* arguments[] = {&x, &y};
    cudaError_t const e = a.cudaLaunchKernel.function(static_cast<void const*>(k), grid, block, arguments, shared, s);
    x = y = nullptr;  // the launch has copied the arguments
    return e;
  }
  float value(int i) {
    a(a.cudaMemcpyAsync, static_cast<void*>(h + i), static_cast<void const*>(d + i), sizeof(float), cudaMemcpyDefault,
      s);
    a(a.cudaStreamSynchronize, s);
    return h[i];
  }
  simulated_device device;
  api const& a;
  cudaLibrary_t library = nullptr;
  cudaStream_t s = nullptr;
  float* d = nullptr;
  float* h = nullptr;
};

}  // namespace

TEST_CASE("every thread of every block runs once, in an order that depends on the seed") {
  std::vector<int> seen(6 * 64);
  std::vector<unsigned> order;
  auto const body = [&] {
    unsigned const b = gpu::block_index.x + 3 * gpu::block_index.y;
    unsigned const t = gpu::thread_index.x + 8 * (gpu::thread_index.y + 4 * gpu::thread_index.z);
    ++seen[b * 64 + t];
    order.push_back(b * 64 + t);
  };
  dsl_test::launch_seed = 5;
  launch(dim3(3, 2), dim3(8, 4, 2), body);
  for (int const n : seen) REQUIRE(n == 1);
  auto const first = std::exchange(order, {});
  launch(dim3(3, 2), dim3(8, 4, 2), body);
  CHECK(first != std::exchange(order, {}));
  dsl_test::launch_seed = 5;
  launch(dim3(3, 2), dim3(8, 4, 2), body);
  CHECK(first == order);
}

TEST_CASE("barriers hold a block together; a thread that misses one is an error") {
  for (int again = 0; again < 3; ++again) {
    std::vector<float> x(100, 1.0f), y(1);
    launch(dim3(1), dim3(64), [&] { sum_kernel<float>({100, 2, {}}, x.data(), y.data()); });
    CHECK(y[0] == 200);
    CHECK_THROWS_WITH(launch(dim3(2), dim3(64), [] { diverging_kernel<float>({}, nullptr); }),
                      Catch::Contains("barrier divergence: 4 of 64"));
    CHECK_THROWS_AS(launch(dim3(2), dim3(64),
                           [] {
                             gpu::barrier();
                             if (gpu::thread_index.x == 9) throw 3;
                             gpu::barrier();
                           }),
                    int);
  }
  CHECK_THROWS_AS(gpu::barrier(), std::logic_error);
  CHECK_THROWS_AS(launch(dim3(1), dim3(1025), [] {}), simulation_error);
  CHECK_THROWS_AS(launch(dim3(0), dim3(1), [] {}), simulation_error);
}

TEST_CASE("numbers of a kernel's line") {
  using dsl_test::simulated::parse_literal;
  CHECK(static_cast<int>(parse_literal("-17")) == -17);
  CHECK(static_cast<float>(parse_literal("0x1.8p-3f")) == 0.1875f);
  CHECK(static_cast<float>(parse_literal("-1e-3f")) == -1e-3f);
  CHECK(static_cast<float>(parse_literal("3")) == 3);
  CHECK(static_cast<unsigned long long>(parse_literal("18446744073709551615ull")) == ~0ull);
  CHECK(static_cast<int>(parse_literal("-2147483648")) == -2147483647 - 1);
  CHECK_THROWS_AS(static_cast<int>(parse_literal("2147483648")), simulation_error);
  CHECK_THROWS_AS(static_cast<int>(parse_literal("1.0f")), simulation_error);
  CHECK_THROWS_AS(static_cast<unsigned>(parse_literal("-1")), simulation_error);
  CHECK_THROWS_AS(parse_literal("true"), simulation_error);
  CHECK_THROWS_AS(parse_literal("12x"), simulation_error);
}

TEST_CASE("a kernel's constants have the text of %a, in every locale") {
  std::vector<float> numbers;
  for (std::uint64_t bits = 0; bits < std::uint64_t{1} << 32; bits += 1'234'567)
    if (float const x = std::bit_cast<float>(static_cast<std::uint32_t>(bits)); std::isfinite(x)) numbers.push_back(x);
  REQUIRE(numbers.size() > 3000);
  for (float x : {0.0f, -0.0f, 0.1875f, -1e-45f, 3.4e38f}) numbers.push_back(x);
  std::vector<std::string> wanted, none;
  for (float x : numbers) {
    char text[40];
    std::snprintf(text, sizeof text, "%af", static_cast<double>(x));
    wanted.emplace_back(text);
  }
  auto const differing = [&] {
    std::vector<std::string> found;
    for (std::size_t i = 0; i < numbers.size(); ++i)
      if (std::string const text = dsl::cu::text_of(numbers[i]); text != wanted[i]) found.push_back(text);
    return found;
  };
  CHECK(differing() == none);
  CHECK(dsl::cu::text_of(0.1875f) == "0x1.8p-3f");
  CHECK(dsl::cu::text_of(-7) == "-7");
  // locales that are installed
  for (char const* name : {"de_DE.UTF-8", "de_DE", "fr_FR.UTF-8", "ru_RU.UTF-8", "pt_BR.UTF-8"}) {
    if (!std::setlocale(LC_NUMERIC, name)) continue;
    std::vector<std::string> const found = differing();
    std::setlocale(LC_NUMERIC, "C");
    INFO(name);
    CHECK(found == none);
  }
}

TEST_CASE("the compiler takes what the test knows, for one architecture") {
  know_kernels();
  simulated_device device;
  api const& a = device.api();
  CHECK_THAT(compile(a, "int x;\n// dsl-kernel k sum float 40 1.0f 3\n"),
             Catch::Contains("program(2): error: the shape"));
  CHECK_THAT(compile(a, "// dsl-kernel k sum half 40 1.0f 3 3\n"), Catch::Contains("no sum<half>"));
  CHECK_THAT(compile(a, "#error so there\n"), Catch::Contains("error so there"));
  CHECK_THAT(compile(a, "", "--gpu-architecture=compute_90"), Catch::Contains("--gpu-architecture"));
  CHECK_THAT(compile(a, "", "--std=c++17"), Catch::Contains("--gpu-architecture"));

  std::string image = compile(a, "// dsl-kernel k sum float 40 1.0f 3 3\n", "--gpu-architecture=sm_80");
  cudaLibrary_t library = nullptr;
  auto const load = [&](void const* p) {
    return a.cudaLibraryLoadData.function(&library, p, nullptr, nullptr, 0, nullptr, nullptr, 0);
  };
  CHECK(load(image.data()) == cudaErrorNoKernelImageForDevice);
  image = compile(a, "// dsl-kernel k sum float 40 1.0f 3 3\n");
  image.back() = 'x';
  CHECK(load(image.data()) == cudaErrorInvalidKernelImage);
  CHECK(load("ELF") == cudaErrorInvalidKernelImage);
  CHECK(device.report() == "");
}

TEST_CASE("kernels run with the line's numbers and the arguments at the launch; limits are checked") {
  bench b;
  CHECK(b.launch("k0", dim3(1), dim3(32), b.d, b.d + 50) == cudaSuccess);
  CHECK(b.value(50) == 390);  // 0.5 * (0 + ... + 39)
  CHECK(b.launch("k1", dim3(1), dim3(1025), b.d) == cudaErrorInvalidConfiguration);
  CHECK(b.launch("k1", dim3(0), dim3(1), b.d) == cudaErrorInvalidConfiguration);
  CHECK(b.launch("k1", dim3(1, 65536), dim3(1), b.d) == cudaErrorInvalidConfiguration);
  CHECK(b.launch("k1", dim3(1), dim3(1), b.d, nullptr, 49 * 1024) == cudaErrorInvalidValue);
  cudaKernel_t k = nullptr;
  CHECK(b.a.cudaLibraryGetKernel.function(&k, b.library, "k9") == cudaErrorSymbolNotFound);
  CHECK(b.device.calls("cudaLaunchKernel") == 5);
  b.end();
  CHECK(b.device.report() == "");
}

TEST_CASE("a kernel can't reach another device's memory") {
  bench b{{.devices = 2}};
  b.a(b.a.cudaSetDevice, 1);
  float* elsewhere = nullptr;
  b.a(b.a.cudaMalloc, reinterpret_cast<void**>(&elsewhere), std::size_t{256});
  b.a(b.a.cudaSetDevice, 0);
  CHECK(b.launch("k0", dim3(1), dim3(32), b.d, elsewhere) == cudaErrorInvalidValue);
  CHECK(b.device.take_misuses() ==
        std::vector<std::string>{"cudaLaunchKernel: sum on device 0 gets memory of another device"});
  CHECK(b.launch("k0", dim3(1), dim3(32), b.d, b.d + 50) == cudaSuccess);
  b.a(b.a.cudaFree, elsewhere);
  b.end();
  CHECK(b.device.report() == "");
}

TEST_CASE("a kernel that goes wrong spoils everything after it, as on a GPU") {
  bench b;
  CHECK(b.launch("k3", dim3(1), dim3(32), b.d) == cudaSuccess);
  CHECK(b.a.cudaStreamSynchronize.function(b.s) == cudaErrorLaunchFailure);
  void* p = nullptr;
  CHECK(b.a.cudaMalloc.function(&p, 8) == cudaErrorLaunchFailure);
  CHECK(b.a.cudaGetLastError.function() == cudaErrorLaunchFailure);
  CHECK(b.a.cudaGetLastError.function() == cudaErrorLaunchFailure);
  auto const misuses = b.device.take_misuses();
  REQUIRE(misuses.size() == 1);
  CHECK_THAT(misuses[0], Catch::Contains("diverging: barrier divergence"));
  b.end();  // frees everything all the same
  CHECK(b.device.report() == "");
}

TEST_CASE("a kernel that writes past its memory is noticed") {
  bench b;
  auto const run = [&] {
    CHECK(b.launch("k2", dim3(1), dim3(1), b.d) == cudaSuccess);
    b.a(b.a.cudaStreamSynchronize, b.s);
  };
  if (dsl_test::sanitizers::address) {
    CHECK(dsl_test::kills(run));
  } else {
    run();
    CHECK_THAT(b.device.take_misuses().at(0), Catch::Contains("beside an allocation of 256 bytes"));
  }
  b.end();
  CHECK(b.device.report() == "");
}

TEST_CASE("a captured graph replays what was recorded, forks and all") {
  std::uint64_t const seed = GENERATE(1u, 2u, 3u);
  bench b{{.seed = seed, .when = timing::random}};
  api const& a = b.a;
  b.load("k0"), b.load("k1");
  cudaStream_t side = nullptr;
  cudaEvent_t fork = nullptr, join = nullptr;
  a(a.cudaStreamCreateWithFlags, &side, 0u);
  a(a.cudaEventCreateWithFlags, &fork, unsigned{cudaEventDisableTiming});
  a(a.cudaEventCreateWithFlags, &join, unsigned{cudaEventDisableTiming});
  cudaGraph_t graph = nullptr;
  cudaGraphExec_t exec = nullptr;
  a(a.cudaStreamBeginCapture, b.s, cudaStreamCaptureModeThreadLocal);
  CHECK(b.launch("k1", dim3(40), dim3(1), b.d) == cudaSuccess);
  a(a.cudaEventRecord, fork, b.s);
  a(a.cudaStreamWaitEvent, side, fork, 0u);
  a(a.cudaMemsetAsync, static_cast<void*>(b.d + 60), 0, sizeof(float), side);
  a(a.cudaEventRecord, join, side);
  CHECK(b.launch("k0", dim3(1), dim3(32), b.d, b.d + 50) == cudaSuccess);
  a(a.cudaStreamWaitEvent, b.s, join, 0u);
  a(a.cudaStreamEndCapture, b.s, &graph);
  CHECK(b.value(0) == 0);  // it was recorded, not run
  a(a.cudaGraphInstantiate, &exec, graph, cudaGraphInstantiateFlagUseNodePriority);
  a(a.cudaGraphDestroy, graph);
  a(a.cudaGraphUpload, exec, b.s);
  for (int i = 0; i < 3; ++i) a(a.cudaGraphLaunch, exec, b.s);
  CHECK(b.value(0) == 3);
  CHECK(b.value(50) == 390 + 3 * 20);
  CHECK(b.value(60) == 0);
  a(a.cudaGraphLaunch, exec, b.s);
  a(a.cudaGraphExecDestroy, exec);  // in use
  CHECK(b.value(0) == 4);
  a(a.cudaStreamDestroy, side);
  a(a.cudaEventDestroy, fork);
  a(a.cudaEventDestroy, join);
  b.end();
  CHECK(b.device.report() == "");
}

TEST_CASE("a capture refuses what would wait or allocate, and is spoilt by it") {
  bench b;
  api const& a = b.a;
  cudaStream_t side = nullptr;
  cudaEvent_t e = nullptr, outside = nullptr;
  a(a.cudaStreamCreateWithFlags, &side, 0u);
  a(a.cudaEventCreateWithFlags, &e, 0u);
  a(a.cudaEventCreateWithFlags, &outside, 0u);
  a(a.cudaEventRecord, outside, side);
  float pageable = 0;
  void* p = nullptr;
  cudaGraph_t graph = nullptr;
  auto const refused = [&](cudaError_t expected, auto call) {
    a(a.cudaStreamBeginCapture, b.s, cudaStreamCaptureModeThreadLocal);
    CHECK(call() == expected);
    CHECK(a.cudaStreamEndCapture.function(b.s, &graph) == cudaErrorStreamCaptureInvalidated);
    CHECK(graph == nullptr);
  };
  cudaError_t const no = cudaErrorStreamCaptureUnsupported;
  refused(no, [&] { return a.cudaMalloc.function(&p, 8); });
  refused(no, [&] { return a.cudaMallocHost.function(&p, 8); });
  refused(no, [&] { return a.cudaFree.function(b.d); });
  refused(no, [&] { return a.cudaStreamSynchronize.function(b.s); });
  refused(no, [&] { return a.cudaStreamSynchronize.function(side); });
  refused(no, [&] { return a.cudaEventQuery.function(outside); });
  refused(no, [&] { return a.cudaMemcpyAsync.function(b.d, &pageable, 4, cudaMemcpyHostToDevice, b.s); });
  refused(no, [&] { return a.cudaLibraryUnload.function(b.library); });
  refused(no, [&] { return b.launch("k1", dim3(1), dim3(1), b.d); });  // it has not been copied to the device yet
  refused(cudaErrorStreamCaptureIsolation, [&] { return a.cudaStreamWaitEvent.function(b.s, outside, 0); });
  refused(cudaErrorCapturedEvent, [&] {
    a(a.cudaEventRecord, e, b.s);
    return a.cudaEventSynchronize.function(e);
  });

  // Legal calls: in another thread, creating events, and captures that begin and end correctly.
  a(a.cudaStreamBeginCapture, b.s, cudaStreamCaptureModeThreadLocal);
  CHECK(a.cudaStreamBeginCapture.function(b.s, cudaStreamCaptureModeThreadLocal) == cudaErrorIllegalState);
  std::thread([&] {
    CHECK(a.cudaMalloc.function(&p, 8) == cudaSuccess);
    CHECK(a.cudaFree.function(p) == cudaSuccess);
    CHECK(a.cudaStreamEndCapture.function(b.s, &graph) == cudaErrorStreamCaptureWrongThread);
  }).join();
  a(a.cudaEventRecord, e, b.s);
  a(a.cudaStreamWaitEvent, side, e, 0u);
  CHECK(a.cudaStreamEndCapture.function(side, &graph) == cudaErrorStreamCaptureUnmatched);
  a(a.cudaMemsetAsync, static_cast<void*>(b.d), 0, std::size_t{4}, side);  // never joined back
  CHECK(a.cudaStreamEndCapture.function(b.s, &graph) == cudaErrorStreamCaptureUnjoined);
  CHECK(a.cudaStreamEndCapture.function(b.s, &graph) == cudaErrorIllegalState);

  // Other threads are refused only if the capture mode says so.
  a(a.cudaStreamBeginCapture, b.s, cudaStreamCaptureModeGlobal);
  std::thread([&] { CHECK(a.cudaMalloc.function(&p, 8) == no); }).join();
  CHECK(a.cudaStreamEndCapture.function(b.s, &graph) == cudaErrorStreamCaptureInvalidated);

  a(a.cudaStreamDestroy, side);
  a(a.cudaEventDestroy, e);
  a(a.cudaEventDestroy, outside);
  b.end();
  CHECK(b.device.report() == "");
}

TEST_CASE("a graph may not outlive what it needs") {
  bench b;
  api const& a = b.a;
  cudaGraph_t graph = nullptr;
  cudaGraphExec_t exec = nullptr;
  b.load("k1");
  a(a.cudaStreamBeginCapture, b.s, cudaStreamCaptureModeThreadLocal);
  CHECK(b.launch("k1", dim3(1), dim3(1), b.d) == cudaSuccess);
  a(a.cudaStreamEndCapture, b.s, &graph);
  a(a.cudaGraphInstantiate, &exec, graph, cudaGraphInstantiateFlagUseNodePriority);
  a(a.cudaLibraryUnload, b.library);
  CHECK(a.cudaGraphLaunch.function(exec, b.s) == cudaErrorInvalidResourceHandle);
  CHECK_THAT(b.device.take_misuses().at(0), Catch::Contains("the recorded add needs a kernel that is gone"));
  a(a.cudaGraphExecDestroy, exec);
  a(a.cudaGraphDestroy, graph);
  b.end();
  CHECK(b.device.take_misuses().size() == 1);  // unloaded twice
  CHECK(b.device.report() == "");
}
