// SPDX-License-Identifier: MIT
#pragma once

#include <dsl/shape.hpp>

// Rules for using a network. The numbers come before the network in the arguments, since its name may be long.
namespace dsl::broken {

template <shape Wanted, shape Found, class Network>
struct network_gives {
  static_assert(
      Wanted == Found,
      "gives: the network's output must have the shape that is asserted; change its last layers or the assertion");
};

template <int Batch, long long Allowed, long long Needed, class Network>
struct network_trains_in {
  static_assert(Needed <= Allowed,
                "trains_in: a training step must take no more bytes than are asserted; use a smaller batch or network, "
                "or allow more");
};

template <class Thing, bool IsNetwork>
struct verified_takes_a_network {
  static_assert(IsNetwork,
                "verified: it takes a network; give it network<image<3, 32, 32>, ...> with your layers in it");
};

template <int Towers, class Thing, bool IsNetwork>
struct replicate_takes_a_network {
  static_assert(IsNetwork,
                "replicate: its second argument must be a network; write replicate<G, network<image<3, 32, 32>, ...>>");
};

template <int Parts, class Thing, bool IsNetwork>
struct pipeline_takes_a_network {
  static_assert(IsNetwork,
                "pipeline: its second argument must be a network; write pipeline<M, network<image<3, 32, 32>, ...>>");
};

/// Stands for an argument that is absent.
struct nothing;
/// Stand for options in braces, and for an argument that is absent or is such options.
struct options_in_braces;
struct nothing_or_options;

template <class Found, bool IsExecutor>
struct compile_takes_an_executor {
  static_assert(IsExecutor,
                "compile: its first argument must be an executor, such as native{}; the executor may be left out, "
                "and then the first argument is the optimizer");
};

template <class Optimizer, class Executor, bool ExecutorIsFirst>
struct compile_takes_the_executor_first {
  static_assert(ExecutorIsFirst,
                "compile: the executor must come before the optimizer; swap them: compile<model>(native{}, sgd{})");
};

template <class Found, bool IsOptimizer>
struct compile_takes_an_optimizer {
  static_assert(
      IsOptimizer,
      "compile: after the executor there must be an optimizer, such as sgd{.learning_rate = 5e-3, .momentum = 0.9}");
};

template <class Found, bool AreOptions>
struct compile_takes_options {
  static_assert(
      AreOptions,
      "compile: after the optimizer it takes only towers{...} (from <dsl/towers.hpp>) and options such as {.seed = 1}");
};

template <class Number, bool IsFloat>
struct reference_computes_in_floats {
  static_assert(IsFloat, "reference: it computes in float or double; write reference{} or reference<double>{}");
};

}  // namespace dsl::broken
