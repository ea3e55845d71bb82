// SPDX-License-Identifier: MIT
#pragma once

#include <dsl/detail/message.hpp>
#include <dsl/detail/mode.hpp>
#include <dsl/error.hpp>
#include <dsl/executors/cuda/api.hpp>

#include <cudnn.h>

#include <cstdint>
#include <mutex>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#if CUDNN_VERSION < 91100
#error "typenet needs cuDNN 9.11 or later: earlier versions cannot build plans for a device description"
#endif

// cuDNN's backend API in C++: a handle, a descriptor, and the target of plans. NVIDIA's own C++ front end would cost
// every including file half a minute of compiling, and cannot add to a result (beta = 1).

namespace dsl::cu::TYPENET_MODE {

/// Throws an executor_error that names the call that failed, its object, and the reason that cuDNN stores.
[[noreturn, gnu::cold]] inline void fail_cudnn(api const& a, cudnnStatus_t status, char const* call, char const* what) {
  char why[256] = "";
  a.cudnnGetLastErrorString.function(why, sizeof why);
  why[sizeof why - 1] = 0;
  a.cudaGetLastError.function();  // clears the failed launch's error, so that the next call does not report it
  throw executor_error(detail::message(
      {"cudnn: ", call, " of ", what, " failed: ", a.cudnnGetErrorString.function(status), why[0] ? ": " : "", why}));
}

/// Owns cuDNN's context, for one thread and one stream at a time.
class cudnn_handle {
 public:
  /// Creates the handle while no other thread creates one, since NVIDIA advises against threads creating their first
  /// handles concurrently.
  explicit cudnn_handle(api const& a) : api_(&a) {
    static std::mutex one_at_a_time;
    std::lock_guard<std::mutex> const turn(one_at_a_time);
    a(a.cudnnCreate, &handle_);
  }
  cudnn_handle(cudnn_handle const&) = delete;
  cudnn_handle& operator=(cudnn_handle const&) = delete;
  ~cudnn_handle() { api_->cudnnDestroy.function(handle_); }

  /// Makes the handle execute on this stream from now on.
  void set_stream(cudaStream_t s) { (*api_)(api_->cudnnSetStream, handle_, s); }
  cudnnHandle_t get() const { return handle_; }
  api const& calls() const { return *api_; }

 private:
  api const* api_;
  cudnnHandle_t handle_ = nullptr;
};

}  // namespace dsl::cu::TYPENET_MODE

namespace dsl::cu::backend::TYPENET_MODE {

// Returns cuDNN's name for the type of an attribute's elements.
constexpr cudnnBackendAttributeType_t attribute_type(std::int64_t const*) { return CUDNN_TYPE_INT64; }
constexpr cudnnBackendAttributeType_t attribute_type(float const*) { return CUDNN_TYPE_FLOAT; }
constexpr cudnnBackendAttributeType_t attribute_type(double const*) { return CUDNN_TYPE_DOUBLE; }
constexpr cudnnBackendAttributeType_t attribute_type(bool const*) { return CUDNN_TYPE_BOOLEAN; }
constexpr cudnnBackendAttributeType_t attribute_type(char const*) { return CUDNN_TYPE_CHAR; }
constexpr cudnnBackendAttributeType_t attribute_type(void* const*) { return CUDNN_TYPE_VOID_PTR; }
constexpr cudnnBackendAttributeType_t attribute_type(cudnnHandle_t const*) { return CUDNN_TYPE_HANDLE; }
constexpr cudnnBackendAttributeType_t attribute_type(cudnnDataType_t const*) { return CUDNN_TYPE_DATA_TYPE; }
constexpr cudnnBackendAttributeType_t attribute_type(cudnnConvolutionMode_t const*) {
  return CUDNN_TYPE_CONVOLUTION_MODE;
}
constexpr cudnnBackendAttributeType_t attribute_type(cudnnPointwiseMode_t const*) { return CUDNN_TYPE_POINTWISE_MODE; }
constexpr cudnnBackendAttributeType_t attribute_type(cudnnBackendHeurMode_t const*) { return CUDNN_TYPE_HEUR_MODE; }
constexpr cudnnBackendAttributeType_t attribute_type(cudnnBackendKnobType_t const*) { return CUDNN_TYPE_KNOB_TYPE; }
constexpr cudnnBackendAttributeType_t attribute_type(cudnnBackendNumericalNote_t const*) {
  return CUDNN_TYPE_NUMERICAL_NOTE;
}
constexpr cudnnBackendAttributeType_t attribute_type(cudnnBackendBehaviorNote_t const*) {
  return CUDNN_TYPE_BEHAVIOR_NOTE;
}

}  // namespace dsl::cu::backend::TYPENET_MODE

