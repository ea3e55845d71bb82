// SPDX-License-Identifier: MIT
#pragma once

#if defined(TYPENET_TARGETS) && !defined(TYPENET_HAS_MPI)
#error "mpi: <dsl/towers/mpi.hpp> needs MPI; link typenet::mpi or typenet::compiled_mpi"
#endif

#include <dsl/detail/list.hpp>
#include <dsl/detail/message.hpp>
#include <dsl/detail/mode.hpp>
#include <dsl/detail/owner.hpp>
#include <dsl/towers/launcher.hpp>
#include <dsl/towers/mpi_requests.hpp>
#include <dsl/towers/process_group.hpp>
#include <dsl/towers/watchdog.hpp>

#include <climits>
#include <mutex>
#include <string>

#include <sched.h>
#include <time.h>

namespace dsl::TYPENET_MODE {

/// The options of an mpi object: its deadline and its largest message.
struct mpi_options {
  /// The time in seconds after which the job ends if a process has died or hangs. It must be at least 1, longer than
  /// MPI takes to start, and longer than a step or a validation batch takes.
  double deadline_s = 30;
  /// The largest message in bytes, from 1 to 2147483647. Longer messages are sent in pieces.
  long long largest_message = 1LL << 30;
};

/// The processes that mpirun has started: `mpirun -n 4 program ...`. Make one such object at the beginning of main(),
/// for the whole program. If a process keeps the others waiting, they throw executor_error before the deadline. If an
/// exception leaves this object's scope, the process must end, which also ends the job. abort() ends the job at once,
/// from any thread; a process that still runs after the deadline is killed.
class mpi final : public process_group {
 public:
  /// Throws executor_error if MPI is already in use, cannot be called from several threads, or disagrees with the
  /// launcher; throws option_error if an option is out of range. If another process does not start, the constructor
  /// ends this process and thus the job.
  explicit mpi(mpi_options const& o = {});
  /// Waits for the other processes, so that all of them end together.
  ~mpi() override;

  int process() const override { return process_; }
  int processes() const override { return processes_; }

  /// Exchanges messages. Before that, every process announces which call it makes, so that no data are sent to a
  /// process that does not expect them.
  void exchange(char const* what, process_message const* out, process_message const* in) override;

  void interrupt(std::string const& why) override { end_with(why); }
  void share_cores(bool shared) override { __atomic_store_n(&shares_cores_, shared, __ATOMIC_RELAXED); }

  /// Waits until all processes have made this call; `what` names it.
  void meet(char const* what);

  /// Ends all processes. The reason is printed to standard error, and mpirun's exit code is `code`.
  [[gnu::cold, noreturn]] void abort(std::string const& why, int code = 1);

 private:
  struct header {
    long long call = 0;  // number of this process's call, from 1
    long long bytes = 0;
    long long piece = 0;  // size of the pieces
    char what[32] = {};
  };

  std::string who() const;
  static std::string text_of(double seconds);
  /// Returns how many seconds to wait for other processes. The rest of the deadline is needed for the step in which the
  /// loss of a process is not yet noticed, and for ending the job, which takes mpirun up to 4 s on several machines.
  double patience() const { return deadline_s_ > 16 ? deadline_s_ - 4 : 0.75 * deadline_s_; }
  static std::string why_late(void const* self);
  double abort_s() const { return patience() < 5 ? patience() : 5; }
  static std::string why_not_aborted(void const* self);
  void check(int result, char const* what);
  /// Makes every later exchange throw an error with this reason.
  void end_with(std::string const& why);
  bool unusable() const { return __atomic_load_n(&unusable_, __ATOMIC_ACQUIRE); }
  [[gnu::cold, noreturn]] void refuse();
  [[gnu::cold, noreturn]] void fail(std::string const& why);

  void wait(char const* what);
  /// Throws if another process did not make the same call.
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
  std::mutex reason_;
  std::string why_;  // the reason; reason_ guards it and the next two
  bool ending_ = false;
  detail::last_words* last_words_ = nullptr;  // outlives this object if an exception ends it
};

}  // namespace dsl::TYPENET_MODE

#ifdef TYPENET_DEFINITIONS
#include <dsl/towers/mpi_inl.hpp>
#endif
