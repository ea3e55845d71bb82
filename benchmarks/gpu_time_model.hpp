// SPDX-License-Identifier: MIT
#pragma once

#include "gpu_launches.hpp"

#include <algorithm>
#include <list>
#include <stdexcept>

namespace dsl::bench {

/// The limits of a GPU. `reached` has the shares of these limits that kernels reach.
struct gpu_facts {
  char const* name = "";
  int multiprocessors = 132;
  double memory_bytes_s = 0;
  double l2_bytes_s = 5.5e12;
  long long l2_bytes = 50'000'000;
  double bf16_flops_s = 0, tf32_flops_s = 0, fp32_flops_s = 0;
};
struct reached {
  double bandwidth = 0.9;   // share of the bandwidth of memory and L2
  double arithmetic = 0.7;  // share of the tensor cores' rate, with every multiprocessor busy
  double kept_in_l2 = 0.7;  // the share of L2 in which a tensor is still found when it is read again
  double begin_s = 1.0e-6;  // from the end of a kernel to the beginning of the next one, in a recorded graph
  double least_s = 2.0e-6;  // the time of a kernel that does almost nothing
  double copy_s = 2.5e-6;   // the same for a copy from or to the host
};
/// The data sheets of the SXM modules, without sparsity.
inline constexpr gpu_facts h100{.name = "H100 SXM",
                                .memory_bytes_s = 3.35e12,
                                .bf16_flops_s = 989e12,
                                .tf32_flops_s = 494e12,
                                .fp32_flops_s = 67e12};
inline constexpr gpu_facts h200{.name = "H200 SXM",
                                .memory_bytes_s = 4.8e12,
                                .bf16_flops_s = 989e12,
                                .tf32_flops_s = 494e12,
                                .fp32_flops_s = 67e12};

/// The contents of the L2 cache. The memory that was used least recently is evicted first.
class l2_contents {
 public:
  explicit l2_contents(long long bytes) : bytes_(bytes) {}
  bool has(int memory) const {
    return std::any_of(recent_.begin(), recent_.end(), [&](entry const& e) { return e.memory == memory; });
  }
  void use(int memory, long long bytes) {
    if (memory < 0) return;
    recent_.remove_if([&](entry const& e) { return e.memory == memory; });
    if (bytes > bytes_) return;
    recent_.push_front({memory, bytes});
    long long all = 0;
    for (entry const& e : recent_) all += e.bytes;
    for (; all > bytes_; recent_.pop_back()) all -= recent_.back().bytes;
  }