namespace dsl::cu::TYPENET_MODE {

/// Owns a backend descriptor. `what` names it in messages: "a tensor".
///   backend_descriptor d(a, CUDNN_BACKEND_TENSOR_DESCRIPTOR, "a tensor");
///   d.set(CUDNN_ATTR_TENSOR_DATA_TYPE, CUDNN_DATA_FLOAT);  ...  d.finalize();
class backend_descriptor {
 public:
  backend_descriptor() = default;  // none
  backend_descriptor(api const& a, cudnnBackendDescriptorType_t type, char const* what) : api_(&a), what_(what) {
    check(a.cudnnBackendCreateDescriptor.function(type, &descriptor_), a.cudnnBackendCreateDescriptor.name);
  }
  backend_descriptor(backend_descriptor&& other) noexcept
      : api_(other.api_), descriptor_(std::exchange(other.descriptor_, nullptr)), what_(other.what_) {}
  backend_descriptor& operator=(backend_descriptor&& other) noexcept {
    std::swap(api_, other.api_);
    std::swap(descriptor_, other.descriptor_);
    std::swap(what_, other.what_);
    return *this;
  }
  ~backend_descriptor() {
    if (descriptor_) api_->cudnnBackendDestroyDescriptor.function(descriptor_);
  }

  template <class T>
  void set(cudnnBackendAttributeName_t name, T const& value) {
    set(name, backend::attribute_type(&value), 1, static_cast<void const*>(&value));
  }
  template <class T>
  void set(cudnnBackendAttributeName_t name, T const* values, std::int64_t count) {
    set(name, backend::attribute_type(values), count, static_cast<void const*>(values));
  }
  void set(cudnnBackendAttributeName_t name, backend_descriptor const& d) {
    set(name, CUDNN_TYPE_BACKEND_DESCRIPTOR, 1, static_cast<void const*>(&d.descriptor_));
  }
  void set(cudnnBackendAttributeName_t name, std::vector<backend_descriptor> const& all) {
    std::vector<cudnnBackendDescriptor_t> raw;
    raw.reserve(all.size());
    for (auto const& d : all) raw.push_back(d.descriptor_);
    set(name, CUDNN_TYPE_BACKEND_DESCRIPTOR, static_cast<std::int64_t>(raw.size()),
        static_cast<void const*>(raw.data()));
  }

  void finalize() { check(try_finalize(), api_->cudnnBackendFinalize.name); }
  /// Finalizes a descriptor and returns the status, for descriptors that cuDNN may refuse.
  cudnnStatus_t try_finalize() { return api_->cudnnBackendFinalize.function(descriptor_); }

  template <class T>
  T get(cudnnBackendAttributeName_t name) const {
    T value{};
    get(name, backend::attribute_type(&value), 1, &value);
    return value;
  }
  template <class T>
  std::vector<T> get_all(cudnnBackendAttributeName_t name) const {
    T* const none = nullptr;
    std::vector<T> values(static_cast<std::size_t>(get(name, backend::attribute_type(none), 0, nullptr)));
    if (!values.empty())
      values.resize(static_cast<std::size_t>(
          get(name, backend::attribute_type(none), static_cast<std::int64_t>(values.size()), values.data())));
    return values;
  }
  /// Returns the descriptors of an attribute, each of the given type. cuDNN reports their number except for knobs, for
  /// which `room` must be the maximum number.
  std::vector<backend_descriptor> get_all(cudnnBackendAttributeName_t name, cudnnBackendDescriptorType_t type,
                                          char const* what, std::int64_t room = 0) const {
    if (room == 0) room = get(name, CUDNN_TYPE_BACKEND_DESCRIPTOR, 0, nullptr);
    std::vector<backend_descriptor> all;
    std::vector<cudnnBackendDescriptor_t> raw;
    raw.reserve(static_cast<std::size_t>(room));
    for (std::int64_t i = 0; i < room; ++i) raw.push_back(all.emplace_back(*api_, type, what).descriptor_);
    std::int64_t const filled =
        room > 0 ? get(name, CUDNN_TYPE_BACKEND_DESCRIPTOR, room, static_cast<void*>(raw.data())) : 0;
    while (static_cast<std::int64_t>(all.size()) > filled) all.pop_back();
    return all;
  }

