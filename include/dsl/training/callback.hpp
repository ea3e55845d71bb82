// SPDX-License-Identifier: MIT
#pragma once

#include <dsl/error.hpp>
#include <dsl/training/history.hpp>

#include <concepts>
#include <cstdint>
#include <memory>
#include <utility>

namespace dsl {

class trainer;

namespace detail {

/// One below 0 would climb, and one that is no number spoils every weight at once.
constexpr bool is_learning_rate(double r) { return r >= 0 && r < 1e30; }

}  // namespace detail

/// A run of fit() as its callbacks see it. They may change learning_rate and set stop.
struct fit_run {
  dsl::trainer& trainer;
  int epochs = 0;          // the run ends before this one
  std::int64_t steps = 0;  // of an epoch
  int batch_size = 0;
  double learning_rate = 0;
  bool stop = false;       // ends the run behind this epoch
  int epoch = 0;           // from 0
  std::int64_t step = 0;   // in this epoch, from 0
  epoch_record current{};  // complete in on_epoch_end; in on_batch_end train holds the means so far
  dsl::history past{};     // the epochs that have ended
};

/// Derive from this, override what you need, and put it into fit's .callbacks:
///   struct halve : dsl::callback { void on_epoch_begin(dsl::fit_run& run) override { run.learning_rate /= 2; } };
struct callback {
  virtual ~callback() = default;
  virtual void on_train_begin(fit_run&) {}
  virtual void on_epoch_begin(fit_run&) {}
  virtual void on_batch_end(fit_run&) {}
  virtual void on_epoch_end(fit_run&) {}
  virtual void on_train_end(fit_run&) {}

 protected:
  callback() = default;
  callback(callback const&) = default;
  callback& operator=(callback const&) = default;
};

/// Any callback as a value: a copy of one, or shared with whoever wants to look at it afterwards.
class callback_handle {
 public:
  template <std::derived_from<callback> C>
  callback_handle(C c) : callback_(std::make_shared<C>(std::move(c))) {}  // NOLINT: so that a braced list reads well
  template <std::derived_from<callback> C>
  callback_handle(std::shared_ptr<C> c) : callback_(std::move(c)) {  // NOLINT
    if (!callback_) throw option_error("callbacks: one of them is a null pointer");
  }

  callback* operator->() const { return callback_.get(); }

 private:
  std::shared_ptr<callback> callback_;
};

}  // namespace dsl
