// SPDX-License-Identifier: MIT
#pragma once

#include <dsl/detail/message.hpp>
#include <dsl/detail/mode.hpp>
#include <dsl/error.hpp>
#include <dsl/warning.hpp>

#include <cerrno>
#include <exception>
#include <string>
#include <utility>

#include <sys/stat.h>

namespace dsl::detail::TYPENET_MODE {

/// Makes the folders that a file's path goes through, where they are not there. Throws file_error; `kind` opens it.
[[gnu::cold]] void make_folders(std::string const& path, char const* kind);

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

}  // namespace dsl::detail::TYPENET_MODE

#ifndef TYPENET_COMPILED
#include <dsl/io/folders_inl.hpp>
#endif
