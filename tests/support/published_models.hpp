// SPDX-License-Identifier: MIT
#pragma once

#include <dsl/language.hpp>
#include <dsl/models.hpp>

namespace dsl::test {

template <class Model>
using on_pictures = network<image<3, 224, 224>, Model>;

template <class Model>
inline constexpr long long parameters_of = on_pictures<Model>::trainable_parameter_count;

/// Returns the rate of the network's last stochastic_depth.
constexpr double rate_of_last_path(graph_view const& g) {
  double rate = 0;
  for (int n = 0; n < g.size.nodes; ++n)
    if (g.nodes[n].kind == op::stochastic_depth) rate = g.nodes[n].rate;
  return rate;
}

}  // namespace dsl::test