  cudnnBackendDescriptor_t get() const { return descriptor_; }
  explicit operator bool() const { return descriptor_ != nullptr; }
  api const& calls() const { return *api_; }
  void check(cudnnStatus_t status, char const* call) const {
    if (status != CUDNN_STATUS_SUCCESS) fail_cudnn(*api_, status, call, what_);
  }

 private:
  void set(cudnnBackendAttributeName_t name, cudnnBackendAttributeType_t type, std::int64_t count, void const* values) {
    check(api_->cudnnBackendSetAttribute.function(descriptor_, name, type, count, values),
          api_->cudnnBackendSetAttribute.name);
  }
  /// Reads at most `room` values of an attribute. Returns the number of values; if `room` is 0, the number that the
  /// attribute has.
  std::int64_t get(cudnnBackendAttributeName_t name, cudnnBackendAttributeType_t type, std::int64_t room,
                   void* values) const {
    std::int64_t count = 0;
    check(api_->cudnnBackendGetAttribute.function(descriptor_, name, type, room, &count, values),
          api_->cudnnBackendGetAttribute.name);
    return count;
  }

  api const* api_ = nullptr;
  cudnnBackendDescriptor_t descriptor_ = nullptr;
  char const* what_ = "";
};

/// The device for which plans are built: the device of a handle, or one that is only described. name() contains
/// everything on which the choice and the validity of a plan depend: "NVIDIA H200, compute capability 9.0, 132 SMs,
/// cuDNN 91900".
class plan_target {
 public:
  /// Targets the device that was current when the handle was made, and still is.
  explicit plan_target(cudnn_handle const& h) : api_(&h.calls()), handle_(h.get()) {
    int device = 0;
    cudaDeviceProp properties{};
    (*api_)(api_->cudaGetDevice, &device);
    (*api_)(api_->cudaGetDeviceProperties, &properties, device);
    properties.name[sizeof properties.name - 1] = 0;
    set_name(properties.name, properties.major, properties.minor, properties.multiProcessorCount);
  }
  /// Targets a device that need not exist. `json` holds its properties in cuDNN's format; `name` should contain the
  /// device, its compute capability and its number of multiprocessors, as above.
  plan_target(api const& a, std::string_view json, std::string name) : api_(&a), name_(std::move(name)) {
    name_ += detail::message({", cuDNN ", a.cudnnGetVersion.function()});
    properties_ = backend_descriptor(a, CUDNN_BACKEND_DEVICEPROP_DESCRIPTOR, "a device's properties");
    properties_.set(CUDNN_ATTR_DEVICEPROP_JSON_REPRESENTATION, json.data(), static_cast<std::int64_t>(json.size()));
    properties_.finalize();
  }

  void prepare_graph(backend_descriptor& d) const {
    if (handle_) d.set(CUDNN_ATTR_OPERATIONGRAPH_HANDLE, handle_);
  }
  void prepare_heuristics(backend_descriptor& d) const {
    if (!handle_) d.set(CUDNN_ATTR_ENGINEHEUR_DEVICEPROP, properties_);
  }
  void prepare_engine(backend_descriptor& d) const {
    if (!handle_) d.set(CUDNN_ATTR_ENGINE_DEVICEPROP, properties_);
  }
  void prepare_plan(backend_descriptor& d) const {
    if (handle_)
      d.set(CUDNN_ATTR_EXECUTION_PLAN_HANDLE, handle_);
    else
      d.set(CUDNN_ATTR_EXECUTION_PLAN_DEVICEPROP, properties_);
  }
  std::string const& name() const { return name_; }
  api const& calls() const { return *api_; }

 private:
  void set_name(char const* device, int major, int minor, int multiprocessors) {
    name_ = detail::message({device, ", compute capability ", major, ".", minor, ", ", multiprocessors, " SMs, cuDNN ",
                             api_->cudnnGetVersion.function()});
  }

  api const* api_;
  cudnnHandle_t handle_ = nullptr;
  backend_descriptor properties_;
  std::string name_;
};

}  // namespace dsl::cu::TYPENET_MODE
