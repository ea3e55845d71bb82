// SPDX-License-Identifier: MIT
#pragma once

#include "support/trajectory.hpp"

// Runs of a small network with many optimizers, saved from PyTorch and Keras: tests/fixtures/*_optimizers.txt.

namespace dsl::test {

struct optimizer_run {
  std::string name;
  double label_smoothing = 0;
  dsl::test::trajectory trajectory;
};

/// Reads saved runs. Throws std::runtime_error with file, word number, found and expected if the file is damaged.
inline std::vector<optimizer_run> read_optimizer_runs(std::string const& path) {
  detail::trajectory_reader in(path);
  trajectory common;
  in.expect("typenet_optimizers");
  in.expect("1");
  in.expect("framework");
  common.framework = in.word("a framework's name");
  common.framework_version = in.word("a version");
  in.expect("backend");
  common.backend = in.word("a backend's name");
  common.backend_version = in.word("a version");
  in.expect("numpy");
  common.numpy_version = in.word("a version");
  in.expect("net");
  common.net = in.word("a net's name");
  in.expect("image");
  common.channels = in.small_integer("the channels", 1);
  common.height = in.small_integer("the height", 1);
  common.width = in.small_integer("the width", 1);
  in.expect("classes");
  common.classes = in.small_integer("the classes", 1);
  in.expect("batch");
  common.batch = in.small_integer("the batch", 1);
  in.expect("batches");
  common.batches = in.small_integer("the batches", trajectory_batches);
  std::vector<optimizer_run> runs;
  for (std::string w; (w = in.word("run, state or end")) != "end";) {
    if (w == "run") {
      optimizer_run& r = runs.emplace_back();
      r.trajectory = common;
      r.name = in.word("an optimizer's name");
      in.expect("learning_rate");
      r.trajectory.first_learning_rate = in.number("the learning rate");
      in.expect("over");
      r.trajectory.learning_rate_steps = in.small_integer("the learning rate's steps", 1);
      in.expect("label_smoothing");
      r.label_smoothing = in.number("the label smoothing");
      for (std::vector<double>* losses : {&r.trajectory.losses, &r.trajectory.losses_float32}) {
        in.expect("losses");
        in.expect(losses == &r.trajectory.losses ? "float64" : "float32");
        *losses = in.numbers(in.integer("the number of losses", 1), "a loss");
      }
    } else if (w == "state" && !runs.empty()) {
      runs.back().trajectory.states.push_back(detail::read_state(in));
    } else {
      in.fail("run, state or end", w);
    }
  }
  return runs;
}

}  // namespace dsl::test
