// SPDX-License-Identifier: MIT
#pragma once

#include <dsl/detail/mode.hpp>
#include <dsl/detail/name.hpp>
#include <dsl/error.hpp>
#include <dsl/rules/broken_training.hpp>
#include <dsl/training/history.hpp>

#include <concepts>
#include <cstdint>
#include <memory>
#include <string>
#include <type_traits>
#include <typeinfo>
#include <utility>
#include <vector>

namespace dsl::TYPENET_MODE {

class trainer;
class process_checks;
class callback_handle;
class callback_state;  // <dsl/training/callback_state.hpp>
class earlier_files;   // <dsl/training/earlier_files.hpp>

}  // namespace dsl::TYPENET_MODE

namespace dsl::detail::TYPENET_MODE {

class weight_averager;  // <dsl/training/weight_average.hpp>
class run_identity;     // <dsl/training/run_identity.hpp>

/// Whether a number can be a learning rate. A rate below 0 would increase the loss, and NaN or infinity would spoil
/// every weight at once.
constexpr bool is_learning_rate(double r) { return r >= 0 && r < 1e30; }

/// Returns the name of a type that is only known at run time, in the same form as name_of() returns it.
std::string dynamic_name(std::type_info const& type);

}  // namespace dsl::detail::TYPENET_MODE

namespace dsl::TYPENET_MODE {

/// The position of a run between two steps. Together with the trainer's state, it is all that the run needs to resume
/// from there.
struct fit_position {
  int epoch = 0;          // from 0
  std::int64_t step = 0;  // steps done in that epoch; fit_run::steps: its validation is still to come
  double loss = 0;        // sums over these steps
  double correct = 0;
  double learning_rate = 0;  // at the beginning of that epoch
  double seconds = 0;        // since then
  /// The divisor of the sums: the number of samples, or of labelled pixels, in the steps of this epoch so far.
  /// Checkpoints do not contain the divisor, because fit can count it again.
  std::int64_t counted = 0;
  /// The sums of each of several outputs: its loss, and then its correct predictions or, without accuracy, NaN.
  std::vector<double> outputs{};
};

/// Returns the mean scores from sums over `samples` samples.
inline scores mean_scores(double loss, double correct, double samples, bool has_acc) {
  return {loss / samples, has_acc ? correct / samples : __builtin_nan("")};
}
/// Returns these mean scores together with those of each of several outputs, from the sums in fit_position::outputs.
scores mean_scores(double loss, double correct, double samples, bool has_acc, std::vector<std::string> const& outputs,
                   std::vector<double> const& sums);

struct callback;

/// A run of fit() as its callbacks see it. They may change learning_rate and set stop.
struct fit_run {
  dsl::trainer& trainer;
  int epochs = 0;          // the run ends before this one
  std::int64_t steps = 0;  // steps per epoch
  int batch_size = 0;
  double& learning_rate = rate_of(trainer);  // the trainer's: the one of the next step
  double given_rate = 0;   // the learning rate at the beginning of fit, from compile or set_learning_rate
  bool stop = false;       // set at any time, in any process: ends the run in all of them after the current epoch
  int epoch = 0;           // from 0
  std::int64_t step = 0;   // in this epoch, from 0
  epoch_record current{};  // complete in on_epoch_end; in on_batch_end train holds the means so far
  dsl::history past{};     // the finished epochs, including those before a restart
  bool validates = false;  // whether there is validation data
  bool has_acc = true;     // whether predictions are right or wrong: with classes, or with binary_crossentropy
  bool failed = false;     // whether the loss is no longer finite, and a callback has ended the run for it
  bool leads = true;       // whether this is the process that prints and writes files
  fit_position next{};     // the position after the last step; on_restore may change where the run begins
  /// Points to a number that a callback owns. A signal handler or another thread may set this number to a signal's
  /// number at any time, in one process or in all. Then the following happens, in every process after the same step:
  /// on_backup is called after the current step; one more step, or a batch of validation, shows that the loss of the
  /// saved state is finite; and fit throws interrupted.
  int const* interrupt = nullptr;
  int interrupted = 0;  // the number found there: the state of this on_backup is the one to resume from
  bool proven = false;  // whether the loss of `next`'s weights is known to be finite, or nothing will compute it
  callback const* restored_by = nullptr;       // the callback whose on_restore was the last to restore the run
  process_checks* processes = nullptr;         // null unless there are several processes, which must agree
  detail::weight_averager* average = nullptr;  // null unless fit's .average is set
  detail::run_identity* identity = nullptr;    // the properties of the data that decide the results
  std::shared_ptr<earlier_files> earlier{};    // the files of earlier runs, which only the process that leads keeps
  std::vector<std::shared_ptr<void>> held{};   // callbacks' locks and handlers, released when fit ends in any way
  callback_handle const* callbacks = nullptr;
  std::size_t callback_count = 0;
  std::vector<std::string> outputs{};    // the names of several outputs, "main" first; empty if there is only one
  std::vector<char> outputs_have_acc{};  // for each of them, whether its predictions are right or wrong
  std::vector<std::string> metrics{};    // the names of fit's .metrics
  std::string source{};                  // the identity of the training data's source; empty: they are in memory
  bool streams = false;                  // whether the training data come from a stream, so that the run cannot resume

