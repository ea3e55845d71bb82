// SPDX-License-Identifier: MIT
#pragma once

#include <dsl/detail/chain.hpp>
#include <dsl/detail/list.hpp>
#include <dsl/detail/message.hpp>
#include <dsl/detail/mode.hpp>
#include <dsl/detail/owner.hpp>
#include <dsl/detail/pinned_threads.hpp>
#include <dsl/detail/threads.hpp>
#include <dsl/error.hpp>
#include <dsl/towers/abort_state.hpp>
#include <dsl/towers/host_tower.hpp>
#include <dsl/towers/in_process.hpp>
#include <dsl/towers/overlapped_sums.hpp>
#include <dsl/towers/process_group.hpp>
#include <dsl/towers/process_sums.hpp>

#include <cstring>
#include <mutex>
#include <string>

namespace dsl::TYPENET_MODE {

TYPENET_INLINE in_process_group::in_process_group(int ranks, process_group* world)
    : fate_(world), between_(world, positive(ranks)), calls_(ranks), data_(ranks) {
  for (int r = 0; r < ranks; ++r) members_.emplace(*this, r);
  if (ranks <= detail::core_set::available().cores.size()) spins_ = 10'000;
  if (between_.processes() > 1) aside_ = detail::make_owner<detail::overlapped_sums>(fate_, between_, *world);
}

TYPENET_INLINE void in_process_group::abort(std::string const& why) {
  std::scoped_lock const held(fate_.guard);
  fate_.break_with(why);
  fate_.wait_for_exchange();
}

TYPENET_INLINE void in_process_group::require_all() {
  std::scoped_lock const held(fate_.guard);
  fate_.require();
}

TYPENET_INLINE bool in_process_group::broken() {
  std::scoped_lock const held(fate_.guard);
  return fate_.broken();
}

TYPENET_INLINE int in_process_group::positive(int ranks) {
  if (ranks < 1) throw option_error(detail::message({"in_process_group: there must be 1 rank or more; found ", ranks}));
  return ranks;
}

TYPENET_INLINE void in_process_group::meet(int seat, call const& c) {
  std::scoped_lock const held(fate_.guard);
  fate_.require();
  calls_[seat] = c;
  if (arrived_ > 0 && !(calls_[last_] == c)) differ(seat);
  last_ = seat;
  wait_for_all();
}

TYPENET_INLINE void in_process_group::part() {
  std::scoped_lock const held(fate_.guard);
  fate_.require();
  wait_for_all();
}

TYPENET_INLINE void in_process_group::wait_for_all() {
  unsigned const round = round_;
  if (++arrived_ == own_ranks()) {
    arrived_ = 0;
    __atomic_store_n(&round_, round + 1, __ATOMIC_RELEASE);
    return fate_.changed.notify_all();
  }
  fate_.guard.unlock();
  for (int i = 0; i < spins_ && __atomic_load_n(&round_, __ATOMIC_ACQUIRE) == round; ++i) detail::relax();
  fate_.guard.lock();
  while (round_ == round && !fate_.broken()) fate_.changed.wait(fate_.guard);
  if (round_ == round) fate_.refuse();
}

TYPENET_INLINE void in_process_group::take_over(int seat, void* result, long long bytes) {
  part();
  if (seat > 0) std::memcpy(result, calls_[0].all, static_cast<std::size_t>(bytes));
  part();
}

TYPENET_INLINE void in_process_group::fold(int seat, long long count, rank_fold const& f) const {
  detail::list<double> heads(own_ranks()), values(own_ranks());
  for (int r = 0; r < own_ranks(); ++r) heads[r] = calls_[r].head;
  for (long long i = count * seat / own_ranks(); i < count * (seat + 1) / own_ranks(); ++i) {
    for (int r = 0; r < own_ranks(); ++r) values[r] = data_of<double>(r)[i];
    double const result = f(i, heads.begin(), values.begin());
    for (int r = 0; r < own_ranks(); ++r) data_of<double>(r)[i] = result;
  }
}

TYPENET_INLINE void in_process_group::fold_with_others(long long count, rank_fold const& f) {
  detail::list<double> heads(own_ranks());
  for (int s = 0; s < own_ranks(); ++s) data_[s] = calls_[s].data, heads[s] = calls_[s].head;
  fate_.exchange([&] { between_.fold(data_.begin(), heads.begin(), count, f); });
}

TYPENET_INLINE void in_process_group::differ(int seat) {
  auto const words = [](call const& c) {
    if (c.what == kind::finish) return detail::message({"finish_all_reduces of ", c.count, " sums"});
    char const* const name = c.what == kind::sum ? "all_reduce" : c.what == kind::fold ? "fold" : "all_gather";
    return detail::message({name, " of ", c.count, " numbers of ", c.bytes, " bytes"});
  };
  fate_.break_with(detail::message({"towers: rank ", first_rank() + last_, " calls ", words(calls_[last_]),
                                    ", but rank ", first_rank() + seat, " ", words(calls_[seat]),
                                    "; all ranks must make the same calls in the same order"}));
  fate_.refuse();
}

}  // namespace dsl::TYPENET_MODE
