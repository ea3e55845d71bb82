// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "support/simulated_device/state.hpp"

// The backend API's descriptors: each a bag of attributes, checked as cuDNN 9.19 checks them (its answers were probed;
// where it crashes, an error is returned), and as its manual says where the library is laxer.

namespace dsl_test::simulated {

struct conv_program;

struct descriptor : object {
  struct attribute {
    cudnnBackendAttributeType_t type{};
    std::int64_t count = 0;
    std::vector<char> bytes;
    std::vector<std::shared_ptr<descriptor>> descriptors;
  };
  cudnnBackendDescriptorType_t type{};
  bool finalized = false;
  std::map<int, attribute> attributes;
  std::shared_ptr<conv_program const> built;  // of an operation graph; of a plan, with its engine
  int device = 0;                             // of a plan

  template <class T>
  std::vector<T> all(int name) const {
    std::vector<T> values;
    if (auto const at = attributes.find(name); at != attributes.end()) {
      values.resize(static_cast<std::size_t>(at->second.count));
      if (!values.empty()) std::memcpy(values.data(), at->second.bytes.data(), at->second.bytes.size());
    }
    return values;
  }
  template <class T>
  T one(int name, T otherwise) const {
    auto const at = attributes.find(name);
    if (at != attributes.end()) std::memcpy(&otherwise, at->second.bytes.data(), sizeof(T));
    return otherwise;
  }
  std::shared_ptr<descriptor> child(int name) const {
    auto const at = attributes.find(name);
    return at == attributes.end() ? nullptr : at->second.descriptors.at(0);
  }
  bool has(int name) const { return attributes.count(name) != 0; }
  template <class T>
  void put(int name, cudnnBackendAttributeType_t t, std::vector<T> const& values) {
    attribute a;
    a.type = t;
    a.count = static_cast<std::int64_t>(values.size());
    a.bytes.resize(values.size() * sizeof(T));
    if (!values.empty()) std::memcpy(a.bytes.data(), values.data(), a.bytes.size());
    attributes[name] = std::move(a);
  }
};

constexpr std::size_t bytes_of(cudnnBackendAttributeType_t t) {
  switch (t) {
    case CUDNN_TYPE_HANDLE:
    case CUDNN_TYPE_INT64:
    case CUDNN_TYPE_DOUBLE:
    case CUDNN_TYPE_VOID_PTR:
    case CUDNN_TYPE_BACKEND_DESCRIPTOR: return 8;
    case CUDNN_TYPE_BOOLEAN:
    case CUDNN_TYPE_CHAR: return 1;
    default: return 4;
  }
}

struct attribute_rule {
  int name;
  cudnnBackendAttributeType_t type;
  int least, most;  // elements
  bool required = true;
  int of = -1;           // type of a descriptor
  bool settable = true;  // or computed
};

/// Returns the attributes of a descriptor type; empty if the simulated device does not know the type.
inline std::span<attribute_rule const> rules_of(cudnnBackendDescriptorType_t type) {
  using r = attribute_rule;
  constexpr int many = 1 << 20, tensor_type = CUDNN_BACKEND_TENSOR_DESCRIPTOR;
  static r const tensor[] = {{CUDNN_ATTR_TENSOR_DATA_TYPE, CUDNN_TYPE_DATA_TYPE, 1, 1},
                             {CUDNN_ATTR_TENSOR_DIMENSIONS, CUDNN_TYPE_INT64, 1, CUDNN_DIM_MAX},
                             {CUDNN_ATTR_TENSOR_STRIDES, CUDNN_TYPE_INT64, 1, CUDNN_DIM_MAX},
                             {CUDNN_ATTR_TENSOR_UNIQUE_ID, CUDNN_TYPE_INT64, 1, 1},
                             {CUDNN_ATTR_TENSOR_BYTE_ALIGNMENT, CUDNN_TYPE_INT64, 1, 1},
                             {CUDNN_ATTR_TENSOR_IS_VIRTUAL, CUDNN_TYPE_BOOLEAN, 1, 1, false}};
  static r const convolution[] = {{CUDNN_ATTR_CONVOLUTION_COMP_TYPE, CUDNN_TYPE_DATA_TYPE, 1, 1},
                                  {CUDNN_ATTR_CONVOLUTION_CONV_MODE, CUDNN_TYPE_CONVOLUTION_MODE, 1, 1},
                                  {CUDNN_ATTR_CONVOLUTION_SPATIAL_DIMS, CUDNN_TYPE_INT64, 1, 1},
                                  {CUDNN_ATTR_CONVOLUTION_DILATIONS, CUDNN_TYPE_INT64, 1, 3},
                                  {CUDNN_ATTR_CONVOLUTION_FILTER_STRIDES, CUDNN_TYPE_INT64, 1, 3},
                                  {CUDNN_ATTR_CONVOLUTION_PRE_PADDINGS, CUDNN_TYPE_INT64, 1, 3},
                                  {CUDNN_ATTR_CONVOLUTION_POST_PADDINGS, CUDNN_TYPE_INT64, 1, 3}};
  static r const pointwise[] = {{CUDNN_ATTR_POINTWISE_MODE, CUDNN_TYPE_POINTWISE_MODE, 1, 1},
                                {CUDNN_ATTR_POINTWISE_MATH_PREC, CUDNN_TYPE_DATA_TYPE, 1, 1}};
  constexpr int conv = CUDNN_BACKEND_CONVOLUTION_DESCRIPTOR;
  static r const forward[] = {
      {CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_ALPHA, CUDNN_TYPE_FLOAT, 1, 1, false},
      {CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_BETA, CUDNN_TYPE_FLOAT, 1, 1, false},
      {CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_CONV_DESC, CUDNN_TYPE_BACKEND_DESCRIPTOR, 1, 1, true, conv},
      {CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_X, CUDNN_TYPE_BACKEND_DESCRIPTOR, 1, 1, true, tensor_type},
      {CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_W, CUDNN_TYPE_BACKEND_DESCRIPTOR, 1, 1, true, tensor_type},
      {CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_Y, CUDNN_TYPE_BACKEND_DESCRIPTOR, 1, 1, true, tensor_type}};
  static r const backward_data[] = {
      {CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_ALPHA, CUDNN_TYPE_FLOAT, 1, 1, false},
      {CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_BETA, CUDNN_TYPE_FLOAT, 1, 1, false},
      {CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_CONV_DESC, CUDNN_TYPE_BACKEND_DESCRIPTOR, 1, 1, true, conv},
      {CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_DX, CUDNN_TYPE_BACKEND_DESCRIPTOR, 1, 1, true, tensor_type},
      {CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_W, CUDNN_TYPE_BACKEND_DESCRIPTOR, 1, 1, true, tensor_type},
      {CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_DY, CUDNN_TYPE_BACKEND_DESCRIPTOR, 1, 1, true, tensor_type}};
  static r const backward_filter[] = {
      {CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_ALPHA, CUDNN_TYPE_FLOAT, 1, 1, false},
      {CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_BETA, CUDNN_TYPE_FLOAT, 1, 1, false},
      {CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_CONV_DESC, CUDNN_TYPE_BACKEND_DESCRIPTOR, 1, 1, true, conv},
      {CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_X, CUDNN_TYPE_BACKEND_DESCRIPTOR, 1, 1, true, tensor_type},
      {CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_DW, CUDNN_TYPE_BACKEND_DESCRIPTOR, 1, 1, true, tensor_type},
      {CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_DY, CUDNN_TYPE_BACKEND_DESCRIPTOR, 1, 1, true, tensor_type}};
  static r const operation_pointwise[] = {
      {CUDNN_ATTR_OPERATION_POINTWISE_PW_DESCRIPTOR, CUDNN_TYPE_BACKEND_DESCRIPTOR, 1, 1, true,
       CUDNN_BACKEND_POINTWISE_DESCRIPTOR},
      {CUDNN_ATTR_OPERATION_POINTWISE_XDESC, CUDNN_TYPE_BACKEND_DESCRIPTOR, 1, 1, true, tensor_type},
      {CUDNN_ATTR_OPERATION_POINTWISE_BDESC, CUDNN_TYPE_BACKEND_DESCRIPTOR, 1, 1, false, tensor_type},
      {CUDNN_ATTR_OPERATION_POINTWISE_YDESC, CUDNN_TYPE_BACKEND_DESCRIPTOR, 1, 1, true, tensor_type}};
  constexpr int graph_type = CUDNN_BACKEND_OPERATIONGRAPH_DESCRIPTOR;
  constexpr int properties = CUDNN_BACKEND_DEVICEPROP_DESCRIPTOR;
  static r const graph[] = {{800, CUDNN_TYPE_HANDLE, 1, 1, false},  // CUDNN_ATTR_OPERATIONGRAPH_HANDLE is deprecated
                            {CUDNN_ATTR_OPERATIONGRAPH_OPS, CUDNN_TYPE_BACKEND_DESCRIPTOR, 1, many}};
  static r const heuristics[] = {
      {CUDNN_ATTR_ENGINEHEUR_OPERATION_GRAPH, CUDNN_TYPE_BACKEND_DESCRIPTOR, 1, 1, true, graph_type},
      {CUDNN_ATTR_ENGINEHEUR_MODE, CUDNN_TYPE_HEUR_MODE, 1, 1},
      {CUDNN_ATTR_ENGINEHEUR_DEVICEPROP, CUDNN_TYPE_BACKEND_DESCRIPTOR, 1, 1, false, properties},
      {CUDNN_ATTR_ENGINEHEUR_RESULTS, CUDNN_TYPE_BACKEND_DESCRIPTOR, 0, many, false, -1, false}};
  static r const engine[] = {{CUDNN_ATTR_ENGINE_OPERATION_GRAPH, CUDNN_TYPE_BACKEND_DESCRIPTOR, 1, 1, true, graph_type},
                             {CUDNN_ATTR_ENGINE_GLOBAL_INDEX, CUDNN_TYPE_INT64, 1, 1},
                             {CUDNN_ATTR_ENGINE_DEVICEPROP, CUDNN_TYPE_BACKEND_DESCRIPTOR, 1, 1, false, properties},
                             {CUDNN_ATTR_ENGINE_NUMERICAL_NOTE, CUDNN_TYPE_NUMERICAL_NOTE, 0, many, false, -1, false},
                             {CUDNN_ATTR_ENGINE_BEHAVIOR_NOTE, CUDNN_TYPE_BEHAVIOR_NOTE, 0, many, false, -1, false}};
  static r const config[] = {
      {CUDNN_ATTR_ENGINECFG_ENGINE, CUDNN_TYPE_BACKEND_DESCRIPTOR, 1, 1, true, CUDNN_BACKEND_ENGINE_DESCRIPTOR},
      {CUDNN_ATTR_ENGINECFG_KNOB_CHOICES, CUDNN_TYPE_BACKEND_DESCRIPTOR, 0, many, false,
       CUDNN_BACKEND_KNOB_CHOICE_DESCRIPTOR},
      {CUDNN_ATTR_ENGINECFG_WORKSPACE_SIZE, CUDNN_TYPE_INT64, 1, 1, false, -1, false}};
  static r const knob[] = {{CUDNN_ATTR_KNOB_CHOICE_KNOB_TYPE, CUDNN_TYPE_KNOB_TYPE, 1, 1},
                           {CUDNN_ATTR_KNOB_CHOICE_KNOB_VALUE, CUDNN_TYPE_INT64, 1, 1}};
  static r const plan[] = {
      {400, CUDNN_TYPE_HANDLE, 1, 1, false},  // CUDNN_ATTR_EXECUTION_PLAN_HANDLE is deprecated
      {CUDNN_ATTR_EXECUTION_PLAN_ENGINE_CONFIG, CUDNN_TYPE_BACKEND_DESCRIPTOR, 1, 1, false,
       CUDNN_BACKEND_ENGINECFG_DESCRIPTOR},
      {CUDNN_ATTR_EXECUTION_PLAN_JSON_REPRESENTATION, CUDNN_TYPE_CHAR, 1, many, false},
      {CUDNN_ATTR_EXECUTION_PLAN_DEVICEPROP, CUDNN_TYPE_BACKEND_DESCRIPTOR, 1, 1, false, properties},
      {CUDNN_ATTR_EXECUTION_PLAN_WORKSPACE_SIZE, CUDNN_TYPE_INT64, 1, 1, false, -1, false}};
  static r const pack[] = {{CUDNN_ATTR_VARIANT_PACK_UNIQUE_IDS, CUDNN_TYPE_INT64, 1, many},
                           {CUDNN_ATTR_VARIANT_PACK_DATA_POINTERS, CUDNN_TYPE_VOID_PTR, 1, many},
                           {CUDNN_ATTR_VARIANT_PACK_WORKSPACE, CUDNN_TYPE_VOID_PTR, 1, 1, false}};
  static r const device[] = {{CUDNN_ATTR_DEVICEPROP_DEVICE_ID, CUDNN_TYPE_INT32, 1, 1, false},
                             {CUDNN_ATTR_DEVICEPROP_HANDLE, CUDNN_TYPE_HANDLE, 1, 1, false},
                             {CUDNN_ATTR_DEVICEPROP_JSON_REPRESENTATION, CUDNN_TYPE_CHAR, 1, many, false}};
  switch (type) {
    case CUDNN_BACKEND_TENSOR_DESCRIPTOR: return tensor;
    case CUDNN_BACKEND_CONVOLUTION_DESCRIPTOR: return convolution;
    case CUDNN_BACKEND_POINTWISE_DESCRIPTOR: return pointwise;
    case CUDNN_BACKEND_OPERATION_CONVOLUTION_FORWARD_DESCRIPTOR: return forward;
    case CUDNN_BACKEND_OPERATION_CONVOLUTION_BACKWARD_DATA_DESCRIPTOR: return backward_data;
    case CUDNN_BACKEND_OPERATION_CONVOLUTION_BACKWARD_FILTER_DESCRIPTOR: return backward_filter;
    case CUDNN_BACKEND_OPERATION_POINTWISE_DESCRIPTOR: return operation_pointwise;
    case CUDNN_BACKEND_OPERATIONGRAPH_DESCRIPTOR: return graph;
    case CUDNN_BACKEND_ENGINEHEUR_DESCRIPTOR: return heuristics;
    case CUDNN_BACKEND_ENGINE_DESCRIPTOR: return engine;
    case CUDNN_BACKEND_ENGINECFG_DESCRIPTOR: return config;
    case CUDNN_BACKEND_KNOB_CHOICE_DESCRIPTOR: return knob;
    case CUDNN_BACKEND_EXECUTION_PLAN_DESCRIPTOR: return plan;
    case CUDNN_BACKEND_VARIANT_PACK_DESCRIPTOR: return pack;
    case CUDNN_BACKEND_DEVICEPROP_DESCRIPTOR: return device;
    default: return {};
  }
}

inline cudnnStatus_t refuse(state& s, cudnnStatus_t status, std::string why) {
  s.cudnn_message = std::move(why);
  return status;
}

}  // namespace dsl_test::simulated
