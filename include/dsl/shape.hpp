// SPDX-License-Identifier: MIT
#pragma once

namespace dsl {

/// The shape of one sample; the batch is never part of it. A flat vector of n numbers is shape{n}.
struct shape {
  int channels = 1;
  int height = 1;
  int width = 1;

  friend constexpr bool operator==(shape const&, shape const&) = default;

  /// Returns the elements of one sample, shape{96, 32, 32}.size() == 98'304, or the largest long long if there are
  /// more.
  constexpr long long size() const {
    constexpr long long most = 0x7fffffffffffffffLL;
    return area() > 0 && channels > most / area() ? most : channels * area();
  }
  /// Returns the pixels of one channel: shape{96, 32, 32}.area() == 1'024.
  constexpr long long area() const { return 1LL * height * width; }
  constexpr bool is_flat() const { return height == 1 && width == 1; }
};

/// Whether two shapes can be broadcast: their channels are equal or one of them is 1, and likewise their pixels.
constexpr bool broadcasts(shape const& a, shape const& b) {
  bool const channels = a.channels == b.channels || a.channels == 1 || b.channels == 1;
  return channels && ((a.height == b.height && a.width == b.width) || a.is_flat() || b.is_flat());
}
/// Returns the shape that both broadcast to: {64, 8, 8} and {64, 1, 1} -> {64, 8, 8}.
constexpr shape broadcast(shape const& a, shape const& b) {
  shape const& pixels = a.is_flat() ? b : a;
  return {a.channels > b.channels ? a.channels : b.channels, pixels.height, pixels.width};
}

namespace literals {
/// Binary units for budgets in static_assert: 256_MiB == 268'435'456.
consteval long long operator""_KiB(unsigned long long n) { return static_cast<long long>(n) << 10; }
consteval long long operator""_MiB(unsigned long long n) { return static_cast<long long>(n) << 20; }
consteval long long operator""_GiB(unsigned long long n) { return static_cast<long long>(n) << 30; }
}  // namespace literals
using namespace literals;

}  // namespace dsl
