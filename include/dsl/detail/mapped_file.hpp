// SPDX-License-Identifier: MIT
#pragma once

#include <dsl/detail/message.hpp>
#include <dsl/error.hpp>

#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>
#include <utility>

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

namespace dsl::detail {

/// A whole file, read-only, mapped into memory: opening costs no copy, pages are read when first touched, and the
/// kernel may drop them again, so data may be larger than memory. The mapping sees the file: cutting it short while it
/// is mapped ends the program (SIGBUS), so replace a data file by renaming, never by writing into it.
class mapped_file {
 public:
  /// `kind` opens and `advice` ends every message: mapped_file{"x.bin", "cifar10", "download it again"}.
  mapped_file(std::string path, char const* kind, std::string const& advice) : path_(std::move(path)) {
    auto const fail = [&](std::string const& found) {
      refuse<data_error>({kind, ": ", path_, " must be a readable file; found ", found, "; ", advice});
    };
    // O_NONBLOCK: opening a named pipe must fail below, not wait for a writer. It changes nothing for a file.
    int const descriptor = ::open(path_.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (descriptor < 0) fail(reason(errno));
    struct closer {
      int descriptor;
      ~closer() { ::close(descriptor); }  // the mapping stays
    } const close_at_exit{descriptor};

    struct stat status{};
    if (::fstat(descriptor, &status) != 0) fail(reason(errno));
    if (S_ISDIR(status.st_mode)) fail("a directory");
    if (!S_ISREG(status.st_mode)) fail("something that is not a regular file");
    size_ = static_cast<std::size_t>(status.st_size);
    if (size_ == 0) return;  // nothing can be mapped; size() tells
    void* const address = ::mmap(nullptr, size_, PROT_READ, MAP_PRIVATE, descriptor, 0);
    if (address == MAP_FAILED) fail(message({"no room to map it: ", reason(errno)}));
    data_ = static_cast<std::uint8_t const*>(address);
  }

  mapped_file(mapped_file const&) = delete;
  mapped_file& operator=(mapped_file const&) = delete;
  ~mapped_file() {
    if (data_) ::munmap(const_cast<std::uint8_t*>(data_), size_);
  }

  std::uint8_t const* data() const { return data_; }
  std::size_t size() const { return size_; }
  std::string const& path() const { return path_; }

 private:
  static std::string reason(int code) { return std::strerror(code); }  // glibc's may be called from any thread

  std::string path_;
  std::uint8_t const* data_ = nullptr;
  std::size_t size_ = 0;
};

}  // namespace dsl::detail
