// SPDX-License-Identifier: MIT
#pragma once

#include <cstdio>
#include <cstring>
#include <filesystem>
#include <map>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <dlfcn.h>
#include <fcntl.h>
#include <stdarg.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

// Records what a program does to the files of one folder. The program that includes this replaces open, close, write,
// pwrite, ftruncate, fsync, rename, unlink and fclose by functions that record their call. Calls inside the C library
// are not seen, but their results are: the next recorded call of that file compares its whole content.

namespace dsl::test::recorded {

/// What happened to the folder. A file has a number of its own, however often it is renamed.
struct event {
  enum kind : unsigned char { nothing, create, content, sync_file, sync_folder, rename, unlink } what;
  int file = -1;
  std::string name{};   // of create and unlink; the new one of rename
  std::string from{};   // the old one of rename
  std::string bytes{};  // the whole content
};

/// The events in one folder from its construction to its destruction. There may be only one.
class folder {
 public:
  explicit folder(std::string path) : path_(std::filesystem::canonical(path).string()) {
    if (current != nullptr) throw std::logic_error("two folders are recorded");
    current = this;
  }
  folder(folder const&) = delete;
  folder& operator=(folder const&) = delete;
  ~folder() { current = nullptr; }

  static inline folder* current = nullptr;
  std::vector<event> events{};

  /// Returns the names and contents as the events left them.
  std::map<std::string, std::string> files() const {
    std::map<std::string, std::string> all;
    for (auto const& [name, file] : names_) all[name] = contents_.at(static_cast<std::size_t>(file));
    return all;
  }

  void opened(int descriptor, char const* path, int flags) {
    if (descriptor < 0) return;
    open_.erase(descriptor);
    if (std::filesystem::absolute(path).lexically_normal() == path_ ||
        std::filesystem::absolute(path).lexically_normal() == path_ + "/") {
      open_[descriptor] = itself;
      return;
    }
    std::string const name = name_of(path);
    if (name.empty()) return;
    auto const known = names_.find(name);
    if (known != names_.end()) {
      open_[descriptor] = known->second;
    } else {
      if ((flags & O_CREAT) == 0) return;
      open_[descriptor] = names_[name] = static_cast<int>(contents_.size());
      contents_.emplace_back();
      events.push_back({event::create, open_[descriptor], name});
    }
    changed(descriptor);  // O_TRUNC
  }
  void changed(int descriptor) {
    int const file = file_of(descriptor);
    if (file < 0) return;
    // The descriptor itself may be for writing only.
    std::string const path = "/proc/self/fd/" + std::to_string(descriptor);
    int const reader = static_cast<int>(::syscall(SYS_openat, AT_FDCWD, path.c_str(), O_RDONLY | O_CLOEXEC));
    std::string now;
    char part[1 << 14];
    for (ssize_t n; (n = ::pread(reader, part, sizeof part, static_cast<off_t>(now.size()))) > 0;)
      now.append(part, static_cast<std::size_t>(n));
    ::syscall(SYS_close, reader);
    if (now == contents_[static_cast<std::size_t>(file)]) return;
    contents_[static_cast<std::size_t>(file)] = now;
    events.push_back({event::content, file, {}, {}, std::move(now)});
  }
  void synced(int descriptor) {
    if (file_of(descriptor) == itself) events.push_back({event::sync_folder});
    if (int const file = file_of(descriptor); file >= 0) events.push_back({event::sync_file, file});
  }
  void closed(int descriptor) { open_.erase(descriptor); }
  void renamed(char const* from, char const* to) {
    auto const old = names_.find(name_of(from));
    if (old == names_.end()) return;
    int const file = old->second;
    events.push_back({event::rename, file, name_of(to), old->first});
    names_.erase(old);
    names_[name_of(to)] = file;
  }
  void unlinked(char const* path) {
    auto const name = names_.find(name_of(path));
    if (name == names_.end()) return;
    events.push_back({event::unlink, name->second, name->first});
    names_.erase(name);
  }
  /// A stream of the C library, whose opening and writes nobody has seen.
  void closing(std::FILE* stream) {
    std::fflush(stream);
    int const descriptor = ::fileno(stream);
    char path[4096] = "";
    ssize_t const n = ::readlink(("/proc/self/fd/" + std::to_string(descriptor)).c_str(), path, sizeof path - 1);
    if (n > 0) opened(descriptor, path, O_RDONLY);
    closed(descriptor);
  }

 private:
  static constexpr int itself = -2;

  /// Returns the name of a file in the folder; empty if it is elsewhere.
  std::string name_of(char const* path) const {
    std::filesystem::path const whole = std::filesystem::absolute(path).lexically_normal();
    return whole.parent_path() == path_ ? whole.filename().string() : std::string();
  }
  int file_of(int descriptor) const {
    auto const found = open_.find(descriptor);
    return found == open_.end() ? -1 : found->second;
  }

  std::string path_;
  std::map<std::string, int> names_{};
  std::map<int, int> open_{};  // the files behind descriptors
  std::vector<std::string> contents_{};
};

}  // namespace dsl::test::recorded

extern "C" {

int open(char const* path, int flags, ...) {
  va_list more;
  va_start(more, flags);
  mode_t const mode = (flags & O_CREAT) != 0 ? va_arg(more, mode_t) : 0;
  va_end(more);
  int const descriptor = static_cast<int>(::syscall(SYS_openat, AT_FDCWD, path, flags, mode));
  if (auto* const f = dsl::test::recorded::folder::current) f->opened(descriptor, path, flags);
  return descriptor;
}
int close(int descriptor) {
  if (auto* const f = dsl::test::recorded::folder::current) f->closed(descriptor);
  return static_cast<int>(::syscall(SYS_close, descriptor));
}
ssize_t write(int descriptor, void const* bytes, std::size_t count) {
  ssize_t const n = ::syscall(SYS_write, descriptor, bytes, count);
  if (auto* const f = dsl::test::recorded::folder::current) f->changed(descriptor);
  return n;
}
ssize_t pwrite(int descriptor, void const* bytes, std::size_t count, off_t at) {
  ssize_t const n = ::syscall(SYS_pwrite64, descriptor, bytes, count, at);
  if (auto* const f = dsl::test::recorded::folder::current) f->changed(descriptor);
  return n;
}
int ftruncate(int descriptor, off_t size) noexcept {
  int const result = static_cast<int>(::syscall(SYS_ftruncate, descriptor, size));
  if (auto* const f = dsl::test::recorded::folder::current) f->changed(descriptor);
  return result;
}
int fsync(int descriptor) {
  int const result = static_cast<int>(::syscall(SYS_fsync, descriptor));
  if (auto* const f = dsl::test::recorded::folder::current; f && result == 0) f->synced(descriptor);
  return result;
}
int rename(char const* from, char const* to) noexcept {
  int const result = static_cast<int>(::syscall(SYS_renameat2, AT_FDCWD, from, AT_FDCWD, to, 0));
  if (auto* const f = dsl::test::recorded::folder::current; f && result == 0) f->renamed(from, to);
  return result;
}
int unlink(char const* path) noexcept {
  int const result = static_cast<int>(::syscall(SYS_unlinkat, AT_FDCWD, path, 0));
  if (auto* const f = dsl::test::recorded::folder::current; f && result == 0) f->unlinked(path);
  return result;
}
int fclose(std::FILE* stream) {
  static auto* const next = reinterpret_cast<int (*)(std::FILE*)>(::dlsym(RTLD_NEXT, "fclose"));
  if (auto* const f = dsl::test::recorded::folder::current) f->closing(stream);
  return next(stream);
}

}  // extern "C"
