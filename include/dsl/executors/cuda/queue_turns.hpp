// SPDX-License-Identifier: MIT
#pragma once

#include <dsl/detail/mode.hpp>
#include <dsl/executors/cuda/recording.hpp>
#include <dsl/plan/verify/streams.hpp>

#include <algorithm>
#include <vector>

namespace dsl::cu::TYPENET_MODE {

/// Throws executor_error where a step may come too early. Every program asks, since the compiler has not looked at its
/// queues: 15 us for MiniGoogLeNet's 109 steps, 1 ms for a network's of 1,300.
[[gnu::cold]] inline void require_no_race(graph_view const& g, plan const& p, plan_streams const& queues) {
  if (int const s = first_race(g, p, queues); s >= 0)
    throw executor_error(detail::message({"plan: on two queues step ", s, " may come too early"}));
}

/// Puts each step of a program on its queue, after what it waits for on the other one.
class queue_turns {
 public:
  [[gnu::cold]] explicit queue_turns(recording& r)
      : r_(r), queues_{detail::list<int>(r.steps().size()), detail::list<int>(r.steps().size(), -1)} {
    if (r.parts.second && !meets_within(r)) {
      queues_ = find_streams(r.parts.graph, r.made.plan);
      require_no_race(r.parts.graph, r.made.plan, queues_);
    }
    is_awaited_.resize(static_cast<std::size_t>(r.steps().size()));
    points_.resize(is_awaited_.size());
    for (int const s : queues_.wait)
      if (s >= 0) is_awaited_[static_cast<std::size_t>(s)] = true;
  }

  /// To the queue of steps that share a launch, after what they wait for.
  void turn(int first, int count) {
    int last = -1;
    for (int s = first; s < first + count; ++s) last = std::max(last, queues_.wait[s]);
    r_.turn_to(queues_.stream[first], last < 0 ? nullptr : &points_[static_cast<std::size_t>(last)]);
  }
  /// After their launch.
  void note(int first, int count) {
    for (int s = first; s < first + count; ++s)
      if (is_awaited_[static_cast<std::size_t>(s)]) points_[static_cast<std::size_t>(s)] = r_.here();
  }

 private:
  /// Layers whose devices add up among themselves in the middle of a pass: that happens on the engine's own stream,
  /// wherever the layer's steps are.
  static bool meets_within(recording const& r) {
    return r.training() && r.parts.link && r.parts.options.moments == tower_moments::synchronized;
  }

  recording& r_;
  plan_streams queues_;
  std::vector<bool> is_awaited_{};  // by step: the other queue waits for it
  std::vector<awaited> points_{};
};

}  // namespace dsl::cu::TYPENET_MODE
