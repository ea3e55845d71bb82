// SPDX-License-Identifier: MIT
// Tests that the double's cuDNN descriptors answer as the real ones do: the same calls go to both libraries.
#include "cuda/deviceless.hpp"
#include "support/catch.hpp"
#include "support/simulated_device/simulated_device.hpp"

#include <cstdint>
#include <string>
#include <vector>

using dsl::cu::api;

namespace {

/// Descriptors of either library, with a record of the answer to every call.
struct talk {
  api const& a;
  std::vector<std::string> answers;
  std::vector<cudnnBackendDescriptor_t> made;
  explicit talk(api const& table) : a(table) {}
  talk(talk const&) = delete;
  ~talk() {
    for (auto d : made) a.cudnnBackendDestroyDescriptor.function(d);
  }
  void note(cudnnStatus_t s) { answers.emplace_back(::cudnnGetErrorString(s)); }
  cudnnBackendDescriptor_t make(cudnnBackendDescriptorType_t type) {
    note(a.cudnnBackendCreateDescriptor.function(type, &made.emplace_back(nullptr)));
    return made.back();
  }
  template <class T>
  void set(cudnnBackendDescriptor_t d, cudnnBackendAttributeName_t name, cudnnBackendAttributeType_t type,
           std::vector<T> const& v) {
    note(a.cudnnBackendSetAttribute.function(d, name, type, static_cast<std::int64_t>(v.size()), v.data()));
  }
  void finalize(cudnnBackendDescriptor_t d) { note(a.cudnnBackendFinalize.function(d)); }
  void get(cudnnBackendDescriptor_t d, cudnnBackendAttributeName_t name, cudnnBackendAttributeType_t type,
           std::int64_t room) {
    std::int64_t count = -1;
    std::vector<std::int64_t> to(static_cast<std::size_t>(room) + 1);
    note(a.cudnnBackendGetAttribute.function(d, name, type, room, &count, room ? to.data() : nullptr));
    answers.back() += " " + std::to_string(count);
  }
  cudnnBackendDescriptor_t tensor(std::int64_t id, std::vector<std::int64_t> const& size, std::int64_t alignment = 16) {
    auto const d = make(CUDNN_BACKEND_TENSOR_DESCRIPTOR);
    set<cudnnDataType_t>(d, CUDNN_ATTR_TENSOR_DATA_TYPE, CUDNN_TYPE_DATA_TYPE, {CUDNN_DATA_FLOAT});
    set(d, CUDNN_ATTR_TENSOR_DIMENSIONS, CUDNN_TYPE_INT64, size);
    set<std::int64_t>(d, CUDNN_ATTR_TENSOR_STRIDES, CUDNN_TYPE_INT64,
                      {size[1] * size[2] * size[3], 1, size[3] * size[1], size[1]});
    set<std::int64_t>(d, CUDNN_ATTR_TENSOR_UNIQUE_ID, CUDNN_TYPE_INT64, {id});
    set<std::int64_t>(d, CUDNN_ATTR_TENSOR_BYTE_ALIGNMENT, CUDNN_TYPE_INT64, {alignment});
    finalize(d);
    return d;
  }
};

void tensors(talk& t) {
  auto const d = t.make(CUDNN_BACKEND_TENSOR_DESCRIPTOR);
  t.finalize(d);
  t.set<float>(d, CUDNN_ATTR_TENSOR_UNIQUE_ID, CUDNN_TYPE_FLOAT, {1});
  t.set<std::int64_t>(d, CUDNN_ATTR_TENSOR_UNIQUE_ID, CUDNN_TYPE_INT64, {1, 2});
  t.set<std::int64_t>(d, CUDNN_ATTR_CONVOLUTION_DILATIONS, CUDNN_TYPE_INT64, {1, 2});
  t.get(d, CUDNN_ATTR_TENSOR_UNIQUE_ID, CUDNN_TYPE_INT64, 1);
  t.tensor(1, {2, 16, 8, 8}, 3);
  auto const good = t.tensor(1, {2, 16, 8, 8});
  t.finalize(good);
  t.set<std::int64_t>(good, CUDNN_ATTR_TENSOR_UNIQUE_ID, CUDNN_TYPE_INT64, {1});
  t.get(good, CUDNN_ATTR_TENSOR_DIMENSIONS, CUDNN_TYPE_INT64, 0);
  t.get(good, CUDNN_ATTR_TENSOR_DIMENSIONS, CUDNN_TYPE_INT64, 2);
  t.get(good, CUDNN_ATTR_TENSOR_DIMENSIONS, CUDNN_TYPE_FLOAT, 4);
  t.get(good, CUDNN_ATTR_CONVOLUTION_DILATIONS, CUDNN_TYPE_INT64, 4);
}
void operations(talk& t) {
  auto const window = t.make(CUDNN_BACKEND_CONVOLUTION_DESCRIPTOR);
  t.finalize(window);
  t.set<cudnnDataType_t>(window, CUDNN_ATTR_CONVOLUTION_COMP_TYPE, CUDNN_TYPE_DATA_TYPE, {CUDNN_DATA_FLOAT});
  t.set<cudnnConvolutionMode_t>(window, CUDNN_ATTR_CONVOLUTION_CONV_MODE, CUDNN_TYPE_CONVOLUTION_MODE,
                                {CUDNN_CROSS_CORRELATION});
  t.set<std::int64_t>(window, CUDNN_ATTR_CONVOLUTION_SPATIAL_DIMS, CUDNN_TYPE_INT64, {2});
  for (auto const name : {CUDNN_ATTR_CONVOLUTION_DILATIONS, CUDNN_ATTR_CONVOLUTION_FILTER_STRIDES,
                          CUDNN_ATTR_CONVOLUTION_PRE_PADDINGS, CUDNN_ATTR_CONVOLUTION_POST_PADDINGS})
    t.set<std::int64_t>(window, name, CUDNN_TYPE_INT64, {1, 1});
  t.finalize(window);
  auto const x = t.tensor(1, {2, 16, 8, 8}), w = t.tensor(2, {32, 16, 3, 3}), y = t.tensor(3, {2, 32, 8, 8});
  auto const wrong = t.tensor(3, {2, 32, 7, 8});
  auto const op = t.make(CUDNN_BACKEND_OPERATION_CONVOLUTION_FORWARD_DESCRIPTOR);
  t.finalize(op);
  auto const put = [&](cudnnBackendDescriptor_t d, cudnnBackendAttributeName_t name, cudnnBackendDescriptor_t child) {
    t.set<cudnnBackendDescriptor_t>(d, name, CUDNN_TYPE_BACKEND_DESCRIPTOR, {child});
  };
  put(op, CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_X, x);
  put(op, CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_W, w);
  put(op, CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_CONV_DESC, window);
  put(op, CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_Y, wrong);
  t.set<float>(op, CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_ALPHA, CUDNN_TYPE_FLOAT, {1});
  t.set<double>(op, CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_BETA, CUDNN_TYPE_DOUBLE, {0});
  t.finalize(op);
  put(op, CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_Y, y);
  auto const graph = t.make(CUDNN_BACKEND_OPERATIONGRAPH_DESCRIPTOR);
  put(graph, CUDNN_ATTR_OPERATIONGRAPH_OPS, op);  // not finalized
  t.finalize(graph);
  t.finalize(op);
  put(graph, CUDNN_ATTR_OPERATIONGRAPH_OPS, op);
  t.finalize(graph);
  auto const plan = t.make(CUDNN_BACKEND_EXECUTION_PLAN_DESCRIPTOR);
  t.finalize(plan);
  t.get(plan, CUDNN_ATTR_EXECUTION_PLAN_WORKSPACE_SIZE, CUDNN_TYPE_INT64, 1);
  auto const pack = t.make(CUDNN_BACKEND_VARIANT_PACK_DESCRIPTOR);
  t.set<void*>(pack, CUDNN_ATTR_VARIANT_PACK_DATA_POINTERS, CUDNN_TYPE_VOID_PTR, {nullptr, nullptr});
  t.set<std::int64_t>(pack, CUDNN_ATTR_VARIANT_PACK_UNIQUE_IDS, CUDNN_TYPE_INT64, {1});
  t.finalize(pack);
  t.set<std::int64_t>(pack, CUDNN_ATTR_VARIANT_PACK_UNIQUE_IDS, CUDNN_TYPE_INT64, {1, 2});
  t.finalize(pack);
}

}  // namespace

TEST_CASE("descriptors answer what cuDNN's answer") {
  if (::cudnnGetVersion() < 91900) {
    WARN("skipped: the answers are those of cuDNN 9.19");
    return;
  }
  for (auto const conversation : {&tensors, &operations}) {
    dsl_test::simulated_device device;
    talk simulated(device.api());
    talk real(dsl::test::real_api());
    conversation(simulated);
    conversation(real);
    CHECK(simulated.answers == real.answers);
    CHECK(device.take_misuses().empty());
    device.report();  // descriptors are destroyed at the end of this block
  }
}
