// SPDX-License-Identifier: MIT
#pragma once

#include <dsl/detail/allocate.hpp>
#include <dsl/detail/message.hpp>
#include <dsl/detail/mode.hpp>
#include <dsl/error.hpp>

#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <string>
#ifdef __linux__
#include <sys/mman.h>
#endif

namespace dsl::host::TYPENET_MODE {

/// Owns zeroed host memory, aligned for any vector.
class memory_block {
 public:
#ifdef TYPENET_EMBEDDED
  explicit memory_block(long long bytes)
      : bytes_(bytes), data_(static_cast<std::byte*>(detail::static_memory::take(bytes, 64))) {
    std::memset(data_, 0, static_cast<std::size_t>(bytes_));
  }
#else
  explicit memory_block(long long bytes) : bytes_(bytes) {
    std::size_t const huge = 2U << 20;
    std::size_t const alignment = bytes_ >= static_cast<long long>(huge) ? huge : 64;
    std::size_t const size = (static_cast<std::size_t>(bytes_) + alignment - 1) / alignment * alignment;
    data_ = static_cast<std::byte*>(std::aligned_alloc(alignment, size > 0 ? size : alignment));
    if (!data_) detail::throw_error<executor_error>({"memory: can't allocate ", bytes_, " bytes; use a smaller batch"});
#ifdef __linux__
    if (alignment == huge) madvise(data_, size, MADV_HUGEPAGE);  // fewer page table walks, as a step reads it all
#endif
    std::memset(data_, 0, static_cast<std::size_t>(bytes_));
  }
  ~memory_block() { std::free(data_); }
#endif
  memory_block(memory_block const&) = delete;
  memory_block& operator=(memory_block const&) = delete;

  std::byte* data() const { return data_; }
  long long bytes() const { return bytes_; }

 private:
  long long bytes_;
  std::byte* data_ = nullptr;
};

}  // namespace dsl::host::TYPENET_MODE
