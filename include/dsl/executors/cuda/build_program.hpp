// SPDX-License-Identifier: MIT
#pragma once

#include <dsl/detail/mode.hpp>
#include <dsl/executors/cuda/step_recorder.hpp>

#include <algorithm>
#include <cstring>
#include <string>

namespace dsl::cu::TYPENET_MODE {

/// Builds a program from a plan whose activations have memory: chooses convolutions, compiles kernels and records the
/// graphs. `workspace_limit` is the number of bytes that one convolution may use. If ranks record collectives, `ready`
/// synchronises them just before that: the first collective of each kind waits for all ranks, and one rank may need
/// minutes longer than another for timing its plans.
inline void build_program(engine_parts const& e, program& p, std::string const& architecture, long long workspace_limit,
                          handshake& ready) {
  auto const wait = [&] { e.calls(e.calls.cudaStreamSynchronize, e.stream); };
  p.metrics.emplace(e.calls, 16);
  std::memset(p.metrics->as<void>(), 0, 16);
  {
    device_memory const bench(e.calls, p.idle() ? 0 : workspace_limit, e.stream);  // for timing plans
    step_recorder(e, p, bench).record();
    if (!e.deterministic)  // timing plans has written numbers there
      e.calls(e.calls.cudaMemsetAsync, p.activations->data(), 0, static_cast<std::size_t>(p.activations->bytes()),
              e.stream);
    wait();
  }
  e.library.build(architecture);
  long long most[2] = {0, 0};
  auto const need = [&](int queue, long long bytes) { most[queue] = std::max(most[queue], bytes); };
  for (bound_convolution const& b : p.convolutions) need(b.queue, b.plan.facts.workspace);
  for (bound_product const& b : p.products) need(b.queue, b.plan.workspace());
  for (int q = 0; q < p.queues; ++q) {
    work_memory& w = p.work[q];
    w.workspace.emplace(e.calls, most[q], e.stream);
    w.scratch.emplace(e.calls, e.library.scratch_bytes(), e.stream);
    w.counters.emplace(e.calls, 4LL * e.library.counters(), e.stream);
  }
  wait();
  // Libraries allocate at the first run, which is not allowed while recording.
  for (bound_convolution& b : p.convolutions) {
    b.pack.emplace(bind_tensors(b.plan, b.tensors, p.work[b.queue].workspace->data()));
    execute(b.queue == 0 ? e.cudnn : *e.second_cudnn, b.plan, *b.pack);
    if (b.queue == 1) e.calls(e.calls.cudaStreamSynchronize, e.second);
  }
  for (bound_product const& b : p.products) b.plan.run(p.work[b.queue].workspace->data(), e.stream);
  wait();
  ready.pass();
  int const graphs = std::max(p.batches.size(), 1);
  for (p.turn = 0; p.turn < graphs; ++p.turn)
    for (segment& s : p.segments) {
      bool recorded = false;
      try {
        s.graphs.emplace(e.calls, e.stream, [&] {
          for (host::task const& launch : s.launches) launch();
          recorded = true;
        });
      } catch (...) {  // other ranks may wait for a collective that this one will not call
        if (e.link && !recorded && p.plan.options.mode == mode::training) e.link->communicator->abort();
        throw;
      }
    }
  p.turn = 0;
}

}  // namespace dsl::cu::TYPENET_MODE
