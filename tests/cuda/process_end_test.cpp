// SPDX-License-Identifier: MIT
// Tests that engines in static storage call no vendor library when the process ends, since the libraries may have
// released by then what they loaded when they were first used. Each case ends a copy of this process.
#include <dsl/dsl.hpp>
#include <dsl/executors/cuda.hpp>
#include <dsl/executors/cuda/engine.hpp>
#include <dsl/training/initialize.hpp>

#include <cmath>
#include <cstdlib>
#include <memory>

#include <sys/wait.h>
#include <unistd.h>

#include "support/all_kernels.hpp"
#include "support/catch.hpp"
#include "support/drawn.hpp"
#include "support/simulated_device/simulated_device.hpp"

using namespace dsl;
using dsl::test::drawn_batch;
using dsl_test::simulated_device;

namespace {

using model =
    network<image<3, 6, 6>, conv2d<8, 3>, batch_norm<>, relu, flatten, dense<64>, dense<64>, dense<3>, softmax>;

simulated_device* gpu = nullptr;  // of the copy; never destroyed
cu::api* table = nullptr;
long calls_before = -1;  // the calls until a library has released what it loaded

/// Is destroyed after everything below. Ends the process with 7 if a library was called too late, and with 8 if the
/// library had nothing to release.
struct last_word {
  ~last_word() {
    if (!gpu) return;
    if (calls_before < 0) ::_exit(8);
    if (gpu->calls() != calls_before) ::_exit(7);
  }
} const said{};

std::unique_ptr<cu::engine> older;  // than every library

/// Loads a part of cuDNN at the first convolution, as cuDNN does.
cudnnStatus_t load_and_execute(cudnnHandle_t h, cudnnBackendDescriptor_t plan, cudnnBackendDescriptor_t pack) {
  static bool const loaded = std::atexit([] { calls_before = gpu->calls(); }) == 0;
  return loaded ? gpu->api().cudnnBackendExecute.function(h, plan, pack) : CUDNN_STATUS_INTERNAL_ERROR;
}

cu::engine_settings settings() {
  return {.precision = precision::fp32_strict, .deterministic = true, .cache = "", .workspace_limit = 1 << 18};
}

void train(cu::engine& e) {
  initialize(e, 5);
  int const program = e.prepare(mode::training, 4);
  e.run(program, drawn_batch(model::view(), 4, 1).view(0, 0.01));
  if (!std::isfinite(e.metrics(program).loss)) ::_exit(9);
}

/// Returns the exit code of a copy of this process that calls f and ends.
template <class F>
int exit_code_after(F f) {
  std::fflush(nullptr);
  pid_t const child = ::fork();
  if (child == 0) {
    gpu = new simulated_device({.seed = 3});
    table = new cu::api(gpu->api());
    table->cudnnBackendExecute.function = &load_and_execute;
    f();
    std::exit(0);
  }
  int status = 0;
  ::waitpid(child, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

}  // namespace

TEST_CASE("cuda: an engine whose place is older than the libraries ends with the process", "[cuda]") {
  dsl_test::add_all_kernels();
  CHECK(exit_code_after([] {
          older = std::make_unique<cu::engine>(*table, model::view(), dsl::test::keras_rules, settings());
          train(*older);
        }) == 0);
}

TEST_CASE("cuda: an engine that is older than what the libraries loaded later ends with the process", "[cuda]") {
  dsl_test::add_all_kernels();
  CHECK(exit_code_after([] {
          static cu::engine one(*table, model::view(), dsl::test::keras_rules, settings());
          train(one);
        }) == 0);
}

TEST_CASE("cuda: an engine that ends before the process gives everything back", "[cuda]") {
  dsl_test::add_all_kernels();
  CHECK(exit_code_after([] {
          {
            cu::engine one(*table, model::view(), dsl::test::keras_rules, settings());
            train(one);
          }
          if (!gpu->report().empty()) ::_exit(10);
        }) == 0);
}
