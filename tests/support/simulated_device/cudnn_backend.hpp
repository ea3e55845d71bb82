// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include "support/simulated_device/calls.hpp"
#include "support/simulated_device/cudnn_compute.hpp"
#include "support/simulated_device/cudnn_finalize.hpp"
#include "support/simulated_device/workspace.hpp"

namespace dsl_test::simulated {

struct cudnn_context : object {
  cudaStream_t stream = nullptr;
};

inline std::size_t cudnn_version(state& s) { return s.options.cudnn_version; }
inline char const* cudnn_error_string(state&, cudnnStatus_t status) { return ::cudnnGetErrorString(status); }
inline void cudnn_last_error(state& s, char* to, std::size_t room) {
  if (room > 0) to[s.cudnn_message.copy(to, room - 1)] = 0;
}
inline cudnnStatus_t cudnn_create(state& s, cudnnHandle_t* handle) {
  if (!handle) return CUDNN_STATUS_BAD_PARAM_NULL_POINTER;
  if (refused_by_capture(s))
    return refuse(s, CUDNN_STATUS_INTERNAL_ERROR, "cudnnCreate allocates: not while capturing");
  *handle = s.add<cudnnHandle_t>("cudnn handle", std::make_shared<cudnn_context>());
  return CUDNN_STATUS_SUCCESS;
}
inline cudnnStatus_t cudnn_destroy(state& s, cudnnHandle_t handle) {
  if (!s.find<cudnn_context>(handle, "cudnnDestroy")) return CUDNN_STATUS_BAD_PARAM;
  s.remove(handle);
  return CUDNN_STATUS_SUCCESS;
}
inline cudnnStatus_t cudnn_set_stream(state& s, cudnnHandle_t handle, cudaStream_t to) {
  auto const c = s.find<cudnn_context>(handle, "cudnnSetStream");
  cudaError_t error;
  if (!c || !find_stream(s, to, "cudnnSetStream", error)) return CUDNN_STATUS_BAD_PARAM;
  c->stream = to;
  return CUDNN_STATUS_SUCCESS;
}

inline cudnnStatus_t create_descriptor(state& s, cudnnBackendDescriptorType_t type, cudnnBackendDescriptor_t* handle) {
  if (!handle) return CUDNN_STATUS_BAD_PARAM_NULL_POINTER;
  if (rules_of(type).empty())
    return refuse(s, CUDNN_STATUS_NOT_SUPPORTED, "descriptor type " + std::to_string(type) + " is not simulated");
  auto d = make_descriptor(type);
  d->finalized = false;
  *handle = s.add<cudnnBackendDescriptor_t>("cudnn descriptor", d);
  return CUDNN_STATUS_SUCCESS;
}
inline cudnnStatus_t destroy_descriptor(state& s, cudnnBackendDescriptor_t handle) {
  if (!handle) return CUDNN_STATUS_BAD_PARAM_NULL_POINTER;
  if (!s.find<descriptor>(handle, "cudnnBackendDestroyDescriptor")) return CUDNN_STATUS_BAD_PARAM;
  s.remove(handle);
  return CUDNN_STATUS_SUCCESS;
}

/// Returns null and sets the status if there is no such attribute, or it has another type.
inline attribute_rule const* find_rule(state& s, descriptor const& d, int name, cudnnBackendAttributeType_t type,
                                       cudnnStatus_t& status) {
  for (attribute_rule const& r : rules_of(d.type)) {
    if (r.name != name) continue;
    bool const scale = r.type == CUDNN_TYPE_FLOAT && type == CUDNN_TYPE_DOUBLE;  // alpha and beta may be either
    if (r.type == type || scale) return &r;
    status = refuse(s, CUDNN_STATUS_BAD_PARAM_ATTRIBUTE_TYPE, "attribute " + std::to_string(name) + ": its type");
    return nullptr;
  }
  status = refuse(s, CUDNN_STATUS_BAD_PARAM, "attribute " + std::to_string(name) + " belongs to another descriptor");
  return nullptr;
}

inline cudnnStatus_t set_attribute(state& s, cudnnBackendDescriptor_t handle, cudnnBackendAttributeName_t name,
                                   cudnnBackendAttributeType_t type, std::int64_t count, void const* values) {
  auto const d = s.find<descriptor>(handle, "cudnnBackendSetAttribute");
  if (!d || d->finalized) return refuse(s, CUDNN_STATUS_BAD_PARAM, "set: no descriptor, or a finalized one");
  cudnnStatus_t status;
  auto const* rule = find_rule(s, *d, name, type, status);
  if (!rule) return status;
  if (!rule->settable || !values || count < rule->least || count > rule->most)
    return refuse(s, CUDNN_STATUS_BAD_PARAM, "attribute " + std::to_string(name) + ": its number of elements");
  descriptor::attribute a;
  a.type = type;
  a.count = count;
  auto const* first = static_cast<char const*>(values);
  a.bytes.assign(first, first + static_cast<std::size_t>(count) * bytes_of(type));
  for (std::int64_t i = 0; type == CUDNN_TYPE_BACKEND_DESCRIPTOR && i < count; ++i) {
    auto const child =
        s.find<descriptor>(static_cast<cudnnBackendDescriptor_t const*>(values)[i], "cudnnBackendSetAttribute");
    if (!child || (rule->of >= 0 && child->type != rule->of))
      return refuse(s, CUDNN_STATUS_BAD_PARAM_DESCRIPTOR_TYPE,
                    "attribute " + std::to_string(name) + ": its descriptor");
    if (!child->finalized)
      return refuse(s, CUDNN_STATUS_BAD_PARAM_NOT_FINALIZED, "attribute " + std::to_string(name) + ": not finalized");
    a.descriptors.push_back(child);
  }
  d->attributes[name] = std::move(a);
  return CUDNN_STATUS_SUCCESS;
}

/// Reads an attribute. Without room it returns the number of elements. Descriptors are written into ones created by the
/// caller. The heuristics' results can be fetched once: cuDNN 9.19 then reports none.
inline cudnnStatus_t get_attribute(state& s, cudnnBackendDescriptor_t handle, cudnnBackendAttributeName_t name,
                                   cudnnBackendAttributeType_t type, std::int64_t room, std::int64_t* count,
                                   void* values) {
  auto const d = s.find<descriptor>(handle, "cudnnBackendGetAttribute");
  if (!d) return CUDNN_STATUS_BAD_PARAM;
  if (!d->finalized) return refuse(s, CUDNN_STATUS_NOT_INITIALIZED, "get: the descriptor is not finalized");
  cudnnStatus_t status;
  if (!find_rule(s, *d, name, type, status)) return status;
  auto const at = d->attributes.find(name);
  std::int64_t const present = at == d->attributes.end() ? 0 : at->second.count;
  std::int64_t const filled = room <= 0 || !values ? present : std::min(present, room);
  if (count) *count = filled;
  if (room <= 0 || !values || filled == 0) return CUDNN_STATUS_SUCCESS;
  if (type != CUDNN_TYPE_BACKEND_DESCRIPTOR) {
    std::memcpy(values, at->second.bytes.data(), static_cast<std::size_t>(filled) * bytes_of(type));
    return CUDNN_STATUS_SUCCESS;
  }
  for (std::int64_t i = 0; i < filled; ++i) {
    auto const to = s.find<descriptor>(static_cast<cudnnBackendDescriptor_t*>(values)[i], "cudnnBackendGetAttribute");
    auto const& from = at->second.descriptors[static_cast<std::size_t>(i)];
    if (!to || to->type != from->type)
      return refuse(s, CUDNN_STATUS_BAD_PARAM_DESCRIPTOR_TYPE, "get: the descriptor to fill");
    to->attributes = from->attributes;
    to->built = from->built;
    to->finalized = true;
  }
  if (name == CUDNN_ATTR_ENGINEHEUR_RESULTS) put_child(*d, name, {});
  return CUDNN_STATUS_SUCCESS;
}

inline cudnnStatus_t finalize_descriptor(state& s, cudnnBackendDescriptor_t handle) {
  if (!handle) return CUDNN_STATUS_BAD_PARAM_NULL_POINTER;
  auto const d = s.find<descriptor>(handle, "cudnnBackendFinalize");
  if (!d || d->finalized) return refuse(s, CUDNN_STATUS_BAD_PARAM, "finalize: no descriptor, or a finalized one");
  if (d->type == CUDNN_BACKEND_EXECUTION_PLAN_DESCRIPTOR && refused_by_capture(s))
    return refuse(s, CUDNN_STATUS_INTERNAL_ERROR, "a plan may load code: not while capturing");
  cudnnStatus_t const status = finalize(s, *d);
  d->finalized = status == CUDNN_STATUS_SUCCESS;
  return status;
}

inline cudnnStatus_t execute(state& s, cudnnHandle_t handle, cudnnBackendDescriptor_t plan_handle,
                             cudnnBackendDescriptor_t pack_handle) {
  auto const context = s.find<cudnn_context>(handle, "cudnnBackendExecute");
  auto const plan = s.find<descriptor>(plan_handle, "cudnnBackendExecute");
  auto const pack = s.find<descriptor>(pack_handle, "cudnnBackendExecute");
  if (!context || !plan || !pack || plan->type != CUDNN_BACKEND_EXECUTION_PLAN_DESCRIPTOR ||
      pack->type != CUDNN_BACKEND_VARIANT_PACK_DESCRIPTOR)
    return refuse(s, CUDNN_STATUS_BAD_PARAM, "execute: a handle or descriptor");
  if (!plan->finalized || !pack->finalized)
    return refuse(s, CUDNN_STATUS_BAD_PARAM_NOT_FINALIZED, "execute: a plan or pack that is not finalized");
  if (plan->device != device_of(s, nullptr))
    return refuse(s, CUDNN_STATUS_NOT_SUPPORTED_ARCH_MISMATCH, "execute: a plan for another device");
  cudaError_t error;
  auto const q = find_stream(s, context->stream, "cudnnBackendExecute", error);
  if (!q) return refuse(s, CUDNN_STATUS_BAD_PARAM, "execute: the handle's stream");

  auto const program = plan->built;
  auto const ids = pack->all<std::int64_t>(CUDNN_ATTR_VARIANT_PACK_UNIQUE_IDS);
  auto const pointers = pack->all<void*>(CUDNN_ATTR_VARIANT_PACK_DATA_POINTERS);
  auto* const workspace = pack->one<void*>(CUDNN_ATTR_VARIANT_PACK_WORKSPACE, nullptr);
  auto const bytes = static_cast<std::size_t>(program->workspace);
  if (bytes > 0 && !workspace) return refuse(s, CUDNN_STATUS_BAD_PARAM_NULL_POINTER, "execute: no workspace");
  std::vector<void*> memory;
  for (tensor_info const& t : program->tensors) {
    void*& p = memory.emplace_back(nullptr);
    if (!t.kept) continue;
    auto const at = std::find(ids.begin(), ids.end(), t.id);
    if (at != ids.end()) p = pointers[static_cast<std::size_t>(at - ids.begin())];
    if (!p) return refuse(s, CUDNN_STATUS_BAD_PARAM, "execute: no pointer for tensor " + std::to_string(t.id));
    if (auto const* const b = s.memory.find(p, 1); b && b->device != q->device)
      return refuse(s, CUDNN_STATUS_BAD_PARAM, "execute: tensor " + std::to_string(t.id) + " is not on this device");
    if (reinterpret_cast<std::uintptr_t>(p) % static_cast<std::uintptr_t>(t.alignment) != 0)
      return refuse(s, CUDNN_STATUS_BAD_PARAM_MISALIGNED_POINTER, "execute: tensor " + std::to_string(t.id));
  }
  if (auto const* const t = trouble_of(s, program->engine, engine_trouble::when_recorded); t && q->capturing) {
    q->capturing->invalid = true;
    return refuse_like(s, *t);
  }
  if (auto const* const t = trouble_of(s, program->engine, engine_trouble::when_run)) return refuse_like(s, *t);
  auto const expect = [&s, program, memory] {
    for (std::size_t i = 0; i < memory.size(); ++i)
      if (memory[i]) expect_device(s, memory[i], program->tensors[i].reach(), "a tensor");
  };
  double const milliseconds = find_engine(program->engine)->microseconds * 1e-3;
  error = enqueue_with_workspace(
      s, *q, "cudnnBackendExecute", milliseconds, workspace, bytes, expect,
      [&s, program, memory] {
        run_program(*program, memory, s.random, s.options.truncates_tf32);
        if (trouble_of(s, program->engine, engine_trouble::wrong_numbers)) spoil_result(*program, memory);
      },
      [program, memory] { fill_with_nan(*program, memory); }, {plan});
  if (error == cudaSuccess && finds_an_error())
    return refuse(s, CUDNN_STATUS_EXECUTION_FAILED_CUDART, "execute: an error is pending after the launch");
  return error == cudaSuccess ? CUDNN_STATUS_SUCCESS
                              : refuse(s, CUDNN_STATUS_EXECUTION_FAILED_CUDART, ::cudaGetErrorString(error));
}

inline void install_cudnn(installer& table) {
  using dsl::cu::api;
  table.set<&api::cudnnGetVersion, &cudnn_version>();
  table.set<&api::cudnnGetErrorString, &cudnn_error_string>();
  table.set<&api::cudnnGetLastErrorString, &cudnn_last_error>();
  table.set<&api::cudnnCreate, &cudnn_create>();
  table.set<&api::cudnnDestroy, &cudnn_destroy>();
  table.set<&api::cudnnSetStream, &cudnn_set_stream>();
  table.set<&api::cudnnBackendCreateDescriptor, &create_descriptor>();
  table.set<&api::cudnnBackendDestroyDescriptor, &destroy_descriptor>();
  table.set<&api::cudnnBackendSetAttribute, &set_attribute>();
  table.set<&api::cudnnBackendGetAttribute, &get_attribute>();
  table.set<&api::cudnnBackendFinalize, &finalize_descriptor>();
  table.set<&api::cudnnBackendExecute, &execute>();
}

}  // namespace dsl_test::simulated
