// SPDX-License-Identifier: MIT
#pragma once

#include <dsl/training/initialize.hpp>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "cuda/tower_checks.hpp"
#include "support/extent.hpp"
#include "support/simulated_device/graphs.hpp"

// Checks that hold when something fails in one of several towers, however their devices communicate. A null
// `collectives` means on the host.

namespace dsl_test {

/// Returns the message of what f throws, or "".
template <class F>
std::string said_by(F f) {
  try {
    f();
    return "";
  } catch (executor_error const& failure) {
    return failure.what();
  }
}

/// Runs everything that two towers do, once, and at_end() before they are destroyed. Returns the message of what they
/// threw, or "".
template <class F>
std::string whole_life(cu::api const& a, cu::device_collectives const* collectives, F at_end) {
  drawn_batch const data(tiny::view(), 3, 1);
  return said_by([&] {
    auto const e =
        towers_on(simulated_cuda(a, 2, precision::bf16, collectives), tiny::view(), keras_rules, {.count = 2});
    initialize(*e, 5);
    int const training = e->prepare(mode::training, 3), inference = e->prepare(mode::inference, 3);
    for (std::uint64_t step = 0; step < 2; ++step) e->run(training, data.view(step, 0.01));
    e->metrics(training);
    e->run(inference, data.view(0, 0));
    std::vector<float> y(9);
    e->read_result(inference, y.data());
    at_end();
  });
}

/// Calls whose failure is not an error: a plan of cuDNN that cannot be had or recorded is replaced by another one or by
/// our own kernel, and calls that free something or only return a text have nobody to report to.
inline bool may_fail_unheard(std::string_view name) {
  return name.starts_with("cudnnBackend") || name == "cudaStreamEndCapture" || name == "cudaGraphInstantiate" ||
         name.find("Destroy") != name.npos || name.find("String") != name.npos || name.find("Free") != name.npos ||
         name == "cudaLibraryUnload";
}

struct told {
  std::string said, report;  // messages of the towers, and of the device
};
/// Makes each vendor call fail once: there must be a typed error that names it, on the caller, no hang, and no leak.
/// `live` makes a device, runs whole_life on it after arm(device), at_end(device) at its end, look(device) after it,
/// and returns its message. With TYPENET_TESTS=all every call fails, but only every 16th of cuDNN's descriptors, all of
/// which engine_test.cpp tests; otherwise the first call of each name and every fourth of the others, or every 16th in
/// a sample. Returns the number of failures.
template <class F>
int fail_every_call(F live) {
  using counts = std::map<std::string, long, std::less<>>;
  counts made, lived;  // in total, and before the destructors, which do not report errors
  told const good = live([](simulated_device&) {}, [&](simulated_device& device) { lived = device.calls_by_name(); },
                         [&](simulated_device& device) { made = device.calls_by_name(); });
  CHECK(good.said == "");
  CHECK(good.report == "");
  int struck = 0;
  long const apart = dsl::test::everything() ? 1 : dsl::test::only_a_sample() ? 16 : 4;
  for (auto const& [name, times] : made) {
    bool const polls = name == "cudaStreamQuery" || name == "ncclCommGetAsyncError";  // repeated as often as necessary
    long const most = polls ? 60 : times;
    for (long n = 1; n <= most; n += name.starts_with("cudnnBackend") ? 16 * apart : apart) {
      bool hit = false;
      auto const [said, report] =
          live([&](simulated_device& device) { device.fail_call(name, n); }, [](simulated_device&) {},
               [&](simulated_device& device) {
                 hit = device.faults_struck() > 0;
                 device.cancel_faults();
                 device.forget_errors();
               });
      INFO("call " << n << " of " << name << ": " << said);
      CHECK(report == "");
      if (!hit) break;
      ++struck;
      std::string const named = name == "cudaGetDeviceCount" ? "cuda: no device: unknown error" : name;
      if (said.empty())
        CHECK((may_fail_unheard(name) || polls || n > lived[name]));
      else
        CHECK_THAT(said, Catch::Contains(named));
    }
  }
  return struck;
}

/// Checks that a tower's failure while a program is made leaves the program on no tower, and that made again it is
/// unchanged.
inline void check_retry(simulated_device& device, cu::api const& a, cu::device_collectives const* collectives) {
  graph_view const g = tiny::view();
  simulated_cuda const on(a, 2, precision::bf16, collectives);
  auto const graphs = [] { return simulated::state::active->all<simulated::graph_exec>().size(); };
  auto const step = [&](engine& e, int program) {
    drawn_batch const data(g, 3, 1);
    e.run(program, data.view(0, 0.01));
    e.metrics(program);
    return parameters_of(e);
  };
  auto const untouched = towers_on(on, g, keras_rules, {.count = 2});
  initialize(*untouched, 5);
  auto const wanted = step(*untouched, untouched->prepare(mode::training, 3));
  std::size_t const each = graphs();
  int struck = 0;
  for (std::string const call :
       {"cudaMalloc", "cudaSetDevice", "cudaLaunchKernel", "cudaGraphInstantiate", "cudaGraphUpload"})
    for (long n = 1;; n += 3) {
      auto const e = towers_on(on, g, keras_rules, {.count = 2});
      initialize(*e, 5);
      long const before = device.faults_struck();
      // another reason why a graph cannot be made may be a plan's, which is then passed over
      bool const memory = call == "cudaMalloc" || call == "cudaGraphInstantiate";
      device.fail_call_on(1, call, n, memory ? cudaErrorMemoryAllocation : 0);
      std::string const said = said_by([&] { e->prepare(mode::training, 3); });
      device.cancel_faults();
      if (device.faults_struck() == before) break;
      ++struck;
      INFO("call " << n << " of " << call);
      CHECK_THAT(said, Catch::Contains(call));  // the failure itself, not that a tower heard of it
      CHECK(graphs() == each);
      if (collectives && call == "cudaLaunchKernel") {  // while others wait for the next recorded collective
        CHECK_THROWS_WITH(e->prepare(mode::training, 3), Catch::Contains("create the engines again"));
        continue;
      }
      int const program = e->prepare(mode::training, 3);
      CHECK(graphs() == 2 * each);
      CHECK(step(*e, program) == wanted);
      CHECK(parameters_of(e->at(1)) == wanted);
    }
  CHECK(struck > 10);
}

/// Checks that data that one of the devices cannot hold stays on the host for all, before anything is made, also if a
/// failure occurs while it is copied to the devices.
inline void check_unequal_devices(simulated_device& device, cu::api const& a,
                                  cu::device_collectives const* collectives) {
  auto const e =
      towers_on(simulated_cuda(a, 2, precision::bf16, collectives), all_modules::view(), keras_rules, {.count = 2});
  initialize(*e, 5);
  auto const used = [](int d) { return simulated::state::active->memory.used(d); };
  std::size_t const before[] = {used(0), used(1)};
  dataset const data = drawn_data({3, 9, 9}, 5, 30000);
  CHECK(e->at(0).keeps(data, {}));
  CHECK_FALSE(e->at(1).keeps(data, {}));
  CHECK_FALSE(e->keeps(data, {}));
  CHECK(e->prepare_resident(data, {}, 4, true) == -1);
  CHECK(used(0) == before[0]);
  CHECK(used(1) == before[1]);
  dataset const few = drawn_data({3, 9, 9}, 5, 40);
  device.fail_call_on(1, "cudaMalloc", 2, cudaErrorMemoryAllocation);
  CHECK_THROWS_WITH(e->prepare_resident(few, {}, 4, true), Catch::Contains("cudaMalloc failed: out of memory"));
  int const program = e->prepare_resident(few, {}, 4, true);
  REQUIRE(program >= 0);
  e->start_epoch(program, 0, 0);
  e->run(program, {.size = 4, .learning_rate = 0.01});
  CHECK(e->metrics(program).loss > 0);
  CHECK(parameters_of(e->at(1)) == parameters_of(*e));
}

/// One of many towers trains the whole batch itself, with the others idle, and fails to launch.
inline void check_broken_step(simulated_device& device, cu::api const& a, cu::device_collectives const* collectives,
                              int batch) {
  auto const e = towers_on(simulated_cuda(a, 2, precision::bf16, collectives), tiny::view(), keras_rules, {.count = 2});
  initialize(*e, 5);
  drawn_batch const data(tiny::view(), batch, 1);
  int const program = e->prepare(mode::training, batch);
  e->run(program, data.view(0, 0.01));
  device.fail_call_on(1, "cudaGraphLaunch", 1);
  CHECK_THROWS_WITH(e->run(program, data.view(1, 0.01)), Catch::Contains("cudaGraphLaunch failed"));
  CHECK_THROWS_WITH(e->run(program, data.view(2, 0.01)), Catch::Contains("failed in an earlier step"));
  if (!collectives) return;
  // it is unknown how much of the sums the others have
  auto const refused = Catch::Contains("an earlier step failed, on this device or another; create the engines again");
  for (int i = 0; i < 2; ++i) {
    std::vector<float> any(1000);
    CHECK_THROWS_WITH(e->at(i).metrics(program), refused);
    CHECK_THROWS_WITH(e->at(i).read_parameter(0, any.data()), refused);
    CHECK_THROWS_WITH(e->at(i).write_parameter(0, any.data()), refused);
    CHECK_THROWS_WITH(e->at(i).read_slot(0, 0, any.data()), refused);
    CHECK_THROWS_WITH(e->at(i).prepare(mode::inference, 1), refused);
  }
  CHECK_THROWS_WITH(e->prepare(mode::training, 2 * batch), refused);
}

/// Checks that no tower waits for an evaluation that failed, and that training continues.
inline void check_broken_evaluation(simulated_device& device, cu::api const& a,
                                    cu::device_collectives const* collectives) {
  auto const e = towers_on(simulated_cuda(a, 2, precision::bf16, collectives), tiny::view(), keras_rules, {.count = 2});
  initialize(*e, 5);
  drawn_batch const data(tiny::view(), 4, 1);
  int const training = e->prepare(mode::training, 4), evaluation = e->prepare(mode::evaluation, 4);
  e->run(training, data.view(0, 0.01));
  for (char const* call : {"cudaGraphLaunch", "cudaSetDevice"}) {
    device.fail_call_on(1, call, 1);
    CHECK_THROWS_WITH(e->run(evaluation, data.view(0, 0)), Catch::Contains(std::string(call) + " failed"));
    e->run(training, data.view(1, 0.01));
    e->run(evaluation, data.view(0, 0));
    CHECK(e->metrics(evaluation).loss > 0);
  }
  // the caller of metrics may never have called a device, which would create a context on device 0
  for (int program : {training, evaluation}) {
    e->run(program, data.view(2, 0.01));
    device.reset_calls();
    CHECK(e->metrics(program).loss > 0);
    CHECK(device.calls() == 0);
  }
}

}  // namespace dsl_test
