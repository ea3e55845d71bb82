// SPDX-License-Identifier: MIT
#pragma once

#include <dsl/detail/mode.hpp>
#include <dsl/detail/name.hpp>
#include <dsl/error.hpp>
#include <dsl/training/history.hpp>

#include <concepts>
#include <cstdint>
#include <memory>
#include <string>
#include <typeinfo>
#include <utility>
#include <vector>

namespace dsl::TYPENET_MODE {

class trainer;
class process_checks;
class callback_handle;
class callback_state;  // <dsl/training/callback_state.hpp>

}  // namespace dsl::TYPENET_MODE

namespace dsl::detail::TYPENET_MODE {

class weight_averager;  // <dsl/training/weight_average.hpp>

/// One below 0 would climb, and one that is no number spoils every weight at once.
constexpr bool is_learning_rate(double r) { return r >= 0 && r < 1e30; }

/// name_of() of a type that only the running program knows.
[[gnu::cold]] std::string dynamic_name(std::type_info const& type);

}  // namespace dsl::detail::TYPENET_MODE

namespace dsl::TYPENET_MODE {

/// Where a run is between two steps, and all that it needs to go on from there beside the trainer's state.
struct fit_position {
  int epoch = 0;          // from 0
  std::int64_t step = 0;  // done in that epoch; fit_run::steps: its validation is still to come
  double loss = 0;        // sums over these steps
  double correct = 0;
  double learning_rate = 0;  // at that epoch's begin
  double seconds = 0;        // since then
};

/// Means over so many samples.
constexpr scores mean_scores(double loss, double correct, double samples, bool has_acc) {
  return {loss / samples, has_acc ? correct / samples : __builtin_nan("")};
}

struct callback;

/// A run of fit() as its callbacks see it. They may change learning_rate and set stop.
struct fit_run {
  dsl::trainer& trainer;
  int epochs = 0;          // the run ends before this one
  std::int64_t steps = 0;  // of an epoch
  int batch_size = 0;
  double learning_rate = 0;
  double given_rate = 0;   // the learning rate that fit began with, compile's unless set_learning_rate gave another
  bool stop = false;       // at any moment: ends the run after the epoch that has begun; in all processes, set in one
  int epoch = 0;           // from 0
  std::int64_t step = 0;   // in this epoch, from 0
  epoch_record current{};  // complete in on_epoch_end; in on_batch_end train holds the means so far
  dsl::history past{};     // the epochs that have ended, those before a restart among them
  bool validates = false;  // there is validation data
  bool has_acc = true;     // answers are right or wrong: there are classes, or the loss is binary_crossentropy
  bool failed = false;     // the loss is no number any more, and a callback has ended the run for it
  bool leads = true;       // of several processes one prints and writes files: this one
  fit_position next{};     // on_restore may change it: where the run begins
  /// Points to a callback's number, which a signal's handler or another thread may set at any time, in one process or
  /// in all. With a signal's number there, on_backup is called after the step under way, one more step or a batch of
  /// validation proves that state, and fit throws interrupted: in every process after the same step.
  int const* interrupt = nullptr;
  int interrupted = 0;  // the number found there: the state of this on_backup is the one to go on from
  bool proven = false;  // the weights of `next` have given a loss that is a number, or nothing will look at them
  callback const* restored_by = nullptr;       // whose on_restore was the last to do so
  process_checks* processes = nullptr;         // of several: for what all of them must know
  detail::weight_averager* average = nullptr;  // of fit's .average
  std::vector<std::shared_ptr<void>> held{};   // callbacks' locks and handlers: released as fit ends, whatever ends it
  callback_handle const* callbacks = nullptr;
  std::size_t callback_count = 0;
};

/// Derive from this, override what you need, and put it into fit's .callbacks:
///   struct halve : dsl::callback { void on_epoch_begin(dsl::fit_run& run) override { run.learning_rate /= 2; } };
/// Of several processes each has its own; they must do the same to run.learning_rate, and only one of them prints.
struct callback {
  virtual ~callback() = default;
  virtual void on_train_begin(fit_run&) {}
  virtual void on_epoch_begin(fit_run&) {}
  virtual void on_batch_end(fit_run&) {}
  virtual void on_epoch_end(fit_run&) {}
  virtual void on_train_end(fit_run&) {}
  /// The loss has become no number. True: the run ends here, without this epoch; where no callback says so, fit throws.
  virtual bool on_bad_loss(fit_run&) { return false; }

  /// What must survive a restart: s("best", best) for each variable saves or restores it.
  virtual void state(callback_state&) {}

  /// Before any other moment: the run may go on from a file.
  virtual void on_restore(fit_run&) {}
  /// A callback has thrown in on_restore, on_train_begin or on_resume: the run does not begin, and whoever has changed
  /// the trainer for it puts back what was there. In the reverse of the callbacks' order. Must not throw.
  virtual void on_refused(fit_run&) {}
  /// After every callback's on_train_begin; where the run goes on within an epoch, after on_epoch_begin too. Whoever
  /// changed run.next in on_restore gives the others their state and the run its learning rate here.
  virtual void on_resume(fit_run&) {}
  /// After every callback's on_batch_end, and after every on_epoch_end: all state is that of run.next, and may be
  /// written. Then on_backup, for the file that a run goes on from: killed between the two it does once more, and the
  /// same, what it has done.
  virtual void on_saving_point(fit_run&) {}
  virtual void on_backup(fit_run&) {}

 protected:
  callback() = default;
  callback(callback const&) = default;
  callback& operator=(callback const&) = default;
};

/// Any callback as a value: a copy of one, or shared with whoever wants to look at it afterwards.
class callback_handle {
 public:
  template <std::derived_from<callback> C>
  callback_handle(C c)  // NOLINT: so that a braced list reads well
      : callback_(std::make_shared<C>(std::move(c))), name_(text(detail::name_of<C>())) {}
  template <std::derived_from<callback> C>
  callback_handle(std::shared_ptr<C> c) : callback_(std::move(c)), name_(text(detail::name_of<C>())) {  // NOLINT
    if (!callback_) throw option_error("callbacks: one of them is a null pointer");
    callback const& itself = *callback_;
    if (typeid(itself) != typeid(C)) name_ = detail::dynamic_name(typeid(itself));
  }

  callback* operator->() const { return callback_.get(); }
  /// Of its type, without arguments: early_stopping, by a pointer to callback, too. A checkpoint keeps its state under
  /// this. Valid as long as the handle is.
  detail::name name() const { return {name_.data(), static_cast<int>(name_.size())}; }

 private:
  static std::string text(detail::name n) { return {n.data, static_cast<std::size_t>(n.size)}; }

  std::shared_ptr<callback> callback_;
  std::string name_;
};

}  // namespace dsl::TYPENET_MODE

#ifndef TYPENET_COMPILED
#include <dsl/training/callback_inl.hpp>
#endif
