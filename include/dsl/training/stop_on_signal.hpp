// SPDX-License-Identifier: MIT
#pragma once

#include <dsl/detail/mode.hpp>
#include <dsl/detail/threads.hpp>
#include <dsl/training/callback.hpp>

#include <csignal>
#include <initializer_list>
#include <vector>

#include <pthread.h>

namespace dsl::TYPENET_MODE {

/// Ends a run in the middle of an epoch where its process is asked to end, with Ctrl-C or by kill:
///   trainer.fit(data, {.callbacks = {backup_and_restore{"run.state"}, stop_on_signal{}}});
/// After the step under way backup_and_restore takes the state; one more step, or a batch of validation, proves its
/// weights; then fit throws interrupted. The run that is started again resumes there, to the same bits. A second signal
/// ends the process at once, as it would without this callback. Of several processes it is enough that one is asked.
/// Handlers are set from on_train_begin until fit returns or throws, and then those before are back. A signal that is
/// ignored, as nohup and a shell's background jobs have it, stays ignored. The handler stores a number and calls
/// nothing that may not be called there.
class TYPENET_EXPORT stop_on_signal : public callback {
 public:
  /// Throws option_error for a number that is no signal's, or one's that no process may handle.
  [[gnu::cold]] stop_on_signal(std::initializer_list<int> signals = {SIGINT, SIGTERM, SIGHUP});

  [[gnu::cold]] void on_train_begin(fit_run& run) override;

  /// The signal that came in the last run, 0 for none. Where fit has returned, it came too late to interrupt it.
  static int received() { return __atomic_load_n(&pending, __ATOMIC_RELAXED); }

 private:
  static inline int pending = 0;
  static inline struct sigaction before[NSIG] = {};  // NOLINT(modernize-avoid-c-arrays): the handler reads it

  /// Process-wide, for as many runs as there are at a time.
  class handlers {
   public:
    [[gnu::cold]] explicit handlers(std::vector<int> const& signals) {
      detail::lock const held(guard);
      if (runs++ == 0) __atomic_store_n(&pending, 0, __ATOMIC_RELAXED);
      for (int const s : signals) set(s);
    }
    handlers(handlers const&) = delete;
    handlers& operator=(handlers const&) = delete;
    ~handlers() {
      detail::lock const held(guard);
      if (--runs > 0) return;
      for (int s = 1; s < NSIG; ++s)
        if (ours[s]) ::sigaction(s, &before[s], nullptr), ours[s] = false;
    }

   private:
    [[gnu::cold]] static void set(int s) {
      struct sigaction found{};
      if (ours[s] || ::sigaction(s, nullptr, &found) != 0) return;
      if ((found.sa_flags & SA_SIGINFO) == 0 && found.sa_handler == SIG_IGN) return;
      before[s] = found;
      struct sigaction mine{};
      mine.sa_handler = &stop_on_signal::handle;
      mine.sa_flags = SA_RESTART;  // what is being written is not cut short
      ::sigemptyset(&mine.sa_mask);
      ours[s] = ::sigaction(s, &mine, nullptr) == 0;
    }
    static inline detail::mutex guard;
    static inline int runs = 0;
    static inline bool ours[NSIG] = {};  // NOLINT(modernize-avoid-c-arrays)
  };

  static void handle(int signal);

  std::vector<int> signals_;
};

/// Ends the process by this signal, as if nobody had a handler for it: for after interrupted, so that whoever started
/// the process, a shell's loop say, sees why it ended. Nothing is flushed and no destructor runs.
[[gnu::cold, noreturn]] void end_by_signal(int signal);

}  // namespace dsl::TYPENET_MODE

#ifndef TYPENET_COMPILED
#include <dsl/training/stop_on_signal_inl.hpp>
#endif
