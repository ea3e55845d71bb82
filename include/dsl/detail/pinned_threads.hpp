// SPDX-License-Identifier: MIT
#pragma once

#include <dsl/detail/allowed_cores.hpp>
#include <dsl/detail/chain.hpp>
#include <dsl/detail/mode.hpp>
#include <dsl/detail/threads.hpp>
#include <dsl/error.hpp>

#include <condition_variable>
#include <exception>
#include <mutex>

namespace dsl::detail::TYPENET_MODE {

/// The processor cores that this process may use.
struct core_set {
  list<int> cores{};

  static core_set available() { return {allowed_cores()}; }
  /// Returns cores [first, first + count) of this set, or no cores if it has fewer.
  core_set slice(int first, int count) const {
    core_set s;
    for (int i = first; i < first + count && first + count <= cores.size(); ++i) s.cores.push(cores[i]);
    return s;
  }
  /// Pins the calling thread, and threads it starts later, to these cores. Does nothing if the set is empty.
  void pin() const { use_only(cores); }
};

/// One thread per tower, each pinned to separate cores, for the lifetime of the towers. An OpenMP runtime keeps a
/// thread pool for every calling thread, so towers never share one.
class pinned_threads {
 public:
  pinned_threads(int towers, core_set const* seats) {
    for (int i = 0; i < towers; ++i) seats_.emplace(*this, i, seats[i]);
    try {
      for (seat& s : seats_)
        threads_.start([&s] {
          s.place.pin();
          s.all.serve(s);
        });
    } catch (...) {
      stop();
      throw;
    }
  }
  pinned_threads(pinned_threads const&) = delete;
  pinned_threads& operator=(pinned_threads const&) = delete;
  ~pinned_threads() { stop(); }

  /// Calls work(tower) on every tower's thread at the same time and waits for all. If a call throws, failed(tower) is
  /// called immediately on that thread. run() then throws the first exception that is not a peer_error, or else the
  /// first one.
  template <class F, class G>
  void run(F work, G failed) {
    struct both {
      F& work;
      G& failed;
    } context{work, failed};
    give({[](void* c, int tower) { static_cast<both*>(c)->work(tower); },
          [](void* c, int tower) { static_cast<both*>(c)->failed(tower); }, &context});
  }

 private:
  struct order {
    void (*work)(void* context, int tower) = nullptr;
    void (*failed)(void* context, int tower) = nullptr;
    void* context = nullptr;
  };
  struct seat {
    pinned_threads& all;
    int tower;
    core_set place;
    unsigned done = 0;
    seat(pinned_threads& a, int t, core_set const& p) : all(a), tower(t), place(p) {}
  };

  void give(order const& o) {
    std::unique_lock held(mutex_);
    order_ = o;
    failure_ = nullptr;
    ++orders_;
    pending_ = threads_.size();
    ordered_.notify_all();
    finished_.wait(held, [this] { return pending_ == 0; });
    if (failure_) std::rethrow_exception(failure_);
  }
  void serve(seat& mine) {
    for (;;) {
      {
        std::unique_lock held(mutex_);
        ordered_.wait(held, [&] { return mine.done != orders_ || stopping_; });
        if (stopping_) return;
        mine.done = orders_;
      }
      try {
        order_.work(order_.context, mine.tower);
      } catch (...) {
        note(std::current_exception());  // before other towers notice and fail, too
        order_.failed(order_.context, mine.tower);
      }
      std::scoped_lock const held(mutex_);
      if (--pending_ == 0) finished_.notify_all();
    }
  }
  void note(std::exception_ptr const& failure) {
    std::scoped_lock const held(mutex_);
    if (!failure_ || is_echo(failure_)) failure_ = failure;
  }
  static bool is_echo(std::exception_ptr const& failure) {
    try {
      std::rethrow_exception(failure);
    } catch (peer_error const&) {
      return true;
    } catch (...) {
      return false;
    }
  }
  void stop() {
    {
      std::scoped_lock const held(mutex_);
      stopping_ = true;
      ordered_.notify_all();
    }
    threads_.join();
  }

  std::mutex mutex_;
  std::condition_variable ordered_, finished_;
  order order_;
  unsigned orders_ = 0;
  int pending_ = 0;
  bool stopping_ = false;
  std::exception_ptr failure_;
  chain<seat> seats_;
  thread_group threads_;
};

}  // namespace dsl::detail::TYPENET_MODE
