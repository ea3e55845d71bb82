// SPDX-License-Identifier: MIT
#pragma once

namespace dsl {

/// The release, as in CMakeLists.txt. Files record it as their writer.
inline constexpr char const* version = "0.1.0";

}  // namespace dsl
