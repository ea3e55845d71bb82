// SPDX-License-Identifier: MIT
#pragma once

#include <dsl/detail/chain.hpp>
#include <dsl/detail/list.hpp>
#include <dsl/detail/message.hpp>
#include <dsl/detail/threads.hpp>
#include <dsl/error.hpp>
#include <dsl/towers/host_tower.hpp>
#include <dsl/towers/threads.hpp>

#include <cstring>
#include <string>

namespace dsl {

/// Ranks that are threads of one process. They add up their numbers in place, each a part of them, so that a sum costs
/// one pass over every rank's memory, shared by all cores.
class in_process_group {
 public:
  [[gnu::cold]] explicit in_process_group(int ranks) {
    if (ranks < 1)
      throw option_error(detail::message({"in_process_group: there must be 1 rank or more; found ", ranks}));
    calls_ = detail::list<call>(ranks);
    for (int r = 0; r < ranks; ++r) members_.emplace(*this, r);
    if (ranks <= detail::core_set::available().cores.size()) spins_ = 10'000;
  }
  in_process_group(in_process_group const&) = delete;
  in_process_group& operator=(in_process_group const&) = delete;

  int ranks() const { return calls_.size(); }
  /// For the thread that is rank r. Lives as long as the group.
  communicator& at(int r) { return members_[r]; }

  /// A rank gives up: whoever waits, and every call from now on, throws an executor_error that says why.
  [[gnu::cold]] void abort(std::string const& why) {
    detail::lock const held(mutex_);
    break_with(why);
  }
  /// Throws that error where some rank has given up.
  void require_all() {
    detail::lock const held(mutex_);
    if (broken_) refuse();
  }
  /// Whether some rank has given up.
  bool broken() {
    detail::lock const held(mutex_);
    return broken_;
  }

 private:
  enum class kind : unsigned char { none, sum, gather };
  struct call {
    kind what = kind::none;
    int bytes = 0;  // of a number
    void* data = nullptr;
    void* all = nullptr;
    long long count = 0;
    friend bool operator==(call const& a, call const& b) {
      return a.what == b.what && a.bytes == b.bytes && a.count == b.count;
    }
  };

  class member final : public detail::host_communicator {
   public:
    member(in_process_group& g, int rank) : group_(g), rank_(rank) {}
    int rank() const override { return rank_; }
    int ranks() const override { return group_.ranks(); }
    void all_reduce(float* data, long long count) override { sum(data, count); }
    void all_reduce(double* data, long long count) override { sum(data, count); }
    void all_gather(double const* data, long long count, double* all) override {
      group_.meet(rank_, {kind::gather, 8, const_cast<double*>(data), all, count});
      for (int r = 0; r < ranks(); ++r)
        std::memcpy(all + r * count, group_.calls_[r].data, static_cast<std::size_t>(8 * count));
      group_.part();
    }

   private:
    template <class T>
    void sum(T* data, long long count) {
      if (ranks() == 1) return;
      group_.meet(rank_, {kind::sum, sizeof(T), data, nullptr, count});
      group_.add_up<T>(rank_, count);
      group_.part();
    }
    in_process_group& group_;
    int rank_;
  };

  /// Every rank's arrays are the caller's to use from here to part().
  void meet(int rank, call const& c) {
    detail::lock const held(mutex_);
    if (broken_) refuse();
    calls_[rank] = c;
    if (arrived_ > 0 && !(calls_[last_] == c)) differ(rank);
    last_ = rank;
    wait_for_all();
  }
  void part() {
    detail::lock const held(mutex_);
    if (broken_) refuse();
    wait_for_all();
  }
  void wait_for_all() {
    unsigned const round = round_;
    if (++arrived_ == ranks()) {
      arrived_ = 0;
      __atomic_store_n(&round_, round + 1, __ATOMIC_RELEASE);
      return arrival_.notify_all();
    }
    mutex_.unlock();
    for (int i = 0; i < spins_ && __atomic_load_n(&round_, __ATOMIC_ACQUIRE) == round; ++i) detail::relax();
    mutex_.lock();
    while (round_ == round && !broken_) arrival_.wait(mutex_);
    if (round_ == round) refuse();
  }

  /// One rank's part of the numbers, in pieces that stay in the cache.
  template <class T>
  void add_up(int rank, long long count) {
    long long const begin = count * rank / ranks(), end = count * (rank + 1) / ranks();
    constexpr long long piece = 2048;
    T sums[piece];
    for (long long at = begin; at < end; at += piece) {
      long long const n = end - at < piece ? end - at : piece;
      std::memcpy(sums, data_of<T>(0) + at, static_cast<std::size_t>(n) * sizeof(T));
      for (int r = 1; r < ranks(); ++r) {
        T const* const more = data_of<T>(r) + at;
        for (long long i = 0; i < n; ++i) sums[i] += more[i];
      }
      for (int r = 0; r < ranks(); ++r) std::memcpy(data_of<T>(r) + at, sums, static_cast<std::size_t>(n) * sizeof(T));
    }
  }
  template <class T>
  T* data_of(int rank) const {
    return static_cast<T*>(calls_[rank].data);
  }

  [[gnu::cold]] void break_with(std::string const& why) {
    if (broken_) return;  // the first reason is the cause
    broken_ = true;
    why_ = why;
    arrival_.notify_all();
  }
  [[gnu::cold, noreturn]] void refuse() const { throw executor_error(why_); }
  [[gnu::cold, noreturn]] void differ(int rank) {
    call const &a = calls_[last_], &b = calls_[rank];
    auto const name = [](call const& c) { return c.what == kind::sum ? "all_reduce" : "all_gather"; };
    break_with(detail::message({"towers: rank ", last_, " calls ", name(a), " of ", a.count, " numbers of ", a.bytes,
                                " bytes, rank ", rank, " ", name(b), " of ", b.count, " of ", b.bytes,
                                "; all ranks must make the same calls in the same order"}));
    refuse();
  }

  detail::mutex mutex_;
  detail::condition arrival_;
  detail::list<call> calls_;  // per rank, of the current round
  detail::chain<member> members_;
  int arrived_ = 0;
  int last_ = 0;  // the rank that came last
  unsigned round_ = 0;
  // Looks at round_ before a rank sleeps, some 0.2 ms: towers arrive that close at a batch_norm, and a sleep's end
  // costs as much. Where ranks have no core each, the others need it.
  int spins_ = 0;
  bool broken_ = false;
  std::string why_;
};

}  // namespace dsl
