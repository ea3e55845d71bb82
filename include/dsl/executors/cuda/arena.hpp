// SPDX-License-Identifier: MIT
#pragma once

#include <dsl/detail/chain.hpp>
#include <dsl/detail/mode.hpp>
#include <dsl/executors/cuda/device.hpp>
#include <dsl/executors/cuda/kernels.hpp>
#include <dsl/executors/cuda/target.hpp>
#include <dsl/graph/facts.hpp>
#include <dsl/plan/make_plan.hpp>

#include <cstddef>
#include <cstring>
#include <memory>
#include <optional>
#include <vector>

namespace dsl::cu::TYPENET_MODE {

/// Returns element i of an array that has been copied to the host in the storage type.
inline float number_at(storage t, std::byte const* raw, long long i) {
  float value = 0;
  if (t == storage::f32)
    std::memcpy(&value, raw + 4 * i, 4);
  else
    std::memcpy(reinterpret_cast<std::byte*>(&value) + 2, raw + 2 * i, 2);  // bf16 is a float's upper half
  return value;
}

/// A network's state on one device, in the plan's flat arenas: parameters, running statistics, the parameters of frozen
/// layers and, for training, gradients and optimizer slots. If tensors are stored in 16 bits, it also has a copy of the
/// parameters in that type, and a copy of the gradients that cuDNN computes in it. A convolution's kernel is stored as
/// (out, height, width, in); reading and writing from the host use (out, in, height, width). All other parameters are
/// stored as on the host.
class arena {
 public:
  arena(api const& a, cudaStream_t s, graph_view const& g, storage t, int slots)
      : api_(&a),
        stream_(s),
        graph_(g),
        storage_(t),
        layout_(make_plan(g, {.mode = mode::training, .target = target_for(t), .optimizer_slots = slots})),
        state_(a, bytes_of(region::parameters) + bytes_of(region::statistics) + bytes_of(region::frozen), s) {
    if (t != storage::f32) copy_.emplace(a, (count() + frozen_count()) * cu::bytes_of(t), s);
  }

  /// Returns the number of all trainable parameters, including the gaps for alignment.
  long long count() const { return bytes_of(region::parameters) / 4; }
  /// Returns the number of all running statistics, including the gaps for alignment.
  long long statistics_count() const { return bytes_of(region::statistics) / 4; }
  /// Returns the number of all parameters and running statistics of frozen layers, including the gaps for alignment.
  long long frozen_count() const { return bytes_of(region::frozen) / 4; }
  long long bytes() const { return state_.bytes() + (training_ ? training_->bytes() : 0); }
  /// Returns the bytes of the 16-bit copies, which the plan does not count.
  long long extra_bytes() const { return (copy_ ? copy_->bytes() : 0) + (stage_ ? stage_->bytes() : 0); }

  void require_training() {
    if (training_) return;
    training_.emplace(*api_, bytes_of(region::gradients) + bytes_of(region::slots), stream_);
    if (storage_ != storage::f32) stage_.emplace(*api_, count() * cu::bytes_of(storage_), stream_);
  }

  /// Calls f(address, bytes) for each block of memory that training changes and that a step needs from the step before.
  template <class F>
  void for_each_block(F f) const {
    f(state_.data(), state_.bytes());
    if (training_) f(training_->data(), training_->bytes());
  }
  float* parameters() const { return begin_of(region::parameters); }
  float* statistics() const { return begin_of(region::statistics); }
  float* frozen() const { return begin_of(region::frozen); }
  float* gradients() const { return begin_of(region::gradients); }
  float* slots() const { return begin_of(region::slots); }
  /// Returns the 16-bit copies of the parameters, or null if tensors are stored as floats.
  element* copies() const { return copy_ ? copy_->as<element>() : nullptr; }
  /// Returns the 16-bit copies of what frozen() holds, which follow those of the parameters.
  element* frozen_copies() const { return copy_ ? behind(copies(), storage_, count()) : nullptr; }
  element* stage() const { return stage_ ? stage_->as<element>() : nullptr; }
  /// Whether the parameters have changed since the copies were made.
  bool copies_are_old() const { return copy_ && copies_are_old_; }
  void note_copies(bool old) { copies_are_old_ = old; }

