// SPDX-License-Identifier: MIT
#pragma once

#include <dsl/detail/mode.hpp>
#include <dsl/error.hpp>
#include <dsl/files/file_lock.hpp>
#include <dsl/files/file_name.hpp>
#include <dsl/warning.hpp>

#include <cerrno>
#include <charconv>
#include <csignal>
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

namespace dsl::TYPENET_MODE {

/// Writes a file atomically, so that its name never refers to an incomplete file. The text goes to a temporary file in
/// the same folder; commit() syncs it, renames it and syncs the folder, so that both file and name survive a power
/// failure. Without a commit nothing is left, and an existing file of that name stays as it was. `kind` begins every
/// message. The next writer removes the temporary file of a killed process, such as run.csv.4711-0.typenet.tmp, if it
/// belongs to the same user, no process has that number, and its lock is free.
///   atomic_file file("runs/history.csv", "history");  file.write(text);  file.commit();
class atomic_file {
 public:
  atomic_file(std::string path, char const* kind) : path_(std::move(path)), kind_(kind) {
    struct stat status{};
    if (char const* const wrong = detail::wrong_file_name(path_)) {
      path_ = path_.c_str();
      fail(wrong, "give a file name");
    }
    if (detail::leads_into_system(path_)) fail("it is a link of the system in /dev or /proc", "give a file name");
    if (path_.ends_with(temporary_end)) fail("its name is reserved for temporary files", "give another name");
    bool const replaces = ::stat(path_.c_str(), &status) == 0;
    if (replaces) {
      if (!S_ISREG(status.st_mode))
        fail(S_ISDIR(status.st_mode) ? "it is a directory" : "it is not a regular file", "give a file name");
      // A rename needs permission on the folder only, but a file made read-only should stay as it is, even when root
      // writes.
      bool const denied = ::faccessat(AT_FDCWD, path_.c_str(), W_OK, AT_EACCESS) != 0 && errno == EACCES;
      if ((status.st_mode & 0222) == 0 || denied) fail("it is read-only", "make it writable, or give another path");
    }
    // Only the users who may read the old file may read the new one.
    mode_t const permissions = replaces ? status.st_mode & 0777 : 0666;
    remove_stale();
    int code = 0;
    for (int attempt = 0; descriptor_ < 0 && attempt < most_attempts; ++attempt) {
      temporary_ = path_ + name_end(owner_, attempt);
      descriptor_ = ::open(temporary_.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, permissions);
      code = errno;
      if (descriptor_ < 0 && code != EEXIST) break;
      // A locked file has a writer. Another process may have taken this one for stale before it was locked.
      if (descriptor_ < 0 || detail::lock_named_file(descriptor_, temporary_)) continue;
      code = EWOULDBLOCK;
      if (detail::is_named(descriptor_, temporary_)) ::unlink(temporary_.c_str());
      ::close(std::exchange(descriptor_, -1));
    }
    if (descriptor_ < 0) fail(reason(code), advice_on(code));
    if (replaces) ::fchmod(descriptor_, permissions);  // umask may have removed some bits
  }
  atomic_file(atomic_file const&) = delete;
  atomic_file& operator=(atomic_file const&) = delete;
  ~atomic_file() {
    if (descriptor_ >= 0) ::close(descriptor_);
    // A forked child has the object, but the file belongs to the parent.
    if (!temporary_.empty() && ::getpid() == owner_) ::unlink(temporary_.c_str());
  }

  /// Appends text. Throws file_error, for example if the disk is full.
  void write(std::string_view text) {
    while (!text.empty()) {
      ssize_t const n = ::write(descriptor_, text.data(), text.size());
      if (n == 0 || (n < 0 && errno != EINTR))  // 0: nothing more will ever be taken
        fail(n == 0 ? "no more can be written" : reason(errno), "free some space, or give another path");
      if (n > 0) text.remove_prefix(static_cast<std::size_t>(n));
    }
  }
  /// Syncs the file, gives it its name and syncs the folder. Throws file_error; then an existing file is unchanged.
  void commit() {
    if (::fsync(descriptor_) != 0) fail(reason(errno), "free some space, or give another path");
    std::string const folder = folder_of_path();  // before renaming, since there may be no memory for it
    commit_unsynced();
    sync(folder);
  }
  /// Commits without waiting for the disk, for files that can be generated again.
  void commit_unsynced() {
    if (::rename(temporary_.c_str(), path_.c_str()) != 0) fail(reason(errno), "give another path");
    temporary_.clear();
  }
  /// Commits under another name in the same folder, for readers that open every file whose name begins with the first
  /// name.
  void commit_as(std::string path) {
    path_ = std::move(path);
    commit();
  }

  /// Returns the descriptor, readable and writable, for another process to write to.
  int descriptor() const { return descriptor_; }
  std::string const& path() const { return path_; }

 private:
  static constexpr std::string_view temporary_end = ".typenet.tmp";  // no other program's files have it
  static constexpr int most_attempts = 100;

