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
  std::string line;
  auto const add = [&](std::string const& prefix, double loss, double acc) {
    line += " - " + prefix + "loss: " + metric(loss);
    if (acc == acc) line += " - " + prefix + "acc: " + metric(acc);
  };
  auto const add_all = [&](std::string const& prefix, scores const& s) {
    add(prefix, s.loss, s.acc);
    for (output_scores const& one : s.outputs) add(prefix + one.name + "_", one.loss, one.acc);
    for (named_score const& one : s.metrics) line += " - " + prefix + one.name + ": " + metric(one.value);
  };
  add_all("", e.train);
  if (e.validated) add_all("val_", e.validation);
  return line;
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
