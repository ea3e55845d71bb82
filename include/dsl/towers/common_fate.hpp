// SPDX-License-Identifier: MIT
#pragma once

#include <dsl/detail/mode.hpp>
#include <dsl/detail/threads.hpp>
#include <dsl/error.hpp>
#include <dsl/towers/process_group.hpp>

#include <exception>
#include <string>

namespace dsl::detail::TYPENET_MODE {

/// What the ranks of one process share: once one of them has failed, no other waits for it.
class common_fate {
 public:
  explicit common_fate(process_group* world) : world_(world) {}

  mutex guard;  // of all that ranks wait for; they hold it where a function says so
  condition changed;

  /// Holding the guard. Throws peer_error where a rank has failed.
  void require() const;
  bool broken() const { return broken_; }
  [[gnu::cold, noreturn]] void refuse() const { throw peer_error(why_); }

  /// Holding the guard. An exchange that is under way ends, too.
  [[gnu::cold]] void break_with(std::string const& why);
  /// Holding the guard: until nobody reads or writes the ranks' numbers for other processes.
  [[gnu::cold]] void wait_for_exchange();

  /// work() talks to other processes, on one thread at a time. Without the guard. What it throws is everybody's
  /// failure.
  template <class F>
  void exchange(F work) {
    struct turn {
      common_fate& f;
      explicit turn(common_fate& fate) : f(fate) {
        lock const held(f.guard);
        f.require();
        f.exchanging_ = true;
      }
      ~turn() {
        lock const held(f.guard);
        f.exchanging_ = false;
        if (f.broken_) f.changed.notify_all();
      }
    };
    try {
      turn const mine(*this);
      work();
    } catch (std::exception const& e) {
      lock const held(guard);
      require();  // somebody else's failure has interrupted it
      break_with(e.what());
      throw;
    } catch (...) {
      lock const held(guard);
      require();
      break_with("towers: the exchange with other processes failed");
      throw;
    }
  }

 private:
  process_group* world_;
  bool broken_ = false;
  bool exchanging_ = false;
  std::string why_;
};

}  // namespace dsl::detail::TYPENET_MODE

#ifndef TYPENET_COMPILED
#include <dsl/towers/common_fate_inl.hpp>
#endif
