// SPDX-License-Identifier: MIT
#pragma once

#include <dsl/error.hpp>

#include <filesystem>
#include <string>
#include <system_error>

/// Throws option_error if a program would replace a file, a folder or a link. Programs call it before they begin,
/// unless the user has given --force.
inline void refuse_existing(std::string const& path,
                            char const* advice = "give another name, or --force to replace it") {
  std::error_code unknown;  // for a file that does not exist
  if (std::filesystem::exists(std::filesystem::symlink_status(path, unknown)))
    throw dsl::option_error(path + ": it must not exist, since it would be replaced; found a file of this name; " +
                            advice);
}
