// SPDX-License-Identifier: MIT
// 20 training steps of MiniGoogLeNet at batch 4 on the simulated device, beside the CPU's.
#include <dsl/dsl.hpp>
#include <dsl/executors/cuda.hpp>
#include <dsl/executors/onednn.hpp>

#include <cmath>

#include "support/catch.hpp"
#include "support/all_kernels.hpp"
#include "support/simulated_device/simulated_device.hpp"

using namespace dsl;
using dsl_test::simulated_device;

namespace {

using model = network<image<3, 32, 32>, minigooglenet<10>>;
engine_options const keras{.seed = 1, .update = {.momentum = 0.9}};
constexpr int pictures = 4;
constexpr int steps = 20;

/// Losses of the steps and, at the end, all parameters.
struct run_of_training {
  std::vector<double> losses;
  std::vector<double> parameters;
};

run_of_training train(engine& e) {
  initialize(e, 2);
  dataset const data = synthetic_pictures(pictures * steps, 10, 3).train;
  batch_loader loader(data, {.batch_size = pictures, .seed = 4, .augment = shift_and_flip{}});
  run_of_training r;
  int const program = e.prepare(mode::training, pictures);
  loader.start(0);
  for (std::uint64_t s = 0; s < steps; ++s) {
    auto const* b = loader.next();
    e.run(program, {b->images, b->labels, b->size, s, 5e-5});
    r.losses.push_back(e.metrics(program).loss / pictures);
  }
  for (int k = 0; k < model::view().size.parameters; ++k) {
    std::vector<float> values(static_cast<std::size_t>(model::view().parameters[k].count()));
    e.read_parameter(k, values.data());
    r.parameters.insert(r.parameters.end(), values.begin(), values.end());
  }
  return r;
}
double apart(std::vector<double> const& a, std::vector<double> const& b) {
  double d = 0, size = 0;
  for (std::size_t i = 0; i < a.size(); ++i) d += (a[i] - b[i]) * (a[i] - b[i]), size += b[i] * b[i];
  return std::sqrt(d / size);
}

}  // namespace

TEST_CASE("cuda: 20 steps of MiniGoogLeNet follow the CPU's", "[cuda]") {
  dsl_test::add_all_kernels();
  auto const cpu = onednn{.winograd = false}.make_engine(model::view(), keras);
  run_of_training const wanted = train(*cpu);
  // A small rate: with a large one rounding grows so fast, at four pictures a step, that no two executors agree for
  // long.
  for (auto const& [p, loss, parameters] :
       {std::tuple{precision::fp32_strict, 0.003, 0.001}, std::tuple{precision::bf16, 0.01, 0.005}}) {
    simulated_device device({.seed = 2, .memory_bytes = 2LL << 30});
    {
      cu::engine e(device.api(), model::view(), keras,
                   {.precision = p, .deterministic = true, .cache = "", .workspace_limit = 4 << 20});
      run_of_training const got = train(e);
      double const most = apart(got.losses, wanted.losses), end = apart(got.parameters, wanted.parameters);
      WARN("precision " << static_cast<int>(p) << ": losses " << most << ", parameters " << end << " apart");
      CHECK(most < loss);
      CHECK(end < parameters);
      CHECK(e.arena_bytes() == model::training_bytes(pictures, cu::target_for(cu::storage_of(p))));
    }
    CHECK(device.report() == "");
  }
}
