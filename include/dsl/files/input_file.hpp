// SPDX-License-Identifier: MIT
#pragma once

#include <dsl/files/file_name.hpp>
#include <dsl/detail/message.hpp>
#include <dsl/detail/mode.hpp>
#include <dsl/error.hpp>

#include <cerrno>
#include <cstddef>
#include <cstring>
#include <new>
#include <string>
#include <utility>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

namespace dsl::detail::TYPENET_MODE {

/// A regular file opened for reading. Throws data_error if it is missing or unreadable. `kind` begins and `advice` ends
/// every message, as in input_file{"x.bin", "cifar10", "download it again"}.
class input_file {
 public:
  input_file(std::string path, char const* kind, std::string advice)
      : path_(std::move(path)), kind_(kind), advice_(std::move(advice)) {
    if (char const* const wrong = wrong_file_name(path_)) {
      path_ = path_.c_str();
      fail(wrong);
    }
    // O_NONBLOCK: opening a named pipe must fail below, not wait for a writer. It changes nothing for a file.
    descriptor_ = ::open(path_.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (descriptor_ < 0) fail(reason(errno));
    struct stat status{};
    if (::fstat(descriptor_, &status) != 0) close_and_fail(reason(errno));
    if (S_ISDIR(status.st_mode)) close_and_fail("it is a directory");
    if (!S_ISREG(status.st_mode)) close_and_fail("it is not a regular file");
    size_ = static_cast<std::size_t>(status.st_size);
  }
  input_file(input_file const&) = delete;
  input_file& operator=(input_file const&) = delete;
  ~input_file() { ::close(descriptor_); }

  /// Returns the size in bytes at the time of opening.
  std::size_t size() const { return size_; }
  int descriptor() const { return descriptor_; }
  std::string const& path() const { return path_; }

  /// Reads the next `bytes` bytes. Throws data_error if the file has become shorter.
  void read(void* to, std::size_t bytes) {
    auto* at = static_cast<char*>(to);
    while (bytes > 0) {
      ssize_t const n = ::read(descriptor_, at, bytes);
      if (n < 0 && errno == EINTR) continue;
      if (n < 0) fail(reason(errno));
      if (n == 0) fail("it was truncated while it was read");
      at += n;
      bytes -= static_cast<std::size_t>(n);
    }
  }
  /// Appends the next `bytes` bytes to a string. Throws data_error if memory does not suffice: a sparse file can be
  /// larger than any memory.
  void append(std::string& to, std::size_t bytes) {
    std::size_t const before = to.size();
    try {
      to.resize(before + bytes);
    } catch (std::bad_alloc const&) {
      fail(message({"not enough memory for its ", bytes, " bytes"}));
    }
    read(to.data() + before, bytes);
  }
  [[noreturn, gnu::cold]] void fail(std::string const& found) const {
    throw_error<data_error>({kind_, ": cannot read ", path_, ": ", found, "; ", advice_});
  }
  static std::string reason(int code) { return std::strerror(code); }  // thread-safe in glibc

 private:
  /// Closes the file and throws, for the constructor: if that throws, the destructor does not run.
  [[noreturn]] void close_and_fail(std::string const& found) const {
    ::close(descriptor_);
    fail(found);
  }

  std::string path_;
  char const* kind_;
  std::string advice_;
  int descriptor_ = -1;
  std::size_t size_ = 0;
};

}  // namespace dsl::detail::TYPENET_MODE
