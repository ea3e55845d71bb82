// SPDX-License-Identifier: MIT
#pragma once

#include <dsl/detail/chain.hpp>
#include <dsl/detail/list.hpp>
#include <dsl/detail/message.hpp>
#include <dsl/detail/threads.hpp>
#include <dsl/error.hpp>
#include <dsl/towers/host_tower.hpp>
#include <dsl/towers/process_group.hpp>
#include <dsl/towers/threads.hpp>

#include <cstring>
#include <string>
#include <vector>

namespace dsl {

/// Ranks that are threads of one process, or of several: then those of process 0 come first. In one process they add up
/// their numbers in place, each a part of them, so that a sum costs one pass over every rank's memory, shared by all
/// cores. Processes do the same with each other: every one adds up a part of the numbers, of all ranks in rank order,
/// and sends it to the others; the bits are those of one process with as many ranks.
class in_process_group {
 public:
  /// `ranks` of this process; other processes may have other numbers of them. All make their groups at the same time.
  [[gnu::cold]] explicit in_process_group(int ranks, process_group* world = nullptr) : world_(world) {
    if (ranks < 1)
      throw option_error(detail::message({"in_process_group: there must be 1 rank or more; found ", ranks}));
    calls_ = detail::list<call>(ranks);
    counts_ = detail::list<int>(processes());
    out_ = in_ = detail::list<process_message>(processes());
    if (world)
      world->gather("the number of towers", ranks, counts_.begin());
    else
      counts_[0] = ranks;
    for (int q = 0; q < processes(); ++q) {
      if (q == process()) first_ = all_;
      all_ += counts_[q];
    }
    for (int r = 0; r < ranks; ++r) members_.emplace(*this, r);
    if (ranks <= detail::core_set::available().cores.size()) spins_ = 10'000;
  }
  in_process_group(in_process_group const&) = delete;
  in_process_group& operator=(in_process_group const&) = delete;

  /// Of all processes.
  int ranks() const { return all_; }
  /// Of this one: [first_rank(), first_rank() + own_ranks()).
  int own_ranks() const { return calls_.size(); }
  int first_rank() const { return first_; }
  int ranks_of(int process) const { return counts_[process]; }
  /// For the thread that is the r-th rank of this process. Lives as long as the group.
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
    member(in_process_group& g, int seat) : group_(g), seat_(seat) {}
    int rank() const override { return group_.first_ + seat_; }
    int ranks() const override { return group_.ranks(); }
    bool broken() override { return group_.broken(); }
    void all_reduce(float* data, long long count) override { sum(data, count); }
    void all_reduce(double* data, long long count) override { sum(data, count); }
    void all_gather(double const* data, long long count, double* all) override {
      group_.meet(seat_, {kind::gather, 8, const_cast<double*>(data), all, count});
      double* const own = all + group_.first_ * count;
      for (int s = 0; s < group_.own_ranks(); ++s)
        std::memcpy(own + s * count, group_.calls_[s].data, static_cast<std::size_t>(8 * count));
      group_.part();
      if (group_.processes() == 1) return;
      if (seat_ == 0) group_.gather_from_others(all, count);
      group_.take_over(seat_, all, 8 * count * ranks());
    }
    void give_up(char const* why) override {
      group_.abort(detail::message({"towers: tower ", rank(), " failed: ", why}));
    }

   private:
    template <class T>
    void sum(T* data, long long count) {
      if (ranks() == 1) return;
      group_.meet(seat_, {kind::sum, sizeof(T), data, data, count});
      if (group_.processes() == 1) {
        group_.add_up<T>(seat_, count);
        return group_.part();
      }
      if (seat_ == 0) group_.add_up_with_others<T>(count);
      group_.take_over(seat_, data, static_cast<long long>(sizeof(T)) * count);
    }
    in_process_group& group_;
    int seat_;
  };

  int process() const { return world_ ? world_->process() : 0; }
  int processes() const { return world_ ? world_->processes() : 1; }

