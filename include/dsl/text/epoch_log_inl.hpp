// SPDX-License-Identifier: MIT
#pragma once

#include <dsl/detail/mode.hpp>
#include <dsl/detail/print.hpp>
#include <dsl/text/epoch_log.hpp>
#include <dsl/text/format.hpp>
#include <dsl/training/callback.hpp>

#include <string>

#include <fmt/core.h>

namespace dsl::text::TYPENET_MODE {

TYPENET_INLINE std::string metrics(epoch_record const& e) {
  std::string line = " - loss: " + metric(e.train.loss);
  if (e.train.has_acc()) line += " - acc: " + metric(e.train.acc);
  if (!e.validated) return line;
  line += " - val_loss: " + metric(e.validation.loss);
  return e.validation.has_acc() ? line + " - val_acc: " + metric(e.validation.acc) : line;
}

}  // namespace dsl::text::TYPENET_MODE

namespace dsl::TYPENET_MODE {

TYPENET_INLINE void epoch_log::on_epoch_begin(fit_run& run) {
  if (run.leads) text::print(out, fmt::format("Epoch {}/{}\n", run.epoch + 1, run.epochs));
}

TYPENET_INLINE void epoch_log::on_epoch_end(fit_run& run) {
  if (run.leads) text::print(out, fmt::format(" - {:.0f}s{}\n", run.current.seconds, text::metrics(run.current)));
}

}  // namespace dsl::TYPENET_MODE
