// SPDX-License-Identifier: MIT
#pragma once

#include <dsl/error.hpp>

#include <cerrno>
#include <cstddef>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

namespace dsl {

/// A file that gets its name when it is whole: written beside it, synced, renamed by commit(). Without a commit nothing
/// is left, and whatever had the name before keeps it. `kind` opens every message.
///   atomic_file file("runs/history.csv", "history");  file.write(text);  file.commit();
class atomic_file {
 public:
  atomic_file(std::string path, char const* kind) : path_(std::move(path)), kind_(kind) {
    struct stat status{};
    if (path_.empty()) fail("an empty name", "give a file name");
    if (::stat(path_.c_str(), &status) == 0 && !S_ISREG(status.st_mode))
      fail(S_ISDIR(status.st_mode) ? "a directory" : "something that is not a regular file", "give a file name");
    for (int attempt = 0; descriptor_ < 0 && attempt < 100; ++attempt) {
      temporary_ = path_ + "." + std::to_string(::getpid()) + "-" + std::to_string(attempt) + ".tmp";
      descriptor_ = ::open(temporary_.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
      if (descriptor_ < 0 && errno != EEXIST) break;
    }
    if (descriptor_ < 0) {
      int const code = errno;
      fail(reason(code), code == ENOENT ? "make the directory first, or give another path"
                                        : "give a path in a directory that you may write to");
    }
  }
  atomic_file(atomic_file const&) = delete;
  atomic_file& operator=(atomic_file const&) = delete;
  ~atomic_file() {
    if (descriptor_ >= 0) ::close(descriptor_);
    if (!temporary_.empty()) ::unlink(temporary_.c_str());
  }

  void write(std::string_view text) {
    while (!text.empty()) {
      ssize_t const n = ::write(descriptor_, text.data(), text.size());
      if (n < 0 && errno != EINTR) fail(reason(errno), "free some space, or give another path");
      if (n > 0) text.remove_prefix(static_cast<std::size_t>(n));
    }
  }
  void commit() {
    if (::fsync(descriptor_) != 0) fail(reason(errno), "free some space, or give another path");
    if (::rename(temporary_.c_str(), path_.c_str()) != 0) fail(reason(errno), "give another path");
    temporary_.clear();
  }

  /// For another process to write to; readable as well.
  int descriptor() const { return descriptor_; }
  std::string const& path() const { return path_; }

 private:
  static std::string reason(int code) { return std::generic_category().message(code); }
  [[noreturn]] void fail(std::string const& found, char const* advice) {
    // A constructor that throws is not followed by its destructor.
    if (descriptor_ >= 0) ::close(std::exchange(descriptor_, -1)), ::unlink(temporary_.c_str());
    temporary_.clear();
    throw file_error(std::string(kind_) + ": " + (path_.empty() ? "the path" : path_) +
                     " must be a file that can be written; found " + found + "; " + advice);
  }

  std::string path_;
  char const* kind_;
  std::string temporary_;
  int descriptor_ = -1;
};

/// Throws file_error where path can't be written, and leaves nothing: for before the work whose result goes there.
inline void check_writable(std::string const& path, char const* kind) { atomic_file const probe(path, kind); }

}  // namespace dsl
