// SPDX-License-Identifier: MIT
#pragma once

#include <dsl/detail/mode.hpp>
#include <dsl/training/callback.hpp>

#include <csignal>
#include <cstdint>
#include <initializer_list>
#include <vector>

namespace dsl::TYPENET_MODE {

/// Ends a run, even in the middle of an epoch, when Ctrl-C or kill asks its process to end:
///   trainer.fit(data, {.callbacks = {backup_and_restore{"run.state"}, stop_on_signal{}}});
/// After the current step, backup_and_restore keeps the state in memory. It writes the file once another step, or a
/// batch of validation, has computed a finite loss with these weights; then fit throws interrupted. If the same command
/// is started again, it resumes from the saved state and computes the same bits. A second signal ends the process at
/// once, as without this callback. The same signal within a second is not a second one: launchers send one to each
/// process and another to the group. If there are several processes, it is enough that one of them receives a signal.
/// The callback's handlers are set from on_train_begin until fit returns or throws; then the previous handlers are
/// restored. Signals that the process ignores, as under nohup or in a shell's background jobs, stay ignored. A handler
/// stores a number and calls only functions that are safe in a signal handler.
class TYPENET_EXPORT stop_on_signal : public callback {
 public:
  /// Throws option_error for a number that is not a signal, and for a signal that no program can handle.
  stop_on_signal(std::initializer_list<int> signals = {SIGINT, SIGTERM, SIGHUP});

  void on_train_begin(fit_run& run) override;

  /// Returns the number of the signal received in the last run, or 0 if there was none. If there was one but fit has
  /// returned normally, the signal came too late to interrupt the run.
  static int received() { return __atomic_load_n(&pending, __ATOMIC_RELAXED); }

 private:
  static inline int pending = 0;
  static inline std::int64_t first = 0;  // the first signal in the lowest byte, above it the milliseconds of its time
  static inline struct sigaction before[NSIG] = {};  // NOLINT(modernize-avoid-c-arrays): the handler reads it

  class handlers;
  static void handle(int signal);

  std::vector<int> signals_;
};

/// Ends the process by the signal's default action. Call it after catching interrupted, so that the parent process,
/// such as a shell with a loop, sees why the process ended. No stream is flushed and no destructor runs.
[[gnu::cold, noreturn]] void end_by_signal(int signal);

}  // namespace dsl::TYPENET_MODE

#ifdef TYPENET_DEFINITIONS
#include <dsl/training/stop_on_signal_inl.hpp>
#endif
