// SPDX-License-Identifier: MIT
#pragma once

#include <dsl/executors/cuda/convolution_plan.hpp>

#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace dsl::cu {

/// cuDNN has no plan that a convolution's options allow.
struct no_plan_error : executor_error {
  using executor_error::executor_error;
};

/// What was found, best first as cuDNN ranks it, and why the other candidates are not there.
struct plan_search {
  std::vector<convolution_plan> plans{};
  int candidates = 0;
  int forbidden = 0;                             // by deterministic, or by the precision
  int too_large = 0;                             // workspace
  int skipped = 0;                               // beyond most_compiled
  int refused = 0;                               // by cuDNN, when the plan was to be built
  cudnnStatus_t refusal = CUDNN_STATUS_SUCCESS;  // the last one
  std::string reason{};

  /// "32 candidates: 2 of forbidden arithmetic, 30 with too much workspace, 0 not compiled, 0 refused"
  std::string summary() const {
    std::string text = detail::message({candidates, " candidates: ", forbidden, " of forbidden arithmetic, ", too_large,
                                        " with too much workspace, ", skipped, " not compiled, ", refused, " refused"});
    return refused > 0 ? text + " (the last: " + reason + ")" : text;
  }
  void refuse(api const& a, cudnnStatus_t status) {
    char why[256] = "";
    a.cudnnGetLastErrorString.function(why, sizeof why);
    why[sizeof why - 1] = 0;
    ++refused;
    refusal = status;
    reason = detail::message({a.cudnnGetErrorString.function(status), why[0] ? ": " : "", why});
  }
};

namespace backend {

constexpr unsigned forbidden_notes(convolution_options const& o) {
  auto const bit = [](cudnnBackendNumericalNote_t n) { return 1U << n; };
  unsigned notes = bit(CUDNN_NUMERICAL_NOTE_REDUCED_PRECISION_REDUCTION);  // sums in less than float
  // Winograd's transforms lose more bits than 16-bit numbers have to spare.
  if (o.precision != convolution_precision::tf32)
    notes |= bit(CUDNN_NUMERICAL_NOTE_FFT) | bit(CUDNN_NUMERICAL_NOTE_WINOGRAD) |
             bit(CUDNN_NUMERICAL_NOTE_WINOGRAD_TILE_4x4) | bit(CUDNN_NUMERICAL_NOTE_WINOGRAD_TILE_6x6) |
             bit(CUDNN_NUMERICAL_NOTE_WINOGRAD_TILE_13x13);
  if (o.precision == convolution_precision::fp32_strict)
    notes |= bit(CUDNN_NUMERICAL_NOTE_TENSOR_CORE) | bit(CUDNN_NUMERICAL_NOTE_DOWN_CONVERT_INPUTS);
  if (o.deterministic) notes |= bit(CUDNN_NUMERICAL_NOTE_NONDETERMINISTIC);
  return notes;
}

// Adds the plans of one of the heuristics' lists.
inline void search(plan_target const& on, std::shared_ptr<convolution_graph const> const& graph,
                   convolution_options const& o, cudnnBackendHeurMode_t mode, plan_search& found) {
  api const& a = on.calls();
  backend_descriptor heuristics(a, CUDNN_BACKEND_ENGINEHEUR_DESCRIPTOR, "engine heuristics");
  heuristics.set(CUDNN_ATTR_ENGINEHEUR_OPERATION_GRAPH, graph->get());
  heuristics.set(CUDNN_ATTR_ENGINEHEUR_MODE, mode);
  on.prepare_heuristics(heuristics);
  cudnnStatus_t const status = heuristics.try_finalize();
  if (is_refusal(status)) return found.refuse(a, status);
  heuristics.check(status, a.cudnnBackendFinalize.name);

  int compiled = 0;
  for (backend_descriptor& config : heuristics.get_all(
           CUDNN_ATTR_ENGINEHEUR_RESULTS, CUDNN_BACKEND_ENGINECFG_DESCRIPTOR, "an engine's configuration")) {
    if (static_cast<int>(found.plans.size()) == o.most_plans) return;
    ++found.candidates;
    convolution_plan p{.pass = o.pass, .facts = facts_of(config), .graph = graph, .config = std::move(config)};
    if ((p.facts.numerical_notes & forbidden_notes(o)) != 0)
      ++found.forbidden;
    else if (p.facts.has(CUDNN_BEHAVIOR_NOTE_RUNTIME_COMPILATION) && compiled++ >= o.most_compiled)
      ++found.skipped;
    else if (cudnnStatus_t const s = build(on, p); s != CUDNN_STATUS_SUCCESS)
      found.refuse(a, s);
    else if (p.facts.workspace > o.workspace_limit)
      ++found.too_large;
    else
      found.plans.push_back(std::move(p));
  }
}

}  // namespace backend

/// All plans of a convolution that the options allow, maybe none. Takes some milliseconds, and 0.3 to 2 seconds more
/// for each that cuDNN compiles. Throws executor_error on contradicting shapes and options, and where a call fails.
inline plan_search find_plans(plan_target const& on, convolution const& c, convolution_options const& o) {
  auto const graph = std::make_shared<backend::convolution_graph const>(on, c, o);
  plan_search found;
  if (backend::is_refusal(graph->status())) {
    found.refuse(on.calls(), graph->status());
    return found;
  }
  graph->get().check(graph->status(), on.calls().cudnnBackendFinalize.name);
  backend::search(on, graph, o, CUDNN_HEUR_MODE_A, found);
  if (found.plans.empty()) backend::search(on, graph, o, CUDNN_HEUR_MODE_FALLBACK, found);
  return found;
}

}  // namespace dsl::cu
