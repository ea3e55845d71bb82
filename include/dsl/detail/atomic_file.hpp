// SPDX-License-Identifier: MIT
#pragma once

#include <dsl/error.hpp>
#include <dsl/warning.hpp>

#include <cerrno>
#include <cstddef>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>

#include <dirent.h>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

namespace dsl {

/// A file that gets its name when it is whole: written beside it, synced, renamed by commit(), which syncs the folder,
/// too, so that neither the file nor its name is lost when the power is. Without a commit nothing is left, and whatever
/// had the name before keeps it. `kind` opens every message. What a process that was killed has left beside that name,
/// the next one that writes there removes.
///   atomic_file file("runs/history.csv", "history");  file.write(text);  file.commit();
class atomic_file {
 public:
  atomic_file(std::string path, char const* kind) : path_(std::move(path)), kind_(kind) {
    struct stat status{};
    if (path_.empty()) fail("an empty name", "give a file name");
    bool const replaces = ::stat(path_.c_str(), &status) == 0;
    if (replaces) {
      if (!S_ISREG(status.st_mode))
        fail(S_ISDIR(status.st_mode) ? "a directory" : "something that is not a regular file", "give a file name");
      // A rename asks the folder alone; who has taken a file's write permission away wants to keep it, from root, too.
      bool const denied = ::faccessat(AT_FDCWD, path_.c_str(), W_OK, AT_EACCESS) != 0 && errno == EACCES;
      if ((status.st_mode & 0222) == 0 || denied)
        fail("a file that is read-only", "make it writable, or give another path");
    }
    // Who may read the old one may read the new one, and nobody else.
    mode_t const permissions = replaces ? status.st_mode & 0777 : 0666;
    remove_stale();
    for (int attempt = 0; descriptor_ < 0 && attempt < 100; ++attempt) {
      temporary_ = path_ + "." + std::to_string(::getpid()) + "-" + std::to_string(attempt).append(temporary_end);
      descriptor_ = ::open(temporary_.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, permissions);
      if (descriptor_ < 0 && errno != EEXIST) break;
      // One that is locked has a writer. Another process may have taken this for a stale one before it was.
      if (descriptor_ >= 0 && !lock(descriptor_, temporary_)) ::close(std::exchange(descriptor_, -1));
    }
    if (descriptor_ < 0) {
      int const code = errno;
      fail(reason(code), code == ENOENT ? "make the directory first, or give another path"
                                        : "give a path in a directory that you may write to");
    }
    if (replaces) ::fchmod(descriptor_, permissions);  // what umask has taken away
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
    commit_unsynced();
    sync_folder();
  }
  /// For what is made again where it is lost: waits for no disk.
  void commit_unsynced() {
    if (::rename(temporary_.c_str(), path_.c_str()) != 0) fail(reason(errno), "give another path");
    temporary_.clear();
  }
  /// Under another name in the same folder: where readers look at every file whose name begins as that one.
  void commit_as(std::string path) {
    path_ = std::move(path);
    commit();
  }

  /// For another process to write to; readable as well.
  int descriptor() const { return descriptor_; }
  std::string const& path() const { return path_; }

 private:
  static constexpr std::string_view temporary_end = ".tmp";

  /// Whether the file at `path`, which this descriptor opened, is ours now, and still has that name. Where the file
  /// system knows no locks nobody removes what others write.
  static bool lock(int descriptor, std::string const& path) {
    if (::flock(descriptor, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK) return false;
    struct stat open{}, named{};
    return ::fstat(descriptor, &open) == 0 && ::stat(path.c_str(), &named) == 0 && open.st_ino == named.st_ino &&
           open.st_dev == named.st_dev;
  }
  /// Whether `rest`, what follows the path in a file's name, is as the constructor makes it: ".4711-0.tmp".
  static bool is_temporary(std::string_view rest) {
    if (!rest.starts_with('.') || !rest.ends_with(temporary_end)) return false;
    rest = rest.substr(1, rest.size() - 1 - temporary_end.size());
    std::size_t const dash = rest.find('-');
    return dash != 0 && dash != rest.npos && dash + 1 < rest.size() &&
           rest.substr(0, dash).find_first_not_of("0123456789") == rest.npos &&
           rest.substr(dash + 1).find_first_not_of("0123456789") == rest.npos;
  }
  /// With its slash; empty: the working directory.
  std::string folder_of_path() const { return path_.substr(0, path_.rfind('/') + 1); }
  /// The file has its name by now, whole, so nothing here is an error; a disk that did not take it is a warning. There
  /// are file systems that sync no folder, and folders that may be written to and not read.
  void sync_folder() {
    std::string const folder = folder_of_path();
    int const descriptor = ::open(folder.empty() ? "." : folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (descriptor < 0) return;
    int const code = ::fsync(descriptor) == 0 ? 0 : errno;
    ::close(descriptor);
    if (code == EIO || code == ENOSPC || code == EDQUOT)
      on_warning((std::string(kind_) + ": " + path_ + " is written, but its folder could not be synced: " +
                  reason(code) + "; it may be lost with the power")
                     .c_str());
  }
  void remove_stale() const {
    std::string const folder = folder_of_path();
    std::string_view const name = std::string_view(path_).substr(folder.size());
    DIR* const all = ::opendir(folder.empty() ? "." : folder.c_str());
    while (dirent const* const entry = all ? ::readdir(all) : nullptr) {
      std::string_view const found = entry->d_name;
      if (!found.starts_with(name) || !is_temporary(found.substr(name.size()))) continue;
      std::string const stale = folder + entry->d_name;
      int const descriptor = ::open(stale.c_str(), O_RDWR | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
      if (descriptor < 0) continue;
      if (::flock(descriptor, LOCK_EX | LOCK_NB) == 0 && lock(descriptor, stale)) ::unlink(stale.c_str());
      ::close(descriptor);
    }
    if (all) ::closedir(all);
  }
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
