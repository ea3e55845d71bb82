// SPDX-License-Identifier: MIT
#pragma once

#include <dsl/detail/mode.hpp>

#include <climits>
#include <cstdlib>
#include <string>
#include <string_view>

#include <sys/stat.h>
#include <unistd.h>

namespace dsl::detail::TYPENET_MODE {

/// Returns why a text cannot be the name of a file, or null if it can. The system would end a name at a NUL byte, and
/// use another file.
constexpr char const* wrong_file_name(std::string_view path) {
  if (path.empty()) return "its name is empty";
  return path.find('\0') != path.npos ? "its name has a NUL byte after that" : nullptr;
}

/// Whether a path is a symbolic link of /dev or /proc, such as /dev/stdout, or a link to one. Renaming a file over such
/// a link would replace the system's link, not write to its target.
inline bool leads_into_system(std::string path) {
  struct stat status{};
  for (int links = 0; links < 40 && ::lstat(path.c_str(), &status) == 0 && S_ISLNK(status.st_mode); ++links) {
    std::size_t const slash = path.rfind('/');
    char folder[PATH_MAX], target[PATH_MAX];
    if (!::realpath(slash == path.npos ? "." : path.substr(0, slash + 1).c_str(), folder)) return false;
    std::string const in = std::string(folder) + "/";
    if (in.starts_with("/proc/") || (in.starts_with("/dev/") && !in.starts_with("/dev/shm/"))) return true;
    auto const size = ::readlink(path.c_str(), target, sizeof target);
    if (size <= 0) return false;
    std::string const to(target, static_cast<std::size_t>(size));
    path = to.starts_with('/') ? to : in + to;
  }
  return false;
}

}  // namespace dsl::detail::TYPENET_MODE
