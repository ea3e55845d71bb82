// SPDX-License-Identifier: MIT
#pragma once

namespace dsl {

/// As in CMakeLists.txt: for files that say what wrote them.
inline constexpr char const* version = "0.1.0";

}  // namespace dsl
