// SPDX-License-Identifier: MIT
#pragma once

#include <dsl/detail/mode.hpp>
#include <dsl/executors/cuda/recording.hpp>
#include <dsl/plan/verify/streams.hpp>

#include <algorithm>
#include <vector>

namespace dsl::cu::TYPENET_MODE {

/// Throws executor_error if a step may run too early. It is called for every program, since the compiler has not
/// checked the queues. This takes 15 us for MiniGoogLeNet's 109 steps, and 1 ms for a network of 1,300 steps.
inline void require_no_race(graph_view const& g, plan const& p, plan_streams const& queues) {
  if (int const s = first_race(g, p, queues); s >= 0)
    throw executor_error(detail::message(
        {"plan: on two queues, step ", s, " may run before a step that it depends on; please report the network"}));
}

/// Puts each step of a program on its queue, after the step of the other queue that it waits for.
class stream_schedule {
 public:
  explicit stream_schedule(recording& r)
      : r_(r), queues_{detail::list<int>(r.steps().size()), detail::list<int>(r.steps().size(), -1)} {
    if (r.made.queues == 2 && !meets_within(r)) {
      queues_ = find_streams(r.parts.graph, r.made.plan);
      require_no_race(r.parts.graph, r.made.plan, queues_);
    }
    is_awaited_.resize(static_cast<std::size_t>(r.steps().size()));
    points_.resize(is_awaited_.size());
    for (int const s : queues_.wait)
      if (s >= 0) is_awaited_[static_cast<std::size_t>(s)] = true;
  }

  /// Switches to the queue of `count` steps from `first` on, which share one launch. The launch waits for every step of
  /// the other queues on which one of them depends.
  void turn(int first, int count) {
    int last = -1;
    for (int s = first; s < first + count; ++s) last = std::max(last, queues_.wait[s]);
    r_.turn_to(queues_.stream[first], last < 0 ? nullptr : &points_[static_cast<std::size_t>(last)]);
  }
  /// Marks the point for which other steps wait. Call it after the launch of these steps.
  void note(int first, int count) {
    for (int s = first; s < first + count; ++s)
      if (is_awaited_[static_cast<std::size_t>(s)]) points_[static_cast<std::size_t>(s)] = r_.here();
  }

 private:
  /// Whether layers communicate in the middle of a pass. This communication uses the engine's own stream, whichever
  /// queue the layer's steps are on, so there is only one queue then.
  static bool meets_within(recording const& r) {
    return r.training() && r.parts.link && r.parts.options.moments == tower_moments::synchronized;
  }

  recording& r_;
  plan_streams queues_;
  std::vector<bool> is_awaited_{};  // for each step, whether the other queue waits for it
  std::vector<awaited> points_{};
};

}  // namespace dsl::cu::TYPENET_MODE
