// SPDX-License-Identifier: MIT
// Compares training steps of MiniGoogLeNet at batch 4 on the simulated device with the CPU's: 6 steps, or 20 with
// TYPENET_TESTS=all.
#include <dsl/dsl.hpp>
#include <dsl/executors/cuda.hpp>
#include <dsl/executors/cuda/engine.hpp>
#include <dsl/executors/onednn.hpp>

#include "support/catch.hpp"
#include "support/all_kernels.hpp"
#include "support/extent.hpp"
#include "support/gpu/trajectories.hpp"
#include "support/simulated_device/simulated_device.hpp"

using namespace dsl;
using namespace dsl::test;
using dsl_test::simulated_device;

namespace {

using model = minigooglenet_network;
engine_options const keras{.seed = 1, .update = {.momentum = 0.9}};
constexpr int pictures = 4;
int const steps = everything() ? 20 : 6;

}  // namespace

TEST_CASE("cuda: MiniGoogLeNet's steps follow the CPU's", "[cuda]") {
  dsl_test::add_all_kernels();
  dataset const data = synthetic_pictures(pictures * steps, 10, 3).train;
  trained_from const wanted =
      train_augmented(*onednn{.winograd = false}.make_engine(model::view(), keras), data, pictures);
  REQUIRE(wanted.end.losses.size() == static_cast<std::size_t>(steps));
  for (precision p : {precision::fp32_strict, precision::bf16}) {
    simulated_device device({.seed = 2, .memory_bytes = 2LL << 30});
    {
      cu::engine e(device.api(), model::view(), keras,
                   {.precision = p, .deterministic = true, .cache = "", .workspace_limit = 4 << 20});
      trained_from const got = train_augmented(e, data, pictures);
      auto const within = [&](char const* what, comparison const& found, double bound) {
        WARN(name_of(p) << ": " << what << " " << found.apart << " apart");
        CHECK(found.apart < bound);
      };
      beside_reference const near = bounds_beside_reference(p);
      within("losses", difference(got.end.losses, wanted.end.losses), near.losses);
      within("how far parameters have moved",  // 1 for an executor that never updates
             difference(moved(model::view(), got, true), moved(model::view(), wanted, true)), near.moved);
      within("running statistics", difference(moved(model::view(), got, false), moved(model::view(), wanted, false)),
             near.statistics);
      CHECK(e.arena_bytes() == model::training_bytes(pictures, cu::target_for(cu::storage_of(p))));
    }
    CHECK(device.report() == "");
  }
}
