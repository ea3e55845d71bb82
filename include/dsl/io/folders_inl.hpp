// SPDX-License-Identifier: MIT
#pragma once

#include <dsl/files/file_name.hpp>
#include <dsl/detail/message.hpp>
#include <dsl/detail/mode.hpp>
#include <dsl/error.hpp>
#include <dsl/io/folders.hpp>

#include <cerrno>
#include <string>
#include <system_error>
#include <sys/stat.h>

namespace dsl::detail::TYPENET_MODE {

TYPENET_INLINE void make_folders(std::string const& path, char const* kind) {
  if (char const* const wrong = wrong_file_name(path); wrong && !path.empty())
    throw file_error(message({kind, ": ", path.c_str(), ": ", wrong, "; give another path"}));
  for (std::size_t slash = path.find('/', 1); slash != path.npos; slash = path.find('/', slash + 1)) {
    std::string const folder = path.substr(0, slash);
    if (::mkdir(folder.c_str(), 0777) == 0 || errno == EEXIST) continue;
    int const code = errno;
    struct stat status{};
    if (::stat(folder.c_str(), &status) == 0) continue;  // also on a read-only file system
    throw file_error(message({kind, ": the folder ", folder,
                              " cannot be created: ", std::generic_category().message(code), "; give another path"}));
  }
}

}  // namespace dsl::detail::TYPENET_MODE
