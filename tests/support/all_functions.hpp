// SPDX-License-Identifier: MIT
#pragma once

#include <dsl/layers/activation.hpp>
#include <dsl/operations/table.hpp>

#include <iterator>
#include <utility>
#include <vector>

namespace dsl::test {

/// Returns every elementwise function that a layer can have, from the table of their facts.
inline std::vector<function> all_functions() {
  std::vector<function> all;
  for (std::size_t i = 0; i < std::size(operations::activations); ++i) all.push_back(static_cast<function>(i));
  return all;
}

/// The layer of function number `Number`, with an alpha of 0.3 if the function has one.
template <int Number>
using activation_layer =
    detail::activation<static_cast<function>(Number),
                       contains(operations::activations[Number].options, operations::options::slope) ? 0.3 : 0.0>;

/// Calls f.operator()<Number>() for every function.
template <class F>
void for_each_function(F const& f) {
  [&]<int... Numbers>(std::integer_sequence<int, Numbers...>) {
    (f.template operator()<Numbers>(), ...);
  }(std::make_integer_sequence<int, std::size(operations::activations)>{});
}

}  // namespace dsl::test
