// SPDX-License-Identifier: MIT
#pragma once

#include <dsl/detail/mode.hpp>
#include <dsl/detail/printable.hpp>
#include <dsl/detail/utf8.hpp>
#include <dsl/text/confusion_table.hpp>
#include <dsl/training/confusion_matrix.hpp>

#include <algorithm>
#include <cstddef>
#include <string>
#include <vector>
#include <fmt/core.h>

namespace dsl::TYPENET_MODE {

TYPENET_INLINE std::string confusion_table(confusion_matrix const& m) {
  std::string const corner = "label \\ predicted", below = "precision", behind = "recall";
  std::vector<std::string> names;
  for (std::string const& name : m.class_names()) names.push_back(detail::printable(detail::without_controls(name)));
  // Widths count characters, not bytes.
  auto const length = [](std::string const& s) {
    return static_cast<std::size_t>(std::count_if(s.begin(), s.end(), [](char c) { return (c & 0xc0) != 0x80; }));
  };
  auto const padded = [&](std::string const& s, std::size_t width, bool right) {
    std::string const blanks(width > length(s) ? width - length(s) : 0, ' ');
    return right ? blanks + s : s + blanks;
  };
  std::size_t first = corner.size();
  for (std::string const& name : names) first = std::max(first, length(name));
  std::vector<std::size_t> widths;
  for (int c = 0; c < m.classes(); ++c) {
    std::size_t width = std::max<std::size_t>(length(names[static_cast<std::size_t>(c)]), 4);
    for (int label = 0; label < m.classes(); ++label)
      width = std::max(width, fmt::format("{}", m.count(label, c)).size());
    widths.push_back(width);
  }
  std::string text = padded(corner, first, false);
  for (std::size_t c = 0; c < names.size(); ++c) text += "  " + padded(names[c], widths[c], true);
  text += "  " + behind + "\n";
  for (int label = 0; label < m.classes(); ++label) {
    text += padded(names[static_cast<std::size_t>(label)], first, false);
    for (int c = 0; c < m.classes(); ++c)
      text += "  " + fmt::format("{:>{}}", m.count(label, c), widths[static_cast<std::size_t>(c)]);
    text += fmt::format("  {:.4f}\n", m.recall(label));
  }
  text += padded(below, first, false);
  for (int c = 0; c < m.classes(); ++c)
    text += "  " + fmt::format("{:>{}.2f}", m.precision(c), widths[static_cast<std::size_t>(c)]);
  return text + fmt::format("\naccuracy {:.4f} of {} {}\n", m.accuracy(), m.samples(),
                            m.counts_pixels() ? "pixels" : "samples");
}

}  // namespace dsl::TYPENET_MODE
