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

TYPENET_INLINE void require_probabilities(graph_view const& g, loss l) {
  if (l == loss::binary_crossentropy && !gives_shares(g)) {
    name const found = g.scopes[last_of(g).scope].name;
    throw_error<option_error>(
        {"loss: binary_crossentropy takes outputs of 0 to 1, of a network that ends in sigmoid; found ",
         std::string(found.data, static_cast<std::size_t>(found.size)),
         " at its end; add sigmoid, or give compile() the loss mean_squared_error"});
  }
  if (l != loss::categorical_crossentropy || gives_probabilities(g)) return;
  name const found = g.scopes[last_of(g).scope].name;
  throw_error<option_error>(
      {"loss: categorical_crossentropy takes probabilities, of a network that ends in softmax; found ",
       std::string(found.data, static_cast<std::size_t>(found.size)),
       " at its end; add softmax, or give compile() the loss mean_squared_error"});
}

}  // namespace dsl::detail::TYPENET_MODE
