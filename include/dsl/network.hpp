// SPDX-License-Identifier: MIT
#pragma once

#include <dsl/combinators/sequential.hpp>
#include <dsl/graph/graph.hpp>
#include <dsl/layers/image.hpp>
#include <dsl/plan/make_plan.hpp>
#include <dsl/plan/verify.hpp>
#include <dsl/rules/explain.hpp>

namespace dsl {
namespace detail {

template <class Input>
constexpr value lower_input(builder& b) {
  if constexpr (network_input<Input>) {
    return Input::lower(b);
  } else {
    b.require(false, {.broken = rule::network_starts_with_an_input});
    return b.append({.kind = op::input}, nullptr, 0, {});
  }
}

template <class Input, class... Layers>
constexpr void lower_network(builder& b) {
  value const in = lower_input<Input>(b);
  value const out = sequential<Layers...>::lower(b, in);
  b.require(out.tensor != in.tensor, {.broken = rule::network_has_a_layer, .first = in.shape});
}

/// The counting pass: sizes and verdict of a network.
template <class Input, class... Layers>
struct judged {
  using input = Input;
  using whole = sequential<Layers...>;
  static constexpr builder counted = [] {
    builder b;
    lower_network<Input, Layers...>(b);
    return b;
  }();
  static constexpr verdict why = counted.first_fault();
};

}  // namespace detail

/// A network is a type: what goes in, then the layers. Instantiating it lowers it, checks it and, at the first broken
/// rule, is one compile error. Everything it knows is a constant.
template <class Input, class... Layers>
struct network : rules::explain<detail::judged<Input, Layers...>::why.broken, detail::judged<Input, Layers...>> {
  /// The layers as values, in topological order.
  static constexpr auto graph = [] {
    dsl::graph<detail::judged<Input, Layers...>::counted.sizes()> g;
    builder b(g);
    detail::lower_network<Input, Layers...>(b);
    g.scopes[0].name = {"network", 7};
    return g;
  }();

  static constexpr graph_view view() { return graph.view(); }
  /// Whether no rule is broken. Where one is, the compiler has said so; what follows from it need not be said as well.
  static constexpr bool is_sound = detail::judged<Input, Layers...>::why.holds();

  static constexpr shape input = graph.view().shape_of(0);
  static constexpr shape output = graph.view().shape_of(graph.view().result());
  /// As Keras counts: trainable parameters and the running statistics of batch_norm.
  static constexpr long long parameter_count = dsl::parameter_count(graph.view());
  static constexpr long long trainable_parameter_count = dsl::trainable_parameter_count(graph.view());
  /// Multiply-adds of one sample's forward pass.
  static constexpr long long forward_macs = dsl::forward_macs(graph.view());

  /// Bytes of the whole training arena: parameters, gradients, optimizer slots, activations and their gradients. What a
  /// library keeps for itself on top is the executor's executor_bytes().
  static constexpr long long training_bytes(int batch, target to = {}, int optimizer_slots = 1) {
    return make_plan(graph.view(), {batch, mode::training, to, optimizer_slots}).bytes();
  }
  static constexpr long long inference_bytes(int batch, target to = {}) {
    return make_plan(graph.view(), {batch, mode::inference, to, 0}).bytes();
  }

  /// Prints the table of layers to standard output. Needs <dsl/text.hpp>.
  template <class View = graph_view>
  static void summary() {
    print_summary(View(view()));
  }
};

/// Whether the plan of a network passes the independent checker: static_assert(dsl::verified<model>).
template <class Network, int Batch = 64, mode Mode = mode::training, target Target = target{}>
inline constexpr bool verified = verify(Network::view(), make_plan(Network::view(), {Batch, Mode, Target, 1})).holds();

}  // namespace dsl
