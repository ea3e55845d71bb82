// SPDX-License-Identifier: MIT
#pragma once

#include <dsl/detail/mode.hpp>
#include <dsl/executors/cuda/plan_errata.hpp>

#include <algorithm>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace dsl::cu::TYPENET_MODE {

/// Thrown if cuDNN has no plan that a convolution's options allow.
struct no_plan_error : executor_error {
  using executor_error::executor_error;
};

/// Returns whether a plan that was built may be used. An empty function accepts all plans.
using plan_trial = std::function<bool(convolution_plan const&)>;

/// The plans found, in cuDNN's order, best first, and why the other candidates were rejected.
struct plan_search {
  std::vector<convolution_plan> plans{};
  int candidates = 0;
  int forbidden = 0;     // candidates that `deterministic` or the precision forbids
  int too_large = 0;     // candidates that need too much workspace
  int skipped = 0;       // candidates not compiled because of most_compiled
  int refused = 0;       // candidates refused by cuDNN or the device, for any reason
  std::string reason{};  // of the last refusal

  /// Returns a description for messages: "32 candidates, 2 use arithmetic that the options forbid, 30 need too much
  /// workspace, 0 were not compiled, 0 were refused".
  std::string summary() const {
    std::string text =
        detail::message({candidates, " candidates, ", forbidden, " use arithmetic that the options forbid, ", too_large,
                         " need too much workspace, ", skipped, " were not compiled, ", refused, " were refused"});
    return refused > 0 ? text + " (the last: " + reason + ")" : text;
  }
  /// Counts a candidate as refused. Clears the error that it left, so that the next call does not report it.
  void refuse(api const& a, std::string why) {
    a.cudaGetLastError.function();
    ++refused;
    reason = std::move(why);
  }
  void refuse(api const& a, cudnnStatus_t status) {
    char why[256] = "";
    a.cudnnGetLastErrorString.function(why, sizeof why);
    why[sizeof why - 1] = 0;
    refuse(a, detail::message({a.cudnnGetErrorString.function(status), why[0] ? ": " : "", why}));
  }
};

}  // namespace dsl::cu::TYPENET_MODE

namespace dsl::cu::backend::TYPENET_MODE {

constexpr unsigned forbidden_notes(convolution_options const& o) {
  auto const bit = [](cudnnBackendNumericalNote_t n) { return 1U << n; };
  unsigned notes = bit(CUDNN_NUMERICAL_NOTE_REDUCED_PRECISION_REDUCTION);  // sums in less than float
  // Winograd's transforms lose more bits than 16-bit numbers can spare.
  if (o.precision != convolution_precision::tf32)
    notes |= bit(CUDNN_NUMERICAL_NOTE_FFT) | bit(CUDNN_NUMERICAL_NOTE_WINOGRAD) |
             bit(CUDNN_NUMERICAL_NOTE_WINOGRAD_TILE_4x4) | bit(CUDNN_NUMERICAL_NOTE_WINOGRAD_TILE_6x6) |
             bit(CUDNN_NUMERICAL_NOTE_WINOGRAD_TILE_13x13);
  // Factors converted to 16 bits could also be fp16, where small gradients would be 0. cuDNN 9.19 sets this note on
  // none of the 8,900 tf32 plans that it has for MiniGoogLeNet's convolutions (batches of 64 and 1,024, compute
  // capability 8.0, 9.0 and 10.0), and TENSOR_CORE without others on 7,600.
  if (bytes_of(o.precision) == 4) notes |= bit(CUDNN_NUMERICAL_NOTE_DOWN_CONVERT_INPUTS);
  if (o.precision == convolution_precision::fp32_strict) notes |= bit(CUDNN_NUMERICAL_NOTE_TENSOR_CORE);
  if (o.deterministic) notes |= bit(CUDNN_NUMERICAL_NOTE_NONDETERMINISTIC);
  return notes;
}

// One search over the heuristics' lists, which may contain the same candidates.
class plan_finder {
 public:
  plan_finder(plan_target const& on, convolution const& c, convolution_options const& o, plan_trial runs = {})
      : on_(on), c_(c), o_(o), runs_(std::move(runs)) {}