  /// Returns a parameter's offset within its region, which is also that of its gradient if it has one.
  long long offset_of(int k) const { return buffer_of(k).offset / 4; }
  float* parameter(int k) const { return begin_of(buffer_of(k).where) + offset_of(k); }
  /// Returns the address of a parameter's gradient, or null if it has none because it is frozen.
  float* gradient(int k) const { return graph_.parameters[k].frozen ? nullptr : gradients() + offset_of(k); }
  /// Returns a kernel in the storage type, as convolutions and dense layers read it.
  element* working_copy(int k) const {
    long long const first = graph_.parameters[k].frozen ? count() : 0;
    return copy_ ? behind(copies(), storage_, first + offset_of(k)) : elements_of(parameter(k));
  }
  element* staged_gradient(int k) const {
    return stage_ ? behind(stage(), storage_, offset_of(k)) : elements_of(gradient(k));
  }
  /// Returns the address of optimizer slot s of parameter k.
  float* slot(int s, int k) const { return slots() + s * count() + offset_of(k); }

  /// Copies a parameter to the host, in the host's order. Waits for the device.
  void read(int k, float const* from, float* out) const {
    dsl::parameter const& p = graph_.parameters[k];
    std::vector<float> raw(static_cast<std::size_t>(p.count()));
    (*api_)(api_->cudaMemcpyAsync, raw.data(), from, raw.size() * 4, cudaMemcpyDeviceToHost, stream_);
    (*api_)(api_->cudaStreamSynchronize, stream_);
    for_each_weight(p, [&](std::size_t host, std::size_t device) { out[host] = raw[device]; });
  }
  /// Copies the gradient of a parameter to the host, if the gradient was computed in the storage type.
  void read_staged(int k, float* out) const {
    dsl::parameter const& p = graph_.parameters[k];
    std::vector<std::byte> raw(static_cast<std::size_t>(p.count() * cu::bytes_of(storage_)));
    (*api_)(api_->cudaMemcpyAsync, raw.data(), staged_gradient(k), raw.size(), cudaMemcpyDeviceToHost, stream_);
    (*api_)(api_->cudaStreamSynchronize, stream_);
    for_each_weight(p, [&](std::size_t host, std::size_t device) {
      out[host] = number_at(storage_, raw.data(), static_cast<long long>(device));
    });
  }
  void write(int k, float const* in, float* to) const {
    dsl::parameter const& p = graph_.parameters[k];
    std::vector<float> raw(static_cast<std::size_t>(p.count()));
    for_each_weight(p, [&](std::size_t host, std::size_t device) { raw[device] = in[host]; });
    (*api_)(api_->cudaMemcpyAsync, to, raw.data(), raw.size() * 4, cudaMemcpyHostToDevice, stream_);
    (*api_)(api_->cudaStreamSynchronize, stream_);
  }

 private:
  long long bytes_of(region r) const { return layout_.region_bytes[static_cast<int>(r)]; }
  buffer const& buffer_of(int k) const { return layout_.buffers[layout_.parameter_buffers[k]]; }
  float* begin_of(region r) const {
    bool const state = r == region::parameters || r == region::statistics || r == region::frozen;
    long long const before = r == region::statistics ? bytes_of(region::parameters)
                             : r == region::frozen   ? bytes_of(region::parameters) + bytes_of(region::statistics)
                             : r == region::slots    ? bytes_of(region::gradients)
                                                     : 0;
    return reinterpret_cast<float*>((state ? state_ : *training_).data() + before);
  }
  /// Calls f(index on the host, index on the device) for each number of a parameter.
  template <class F>
  void for_each_weight(dsl::parameter const& p, F f) const {
    bool const of_windows = p.rank > 2 && contains(facts_of(graph_.nodes[p.node]).options, operations::options::window);
    std::size_t const area = of_windows ? static_cast<std::size_t>(p.dims[2]) * static_cast<std::size_t>(p.dims[3]) : 1;
    std::size_t const in = of_windows ? static_cast<std::size_t>(p.dims[1]) : 1;
    std::size_t const out = static_cast<std::size_t>(p.count()) / area / in;
    for (std::size_t o = 0; o < out; ++o)
      for (std::size_t i = 0; i < in; ++i)
        for (std::size_t at = 0; at < area; ++at) f((o * in + i) * area + at, (o * area + at) * in + i);
  }

  api const* api_;
  cudaStream_t stream_;
  graph_view graph_;
  storage storage_;
  plan layout_;  // the placement of parameters, equal in every plan of the network
  device_memory state_;
  std::optional<device_memory> training_;
  std::optional<device_memory> copy_;
  std::optional<device_memory> stage_;
  bool copies_are_old_ = true;
};

}  // namespace dsl::cu::TYPENET_MODE
