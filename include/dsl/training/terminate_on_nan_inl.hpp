// SPDX-License-Identifier: MIT
#pragma once

#include <dsl/detail/message.hpp>
#include <dsl/detail/mode.hpp>
#include <dsl/detail/print.hpp>
#include <dsl/training/callback.hpp>
#include <dsl/training/terminate_on_nan.hpp>

#include <cstdio>

namespace dsl::TYPENET_MODE {

TYPENET_INLINE bool terminate_on_nan::on_bad_loss(fit_run& run) {
  bool const in_validation = run.step == run.steps;
  if (run.leads)
    detail::print_lines(
        stdout, in_validation ? detail::message({"Epoch ", run.epoch + 1, ": Invalid val_loss, terminating training\n"})
                              : detail::message({"Batch ", run.step, ": Invalid loss, terminating training\n"}));
  return true;
}

}  // namespace dsl::TYPENET_MODE
