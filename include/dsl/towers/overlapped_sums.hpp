// SPDX-License-Identifier: MIT
#pragma once

#include <dsl/detail/list.hpp>
#include <dsl/detail/mode.hpp>
#include <dsl/detail/threads.hpp>
#include <dsl/towers/common_fate.hpp>
#include <dsl/towers/process_sums.hpp>

namespace dsl::detail::TYPENET_MODE {

/// Sums over the ranks of several processes while those compute: a thread of its own makes them, each as soon as all
/// ranks of this process have handed it over, in that order. In each process the order is the same, so that nothing
/// else may be exchanged until all ranks have waited for their sums.
class overlapped_sums {
 public:
  [[gnu::cold]] overlapped_sums(common_fate& fate, process_sums& sums, process_group& world);
  overlapped_sums(overlapped_sums const&) = delete;
  overlapped_sums& operator=(overlapped_sums const&) = delete;
  ~overlapped_sums();

  /// For the seat-th rank of this process: data[0 ... count) is its part of its next sum. Until wait() it belongs to
  /// the sum.
  template <class T>
  void start(int seat, T* data, long long count) {
    lock const held(fate_.guard);
    fate_.require();
    long long const i = handed_[seat];
    if (i == done_ && i == first_ + begun_here()) {  // nobody needs those of the last step any more
      first_ = i;
      queue_.clear();
      data_.clear();
    }
    int const at = static_cast<int>(i - first_);
    if (at == begun_here()) {
      queue_.push({sizeof(T), count, 0, seat});
      for (int s = 0; s < seats(); ++s) data_.push(nullptr);
    }
    sum& x = queue_[at];
    if (x.number_bytes != sizeof(T) || x.count != count) differ(x, seat, sizeof(T), count);
    data_[at * seats() + seat] = data;
    ++handed_[seat];
    if (++x.handed < seats()) return;
    begun_ = i + 1;
    world_.share_cores(true);
    fate_.changed.notify_all();
  }
  /// Those that this seat has not waited for yet; only its own thread asks.
  long long begun(int seat) const { return handed_[seat] - waited_[seat]; }
  /// When all seats have come as far, with as many begun: until these are done. Throws executor_error where that can't
  /// be any more.
  void wait(int seat);

 private:
  struct sum {
    unsigned long number_bytes = 0;
    long long count = 0;
    int handed = 0;  // by so many seats
    int first = 0;   // who came first
  };

  int seats() const { return handed_.size(); }
  int begun_here() const { return queue_.size(); }

  static void* serve(void* self);
  void serve();
  /// Waits for the next sum that can be made. False: there will be none.
  bool next();
  void make();

  [[gnu::cold, noreturn]] void differ(sum const& x, int seat, unsigned long number_bytes, long long count);

  common_fate& fate_;
  process_sums& sums_;
  process_group& world_;
  list<long long> handed_, waited_;  // per seat: sums since the beginning
  long long begun_ = 0;              // handed over by all seats
  long long done_ = 0;
  long long first_ = 0;  // number of queue_'s first
  list<sum> queue_;      // of the current step
  list<void*> data_;     // of each of them: every seat's
  sum what_;             // the thread's own: what it makes now
  list<void*> now_;
  bool stopping_ = false;
  thread_group thread_;
};

}  // namespace dsl::detail::TYPENET_MODE

#ifndef TYPENET_COMPILED
#include <dsl/towers/overlapped_sums_inl.hpp>
#endif
