// SPDX-License-Identifier: MIT
#pragma once

#include <dsl/detail/chain.hpp>
#include <dsl/detail/failure_text.hpp>
#include <dsl/detail/list.hpp>
#include <dsl/detail/message.hpp>
#include <dsl/detail/mode.hpp>
#include <dsl/detail/owner.hpp>
#include <dsl/detail/pinned_threads.hpp>
#include <dsl/detail/threads.hpp>
#include <dsl/towers/abort_state.hpp>
#include <dsl/towers/host_tower.hpp>
#include <dsl/towers/overlapped_sums.hpp>
#include <dsl/towers/process_group.hpp>
#include <dsl/towers/process_sums.hpp>

#include <cstring>
#include <string>

namespace dsl::TYPENET_MODE {

/// Ranks that are threads of one process or of several processes. Ranks are numbered in the order of the processes.
/// Within a process, each rank adds up a part of the numbers in place, so that a sum reads every rank's memory once and
/// uses all cores. Several processes split a sum in the same way and may compute it while their ranks continue; the
/// result has the same bits as in one process with the same total number of ranks.
class in_process_group {
 public:
  /// Makes a group with `ranks` ranks in this process. Other processes may have a different number of ranks, but all
  /// processes must make their groups at the same time.
  explicit in_process_group(int ranks, process_group* world = nullptr);
  in_process_group(in_process_group const&) = delete;
  in_process_group& operator=(in_process_group const&) = delete;

  /// Returns the number of ranks in all processes.
  int ranks() const { return between_.ranks(); }
  /// Returns the number of ranks in this process. They are the ranks first_rank() to first_rank() + own_ranks() - 1.
  int own_ranks() const { return calls_.size(); }
  int first_rank() const { return between_.first(); }
  int ranks_of(int process) const { return between_.ranks_of(process); }
  /// Returns the communicator for the thread that is the r-th rank of this process. It is valid as long as the group
  /// exists.
  communicator& at(int r) { return members_[r]; }

  /// Makes every waiting rank, and every later call, throw an executor_error with this reason. Returns when no thread
  /// uses the ranks' numbers any more.
  void abort(std::string const& why);
  /// Throws this executor_error if a rank has called abort().
  void require_all();
  /// Whether a rank has called abort().
  bool broken();

 private:
  enum class kind : unsigned char { none, sum, gather, fold, finish };
  struct call {
    kind what = kind::none;
    int bytes = 0;  // of a number
    void* data = nullptr;
    void* all = nullptr;
    long long count = 0;
    double head = 0;  // of a fold
    friend bool operator==(call const& a, call const& b) {
      return a.what == b.what && a.bytes == b.bytes && a.count == b.count;
    }
  };

  class member final : public detail::host_communicator {
   public:
    member(in_process_group& g, int seat) : group_(g), seat_(seat) {}
    int rank() const override { return group_.first_rank() + seat_; }
    int ranks() const override { return group_.ranks(); }
    bool broken() override { return group_.broken(); }
    void all_reduce(float* data, long long count) override { sum(data, count); }
    void all_reduce(double* data, long long count) override { sum(data, count); }
    // Four buckets: no computation hides the last one's exchange, so it should be small; but each costs two exchanges.
    int buckets() const override { return group_.aside_ ? 4 : 1; }
    void start_all_reduce(float* data, long long count) override { start(data, count); }
    void start_all_reduce(double* data, long long count) override { start(data, count); }
    void finish_all_reduces() override {
      if (!group_.aside_) return;
      long long const begun = group_.aside_->begun(seat_);
      if (begun == 0) return;
      group_.meet(seat_, {kind::finish, 0, nullptr, nullptr, begun});
      group_.aside_->wait(seat_);
    }
    void all_gather(double const* data, long long count, double* all) override {
      finish_all_reduces();
      group_.meet(seat_, {kind::gather, 8, const_cast<double*>(data), all, count});
      double* const own = all + group_.first_rank() * count;
      for (int s = 0; s < group_.own_ranks(); ++s)
        std::memcpy(own + s * count, group_.calls_[s].data, static_cast<std::size_t>(8 * count));
      group_.part();
      if (!group_.aside_) return;
      if (seat_ == 0) group_.fate_.exchange([&] { group_.between_.gather(all, count); });
      group_.take_over(seat_, all, 8 * count * ranks());
    }
    void fold(double head, double* data, long long count, rank_fold const& f) override {
      finish_all_reduces();
      group_.meet(seat_, {kind::fold, 8, data, data, count, head});
      if (!group_.aside_) {
        group_.fold(seat_, count, f);
        return group_.part();
      }
      if (seat_ == 0) group_.fold_with_others(count, f);
      group_.take_over(seat_, data, 8 * count);
    }
    void give_up(char const* why) override {
      group_.abort(detail::failure_text(
          [&] { return detail::message({"towers: tower ", rank(), " of ", ranks(), " failed: ", why}); }));
    }

   private:
    template <class T>
    void start(T* data, long long count) {
      if (group_.aside_)
        group_.aside_->start(seat_, data, count);
      else
        sum(data, count);
    }
    template <class T>
    void sum(T* data, long long count) {
      if (ranks() == 1) return;
      finish_all_reduces();
      group_.meet(seat_, {kind::sum, sizeof(T), data, data, count});
      if (!group_.aside_) {
        group_.add_up<T>(seat_, count);
        return group_.part();
      }
      if (seat_ == 0) group_.add_up_with_others<T>(count);
      group_.take_over(seat_, data, static_cast<long long>(sizeof(T)) * count);
    }
    in_process_group& group_;
    int seat_;
  };

  static int positive(int ranks);

  /// Waits until all ranks of this process have made the same call; `seat` is the caller's number among them. From then
  /// until part(), the caller may use the arrays of every rank.
  void meet(int seat, call const& c);
  void part();
  void wait_for_all();

  /// Copies the result from the arrays of the rank with seat 0, `data` or `all`, to the array of another rank.
  void take_over(int seat, void* result, long long bytes);

  /// Sums one rank's part of the numbers, in pieces that fit in the cache.
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
  /// Folds one rank's part of the numbers.
  void fold(int seat, long long count, rank_fold const& f) const;
  template <class T>
  T* data_of(int seat) const {
    return static_cast<T*>(calls_[seat].data);
  }
  /// Sums with other processes. The rank with seat 0 does this while the other ranks of this process wait.
  template <class T>
  void add_up_with_others(long long count) {
    for (int s = 0; s < own_ranks(); ++s) data_[s] = calls_[s].data;
    fate_.exchange([&] { between_.add_up<T>(data_.begin(), count); });
  }

  void fold_with_others(long long count, rank_fold const& f);

  [[gnu::cold, noreturn]] void differ(int seat);

  detail::abort_state fate_;
  detail::process_sums between_;
  detail::list<call> calls_;  // the current call of each rank of this process
  detail::list<void*> data_;  // the numbers that each rank of this process sums
  detail::chain<member> members_;
  int arrived_ = 0;
  int last_ = 0;  // the last seat to arrive
  unsigned round_ = 0;
  // Number of polls of round_ before a rank sleeps, about 0.2 ms: towers reach a batch_norm that close together, and
  // waking up takes as long. Zero if ranks share cores, which the others then need.
  int spins_ = 0;
  detail::owner<detail::overlapped_sums> aside_;  // null unless there are several processes
};

}  // namespace dsl::TYPENET_MODE

#ifdef TYPENET_DEFINITIONS
#include <dsl/towers/in_process_inl.hpp>
#endif
