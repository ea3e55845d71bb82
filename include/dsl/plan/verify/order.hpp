// SPDX-License-Identifier: MIT
#pragma once

#include <dsl/plan/verify/memory.hpp>

namespace dsl::detail::checking {

/// Checks that devices do not race. They run their steps at the same time, ordered only by waits. The replay has shown
/// that the plan's order is right and that a step touches another device's memory only by reading it. So every
/// execution has the same result if each such read comes after the write that precedes it in the plan and before the
/// next write to that memory. Vector clocks (Fidge, Mattern 1988) decide the order: for each step and device, they hold
/// the last step of that device that is certainly finished.
class order_checker {
 public:
  constexpr order_checker(plan const& p, int devices)
      : p_(p),
        devices_(devices),
        clocks_(p.steps.size() * devices, -1),
        latest_(devices, -1),
        writer_(p.buffers.size(), -1) {}

  constexpr plan_verdict run() {
    int sums = -1;
    for (int s = 0; s < p_.steps.size(); ++s) {
      step const& x = p_.steps[s];
      if (!tick(s, x)) return {.broken = plan_rule::steps_wait_for_earlier_ones, .step = s};
      if (x.what == action::all_reduce) {  // otherwise towers would meet in different sums
        if (sums >= 0 && !is_behind(s, sums)) return {.broken = plan_rule::devices_do_not_race, .step = s};
        sums = s;
      }
      for (int i = x.first_operand; i < x.first_operand + x.operands; ++i)
        if (int const b = p_.operands[i].buffer; !is_ordered(s, x, p_.operands[i], b))
          return {.broken = plan_rule::devices_do_not_race, .step = s, .index = b};
    }
    return {};
  }

 private:
  struct foreign_read {
    int step;
    int buffer;
  };

  constexpr bool tick(int s, step const& x) {
    int const before = latest_[x.device];
    for (int d = 0; d < devices_ && before >= 0; ++d) clocks_[s * devices_ + d] = clocks_[before * devices_ + d];
    int const end = p_.waits.size();
    if (x.waits < 0 || x.first_wait < 0 || x.first_wait > end || x.waits > end - x.first_wait) return false;
    for (int i = x.first_wait; i < x.first_wait + x.waits; ++i) {
      int const other = p_.waits[i];
      if (other < 0 || other >= s || p_.steps[other].device == x.device) return false;
      for (int d = 0; d < devices_; ++d) {
        int const theirs = clocks_[other * devices_ + d];
        if (theirs > clocks_[s * devices_ + d]) clocks_[s * devices_ + d] = theirs;
      }
    }
    clocks_[s * devices_ + x.device] = s;
    latest_[x.device] = s;
    return true;
  }
  constexpr bool is_behind(int later, int earlier) const {
    return clocks_[later * devices_ + p_.steps[earlier].device] >= earlier;
  }

  constexpr bool is_ordered(int s, step const& x, operand const& o, int b) {
    buffer const& at = p_.buffers[b];
    if (o.how == access::read) {
      if (at.device == x.device) return true;
      reads_.push({s, b});
      return writer_[b] < 0 || is_behind(s, writer_[b]);
    }
    writer_[b] = s;
    for (int i = 0; i < reads_.size(); ++i) {
      foreign_read const r = reads_[i];
      buffer const& lent = p_.buffers[r.buffer];
      if (lent.device != x.device) continue;
      bool const apart =
          lent.where != at.where || lent.offset + lent.bytes <= at.offset || at.offset + at.bytes <= lent.offset;
      if (is_behind(s, r.step))
        reads_.erase(i--);  // later steps of this device come after it, too
      else if (!apart)
        return false;
    }
    return true;
  }

  plan const& p_;
  int devices_;
  list<int> clocks_;          // per step and device
  list<int> latest_;          // per device: its latest step
  list<int> writer_;          // per buffer: the last step that wrote it
  list<foreign_read> reads_;  // those that a later write may still race with
};

}  // namespace dsl::detail::checking
