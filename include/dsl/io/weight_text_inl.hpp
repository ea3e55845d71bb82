// SPDX-License-Identifier: MIT
#pragma once

#include <dsl/detail/mode.hpp>
#include <dsl/io/weight_text.hpp>

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace dsl::detail::TYPENET_MODE {

TYPENET_INLINE std::string shown(std::string_view text) {
  std::string all;
  for (char c : text.substr(0, 60)) all += c >= 0x20 && c < 0x7f ? c : '?';
  return '"' + all + (text.size() > 60 ? "...\"" : "\"");
}

TYPENET_INLINE std::string shown(std::vector<std::uint64_t> const& shape) {
  std::string all = "[";
  for (std::size_t i = 0; i < shape.size(); ++i) all += (i > 0 ? ", " : "") + std::to_string(shape[i]);
  return all + "]";
}

}  // namespace dsl::detail::TYPENET_MODE
