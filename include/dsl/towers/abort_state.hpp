// SPDX-License-Identifier: MIT
#pragma once

#include <dsl/detail/mode.hpp>
#include <dsl/error.hpp>
#include <dsl/towers/process_group.hpp>

#include <condition_variable>
#include <exception>
#include <mutex>
#include <string>

namespace dsl::detail::TYPENET_MODE {

/// The state that all ranks of a process share, so that no rank waits for one that has failed.
class abort_state {
 public:
  explicit abort_state(process_group* world) : world_(world) {}

  std::mutex guard;  // protects everything that ranks wait for; some functions require that the caller holds it
  std::condition_variable_any changed;

  /// Throws peer_error if a rank has failed. The caller must hold the guard.
  void require() const;
  bool broken() const { return broken_; }
  [[gnu::cold, noreturn]] void refuse() const { throw peer_error(why_); }

  /// Records a failure, whether or not there is memory for its reason, and interrupts an exchange that is in progress.
  /// The caller must hold the guard.
  void break_with(std::string const& why);
  /// Waits until no thread reads or writes the ranks' numbers in an exchange with other processes. The caller must hold
  /// the guard.
  void wait_for_exchange();

  /// Calls work(), which communicates with other processes. Only one thread at a time is in such a call. The caller
  /// must not hold the guard. If work() throws, all ranks fail.
  template <class F>
  void exchange(F work) {
    struct turn {
      abort_state& f;
      explicit turn(abort_state& fate) : f(fate) {
        std::scoped_lock const held(f.guard);
        f.require();
        f.exchanging_ = true;
      }
      ~turn() {
        std::scoped_lock const held(f.guard);
        f.exchanging_ = false;
        if (f.broken_) f.changed.notify_all();
      }
    };
    try {
      turn const mine(*this);
      work();
    } catch (std::exception const& e) {
      std::scoped_lock const held(guard);
      require();  // another failure has interrupted the exchange
      break_with(e.what());
      throw;
    } catch (...) {
      std::scoped_lock const held(guard);
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

#ifdef TYPENET_DEFINITIONS
#include <dsl/towers/abort_state_inl.hpp>
#endif