  /// Every rank's arrays are the caller's to use from here to part().
  void meet(int seat, call const& c) {
    detail::lock const held(mutex_);
    if (broken_) refuse();
    calls_[seat] = c;
    if (arrived_ > 0 && !(calls_[last_] == c)) differ(seat);
    last_ = seat;
    wait_for_all();
  }
  void part() {
    detail::lock const held(mutex_);
    if (broken_) refuse();
    wait_for_all();
  }
  void wait_for_all() {
    unsigned const round = round_;
    if (++arrived_ == own_ranks()) {
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

  /// Everybody else's result is what seat 0 has in `data` or `all`.
  void take_over(int seat, void* result, long long bytes) {
    part();
    if (seat > 0) std::memcpy(result, calls_[0].all, static_cast<std::size_t>(bytes));
    part();
  }

  /// One rank's part of the numbers, in pieces that stay in the cache.
  template <class T>
  void add_up(int seat, long long count) {
    long long const begin = count * seat / own_ranks(), end = count * (seat + 1) / own_ranks();
    constexpr long long piece = 2048;
    T sums[piece];
    for (long long at = begin; at < end; at += piece) {
      long long const n = end - at < piece ? end - at : piece;
      std::memcpy(sums, data_of<T>(0) + at, static_cast<std::size_t>(n) * sizeof(T));
      for (int r = 1; r < own_ranks(); ++r) {
        T const* const more = data_of<T>(r) + at;
        for (long long i = 0; i < n; ++i) sums[i] += more[i];
      }
      for (int r = 0; r < own_ranks(); ++r)
        std::memcpy(data_of<T>(r) + at, sums, static_cast<std::size_t>(n) * sizeof(T));
    }
  }
  template <class T>
  T* data_of(int seat) const {
    return static_cast<T*>(calls_[seat].data);
  }

  // ---- with other processes: by seat 0, while the others of this process wait ----

  static long long begin_of(long long count, int part, int parts) { return count * part / parts; }

  /// Process q adds up the q-th part of the numbers, over all ranks in their order; then everybody gets everything.
  template <class T>
  void add_up_with_others(long long count) {
    int const parts = processes(), mine = process();
    auto const begin = [&](int q) { return begin_of(count, q, parts); };
    auto const size = [&](int q) { return begin(q + 1) - begin(q); };
    std::vector<T>& packed = buffer<T>(0);
    std::vector<T>& arrived = buffer<T>(1);
    packed.resize(static_cast<std::size_t>(count * own_ranks()));
    arrived.resize(static_cast<std::size_t>(size(mine) * all_));
    T* to = packed.data();
    T* from = arrived.data();
    for (int q = 0; q < parts; ++q) {
      out_[q] = {to, static_cast<long long>(sizeof(T)) * size(q) * own_ranks()};
      for (int s = 0; s < own_ranks(); ++s, to += size(q))
        std::memcpy(to, data_of<T>(s) + begin(q), static_cast<std::size_t>(size(q)) * sizeof(T));
      in_[q] = {from, static_cast<long long>(sizeof(T)) * size(mine) * counts_[q]};
      from += size(mine) * counts_[q];
    }
    world_->exchange("all_reduce", out_.begin(), in_.begin());
    T* const sums = data_of<T>(0) + begin(mine);
    std::memcpy(sums, arrived.data(), static_cast<std::size_t>(size(mine)) * sizeof(T));
    for (int r = 1; r < all_; ++r) {
      T const* const more = arrived.data() + r * size(mine);
      for (long long i = 0; i < size(mine); ++i) sums[i] += more[i];
    }
    for (int q = 0; q < parts; ++q) {
      out_[q] = {sums, static_cast<long long>(sizeof(T)) * size(mine)};
      in_[q] = {data_of<T>(0) + begin(q), static_cast<long long>(sizeof(T)) * size(q)};
    }
    world_->exchange("all_reduce, its sums", out_.begin(), in_.begin());
  }
  void gather_from_others(double* all, long long count) {
    double* at = all;
    for (int q = 0; q < processes(); ++q) {
      out_[q] = {all + first_ * count, 8 * count * own_ranks()};
      in_[q] = {at, 8 * count * counts_[q]};
      at += count * counts_[q];
    }
    world_->exchange("all_gather", out_.begin(), in_.begin());
  }
  template <class T>
  std::vector<T>& buffer(int which) {
    if constexpr (sizeof(T) == sizeof(float))
      return floats_[which];
    else
      return doubles_[which];
  }

  [[gnu::cold]] void break_with(std::string const& why) {
    if (broken_) return;  // the first reason is the cause
    broken_ = true;
    why_ = why;
    arrival_.notify_all();
  }
  [[gnu::cold, noreturn]] void refuse() const { throw executor_error(why_); }
  [[gnu::cold, noreturn]] void differ(int seat) {
    call const &a = calls_[last_], &b = calls_[seat];
    auto const name = [](call const& c) { return c.what == kind::sum ? "all_reduce" : "all_gather"; };
    break_with(detail::message({"towers: rank ", first_ + last_, " calls ", name(a), " of ", a.count, " numbers of ",
                                a.bytes, " bytes, rank ", first_ + seat, " ", name(b), " of ", b.count, " of ", b.bytes,
                                "; all ranks must make the same calls in the same order"}));
    refuse();
  }

  process_group* world_;
  detail::list<int> counts_;  // ranks per process
  int all_ = 0;
  int first_ = 0;                           // rank of this process's seat 0
  detail::list<process_message> out_, in_;  // of the current exchange
  std::vector<float> floats_[2];
  std::vector<double> doubles_[2];
  detail::mutex mutex_;
  detail::condition arrival_;
  detail::list<call> calls_;  // per rank of this process, of the current round
  detail::chain<member> members_;
  int arrived_ = 0;
  int last_ = 0;  // who came last
  unsigned round_ = 0;
  // Looks at round_ before a rank sleeps, some 0.2 ms: towers arrive that close at a batch_norm, and a sleep's end
  // costs as much. Where ranks have no core each, the others need it.
  int spins_ = 0;
  bool broken_ = false;
  std::string why_;
};

}  // namespace dsl
