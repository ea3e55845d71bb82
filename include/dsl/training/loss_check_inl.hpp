// SPDX-License-Identifier: MIT
#pragma once

#include <dsl/detail/message.hpp>
#include <dsl/detail/mode.hpp>
#include <dsl/error.hpp>
#include <dsl/plan/plan.hpp>
#include <dsl/rules/broken.hpp>
#include <dsl/training/loss_check.hpp>

#include <string>

namespace dsl::detail::TYPENET_MODE {

TYPENET_INLINE void require_probabilities(graph_view const& g, per_output<loss> const& l) {
  int const k = first_unsuitable(g, l);
  if (k < 0) return;
  auto const text = [](name const& n) { return std::string(n.data, static_cast<std::size_t>(n.size)); };
  bool const binary = l[k] == loss::binary_crossentropy;
  throw_error<option_error>(
      {"loss: ",
       binary ? "binary_crossentropy takes outputs from 0 to 1, so the network must end in sigmoid; found "
              : "categorical_crossentropy takes probabilities, so the network must end in softmax; found ",
       text(g.scopes[last_of(g, k).scope].name), " at ",
       k == 0 ? "its end" : "the end of output " + text(g.scopes[g.nodes[output_node(g, k)].further_output].name),
       "; add ", binary ? "sigmoid" : "softmax", ", or give compile() the loss mean_squared_error"});
}

}  // namespace dsl::detail::TYPENET_MODE
