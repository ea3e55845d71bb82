// SPDX-License-Identifier: MIT
#pragma once

#include <dsl/detail/mode.hpp>
#include <dsl/detail/print.hpp>
#include <dsl/training/callback.hpp>

#include <cstdio>
#include <string>

namespace dsl::text::TYPENET_MODE {

using detail::print;

/// Returns the metrics of an epoch as text: " - loss: 1.4323 - acc: 0.4787 - val_loss: 1.1319 - val_acc: 0.5983".
std::string metrics(epoch_record const& e);

}  // namespace dsl::text::TYPENET_MODE

namespace dsl::TYPENET_MODE {

/// Logs two lines per epoch, as Keras's verbose=2 does. If there are several processes, only process 0 prints.
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

#ifdef TYPENET_DEFINITIONS
#include <dsl/text/epoch_log_inl.hpp>
#endif
