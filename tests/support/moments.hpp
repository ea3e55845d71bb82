// SPDX-License-Identifier: MIT
#pragma once

#include <cerrno>
#include <csignal>
#include <cstddef>
#include <cstdio>
#include <vector>

#include <dlfcn.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio_ext.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

// The moments of a process: each of its calls that changes a file, and whatever else it calls a moment. Something may
// be planned for a moment: the end of the process, a signal, a pause, or a disk that is full from then on. The program
// that includes this replaces open, write, pwrite, ftruncate, fsync, rename, link, unlink, mkdir, fopen and fclose.
// fsync returns at once: what power failures leave is the affair of recorded_files.hpp.

namespace dsl::test::moments {

enum class action : unsigned char { kill, interrupt, terminate, pause, fill_disk, free_disk };

struct planned {
  int at;  // the number of moments before it
  action what;
  friend bool operator==(planned const&, planned const&) = default;
};

inline std::vector<planned> plan{};
inline int passed = -1;  // moments so far; below 0: nothing is counted
inline bool disk_is_full = false;
inline int tells = -1, waits = -1;  // descriptors: a byte is written to the former at a pause, which ends with one read

/// Begins to count.
inline void begin(std::vector<planned> all) { plan = std::move(all), passed = 0, disk_is_full = false; }

/// Does what is planned for this moment. Before the process ends, `half` may do half of what the call would do.
template <class Half>
void pass(Half half) {
  if (passed < 0) return;
  int const now = passed++;
  for (planned const& p : plan) {
    if (p.at != now) continue;
    char byte = 0;
    switch (p.what) {
      case action::kill:
        half();
        ::kill(::getpid(), SIGKILL);
        break;
      case action::interrupt: std::raise(SIGINT); break;
      case action::terminate: std::raise(SIGTERM); break;
      case action::pause:
        if (::syscall(SYS_write, tells, &byte, 1) == 1)
          while (::syscall(SYS_read, waits, &byte, 1) < 0 && errno == EINTR) {
          }
        break;
      case action::fill_disk: disk_is_full = true; break;
      case action::free_disk: disk_is_full = false; break;
    }
  }
}
inline void pass() {
  pass([] {});
}
inline bool refuses() {
  if (disk_is_full) errno = ENOSPC;
  return disk_is_full;
}

template <class Function>
Function* next(char const* name) {
  return reinterpret_cast<Function*>(::dlsym(RTLD_NEXT, name));
}

}  // namespace dsl::test::moments

extern "C" {

int open(char const* path, int flags, ...) {
  va_list more;
  va_start(more, flags);
  mode_t const mode = (flags & O_CREAT) != 0 ? va_arg(more, mode_t) : 0;
  va_end(more);
  if ((flags & O_CREAT) != 0) {
    dsl::test::moments::pass();
    if ((flags & O_EXCL) != 0 && dsl::test::moments::refuses()) return -1;
  }
  return static_cast<int>(::syscall(SYS_openat, AT_FDCWD, path, flags, mode));
}
ssize_t write(int descriptor, void const* bytes, std::size_t count) {
  dsl::test::moments::pass([&] { ::syscall(SYS_write, descriptor, bytes, count / 2); });
  if (dsl::test::moments::refuses()) return -1;
  return ::syscall(SYS_write, descriptor, bytes, count);
}
ssize_t pwrite(int descriptor, void const* bytes, std::size_t count, off_t at) {
  dsl::test::moments::pass([&] { ::syscall(SYS_pwrite64, descriptor, bytes, count / 2, at); });
  if (dsl::test::moments::refuses()) return -1;
  return ::syscall(SYS_pwrite64, descriptor, bytes, count, at);
}
int ftruncate(int descriptor, off_t size) noexcept {
  dsl::test::moments::pass();
  return static_cast<int>(::syscall(SYS_ftruncate, descriptor, size));
}
int fsync(int) {
  dsl::test::moments::pass();
  return 0;
}
int rename(char const* from, char const* to) noexcept {
  dsl::test::moments::pass();
  return static_cast<int>(::syscall(SYS_renameat2, AT_FDCWD, from, AT_FDCWD, to, 0));
}
int unlink(char const* path) noexcept {
  dsl::test::moments::pass();
  return static_cast<int>(::syscall(SYS_unlinkat, AT_FDCWD, path, 0));
}
int link(char const* from, char const* to) noexcept {
  dsl::test::moments::pass();
  if (dsl::test::moments::refuses()) return -1;
  return static_cast<int>(::syscall(SYS_linkat, AT_FDCWD, from, AT_FDCWD, to, 0));
}
int mkdir(char const* path, mode_t mode) noexcept {
  dsl::test::moments::pass();
  return static_cast<int>(::syscall(SYS_mkdirat, AT_FDCWD, path, mode));
}
std::FILE* fopen(char const* path, char const* mode) {
  static auto* const really = dsl::test::moments::next<std::FILE*(char const*, char const*)>("fopen");
  dsl::test::moments::pass();
  return really(path, mode);
}
/// The C library writes what was buffered here.
int fclose(std::FILE* stream) {
  static auto* const really = dsl::test::moments::next<int(std::FILE*)>("fclose");
  bool const writes = dsl::test::moments::passed >= 0 && ::__fpending(stream) > 0;
  if (!writes) return really(stream);
  dsl::test::moments::pass();
  if (!dsl::test::moments::refuses()) return really(stream);
  ::__fpurge(stream);
  really(stream);
  errno = ENOSPC;
  return EOF;
}

}  // extern "C"
