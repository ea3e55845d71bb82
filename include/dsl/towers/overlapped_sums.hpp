// SPDX-License-Identifier: MIT
#pragma once

#include <dsl/detail/list.hpp>
#include <dsl/detail/mode.hpp>
#include <dsl/detail/threads.hpp>
#include <dsl/towers/abort_state.hpp>
#include <dsl/towers/process_sums.hpp>

#include <mutex>

namespace dsl::detail::TYPENET_MODE {

/// Sums over the ranks of several processes while the ranks continue to compute. A separate thread computes a sum as
/// soon as all ranks of this process have submitted their parts of it. All ranks must submit the parts in the same
/// order. The processes may exchange nothing else until all ranks have waited for their sums.
class overlapped_sums {
 public:
  overlapped_sums(abort_state& fate, process_sums& sums, process_group& world);
  overlapped_sums(overlapped_sums const&) = delete;
  overlapped_sums& operator=(overlapped_sums const&) = delete;
  ~overlapped_sums();

  /// Submits data[0 ... count) as part of the next sum, for rank number `seat` of this process. The caller must not use
  /// the data until wait() has returned.
  template <class T>
  void start(int seat, T* data, long long count) {
    std::scoped_lock const held(fate_.guard);
    fate_.require();
    long long const i = handed_[seat];
    if (i == done_ && i == first_ + begun_here()) {  // the last step's sums are not needed any more
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
  /// Returns the number of sums for which this rank has submitted its part and has not yet waited. Only the rank's own
  /// thread may call this.
  long long begun(int seat) const { return handed_[seat] - waited_[seat]; }
  /// Waits until all sums submitted so far are complete. All ranks must have submitted parts of the same number of
  /// sums. Throws executor_error if the sums can no longer be completed.
  void wait(int seat);

 private:
  struct sum {
    unsigned long number_bytes = 0;
    long long count = 0;
    int handed = 0;  // number of seats that have submitted it
    int first = 0;   // the first seat that did
  };

  int seats() const { return handed_.size(); }
  int begun_here() const { return queue_.size(); }

  void serve();
  /// Waits for the next sum of which all parts have been submitted. Returns false if there will be no further sum.
  bool next();
  void make();

  [[gnu::cold, noreturn]] void differ(sum const& x, int seat, unsigned long number_bytes, long long count);

  abort_state& fate_;
  process_sums& sums_;
  process_group& world_;
  list<long long> handed_, waited_;  // per seat: number of sums since the beginning
  long long begun_ = 0;              // number of sums submitted by all seats
  long long done_ = 0;
  long long first_ = 0;  // number of the first sum in queue_
  list<sum> queue_;      // of the current step
  list<void*> data_;     // each sum's data of every seat
  sum what_;             // the sum that the thread is making
  list<void*> now_;
  bool stopping_ = false;
  thread_group thread_;
};

}  // namespace dsl::detail::TYPENET_MODE

#ifdef TYPENET_DEFINITIONS
#include <dsl/towers/overlapped_sums_inl.hpp>
#endif
