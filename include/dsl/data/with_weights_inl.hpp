// SPDX-License-Identifier: MIT
#pragma once

#include <dsl/data/dataset.hpp>
#include <dsl/data/in_memory.hpp>
#include <dsl/data/sample_stream.hpp>
#include <dsl/data/with_weights.hpp>
#include <dsl/detail/message.hpp>
#include <dsl/detail/mode.hpp>
#include <dsl/error.hpp>

#include <cstddef>
#include <memory>
#include <utility>
#include <vector>

namespace dsl::TYPENET_MODE {

TYPENET_INLINE dataset with_weights(dataset data, std::vector<float> weights) {
  detail::require_no_stream(data, "with_weights");
  detail::require_numbers(weights, data.size, 1, "weights");
  for (std::size_t i = 0; i < weights.size(); ++i)
    if (weights[i] < 0)
      detail::throw_error<data_error>({"dataset: a sample's weight must be 0 or more; found ",
                                       static_cast<double>(weights[i]), " for sample ", static_cast<long long>(i),
                                       "; correct it or leave the sample out"});
  auto const owner = std::make_shared<std::vector<float> const>(std::move(weights));
  data.weights = {owner, owner->data()};
  return data;
}

}  // namespace dsl::TYPENET_MODE
