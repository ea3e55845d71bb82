// SPDX-License-Identifier: MIT
#pragma once

#include <dsl/detail/chain.hpp>
#include <dsl/detail/failure_text.hpp>
#include <dsl/detail/message.hpp>
#include <dsl/detail/mode.hpp>
#include <dsl/detail/pinned_threads.hpp>
#include <dsl/executors/engine.hpp>
#include <dsl/executors/thread_team.hpp>
#include <dsl/plan/plan.hpp>

#include <condition_variable>
#include <exception>
#include <mutex>
#include <string>
#include <utility>

namespace dsl::host::TYPENET_MODE {

/// Threads for devices that are sets of processor cores. Each thread runs the steps of its device, and sleeps while it
/// waits for a step of another device.
class core_team final : public thread_team {
 public:
  /// If the calling thread may use exactly as many cores as the devices need, each device gets its own cores; otherwise
  /// the threads are not pinned to cores.
  core_team(int devices, int cores_a_device, communicator* group)
      : cores_(cores_of(devices, cores_a_device)), group_(group), done_(devices), threads_(devices, cores_.begin()) {
    for (int d = 0; d < devices; ++d) posts_.emplace();
  }

  void run(plan const& p, void (*step)(void* context, int i), void* context) override {
    if (ended_) refuse();
    stopped_ = false;
    for (int& d : done_) d = -1;
    bool const trains = p.options.mode == mode::training;
    threads_.run([&](int device) { walk(p, device, step, context); },
                 [this, trains](int device) { stop(cause_on(device), trains); });
  }
  void on_each(void (*work)(void* context), void* context) override {
    threads_.run([&](int) { work(context); }, [](int) {});
  }

 private:
  /// The step of another device for which a device's thread waits, or -1 if it does not wait.
  struct post {
    std::condition_variable changed{};
    int device = -1;
    int step = -1;
  };

  void walk(plan const& p, int device, void (*step)(void* context, int i), void* context) {
    for (int i = 0; i < p.steps.size(); ++i) {
      if (p.steps[i].device != device) continue;
      if (p.steps[i].waits > 0) wait(p, p.steps[i]);
      step(context, i);
      std::scoped_lock const held(mutex_);
      if (stopped_) refuse();
      done_[device] = i;
      for (post& x : posts_)
        if (x.device == device && x.step <= i) x.changed.notify_one();
    }
  }
  void wait(plan const& p, step const& s) {
    post& mine = posts_[s.device];
    std::unique_lock held(mutex_);
    for (int i = s.first_wait; i < s.first_wait + s.waits; ++i) {
      int const other = p.waits[i];
      mine.device = p.steps[other].device, mine.step = other;
      mine.changed.wait(held, [&] { return done_[mine.device] >= other || stopped_; });
      mine.device = -1;
      if (stopped_) refuse();
    }
  }
  /// Returns a text about the exception that is being handled, which a device's thread has thrown.
  static std::string cause_on(int device) {
    return detail::failure_text([device] {
      try {
        throw;
      } catch (std::exception const& e) {
        return detail::message({"devices: device ", device, " has failed: ", e.what()});
      } catch (...) {
        return detail::message({"devices: device ", device, " has failed"});
      }
    });
  }
  /// Stops all devices, whether or not there is memory. With `for_good`, they stop permanently, because parameters may
  /// have been updated on only some of them.
  void stop(std::string why, bool for_good) {
    if (group_ && for_good) group_->give_up(why.c_str());  // another thread may be waiting for other towers
    std::scoped_lock const held(mutex_);
    if (!stopped_) why_ = std::move(why);  // the first reason is the cause
    stopped_ = true;
    ended_ = for_good;
    for (post& x : posts_) x.changed.notify_one();
  }
  [[gnu::cold, noreturn]] void refuse() const { throw peer_error(why_); }

  static detail::list<detail::core_set> cores_of(int devices, int cores_a_device) {
    detail::core_set const all = detail::core_set::available();
    detail::list<detail::core_set> seats(devices);
    if (devices * cores_a_device == all.cores.size())
      for (int d = 0; d < devices; ++d) seats[d] = all.slice(d * cores_a_device, cores_a_device);
    return seats;
  }

  detail::list<detail::core_set> cores_;
  communicator* group_;
  std::mutex mutex_;
  detail::chain<post> posts_;  // per device
  detail::list<int> done_;     // per device: the last finished step
  bool stopped_ = false;       // whether a device has failed in this run
  bool ended_ = false;         // whether one has ever failed in a training step
  std::string why_;
  detail::pinned_threads threads_;
};

}  // namespace dsl::host::TYPENET_MODE
