// SPDX-License-Identifier: MIT
#pragma once

#include <dsl/shape.hpp>

#include <cmath>
#include <string>

#include <fmt/core.h>

namespace dsl::text {

/// As Keras prints a metric: 0.0340 -> "0.0340", 0.001 -> "1.0000e-03", 0 -> "0.0000e+00".
inline std::string metric(double value) {
  return std::abs(value) > 1e-3 || std::isnan(value) ? fmt::format("{:.4f}", value) : fmt::format("{:.4e}", value);
}

/// 1656250 -> "1,656,250".
inline std::string thousands(long long n) {
  std::string digits = fmt::format("{}", n);
  for (auto at = static_cast<int>(digits.size()) - 3; at > (n < 0 ? 1 : 0); at -= 3)
    digits.insert(static_cast<std::size_t>(at), ",");
  return digits;
}

/// 260046848 -> "248.0 MiB".
inline std::string bytes(long long n) {
  double value = static_cast<double>(n);
  char const* unit = "B";
  for (char const* larger : {"KiB", "MiB", "GiB", "TiB"})
    if (value >= 1024) value /= 1024, unit = larger;
  return fmt::format("{:.{}f} {}", value, *unit == 'B' ? 0 : 1, unit);
}

/// "96x32x32"; one pixel per channel is flat: "10".
inline std::string shape(dsl::shape const& s) {
  return s.area() == 1 ? fmt::format("{}", s.channels) : fmt::format("{}x{}x{}", s.channels, s.height, s.width);
}

/// 9 -> "9s", 75 -> "1:15", 3725 -> "1:02:05".
inline std::string duration(double seconds) {
  constexpr double most = 1e15;  // of any length: a long long
  auto const s = static_cast<long long>(seconds > most ? most : seconds > 0 ? seconds : 0);
  if (s < 60) return fmt::format("{}s", s);
  if (s < 3600) return fmt::format("{}:{:02}", s / 60, s % 60);
  return fmt::format("{}:{:02}:{:02}", s / 3600, s / 60 % 60, s % 60);
}

/// 1.5 -> "2s/step", 0.1184 -> "118ms/step", 0.0004 -> "400us/step".
inline std::string step_time(double seconds) {
  return seconds >= 1      ? fmt::format("{:.0f}s/step", seconds)
         : seconds >= 1e-3 ? fmt::format("{:.0f}ms/step", seconds * 1e3)
                           : fmt::format("{:.0f}us/step", seconds * 1e6);
}

}  // namespace dsl::text
