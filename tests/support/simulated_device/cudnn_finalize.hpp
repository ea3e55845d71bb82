// SPDX-License-Identifier: MIT
#pragma once

#include <cstdlib>
#include <memory>
#include <string>
#include <vector>

#include "support/simulated_device/cudnn_engines.hpp"

namespace dsl_test::simulated {

/// Returns the compute capability times 100 of a described device, or of the simulated one.
inline int device_of(state& s, std::shared_ptr<descriptor> const& properties) {
  int const own = s.options.major * 100 + s.options.minor * 10;
  if (!properties || !properties->has(CUDNN_ATTR_DEVICEPROP_JSON_REPRESENTATION)) return own;
  auto const json = properties->all<char>(CUDNN_ATTR_DEVICEPROP_JSON_REPRESENTATION);
  std::string const text(json.begin(), json.end());
  std::size_t const at = text.find("\"deviceVer\":");
  return at == text.npos ? 0 : std::atoi(text.c_str() + at + 12);
}

inline std::shared_ptr<descriptor> make_descriptor(cudnnBackendDescriptorType_t type) {
  auto d = std::make_shared<descriptor>();
  d->type = type;
  d->finalized = true;
  return d;
}
inline void put_child(descriptor& d, int name, std::vector<std::shared_ptr<descriptor>> children) {
  auto& a = d.attributes[name];
  a.type = CUDNN_TYPE_BACKEND_DESCRIPTOR;
  a.count = static_cast<std::int64_t>(children.size());
  a.descriptors = std::move(children);
}
inline void describe_engine(descriptor& d, engine_info const& e) {
  d.put(CUDNN_ATTR_ENGINE_NUMERICAL_NOTE, CUDNN_TYPE_NUMERICAL_NOTE, e.notes);
  d.put(CUDNN_ATTR_ENGINE_BEHAVIOR_NOTE, CUDNN_TYPE_BEHAVIOR_NOTE, e.behavior);
}
inline std::shared_ptr<descriptor> make_config(std::shared_ptr<descriptor> const& graph, engine_info const& e,
                                               std::shared_ptr<descriptor> const& properties) {
  auto engine = make_descriptor(CUDNN_BACKEND_ENGINE_DESCRIPTOR);
  put_child(*engine, CUDNN_ATTR_ENGINE_OPERATION_GRAPH, {graph});
  if (properties) put_child(*engine, CUDNN_ATTR_ENGINE_DEVICEPROP, {properties});
  engine->put(CUDNN_ATTR_ENGINE_GLOBAL_INDEX, CUDNN_TYPE_INT64, std::vector{e.index});
  describe_engine(*engine, e);
  auto knob = make_descriptor(CUDNN_BACKEND_KNOB_CHOICE_DESCRIPTOR);
  knob->put(CUDNN_ATTR_KNOB_CHOICE_KNOB_TYPE, CUDNN_TYPE_KNOB_TYPE, std::vector{CUDNN_KNOB_TYPE_TILE_SIZE});
  knob->put(CUDNN_ATTR_KNOB_CHOICE_KNOB_VALUE, CUDNN_TYPE_INT64, std::vector{e.index + 10});
  auto config = make_descriptor(CUDNN_BACKEND_ENGINECFG_DESCRIPTOR);
  put_child(*config, CUDNN_ATTR_ENGINECFG_ENGINE, {engine});
  put_child(*config, CUDNN_ATTR_ENGINECFG_KNOB_CHOICES, {knob});
  config->put(CUDNN_ATTR_ENGINECFG_WORKSPACE_SIZE, CUDNN_TYPE_INT64, std::vector{workspace_of(e, *graph->built)});
  return config;
}

inline cudnnStatus_t finalize_tensor(state& s, descriptor& d) {
  auto const size = d.all<std::int64_t>(CUDNN_ATTR_TENSOR_DIMENSIONS);
  auto const stride = d.all<std::int64_t>(CUDNN_ATTR_TENSOR_STRIDES);
  auto const alignment = d.one<std::int64_t>(CUDNN_ATTR_TENSOR_BYTE_ALIGNMENT, 0);
  bool const good = size.size() == stride.size() && alignment > 0 && (alignment & (alignment - 1)) == 0 &&
                    std::all_of(size.begin(), size.end(), [](std::int64_t n) { return n > 0; });
  return good ? CUDNN_STATUS_SUCCESS : refuse(s, CUDNN_STATUS_BAD_PARAM, "tensor: sizes, strides or alignment");
}
inline cudnnStatus_t finalize_window(state& s, descriptor& d) {
  auto const rank = static_cast<std::size_t>(d.one<std::int64_t>(CUDNN_ATTR_CONVOLUTION_SPATIAL_DIMS, 0));
  bool good = true;
  for (int const name : {CUDNN_ATTR_CONVOLUTION_FILTER_STRIDES, CUDNN_ATTR_CONVOLUTION_DILATIONS,
                         CUDNN_ATTR_CONVOLUTION_PRE_PADDINGS, CUDNN_ATTR_CONVOLUTION_POST_PADDINGS}) {
    auto const v = d.all<std::int64_t>(name);
    std::int64_t const least =
        name == CUDNN_ATTR_CONVOLUTION_FILTER_STRIDES || name == CUDNN_ATTR_CONVOLUTION_DILATIONS;
    good = good && v.size() == rank && std::all_of(v.begin(), v.end(), [&](std::int64_t n) { return n >= least; });
  }
  return good ? CUDNN_STATUS_SUCCESS : refuse(s, CUDNN_STATUS_BAD_PARAM, "convolution: strides, dilations or paddings");
}
inline cudnnStatus_t finalize_graph(state& s, descriptor& d) {
  auto p = std::make_shared<conv_program>();
  cudnnStatus_t const status = read_graph(s, d, *p);
  d.built = p;
  return status;
}
/// Mode A ranks engines; the fallback list has only those that always work.
inline cudnnStatus_t finalize_heuristics(state& s, descriptor& d) {
  auto const graph = d.child(CUDNN_ATTR_ENGINEHEUR_OPERATION_GRAPH);
  auto const properties = d.has(CUDNN_ATTR_ENGINEHEUR_DEVICEPROP) ? d.child(CUDNN_ATTR_ENGINEHEUR_DEVICEPROP) : nullptr;
  auto const mode = d.one(CUDNN_ATTR_ENGINEHEUR_MODE, CUDNN_HEUR_MODE_INSTANT);
  if (support_of(*graph->built).verdict == support::none)
    return refuse(s, CUDNN_STATUS_NOT_SUPPORTED_GRAPH_PATTERN, "not in cudnn_support.txt: " + name_of(*graph->built));
  if (!s.options.cudnn_writes_slices && writes_slice(*graph->built))
    return refuse(s, CUDNN_STATUS_NOT_SUPPORTED_GRAPH_PATTERN, "this cuDNN writes no slices");
  std::vector<std::shared_ptr<descriptor>> configs;
  for (engine_info const& e : all_engines())
    if (runs(e, *graph->built) && (mode != CUDNN_HEUR_MODE_FALLBACK || e.index == 0 || e.notes.empty()))
      configs.push_back(make_config(graph, e, properties));
  put_child(d, CUDNN_ATTR_ENGINEHEUR_RESULTS, std::move(configs));
  return CUDNN_STATUS_SUCCESS;
}
inline cudnnStatus_t finalize_engine(state& s, descriptor& d) {
  auto const* e = find_engine(d.one<std::int64_t>(CUDNN_ATTR_ENGINE_GLOBAL_INDEX, -1));
  if (!e || !runs(*e, *d.child(CUDNN_ATTR_ENGINE_OPERATION_GRAPH)->built))
    return refuse(s, CUDNN_STATUS_NOT_SUPPORTED, "engine: it can't run this graph");
  describe_engine(d, *e);
  return CUDNN_STATUS_SUCCESS;
}
inline cudnnStatus_t finalize_config(descriptor& d) {
  auto const engine = d.child(CUDNN_ATTR_ENGINECFG_ENGINE);
  auto const& e = *find_engine(engine->one<std::int64_t>(CUDNN_ATTR_ENGINE_GLOBAL_INDEX, -1));
  auto const bytes = workspace_of(e, *engine->child(CUDNN_ATTR_ENGINE_OPERATION_GRAPH)->built);
  d.put(CUDNN_ATTR_ENGINECFG_WORKSPACE_SIZE, CUDNN_TYPE_INT64, std::vector{bytes});
  return CUDNN_STATUS_SUCCESS;
}

inline engine_trouble const* trouble_of(state const& s, std::int64_t engine, int when) {
  for (engine_trouble const& t : s.options.troubles)
    if (t.engine == engine && t.when == when) return &t;
  return nullptr;
}
/// Fails like a kernel that cannot be loaded or launched: the runtime also stores the error.
inline cudnnStatus_t refuse_like(state& s, engine_trouble const& t) {
  state::last_error = cudaErrorInvalidValue;
  return refuse(s, static_cast<cudnnStatus_t>(t.status), "the engine is in trouble");
}

/// Makes a plan from a configuration, or from the text of an earlier plan for the same version and device.
inline cudnnStatus_t finalize_plan(state& s, descriptor& d) {
  auto p = std::make_shared<conv_program>();
  std::shared_ptr<descriptor> properties =
      d.has(CUDNN_ATTR_EXECUTION_PLAN_DEVICEPROP) ? d.child(CUDNN_ATTR_EXECUTION_PLAN_DEVICEPROP) : nullptr;
  int device = 0;
  if (d.has(CUDNN_ATTR_EXECUTION_PLAN_ENGINE_CONFIG)) {
    auto const engine = d.child(CUDNN_ATTR_EXECUTION_PLAN_ENGINE_CONFIG)->child(CUDNN_ATTR_ENGINECFG_ENGINE);
    if (!properties && engine->has(CUDNN_ATTR_ENGINE_DEVICEPROP))
      properties = engine->child(CUDNN_ATTR_ENGINE_DEVICEPROP);
    *p = *engine->child(CUDNN_ATTR_ENGINE_OPERATION_GRAPH)->built;
    p->engine = static_cast<int>(engine->one<std::int64_t>(CUDNN_ATTR_ENGINE_GLOBAL_INDEX, -1));
    device = device_of(s, properties);
  } else if (d.has(CUDNN_ATTR_EXECUTION_PLAN_JSON_REPRESENTATION)) {
    auto const json = d.all<char>(CUDNN_ATTR_EXECUTION_PLAN_JSON_REPRESENTATION);
    std::size_t version = 0;
    if (!properties && !d.has(400))  // cuDNN 9.19 crashes
      return refuse(s, CUDNN_STATUS_BAD_PARAM, "plan: text without a handle or a described device");
    if (!from_json(std::string(json.begin(), json.end()), *p, version, device))
      return refuse(s, CUDNN_STATUS_BAD_PARAM, "plan: text that no plan gave");
    if (version != s.options.cudnn_version || device != device_of(s, properties))
      return refuse(s, CUDNN_STATUS_SERIALIZATION_VERSION_MISMATCH,
                    "plan: made by another cuDNN or for another device");
  } else {
    return refuse(s, CUDNN_STATUS_BAD_PARAM_NOT_FINALIZED, "plan: neither a configuration nor text");
  }
  engine_info const& e = *find_engine(p->engine);
  if (!runs(e, *p) || e.listed_but_refused) return refuse(s, CUDNN_STATUS_NOT_SUPPORTED, "plan: the engine refuses");
  if (auto const* const t = trouble_of(s, p->engine, engine_trouble::when_built)) return refuse_like(s, *t);
  p->workspace = workspace_of(e, *p);
  std::string const text = to_json(*p, s.options.cudnn_version, device);
  d.put(CUDNN_ATTR_EXECUTION_PLAN_WORKSPACE_SIZE, CUDNN_TYPE_INT64, std::vector{p->workspace});
  d.put(CUDNN_ATTR_EXECUTION_PLAN_JSON_REPRESENTATION, CUDNN_TYPE_CHAR, std::vector<char>(text.begin(), text.end()));
  d.device = device;
  d.built = std::move(p);
  return CUDNN_STATUS_SUCCESS;
}
inline cudnnStatus_t finalize_pack(state& s, descriptor& d) {
  auto ids = d.all<std::int64_t>(CUDNN_ATTR_VARIANT_PACK_UNIQUE_IDS);
  bool const good = ids.size() == d.all<void*>(CUDNN_ATTR_VARIANT_PACK_DATA_POINTERS).size();
  std::sort(ids.begin(), ids.end());
  return good && std::adjacent_find(ids.begin(), ids.end()) == ids.end()
             ? CUDNN_STATUS_SUCCESS
             : refuse(s, CUDNN_STATUS_BAD_PARAM, "variant pack: ids and pointers");
}

inline cudnnStatus_t finalize(state& s, descriptor& d) {
  for (attribute_rule const& r : rules_of(d.type))
    if (r.required && !d.has(r.name))
      return refuse(s, CUDNN_STATUS_BAD_PARAM, "attribute " + std::to_string(r.name) + " is missing");
  switch (d.type) {
    case CUDNN_BACKEND_TENSOR_DESCRIPTOR: return finalize_tensor(s, d);
    case CUDNN_BACKEND_CONVOLUTION_DESCRIPTOR: return finalize_window(s, d);
    case CUDNN_BACKEND_OPERATION_CONVOLUTION_FORWARD_DESCRIPTOR:
    case CUDNN_BACKEND_OPERATION_CONVOLUTION_BACKWARD_DATA_DESCRIPTOR:
    case CUDNN_BACKEND_OPERATION_CONVOLUTION_BACKWARD_FILTER_DESCRIPTOR:
    case CUDNN_BACKEND_OPERATION_POINTWISE_DESCRIPTOR: {
      operation o;
      std::vector<tensor_info> tensors;
      return read_operation(s, d, o, tensors);
    }
    case CUDNN_BACKEND_OPERATIONGRAPH_DESCRIPTOR: return finalize_graph(s, d);
    case CUDNN_BACKEND_ENGINEHEUR_DESCRIPTOR: return finalize_heuristics(s, d);
    case CUDNN_BACKEND_ENGINE_DESCRIPTOR: return finalize_engine(s, d);
    case CUDNN_BACKEND_ENGINECFG_DESCRIPTOR: return finalize_config(d);
    case CUDNN_BACKEND_EXECUTION_PLAN_DESCRIPTOR: return finalize_plan(s, d);
    case CUDNN_BACKEND_VARIANT_PACK_DESCRIPTOR: return finalize_pack(s, d);
    default: return CUDNN_STATUS_SUCCESS;
  }
}

}  // namespace dsl_test::simulated
