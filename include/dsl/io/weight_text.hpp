// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace dsl::detail {

/// For messages, which a file must be able neither to fill nor to disturb.
[[gnu::cold]] inline std::string shown(std::string_view text) {
  std::string all;
  for (char c : text.substr(0, 60)) all += c >= 0x20 && c < 0x7f ? c : '?';
  return '"' + all + (text.size() > 60 ? "...\"" : "\"");
}
/// {96, 3, 3, 3} -> "[96, 3, 3, 3]"
[[gnu::cold]] inline std::string shown(std::vector<std::uint64_t> const& shape) {
  std::string all = "[";
  for (std::size_t i = 0; i < shape.size(); ++i) all += (i > 0 ? ", " : "") + std::to_string(shape[i]);
  return all + "]";
}

}  // namespace dsl::detail
