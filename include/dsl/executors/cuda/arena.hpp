// SPDX-License-Identifier: MIT
#pragma once

#include <dsl/detail/chain.hpp>
#include <dsl/detail/mode.hpp>
#include <dsl/executors/cuda/device.hpp>
#include <dsl/executors/cuda/kernels.hpp>
#include <dsl/executors/cuda/target.hpp>
#include <dsl/plan/make_plan.hpp>

#include <cstddef>
#include <cstring>
#include <memory>
#include <optional>
#include <vector>

namespace dsl::cu::TYPENET_MODE {

/// Number i of an array in the storage type, brought to the host.
inline float number_at(storage t, std::byte const* raw, long long i) {
  float value = 0;
  if (t == storage::f32)
    std::memcpy(&value, raw + 4 * i, 4);
  else
    std::memcpy(reinterpret_cast<std::byte*>(&value) + 2, raw + 2 * i, 2);  // bf16 is a float's upper half
  return value;
}

/// A network's state on one device, in the plan's flat arenas: parameters and running statistics; gradients and
/// optimizer slots once somebody trains. Beside them, where tensors are stored in 16 bits, a copy of the parameters in
/// that type, and one of the gradients for those that cuDNN makes in it. A convolution's kernel is stored as (out,
/// height, width, in); whoever reads or writes a parameter from the host sees (out, in, height, width).
class arena {
 public:
  [[gnu::cold]] arena(api const& a, cudaStream_t s, graph_view const& g, storage t, int slots)
      : api_(&a),
        stream_(s),
        graph_(g),
        storage_(t),
        layout_(make_plan(g, {.mode = mode::training, .target = target_for(t), .optimizer_slots = slots})),
        state_(a, bytes_of(region::parameters) + bytes_of(region::statistics), s) {
    if (t != storage::f32) copy_.emplace(a, count() * cu::bytes_of(t), s);
  }

  /// Of all trainable parameters together, gaps for alignment included.
  long long count() const { return bytes_of(region::parameters) / 4; }
  /// Of all running statistics, likewise.
  long long statistics_count() const { return bytes_of(region::statistics) / 4; }
  long long bytes() const { return state_.bytes() + (training_ ? training_->bytes() : 0); }
  /// What the plan does not count.
  long long extra_bytes() const { return (copy_ ? copy_->bytes() : 0) + (stage_ ? stage_->bytes() : 0); }

  [[gnu::cold]] void require_training() {
    if (training_) return;
    training_.emplace(*api_, bytes_of(region::gradients) + bytes_of(region::slots), stream_);
    if (storage_ != storage::f32) stage_.emplace(*api_, count() * cu::bytes_of(storage_), stream_);
  }

  float* parameters() const { return begin_of(region::parameters); }
  float* statistics() const { return begin_of(region::statistics); }
  float* gradients() const { return begin_of(region::gradients); }
  float* slots() const { return begin_of(region::slots); }
  /// The 16-bit copies, or null where storage is float.
  void* copies() const { return copy_ ? copy_->data() : nullptr; }
  void* stage() const { return stage_ ? stage_->data() : nullptr; }
  /// Whether the copies are still to be made of what the parameters are now.
  bool copies_are_old() const { return copy_ && copies_are_old_; }
  void note_copies(bool old) { copies_are_old_ = old; }

  /// Of a parameter among those of its kind, trainable or not, and of its gradient.
  long long offset_of(int k) const { return buffer_of(k).offset / 4; }
  float* parameter(int k) const { return begin_of(buffer_of(k).where) + offset_of(k); }
  float* gradient(int k) const { return gradients() + offset_of(k); }
  /// A kernel as convolutions and dense layers read it, in the storage type.
  void* working_copy(int k) const {
    return copy_ ? copy_->data() + offset_of(k) * cu::bytes_of(storage_) : static_cast<void*>(parameter(k));
  }
  void* staged_gradient(int k) const {
    return stage_ ? stage_->data() + offset_of(k) * cu::bytes_of(storage_) : static_cast<void*>(gradient(k));
  }
  /// Slot s of parameter k.
  float* slot(int s, int k) const { return slots() + s * count() + offset_of(k); }

  /// Between a parameter's place on the device and the host's order. Waits.
  [[gnu::cold]] void read(int k, float const* from, float* out) const {
    dsl::parameter const& p = graph_.parameters[k];
    std::vector<float> raw(static_cast<std::size_t>(p.count()));
    (*api_)(api_->cudaMemcpyAsync, raw.data(), from, raw.size() * 4, cudaMemcpyDeviceToHost, stream_);
    (*api_)(api_->cudaStreamSynchronize, stream_);
    for_each_weight(p, [&](std::size_t host, std::size_t device) { out[host] = raw[device]; });
  }
  /// The gradient of a parameter that was made in the storage type.
  [[gnu::cold]] void read_staged(int k, float* out) const {
    dsl::parameter const& p = graph_.parameters[k];
    std::vector<std::byte> raw(static_cast<std::size_t>(p.count() * cu::bytes_of(storage_)));
    (*api_)(api_->cudaMemcpyAsync, raw.data(), staged_gradient(k), raw.size(), cudaMemcpyDeviceToHost, stream_);
    (*api_)(api_->cudaStreamSynchronize, stream_);
    for_each_weight(p, [&](std::size_t host, std::size_t device) {
      out[host] = number_at(storage_, raw.data(), static_cast<long long>(device));
    });
  }
  [[gnu::cold]] void write(int k, float const* in, float* to) const {
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
    bool const state = r == region::parameters || r == region::statistics;
    long long const before = r == region::statistics ? bytes_of(region::parameters)
                             : r == region::slots    ? bytes_of(region::gradients)
                                                     : 0;
    return reinterpret_cast<float*>((state ? state_ : *training_).data() + before);
  }
  /// Calls f(place on the host, place on the device) for each number of a parameter.
  template <class F>
  static void for_each_weight(dsl::parameter const& p, F f) {
    std::size_t const area =
        p.rank == 4 ? static_cast<std::size_t>(p.dims[2]) * static_cast<std::size_t>(p.dims[3]) : 1;
    std::size_t const in = p.rank == 4 ? static_cast<std::size_t>(p.dims[1]) : 1;
    std::size_t const out = static_cast<std::size_t>(p.count()) / area / in;
    for (std::size_t o = 0; o < out; ++o)
      for (std::size_t i = 0; i < in; ++i)
        for (std::size_t at = 0; at < area; ++at) f((o * in + i) * area + at, (o * area + at) * in + i);
  }

  api const* api_;
  cudaStream_t stream_;
  graph_view graph_;
  storage storage_;
  plan layout_;  // where parameters are; the same in every plan of this network
  device_memory state_;
  std::optional<device_memory> training_;
  std::optional<device_memory> copy_;
  std::optional<device_memory> stage_;
  bool copies_are_old_ = true;
};

}  // namespace dsl::cu::TYPENET_MODE
