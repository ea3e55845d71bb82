// SPDX-License-Identifier: MIT
#pragma once

#include <dsl/detail/print.hpp>
#include <dsl/text/format.hpp>
#include <dsl/training/callback.hpp>

#include <cstdio>
#include <string>

namespace dsl {
namespace text {

using detail::print;

/// " - loss: 1.4323 - acc: 0.4787 - val_loss: 1.1319 - val_acc: 0.5983"
inline std::string metrics(epoch_record const& e) {
  std::string line = " - loss: " + metric(e.train.loss);
  if (e.train.has_acc()) line += " - acc: " + metric(e.train.acc);
  if (!e.validated) return line;
  line += " - val_loss: " + metric(e.validation.loss);
  return e.validation.has_acc() ? line + " - val_acc: " + metric(e.validation.acc) : line;
}

}  // namespace text

/// Keras's verbose=2, two lines an epoch and nothing in between (of several processes process 0 does):
///   Epoch 1/70
///    - 64s - loss: 1.4323 - acc: 0.4787 - val_loss: 1.1319 - val_acc: 0.5983
struct epoch_log : callback {
  std::FILE* out = stdout;

  epoch_log() = default;
  explicit epoch_log(std::FILE* to) : out(to) {}

  void on_epoch_begin(fit_run& run) override {
    if (run.leads) text::print(out, fmt::format("Epoch {}/{}\n", run.epoch + 1, run.epochs));
  }
  void on_epoch_end(fit_run& run) override {
    if (run.leads) text::print(out, fmt::format(" - {:.0f}s{}\n", run.current.seconds, text::metrics(run.current)));
  }
};

}  // namespace dsl
