// SPDX-License-Identifier: MIT
#pragma once

#include "support/catch.hpp"
#include "support/follow_trajectory.hpp"

#include <string>
#include <vector>

namespace dsl::test {

/// Trains a float executor along a saved trajectory: losses, states and predictions may differ by the tolerance.
template <class Model, class Executor>
void follow(std::string const& file, int steps, Executor const& on, double tolerance) {
  trajectory const t = read_trajectory(std::string(TYPENET_TEST_DATA) + "/" + file);
  follower<float> f(t, on.make_engine(Model::view(), options_for(t)));
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

}  // namespace dsl::test
