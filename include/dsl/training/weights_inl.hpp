// SPDX-License-Identifier: MIT
#pragma once

#include <dsl/detail/message.hpp>
#include <dsl/detail/mode.hpp>
#include <dsl/error.hpp>
#include <dsl/executors/engine.hpp>
#include <dsl/training/weights.hpp>

#include <vector>

namespace dsl::detail::TYPENET_MODE {

TYPENET_INLINE std::size_t count_weights(engine& e) {
  std::size_t count = 0;
  for (int k = 0; k < e.graph().size.parameters; ++k)
    count += static_cast<std::size_t>(e.graph().parameters[k].count());
  return count;
}

TYPENET_INLINE void require_weights(engine& e, std::vector<float> const& all) {
  if (std::size_t const count = count_weights(e); all.size() != count)
    throw option_error(message({"weights: there must be ", count, " numbers, as many as the network has; found ",
                                all.size(), "; use weights of the same network"}));
}

TYPENET_INLINE std::vector<float> read_weights(engine& e) {
  std::vector<float> all(count_weights(e));
  float* to = all.data();
  for (int k = 0; k < e.graph().size.parameters; to += e.graph().parameters[k++].count()) e.read_parameter(k, to);
  return all;
}

TYPENET_INLINE void write_weights(engine& e, std::vector<float> const& all) {
  require_weights(e, all);
  float const* from = all.data();
  for (int k = 0; k < e.graph().size.parameters; from += e.graph().parameters[k++].count()) e.write_parameter(k, from);
}

}  // namespace dsl::detail::TYPENET_MODE
