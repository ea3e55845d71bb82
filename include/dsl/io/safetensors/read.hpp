// SPDX-License-Identifier: MIT
#pragma once

#include <dsl/detail/mapped_file.hpp>
#include <dsl/detail/mode.hpp>
#include <dsl/io/safetensors/header.hpp>

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace dsl::safetensors::detail::TYPENET_MODE {

/// Names, shapes and offsets against each other and the bytes there are.
[[gnu::cold]] void check(contents& c, header_parser const& parser, std::uint64_t data_bytes);

}  // namespace dsl::safetensors::detail::TYPENET_MODE

namespace dsl::safetensors::TYPENET_MODE {

/// Reads what a file of these bytes holds, and checks every rule of the format, so that each tensor's bytes are there
/// and belong to it alone. `name` is the file's, for messages. Throws format_error.
[[gnu::cold]] contents read_contents(std::string_view bytes, std::string const& name);

/// A file on disk, mapped: tensors are read when they are asked for. Throws file_error where it can't be read, of which
/// format_error says that it breaks a rule.
///   safetensors::file const f("model.safetensors");  f.bytes(*f.find("0.weight"))
class file {
 public:
  explicit file(std::string const& path) : mapped_(open(path)), contents_(read_contents(all(), path)) {}

  std::vector<tensor> const& tensors() const { return contents_.tensors; }
  text_by_name const& metadata() const { return contents_.metadata; }
  /// Null where there is none.
  tensor const* find(std::string_view name) const { return contents_.find(name); }
  /// Of one of tensors(); valid as long as the file.
  std::string_view bytes(tensor const& t) const;
  std::string const& path() const { return mapped_.path(); }

 private:
  std::string_view all() const;
  static dsl::detail::mapped_file open(std::string const& path);

  dsl::detail::mapped_file mapped_;
  contents contents_;
};

/// Numbers of 16 or 32 bits as floats, every one exactly; false for other types.
[[gnu::cold]] bool read_floats(dtype type, std::string_view bytes, float* out);

}  // namespace dsl::safetensors::TYPENET_MODE

#ifndef TYPENET_COMPILED
#include <dsl/io/safetensors/read_inl.hpp>
#endif
