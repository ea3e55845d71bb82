// SPDX-License-Identifier: MIT
#pragma once

#include <dsl/detail/list.hpp>
#include <dsl/detail/message.hpp>
#include <dsl/detail/mode.hpp>
#include <dsl/detail/owner.hpp>
#include <dsl/towers/last_resort.hpp>
#include <dsl/towers/mpi_requests.hpp>
#include <dsl/towers/process_group.hpp>

#include <climits>
#include <string>

#include <sched.h>
#include <time.h>

namespace dsl::TYPENET_MODE {

/// How long processes wait for each other, and how much they send at once.
struct mpi_options {
  /// In which the job ends when a process has died or hangs; more than a step and a validation batch take, and MPI's
  /// start: at least 1.
  double deadline_s = 30;
  /// In bytes, at most 2147483647: what is longer travels in pieces.
  long long largest_message = 1LL << 30;
};

/// The processes that mpirun started: `mpirun -n 4 program ...`. One for the whole of a program, made at the begin of
/// main(). A process that keeps the others waiting makes them throw executor_error within the deadline. Where an
/// exception leaves this object's scope the process must end, and with it the job; abort() ends it at once, from any
/// thread. A process that still goes on when the deadline is over is ended.
class mpi final : public process_group {
 public:
  /// Throws executor_error where MPI is in use already or can't be called from threads, option_error for a deadline
  /// below 1 second or no number. Where another process does not come it ends this one, and so the job.
  [[gnu::cold]] explicit mpi(mpi_options const& o = {});
  /// Waits for the others; all end together.
  ~mpi() override;

  int process() const override { return process_; }
  int processes() const override { return processes_; }

  /// First everybody says what it calls, so that no data goes where nobody awaits it.
  void exchange(char const* what, process_message const* out, process_message const* in) override;

  [[gnu::cold]] void interrupt(std::string const& why) override { end_with(why); }
  void share_cores(bool shared) override { __atomic_store_n(&shares_cores_, shared, __ATOMIC_RELAXED); }

  /// Waits until all processes have come.
  void meet(char const* what);

  /// Ends all processes; the reason goes to standard error, mpirun's exit code is `code`.
  [[gnu::cold, noreturn]] void abort(std::string const& why, int code = 1);

 private:
  struct header {
    long long call = 0;  // counts this process's calls, from 1
    long long bytes = 0;
    long long piece = 0;  // in how many of them each
    char what[32] = {};
  };

  [[gnu::cold]] std::string who() const;
  static std::string text_of(double seconds);
  /// The rest of the deadline is for the step after which the others are missed, and for ending the job: mpirun takes
  /// up to 4 s for that where there are several machines.
  double patience() const { return deadline_s_ > 16 ? deadline_s_ - 4 : 0.75 * deadline_s_; }
  [[gnu::cold]] static std::string why_late(void const* self);
  double abort_s() const { return patience() < 5 ? patience() : 5; }
  [[gnu::cold]] static std::string why_not_aborted(void const* self);
  void check(int result, char const* what);
  /// From now on every exchange throws.
  [[gnu::cold]] void end_with(std::string const& why);
  bool unusable() const { return __atomic_load_n(&unusable_, __ATOMIC_ACQUIRE); }
  [[gnu::cold, noreturn]] void refuse();
  [[gnu::cold, noreturn]] void fail(std::string const& why);

  void wait(char const* what);
  /// Whether the others called what this process did.
  void compare(char const* what, process_message const* in);
  [[gnu::cold, noreturn]] void out_of_time(char const* what);
  static double now();

  double deadline_s_;
  long long piece_;
  int process_;
  int processes_ = 0;  // 0: not known yet
  long long call_ = 0;
  char const* doing_ = "";
  detail::mpi_requests requests_;
  detail::list<header> sent_, received_;
  bool shares_cores_ = false;
  bool unusable_ = false;
  detail::mutex reason_;
  std::string why_;  // with what follows, guarded by it
  bool ending_ = false;
  detail::last_words* last_words_ = nullptr;  // outlive this object where an exception ends it
};

}  // namespace dsl::TYPENET_MODE

#ifndef TYPENET_COMPILED
#include <dsl/towers/mpi_inl.hpp>
#endif
