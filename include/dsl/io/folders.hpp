// SPDX-License-Identifier: MIT
#pragma once

#include <dsl/detail/message.hpp>
#include <dsl/error.hpp>
#include <dsl/warning.hpp>

#include <cerrno>
#include <exception>
#include <string>
#include <system_error>
#include <utility>

#include <sys/stat.h>

namespace dsl::detail {

/// Makes the folders that a file's path goes through, where they are not there. Throws file_error; `kind` opens it.
[[gnu::cold]] inline void make_folders(std::string const& path, char const* kind) {
  for (std::size_t slash = path.find('/', 1); slash != path.npos; slash = path.find('/', slash + 1)) {
    std::string const folder = path.substr(0, slash);
    if (::mkdir(folder.c_str(), 0777) == 0 || errno == EEXIST) continue;
    int const code = errno;
    struct stat status{};
    if (::stat(folder.c_str(), &status) == 0) continue;  // of a file system that may only be read
    throw file_error(message({kind, ": the folder ", folder, " must be one that can be made; found ",
                              std::generic_category().message(code), "; give another path"}));
  }
}

/// What a callback writes while a training runs: where that fails, for whatever reason but the device's, it is said
/// once, and the training goes on. Whether it is written.
template <class F>
[[gnu::cold]] bool write_or_warn(bool& warned, F write) {
  try {
    write();
    return true;
  } catch (executor_error const&) {
    throw;
  } catch (std::exception const& e) {  // a writer of one's own throws what it likes
    if (!std::exchange(warned, true))
      on_warning(message({e.what(), "; training goes on, and tries again the next time"}).c_str());
    return false;
  }
}

}  // namespace dsl::detail
