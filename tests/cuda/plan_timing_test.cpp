// SPDX-License-Identifier: MIT
// How plans are timed and chosen: real plans for a described GPU, on streams whose clock the test sets.
#include <dsl/executors/cuda/plan_cache.hpp>

#include "cuda/deviceless.hpp"
#include "support/catch.hpp"
#include "support/temporary_directory.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

using namespace dsl::cu;
using dsl::test::h200_target;

namespace {

#define SKIP_WITHOUT_CUDNN()                                                     \
  if (!dsl::test::cudnn_is_recent()) {                                           \
    WARN("skipped: cuDNN 9.11 or later is needed to build plans without a GPU"); \
    return;                                                                      \
  }

constexpr convolution small{.batch = 4,
                            .in_channels = 16,
                            .in_height = 8,
                            .in_width = 8,
                            .out_channels = 24,
                            .out_height = 8,
                            .out_width = 8,
                            .kernel_height = 3,
                            .kernel_width = 3,
                            .pad_top = 1,
                            .pad_left = 1,
                            .pad_bottom = 1,
                            .pad_right = 1};

// One stream that runs nothing and takes the time it is told to.
struct clockwork {
  std::vector<double> microseconds{};                  // of the n-th plan that was ever executed
  std::map<int, cudnnStatus_t> status{};               // of the n-th plan, where it fails
  std::vector<std::pair<int, double>> disturbances{};  // n-th graph launch: so much longer
  cudaError_t instantiate = cudaSuccess;

  double now = 0;
  std::vector<void*> plans{};
  std::vector<int> eager{};  // runs of each plan outside a graph
  bool capturing = false;
  std::vector<int> captured{};
  int launches = 0;
  int live = 0;  // handles, events, graphs
};
clockwork* device = nullptr;

struct fake_graph {
  std::vector<int> runs;
};
struct fake_event {
  double at = 0;
};

api clockwork_api() {
  api a = dsl::test::real_api();
  a.cudnnCreate.function = [](cudnnHandle_t* h) {
    *h = reinterpret_cast<cudnnHandle_t>(device);
    ++device->live;
    return CUDNN_STATUS_SUCCESS;
  };
  a.cudnnDestroy.function = [](cudnnHandle_t) {
    --device->live;
    return CUDNN_STATUS_SUCCESS;
  };
  a.cudnnSetStream.function = [](cudnnHandle_t, cudaStream_t) { return CUDNN_STATUS_SUCCESS; };
  a.cudnnBackendExecute.function = [](cudnnHandle_t, cudnnBackendDescriptor_t plan, cudnnBackendDescriptor_t) {
    auto& known = device->plans;
    auto const at = static_cast<int>(std::find(known.begin(), known.end(), plan) - known.begin());
    if (at == static_cast<int>(known.size())) known.push_back(plan), device->eager.push_back(0);
    if (auto const s = device->status.find(at); s != device->status.end()) return s->second;
    if (device->capturing)
      device->captured.push_back(at);
    else
      ++device->eager[static_cast<std::size_t>(at)];
    return CUDNN_STATUS_SUCCESS;
  };
  a.cudaStreamSynchronize.function = [](cudaStream_t) {
    return device->capturing ? cudaErrorStreamCaptureUnsupported : cudaSuccess;
  };
  a.cudaStreamBeginCapture.function = [](cudaStream_t, cudaStreamCaptureMode) {
    device->captured.clear();
    return std::exchange(device->capturing, true) ? cudaErrorIllegalState : cudaSuccess;
  };
  a.cudaStreamEndCapture.function = [](cudaStream_t, cudaGraph_t* g) {
    *g = reinterpret_cast<cudaGraph_t>(new fake_graph{device->captured});
    ++device->live;
    return std::exchange(device->capturing, false) ? cudaSuccess : cudaErrorIllegalState;
  };
  a.cudaGraphInstantiate.function = [](cudaGraphExec_t* e, cudaGraph_t g, unsigned long long) {
    if (device->instantiate != cudaSuccess) return device->instantiate;
    *e = reinterpret_cast<cudaGraphExec_t>(new fake_graph(*reinterpret_cast<fake_graph*>(g)));
    ++device->live;
    return cudaSuccess;
  };
  a.cudaGraphDestroy.function = [](cudaGraph_t g) {
    delete reinterpret_cast<fake_graph*>(g);
    --device->live;
    return cudaSuccess;
  };
  a.cudaGraphExecDestroy.function = [](cudaGraphExec_t g) {
    delete reinterpret_cast<fake_graph*>(g);
    --device->live;
    return cudaSuccess;
  };
  a.cudaGraphLaunch.function = [](cudaGraphExec_t g, cudaStream_t) {
    for (int const plan : reinterpret_cast<fake_graph*>(g)->runs)
      device->now += device->microseconds[static_cast<std::size_t>(plan) % device->microseconds.size()];
    for (auto const& [launch, delay] : device->disturbances)
      if (launch == device->launches) device->now += delay;
    ++device->launches;
    return cudaSuccess;
  };
  a.cudaEventCreateWithFlags.function = [](cudaEvent_t* e, unsigned flags) {
    *e = reinterpret_cast<cudaEvent_t>(new fake_event);
    ++device->live;
    return flags == cudaEventDefault ? cudaSuccess : cudaErrorInvalidValue;
  };
  a.cudaEventDestroy.function = [](cudaEvent_t e) {
    delete reinterpret_cast<fake_event*>(e);
    --device->live;
    return cudaSuccess;
  };
  a.cudaEventRecord.function = [](cudaEvent_t e, cudaStream_t) {
    reinterpret_cast<fake_event*>(e)->at = device->now;
    return cudaSuccess;
  };
  a.cudaEventElapsedTime.function = [](float* milliseconds, cudaEvent_t from, cudaEvent_t to) {
    *milliseconds =
        static_cast<float>(1e-3 * (reinterpret_cast<fake_event*>(to)->at - reinterpret_cast<fake_event*>(from)->at));
    return cudaSuccess;
  };
  return a;
}

struct bench {
  clockwork clock;
  api calls;
  std::vector<char> memory = std::vector<char>(256);
  void* address = nullptr;

