// SPDX-License-Identifier: MIT
// Compares twenty training steps with PyTorch's and Keras's own, in double: forward pass, loss, every gradient, SGD
// with a changing rate, running statistics. tests/fixtures/README.md explains how the numbers were made.
#include "support/catch.hpp"
#include "support/follow_trajectory.hpp"
#include "support/sanitized.hpp"

using namespace dsl;
using namespace dsl::test;

/// Each takes 2 s; only the stage isa runs all twenty, by the tag [long]. The third loss is the first one that momentum
/// changes.
constexpr int minigooglenet_steps = DSL_TEST_ASAN || DSL_TEST_TSAN ? 1 : 3;

namespace {

template <class Model>
void follow(std::string const& file, int steps) {
  trajectory const t = read_trajectory(std::string(TYPENET_TEST_DATA) + "/" + file);
  follower<double> f(t, reference<double>{}.make_engine(Model::view(), options_for(t)));
  for (int s = 0; s < steps; ++s) {
    INFO(file << " step " << s);
    REQUIRE(f.step() == approx(t.losses[static_cast<std::size_t>(s)]).epsilon(1e-9));
    for (saved_state const& state : t.states)
      if (state.steps_done == s + 1) REQUIRE(difference(state, f) < 1e-9);
    for (saved_prediction const& p : t.predictions)
      if (p.steps_done == s + 1) {
        std::vector<float> const ours = f.predict();
        for (std::size_t i = 0; i < ours.size(); ++i)
          REQUIRE(static_cast<double>(ours[i]) == approx(p.probabilities[i]).margin(1e-6));
      }
  }
}

}  // namespace

TEST_CASE("a small network of all three modules follows Keras", "[trajectory]") {
  follow<small_model>("keras_small.txt", 20);
}
TEST_CASE("a small network of all three modules follows PyTorch", "[trajectory]") {
  follow<small_model>("torch_small.txt", 20);
}
TEST_CASE("MiniGoogLeNet follows Keras", "[trajectory]") {
  follow<minigooglenet_model>("keras_minigooglenet.txt", minigooglenet_steps);
}
TEST_CASE("MiniGoogLeNet follows PyTorch", "[trajectory]") {
  follow<minigooglenet_model>("torch_minigooglenet.txt", minigooglenet_steps);
}
TEST_CASE("MiniGoogLeNet follows Keras and PyTorch for twenty steps", "[.][long]") {
  follow<minigooglenet_model>("keras_minigooglenet.txt", 20);
  follow<minigooglenet_model>("torch_minigooglenet.txt", 20);
}
