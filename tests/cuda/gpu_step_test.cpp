// SPDX-License-Identifier: MIT
// Tests on the simulated device, whose times mean nothing, that what benchmarks/cuda_step measures trains, infers,
// counts and replays.
#include "../../benchmarks/cuda_step.hpp"

#include "support/catch.hpp"
#include "support/all_kernels.hpp"
#include "support/simulated_device/simulated_device.hpp"

using namespace dsl;
using model =
    network<image<3, 8, 8>, conv_module<8, 3, 3>, inception_module<8, 8>, avg_pool2d<8>, flatten, dense<10>, softmax>;

TEST_CASE("cuda_step measures a step of training and one of inference", "[gpu]") {
  dsl_test::add_all_kernels();
  dsl_test::simulated_device device({.seed = 2});
  for (bool train : {true, false})
    for (bool resident : {true, false})
      for (precision p : {precision::bf16, precision::tf32}) {
        bench::step_request const r{.train = train,
                                    .batch = 4,
                                    .precision = p,
                                    .steps = 3,
                                    .warmup = 5,
                                    .resident = resident,
                                    .pictures = 7,
                                    .cache = ""};
        bench::measured_step<model> step(device.api(), r);
        bench::step_figures const f = step.measure(), again = step.measure();
        CHECK(f.step_s > 0);
        CHECK(f.latency_s > 0);
        CHECK(f.prepare_s > 0);
        CHECK((train ? f.loss > 1 && f.loss < 5 : f.loss == 0));
        CHECK(f.loss == again.loss);
        CHECK(f.recorded.convolutions == (train ? 3 * 3 - 1 : 3));
        CHECK(f.recorded.kernels > (train ? 8 : 1));
        CHECK(f.recorded.copies == (train ? (resident ? 2 : 4) : 2));
        CHECK(f.calls_a_step <= 2);
        CHECK(!f.allocates);
        CHECK(f.arena_bytes >= f.planned_bytes);
        CHECK(f.executor_bytes > 0);
        CHECK(f.description.find("Simulated GPU") != std::string::npos);
        CHECK(device.calls("cudaEventElapsedTime") > 0);
      }
  CHECK(device.report() == "");
}
