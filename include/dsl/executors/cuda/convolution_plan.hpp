// SPDX-License-Identifier: MIT
#pragma once

#include <dsl/detail/mode.hpp>
#include <dsl/executors/cuda/convolution_graph.hpp>

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace dsl::cu::TYPENET_MODE {

/// The properties of an implementation of a convolution, according to cuDNN.
struct plan_facts {
  struct knob {
    std::int64_t type = 0;  // cudnnBackendKnobType_t
    std::int64_t value = 0;
  };
  std::int64_t engine = -1;
  std::vector<knob> knobs{};
  unsigned numerical_notes = 0;  // bit n: cudnnBackendNumericalNote_t n
  unsigned behavior_notes = 0;   // bit n: cudnnBackendBehaviorNote_t n
  long long workspace = 0;       // bytes

  bool has(cudnnBackendNumericalNote_t n) const { return (numerical_notes >> n & 1U) != 0; }
  bool has(cudnnBackendBehaviorNote_t n) const { return (behavior_notes >> n & 1U) != 0; }
  /// Returns "engine 22, knobs 2=16 13=0 14=3 18=0 23=2".
  std::string tag() const {
    std::string text = detail::message({"engine ", engine, ", knobs"});
    for (knob const& k : knobs) text += detail::message({" ", k.type, "=", k.value});
    return text;
  }
};

/// An implementation of a convolution that any handle of its device can execute.
struct convolution_plan {
  convolution_pass pass = convolution_pass::forward;
  plan_facts facts{};
  // The objects that the plan was made from live as long as the plan, since the documentation does not say whether
  // cuDNN copies them.
  std::shared_ptr<backend::convolution_graph const> graph{};
  std::vector<backend_descriptor> parts{};
  backend_descriptor config{};
  backend_descriptor plan{};

  cudnnBackendDescriptor_t get() const { return plan.get(); }
  api const& calls() const { return plan.calls(); }
};

}  // namespace dsl::cu::TYPENET_MODE

namespace dsl::cu::backend::TYPENET_MODE {

// Whether a status is a refusal: no engine knows the graph, or its kernel cannot be compiled or loaded. Anything else
// is an error.
constexpr bool is_refusal(cudnnStatus_t s) {
  return CUDNN_STATUS_CATEGORY(s) == CUDNN_STATUS_NOT_SUPPORTED ||
         s == CUDNN_STATUS_INTERNAL_ERROR_COMPILATION_FAILED || s == CUDNN_STATUS_EXECUTION_FAILED_CUDA_DRIVER;
}

inline plan_facts facts_of(backend_descriptor const& config) {
  plan_facts f;
  auto const engines = config.get_all(CUDNN_ATTR_ENGINECFG_ENGINE, CUDNN_BACKEND_ENGINE_DESCRIPTOR, "an engine", 1);
  if (engines.empty()) return f;
  f.engine = engines[0].get<std::int64_t>(CUDNN_ATTR_ENGINE_GLOBAL_INDEX);
  for (auto n : engines[0].get_all<cudnnBackendNumericalNote_t>(CUDNN_ATTR_ENGINE_NUMERICAL_NOTE))
    f.numerical_notes |= 1U << n;
  for (auto n : engines[0].get_all<cudnnBackendBehaviorNote_t>(CUDNN_ATTR_ENGINE_BEHAVIOR_NOTE))
    f.behavior_notes |= 1U << n;
  for (auto const& k : config.get_all(CUDNN_ATTR_ENGINECFG_KNOB_CHOICES, CUDNN_BACKEND_KNOB_CHOICE_DESCRIPTOR, "a knob",
                                      CUDNN_KNOB_TYPE_COUNTS))
    f.knobs.push_back({k.get<cudnnBackendKnobType_t>(CUDNN_ATTR_KNOB_CHOICE_KNOB_TYPE),
                       k.get<std::int64_t>(CUDNN_ATTR_KNOB_CHOICE_KNOB_VALUE)});
  return f;
}

// Builds p.plan from p.config. Any status but success is a refusal: engines that cannot be used here report arbitrary
// errors, for example a failed execution if a kernel cannot be loaded.
inline cudnnStatus_t build(plan_target const& on, convolution_plan& p) {
  backend_descriptor plan(on.calls(), CUDNN_BACKEND_EXECUTION_PLAN_DESCRIPTOR, "an execution plan");
  on.prepare_plan(plan);
  plan.set(CUDNN_ATTR_EXECUTION_PLAN_ENGINE_CONFIG, p.config);
  cudnnStatus_t const s = plan.try_finalize();
  if (s != CUDNN_STATUS_SUCCESS) return s;
  p.facts.workspace = plan.get<std::int64_t>(CUDNN_ATTR_EXECUTION_PLAN_WORKSPACE_SIZE);
  p.plan = std::move(plan);
  return s;
}

}  // namespace dsl::cu::backend::TYPENET_MODE

