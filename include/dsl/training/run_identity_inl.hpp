// SPDX-License-Identifier: MIT
#pragma once

#include <dsl/data/augment.hpp>
#include <dsl/data/dataset.hpp>
#include <dsl/detail/message.hpp>
#include <dsl/detail/mode.hpp>
#include <dsl/training/fingerprint.hpp>
#include <dsl/training/run_identity.hpp>

#include <cstdint>
#include <exception>
#include <string>
#include <vector>

namespace dsl::detail::TYPENET_MODE {

TYPENET_INLINE std::vector<run_property> const& run_identity::properties() {
  if (!found_.empty()) return found_;
  auto const hash = [](std::uint64_t of) {
    std::string digits = " (";
    for (int i = 28; i >= 0; i -= 4) digits += "0123456789abcdef"[of >> i & 15];
    return digits + ")";
  };
  auto const words = [&](dataset const& d) {
    return message({counted(d.size, "sample"), " of ", d.sample.channels, "x", d.sample.height, "x", d.sample.width}) +
           hash(fingerprint_of(d));
  };
  // An augmentation may change with the epochs, but it must not seem to change because this run has more of them.
  constexpr int epochs = 10'000;
  auto const policy = [&]() -> std::string {
    try {
      return hash(fingerprint_of(terms_.augment, terms_.data.sample, epochs));
    } catch (std::exception const&) {
      return " that ends";  // it draws nothing for so late an epoch
    }
  };
  found_ = {{"training data", words(terms_.data)},
            {"validation data", terms_.validation ? words(*terms_.validation) : "none"},
            {"augmentation", terms_.augment ? "a policy" + policy() : "none"},
            {"shuffling", terms_.shuffle ? "on" : "off"}};
  return found_;
}

}  // namespace dsl::detail::TYPENET_MODE
