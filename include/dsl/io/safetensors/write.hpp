// SPDX-License-Identifier: MIT
#pragma once

#include <dsl/files/atomic_file.hpp>
#include <dsl/detail/mode.hpp>
#include <dsl/io/safetensors/contents.hpp>

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace dsl::safetensors::TYPENET_MODE {

/// A tensor to write. Its numbers are row-major and little-endian. `bytes` must outlive the write.
struct source {
  std::string name{};
  dtype type = dtype::f32;
  std::vector<std::uint64_t> shape{};
  std::string_view bytes{};
};

}  // namespace dsl::safetensors::TYPENET_MODE

namespace dsl::safetensors::detail::TYPENET_MODE {

std::string quoted(std::string const& text, char const* what);

/// Returns what precedes the data in a file: the header's length and the header. Sorts the tensors in the order of
/// their data in the file.
std::string make_header(std::vector<source>& tensors, text_by_name metadata);

}  // namespace dsl::safetensors::detail::TYPENET_MODE

namespace dsl::safetensors::TYPENET_MODE {

/// Returns the bytes of a file. They are the same as those that the format's own library writes. Throws option_error
/// for content that the format does not allow.
std::string serialize(std::vector<source> tensors, text_by_name metadata = {});

/// Writes a file atomically: an existing file is replaced only when the new one is complete, and programs that have the
/// old file open can still read it. Throws option_error for content that the format does not allow, and file_error if
/// the file cannot be written.
void write(std::string const& path, std::vector<source> tensors, text_by_name metadata = {});

}  // namespace dsl::safetensors::TYPENET_MODE

#ifdef TYPENET_DEFINITIONS
#include <dsl/io/safetensors/write_inl.hpp>
#endif
