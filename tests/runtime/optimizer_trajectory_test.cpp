// SPDX-License-Identifier: MIT
// Compares twenty training steps of each optimizer with Keras's and PyTorch's own, in double: the place of epsilon and
// of weight decay, clipped gradients, smoothed labels. tests/fixtures/README.md explains how the numbers were made.
#include "support/catch.hpp"
#include "support/follow_trajectory.hpp"
#include "support/optimizer_runs.hpp"

using namespace dsl;
using namespace dsl::test;

namespace {

using plain_model = network<image<3, 8, 8>, conv2d<8, 3>, relu, max_pool2d<2, 2>, conv2d<8, 3>, relu, avg_pool2d<4>,
                            flatten, dense<5>, softmax>;

struct named_rule {
  char const* name;
  update_rule rule;
};

std::vector<named_rule> const keras{
    {"sgd_nesterov_decay", sgd{.momentum = 0.9, .nesterov = true, .weight_decay = 0.1, .decoupled_decay = true}.rule()},
    {"adam", adam{}.rule()},
    {"adamw", adamw{.beta_1 = 0.8, .beta_2 = 0.99, .epsilon = 1e-3, .weight_decay = 0.1}.rule()},
    {"rmsprop_decay", rmsprop{.epsilon_in_root = true, .weight_decay = 0.1, .decoupled_decay = true}.rule()},
    {"rmsprop_centered_momentum",
     rmsprop{.rho = 0.8, .momentum = 0.7, .epsilon = 1e-3, .centered = true, .epsilon_in_root = true}.rule()},
    {"sgd_clipped_norm", sgd{.momentum = 0.9, .clip = {.norm = 0.5}}.rule()},
    {"adam_clipped_value", adam{.clip = {.value = 0.02}}.rule()},
    {"sgd_smoothed", sgd{.momentum = 0.9}.rule()}};

std::vector<named_rule> const torch{
    {"sgd_nesterov_decay",
     sgd{.momentum = 0.9, .nesterov = true, .weight_decay = 0.1, .rate_in_velocity = false}.rule()},
    {"adam", adam{.epsilon = 1e-8, .corrected_epsilon = true}.rule()},
    {"adam_decay",
     adam{.beta_1 = 0.8, .beta_2 = 0.99, .epsilon = 1e-3, .corrected_epsilon = true, .weight_decay = 0.1}.rule()},
    {"adamw", adamw{.epsilon = 1e-8, .corrected_epsilon = true, .weight_decay = 0.1}.rule()},
    {"rmsprop", rmsprop{.rho = 0.99, .epsilon = 1e-8}.rule()},
    {"rmsprop_centered_momentum_decay",
     rmsprop{
         .rho = 0.8, .momentum = 0.7, .epsilon = 1e-3, .centered = true, .rate_in_velocity = false, .weight_decay = 0.1}
         .rule()},
    {"sgd_clipped_norm",
     sgd{.momentum = 0.9, .rate_in_velocity = false, .clip = {.norm = 0.5, .norm_epsilon = 1e-6}}.rule()},
    {"adam_clipped_value", adam{.epsilon = 1e-8, .corrected_epsilon = true, .clip = {.value = 0.02}}.rule()},
    {"sgd_smoothed", sgd{.momentum = 0.9, .rate_in_velocity = false}.rule()}};

void follow(std::string const& file, std::vector<named_rule> const& rules) {
  std::vector<optimizer_run> const runs = read_optimizer_runs(std::string(TYPENET_TEST_DATA) + "/" + file);
  REQUIRE(runs.size() == rules.size());
  for (std::size_t r = 0; r < runs.size(); ++r) {
    REQUIRE(runs[r].name == rules[r].name);
    trajectory const& t = runs[r].trajectory;
    engine_options const o{.update = rules[r].rule, .verify = &verify, .label_smoothing = runs[r].label_smoothing};
    follower<double> f(t, reference<double>{}.make_engine(plain_model::view(), o));
    REQUIRE(t.states.size() == 2);
    for (std::size_t s = 0; s < t.losses.size(); ++s) {
      INFO(file << " " << runs[r].name << " step " << s);
      REQUIRE(f.step() == approx(t.losses[s]).epsilon(1e-9));
      for (saved_state const& state : t.states)
        if (state.steps_done == static_cast<int>(s) + 1) REQUIRE(difference(state, f) < 1e-9);
    }
  }
}

}  // namespace

TEST_CASE("optimizers, clipping and label smoothing follow Keras's", "[trajectory]") {
  follow("keras_optimizers.txt", keras);
}
TEST_CASE("optimizers, clipping and label smoothing follow PyTorch's", "[trajectory]") {
  follow("torch_optimizers.txt", torch);
}
