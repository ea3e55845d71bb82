// SPDX-License-Identifier: MIT
#pragma once

#include <dsl/detail/chain.hpp>
#include <dsl/detail/mode.hpp>
#include <dsl/executors/cuda/recording.hpp>

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <limits>

namespace dsl::cu::TYPENET_MODE {

/// A copy of all memory that a training step changes, which is put back when this object ends.
class kept_state {
 public:
  explicit kept_state(engine_parts const& e) : e_(e) {
    e_.arena.for_each_block([&](std::byte* data, long long bytes) {
      copy(copies_.emplace(e_.calls, bytes, e_.stream).data(), data, bytes);
    });
  }
  kept_state(kept_state const&) = delete;
  kept_state& operator=(kept_state const&) = delete;
  /// Puts everything back. If the device has failed, the state is lost anyway.
  ~kept_state() {
    auto copy_of = copies_.begin();
    e_.arena.for_each_block([&](std::byte* data, long long bytes) {
      try {
        copy(data, (*copy_of).data(), bytes);
      } catch (...) {
      }
      ++copy_of;
    });
    e_.arena.note_copies(true);
    e_.calls.ignore(e_.calls.cudaStreamSynchronize.function(e_.stream));
  }

 private:
  void copy(void* to, void const* from, long long bytes) const {
    if (bytes > 0)
      e_.calls(e_.calls.cudaMemcpyAsync, to, from, static_cast<std::size_t>(bytes), cudaMemcpyDeviceToDevice,
               e_.stream);
  }

  engine_parts const& e_;
  detail::chain<device_memory> copies_;
};

/// Returns whether the recorded step of `a` is faster than that of `b`, a program for the same purpose. Each step is
/// repeated in turns, on a batch of zeros or on the first samples of its data set. Only the least time counts, since
/// all disturbances make a step slower. The state is the same before and afterwards.
inline bool is_faster(engine_parts const& e, program& a, program& b) {
  constexpr int rounds = 5, runs = 4;
  api const& calls = e.calls;
  kept_state const before(e);
  backend::timing_event const begin(calls), end(calls);
  program* const both[] = {&a, &b};
  for (program* const p : both)
    for (host_batch const& x : p->batches) {
      std::memset(x.images.as<void>(), 0, static_cast<std::size_t>(x.images.bytes()));
      if (x.labels) std::memset(x.labels->as<void>(), 0, static_cast<std::size_t>(x.labels->bytes()));
    }
  double least[] = {std::numeric_limits<double>::infinity(), std::numeric_limits<double>::infinity()};
  for (int round = 0; round < rounds; ++round)
    for (int i : {0, 1}) {
      *e.host_state = both[i]->state;
      e.host_state->epsilon = static_cast<float>(e.options.update.at(0, 0).epsilon);  // at a learning rate of 0
      e.parts.write(e.options.update, 0, 0, e.host_rates());
      auto const run = [&] {
        for (segment const& s : both[i]->segments) s.graphs[0].launch(e.stream);
      };
      run();  // not counted, since it finds the other program's data in the cache
      calls(calls.cudaEventRecord, begin.get(), e.stream);
      for (int n = 0; n < runs; ++n) run();
      calls(calls.cudaEventRecord, end.get(), e.stream);
      calls(calls.cudaStreamSynchronize, e.stream);
      float milliseconds = 0;
      calls(calls.cudaEventElapsedTime, &milliseconds, begin.get(), end.get());
      least[i] = std::min(least[i], static_cast<double>(milliseconds) / runs);
    }
  for (program* const p : both) {
    std::memset(p->metrics->as<void>(), 0, static_cast<std::size_t>(p->metrics->bytes()));
    calls(calls.cudaMemsetAsync, p->activations->data(), 0, static_cast<std::size_t>(p->activations->bytes()),
          e.stream);
  }
  return least[0] < least[1];
}

}  // namespace dsl::cu::TYPENET_MODE