 private:
  static double& rate_of(dsl::trainer& t);
};

/// The base of callbacks. Derive from it, override what you need, and add it to fit's .callbacks:
///   struct halve : dsl::callback { void on_epoch_begin(dsl::fit_run& run) override { run.learning_rate /= 2; } };
/// Each of several processes has its own callbacks; they must change run.learning_rate alike, and only one of them
/// prints.
struct callback {
  virtual ~callback() = default;
  /// fit calls these functions at the points of a run that their names describe, for each callback in the order in
  /// which the callbacks were given.
  virtual void on_train_begin(fit_run&) {}
  virtual void on_epoch_begin(fit_run&) {}
  virtual void on_batch_end(fit_run&) {}
  virtual void on_epoch_end(fit_run&) {}
  virtual void on_train_end(fit_run&) {}
  /// Called when the loss is no longer finite. A callback that returns true ends the run, and the record of this epoch
  /// is left out. If no callback returns true, fit throws.
  virtual bool on_bad_loss(fit_run&) { return false; }

  /// Saves or restores the state that must survive a restart: call s("best", best) for each variable.
  virtual void state(callback_state&) {}

  /// Called before all other functions, so that a callback can make the run resume from a file.
  virtual void on_restore(fit_run&) {}
  /// Called if a callback has thrown in on_restore, on_train_begin or on_resume, so that the run does not begin. The
  /// callbacks are called in reverse order. A callback that has changed the trainer must undo the change here. Must not
  /// throw.
  virtual void on_refused(fit_run&) {}
  /// Called after every callback's on_train_begin and, if the run resumes within an epoch, also after on_epoch_begin. A
  /// callback that changed run.next in on_restore restores the state of the other callbacks and the learning rate here.
  virtual void on_resume(fit_run&) {}
  /// Called after every callback's on_batch_end, and after every on_epoch_end. At this point all state belongs to the
  /// position run.next, so a callback may write it to a file. on_backup is called next and writes the file from which a
  /// run resumes. If the process is killed between the two calls, the resumed run calls on_saving_point again with the
  /// same result.
  virtual void on_saving_point(fit_run&) {}
  virtual void on_backup(fit_run&) {}

 protected:
  callback() = default;
  callback(callback const&) = default;
  callback& operator=(callback const&) = default;
};

}  // namespace dsl::TYPENET_MODE

namespace dsl::detail::TYPENET_MODE {

template <class T>
inline constexpr bool shares_callback = false;
template <std::derived_from<callback> C>
inline constexpr bool shares_callback<std::shared_ptr<C>> = true;

}  // namespace dsl::detail::TYPENET_MODE

namespace dsl::TYPENET_MODE {

/// Holds any callback as a value. The handle has a copy of the callback, or shares it with an owner who can inspect it
/// after the run.
class callback_handle {
 public:
  template <std::derived_from<callback> C>
  callback_handle(C c)  // NOLINT: so that a braced list reads well
      : callback_(std::make_shared<C>(std::move(c))), name_(text(detail::name_of<C>())) {}
  template <std::derived_from<callback> C>
  callback_handle(std::shared_ptr<C> c) : callback_(std::move(c)), name_(text(detail::name_of<C>())) {  // NOLINT
    if (!callback_)
      throw option_error(
          "callbacks: each must be a callback or point to one; found a null std::shared_ptr; make it with "
          "std::make_shared, or leave it out");
    callback const& itself = *callback_;
    if (typeid(itself) != typeid(C)) name_ = detail::dynamic_name(typeid(itself));
  }

  template <class Found>
    requires(!std::derived_from<Found, callback> && !detail::shares_callback<Found> &&
             !std::same_as<Found, callback_handle> && !std::derived_from<Found, std::vector<callback_handle>>)
  callback_handle(Found const&)  // NOLINT: so that the error names what is wrong
      noexcept(sizeof(broken::callbacks_derive_from_callback<std::decay_t<Found>, false>) != 0) {}

  /// Returns the callback, which is never null.
  callback* operator->() const { return callback_.get(); }
  /// Returns the name of the callback's type without template arguments, such as early_stopping, even if the callback
  /// was given as a pointer to `callback`. A checkpoint stores the callback's state under this name. The returned name
  /// is valid while this handle exists.
  detail::name name() const { return {name_.data(), static_cast<int>(name_.size())}; }
  bool is(char const* type_name) const { return name_ == type_name; }

 private:
  static std::string text(detail::name n) { return {n.data, static_cast<std::size_t>(n.size)}; }

  std::shared_ptr<callback> callback_;
  std::string name_;
};

}  // namespace dsl::TYPENET_MODE

#ifdef TYPENET_DEFINITIONS
#include <dsl/training/callback_inl.hpp>
#endif
