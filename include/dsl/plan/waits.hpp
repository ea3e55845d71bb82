// SPDX-License-Identifier: MIT
#pragma once

#include <dsl/plan/plan.hpp>

namespace dsl::detail {

/// Finds the steps of other devices for which each step waits. Devices share memory only in transfers, which read what
/// another device wrote: a transfer waits for that write, and a later write to the same memory waits for the transfer.
/// A step need not wait again for a step that earlier steps of its device have waited for, so most steps have no waits.
class wait_finder {
 public:
  constexpr explicit wait_finder(plan& p)
      : p_(p),
        devices_(p.devices.size()),
        known_(p.steps.size() * devices_, -1),
        last_(devices_, -1),
        written_(p.buffers.size(), -1),
        needed_(devices_, -1) {}

  constexpr void run() {
    int reduced = -1;
    for (int s = 0; s < p_.steps.size(); ++s) {
      step& x = p_.steps[s];
      for (int d = 0; d < devices_; ++d) {
        needed_[d] = -1;
        known(s, d) = last_[x.device] < 0 ? -1 : known(last_[x.device], d);
      }
      if (x.what == action::all_reduce) {  // every tower must reduce in the same order
        if (reduced >= 0) need(p_.steps[reduced].device, reduced);
        reduced = s;
      }
      for (int i = x.first_operand; i < x.first_operand + x.operands; ++i) look_at(s, x, p_.operands[i]);
      x.first_wait = p_.waits.size();
      for (int d = 0; d < devices_; ++d)
        if (d != x.device && needed_[d] > known(s, d)) wait(s, needed_[d]);
      x.waits = p_.waits.size() - x.first_wait;
      known(s, x.device) = s;
      last_[x.device] = s;
      for (int i = x.first_operand; i < x.first_operand + x.operands; ++i) {
        operand const& o = p_.operands[i];
        if (o.how != access::read)
          written_[o.buffer] = s;
        else if (p_.buffers[o.buffer].device != x.device)
          borrowed_.push({o.buffer, s});
      }
    }
  }

 private:
  /// A buffer that a step of another device reads, and that must not be overwritten before that step.
  struct loan {
    int buffer = -1;
    int step = -1;
  };
  constexpr int& known(int step, int device) { return known_[step * devices_ + device]; }
  constexpr void need(int device, int step) {
    if (needed_[device] < step) needed_[device] = step;
  }
  constexpr void look_at(int s, step const& x, operand const& o) {
    buffer const& b = p_.buffers[o.buffer];
    if (o.how == access::read) return need(b.device, written_[o.buffer]);
    for (int i = 0; i < borrowed_.size(); ++i) {
      buffer const& lent = p_.buffers[borrowed_[i].buffer];
      if (lent.device != x.device) continue;
      int const reader = borrowed_[i].step;
      int const device = p_.steps[reader].device;
      bool const overlap =
          lent.where == b.where && lent.offset < b.offset + b.bytes && b.offset < lent.offset + lent.bytes;
      bool const is_back = known(s, device) >= reader || needed_[device] >= reader;
      if (!is_back && !overlap) continue;
      if (!is_back) need(device, reader);
      borrowed_.erase(i--);  // later steps of this device know it
    }
  }
  /// Makes step s wait for `other`, and therefore for all steps that `other` has waited for.
  constexpr void wait(int s, int other) {
    p_.waits.push(other);
    for (int d = 0; d < devices_; ++d)
      if (known(other, d) > known(s, d)) known(s, d) = known(other, d);
  }

  plan& p_;
  int devices_;
  list<int> known_;    // per step and device: the last step of that device known to be finished then
  list<int> last_;     // per device: its latest step
  list<int> written_;  // per buffer: the last step that wrote it
  list<int> needed_;   // per device: the last step that the current step needs
  list<loan> borrowed_;
};

constexpr void find_waits(plan& p) { wait_finder(p).run(); }

}  // namespace dsl::detail
