// SPDX-License-Identifier: MIT
#pragma once

#include <dsl/detail/atomic_file.hpp>
#include <dsl/detail/mode.hpp>
#include <dsl/io/safetensors/header.hpp>

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace dsl::safetensors::TYPENET_MODE {

/// A tensor to write: row-major numbers, little-endian. `bytes` must outlive the write.
struct source {
  std::string name{};
  dtype type = dtype::f32;
  std::vector<std::uint64_t> shape{};
  std::string_view bytes{};
};

}  // namespace dsl::safetensors::TYPENET_MODE

namespace dsl::safetensors::detail::TYPENET_MODE {

[[gnu::cold]] std::string quoted(std::string const& text, char const* what);

/// Returns the length and the header that precede the data in a file; sorts the tensors in the order of their data.
[[gnu::cold]] std::string make_header(std::vector<source>& tensors, text_by_name metadata);

}  // namespace dsl::safetensors::detail::TYPENET_MODE

namespace dsl::safetensors::TYPENET_MODE {

/// Returns the bytes of a file, the same as those of the format's own library. Throws option_error for content that a
/// file cannot hold.
[[gnu::cold]] std::string serialize(std::vector<source> tensors, text_by_name metadata = {});

/// Writes a file atomically: an existing file is replaced only when the new one is complete, and programs that have the
/// old file open still read it. Throws option_error, or file_error if it cannot be written.
[[gnu::cold]] void write(std::string const& path, std::vector<source> tensors, text_by_name metadata = {});

}  // namespace dsl::safetensors::TYPENET_MODE

#ifndef TYPENET_COMPILED
#include <dsl/io/safetensors/write_inl.hpp>
#endif
