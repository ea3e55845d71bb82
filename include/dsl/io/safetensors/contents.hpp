// SPDX-License-Identifier: MIT
#pragma once

#include <dsl/detail/mode.hpp>
#include <dsl/error.hpp>
#include <dsl/io/weight_text.hpp>

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace dsl::safetensors::TYPENET_MODE {

/// The types of numbers, in the format's order. Tensors of later types come first in a file, so that each tensor is
/// aligned.
enum class dtype : unsigned char {
  boolean,
  f4,
  f6_e2m3,
  f6_e3m2,
  u8,
  i8,
  f8_e5m2,
  f8_e4m3,
  f8_e8m0,
  f8_e4m3fnuz,
  f8_e5m2fnuz,
  i16,
  u16,
  f16,
  bf16,
  i32,
  u32,
  f32,
  c64,
  f64,
  i64,
  u64,
};

/// The name of a dtype in files, and the size of its numbers.
struct dtype_facts {
  char const* name;  // in the file
  int bits;
};
/// The name and size of each dtype, in the order of the enumeration.
inline constexpr dtype_facts dtypes[] = {
    {"BOOL", 8},    {"F4", 4},      {"F6_E2M3", 6}, {"F6_E3M2", 6},     {"U8", 8},          {"I8", 8},
    {"F8_E5M2", 8}, {"F8_E4M3", 8}, {"F8_E8M0", 8}, {"F8_E4M3FNUZ", 8}, {"F8_E5M2FNUZ", 8}, {"I16", 16},
    {"U16", 16},    {"F16", 16},    {"BF16", 16},   {"I32", 32},        {"U32", 32},        {"F32", 32},
    {"C64", 64},    {"F64", 64},    {"I64", 64},    {"U64", 64},
};
static_assert(sizeof dtypes / sizeof *dtypes == static_cast<int>(dtype::u64) + 1);
/// Returns the name and size of a dtype.
constexpr dtype_facts const& facts_of(dtype t) { return dtypes[static_cast<int>(t)]; }

/// The kinds of faults in a file.
enum class fault : unsigned char {
  header_too_small,  // fewer than 8 bytes
  header_too_large,  // more than 100,000,000 bytes, or 1,000,000 names
  header_length,     // it exceeds the file
  not_utf8,
  not_json,        // or not the JSON that the format prescribes
  duplicate_name,  // of a tensor, a field or metadata
  bad_metadata,    // not a map from text to text
  bad_info,        // a tensor's field is missing, unknown or malformed
  unknown_dtype,
  overflow,  // the size in bytes does not fit in 64 bits
  part_of_a_byte,
  size_mismatch,      // shape and type give another size than the offsets
  bad_offset,         // a gap, or bytes of two tensors
  incomplete_data,    // the file ends before or after the data of its tensors
  unsuitable_tensor,  // a sound file, but not these weights
};

/// Thrown for a file that breaks a rule of the format or has the weights of another network. Nothing has been changed
/// then.
struct TYPENET_EXPORT format_error : file_error {
  fault which;
  format_error(fault f, std::string const& what) : file_error(what), which(f) {}
};

/// A tensor of a file. Its numbers are row-major and little-endian, at bytes begin ... end - 1 of the file's data.
struct tensor {
  std::string name{};
  dtype type = dtype::f32;
  std::vector<std::uint64_t> shape{};
  std::uint64_t begin = 0;
  std::uint64_t end = 0;
};

/// Named texts, such as the metadata of a file.
using text_by_name = std::vector<std::pair<std::string, std::string>>;

/// The content of a file's header, which has been checked.
struct contents {
  std::vector<tensor> tensors{};  // in the order of their data, without gaps or overlaps
  text_by_name metadata{};
  std::size_t data_begin = 0;          // where the data begins in the file
  std::vector<std::size_t> by_name{};  // indices of tensors, sorted by name

  /// Returns the tensor with that name, or null if there is none.
  tensor const* find(std::string_view name) const;
};

/// The largest size of a header in bytes, as in the reference implementation.
inline constexpr std::uint64_t largest_header = 100'000'000;
/// The largest numbers of names and of axes. A name or an axis takes more memory than it has
/// bytes in the file, so these limits bound the memory that a hostile header can use.
inline constexpr std::size_t most_names = 1'000'000;  // of tensors and metadata together
inline constexpr std::size_t largest_rank = 64;       // that of PyTorch and NumPy
/// The name under which a header stores the metadata.
inline constexpr char metadata_name[] = "__metadata__";

}  // namespace dsl::safetensors::TYPENET_MODE

namespace dsl::safetensors::detail::TYPENET_MODE {

using dsl::detail::shown;

enum class size_problem : unsigned char { none, overflow, part_of_a_byte };

/// Computes the size of a tensor in bytes. Returns what is wrong if there is no such size.
size_problem bytes_of(dtype type, std::vector<std::uint64_t> const& shape, std::uint64_t& bytes);

}  // namespace dsl::safetensors::detail::TYPENET_MODE

#ifdef TYPENET_DEFINITIONS
#include <dsl/io/safetensors/contents_inl.hpp>
#endif
