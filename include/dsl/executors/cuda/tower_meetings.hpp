// SPDX-License-Identifier: MIT
#pragma once

#include <dsl/detail/mode.hpp>
#include <dsl/executors/cuda/recording.hpp>

#include <utility>
#include <vector>

namespace dsl::cu::TYPENET_MODE {

/// Records the communication with other towers as steps of a program. If devices communicate directly, the
/// communication is part of the graph. Otherwise the graph is split, and the host communicates between its parts. All
/// towers record the same communication in the same order.
class tower_meetings {
 public:
  explicit tower_meetings(recording& r) : r_(r) {}

  bool any() const { return r_.parts.group != nullptr; }
  int towers() const { return r_.parts.group->ranks(); }

  /// Returns a stream for work that must be finished only at join(). The work begins after all work recorded so far.
  cudaStream_t fork() {
    if (!r_.parts.link) return r_.parts.stream;
    forked_ = true;
    r_.enqueue([&e = r_.parts] { e.link->fence.order(e.stream, e.link->comm_stream.get()); });
    return r_.parts.link->comm_stream.get();
  }
  /// Makes later steps wait for all work on the stream from fork().
  void join() {
    meet();
    if (!forked_) return;
    forked_ = false;
    r_.enqueue([&e = r_.parts] { e.link->fence.order(e.link->comm_stream.get(), e.stream); });
  }
  /// Makes later steps wait for the communication that has been recorded on the engine's own stream. If it is done by
  /// the host, the graph is split here.
  void meet() {
    if (meetings_.empty()) return;
    r_.cut([all = std::move(meetings_)] {
      for (host::task const& m : all) m();
    });
    meetings_.clear();
    for (way_back const& b : back_) r_.copy(b.to, b.from, b.bytes, cudaMemcpyHostToDevice);
    back_.clear();
  }

  /// Replaces `count` numbers on the device by the sums over all towers.
  void sum(float* data, long long count, cudaStream_t s) {
    if (r_.parts.link)
      return r_.enqueue([&e = r_.parts, data, count, s] { e.link->communicator->all_reduce(data, count, s); });
    auto* const host = r_.made.sums.emplace(r_.parts.calls, 4 * count).as<float>();
    r_.copy(host, data, 4 * count, cudaMemcpyDeviceToHost);
    meetings_.push_back([group = r_.parts.group, host, count] { group->all_reduce(host, count); });
    back_.push_back({data, host, 4 * count});
  }
  /// Sets all[0 ... towers * count), on the device, to the `count` numbers of tower 0, of tower 1, and so on.
  void gather(float const* data, long long count, float* all, cudaStream_t s) {
    if (r_.parts.link)
      return r_.enqueue(
          [&e = r_.parts, data, count, all, s] { e.link->communicator->all_gather(data, count, all, s); });
    host_exchange& x = r_.made.exchanges.emplace(r_.parts.calls, count, towers());
    r_.copy(x.mine.as<void>(), data, 4 * count, cudaMemcpyDeviceToHost);
    meetings_.push_back([group = r_.parts.group, &x] {
      auto const* const mine = x.mine.as<float>();
      auto* const theirs = x.all.as<float>();
      for (std::size_t i = 0; i < x.sent.size(); ++i) x.sent[i] = static_cast<double>(mine[i]);
      group->all_gather(x.sent.data(), static_cast<long long>(x.sent.size()), x.received.data());
      for (std::size_t i = 0; i < x.received.size(); ++i) theirs[i] = static_cast<float>(x.received[i]);
    });
    back_.push_back({all, x.all.as<void>(), x.all.bytes()});
  }

 private:
  struct way_back {
    void* to;
    void const* from;
    long long bytes;
  };

  recording& r_;
  bool forked_ = false;
  std::vector<host::task> meetings_{};
  std::vector<way_back> back_{};
};

}  // namespace dsl::cu::TYPENET_MODE
