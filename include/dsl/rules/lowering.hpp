// SPDX-License-Identifier: MIT
#pragma once

#include <initializer_list>

#include <dsl/combinators/sequential.hpp>
#include <dsl/layers/image.hpp>

// The conditions under which a network can be lowered at all: its types end, and its lower() functions are constant
// expressions. If they do not hold, a compiler prints hundreds of lines.
namespace dsl::detail {

template <int Depth, class... Layers>
constexpr bool all_end(types<Layers...>);

/// Whether the nesting of a layer's modules ends at some depth. It does not if a module contains ever further modules.
template <int Depth, class Layer>
constexpr bool ends() {
  if constexpr (Depth >= most_nested)
    return false;
  else if constexpr (requires { typename Layer::children; })
    return all_end<Depth + 1>(typename Layer::children{});
  else
    return true;
}
template <int Depth, class... Layers>
constexpr bool all_end(types<Layers...>) {
  for (bool each : {true, ends<Depth, Layers>()...})
    if (!each) return false;
  return true;
}

template <class Input>
constexpr value lower_input(builder& b) {
  if constexpr (network_input<Input>) {
    return Input::lower(b);
  } else {
    b.require(false, {.broken = rule::network_starts_with_an_input});
    return b.append({.kind = op::input}, nullptr, 0, {});
  }
}

/// Lowers all layers of a network: lower_layers<Whole>(b, lower_input<Input>(b)). It takes the input's value because
/// GCC, optimising a caller, tries to evaluate the call; since the value is not a constant there, GCC stops before the
/// first layer.
template <class Whole>
constexpr value lower_layers(builder& b, value in) {
  value const out = Whole::lower(b, in);
  b.require(b.sizes().tensors > in.tensor + 1, {.broken = rule::network_has_a_layer, .first = in.shape});
  return out;
}

/// Returns the sizes of a network's graph.
template <class Input, class Whole>
constexpr graph_sizes sizes_of() {
  builder b;
  lower_layers<Whole>(b, lower_input<Input>(b));
  return b.sizes();
}

/// Returns the first broken rule of a network if only its first `scopes` layers and modules are lowered.
template <class Input, class Whole>
constexpr verdict lower_first(int scopes) {
  builder b(scopes);
  lower_layers<Whole>(b, lower_input<Input>(b));
  return b.first_fault();
}

template <int>
struct constant;
/// Whether the compiler can evaluate all of a network's lower() functions. GCC remembers the sizes for the next call.
template <class Input, class Whole>
concept evaluates_all = requires { typename constant<sizes_of<Input, Whole>().nodes>; };
/// Whether the compiler can evaluate lower() of the first `Scopes` layers and modules.
template <class Input, class Whole, int Scopes>
concept evaluates = requires { typename constant<lower_first<Input, Whole>(Scopes).depth>; };

/// Returns the verdict on the first layer whose lower() the compiler cannot evaluate. It can evaluate the first Good
/// layers and may not be able to evaluate the first Bad. If it can evaluate a million layers, the network as a whole
/// takes too many steps.
template <class Input, class Whole, int Good = 0, int Bad = 1>
constexpr verdict find_unevaluated() {
  if constexpr (Bad > 1 << 20)
    return {{.broken = rule::lower_is_constant}};
  else if constexpr (evaluates<Input, Whole, Bad>)
    return find_unevaluated<Input, Whole, Bad, 2 * Bad>();
  else if constexpr (Bad - Good == 1)
    return lower_first<Input, Whole>(Good);
  else if constexpr (evaluates<Input, Whole, (Good + Bad) / 2>)
    return find_unevaluated<Input, Whole, (Good + Bad) / 2, Bad>();
  else
    return find_unevaluated<Input, Whole, Good, (Good + Bad) / 2>();
}

constexpr int place_of_endless(std::initializer_list<bool> each_ends) {
  int place = 0;
  for (bool ended : each_ends) {
    if (!ended) return place;
    ++place;
  }
  return -1;
}
template <class... Layers>
constexpr int first_endless(types<Layers...>) {
  return place_of_endless({ends<1, Layers>()...});
}

/// Returns why a network cannot be lowered, and which layer is the reason. If the network can be lowered, the verdict
/// holds.
template <class Input, class Whole>
constexpr verdict why_not_lowered() {
  constexpr int endless = first_endless(typename Whole::children{});
  verdict why;
  if constexpr (endless >= 0) {
    why.broken = rule::modules_end;
    why.depth = 1;
    why.path[0] = endless;
  } else if constexpr (!evaluates_all<Input, Whole>) {
    why = find_unevaluated<Input, Whole>();
  }
  return why;
}

/// Whether a type is complete and without errors. After an error in a type, such as sequential<batch_norm>, which lacks
/// <>, nvcc continues and treats concepts that depend on it as not satisfied.
template <class>
concept is_known = true;
/// Whether the sizes of a network have been computed. nvcc does not compute them after an error in the base of a layer.
template <graph_sizes>
concept are_known = true;
/// The verdict on a network whose sizes are not known, since its error has already been reported.
inline constexpr verdict reported{{.broken = rule::is_reported}};

/// The layers of a network, or no layers if they cannot be lowered.
template <bool CanBe, class Whole>
struct lowerable {
  using type = Whole;
};
template <class Whole>
struct lowerable<false, Whole> {
  using type = sequential<>;
};

}  // namespace dsl::detail
