// SPDX-License-Identifier: MIT
#pragma once

#include <dsl/executors/cuda/step_recorder.hpp>

#include <cstring>

namespace dsl::cu {

/// Makes a program of a plan whose activations have their memory: chooses convolutions, compiles kernels, records the
/// graphs. workspace_limit: bytes that one convolution may use.
[[gnu::cold]] inline void build_program(engine_parts const& e, program& p, std::string const& architecture,
                                        long long workspace_limit) {
  auto const wait = [&] { e.calls(e.calls.cudaStreamSynchronize, e.stream); };
  p.metrics.emplace(e.calls, 16);
  std::memset(p.metrics->as<void>(), 0, 16);
  {
    device_memory const bench(e.calls, p.idle() ? 0 : workspace_limit, e.stream);  // while plans are timed
    step_recorder(e, p, bench).record();
    wait();
  }
  e.library.build(architecture);
  p.scratch.emplace(e.calls, e.library.scratch_bytes(), e.stream);
  p.counters.emplace(e.calls, 4LL * e.library.counters(), e.stream);
  long long most = 0;
  for (bound_convolution const& b : p.convolutions) most = std::max(most, b.plan.facts.workspace);
  for (product_plan const& m : p.products) most = std::max(most, m.workspace());
  p.workspace.emplace(e.calls, most, e.stream);
  for (bound_convolution& b : p.convolutions) {
    b.pack.emplace(bind_tensors(b.plan, b.tensors, p.workspace->data()));
    execute(e.cudnn, b.plan, *b.pack);  // libraries allocate at the first run, which a recording does not allow
  }
  for (product_plan const& m : p.products) m.run(p.workspace->data(), e.stream);
  wait();
  for (segment& s : p.segments)
    s.graph.emplace(e.calls, e.stream, [&] {
      for (host::task const& launch : s.launches) launch();
    });
}

}  // namespace dsl::cu
