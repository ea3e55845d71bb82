// SPDX-License-Identifier: MIT
// A training of a moment that writes TensorBoard's files, for tensorboard_test.py.
//   events FOLDER [EPOCH BATCH]    with EPOCH and BATCH, from 0, it kills itself after that batch; the next one goes
//   on
// It prints every point that FOLDER/logs must then have: "train batch_loss 1 1.0986123"
#include "support/toy_training.hpp"

#include <dsl/io/backup_and_restore.hpp>
#include <dsl/io/tensorboard.hpp>

#include <cstdio>
#include <cstdlib>
#include <string>

#include <signal.h>
#include <unistd.h>

namespace {

struct spoken : dsl::callback {
  static void say(char const* folder, char const* tag, long long step, double value) {
    std::printf("%s %s %lld %.17g\n", folder, tag, step, static_cast<double>(static_cast<float>(value)));
  }
  void on_batch_end(dsl::fit_run& run) override {
    say("train", "batch_loss", run.epoch * run.steps + run.step + 1, run.current.train.loss);
    say("train", "batch_accuracy", run.epoch * run.steps + run.step + 1, run.current.train.acc);
  }
  void on_epoch_end(dsl::fit_run& run) override {
    say("train", "epoch_loss", run.epoch, run.current.train.loss);
    say("train", "epoch_accuracy", run.epoch, run.current.train.acc);
    say("train", "epoch_learning_rate", run.epoch, run.current.learning_rate);
    say("validation", "epoch_loss", run.epoch, run.current.validation.loss);
    say("validation", "epoch_accuracy", run.epoch, run.current.validation.acc);
  }
};

struct power_cut : dsl::callback {
  int epoch, batch;
  power_cut(int e, int b) : epoch(e), batch(b) {}
  void on_batch_end(dsl::fit_run& run) override {
    if (run.epoch == epoch && run.step == batch) ::kill(::getpid(), SIGKILL);
  }
};

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2 && argc != 4) return 2;
  std::string const folder = argv[1];
  dsl::trainer t = dsl::test::toy::compiled();
  std::vector<dsl::callback_handle> callbacks{
      dsl::tensorboard(folder + "/logs", {.update_freq = 1}),
      dsl::backup_and_restore(folder + "/state", {.save_freq = dsl::every_batches(4)}), spoken{}};
  if (argc == 4) callbacks.emplace_back(power_cut(std::atoi(argv[2]), std::atoi(argv[3])));
  dsl::test::toy::fit(t, 4, callbacks);
}
