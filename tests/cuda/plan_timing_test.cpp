// SPDX-License-Identifier: MIT
// Tests how plans are timed and chosen: real plans for a described GPU, on streams whose clock the test sets.
#include <dsl/executors/cuda/choose_plan.hpp>

#include "cuda/deviceless.hpp"
#include "support/catch.hpp"
#include "support/temporary_directory.hpp"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <fstream>
#include <iterator>
#include <map>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <sys/wait.h>
#include <unistd.h>

using namespace dsl::cu;
using dsl::executor_error;
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

// A stream that runs nothing and takes the time that the test sets.
struct clockwork {
  std::vector<double> microseconds{};                  // of the n-th plan in the order of first execution
  std::map<int, cudnnStatus_t> status{};               // of the n-th plan if it fails
  std::map<int, cudnnStatus_t> recorded_status{};      // the same in a recording
  std::map<int, cudaError_t> launch_status{};          // of a graph of the n-th plan
  int fatal = -1;                                      // the n-th plan ends the device
  std::vector<std::pair<int, double>> disturbances{};  // additional time of the n-th graph launch
  double from_idle = 0;                                // additional time of a graph launch on an idle stream
  cudaError_t instantiate = cudaSuccess, synchronize = cudaSuccess;
  std::chrono::milliseconds loading{0};  // time of each plan's first run, by the CPU's clock

  double now = 0;
  std::vector<void*> plans{};
  std::vector<int> eager{};  // runs of each plan outside a graph
  bool capturing = false, idle = true, spoilt = false;
  cudaError_t pending = cudaSuccess;  // an error that the next run would take for its own
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
    bool const is_new = at == static_cast<int>(known.size());
    if (is_new) known.push_back(plan), device->eager.push_back(0);
    if (device->pending != cudaSuccess) return CUDNN_STATUS_EXECUTION_FAILED_CUDART;
    if (at == device->fatal) device->synchronize = cudaErrorIllegalAddress;
    auto const& statuses = device->capturing ? device->recorded_status : device->status;
    if (auto const s = statuses.find(at); s != statuses.end()) {
      device->pending = cudaErrorInvalidValue;
      device->spoilt = device->capturing;
      return s->second;
    }
    if (device->capturing) {
      device->captured.push_back(at);
      return CUDNN_STATUS_SUCCESS;
    }
    if (is_new) std::this_thread::sleep_for(device->loading);
    device->now += device->microseconds[static_cast<std::size_t>(at) % device->microseconds.size()];
    ++device->eager[static_cast<std::size_t>(at)];
    return CUDNN_STATUS_SUCCESS;
  };
  a.cudaGetLastError.function = [] { return std::exchange(device->pending, cudaSuccess); };
  a.cudaMemsetAsync.function = [](void*, int, std::size_t, cudaStream_t) { return cudaSuccess; };
  a.cudaMemcpyAsync.function = [](void*, void const*, std::size_t, cudaMemcpyKind, cudaStream_t) {
    return cudaSuccess;  // every plan has written zeros
  };
  a.cudaStreamSynchronize.function = [](cudaStream_t) {
    device->idle = true;
    return device->capturing ? cudaErrorStreamCaptureUnsupported : device->synchronize;
  };
  a.cudaStreamBeginCapture.function = [](cudaStream_t, cudaStreamCaptureMode) {
    device->captured.clear();
    device->spoilt = false;
    return std::exchange(device->capturing, true) ? cudaErrorIllegalState : cudaSuccess;
  };
  a.cudaStreamEndCapture.function = [](cudaStream_t, cudaGraph_t* g) {
    bool const began = std::exchange(device->capturing, false);
    *g = nullptr;
    if (device->spoilt) return device->pending = cudaErrorStreamCaptureInvalidated;
    *g = reinterpret_cast<cudaGraph_t>(new fake_graph{device->captured});
    ++device->live;
    return began ? cudaSuccess : cudaErrorIllegalState;
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
    auto const& runs = reinterpret_cast<fake_graph*>(g)->runs;
    if (auto const s = device->launch_status.find(runs.at(0)); s != device->launch_status.end())
      return device->pending = s->second;
    if (std::exchange(device->idle, false)) device->now += device->from_idle;
    for (int const plan : runs)
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
  bench b({.microseconds = {9, 5, 7, 12},
           .disturbances = {{2, 1000}, {6, 1000}, {8, 300}, {14, 900}, {23, 500}},
           .from_idle = 100});
  cudnn_handle handle(b.calls);
  plan_search const found = some_plans(4);
  REQUIRE(found.plans.size() == 4);
  auto const times = time_plans(handle, nullptr, found.plans, b.tensors(), b.address);
  REQUIRE(times.microseconds.size() == 4);
  CHECK(times.complete);
  for (std::size_t i = 0; i < 4; ++i) {
    CHECK(times.microseconds[i] == approx(b.clock.microseconds[i]));
    CHECK(b.clock.eager[i] == 2);
  }
  CHECK(b.clock.launches == 5 * (1 + 4));  // each round begins with an uncounted launch
}

