// SPDX-License-Identifier: MIT
// Tests towers that sum through NCCL when one of them stops, is late, or cannot be made: there must be typed errors in
// time.
#include "support/catch.hpp"
#include "support/extent.hpp"

#include "cuda/nccl_towers.hpp"

#include <dsl/towers/engine.hpp>

#include <atomic>
#include <thread>

using namespace dsl_test;
using Catch::Contains;

TEST_CASE("cuda towers with NCCL: a tower that stops ends the others' steps in time, heard or not", "[cuda][towers]") {
  add_all_kernels();
  bool const heard = GENERATE(true, false);
  bool const throws = GENERATE(true, false);  // or never arrives
  connected all({.seed = 4, .devices = 2}, throws ? nccl_deadlines{20s, 60s, 20s} : soon, {.aborts_are_heard = heard});
  auto const start = std::chrono::steady_clock::now();
  {
    engine_group group(simulated_cuda(all.api(), 2, precision::bf16, &all.collectives), all_modules::view(), 2,
                       [](int) { return keras_rules; });
    drawn_batch const data(all_modules::view(), 2, 1);
    group.on_all([&](int r) { group.at(r).prepare(mode::training, {2, 2 * r, 4}); });
    if (throws) all.device.fail_call("cudaGraphLaunch", 1);
    auto const said = group.on_all([&](int r) {
      if (!throws && r == 1) return;
      group.at(r).run(0, data.view(0, 0.1));
      group.at(r).metrics(0);
    });
    if (throws) {
      CHECK_THAT(said[0] + said[1], Contains("cudaGraphLaunch failed"));
      CHECK_THAT(said[0] + said[1], Contains("remote process exited") || Contains("another rank has given up"));
    } else {
      CHECK_THAT(said[0], Contains("waited 400 ms for a step; another rank has stopped"));
    }
  }
  CHECK(seconds_since(start) < 20);
  CHECK(all.device.report() == "");
}

TEST_CASE("cuda towers with NCCL: who can't be made tells the others before they wait", "[cuda][towers]") {
  add_all_kernels();
  connected all({.seed = 4, .devices = 3});
  in_process_group ranks(3);
  std::vector<std::string> said(3);
  dsl::detail::core_set const anywhere[3];
  dsl::detail::pinned_threads threads(3, anywhere);
  auto const start = std::chrono::steady_clock::now();
  threads.run(
      [&](int r) {
        engine_options o = keras_rules;
        o.group = &ranks.at(r);
        simulated_cuda on(all.api(), 3, precision::bf16, &all.collectives);
        on.settings.device = r == 1 ? 17 : r;
        try {
          on.make_engine(tiny::view(), o);
        } catch (executor_error const& e) {
          said[static_cast<std::size_t>(r)] = e.what();
        }
      },
      [](int) {});
  CHECK_THAT(said[1], Contains("device must be 0 to 2; found 17"));
  for (std::size_t r : {0U, 2U}) CHECK_THAT(said[r], Contains("rank 1 of 3 failed before the devices synchronised"));
  CHECK(seconds_since(start) < 10);
  CHECK(all.device.report() == "");
}

TEST_CASE("cuda towers with NCCL: any vendor call may fail", "[cuda][towers]") {
  add_all_kernels();
  int const struck = fail_every_call([](auto arm, auto at_end, auto look) {
    connected all({.seed = 5, .devices = 2}, {1s, 1s, 5s});
    arm(all.device);
    std::string const said = whole_life(all.api(), &all.collectives, [&] { at_end(all.device); });
    all.library.wait_until_quiet();
    look(all.device);
    return told{said, all.device.report()};
  });
  CHECK(struck > (dsl::test::everything() ? 200 : 40));
  WARN(struck << " calls failed in turn");
}

TEST_CASE("cuda towers with NCCL: a program is made on all of them or on none", "[cuda][towers]") {
  add_all_kernels();
  connected all({.seed = 5, .devices = 2, .memory_of = {1U << 30, 14U << 20}});
  check_retry(all.device, all.api(), &all.collectives);
  check_unequal_devices(all.device, all.api(), &all.collectives);
  CHECK(all.device.report() == "");
}

TEST_CASE("cuda towers with NCCL: a step that fails ends training at once, heard by NCCL or not; an evaluation doesn't",
          "[cuda][towers]") {
  add_all_kernels();
  connected all({.seed = 5, .devices = 2}, {20s, 60s, 20s}, {.aborts_are_heard = false});
  auto const start = std::chrono::steady_clock::now();
  for (int batch : {1, 4}) check_broken_step(all.device, all.api(), &all.collectives, batch);
  check_broken_evaluation(all.device, all.api(), &all.collectives);
  CHECK(seconds_since(start) < 15);
  CHECK(all.device.report() == "");
}

namespace {

std::atomic<int> slow_device{-1};

}  // namespace

TEST_CASE("cuda towers with NCCL: one that takes long to prepare is waited for", "[cuda][towers]") {
  add_all_kernels();
  connected all({.seed = 4, .devices = 2}, {300ms, 300ms, 20s});
  cu::api slow = all.api();
  static auto* const quick = slow.cudaMallocHost.function;
  slow.cudaMallocHost.function = [](void** p, std::size_t bytes) {
    if (simulated::state::current_device == slow_device) std::this_thread::sleep_for(200ms);
    return quick(p, bytes);
  };
  for (int device : {0, 1}) {
    auto const e =
        towers_on(simulated_cuda(slow, 2, precision::bf16, &all.collectives), tiny::view(), keras_rules, {.count = 2});
    initialize(*e, 5);
    slow_device = device;
    auto const start = std::chrono::steady_clock::now();
    std::vector<int> programs;
    for (int batch : {4, 1}) programs.push_back(e->prepare(mode::training, batch));  // tower 0 gets none of 1 sample
    CHECK(seconds_since(start) > 0.6);                                               // otherwise this tests nothing
    slow_device = -1;
    for (int k : {0, 1}) {
      drawn_batch const data(tiny::view(), k == 0 ? 4 : 1, 1);
      e->run(programs[static_cast<std::size_t>(k)], data.view(0, 0.01));
    }
    CHECK(parameters_of(e->at(1)) == parameters_of(*e));
  }
  CHECK(all.device.report() == "");
}

TEST_CASE("cuda towers with NCCL: kernels that never end delay no destructor for ever", "[cuda][towers]") {
  add_all_kernels();
  connected all({.seed = 4, .devices = 2}, {2s, 300ms, 400ms},
                {.aborts_are_heard = false, .aborts_end_kernels = false});
  auto const start = std::chrono::steady_clock::now();
  {
    engine_group group(simulated_cuda(all.api(), 2, precision::bf16, &all.collectives), all_modules::view(), 2,
                       [](int) { return keras_rules; });
    drawn_batch const data(all_modules::view(), 2, 1);
    group.on_all([&](int r) { group.at(r).prepare(mode::training, {2, 2 * r, 4}); });
    auto const said = group.on_all([&](int r) {
      if (r == 0) group.at(0).run(0, data.view(0, 0.1));
    });
    CHECK_THAT(said[0], Contains("waited 300 ms for a step; another rank has stopped"));
  }
  CHECK(seconds_since(start) < 10);
  all.library.wait_until_quiet();
  // the aborting thread is left behind with the memory that the device may still use; that of the other tower is freed
  std::string const report = all.device.report();
  CHECK_THAT(report, Contains("misuse: ncclCommAbort: hangs") && Contains("leak: executable graph #"));
  CHECK_THAT(report, !Contains("misuse: cuda"));
}
