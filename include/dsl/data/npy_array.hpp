// SPDX-License-Identifier: MIT
#pragma once

#include <dsl/detail/mapped_file.hpp>
#include <dsl/detail/mode.hpp>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

namespace dsl::detail::TYPENET_MODE {

/// What a NumPy file's numbers are stored as, little-endian: float32, float64, and integers with and without a sign.
enum class npy_kind : unsigned char { real, whole, natural };

/// An array in a file of NumPy's format 1.0 to 3.0, as numpy.save writes it. Nothing in the file is believed: its
/// header must say exactly as many numbers as the file has, before any memory is asked for. Throws data_error that
/// names the file and what is wrong.
class npy_array {
 public:
  [[gnu::cold]] explicit npy_array(std::string const& path);

  std::vector<std::int64_t> const& dims() const { return dims_; }
  /// Numbers in all.
  std::int64_t count() const { return count_; }
  bool is_bytes() const { return kind_ == npy_kind::natural && width_ == 1; }
  std::uint8_t const* bytes() const { return file_->data() + begin_; }
  std::shared_ptr<void const> owner() const { return file_; }

  /// Returns the numbers as floats: where they are that already, in the file's memory, else as a copy in `copy`.
  [[gnu::cold]] std::span<float const> floats(std::shared_ptr<std::vector<float>>& copy) const;
  /// Returns integers as class numbers; what no std::int32_t can have is refused with its place.
  [[gnu::cold]] std::vector<std::int32_t> labels() const;
  [[gnu::cold, noreturn]] void refuse(std::string const& what) const;

 private:
  [[gnu::cold]] void read_header(char const* text, std::size_t size);
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

#ifndef TYPENET_COMPILED
#include <dsl/data/npy_array_inl.hpp>
#endif
