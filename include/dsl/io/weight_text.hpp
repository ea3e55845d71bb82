// SPDX-License-Identifier: MIT
#pragma once

#include <dsl/detail/mode.hpp>

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace dsl::detail::TYPENET_MODE {

/// Returns text from a file in the form in which a message quotes it: at most 60 characters, with a question mark for
/// each character that is not printable ASCII.
std::string shown(std::string_view text);
/// Returns a shape as text: {96, 3, 3, 3} -> "[96, 3, 3, 3]".
std::string shown(std::vector<std::uint64_t> const& shape);

}  // namespace dsl::detail::TYPENET_MODE

#ifdef TYPENET_DEFINITIONS
#include <dsl/io/weight_text_inl.hpp>
#endif
