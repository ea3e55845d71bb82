// SPDX-License-Identifier: MIT
#pragma once

#include <dsl/detail/failure_text.hpp>
#include <dsl/detail/list.hpp>
#include <dsl/detail/message.hpp>
#include <dsl/detail/mode.hpp>
#include <dsl/detail/owner.hpp>
#include <dsl/error.hpp>
#include <dsl/towers/launcher.hpp>
#include <dsl/towers/mpi.hpp>
#include <dsl/towers/mpi_requests.hpp>
#include <dsl/towers/process_group.hpp>
#include <dsl/towers/watchdog.hpp>

#include <climits>
#include <cstdio>
#include <cstring>
#include <exception>
#include <mutex>
#include <string>
#include <sched.h>
#include <time.h>
#include <unistd.h>

namespace dsl::TYPENET_MODE {

TYPENET_INLINE mpi::mpi(mpi_options const& o)
    : deadline_s_(o.deadline_s), piece_(o.largest_message), process_(launched_rank()) {
  if (!(o.deadline_s >= 1 && o.deadline_s < 1e6))  // NOLINT(readability-simplify-boolean-expr): NaN is refused, too
    throw option_error(
        detail::message({"mpi: the deadline must be at least 1 second and less than 1,000,000; found ", o.deadline_s}));
  if (piece_ < 1 || piece_ > INT_MAX)
    throw option_error(
        detail::message({"mpi: the largest message must have 1 to ", INT_MAX, " bytes; found ", piece_}));
  launch const before = launched();  // MPI_Init changes the environment
  int flag = 0;
  MPI_Initialized(&flag);
  if (flag) throw executor_error("mpi: MPI is initialized already; create a single dsl::mpi, in main()");
  {
    doing_ = "MPI_Init";
    detail::watchdog const guard(patience(), &mpi::why_late, this);
    int provided = 0;
    if (MPI_Init_thread(nullptr, nullptr, MPI_THREAD_SERIALIZED, &provided) != MPI_SUCCESS)
      throw executor_error("mpi: MPI_Init_thread failed");
    if (provided < MPI_THREAD_SERIALIZED) {
      MPI_Finalize();
      throw executor_error(
          "mpi: this MPI can't be called from several threads; use one that provides MPI_THREAD_SERIALIZED");
    }
  }
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  MPI_Comm_rank(MPI_COMM_WORLD, &process_);
  MPI_Comm_size(MPI_COMM_WORLD, &processes_);
  if (std::string const why = detail::why_alone(before, processes_); !why.empty()) {
    MPI_Finalize();
    throw executor_error(why);
  }
  sent_ = detail::list<header>(processes_);
  received_ = detail::list<header>(processes_);
}

TYPENET_INLINE mpi::~mpi() {
  if (std::uncaught_exceptions() > 0) {  // the catcher prints it; the launcher ends the others
    std::fprintf(stderr, "error: %san exception ends this process, and thereby the job\n", who().c_str());
    return;
  }
  try {
    meet("the end");
  } catch (std::exception const& e) {
    abort(e.what());
  }
  doing_ = "MPI_Finalize";
  detail::watchdog const guard(patience(), &mpi::why_late, this);
  MPI_Finalize();
}

TYPENET_INLINE void mpi::exchange(char const* what, process_message const* out, process_message const* in) {
  if (unusable()) refuse();
  ++call_;
  for (int q = 0; q < processes_; ++q) {
    if (q == process_) continue;
    received_[q] = {};
    sent_[q] = {.call = call_, .bytes = out[q].bytes, .piece = piece_};
    std::strncpy(sent_[q].what, what, sizeof sent_[q].what - 1);
    check(requests_.receive(q, {&received_[q], sizeof(header)}, sizeof(header)), what);
    check(requests_.send(q, {&sent_[q], sizeof(header)}, sizeof(header)), what);
  }
  wait(what);
  compare(what, in);
  for (int q = 0; q < processes_; ++q) {
    if (q != process_) {
      check(requests_.receive(q, in[q], received_[q].piece), what);
      check(requests_.send(q, out[q], piece_), what);
    } else if (in[q].bytes > 0 && in[q].data != out[q].data) {
      std::memmove(in[q].data, out[q].data, static_cast<std::size_t>(in[q].bytes));
    }
  }
  wait(what);
}

TYPENET_INLINE void mpi::meet(char const* what) {
  detail::list<process_message> const nothing(processes_);
  exchange(what, nothing.begin(), nothing.begin());
}

TYPENET_INLINE void mpi::abort(std::string const& why, int code) {
  detail::owner<detail::watchdog> watchdog;
  try {
    watchdog = detail::make_owner<detail::watchdog>(abort_s(), &mpi::why_not_aborted, this);
  } catch (std::exception const&) {  // NOLINT(bugprone-empty-catch): there is no thread for it
  }
  detail::last_words* said = nullptr;
  {
    std::scoped_lock const held(reason_);
    ending_ = true;
    said = last_words_;
    last_words_ = nullptr;
  }
  delete said;
  std::fprintf(stderr, "error: %s%s\n", why.starts_with("rank ") ? "" : who().c_str(), why.c_str());
  std::fflush(nullptr);
  std::scoped_lock const held(requests_.calls);
  MPI_Abort(MPI_COMM_WORLD, code);
  _exit(code);
}

TYPENET_INLINE std::string mpi::who() const {
  return processes_ > 0 ? detail::message({"rank ", process_, " of ", processes_, ": "})
                        : detail::message({"rank ", process_, ": "});
}

TYPENET_INLINE std::string mpi::text_of(double seconds) {
  char text[32];
  std::snprintf(text, sizeof text, "%g s", seconds);
  return text;
}

TYPENET_INLINE std::string mpi::why_late(void const* self) {
  mpi const& m = *static_cast<mpi const*>(self);
  std::string const halted = detail::halted_ranks();
  return detail::message({m.who(), "waited ", text_of(m.patience()), " in ", m.doing_, ", where all ranks meet; ",
                          halted.empty() ? "one of them did not arrive: it hangs or was stopped" : halted});
}

TYPENET_INLINE std::string mpi::why_not_aborted(void const* self) {
  mpi const& m = *static_cast<mpi const*>(self);
  return detail::message({m.who(), "MPI_Abort has not ended the job within ", text_of(m.abort_s()),
                          "; this process ends by itself; stop mpirun if others continue"});
}

TYPENET_INLINE void mpi::check(int result, char const* what) {
  if (result == MPI_SUCCESS) return;
  requests_.cancel();
  fail(detail::message({what, ": MPI error ", detail::text_of_mpi_error(result)}));
}

TYPENET_INLINE void mpi::end_with(std::string const& why) {
  std::scoped_lock const held(reason_);
  if (why_.empty()) why_ = detail::failure_text([&] { return why; });  // the first one is the cause
  __atomic_store_n(&unusable_, true, __ATOMIC_RELEASE);
}

TYPENET_INLINE void mpi::refuse() {
  std::scoped_lock const held(reason_);
  throw executor_error(why_);
}

TYPENET_INLINE void mpi::fail(std::string const& why) {
  end_with(detail::failure_text([&] { return who() + why; }));
  try {
    std::scoped_lock const held(reason_);
    if (!ending_ && !last_words_) last_words_ = new detail::last_words(deadline_s_ - patience(), why_);
  } catch (std::exception const&) {  // NOLINT(bugprone-empty-catch): without its thread the reason is still this one
  }
  refuse();
}

TYPENET_INLINE void mpi::wait(char const* what) {
  double begin = now(), last = begin;
  long long tries = 0;
  for (bool done = false;;) {
    check(requests_.test(done), what);
    if (done) return;
    if (unusable()) {
      requests_.cancel();
      refuse();
    }
    bool const shares = __atomic_load_n(&shares_cores_, __ATOMIC_RELAXED);
    if (++tries < 2000 && !shares) continue;
    double const time = now();
    if (time - last > 0.25) begin += time - last;  // this process itself was stopped
    last = time;
    if (time - begin > patience()) out_of_time(what);
    if (tries < 20000 && !shares) {
      sched_yield();
    } else {
      timespec const pause{0, shares ? 100'000 : 50'000};
      nanosleep(&pause, nullptr);
    }
  }
}

TYPENET_INLINE void mpi::compare(char const* what, process_message const* in) {
  for (int q = 0; q < processes_; ++q) {
    header const& h = received_[q];
    if (q == process_) continue;
    if (h.call == call_ && h.bytes == in[q].bytes && std::strncmp(h.what, what, sizeof h.what - 1) == 0) continue;
    fail(detail::message({"is at the exchange \"", what, "\" and expects ", in[q].bytes, " bytes, but rank ", q,
                          " is at \"", std::string(h.what), "\" and sends ", h.bytes,
                          "; all ranks must make the same calls in the same order"}));
  }
}

TYPENET_INLINE void mpi::out_of_time(char const* what) {
  std::string const missing = requests_.cancel();
  std::string const halted = detail::halted_ranks();
  fail(detail::message({"waited ", text_of(patience()), " for rank ", missing.empty() ? "?" : missing,
                        " in the exchange \"", what, "\"; ",
                        halted.empty() ? "it has died, hangs or was stopped" : halted}));
}

TYPENET_INLINE double mpi::now() {
  timespec t{};
  clock_gettime(CLOCK_MONOTONIC, &t);
  return static_cast<double>(t.tv_sec) + 1e-9 * static_cast<double>(t.tv_nsec);
}

}  // namespace dsl::TYPENET_MODE
