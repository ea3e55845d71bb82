// SPDX-License-Identifier: MIT
#pragma once

#include <dsl/detail/embedded_mode.hpp>
#include <dsl/detail/mode.hpp>
#include <dsl/detail/static_memory.hpp>
#include <dsl/executors/host/batch_norm_step.hpp>
#include <dsl/executors/host/binding.hpp>
#include <dsl/executors/host/vector_task.hpp>
#include <dsl/executors/native/attention.hpp>
#include <dsl/executors/native/convolutions.hpp>
#include <dsl/executors/native/dense.hpp>
#include <dsl/executors/native/recurrent.hpp>
#include <dsl/executors/host/operations.hpp>
#include <dsl/graph/operation_set.hpp>
#include <dsl/network.hpp>
#include <dsl/plan/stored.hpp>

#include <cstdint>

/// Ends the program. Tables of virtual functions refer to this function of the C++ library. It is defined here, so that
/// embedded programs need not link that library.
// NOLINTNEXTLINE(bugprone-reserved-identifier, misc-definitions-in-headers)
extern "C" [[gnu::weak, noreturn, gnu::cold]] void __cxa_pure_virtual() { __builtin_trap(); }

namespace dsl::native_cpu::TYPENET_MODE {

/// The widest instruction set that the compiler's flags allow: that of `-march`, or the baseline.
#if defined(__AVX512F__) && defined(__AVX512VL__) && defined(__AVX512DQ__) && defined(__AVX512BW__)
inline constexpr auto compiled_for = instructions::avx512;
#elif defined(__AVX2__) && defined(__FMA__)
inline constexpr auto compiled_for = instructions::avx2;
#else
inline constexpr auto compiled_for = instructions::baseline;
#endif

/// Predicts one sample at a time with a plan that is a constant of the program: the part of the executor `native` that
/// embedded programs need. Its kernels, algorithms and bits are those of `native`. A program contains the kernels and
/// loops of only those operations that its network has.
template <class Network>
class embedded_engine {
 public:
  embedded_engine(graph_view const& g, plan const& p, kernels const& k, host::vector_kernels const& m,
                  host::region_memory const& regions)
      : graph_(g),
        plan_(p),
        at_(k, m),
        convolutions_(g, at_, true, {&version_, &version_}, kernels_),
        steps_(p.steps.size()) {
    host::binding<float> const binding(graph_, plan_, 1, regions);
    for (int i = 0; i < steps_.size(); ++i) {
      binding.bind(plan_.steps[i], steps_[i], nullptr);
      steps_[i].kernel = select_kernel(steps_[i]);
    }
    result_ = binding.view_of<float>(content::activation, g.result(), p.activations[g.result()], 0);
    at_.reserve();
  }

  /// Both are (channels, height, width).
  void predict(float const* input, float* output) const {
    for (bound_step const& b : steps_) run(b, input);
    for (int c = 0; c < result_.shape.channels; ++c)
      for (long long i = 0; i < result_.shape.area(); ++i) *output++ = result_(0, c, i);
  }

 private:
  using bound_step = host::bound_step<float>;

  static constexpr operation_set operations = operations_of(Network::view());

  /// The plain loops of the forward pass, by node.
  struct forward_loops {
    plain::loops<float>::loop of[Network::view().size.nodes]{};
    constexpr forward_loops() {
      graph_view const g = Network::view();
      for (int k = 0; k < g.size.nodes; ++k) of[k] = plain::loops_of<float, operations>(g.nodes[k].kind).forward;
    }
  };
  static constexpr forward_loops loops{};

  host::task select_kernel(bound_step const& b) {
    bool const forward = b.step->what == action::forward;
    if (forward && (b.node->kind == op::conv2d || b.node->kind == op::conv2d_transpose))
      return convolutions_.build(b, false);
    if (forward && b.node->kind == op::dense) return [d = dense(at_, b)] { d(); };
    if constexpr (widths::attends(operations)) {
      if (host::task attends = attention_task(at_, b)) return attends;
    }
    if constexpr (detail::has(operations, op::lstm, op::gru)) {
      if (host::task recurs = recurrent_task(at_, b)) return recurs;
    }
    auto const no_update = [](auto const&) {};  // inference has no update steps
    return host::vector_task<operations>(at_, b, no_update, [&b] { return normalization(b); });
  }
  static host::batch_norm_step<float> normalization(bound_step const& b) {
    return {.x = b.x,
            .to = b.to,
            .parameters = {b.parameter(role::gamma), b.parameter(role::beta), b.parameter(role::moving_mean),
                           b.parameter(role::moving_variance), b.parameter(role::bias)},
            .epsilon = b.node->epsilon,
            .whole = 1,
            .relu = b.step->activation >= 0};
  }

