// SPDX-License-Identifier: MIT
#pragma once

#include <dsl/detail/mode.hpp>
#include <dsl/formats/row.hpp>

namespace dsl::formats::TYPENET_MODE {

/// Returns for each channel of a flat tensor, (channels, height, width) in typenet, its place in (height, width,
/// channels).
inline keras_channels::order flattened_order(keras_channels const& all, node const& n) {
  shape const& in = all.graph().input_shape(n);
  keras_channels::order const& before = all.of_input(n);
  auto const pixels = static_cast<int>(in.area());
  if (pixels == 1) return before;
  keras_channels::order order(static_cast<std::size_t>(in.size()));
  std::size_t next = 0;
  for (int c = 0; c < in.channels; ++c)
    for (int p = 0; p < pixels; ++p) order[next++] = p * in.channels + keras_channels::at(before, c);
  return order;
}

template <>
inline constexpr row row_for<op::flatten>{.order = flattened_order};

}  // namespace dsl::formats::TYPENET_MODE
