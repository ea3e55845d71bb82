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

/// A tensor to write: its numbers row by row, little endian. `bytes` must live until it is written.
struct source {
  std::string name{};
  dtype type = dtype::f32;
  std::vector<std::uint64_t> shape{};
  std::string_view bytes{};
};

}  // namespace dsl::safetensors::TYPENET_MODE

namespace dsl::safetensors::detail::TYPENET_MODE {

[[gnu::cold]] std::string quoted(std::string const& text, char const* what);

/// What comes before the data of a file; sorts the tensors as their data must follow.
[[gnu::cold]] std::string make_header(std::vector<source>& tensors, text_by_name metadata);

}  // namespace dsl::safetensors::detail::TYPENET_MODE

namespace dsl::safetensors::TYPENET_MODE {

/// A file's bytes: the same as the format's own library writes. Throws option_error for what can't be in a file.
[[gnu::cold]] std::string serialize(std::vector<source> tensors, text_by_name metadata = {});

/// Writes a file that is whole when it gets its name; one that was there is as it was until then, and then still for
/// those who have it open. Throws option_error, or file_error where it can't be written.
[[gnu::cold]] void write(std::string const& path, std::vector<source> tensors, text_by_name metadata = {});

}  // namespace dsl::safetensors::TYPENET_MODE

#ifndef TYPENET_COMPILED
#include <dsl/io/safetensors/write_inl.hpp>
#endif