  static void run(bound_step const& b, float const* input) {
    if (b.kernel) return b.kernel();
    if (b.step->what == action::load)
      plain::copy<float>({input, b.to.shape, 1, 1, b.to.shape.channels, 0}, b.to, false);
    else if (b.step->what == action::copy_forward)
      plain::copy(b.x, b.to, b.accumulate);
    else if (b.node->kind == op::custom)
      b.node->custom->forward_float({.x = b.x, .y = b.to});
    else
      loops.of[b.step->node](b, {});
    if (b.ends_block) host::zero_rest_of_block(b.to);
  }

  graph_view graph_;
  plan const& plan_;
  cpu_device at_;
  std::uint64_t version_ = 1;  // of the parameters, which do not change
  detail::chain<packed_kernel> kernels_{};
  convolutions convolutions_;
  detail::list<bound_step> steps_;
  view<float> result_{};
};

}  // namespace dsl::native_cpu::TYPENET_MODE

namespace dsl::TYPENET_MODE {

using host::instructions;

/// A trained network in a program without a heap. The object contains all of its memory: make it a static variable.
/// Memory is the number of bytes for packed kernels and scratch memory, in addition to those of the activations.
///   static dsl::embedded_network<model, 512 << 10> network;
///   network.start(weights, sizeof weights) and then, as often as needed, network.predict(image, probabilities)
template <class Network, long long Memory, instructions Set = native_cpu::compiled_for>
class embedded_network {
  static_assert(Network::device_count == 1, "embedded: the network must be on one device; remove on<...>");
  static_assert(further_inputs(Network::view(), Network::view().size.nodes) == 0,
                "embedded: the network must have one input; remove named_input<...>, or use the executor native");
  static_assert(output_count(Network::view()) == 1,
                "embedded: the network must have one output; remove named_output<...>");

  static constexpr plan_options options{.batch = 1,
                                        .mode = mode::inference,
                                        .target = {.channel_block = host::lanes_of(Set), .library_writes_slices = true},
                                        .optimizer_slots = 0};
  static constexpr plan plan_ = detail::planned<Network, options>::value.view();
  static constexpr long long bytes_of(region r) { return plan_.region_bytes[static_cast<int>(r)]; }

 public:
  /// The bytes that save_embedded_weights writes for this network.
  static constexpr long long weights_bytes =
      bytes_of(region::parameters) + bytes_of(region::statistics) + bytes_of(region::frozen);

  /// Prepares the network with weights from save_embedded_weights, which must stay where they are, at a multiple of 64
  /// bytes. Returns false if the address is not such a multiple, or if the number of bytes is not weights_bytes. Ends
  /// the program if Memory is too small. A second call replaces the weights.
  [[nodiscard]] bool start(void const* weights, long long bytes) {
    if (bytes != weights_bytes || reinterpret_cast<std::uintptr_t>(weights) % 64 != 0) return false;
    detail::static_memory::use(memory_, sizeof memory_);
    auto* const all = static_cast<std::byte*>(const_cast<void*>(weights));  // they are never written
    host::region_memory m;
    m[region::parameters] = all;
    m[region::statistics] = all + bytes_of(region::parameters);
    m[region::frozen] = m[region::statistics] + bytes_of(region::statistics);
    m[region::activations] = activations_;
    using width = typename host::widths::width_of<Set>::type;
    constexpr operation_set operations = operations_of(Network::view());
    engine_ = detail::make<native_cpu::embedded_engine<Network>>(Network::view(), plan_,
                                                                 native_cpu::widths::of<width, operations>,
                                                                 host::vector_kernels_for<width, operations>, m);
    memory_left_ = detail::static_memory::left();
    return true;
  }

  /// Computes the outputs of one sample; both are (channels, height, width). Ends the program unless start() has
  /// returned true.
  void predict(float const* sample, float* outputs) const {
    if (!engine_) __builtin_trap();
    engine_->predict(sample, outputs);
  }

  /// Returns the bytes of Memory that start() has not used.
  long long memory_left() const { return memory_left_; }

 private:
  native_cpu::embedded_engine<Network>* engine_ = nullptr;
  long long memory_left_ = 0;
  alignas(64) std::byte activations_[bytes_of(region::activations)];
  alignas(64) std::byte memory_[Memory];
};

}  // namespace dsl::TYPENET_MODE
