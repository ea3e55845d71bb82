// SPDX-License-Identifier: MIT
#pragma once

#include <dsl/detail/mode.hpp>
#include <dsl/detail/print.hpp>
#include <dsl/training/callback.hpp>

#include <cstdio>
#include <string>

namespace dsl::text::TYPENET_MODE {

using detail::print;

/// " - loss: 1.4323 - acc: 0.4787 - val_loss: 1.1319 - val_acc: 0.5983"
std::string metrics(epoch_record const& e);

}  // namespace dsl::text::TYPENET_MODE

namespace dsl::TYPENET_MODE {

/// Keras's verbose=2, two lines an epoch and nothing in between (of several processes process 0 does):
///   Epoch 1/70
///    - 64s - loss: 1.4323 - acc: 0.4787 - val_loss: 1.1319 - val_acc: 0.5983
struct epoch_log : callback {
  std::FILE* out = stdout;

  epoch_log() = default;
  explicit epoch_log(std::FILE* to) : out(to) {}

  void on_epoch_begin(fit_run& run) override;
  void on_epoch_end(fit_run& run) override;
};

}  // namespace dsl::TYPENET_MODE

#ifndef TYPENET_COMPILED
#include <dsl/text/epoch_log_inl.hpp>
#endif
