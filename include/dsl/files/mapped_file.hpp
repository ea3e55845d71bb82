// SPDX-License-Identifier: MIT
#pragma once

#include <dsl/files/input_file.hpp>
#include <dsl/detail/mode.hpp>
#include <dsl/detail/zeros.hpp>

#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>

#include <sys/mman.h>

namespace dsl::detail::TYPENET_MODE {

/// A whole file in memory, read-only. A file of up to `largest_copy` bytes is read. A larger one is mapped: opening it
/// copies nothing, the kernel reads pages on first use and may drop them again, so the data may exceed memory. A
/// mapping sees later changes, and truncating the file ends the program (SIGBUS): replace a data file by renaming,
/// never by writing into it. Throws data_error as input_file does.
class mapped_file {
 public:
  static constexpr std::size_t largest_copy = std::size_t{16} << 20;

  mapped_file(std::string path, char const* kind, std::string const& advice) {
    input_file file(std::move(path), kind, advice);
    path_ = file.path();
    size_ = file.size();
    if (size_ == 0) return;  // an empty file cannot be mapped; callers see size() == 0
    if (size_ <= largest_copy) {
      copy_.allocate(size_);
      file.read(copy_.data(), size_);
      data_ = copy_.data();
      return;
    }
    void* const address = ::mmap(nullptr, size_, PROT_READ, MAP_PRIVATE, file.descriptor(), 0);  // outlives the file
    if (address == MAP_FAILED) file.fail(message({"it cannot be mapped: ", input_file::reason(errno)}));
    data_ = static_cast<std::uint8_t const*>(address);
  }
  mapped_file(mapped_file const&) = delete;
  mapped_file& operator=(mapped_file const&) = delete;
  ~mapped_file() {
    if (data_ && data_ != copy_.data()) ::munmap(const_cast<std::uint8_t*>(data_), size_);
  }

  std::uint8_t const* data() const { return data_; }
  std::size_t size() const { return size_; }
  std::string const& path() const { return path_; }

 private:
  std::string path_;
  zeros<std::uint8_t> copy_;
  std::uint8_t const* data_ = nullptr;
  std::size_t size_ = 0;
};

}  // namespace dsl::detail::TYPENET_MODE
