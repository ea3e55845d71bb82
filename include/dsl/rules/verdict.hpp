// SPDX-License-Identifier: MIT
#pragma once

#include <dsl/shape.hpp>

namespace dsl {

/// Everything a network can get wrong, each with one sentence in rules/broken.hpp.
enum class rule : unsigned char {
  holds,
  network_starts_with_an_input,
  network_has_a_layer,
  children_are_layers,
  image_has_positive_size,
  tensor_fits_32_bits,
  parameter_fits_32_bits,
  filters_are_positive,
  kernel_is_positive,
  stride_is_positive,
  kernel_fits_padded_input,
  pool_window_is_positive,
  pool_window_fits_input,
  pool_window_fits_16_bits,
  epsilon_is_positive,
  momentum_keeps_less_than_all,
  dropout_rate_is_a_probability,
  dense_takes_a_flat_input,
  units_are_positive,
  softmax_takes_a_flat_input,
  concat_joins_two_or_more,
  branches_share_height_and_width,
  add_joins_two_or_more,
  branches_share_their_shape,
  slope_is_not_negative,
  own_rule,
};

inline constexpr int deepest_layer = 24;

/// The first broken rule of a network: where (child indices from the network down), and the numbers of its sentence.
struct verdict {
  rule broken = rule::holds;
  int depth = 0;
  int path[deepest_layer] = {};
  shape first{};
  shape second{};
  long long wanted = 0;
  long long found = 0;
  double number = 0;

  constexpr bool holds() const { return broken == rule::holds; }
};

}  // namespace dsl
