// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <cstring>

#include "support/simulated_device/copies.hpp"
#include "support/simulated_device/nccl_state.hpp"

namespace dsl_test::simulated {

/// Does what all ranks' parts do together. Sums begin at any rank: NCCL promises no order, only the same bits for all.
inline void run_collective(state& s, nccl_clique const& clique, meeting const& m) {
  std::size_t const ranks = m.parts.size(), count = m.parts[0]->count, received = m.parts[0]->received(ranks);
  auto const expect = [&](std::size_t r, void const* p, std::size_t floats) {
    auto const* const b = s.memory.find(p, floats * sizeof(float));
    if (!b || b->device != clique.members[r]->device)
      throw simulation_error("rank " + std::to_string(r) + "'s memory was freed before the collective");
  };
  for (std::size_t r = 0; r < ranks; ++r) {
    expect(r, m.parts[r]->send, count);
    expect(r, m.parts[r]->receive, received);
  }
  std::vector<float> result(received);
  if (m.parts[0]->gathers) {
    for (std::size_t r = 0; r < ranks; ++r)
      std::memcpy(result.data() + r * count, m.parts[r]->send, count * sizeof(float));
  } else {
    std::size_t const first = random_below(s.random, static_cast<std::uint32_t>(ranks));
    for (std::size_t k = 0; k < ranks; ++k) {
      auto const* const x = static_cast<float const*>(m.parts[(first + k) % ranks]->send);
      for (std::size_t i = 0; i < count; ++i) result[i] += x[i];
    }
  }
  for (auto const& p : m.parts) std::memcpy(p->receive, result.data(), received * sizeof(float));
  ++world().done;
}

inline meeting& meet(state& s, std::shared_ptr<nccl_clique> const& clique, std::size_t number) {
  meeting& m = clique->meetings[number];
  if (m.gate) return m;
  std::size_t const ranks = clique->members.size();
  m.parts.resize(ranks);
  m.leave.resize(ranks);
  for (std::size_t r = 0; r < ranks; ++r) m.absent.push_back(std::make_shared<node>());
  m.gate = s.work.add("collective", 0.02, m.absent, [&s, clique, number] {
    run_collective(s, *clique, clique->meetings.at(number));
    clique->meetings.erase(number);
  });
  return m;
}

/// Replaces `from` by `to` among what n waits for.
inline void wait_instead(node& n, std::shared_ptr<node> const& from, std::shared_ptr<node> const& to) {
  std::replace(n.before.begin(), n.before.end(), from, to);
  std::erase(from->after, &n);
  to->after.push_back(&n);
}

/// Queues a rank's part of its next collective; returns what everything later must wait for. A part that does not fit
/// the others' is a deadlock, or worse, on a GPU, too.
inline std::shared_ptr<node> join(state& s, nccl_rank& me, collective const& c,
                                  std::vector<std::shared_ptr<node>> before) {
  std::size_t const number = me.launched++, r = static_cast<std::size_t>(me.rank);
  meeting& m = meet(s, me.clique, number);
  before.push_back(me.last);
  auto const enter = s.work.add(c.name, 0, std::move(before), nullptr);
  me.last = m.leave[r] = s.work.add(c.name, 0, {m.gate, enter}, nullptr);
  m.parts[r] = c;
  for (std::size_t k = 0; k < m.parts.size(); ++k) {
    if (!m.parts[k] || k == r) continue;
    collective const& other = *m.parts[k];
    bool const same = c.count == other.count && c.gathers == other.gathers && c.recorded == other.recorded;
    if (same) continue;
    s.misuse("deadlock: collective " + std::to_string(number) + " is " + describe(other) + " on rank " +
             std::to_string(k) + ", " + describe(c) + " on rank " + std::to_string(r));
    return me.last;
  }
  wait_instead(*m.gate, m.absent[r], enter);
  return me.last;
}

/// A recorded collective in a graph, which is not work that could run alone.
struct recorded_collective {
  std::weak_ptr<nccl_rank> rank;
  collective c;
  void operator()() const { throw simulation_error("this launch can't take a collective along"); }
};

/// Finally puts a collective into its stream.
inline ncclResult_t launch_collective(state& s, nccl_rank& me, collective const& c) {
  cudaError_t error;
  auto const q = find_stream(s, c.stream, c.name, error);
  if (!q) return ncclUnhandledCudaError;
  if (q->capturing != c.recording) {
    s.misuse(std::string(c.name) + ": recording began or ended before the launch was over; ask ncclCommGetAsyncError");
    return ncclUnhandledCudaError;
  }
  if (!q->capturing) {
    q->last = join(s, me, c, {q->last});
    s.after_enqueue();
    return s.sticky == cudaSuccess ? ncclSuccess : ncclUnhandledCudaError;
  }
  if (q->capturing->invalid) return ncclUnhandledCudaError;
  auto const self = me.clique->members[static_cast<std::size_t>(me.rank)];
  std::vector<std::size_t> before = q->last_recorded;
  if (me.recording.lock() == q->capturing) before.push_back(me.last_recorded);
  collective kept = c;
  kept.recording = nullptr;
  q->capturing->nodes.push_back({c.name, 0, recorded_collective{self, std::move(kept)}, std::move(before), {self}});
  me.recording = q->capturing;
  me.last_recorded = q->capturing->nodes.size() - 1;
  q->last_recorded = {me.last_recorded};
  return ncclSuccess;
}

/// Ends a rank's kernels without the others; nobody completes what it waited for.
inline void release(state& s, nccl_rank& me) {
  if (!world().options.aborts_end_kernels) return;
  std::size_t const r = static_cast<std::size_t>(me.rank);
  std::vector<std::shared_ptr<node>> complete;
  for (auto& [number, m] : me.clique->meetings) {
    if (!m.leave[r]) continue;
    if (m.gate->missing == 0) {
      complete.push_back(m.gate);
      continue;
    }
    auto const end = s.work.add("ncclCommAbort", 0, {}, nullptr);
    wait_instead(*m.leave[r], m.gate, end);
    m.gate->before.push_back(std::make_shared<node>());
    ++m.gate->missing;
  }
  s.finish(complete);
}

inline bool recorded_in_a_graph(state const& s, nccl_rank const& me) {
  auto const uses = [&me](auto const& g) {
    for (recorded_node const& n : *g->nodes)
      for (auto const& o : n.uses)
        if (o.get() == &me) return true;
    return false;
  };
  auto const graphs = s.all<graph>();
  auto const execs = s.all<graph_exec>();
  return std::any_of(graphs.begin(), graphs.end(), uses) || std::any_of(execs.begin(), execs.end(), uses);
}
inline bool others_end(nccl_rank const& me) {
  auto const ends = [](auto const& m) { return m->gone || m->doing == nccl_rank::finalizing; };
  return std::all_of(me.clique->members.begin(), me.clique->members.end(), ends);
}
inline bool work_is_done(state& s, nccl_rank const& me) {
  s.finish({me.last});
  return !me.last || me.last->done;
}

/// Ranks connect at the first collective of a kind, even a recorded one, which is in progress until all of them have
/// reached it.
inline bool connected(nccl_rank& me) {
  for (collective const& c : me.queued)
    for (auto const& m : me.clique->members)
      if (!m->connects.contains(c.name)) return false;
  return true;
}

/// Advances the background thread of a non-blocking call whenever it is polled, so that a polling loop ends.
inline void progress(state& s, nccl_rank& me) {
  if (me.result != ncclInProgress) return;
  if (me.doing == nccl_rank::starting && !me.clique->complete()) return;
  if (me.doing == nccl_rank::finalizing && !(others_end(me) && work_is_done(s, me) && !recorded_in_a_graph(s, me)))
    return;
  if (me.doing == nccl_rank::launching && !connected(me)) return;
  if (me.polls-- > 0) return;
  me.result = ncclSuccess;
  me.place = nullptr;  // it has been stored again, which cannot be distinguished here
  for (collective const& c : std::exchange(me.queued, {}))
    if (me.result == ncclSuccess) me.result = launch_collective(s, me, c);
}
inline void begin(state& s, nccl_rank& me, std::vector<collective> calls) {
  me.doing = nccl_rank::launching;
  me.result = ncclInProgress;
  me.polls = world().options.polls;
  me.queued = std::move(calls);
  for (collective const& c : me.queued) me.connects.insert(c.name);
  bool const at_once =
      s.options.when == timing::early || (s.options.when == timing::random && random_below(s.random, 2) == 0);
  if (!at_once || !connected(me)) return;
  for (collective const& c : std::exchange(me.queued, {}))
    if (me.result == ncclInProgress)
      if (ncclResult_t const r = launch_collective(s, me, c); r != ncclSuccess) me.result = r;
}

}  // namespace dsl_test::simulated
