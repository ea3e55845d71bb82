// SPDX-License-Identifier: MIT
#pragma once

#include <dsl/detail/message.hpp>
#include <dsl/error.hpp>

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <cstring>
#include <mutex>
#include <string>
#include <vector>

namespace dsl::cu {

/// Sums arrays of several ranks, threads of one process, in host memory: ((rank 0 + rank 1) + rank 2) + ..., so that
/// the result has the same bits whoever comes first. What NCCL's sums are compared with, and a way to add up gradients
/// without it. All ranks call the same, in the same order; a call returns when all ranks have made it. Throws
/// option_error for arguments, executor_error for ranks that don't come or call something else: then for all ranks, now
/// and ever after.
class host_reduction {
 public:
  explicit host_reduction(int ranks, std::chrono::milliseconds deadline = std::chrono::seconds(30))
      : deadline_(deadline) {
    if (ranks < 1) throw option_error(detail::message({"host_reduction: there must be 1 rank or more; found ", ranks}));
    parts_.resize(static_cast<std::size_t>(ranks));
  }
  host_reduction(host_reduction const&) = delete;
  host_reduction& operator=(host_reduction const&) = delete;

  int ranks() const { return static_cast<int>(parts_.size()); }
  /// Every rank's `count` numbers become the sums over all ranks.
  void all_reduce(int rank, float* data, long long count) { meet(rank, {true, data, count, 0}); }
  /// Every rank's `count` numbers become root's.
  void broadcast(int rank, float* data, long long count, int root) { meet(rank, {false, data, count, root}); }

 private:
  struct part {
    bool sums = true;
    float* data = nullptr;  // null: the rank hasn't come
    long long count = 0;
    int root = 0;
    char const* call() const { return sums ? "all_reduce" : "broadcast"; }
  };

  void meet(int rank, part const& p) {
    require(rank, p);
    std::unique_lock lock(mutex_);
    if (!broken_.empty()) throw executor_error(broken_);
    part& mine = parts_[static_cast<std::size_t>(rank)];
    if (mine.data) throw option_error(detail::message({"host_reduction: two threads say that they are rank ", rank}));
    mine = p;
    if (++come_ == ranks()) return last(rank);
    std::uint64_t const round = round_;
    auto const over = [&] { return round_ != round || !broken_.empty(); };
    if (!ended_.wait_for(lock, deadline_, over))
      give_up(detail::message({"host_reduction: rank ", missing(), " of ", ranks(), " did not come within ",
                               static_cast<long long>(deadline_.count()), " ms; rank ", rank, " waited in ", p.call(),
                               " of ", p.count, " numbers, call ", static_cast<long long>(round)}));
    if (round_ == round) throw executor_error(broken_);
  }
  void require(int rank, part const& p) const {
    char const* const what = p.call();
    if (rank < 0 || rank >= ranks())
      throw option_error(
          detail::message({"host_reduction: ", what, ": rank must be 0 to ", ranks() - 1, "; found ", rank}));
    if (!p.data) throw option_error(detail::message({"host_reduction: ", what, ": data must not be null"}));
    if (p.count < 1)
      throw option_error(detail::message({"host_reduction: ", what, ": count must be 1 or more; found ", p.count}));
    if (p.root < 0 || p.root >= ranks())
      throw option_error(
          detail::message({"host_reduction: ", what, ": root must be 0 to ", ranks() - 1, "; found ", p.root}));
  }

  /// All others are waiting: nobody touches their arrays.
  void last(int rank) {
    part const& mine = parts_[static_cast<std::size_t>(rank)];
    for (int r = 0; r < ranks(); ++r)
      if (part const& other = parts_[static_cast<std::size_t>(r)];
          other.sums != mine.sums || other.count != mine.count || other.root != mine.root)
        give_up(detail::message({"host_reduction: call ", static_cast<long long>(round_), ": rank ", r, " calls ",
                                 other.call(), " of ", other.count, " numbers (root ", other.root, "), rank ", rank,
                                 " ", mine.call(), " of ", mine.count, " (root ", mine.root, ")"}));
    if (mine.sums)
      add_up();
    else
      share(parts_[static_cast<std::size_t>(mine.root)].data);
    for (part& p : parts_) p = {};
    come_ = 0;
    ++round_;
    ended_.notify_all();
  }
  void add_up() {
    float* const sum = parts_[0].data;
    for (std::size_t r = 1; r < parts_.size(); ++r)
      for (long long i = 0; i < parts_[0].count; ++i) sum[i] += parts_[r].data[i];
    share(sum);
  }
  void share(float const* from) {
    for (part const& p : parts_)
      if (p.data != from) std::memcpy(p.data, from, static_cast<std::size_t>(p.count) * sizeof(float));
  }

  int missing() const {
    int r = 0;
    while (parts_[static_cast<std::size_t>(r)].data) ++r;
    return r;
  }
  [[gnu::cold, noreturn]] void give_up(std::string why) {
    broken_ = std::move(why);
    ended_.notify_all();
    throw executor_error(broken_);
  }

  std::chrono::milliseconds deadline_;
  std::mutex mutex_;
  std::condition_variable ended_;
  std::vector<part> parts_{};
  int come_ = 0;
  std::uint64_t round_ = 0;
  std::string broken_{};
};

}  // namespace dsl::cu
