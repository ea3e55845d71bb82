// SPDX-License-Identifier: MIT
#pragma once

#include <dsl/network.hpp>
#include <dsl/placement/parts.hpp>
#include <dsl/rules/broken_budgets.hpp>
#include <dsl/rules/broken_parts.hpp>
#include <dsl/rules/broken_uses.hpp>

namespace dsl {

/// A network that processes each batch as M micro-batches, one after the other, so that its devices work at the same
/// time: device 1 computes micro-batch 0 while device 0 computes micro-batch 1 (GPipe; Huang et al. 2019). There is one
/// update for each batch, with the gradients summed over the micro-batches in order. A batch_norm normalises each
/// micro-batch separately and updates its running statistics M times. Without batch_norm, the result is the same as
/// without micro-batches, except for rounding.
///   auto t = dsl::compile<dsl::pipeline<4, model>>(dsl::onednn{}, dsl::sgd{.learning_rate = 5e-3});
/// A batch of 10 samples in 4 micro-batches is split into 2, 2, 2 and 4 samples; a batch with fewer samples than
/// micro-batches is not split. If there are several towers, each splits its own part of the batch: replicate<2,
/// pipeline<4, model>>.
template <int M, class Network>
struct pipeline : Network {
  // Each is asserted where its class is instantiated, since Clang knows no member of a class whose own assertion fails.
  static_assert(alignof(broken::micro_batches_are_positive<M, Network>) == 1);
  static_assert(alignof(broken::micro_batches_are_given_once<M, Network, requires { Network::micro_batches; }>) == 1);
  static_assert(alignof(broken::towers_go_around_pipelines<M, Network, requires { Network::replicas; }>) == 1);
  static_assert(alignof(broken::pipelines_go_inside_budgets<M, Network, requires { Network::limit; }>) == 1);
  static constexpr int micro_batches = M < 1 ? 1 : M;  // a plan of no micro-batches would be a second error
  static void lower() = delete;                        // not a layer: it wraps a network

  /// Return the memory in bytes for a training step, and for inference, in M micro-batches.
  static constexpr long long training_bytes(int batch, target to = {}, int optimizer_slots = 1) {
    return bytes({.batch = batch, .target = to, .optimizer_slots = optimizer_slots});
  }
  static constexpr long long inference_bytes(int batch, target to = {}) {
    return bytes({.batch = batch, .mode = mode::inference, .target = to, .optimizer_slots = 0});
  }
  /// Returns the bytes of a plan with these options and M micro-batches.
  static constexpr long long bytes(plan_options o) {
    o.micro_batches = M;
    return Network::bytes(o);
  }

  /// A constant batch size. If the network has a batch_norm and a micro-batch would be a single sample, it is a compile
  /// error.
  template <int Samples>
  static constexpr int batch =
      alignof(broken::micro_batches_have_samples < pipeline, Samples, pipeline::smallest_micro_batch(Samples),
              detail::has_batch_norm(Network::view()) ? 2 : 1 >) == 1
          ? Samples
          : 0;
  static constexpr int smallest_micro_batch(int batch) { return detail::smallest_micro_batch(batch, M); }

  /// Prints the table of layers, with the memory for training in M micro-batches. Needs <dsl/text.hpp>.
  template <class Printer = summary_printer>
  static void summary() {
    detail::print_with<Printer>(Network::view(), M);
  }
};

/// Reports that Thing is not a network.
template <int M, class Thing>
  requires(!is_network<Thing>)
struct pipeline<M, Thing> : detail::no_network {
  static_assert(alignof(broken::pipeline_takes_a_network<M, Thing, false>) == 1);
};

}  // namespace dsl
