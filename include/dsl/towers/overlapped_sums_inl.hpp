// SPDX-License-Identifier: MIT
#pragma once

#include <dsl/detail/list.hpp>
#include <dsl/detail/message.hpp>
#include <dsl/detail/mode.hpp>
#include <dsl/towers/abort_state.hpp>
#include <dsl/towers/overlapped_sums.hpp>
#include <dsl/towers/process_sums.hpp>

#include <cstring>
#include <mutex>

namespace dsl::detail::TYPENET_MODE {

TYPENET_INLINE overlapped_sums::overlapped_sums(abort_state& fate, process_sums& sums, process_group& world)
    : fate_(fate), sums_(sums), world_(world), handed_(sums.own()), waited_(sums.own()), now_(sums.own()) {
  // Started here and not at first use: the first rank's thread is pinned to cores, and the new thread would inherit
  // that.
  thread_.start([this] { serve(); });
}

TYPENET_INLINE overlapped_sums::~overlapped_sums() {
  {
    std::scoped_lock const held(fate_.guard);
    stopping_ = true;
    if (done_ < begun_) fate_.break_with("towers: they were destroyed while gradients were still being summed");
    fate_.changed.notify_all();
  }
  thread_.join();
}

TYPENET_INLINE void overlapped_sums::wait(int seat) {
  std::scoped_lock const held(fate_.guard);
  world_.share_cores(false);  // no other thread needs them now
  while (done_ < handed_[seat] && !fate_.broken()) fate_.changed.wait(fate_.guard);
  fate_.require();
  waited_[seat] = handed_[seat];
}

TYPENET_INLINE void overlapped_sums::serve() {
  while (next()) {
    bool made = false;
    try {
      fate_.exchange([this] { make(); });
      made = true;
    } catch (...) {  // NOLINT(bugprone-empty-catch): all ranks have heard of it
    }
    std::scoped_lock const held(fate_.guard);
    if (made) ++done_;
    fate_.changed.notify_all();
  }
}

TYPENET_INLINE bool overlapped_sums::next() {
  std::scoped_lock const held(fate_.guard);
  while (!stopping_ && (fate_.broken() || done_ == begun_)) fate_.changed.wait(fate_.guard);
  if (stopping_) return false;
  int const at = static_cast<int>(done_ - first_);
  what_ = queue_[at];
  for (int s = 0; s < seats(); ++s) now_[s] = data_[at * seats() + s];
  return true;
}

TYPENET_INLINE void overlapped_sums::make() {
  if (what_.number_bytes == sizeof(float))
    sums_.add_up<float>(now_.begin(), what_.count);
  else
    sums_.add_up<double>(now_.begin(), what_.count);
  std::size_t const bytes = what_.number_bytes * static_cast<std::size_t>(what_.count);
  for (int s = 1; s < seats(); ++s) std::memcpy(now_[s], now_[0], bytes);
}

TYPENET_INLINE void overlapped_sums::differ(sum const& x, int seat, unsigned long number_bytes, long long count) {
  fate_.break_with(
      message({"towers: rank ", sums_.first() + x.first, " calls all_reduce for ", x.count, " numbers of ",
               x.number_bytes, " bytes, but rank ", sums_.first() + seat, " calls it for ", count, " numbers of ",
               number_bytes, " bytes; all ranks must make the same calls in the same order"}));
  fate_.refuse();
}

}  // namespace dsl::detail::TYPENET_MODE
