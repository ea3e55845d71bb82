// SPDX-License-Identifier: MIT
// Compares the same trajectories in float on oneDNN. tests/fixtures records how far the frameworks' own float runs
// deviate. MiniGoogLeNet is compared for two steps: a ReLU that rounding flipped in the second step changed the third
// loss by 6e-3 with kernels limited to neither AVX2 nor AVX-512.
#include "support/catch.hpp"
#include "support/check_trajectory.hpp"

#include <dsl/executors/onednn.hpp>

using namespace dsl;
using namespace dsl::test;

TEST_CASE("onednn: the small network follows Keras and PyTorch for 20 steps", "[trajectory]") {
  follow<small_model>("keras_small.txt", 20, onednn{.winograd = false}, 1e-4);
  follow<small_model>("torch_small.txt", 20, onednn{.winograd = false}, 1e-4);
}
TEST_CASE("onednn with Winograd: the small network follows Keras and PyTorch for 20 steps", "[trajectory]") {
  follow<small_model>("keras_small.txt", 20, onednn{}, 1e-3);
  follow<small_model>("torch_small.txt", 20, onednn{}, 1e-3);
}
TEST_CASE("onednn: MiniGoogLeNet follows Keras and PyTorch", "[trajectory]") {
  follow<minigooglenet_model>("keras_minigooglenet.txt", 2, onednn{.winograd = false}, 1e-4);
  follow<minigooglenet_model>("torch_minigooglenet.txt", 2, onednn{.winograd = false}, 1e-4);
}
TEST_CASE("onednn with Winograd: MiniGoogLeNet follows Keras and PyTorch", "[trajectory]") {
  follow<minigooglenet_model>("keras_minigooglenet.txt", 2, onednn{}, 1e-3);
  follow<minigooglenet_model>("torch_minigooglenet.txt", 2, onednn{}, 1e-3);
}
