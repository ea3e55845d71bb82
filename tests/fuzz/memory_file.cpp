// SPDX-License-Identifier: MIT
#include "fuzz/targets.hpp"

#include <stdexcept>

#include <sys/mman.h>
#include <unistd.h>

dsl::fuzz::memory_file::memory_file(std::string_view bytes) : descriptor_(::memfd_create("fuzz", MFD_CLOEXEC)) {
  if (descriptor_ < 0) throw std::runtime_error("memfd_create");
  while (!bytes.empty()) {
    ssize_t const n = ::write(descriptor_, bytes.data(), bytes.size());
    if (n < 0) {
      ::close(descriptor_);
      throw std::runtime_error("write");
    }
    bytes.remove_prefix(static_cast<std::size_t>(n));
  }
  path_ = "/proc/self/fd/" + std::to_string(descriptor_);
}

dsl::fuzz::memory_file::~memory_file() { ::close(descriptor_); }
