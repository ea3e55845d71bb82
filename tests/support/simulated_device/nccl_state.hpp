// SPDX-License-Identifier: MIT
#pragma once

#include <dsl/executors/cuda/nccl_api.hpp>

#include <chrono>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "support/simulated_device/graphs.hpp"

namespace dsl_test {

struct nccl_options {
  int version = NCCL_VERSION_CODE;
  std::chrono::milliseconds patience{2000};  // until what would hang for ever is reported instead
  int polls = 2;                             // questions until a call that doesn't block is done
  bool aborts_are_heard = true;              // by other ranks, as over a network; shared memory tells nobody
  bool aborts_end_kernels = true;            // that wait for other ranks: what ncclCommAbort is for
  bool aborts_last = false;                  // until simulated_nccl::let_aborts_end()
};

namespace simulated {

/// One rank's part of a collective.
struct collective {
  char const* name = "";
  void const* send = nullptr;
  void* receive = nullptr;
  std::size_t count = 0;  // of floats that are sent
  bool gathers = false;   // or sums up
  cudaStream_t stream = nullptr;
  bool recorded = false;
  std::shared_ptr<capture> recording{};  // until it is in the graph, which must not hold its own capture

  std::size_t received(std::size_t ranks) const { return gathers ? count * ranks : count; }
};
inline std::string describe(collective const& c) {
  return std::string(c.name) + " of " + std::to_string(c.count) + (c.recorded ? ", recorded" : "");
}

struct nccl_clique;

/// The object behind an ncclComm_t.
struct nccl_rank : object {
  std::shared_ptr<nccl_clique> clique;
  int rank = 0, device = 0;
  enum { starting, launching, finalizing } doing = starting;
  ncclResult_t result = ncclInProgress;  // what ncclCommGetAsyncError returns
  int polls = 0;                         // before what is in progress ends
  ncclComm_t* place = nullptr;           // where its start stores it again when it ends
  bool gone = false;                     // aborted or destroyed
  std::vector<collective> queued;        // the background has not launched them yet
  std::set<std::string> connects;        // the kinds of collectives it has come to, queued or recorded
  std::size_t launched = 0;              // collectives so far
  std::shared_ptr<node> last;            // a communicator's collectives run one after the other,
  std::weak_ptr<capture> recording;      // in a graph as well
  std::size_t last_recorded = 0;
};

/// The n-th collective of all ranks. Its work has two ends per rank: `gate` waits for every rank's own work and does
/// what the collective does; after it, what each rank's `leave` holds back continues.
struct meeting {
  std::vector<std::optional<collective>> parts;
  std::vector<std::shared_ptr<node>> absent;  // stands in gate->before for a rank that hasn't come; never done
  std::shared_ptr<node> gate;
  std::vector<std::shared_ptr<node>> leave;
};

/// The ranks that share an id.
struct nccl_clique {
  std::vector<std::shared_ptr<nccl_rank>> members;  // null: not come yet
  bool spoiled = false;                             // by ranks that contradict each other: nobody ever begins
  std::map<std::size_t, meeting> meetings;          // that are not over
  bool complete() const {
    for (auto const& m : members)
      if (!m) return false;
    return !members.empty() && !spoiled;
  }
};

/// The state of the simulated NCCL; one at a time, since functions in a table have no context. Guarded by its mutex.
struct nccl_world {
  nccl_options options;
  std::map<std::uint64_t, std::shared_ptr<nccl_clique>> cliques;  // by id
  std::string last_error;
  int waiting = 0;  // calls that wait for other threads
  int aborts = 0;
  bool aborts_may_end = false;
  long done = 0;  // number of finished collectives

  inline static nccl_world* active = nullptr;
};
inline nccl_world& world() { return *nccl_world::active; }

/// Lets other threads in until a condition holds; returns false after `patience`. The caller must hold the mutex
/// exactly once.
template <class F>
bool wait_for_others(state& s, F so) {
  auto const end = std::chrono::steady_clock::now() + world().options.patience;
  bool came = so();
  for (++world().waiting; !came && std::chrono::steady_clock::now() < end; came = so()) {
    s.mutex.unlock();
    std::this_thread::sleep_for(std::chrono::microseconds(200));
    s.mutex.lock();
  }
  --world().waiting;
  return came;
}

/// Returns "collective 3 (ncclAllReduce of 10) waits for rank 1; ..."
inline std::string stalled() {
  std::string text;
  for (auto const& [id, clique] : world().cliques)
    for (auto const& [number, m] : clique->meetings) {
      std::string who, what;
      for (std::size_t r = 0; r < m.parts.size(); ++r) {
        if (m.parts[r])
          what = describe(*m.parts[r]);
        else
          who += (who.empty() ? "" : ", ") + std::to_string(r);
      }
      text += (text.empty() ? "collective " : "; collective ") + std::to_string(number) + " (" + what + ") ";
      text += who.empty() ? "can't end" : "waits for rank " + who;
    }
  return text.empty() ? "nothing is queued that could end" : text;
}

}  // namespace simulated
}  // namespace dsl_test
