// SPDX-License-Identifier: MIT
#pragma once

#include <dsl/detail/mode.hpp>
#include <dsl/shape.hpp>
#include <dsl/text/format.hpp>

#include <cmath>
#include <string>
#include <fmt/core.h>

namespace dsl::text::TYPENET_MODE {

TYPENET_INLINE std::string metric(double value) {
  return std::abs(value) > 1e-3 || std::isnan(value) ? fmt::format("{:.4f}", value) : fmt::format("{:.4e}", value);
}

TYPENET_INLINE std::string thousands(long long n) {
  std::string digits = fmt::format("{}", n);
  for (auto at = static_cast<int>(digits.size()) - 3; at > (n < 0 ? 1 : 0); at -= 3)
    digits.insert(static_cast<std::size_t>(at), ",");
  return digits;
}

TYPENET_INLINE std::string bytes(long long n) {
  double value = static_cast<double>(n);
  char const* unit = "B";
  for (char const* larger : {"KiB", "MiB", "GiB", "TiB"})
    if (value >= 1024) value /= 1024, unit = larger;
  return fmt::format("{:.{}f} {}", value, *unit == 'B' ? 0 : 1, unit);
}

TYPENET_INLINE std::string shape(dsl::shape const& s) {
  return s.area() == 1 ? fmt::format("{}", s.channels) : fmt::format("{}x{}x{}", s.channels, s.height, s.width);
}

TYPENET_INLINE std::string duration(double seconds) {
  constexpr double most = 1e15;  // fits a long long
  auto const s = static_cast<long long>(seconds > most ? most : seconds > 0 ? seconds : 0);
  if (s < 60) return fmt::format("{}s", s);
  if (s < 3600) return fmt::format("{}:{:02}", s / 60, s % 60);
  return fmt::format("{}:{:02}:{:02}", s / 3600, s / 60 % 60, s % 60);
}

TYPENET_INLINE std::string step_time(double seconds) {
  return seconds >= 1      ? fmt::format("{:.0f}s/step", seconds)
         : seconds >= 1e-3 ? fmt::format("{:.0f}ms/step", seconds * 1e3)
                           : fmt::format("{:.0f}us/step", seconds * 1e6);
}

}  // namespace dsl::text::TYPENET_MODE
