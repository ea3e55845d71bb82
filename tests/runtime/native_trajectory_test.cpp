// SPDX-License-Identifier: MIT
// Compares the same trajectories in float on the native executor, with every instruction set of this processor, for as
// many steps as onednn_trajectory_test.cpp.
#include "support/catch.hpp"
#include "support/check_trajectory.hpp"

#include <dsl/executors/native.hpp>

using namespace dsl;
using namespace dsl::test;

TEST_CASE("native: the networks follow Keras and PyTorch", "[trajectory]") {
  for (auto set : {instructions::baseline, instructions::avx2, instructions::avx512}) {
    if (!host::has(set)) continue;
    for (bool winograd : {false, true}) {
      native const on{.threads = 2, .instructions = set, .winograd = winograd};
      double const tolerance = winograd ? 1e-3 : 1e-4;
      INFO(host::name_of(set) << (winograd ? ", Winograd" : ", direct"));
      follow<small_model>("keras_small.txt", 20, on, tolerance);
      follow<small_model>("torch_small.txt", 20, on, tolerance);
      // Two steps of the large network. A single ReLU that flips by rounding in the first step, which depends on the
      // instruction set, changes the second loss by a factor of up to 1 + 3e-4 and the third by 1 + 6e-3.
      follow<minigooglenet_model>("keras_minigooglenet.txt", 2, on, tolerance);
      follow<minigooglenet_model>("torch_minigooglenet.txt", 2, on, tolerance);
    }
  }
}