TEST_CASE("without time only the first plan is measured") {
  SKIP_WITHOUT_CUDNN();
  bench b({.microseconds = {9, 5}});
  cudnn_handle handle(b.calls);
  auto const times = time_plans(handle, nullptr, some_plans(5).plans, b.tensors(), b.address, {.seconds = 0});
  CHECK(times.microseconds[0] == approx(9));
  for (std::size_t i = 1; i < times.microseconds.size(); ++i) CHECK(std::isinf(times.microseconds[i]));
  CHECK(!times.complete);
  CHECK(b.clock.launches == 2);  // with one launch before it
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

  // A choice that must not depend on a clock does not.
  CHECK(choose_plan(h200_target(), small, {.deterministic = true}, cache, &timer).facts.tag() ==
        all.plans[0].facts.tag());
  CHECK(choose_plan(h200_target(), small, {}, cache).facts.tag() == all.plans[0].facts.tag());
  CHECK(b.clock.launches == launches);
}

TEST_CASE("a plan that ends the device is named, and left out from then on") {
  SKIP_WITHOUT_CUDNN();
  dsl::test::temporary_directory const folder;
  plan_cache const cache(folder.path.string());
  plan_search const all = some_plans(4);
  std::string const second = all.plans[1].facts.tag();
  for (bool timed : {true, false}) {
    convolution_options const o{.deterministic = !timed, .most_plans = 4};
    std::string named;
    {
      bench b({.microseconds = {9, 1, 5, 7}, .fatal = timed ? 1 : 0});
      cudnn_handle handle(b.calls);
      plan_bench const timer{handle, nullptr, b.tensors(), b.address};
      try {
        choose_plan(h200_target(), small, o, cache, &timer);
        FAIL("the device has failed, but a plan was chosen");
      } catch (executor_error const& e) {
        named = e.what();
      }
    }
    INFO(named);
    CHECK(named.find("cudaStreamSynchronize failed") != std::string::npos);
    CHECK(named.find(describe(small, o)) != std::string::npos);
    CHECK(named.find("it will skip this plan") != std::string::npos);
    bench b({.microseconds = {9, 5, 7}});
    cudnn_handle handle(b.calls);
    plan_bench const timer{handle, nullptr, b.tensors(), b.address};
    std::string const chosen = choose_plan(h200_target(), small, o, cache, &timer).facts.tag();
    CHECK(named.find(chosen + " of") == std::string::npos);
    CHECK(b.clock.plans.size() == (timed ? 3U : 1U));
    if (timed) CHECK(named.find(second + " of") != std::string::npos);
  }
}

TEST_CASE("a plan that was being tried when its program ended is left out, one that is being tried is not") {
  SKIP_WITHOUT_CUDNN();
  dsl::test::temporary_directory const folder;
  convolution_plan const one = std::move(some_plans(1).plans[0]);
  std::string const path = folder / "trials.txt";
  auto const fatal_after = [&](std::string const& text) {
    std::ofstream(path, std::ios::binary) << text;
    return plan_trials(folder.path.string(), "trials.txt", "a convolution").was_fatal(one.facts);
  };
  pid_t const child = ::fork();
  if (child == 0) ::_exit(0);
  REQUIRE(::waitpid(child, nullptr, 0) == child);
  std::string const tag = one.facts.tag();
  char host[256] = "";
  REQUIRE(::gethostname(host, sizeof host - 1) == 0);
  std::string const here = std::string(" ") + host + ": ";
  CHECK(fatal_after("typenet trials 1\n" + std::to_string(child) + here + tag + "\n"));
  CHECK(!fatal_after("typenet trials 1\n" + std::to_string(child) + " elsewhere: " + tag + "\n"));
  CHECK(fatal_after("typenet trials 1\n0: " + tag + "\n"));
  CHECK(!fatal_after("typenet trials 1\n" + std::to_string(::getpid()) + here + tag + "\n"));
  CHECK(!fatal_after("typenet trials 1\n0: engine 1000, knobs\n"));
  CHECK(!fatal_after("typenet trials 2\n0: " + tag + "\n"));
  CHECK(!fatal_after("typenet trials 1\n" + tag + "\n"));

  // While a plan is tried the file says so; afterwards there is none.
  plan_trials trials(folder.path.string(), "more.txt", "a convolution");
  std::string during;
  CHECK(trials.first_run(one, [&] {
    std::ifstream in(folder / "more.txt");
    during.assign(std::istreambuf_iterator<char>(in), {});
    return true;
  }));
  CHECK(during == "typenet trials 1\n" + std::to_string(::getpid()) + here + tag + "\n");
  CHECK(!std::ifstream(folder / "more.txt"));
}

