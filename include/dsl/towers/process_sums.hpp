// SPDX-License-Identifier: MIT
#pragma once

#include <dsl/detail/list.hpp>
#include <dsl/towers/process_group.hpp>

#include <cstring>
#include <vector>

namespace dsl::detail {

/// How the ranks of several processes add up: process q adds up the q-th part of the numbers, over all ranks in their
/// order, and sends it to the others. One thread of each process calls, all of them the same.
class process_sums {
 public:
  /// Of a process with `own` ranks; null: there is no other process.
  [[gnu::cold]] process_sums(process_group* world, int own) : world_(world) {
    counts_ = list<int>(processes());
    out_ = in_ = list<process_message>(processes());
    if (world)
      world->gather("the number of towers", own, counts_.begin());
    else
      counts_[0] = own;
    for (int q = 0; q < processes(); ++q) {
      if (q == process()) first_ = all_;
      all_ += counts_[q];
    }
  }

  int process() const { return world_ ? world_->process() : 0; }
  int processes() const { return world_ ? world_->processes() : 1; }
  /// Of all processes; those of this one are [first(), first() + own()).
  int ranks() const { return all_; }
  int first() const { return first_; }
  int own() const { return counts_[process()]; }
  int ranks_of(int process) const { return counts_[process]; }

  /// data[s][0 ... count) are the s-th own rank's numbers; those of data[0] become the sums.
  template <class T>
  void add_up(void* const* data, long long count) {
    int const parts = processes(), mine = process();
    auto const begin = [&](int q) { return count * q / parts; };
    auto const size = [&](int q) { return begin(q + 1) - begin(q); };
    auto const numbers = [&](int s) { return static_cast<T*>(data[s]); };
    std::vector<T>& packed = buffer<T>(0);
    std::vector<T>& arrived = buffer<T>(1);
    packed.resize(static_cast<std::size_t>(count * own()));
    arrived.resize(static_cast<std::size_t>(size(mine) * all_));
    T* to = packed.data();
    T* from = arrived.data();
    for (int q = 0; q < parts; ++q) {
      out_[q] = {to, static_cast<long long>(sizeof(T)) * size(q) * own()};
      for (int s = 0; s < own(); ++s, to += size(q))
        std::memcpy(to, numbers(s) + begin(q), static_cast<std::size_t>(size(q)) * sizeof(T));
      in_[q] = {from, static_cast<long long>(sizeof(T)) * size(mine) * counts_[q]};
      from += size(mine) * counts_[q];
    }
    world_->exchange("all_reduce", out_.begin(), in_.begin());
    T* const sums = numbers(0) + begin(mine);
    std::memcpy(sums, arrived.data(), static_cast<std::size_t>(size(mine)) * sizeof(T));
    for (int r = 1; r < all_; ++r) {
      T const* const more = arrived.data() + r * size(mine);
      for (long long i = 0; i < size(mine); ++i) sums[i] += more[i];
    }
    for (int q = 0; q < parts; ++q) {
      out_[q] = {sums, static_cast<long long>(sizeof(T)) * size(mine)};
      in_[q] = {numbers(0) + begin(q), static_cast<long long>(sizeof(T)) * size(q)};
    }
    world_->exchange("all_reduce, its sums", out_.begin(), in_.begin());
  }

  /// all[first() * count ... (first() + own()) * count) are this process's numbers; the rest becomes the others'.
  void gather(double* all, long long count) {
    double* at = all;
    for (int q = 0; q < processes(); ++q) {
      out_[q] = {all + first_ * count, 8 * count * own()};
      in_[q] = {at, 8 * count * counts_[q]};
      at += count * counts_[q];
    }
    world_->exchange("all_gather", out_.begin(), in_.begin());
  }

 private:
  template <class T>
  std::vector<T>& buffer(int which) {
    if constexpr (sizeof(T) == sizeof(float))
      return floats_[which];
    else
      return doubles_[which];
  }

  process_group* world_;
  list<int> counts_;  // ranks per process
  int all_ = 0;
  int first_ = 0;
  list<process_message> out_, in_;  // of the current exchange
  std::vector<float> floats_[2];
  std::vector<double> doubles_[2];
};

}  // namespace dsl::detail
