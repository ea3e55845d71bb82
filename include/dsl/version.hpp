// SPDX-License-Identifier: MIT
#pragma once

namespace dsl {

/// The version, major.minor.patch. docs/versions.md states what the numbers promise. Files record the version as their
/// writer.
inline constexpr char const* version = "0.2.0";

}  // namespace dsl