  explicit bench(clockwork c) : clock(std::move(c)), calls(clockwork_api()) {
    device = &clock;
    address = memory.data() + (16 - reinterpret_cast<std::uintptr_t>(memory.data()) % 16) % 16;
  }
  bench(bench const&) = delete;
  bench& operator=(bench const&) = delete;
  ~bench() {
    CHECK(clock.live == 0);
    CHECK(!clock.capturing);
    device = nullptr;
  }
  convolution_tensors tensors() const { return {.input = address, .kernel = address, .output = address}; }
};

plan_search some_plans(int count) { return find_plans(h200_target(), small, {.most_plans = count}); }

}  // namespace

TEST_CASE("each plan's time is that of its best round, in graphs of ten runs after two") {
  SKIP_WITHOUT_CUDNN();
  bench b({.microseconds = {9, 5, 7, 12}, .disturbances = {{1, 1000}, {5, 1000}, {6, 300}, {10, 900}, {19, 500}}});
  cudnn_handle handle(b.calls);
  plan_search const found = some_plans(4);
  REQUIRE(found.plans.size() == 4);
  auto const times = time_plans(handle, nullptr, found.plans, b.tensors(), b.address);
  REQUIRE(times.size() == 4);
  for (std::size_t i = 0; i < 4; ++i) {
    CHECK(times[i] == approx(b.clock.microseconds[i]));
    CHECK(b.clock.eager[i] == 2);
  }
  CHECK(b.clock.launches == 20);
}

TEST_CASE("without time only the first plan is measured") {
  SKIP_WITHOUT_CUDNN();
  bench b({.microseconds = {9, 5}});
  cudnn_handle handle(b.calls);
  auto const times = time_plans(handle, nullptr, some_plans(5).plans, b.tensors(), b.address, {.seconds = 0});
  CHECK(times[0] == approx(9));
  for (std::size_t i = 1; i < times.size(); ++i) CHECK(std::isinf(times[i]));
  CHECK(b.clock.launches == 1);
}

