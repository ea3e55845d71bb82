// SPDX-License-Identifier: MIT
#pragma once

#include <dsl/files/file_name.hpp>
#include <dsl/detail/mode.hpp>
#include <dsl/error.hpp>

#include <cerrno>
#include <cstddef>
#include <string>
#include <string_view>
#include <system_error>

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

namespace dsl::detail::TYPENET_MODE {

/// Closes a file descriptor at its end, also if the constructor of the object that it belongs to throws.
class open_file {
 public:
  open_file() = default;
  open_file(open_file const&) = delete;
  open_file& operator=(open_file const&) = delete;
  ~open_file() { reset(-1); }
  void reset(int descriptor) {
    if (descriptor_ >= 0) ::close(descriptor_);
    descriptor_ = descriptor;
  }
  int get() const { return descriptor_; }

 private:
  int descriptor_ = -1;
};

/// Returns the descriptor or, if it is 0 to 2 because the program was started without that standard stream, a duplicate
/// above 2: otherwise printed text would go into the file.
inline int beside_standard_streams(int descriptor) {
  if (descriptor < 0 || descriptor > 2) return descriptor;
  int const other = ::fcntl(descriptor, F_DUPFD_CLOEXEC, 3);
  int const code = errno;
  ::close(descriptor);
  errno = code;
  return other;
}

/// Whether `path` is the name of the file that this descriptor opened.
inline bool is_named(int descriptor, std::string const& path) {
  struct stat open{}, named{};
  return ::fstat(descriptor, &open) == 0 && ::stat(path.c_str(), &named) == 0 && open.st_ino == named.st_ino &&
         open.st_dev == named.st_dev;
}

/// Locks the file that was opened as `path`. Returns false if another process, or another descriptor of this one, holds
/// the lock, and if the file has lost its name meanwhile. On a file system without locks, the lock is always free.
inline bool lock_named_file(int descriptor, std::string const& path) {
  if (::flock(descriptor, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK) return false;
  return is_named(descriptor, path);
}

}  // namespace dsl::detail::TYPENET_MODE

namespace dsl::TYPENET_MODE {

/// Reserves a name for one writer for the lifetime of the object, by locking PATH.lock. Another writer gets a
/// file_error that names the process holding it. The kernel releases the lock however that process ends; the next one
/// takes over the file left behind. It uses flock(): on NFS this locks on the server, which other machines see, unless
/// the mount says nolock or local_lock. On a file system without locks, no writer is refused.
///   file_lock const mine("run.png", "plot");
class file_lock {
 public:
  /// Throws file_error if another writer holds the lock. `kind` begins every message. If `path`.lock exists and is not
  /// a lock, it is refused and left as it is.
  file_lock(std::string const& path, char const* kind) : path_(path + ".lock"), owner_(::getpid()) {
    auto const fail = [&](std::string const& found) {
      throw file_error(std::string(kind) + ": " + path_ +
                       ", which is locked while a run writes the file, must be a lock file or not exist; found " +
                       found + "; remove it, or give another path");
    };
    if (char const* const wrong = detail::wrong_file_name(path))
      throw file_error(std::string(kind) + ": cannot lock " + (path.empty() ? "the file" : path.c_str()) + ": " +
                       wrong + "; give a file name");
    auto const fail_to_open = [&](int code) {
      if (code == ELOOP) fail("a link");
      if (code == EISDIR) fail("a folder");
      throw file_error(std::string(kind) + ": cannot open " + path_ + ", which a run locks while it writes " + path +
                       ": " + std::generic_category().message(code) +
                       (code == EMFILE || code == ENFILE   ? "; raise the limit of open files"
                        : code == ENOSPC || code == EDQUOT ? "; free some space, or give another path"
                                                           : "; give a path in an existing, writable folder"));
    };
    char host[256] = {};
    ::gethostname(host, sizeof host - 1);
    // Before locking: while the lock is held, nothing may throw, since the file would stay.
    std::string const mine = begin + std::to_string(owner_) + " of " + host + "\n";
    contents there;
    while (true) {
      // O_NOFOLLOW: not through a link. O_NONBLOCK: opening a pipe must not wait for a reader.
      file_.reset(detail::beside_standard_streams(
          ::open(path_.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK, 0666)));
      if (file_.get() < 0) fail_to_open(errno);
      struct stat status{};
      if (::fstat(file_.get(), &status) != 0) fail_to_open(errno);
      if (!S_ISREG(status.st_mode)) fail("something that is not a regular file");
      if (status.st_nlink > 1) fail("a file with several hard links");
      if (detail::lock_named_file(file_.get(), path_)) break;
      if (::flock(file_.get(), LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK) {
        std::string const who(there.first_line(file_.get()));
        throw file_error(std::string(kind) + ": " + path + " must be written by one run at a time; found " +
                         (who.empty() ? "another process" : who) +
                         " writing it; wait until that one ends, or give another path");
      }
      file_.reset(-1);  // its previous owner has removed its name
    }
    struct stat status{};
    std::string_view const line = there.first_line(file_.get());
    bool const sized = ::fstat(file_.get(), &status) == 0 && status.st_size <= longest;
    // After a power failure, the file of the process that held the lock may contain zeros.
    bool const zeros = static_cast<off_t>(line.size()) == status.st_size && line.find_first_not_of('\0') == line.npos;
    if (!sized || !(zeros || line.starts_with(begin))) fail("a file that is not a lock");
    // The text is for messages only, so a full disk is no reason to refuse.
    if (::ftruncate(file_.get(), 0) == 0 && ::pwrite(file_.get(), mine.data(), mine.size(), 0) < 0) errno = 0;
  }
  file_lock(file_lock const&) = delete;
  file_lock& operator=(file_lock const&) = delete;
  ~file_lock() {
    // A forked child inherits the descriptor but does not own the lock; and the name may by now belong to another file.
    if (::getpid() == owner_ && detail::is_named(file_.get(), path_)) ::unlink(path_.c_str());
  }

 private:
  static constexpr char const* begin = "process ";
  static constexpr off_t longest = 300;  // enough for a host name of 255 bytes

  /// What a lock contains.
  struct contents {
    char text[longest] = {};
    /// Reads the file again and returns its first line, "process 4711 of host".
    std::string_view first_line(int descriptor) {
      ssize_t const size = ::pread(descriptor, text, sizeof text, 0);
      std::string_view const all(text, size > 0 ? static_cast<std::size_t>(size) : 0);
      return all.substr(0, all.find('\n'));
    }
  };

  std::string path_;
  detail::open_file file_;
  ::pid_t owner_;
};

}  // namespace dsl::TYPENET_MODE
