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

/// Creates the missing folders of a file's path. Throws file_error, whose message begins with `kind`.
void make_folders(std::string const& path, char const* kind);

/// Calls write() for a callback during training. If write() throws, warns once, and the training continues; only the
/// error of a failed device is rethrown. Returns whether write() succeeded.
template <class F>
bool write_or_warn(bool& warned, F write) {
  try {
    write();
    return true;
  } catch (executor_error const&) {
    throw;
  } catch (std::exception const& e) {  // a custom writer may throw anything
    if (!std::exchange(warned, true))
      on_warning(message({e.what(), "; the training continues and will try again"}).c_str());
    return false;
  }
}

}  // namespace dsl::detail::TYPENET_MODE

#ifdef TYPENET_DEFINITIONS
#include <dsl/io/folders_inl.hpp>
#endif
