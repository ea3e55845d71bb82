// SPDX-License-Identifier: MIT
#pragma once

#include <dsl/network.hpp>
#include <dsl/plan/stored_search.hpp>
#include <dsl/rules/broken_budgets.hpp>

namespace dsl {

namespace detail {

/// Whether a memory_budget can wrap T.
template <class T>
constexpr bool takes_a_budget() {
  if constexpr (!is_network<T>)
    return false;
  else
    return T::device_count == 1 && !requires { T::limit; } && !requires { T::replicas; };
}

/// Searches for a plan within a budget, and names the class that is ill-formed with a readable error if there is none.
template <int Batch, long long Bytes, class Network>
struct checked_budget {
  static constexpr long long least = [] {
    if constexpr (!Network::is_sound || Batch < 1)
      return Bytes;
    else
      return bytes_beyond<Network, plan_options_of<Network>(Batch), Bytes>();
  }();
  using type = broken::network_fits_its_budget<Batch, Bytes, least, Network>;
};

}  // namespace detail

/// A network whose training step takes at most `Bytes` with a batch of up to `Batch` samples:
///   using model = dsl::memory_budget<64, 160_MiB, dsl::network<...>>;
/// If the plan of the whole network needs more, some of the values that the backward pass needs are not kept but
/// computed again, beginning with those that cost the least time per byte. Every result has the same bits as without a
/// budget. Bytes are those of the plan: parameters, gradients, the optimizer's slots, and activations. If no plan fits,
/// the error names the fewest bytes found. A larger batch throws option_error, even in evaluation and prediction; a
/// smaller one computes the same values again. With several towers, bytes and batch are those of each.
template <int Batch, long long Bytes, class Network>
struct memory_budget : Network {
  // Each is asserted where its class is instantiated, since Clang knows no member of a class whose own assertion fails.
  static_assert(alignof(broken::budgets_are_for_a_batch<Batch, Bytes, Network>) == 1);
  static_assert(alignof(typename detail::checked_budget<Batch, Bytes, Network>::type) == 1);
  static constexpr memory_limit limit{Bytes, Batch < 1 ? 1 : Batch};
  static void lower() = delete;  // not a layer: it wraps a network

  /// Returns the bytes of the plan of a training step within the limit. In a constant expression, the search takes a
  /// long time, and for many networks it exceeds the compiler's limits; at run time, it takes milliseconds.
  static constexpr long long training_bytes(int batch, target const& to = {}, int optimizer_slots = 1) {
    plan_options o = detail::plan_options_of<Network>(limit.batch, mode::training, to);
    o.optimizer_slots = optimizer_slots;
    recomputation const choice = choose_recomputation(Network::view(), o, Bytes);
    o.batch = batch;
    return make_plan(Network::view(), o, choice.again).bytes();
  }
  /// Prints the table of layers, the memory within the limit, and what is computed again; needs <dsl/text.hpp>.
  template <class Printer = summary_printer>
  static void summary() {
    detail::print_with<Printer>(Network::view(), detail::micro_batches<Network>, limit);
  }
};

/// Reports that Thing cannot have a budget.
template <int Batch, long long Bytes, class Thing>
  requires(!detail::takes_a_budget<Thing>())
struct memory_budget<Batch, Bytes, Thing> : detail::no_network {
  static_assert(alignof(broken::budget_takes_a_network<Batch, Bytes, Thing, false>) == 1);
};

}  // namespace dsl