TEST_CASE("the fastest is chosen, once") {
  SKIP_WITHOUT_CUDNN();
  dsl::test::temporary_directory const folder;
  plan_cache const cache(folder.path.string());
  bench b({.microseconds = {9, 8, 5, 7, 6}});
  cudnn_handle handle(b.calls);
  plan_bench const timer{handle, nullptr, b.tensors(), b.address};
  plan_search const all = some_plans(100);
  convolution_plan const chosen = choose_plan(h200_target(), small, {}, cache, &timer);
  CHECK(chosen.facts.tag() == all.plans[2].facts.tag());
  int const launches = b.clock.launches;
  CHECK(launches > 0);
  CHECK(choose_plan(h200_target(), small, {}, cache, &timer).facts.tag() == chosen.facts.tag());
  CHECK(b.clock.launches == launches);

  // Where the choice must not depend on a clock, it doesn't.
  CHECK(choose_plan(h200_target(), small, {.deterministic = true}, cache, &timer).facts.tag() ==
        all.plans[0].facts.tag());
  CHECK(choose_plan(h200_target(), small, {}, cache).facts.tag() == all.plans[0].facts.tag());
  CHECK(b.clock.launches == launches);
}

TEST_CASE("a plan that the device refuses is passed over") {
  SKIP_WITHOUT_CUDNN();
  bench b({.microseconds = {1, 5, 4}, .status = {{0, CUDNN_STATUS_NOT_SUPPORTED_ARCH_MISMATCH}}});
  cudnn_handle handle(b.calls);
  plan_search const all = some_plans(3);
  auto const times = time_plans(handle, nullptr, all.plans, b.tensors(), b.address);
  CHECK(std::isinf(times[0]));
  CHECK(times[1] == approx(5));
  CHECK(times[2] == approx(4));

  for (int i = 0; i < 1000; ++i) b.clock.status[i] = CUDNN_STATUS_NOT_SUPPORTED;
  plan_bench const timer{handle, nullptr, b.tensors(), b.address};
  try {
    choose_plan(h200_target(), small, {}, plan_cache(""), &timer);
    FAIL("a plan was chosen that nothing can run");
  } catch (no_plan_error const& e) {
    CHECK(std::string(e.what()).find("cudnn: no plan runs for forward bf16") != std::string::npos);
  }
}

TEST_CASE("failures while timing name the call and leave nothing behind") {
  SKIP_WITHOUT_CUDNN();
  auto const message = [](bench& b) -> std::string {
    try {
      cudnn_handle handle(b.calls);
      time_plans(handle, nullptr, some_plans(3).plans, b.tensors(), b.address);
    } catch (dsl::executor_error const& e) {
      return e.what();
    }
    return "no error";
  };
  {
    bench b({.microseconds = {1}, .status = {{1, CUDNN_STATUS_EXECUTION_FAILED}}});
    CHECK(message(b).find("cudnn: cudnnBackendExecute of forward failed: CUDNN_STATUS_EXECUTION_FAILED") == 0);
  }
  {  // a plan that runs, but not into a graph
    bench b({.microseconds = {1}});
    static int runs;
    runs = 0;
    b.calls.cudnnBackendExecute.function = [](cudnnHandle_t, cudnnBackendDescriptor_t, cudnnBackendDescriptor_t) {
      return ++runs > 2 ? CUDNN_STATUS_NOT_SUPPORTED : CUDNN_STATUS_SUCCESS;
    };
    CHECK(message(b).find("cudnn: cudnnBackendExecute of forward failed: CUDNN_STATUS_NOT_SUPPORTED") == 0);
  }
  {
    bench b({.microseconds = {1}, .instantiate = cudaErrorMemoryAllocation});
    CHECK(message(b).find("cuda: cudaGraphInstantiate failed: ") == 0);
  }
  {
    bench b({.microseconds = {1}});
    b.calls.cudaEventElapsedTime.function = [](float*, cudaEvent_t, cudaEvent_t) { return cudaErrorNotReady; };
    CHECK(message(b).find("cuda: cudaEventElapsedTime failed: ") == 0);
  }
  {  // a stream that is being captured is not for timing
    bench b({.microseconds = {1}, .capturing = true});
    CHECK(message(b).find("cuda: cudaStreamSynchronize failed: ") == 0);
    b.clock.capturing = false;
  }
}
