// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "support/simulated_device/fiber_launch.hpp"

namespace dsl_test::simulated {

/// A piece of queued work. A stream is the last of a chain of them, an event points to one.
struct node {
  char const* what = "";
  std::function<void()> run;  // empty: only an order
  double milliseconds = 0;
  std::vector<std::shared_ptr<node>> before;
  std::vector<node*> after;
  int missing = 0;  // of `before`, not done yet
  bool done = false;
  bool needed = false;
  double finished_at = 0;
};

/// Queued work as one graph of dependencies, from all streams, events and graphs. It runs when somebody waits, in a
/// random order among what may run.
class scheduler {
 public:
  /// begin() is called before each piece of work.
  scheduler(std::uint64_t seed, std::function<void()> begin)
      : random_(seed * 0x9E3779B97F4A7C15u + 1), begin_(std::move(begin)) {}
  ~scheduler() { abandon(); }

  std::shared_ptr<node> add(char const* what, double milliseconds, std::vector<std::shared_ptr<node>> before,
                            std::function<void()> run) {
    auto n = std::make_shared<node>();
    n->what = what;
    n->milliseconds = milliseconds;
    n->run = std::move(run);
    n->finished_at = clock_;
    for (auto& b : before) {
      if (!b) continue;
      n->finished_at = std::max(n->finished_at, b->finished_at);
      if (b->done) continue;
      b->after.push_back(n.get());
      ++n->missing;
      n->before.push_back(std::move(b));
    }
    pending_.push_back(n);
    if (n->missing == 0) ready_.push_back(n.get());
    return n;
  }

  /// Runs until all targets are finished: what they need, or anything that may run.
  void finish(std::vector<std::shared_ptr<node>> const& targets, bool anything) {
    mark(targets);
    while (node* n = choose(anything)) run(*n);
    tidy();
  }
  /// Runs some pieces of what the target needs, if it is not finished: a device continues its work while the host
  /// polls.
  void poll(std::shared_ptr<node> const& target) {
    mark({target});
    for (std::uint32_t left = 1 + random_below(random_, 16); left > 0; --left)
      if (node* n = choose(false)) run(*n);
    tidy();
  }

  std::vector<std::shared_ptr<node>> const& pending() const { return pending_; }

  /// Nothing runs after an error.
  void abandon() {
    for (auto& n : pending_) {
      n->done = true;
      n->before.clear();
      n->after.clear();
      n->run = nullptr;
    }
    pending_.clear();
    ready_.clear();
  }

 private:
  void mark(std::vector<std::shared_ptr<node>> const& targets) {
    for (auto& n : pending_) n->needed = false;
    std::vector<node*> open;
    for (auto const& t : targets)
      if (t && !t->done) open.push_back(t.get());
    while (!open.empty()) {
      node* const n = open.back();
      open.pop_back();
      if (n->needed || n->done) continue;
      n->needed = true;
      for (auto const& b : n->before) open.push_back(b.get());
    }
  }
  node* choose(bool anything) {
    std::uint32_t candidates = 0;
    bool wanted = false;
    for (node* n : ready_) {
      candidates += anything || n->needed;
      wanted = wanted || n->needed;
    }
    if (!wanted) return nullptr;  // what is needed is done: a chain always has a first that is ready
    std::uint32_t skip = random_below(random_, candidates);
    for (std::size_t i = 0; i < ready_.size(); ++i) {
      if (!anything && !ready_[i]->needed) continue;
      if (skip-- > 0) continue;
      node* const n = ready_[i];
      ready_.erase(ready_.begin() + static_cast<std::ptrdiff_t>(i));
      return n;
    }
    return nullptr;
  }
  void run(node& n) {
    if (n.run) {
      begin_();
      try {
        n.run();
      } catch (std::exception const& e) {
        throw simulation_error(std::string(n.what) + ": " + e.what());
      }
    }
    n.run = nullptr;
    for (auto const& b : n.before) n.finished_at = std::max(n.finished_at, b->finished_at);
    n.finished_at += n.milliseconds;
    clock_ = std::max(clock_, n.finished_at);
    n.done = true;
    for (node* a : n.after)
      if (--a->missing == 0) ready_.push_back(a);
    n.after.clear();
    n.before.clear();
  }
  void tidy() {
    std::erase_if(pending_, [](auto const& n) { return n->done; });
  }

  std::uint64_t random_;
  std::function<void()> begin_;
  double clock_ = 0;  // milliseconds, by the costs that the pieces claim, so that timings are the same in every run
  std::vector<std::shared_ptr<node>> pending_;
  std::vector<node*> ready_;
};

}  // namespace dsl_test::simulated
