// SPDX-License-Identifier: MIT
// The same trajectories in float through oneDNN. How far float may stray is known: tests/fixtures records where the
// frameworks' own float runs go. MiniGoogLeNet's later losses are no test, since a flipped ReLU sign moves them by
// 1e-3.
#include "support/catch.hpp"
#include "support/follow_trajectory.hpp"

#include <dsl/executors/onednn.hpp>

using namespace dsl;
using namespace dsl::test;

namespace {

template <class Model>
void follow(std::string const& file, int steps, bool winograd, double tolerance) {
  trajectory const t = read_trajectory(std::string(TYPENET_TEST_DATA) + "/" + file);
  follower<float> f(t, onednn{.winograd = winograd}.make_engine(Model::view(), options_for(t)));
  for (int s = 0; s < steps; ++s) {
    INFO(file << " step " << s);
    double const loss = f.step();
    UNSCOPED_INFO("loss " << loss << " against " << t.losses[static_cast<std::size_t>(s)]);
    CHECK(loss == approx(t.losses[static_cast<std::size_t>(s)]).epsilon(tolerance));
    for (saved_state const& state : t.states)
      if (state.steps_done == s + 1) CHECK(difference(state, f) < tolerance);
    for (saved_prediction const& p : t.predictions)
      if (p.steps_done == s + 1) {
        std::vector<float> const ours = f.predict();
        for (std::size_t i = 0; i < ours.size(); ++i)
          CHECK(static_cast<double>(ours[i]) == approx(p.probabilities[i]).margin(tolerance));
      }
  }
}

}  // namespace

TEST_CASE("onednn: the small network follows Keras and PyTorch for 20 steps", "[trajectory]") {
  follow<small_model>("keras_small.txt", 20, false, 1e-4);
  follow<small_model>("torch_small.txt", 20, false, 1e-4);
}
TEST_CASE("onednn with Winograd: the small network follows Keras and PyTorch for 20 steps", "[trajectory]") {
  follow<small_model>("keras_small.txt", 20, true, 1e-3);
  follow<small_model>("torch_small.txt", 20, true, 1e-3);
}
TEST_CASE("onednn: MiniGoogLeNet follows Keras and PyTorch", "[trajectory]") {
  follow<minigooglenet_model>("keras_minigooglenet.txt", 3, false, 1e-4);
  follow<minigooglenet_model>("torch_minigooglenet.txt", 3, false, 1e-4);
}
TEST_CASE("onednn with Winograd: MiniGoogLeNet follows Keras and PyTorch", "[trajectory]") {
  follow<minigooglenet_model>("keras_minigooglenet.txt", 3, true, 1e-3);
  follow<minigooglenet_model>("torch_minigooglenet.txt", 3, true, 1e-3);
}
