// SPDX-License-Identifier: MIT
#pragma once

#include <dsl/detail/list.hpp>
#include <dsl/detail/mode.hpp>
#include <dsl/executors/communicator.hpp>
#include <dsl/towers/process_group.hpp>

#include <cstring>
#include <vector>

namespace dsl::detail::TYPENET_MODE {

/// Sums numbers over the ranks of several processes. Process q sums the q-th part of the numbers over all ranks, in the
/// order of the ranks, and sends the result to the other processes. In each process, one thread makes the calls; all
/// processes must make the same calls.
class process_sums {
 public:
  /// Makes an object for a process with `own` ranks. `world` is null if there is no other process.
  process_sums(process_group* world, int own);

  int process() const { return world_ ? world_->process() : 0; }
  int processes() const { return world_ ? world_->processes() : 1; }
  /// Returns the number of ranks in all processes. The ranks of this process are first() to first() + own() - 1.
  int ranks() const { return all_; }
  int first() const { return first_; }
  int own() const { return counts_[process()]; }
  int ranks_of(int process) const { return counts_[process]; }

  /// Sums data[s][0 ... count) of all ranks s into data[0].
  template <class T>
  void add_up(void* const* data, long long count) {
    long long const begin = begin_of(process(), count), size = begin_of(process() + 1, count) - begin;
    T const* const arrived = exchange_parts<T>("all_reduce", data, nullptr, count);
    T* const sums = static_cast<T*>(data[0]) + begin;
    std::memcpy(sums, arrived, static_cast<std::size_t>(size) * sizeof(T));
    for (int r = 1; r < all_; ++r) {
      T const* const more = arrived + r * size;
      for (long long i = 0; i < size; ++i) sums[i] += more[i];
    }
    share_results<T>("all_reduce, its sums", data[0], count);
  }
  /// Folds the numbers with f instead of adding them. heads[s] is the head of the s-th rank of this process, as in
  /// communicator::fold.
  void fold(void* const* data, double const* heads, long long count, rank_fold const& f);

  /// Fills `all` with the numbers of all ranks. The numbers of this process's ranks, at [first() * count, (first() +
  /// own()) * count), must already be there.
  void gather(double* all, long long count);

 private:
  long long begin_of(int process, long long count) const { return count * process / processes(); }

  /// Sends to each process q, for each rank of this process in turn, the rank's numbers from begin_of(q) to
  /// begin_of(q + 1), and returns what arrives here. If `heads` is not null, a further number, the rank's head,
  /// precedes its numbers.
  template <class T>
  T const* exchange_parts(char const* what, void* const* data, T const* heads, long long count) {
    int const extra = heads ? 1 : 0;
    auto const size = [&](int q) { return begin_of(q + 1, count) - begin_of(q, count); };
    long long const mine = size(process()) + extra;
    T* to = memory<T>(0, (count + extra * processes()) * own());
    T* const arrived = memory<T>(1, mine * all_);
    T* from = arrived;
    for (int q = 0; q < processes(); ++q) {
      out_[q] = {to, static_cast<long long>(sizeof(T)) * (size(q) + extra) * own()};
      for (int s = 0; s < own(); ++s, to += size(q)) {
        if (heads) *to++ = heads[s];
        std::memcpy(to, static_cast<T const*>(data[s]) + begin_of(q, count),
                    static_cast<std::size_t>(size(q)) * sizeof(T));
      }
      in_[q] = {from, static_cast<long long>(sizeof(T)) * mine * counts_[q]};
      from += mine * counts_[q];
    }
    world_->exchange(what, out_.begin(), in_.begin());
    return arrived;
  }
  /// Sends this process's part of the results, which are in `all`, to every other process, and receives the other
  /// parts.
  template <class T>
  void share_results(char const* what, void* all, long long count) {
    T* const numbers = static_cast<T*>(all);
    auto const part = [&](int q) {
      long long const begin = begin_of(q, count);
      return process_message{numbers + begin, static_cast<long long>(sizeof(T)) * (begin_of(q + 1, count) - begin)};
    };
    for (int q = 0; q < processes(); ++q) out_[q] = part(process()), in_[q] = part(q);
    world_->exchange(what, out_.begin(), in_.begin());
  }

  /// Returns a buffer with at least `count` elements. A buffer is never made smaller, since a vector zeroes the
  /// elements that are added when it grows.
  template <class T>
  T* memory(int which, long long count) {
    std::vector<T>& all = buffer<T>(which);
    if (static_cast<long long>(all.size()) < count) all.resize(static_cast<std::size_t>(count));
    return all.data();
  }
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

}  // namespace dsl::detail::TYPENET_MODE

#ifdef TYPENET_DEFINITIONS
#include <dsl/towers/process_sums_inl.hpp>
#endif