namespace dsl::cu::TYPENET_MODE {

/// Returns a pack of a plan's tensors and its workspace of p.facts.workspace bytes, for execute(). Throws
/// executor_error if a pointer is missing or misaligned.
inline backend_descriptor bind_tensors(convolution_plan const& p, convolution_tensors const& t, void* workspace) {
  auto const require = [](void const* pointer, char const* what) {
    if (!pointer || reinterpret_cast<std::uintptr_t>(pointer) % tensor_alignment != 0)
      throw executor_error(detail::message({"convolution: its ", what, " must be device memory aligned to ",
                                            tensor_alignment, " bytes; found ", pointer ? "another address" : "null"}));
  };
  require(t.input, "input");
  require(t.kernel, "kernel");
  require(t.output, "output");
  if (p.facts.workspace > 0) require(workspace, "workspace");
  std::vector<std::int64_t> ids{backend::input_id, backend::kernel_id, backend::output_id};
  std::vector<void*> pointers{t.input, t.kernel, t.output};
  if (p.pass == convolution_pass::forward_inference) {
    require(t.bias, "bias");
    ids.push_back(backend::bias_id);
    pointers.push_back(t.bias);
  }
  backend_descriptor pack(p.calls(), CUDNN_BACKEND_VARIANT_PACK_DESCRIPTOR, "a plan's tensors");
  pack.set(CUDNN_ATTR_VARIANT_PACK_UNIQUE_IDS, ids.data(), static_cast<std::int64_t>(ids.size()));
  pack.set(CUDNN_ATTR_VARIANT_PACK_DATA_POINTERS, pointers.data(), static_cast<std::int64_t>(pointers.size()));
  pack.set(CUDNN_ATTR_VARIANT_PACK_WORKSPACE, workspace);
  pack.finalize();
  return pack;
}

/// Enqueues a plan on the handle's stream: one call, which may be captured, and no allocation by typenet. Returns false
/// if the plan cannot run here, for whatever reason. An error of the device itself is reported only by a later call
/// that waits for the stream.
inline bool try_execute(cudnn_handle const& h, convolution_plan const& p, backend_descriptor const& pack) {
  api const& a = h.calls();
  if (a.cudnnBackendExecute.function(h.get(), p.get(), pack.get()) == CUDNN_STATUS_SUCCESS) return true;
  a.cudaGetLastError.function();  // otherwise the next plan would seem to fail
  return false;
}
/// Enqueues a plan that must run: throws executor_error if it does not.
inline void execute(cudnn_handle const& h, convolution_plan const& p, backend_descriptor const& pack) {
  api const& a = h.calls();
  if (cudnnStatus_t const s = a.cudnnBackendExecute.function(h.get(), p.get(), pack.get()); s != CUDNN_STATUS_SUCCESS)
    fail_cudnn(a, s, a.cudnnBackendExecute.name, name_of(p.pass));
}

}  // namespace dsl::cu::TYPENET_MODE