  /// Returns the process id from a temporary file's name without its path: 4711 for ".4711-0.typenet.tmp", 0 for any
  /// other name.
  static ::pid_t writer_of(std::string_view rest) {
    int process = 0, attempt = 0;
    char const* const end = rest.data() + rest.size();
    if (!rest.starts_with('.')) return 0;
    auto const [dash, wrong] = std::from_chars(rest.data() + 1, end, process);
    if (wrong != std::errc() || process < 1 || dash == end || *dash != '-') return 0;
    if (std::from_chars(dash + 1, end, attempt).ec != std::errc() || attempt < 0 || attempt >= most_attempts) return 0;
    return rest == name_end(process, attempt) ? process : 0;
  }
  static std::string name_end(::pid_t process, int attempt) {
    return "." + std::to_string(process) + "-" + std::to_string(attempt).append(temporary_end);
  }
  /// Whether the process that wrote a temporary file has ended. If another process has its number by now, the file is
  /// kept until later. For this process's own number the lock decides, since in a container every run may have the same
  /// number.
  static bool is_over(::pid_t process) { return process == ::getpid() || (::kill(process, 0) != 0 && errno == ESRCH); }
  /// Returns the folder with its slash; empty stands for the working directory.
  std::string folder_of_path() const { return path_.substr(0, path_.rfind('/') + 1); }
  /// Syncs the folder. By now the whole file has its name, so nothing here is an error, and a failing disk is a
  /// warning. Some file systems cannot sync a folder, and some folders can be written to but not read.
  void sync(std::string const& folder) const {
    int const descriptor = ::open(folder.empty() ? "." : folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (descriptor < 0) return;
    int const code = ::fsync(descriptor) == 0 ? 0 : errno;
    ::close(descriptor);
    if (code == EIO || code == ENOSPC || code == EDQUOT)
      on_warning((std::string(kind_) + ": " + path_ +
                  " was written, but its folder could not be synced: " + reason(code) + "; a power failure may lose it")
                     .c_str());
  }
  void remove_stale() const {
    std::string const folder = folder_of_path();
    std::string_view const name = std::string_view(path_).substr(folder.size());
    struct opened {
      DIR* all;
      ~opened() {
        if (all) ::closedir(all);
      }
    } const here{::opendir(folder.empty() ? "." : folder.c_str())};
    while (dirent const* const entry = here.all ? ::readdir(here.all) : nullptr) {
      std::string_view const found = entry->d_name;
      ::pid_t const writer = found.starts_with(name) ? writer_of(found.substr(name.size())) : 0;
      if (writer == 0 || !is_over(writer)) continue;
      std::string const stale = folder + entry->d_name;
      int const descriptor = ::open(stale.c_str(), O_RDWR | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
      if (descriptor < 0) continue;
      struct stat status{};
      bool const ours = ::fstat(descriptor, &status) == 0 && S_ISREG(status.st_mode) && status.st_uid == ::geteuid();
      if (ours && ::flock(descriptor, LOCK_EX | LOCK_NB) == 0 && detail::lock_named_file(descriptor, stale))
        ::unlink(stale.c_str());
      ::close(descriptor);
    }
  }
  /// Returns what to do if the temporary file cannot be created.
  std::string advice_on(int code) const {
    constexpr std::size_t longest = 255;  // bytes of a name, in the file systems of Linux
    std::size_t const name = path_.size() - folder_of_path().size(), most = longest - name_end(owner_, 0).size();
    if (code == ENAMETOOLONG && name <= longest && name > most)
      return "the name of the temporary file beside it is longer: shorten the name to " + std::to_string(most) +
             " bytes";
    if (code == ENAMETOOLONG) return "give a shorter name";
    if (code == EMFILE || code == ENFILE) return "raise the limit of open files";
    if (code == ENOSPC || code == EDQUOT) return "free some space, or give another path";
    if (code == ENOENT) return "create the directory first, or give another path";
    return "give a path in a directory that you may write to";
  }
  static std::string reason(int code) { return std::generic_category().message(code); }
  [[noreturn]] void fail(std::string const& found, std::string const& advice) {
    // The destructor does not run after a constructor that throws.
    if (descriptor_ >= 0) ::close(std::exchange(descriptor_, -1)), ::unlink(temporary_.c_str());
    temporary_.clear();
    throw file_error(std::string(kind_) + ": cannot write " + (path_.empty() ? "the file" : path_) + ": " + found +
                     "; " + advice);
  }

  std::string path_;
  char const* kind_;
  std::string temporary_;
  int descriptor_ = -1;
  ::pid_t owner_ = ::getpid();
};

/// Throws file_error if `path` cannot be written, and leaves nothing there. Call it before the work whose result goes
/// there.
inline void check_writable(std::string const& path, char const* kind) { atomic_file const probe(path, kind); }

}  // namespace dsl::TYPENET_MODE
