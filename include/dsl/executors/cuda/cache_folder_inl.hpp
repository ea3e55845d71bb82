// SPDX-License-Identifier: MIT
#pragma once

#include <dsl/files/atomic_file.hpp>
#include <dsl/detail/mode.hpp>
#include <dsl/detail/shell_word.hpp>
#include <dsl/error.hpp>
#include <dsl/executors/cuda/cache_folder.hpp>
#include <dsl/warning.hpp>

#include <atomic>
#include <cstdlib>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

namespace dsl::cu::TYPENET_MODE {

TYPENET_INLINE std::string cache_folder() {
  if (char const* own = std::getenv("TYPENET_CACHE")) return own;
  // The XDG base directory specification says to ignore relative paths.
  if (char const* xdg = std::getenv("XDG_CACHE_HOME"); xdg && xdg[0] == '/') return std::string(xdg) + "/typenet";
  if (char const* home = std::getenv("HOME"); home && home[0] == '/') return std::string(home) + "/.cache/typenet";
  return {};
}

/// Whether the owner of a file or folder is this user or root.
inline bool has_own_owner(struct stat const& status) { return status.st_uid == ::geteuid() || status.st_uid == 0; }
inline bool others_may_write(struct stat const& status) { return (status.st_mode & 022) != 0; }

/// Whether only this user and root can have written what is in an open folder. Warns once if not.
TYPENET_INLINE bool is_own(int folder, std::string const& name) {
  static std::atomic<bool> warned{false};
  struct stat status{};
  if (::fstat(folder, &status) != 0) return false;
  bool const own = has_own_owner(status);
  if (own && !others_may_write(status)) return true;
  if (!warned.exchange(true))
    on_warning(("cache: " + name + (own ? " may be written to by other users" : " belongs to another user") +
                ", and has code that would run; it is not used; " +
                (own ? "enter: chmod go-w " + detail::shell_path(name) : "set TYPENET_CACHE to a folder of your own"))
                   .c_str());
  return false;
}

TYPENET_INLINE std::optional<std::string> read_cached(std::string const& folder, std::string const& name) {
  if (folder.empty()) return std::nullopt;
  int const in = ::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (in < 0) return std::nullopt;
  // O_NONBLOCK: if the name is a pipe, do not wait for a writer.
  int const flags = O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOFOLLOW;
  int const file = is_own(in, folder) ? ::openat(in, name.c_str(), flags) : -1;
  ::close(in);
  if (file < 0) return std::nullopt;
  struct stat status{};
  bool good = ::fstat(file, &status) == 0 && S_ISREG(status.st_mode) && status.st_size <= (256LL << 20) &&
              has_own_owner(status) && !others_may_write(status);
  std::string bytes;
  if (good) bytes.resize(static_cast<std::size_t>(status.st_size));
  for (std::size_t at = 0; good && at < bytes.size();) {
    ssize_t const n = ::read(file, bytes.data() + at, bytes.size() - at);
    if (n < 0 && errno == EINTR) continue;
    good = n > 0;
    if (good) at += static_cast<std::size_t>(n);
  }
  ::close(file);
  return good ? std::optional(std::move(bytes)) : std::nullopt;
}

TYPENET_INLINE bool write_cached(std::string const& folder, std::string const& name, std::string_view bytes) {
  if (folder.empty()) return false;
  for (std::size_t end = folder.find('/', 1); end != std::string::npos; end = folder.find('/', end + 1))
    ::mkdir(folder.substr(0, end).c_str(), 0700);  // if this fails, so does writing the file
  ::mkdir(folder.c_str(), 0700);
  int const in = ::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  bool const own = in >= 0 && is_own(in, folder);
  if (in >= 0) ::close(in);
  if (!own) return false;
  try {
    atomic_file file(folder + "/" + name, "cache");
    file.write(bytes);
    file.commit_unsynced();
    return ::chmod((folder + "/" + name).c_str(), 0600) == 0;  // read_cached refuses what others may write to
  } catch (file_error const&) {
    return false;
  }
}

}  // namespace dsl::cu::TYPENET_MODE
