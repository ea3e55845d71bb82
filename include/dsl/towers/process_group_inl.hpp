// SPDX-License-Identifier: MIT
#pragma once

#include <dsl/detail/list.hpp>
#include <dsl/detail/message.hpp>
#include <dsl/detail/mode.hpp>
#include <dsl/error.hpp>
#include <dsl/towers/process_group.hpp>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>

namespace dsl::TYPENET_MODE {

TYPENET_INLINE void process_group::agree(char const* what, double value) {
  detail::list<double> all(processes());
  gather(what, value, all.begin());
  for (int q = 1; q < processes(); ++q) require_same(what, q, all[q], all[0]);
}

TYPENET_INLINE void process_group::require_same(char const* what, int q, double found, double first) {
  if (__builtin_bit_cast(std::uint64_t, found) != __builtin_bit_cast(std::uint64_t, first))  // compares NaN, too
    differ(what, q, detail::message({": ", number(found), " and ", number(first)}));
}

TYPENET_INLINE void process_group::agree_on_fingerprint(char const* what, std::uint64_t value) {
  detail::list<std::uint64_t> all(processes());
  gather(what, value, all.begin());
  for (int q = 1; q < processes(); ++q)
    if (all[q] != all[0]) differ(what, q, "");
}

TYPENET_INLINE void process_group::broadcast(char const* what, std::string& text) {
  detail::list<long long> sizes(processes());
  gather(what, static_cast<long long>(text.size()), sizes.begin());
  text.resize(static_cast<std::size_t>(sizes[0]));
  detail::list<process_message> out(processes()), in(processes());
  for (int q = 0; q < processes() && process() == 0; ++q) out[q] = {text.data(), sizes[0]};
  in[0] = {text.data(), sizes[0]};
  exchange(what, out.begin(), in.begin());
}

TYPENET_INLINE std::string process_group::number(double v) {
  char text[32];
  for (int const digits : {9, 17}) {  // the fewest that round-trip
    std::snprintf(text, sizeof text, "%.*g", digits, v);
    if (std::strtod(text, nullptr) == v) break;
  }
  return text;
}

TYPENET_INLINE void process_group::differ(char const* what, int q, std::string const& found) {
  throw executor_error(detail::message({"processes: rank ", q, " and rank 0 differ in ", what, found,
                                        "; start all of them with the same program, options and data"}));
}

}  // namespace dsl::TYPENET_MODE