TEST_CASE("a plan that the device refuses is passed over") {
  SKIP_WITHOUT_CUDNN();
  bench b({.microseconds = {1, 5, 4}, .status = {{0, CUDNN_STATUS_NOT_SUPPORTED_ARCH_MISMATCH}}});
  cudnn_handle handle(b.calls);
  plan_search const all = some_plans(3);
  auto const times = time_plans(handle, nullptr, all.plans, b.tensors(), b.address).microseconds;
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

TEST_CASE("a plan that fails in whatever way fails alone") {
  SKIP_WITHOUT_CUDNN();
  for (auto const s : {CUDNN_STATUS_BAD_PARAM, CUDNN_STATUS_NOT_SUPPORTED, CUDNN_STATUS_INTERNAL_ERROR,
                       CUDNN_STATUS_INTERNAL_ERROR_DEVICE_ALLOCATION_FAILED, CUDNN_STATUS_EXECUTION_FAILED,
                       CUDNN_STATUS_EXECUTION_FAILED_CUDART})
    for (int const when : {0, 1}) {  // in its first run, and in a recording
      bench b({.microseconds = {4, 1, 5}});
      (when == 0 ? b.clock.status : b.clock.recorded_status)[1] = s;
      cudnn_handle handle(b.calls);
      auto const times = time_plans(handle, nullptr, some_plans(3).plans, b.tensors(), b.address).microseconds;
      INFO("status " << s << ", " << when);
      CHECK(times[0] == approx(4));
      CHECK(std::isinf(times[1]));
      CHECK(times[2] == approx(5));
      CHECK(b.clock.pending == cudaSuccess);
    }
  bench b({.microseconds = {4, 1, 5}, .launch_status = {{1, cudaErrorLaunchOutOfResources}}});
  cudnn_handle handle(b.calls);
  auto const times = time_plans(handle, nullptr, some_plans(3).plans, b.tensors(), b.address).microseconds;
  CHECK(times[0] == approx(4));
  CHECK(std::isinf(times[1]));
  CHECK(times[2] == approx(5));
  CHECK(b.clock.pending == cudaSuccess);
}

TEST_CASE("a plan whose warm-up takes more than twice the quickest has no samples") {
  SKIP_WITHOUT_CUDNN();
  auto const timed = [](bench& b, timing_options const& o) {
    cudnn_handle handle(b.calls);
    return time_plans(handle, nullptr, some_plans(3).plans, b.tensors(), b.address, o).microseconds;
  };
  bench b({.microseconds = {500, 180, 1000}});
  auto const times = timed(b, {});
  CHECK(std::isinf(times[0]));
  CHECK(times[1] == approx(180));
  CHECK(std::isinf(times[2]));
  CHECK(b.clock.launches == 5 * 2);
  bench near({.microseconds = {400, 180, 1000}});  // 50 more, on the CPU
  CHECK(timed(near, {})[0] == approx(400));
  bench all({.microseconds = {500, 180, 1000}});
  CHECK(timed(all, {.longest = 10})[2] == approx(1000));
  bench cold({.microseconds = {500, 180, 1000}});
  CHECK(timed(cold, {.warm_ups = 1})[2] == approx(1000));
  // The fastest of those that can be recorded.
  bench second({.microseconds = {500, 180, 1000}, .recorded_status = {{1, CUDNN_STATUS_INTERNAL_ERROR}}});
  auto const others = timed(second, {});
  CHECK(others[0] == approx(500));
  CHECK(others[2] == approx(1000));
}

TEST_CASE("what first runs load takes no plan's time") {
  SKIP_WITHOUT_CUDNN();
  bench b({.microseconds = {9, 5, 7, 8}, .loading = std::chrono::milliseconds(300)});
  cudnn_handle handle(b.calls);
  auto const times = time_plans(handle, nullptr, some_plans(4).plans, b.tensors(), b.address, {.seconds = 0.5});
  CHECK(times.complete);
  for (std::size_t i = 0; i < 4; ++i) CHECK(times.microseconds[i] == approx(b.clock.microseconds[i]));
}

TEST_CASE("a choice for which there was no time is not stored") {
  SKIP_WITHOUT_CUDNN();
  dsl::test::temporary_directory const folder;
  plan_cache const cache(folder.path.string());
  plan_search const all = some_plans(100);
  bench b({.microseconds = {9, 8, 5, 7, 6}});
  cudnn_handle handle(b.calls);
  plan_bench const hurried{handle, nullptr, b.tensors(), b.address, {.seconds = 0}};
  CHECK(choose_plan(h200_target(), small, {}, cache, &hurried).facts.tag() == all.plans[0].facts.tag());
  CHECK(!cache.find(h200_target(), small, {}, "timed and compared"));
  plan_bench const timer{handle, nullptr, b.tensors(), b.address};
  b.clock.plans.clear(), b.clock.eager.clear();
  CHECK(choose_plan(h200_target(), small, {}, cache, &timer).facts.tag() == all.plans[2].facts.tag());
  CHECK(cache.find(h200_target(), small, {}, "timed and compared"));
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
  {  // a plan that breaks the device
    bench b({.microseconds = {1}, .status = {{1, CUDNN_STATUS_EXECUTION_FAILED}}});
    b.clock.synchronize = cudaErrorIllegalAddress;
    CHECK(message(b).find("cuda: cudaStreamSynchronize failed: ") == 0);
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
  {  // a stream that is being captured cannot be timed
    bench b({.microseconds = {1}, .capturing = true});
    CHECK(message(b).find("cuda: cudaStreamSynchronize failed: ") == 0);
    b.clock.capturing = false;
  }
}
