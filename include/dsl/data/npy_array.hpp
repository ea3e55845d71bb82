// SPDX-License-Identifier: MIT
#pragma once

#include <dsl/files/mapped_file.hpp>
#include <dsl/detail/mode.hpp>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

namespace dsl::detail::TYPENET_MODE {

/// The type of a NumPy file's numbers, which are little-endian: floats, signed integers, and unsigned integers.
enum class npy_kind : unsigned char { real, whole, natural };

/// An array in a file that numpy.save has written (NumPy's format 1.0 to 3.0). Nothing in the file is trusted: before
/// any memory is allocated, the header must describe exactly as many numbers as the file contains. Throws a data_error
/// that names the file and what is wrong.
class npy_array {
 public:
  explicit npy_array(std::string const& path);

  std::vector<std::int64_t> const& dims() const { return dims_; }
  /// Returns the number of elements.
  std::int64_t count() const { return count_; }
  bool is_bytes() const { return kind_ == npy_kind::natural && width_ == 1; }
  std::uint8_t const* bytes() const { return file_->data() + begin_; }
  std::shared_ptr<void const> owner() const { return file_; }

  /// Returns the numbers as floats. If the file contains floats, these are in the file's memory; otherwise they are
  /// converted into `copy`. Throws data_error for a number that is not finite as a float.
  std::span<float const> floats(std::shared_ptr<std::vector<float>>& copy) const;
  /// Returns integers as class numbers. Throws data_error for a number that does not fit in a std::int32_t; the message
  /// has its position.
  std::vector<std::int32_t> labels() const;
  [[gnu::cold, noreturn]] void refuse(std::string const& what) const;

 private:
  void read_header(char const* text, std::size_t size);
  double real_at(std::int64_t i) const;
  std::int64_t whole_at(std::int64_t i) const;

  std::shared_ptr<mapped_file const> file_;
  std::vector<std::int64_t> dims_{};
  std::int64_t count_ = 1;
  std::size_t begin_ = 0;  // of the numbers
  npy_kind kind_ = npy_kind::real;
  std::size_t width_ = 4;  // bytes a number
};

}  // namespace dsl::detail::TYPENET_MODE

#ifdef TYPENET_DEFINITIONS
#include <dsl/data/npy_array_inl.hpp>
#endif
