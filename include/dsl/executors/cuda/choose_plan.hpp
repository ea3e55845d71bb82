// SPDX-License-Identifier: MIT
#pragma once

#include <dsl/detail/message.hpp>
#include <dsl/detail/mode.hpp>
#include <dsl/executors/cuda/plan_cache.hpp>
#include <dsl/executors/cuda/plan_comparison.hpp>
#include <dsl/executors/cuda/plan_timing.hpp>
#include <dsl/executors/cuda/plan_trials.hpp>
#include <dsl/warning.hpp>

#include <algorithm>
#include <cstddef>
#include <limits>
#include <optional>
#include <utility>
#include <vector>

namespace dsl::cu::TYPENET_MODE {

/// The tensors with which plans are timed. `workspace` has as many bytes as the option workspace_limit. Timing
/// overwrites the tensor that the pass writes.
struct plan_bench {
  cudnn_handle& handle;
  cudaStream_t stream;
  convolution_tensors tensors;
  void* workspace;
  timing_options timing{};
};

}  // namespace dsl::cu::TYPENET_MODE

namespace dsl::cu::backend::TYPENET_MODE {

// The maximum number of plans that are compiled, one after the other, until one of them runs.
inline constexpr int most_compiled_in_turn = 4;

inline std::vector<std::size_t> fastest_first(plan_times const& times) {
  std::vector<std::size_t> order;
  for (std::size_t i = 0; i < times.microseconds.size(); ++i)
    if (times.microseconds[i] < std::numeric_limits<double>::infinity()) order.push_back(i);
  std::sort(order.begin(), order.end(), [&](std::size_t x, std::size_t y) {
    double const a = times.microseconds[x], b = times.microseconds[y];
    return a < b || (a == b && x < y);
  });
  return order;
}

inline confirmed_plan confirm_on(plan_bench const& b, convolution const& c, convolution_options const& o,
                                 std::vector<convolution_plan> const& plans, std::vector<std::size_t> const& order) {
  written_tensor const w = written_by(c, o, b.tensors);
  return confirm(order, most_difference(o.precision),
                 [&](std::size_t i) { return numbers_of(b.handle, b.stream, plans[i], w, b.tensors, b.workspace); });
}

}  // namespace dsl::cu::backend::TYPENET_MODE

namespace dsl::cu::TYPENET_MODE {

/// Returns the plan to use: the one in the cache, or otherwise the fastest on the bench that computes the same as
/// another plan. Without a bench, or if plans must be deterministic, it is the plan that cuDNN ranks first, since two
/// runs that time plans may choose plans that round differently. With a bench, every plan is run and recorded once
/// before it is chosen. A stored plan for which this fails is ignored and replaced. A plan that ended the device or the
/// program, or computes other numbers than two others, is never tried again; the latter is warned of. If there was no
/// time for every plan, or no two plans agree, the choice is not stored. Throws no_plan_error with the reason if there
/// is no plan, and executor_error that names the plan if the device fails while running it.
inline convolution_plan choose_plan(plan_target const& on, convolution const& c, convolution_options const& o,
                                    plan_cache const& cache, plan_bench const* bench = nullptr) {
  bool const timed = bench && !o.deterministic;
  char const* const way = timed ? "timed and compared" : "first";
  plan_trials trials(bench ? cache.folder() : "", "trials-" + plan_cache::file_of(plan_cache::key_of(on, c, o, "")),
                     describe(c, o));
  auto const runs_now = [&](convolution_plan const& p) {
    api const& a = bench->handle.calls();
    bench->handle.set_stream(bench->stream);
    backend_descriptor const pack = bind_tensors(p, bench->tensors, bench->workspace);
    bool const runs_once = try_execute(bench->handle, p, pack);
    a(a.cudaStreamSynchronize, bench->stream);  // fails if the device has failed
    return runs_once && backend::repeated_runs(bench->handle, bench->stream, p, pack, 1).runs();
  };
  auto const runs = [&](convolution_plan const& p) {
    return !bench || (!trials.was_fatal(p.facts) && trials.first_run(p, [&] { return runs_now(p); }));
  };
  if (std::optional<convolution_plan> known = cache.find(on, c, o, way); known && runs(*known))
    return std::move(*known);
  auto const first_that_runs = [&] {
    convolution_options one = o;
    one.most_plans = 1;
    one.most_compiled = std::max(o.most_compiled, backend::most_compiled_in_turn);
    return find_plans(on, c, one, runs);
  };
  plan_search found = timed ? find_plans(on, c, o) : first_that_runs();
  std::erase_if(found.plans, [&](convolution_plan const& p) { return trials.was_fatal(p.facts); });
  std::size_t best = 0;
  bool none_runs = false, settled = true;
  if (timed && !found.plans.empty()) {
    plan_times const times =
        time_plans(bench->handle, bench->stream, found.plans, bench->tensors, bench->workspace, bench->timing,
                   [&](convolution_plan const& p, auto const& run) { return trials.first_run(p, run); });
    std::vector<std::size_t> const order = backend::fastest_first(times);
    none_runs = order.empty();
    if (!none_runs) {
      backend::confirmed_plan const chosen = backend::confirm_on(*bench, c, o, found.plans, order);
      best = chosen.index;
      settled = times.complete && chosen.confirmed;
      for (std::size_t const wrong : chosen.wrong) {
        plan_facts const& other = found.plans[wrong].facts;
        trials.exclude(other);
        on_warning(detail::message({"cuda: cuDNN's execution plan ", other.tag(),
                                    " gives different results from two other plans for ", describe(c, o), " on ",
                                    on.name(), "; it will not be used"})
                       .c_str());
      }
      if (!chosen.confirmed)
        on_warning(
            detail::message({"cuda: no two of cuDNN's execution plans compute the same numbers for ", describe(c, o),
                             " on ", on.name(), "; ", found.plans[best].facts.tag(),
                             ", cuDNN's first choice, is used unchecked; compare the results with another executor's"})
                .c_str());
    }
  }
  // As a last resort, use the plans that were not compiled for lack of time, and the fallback list.
  if (timed && (none_runs || (found.plans.empty() && found.skipped > 0))) found = first_that_runs(), best = 0;
  if (found.plans.empty())
    throw no_plan_error(
        detail::message({"cudnn: no plan ", none_runs ? "runs" : "is left", " for ", describe(c, o), " on ", on.name(),
                         ": of ", found.summary(), "; allow more workspace, or another precision"}));
  if (settled) cache.store(on, c, o, way, found.plans[best]);
  return std::move(found.plans[best]);
}

}  // namespace dsl::cu::TYPENET_MODE
