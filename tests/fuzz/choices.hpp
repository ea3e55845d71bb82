// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <iterator>
#include <limits>
#include <string>
#include <string_view>

namespace dsl::fuzz {

/// Numbers made from bytes, as long as there are any; then zeros.
class choices {
 public:
  explicit choices(std::string_view bytes) : rest_(bytes) {}

  std::uint8_t byte() {
    if (rest_.empty()) return 0;
    auto const b = static_cast<std::uint8_t>(rest_.front());
    rest_.remove_prefix(1);
    return b;
  }
  bool done() const { return rest_.empty(); }
  bool flag() { return byte() % 2 == 1; }
  std::uint64_t word() {
    std::uint64_t w = 0;
    for (int i = 0; i < 8; ++i) w = w << 8 | byte();
    return w;
  }
  /// An ordinary number, one at a limit, or any bits at all.
  double number() {
    constexpr double limit = std::numeric_limits<double>::max(), none = std::numeric_limits<double>::quiet_NaN();
    constexpr double known[] = {0.1,  0.9, 0.01, 0,       -0.0,  1,      -1,   0.5,
                                1e-7, 2,   1e30, -1e-300, limit, -limit, none, HUGE_VAL};
    std::uint8_t const b = byte();
    return b < std::size(known) ? known[b] : b < 250 ? b / 250.0 : std::bit_cast<double>(word());
  }
  int whole() {
    constexpr int known[] = {1, 2, 4, 0, -1, 3, std::numeric_limits<int>::max(), std::numeric_limits<int>::min()};
    std::uint8_t const b = byte();
    return b < std::size(known) ? known[b] : b < 128 ? b : static_cast<int>(static_cast<std::uint32_t>(word()));
  }
  std::string text() {
    std::string t(rest_.substr(0, rest_.find('\0')));
    rest_.remove_prefix(std::min(rest_.size(), t.size() + 1));
    return t;
  }

 private:
  std::string_view rest_;
};

}  // namespace dsl::fuzz