  /// Adds the plans of one list. A candidate that fails in any way does not affect the others.
  void search(std::shared_ptr<convolution_graph const> const& graph, cudnnBackendHeurMode_t mode) {
    api const& a = on_.calls();
    compiled_ = 0;
    backend_descriptor heuristics(a, CUDNN_BACKEND_ENGINEHEUR_DESCRIPTOR, "engine heuristics");
    heuristics.set(CUDNN_ATTR_ENGINEHEUR_OPERATION_GRAPH, graph->get());
    heuristics.set(CUDNN_ATTR_ENGINEHEUR_MODE, mode);
    on_.prepare_heuristics(heuristics);
    if (cudnnStatus_t const s = heuristics.try_finalize(); s != CUDNN_STATUS_SUCCESS) return found.refuse(a, s);
    for (backend_descriptor& config : heuristics.get_all(
             CUDNN_ATTR_ENGINEHEUR_RESULTS, CUDNN_BACKEND_ENGINECFG_DESCRIPTOR, "an engine's configuration")) {
      if (is_full()) return;
      std::optional<convolution_plan> p = try_build(graph, std::move(config));
      if (!p) continue;
      if (!runs_ || runs_(*p))
        found.plans.push_back(std::move(*p));
      else
        found.refuse(a, "it was built, but can't be run or recorded");
    }
  }
  bool is_full() const { return static_cast<int>(found.plans.size()) >= o_.most_plans; }

  plan_search found{};

 private:
  std::optional<convolution_plan> try_build(std::shared_ptr<convolution_graph const> const& graph,
                                            backend_descriptor config) {
    try {
      convolution_plan p{.pass = o_.pass, .facts = facts_of(config), .graph = graph, .config = std::move(config)};
      std::string tag = p.facts.tag();
      if (std::find(seen_.begin(), seen_.end(), tag) != seen_.end()) return std::nullopt;
      seen_.push_back(std::move(tag));
      ++found.candidates;
      if (is_wanted(p)) return p;
    } catch (executor_error const& e) {
      found.refuse(on_.calls(), e.what());
    }
    return std::nullopt;
  }
  // Builds a candidate, and returns whether its plan may be used. If not, counts the reason.
  bool is_wanted(convolution_plan& p) {
    if ((p.facts.numerical_notes & forbidden_notes(o_)) != 0)
      ++found.forbidden;
    else if (char const* const fault = known_fault(c_, o_, p.facts))
      found.refuse(on_.calls(), fault);
    else if (p.facts.has(CUDNN_BEHAVIOR_NOTE_RUNTIME_COMPILATION) && compiled_++ >= o_.most_compiled)
      ++found.skipped;
    else if (cudnnStatus_t const s = build(on_, p); s != CUDNN_STATUS_SUCCESS)
      found.refuse(on_.calls(), s);
    else if (p.facts.workspace > o_.workspace_limit)
      ++found.too_large;
    else
      return true;
    return false;
  }

  plan_target const& on_;
  convolution const& c_;
  convolution_options const& o_;
  plan_trial runs_;
  std::vector<std::string> seen_{};
  int compiled_ = 0;  // in this list
};

}  // namespace dsl::cu::backend::TYPENET_MODE

namespace dsl::cu::TYPENET_MODE {

/// Returns the plans of a convolution that the options allow and that pass the trial; there may be none. This takes
/// some milliseconds, and 0.3 to 2 seconds more for each plan that cuDNN compiles. Throws executor_error for
/// contradicting shapes and options, what the trial throws, and for a failed call that is not specific to a candidate.
inline plan_search find_plans(plan_target const& on, convolution const& c, convolution_options const& o,
                              plan_trial const& runs = {}) {
  auto const graph = std::make_shared<backend::convolution_graph const>(on, c, o);
  backend::plan_finder finder(on, c, o, runs);
  if (backend::is_refusal(graph->status())) {
    finder.found.refuse(on.calls(), graph->status());
    return std::move(finder.found);
  }
  graph->get().check(graph->status(), on.calls().cudnnBackendFinalize.name);
  finder.search(graph, CUDNN_HEUR_MODE_A);
  // The ranked list begins with engines that round factors, which fp32_strict forbids, so the rest of it need not
  // contain the best plans.
  bool const ranks_others = o.precision == convolution_precision::fp32_strict;
  if (finder.found.plans.empty() || (ranks_others && !finder.is_full())) finder.search(graph, CUDNN_HEUR_MODE_FALLBACK);
  return std::move(finder.found);
}

}  // namespace dsl::cu::TYPENET_MODE