 private:
  struct entry {
    int memory;
    long long bytes;
  };
  long long bytes_;
  std::list<entry> recent_{};
};

/// The time that a launch takes alone on the device, in seconds, and the parts of this time.
struct launch_time {
  double arithmetic = 0;
  double memory = 0;
  double fixed = 0;  // the time before its work begins, including that of the smallest launch
  double least = 0;
  double work() const { return std::max({arithmetic, memory, least}); }
  double all() const { return fixed + work(); }
};

/// Returns the times of all launches of a step, in order. A tensor is read from L2 if it was used recently.
inline std::vector<launch_time> times_of(std::vector<gpu_launch> const& launches, gpu_facts const& on, reached const& r,
                                         double flops_s) {
  l2_contents l2(static_cast<long long>(r.kept_in_l2 * static_cast<double>(on.l2_bytes)));
  std::vector<launch_time> times;
  for (gpu_launch const& l : launches) {
    launch_time t{.fixed = r.begin_s, .least = l.by == gpu_launch::maker::copy ? r.copy_s : r.least_s};
    double far = 0, all = 0;
    for (traffic const& m : l.moves) {
      auto const bytes = static_cast<double>(m.bytes);
      all += bytes;
      if (m.writes || !l2.has(m.memory)) far += bytes;  // data that was written is later copied from L2 to memory
    }
    for (traffic const& m : l.moves) l2.use(m.memory, m.bytes);
    t.memory = std::max(far / on.memory_bytes_s, all / on.l2_bytes_s) / r.bandwidth;
    if (l.tiles > 0) {
      // The last wave of tiles occupies only some of the multiprocessors; sums in backward_weights are split to occupy
      // them all.
      bool const splits = l.what == "convolution_weights";
      auto const waves = static_cast<double>((l.tiles + on.multiprocessors - 1) / on.multiprocessors);
      double const busy = splits ? 1 : static_cast<double>(l.tiles) / (waves * on.multiprocessors);
      t.arithmetic = l.flops / (flops_s * r.arithmetic * l.fill * busy);
    }
    times.push_back(t);
  }
  return times;
}

/// Computes the seconds of a step whose launches run on up to two queues, as find_streams() assigns them. Two
/// concurrent launches share the device: each runs as fast as alone as long as together they do not demand more
/// bandwidth or arithmetic than the device has. Throws std::invalid_argument if launches wait for each other, so that
/// some never begin.
class queue_times {
 public:
  queue_times(std::vector<gpu_launch> const& launches, std::vector<launch_time> const& times,
              plan_streams const& queues)
      : launches_(launches), times_(times), done_(launches.size()) {
    for (std::size_t i = 0; i < launches.size(); ++i) {
      int const s = launches[i].step;
      queue_[s < 0 ? 0 : queues.stream[s]].push_back(i);
      int last = -1;  // the last step of the other queue that it waits for
      for (int k = s; s >= 0 && k <= launches[i].last_step; ++k) last = std::max(last, queues.wait[k]);
      waits_.push_back(last);
    }
  }
  double run() {
    std::size_t next[2] = {0, 0};
    double fixed[2] = {0, 0}, work[2] = {0, 0};  // the rest of the launch that runs on each queue
    bool on[2] = {false, false};
    double now = 0;
    for (;;) {
      for (int q = 0; q < 2; ++q)
        if (!on[q] && next[q] < queue_[q].size() && may_begin(queue_[q][next[q]])) {
          launch_time const& t = times_[queue_[q][next[q]]];
          on[q] = true, fixed[q] = t.fixed, work[q] = t.work();
        }
      if (!on[0] && !on[1]) {
        std::size_t const left = queue_[0].size() - next[0] + queue_[1].size() - next[1];
        if (left == 0) return now;
        throw std::invalid_argument("queue_times: " + std::to_string(left) +
                                    " launches wait for each other, or for themselves");
      }
      // The share of the device that each launch demands while it runs.
      double speed = 1;
      if (on[0] && on[1] && fixed[0] <= 0 && fixed[1] <= 0) {
        launch_time const &a = times_[queue_[0][next[0]]], &b = times_[queue_[1][next[1]]];
        if (a.work() > 0 && b.work() > 0)
          speed = 1 / std::max({1.0, a.memory / a.work() + b.memory / b.work(),
                                a.arithmetic / a.work() + b.arithmetic / b.work()});
      }
      double pass = 1;
      for (int q = 0; q < 2; ++q)
        if (on[q]) pass = std::min(pass, fixed[q] > 0 ? fixed[q] : work[q] / speed);
      now += pass;
      for (int q = 0; q < 2; ++q) {
        if (!on[q]) continue;
        bool const begins = fixed[q] > 0;
        (begins ? fixed[q] : work[q]) -= begins ? pass : pass * speed;
        if (fixed[q] < 1e-12 && work[q] < 1e-12) done_[queue_[q][next[q]++]] = true, on[q] = false;
      }
    }
  }

 private:
  bool may_begin(std::size_t i) const {
    if (waits_[i] < 0) return true;
    for (std::size_t k = 0; k < launches_.size(); ++k)
      if (launches_[k].step >= 0 && launches_[k].step <= waits_[i] && waits_[i] <= launches_[k].last_step && !done_[k])
        return false;
    return true;
  }

  std::vector<gpu_launch> const& launches_;
  std::vector<launch_time> const& times_;
  std::vector<std::size_t> queue_[2]{};
  std::vector<int> waits_{};
  std::vector<bool> done_;
};

}  // namespace dsl::bench
