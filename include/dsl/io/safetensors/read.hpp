// SPDX-License-Identifier: MIT
#pragma once

#include <dsl/files/mapped_file.hpp>
#include <dsl/detail/mode.hpp>
#include <dsl/io/safetensors/contents.hpp>

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace dsl::safetensors::detail::TYPENET_MODE {

class header_parser;

/// Checks names, shapes and offsets against each other and against the number of bytes of data.
void check(contents& c, header_parser const& parser, std::uint64_t data_bytes);

}  // namespace dsl::safetensors::detail::TYPENET_MODE

namespace dsl::safetensors::TYPENET_MODE {

/// Parses a file that is given as bytes. Checks every rule of the format; afterwards it is certain that each tensor's
/// bytes exist and belong to no other tensor. `name` is the file's name in messages. Throws format_error.
contents read_contents(std::string_view bytes, std::string const& name);

/// A file on disk, mapped into memory, so that the data of a tensor are read only when they are used. Throws file_error
/// if the file cannot be read, and the derived format_error if the file breaks a rule of the format.
///   safetensors::file const f("model.safetensors");  f.bytes(*f.find("0.weight"))
class file {
 public:
  explicit file(std::string const& path) : mapped_(open(path)), contents_(read_contents(all(), path)) {}

  /// Return the content of the header: the tensors in the order of their data, and the metadata.
  std::vector<tensor> const& tensors() const { return contents_.tensors; }
  text_by_name const& metadata() const { return contents_.metadata; }
  /// Returns the tensor with that name, or null if there is none.
  tensor const* find(std::string_view name) const { return contents_.find(name); }
  /// Returns the bytes of one of tensors(). They are valid as long as this object exists.
  std::string_view bytes(tensor const& t) const;
  std::string const& path() const { return mapped_.path(); }

 private:
  std::string_view all() const;
  static dsl::detail::mapped_file open(std::string const& path);

  dsl::detail::mapped_file mapped_;
  contents contents_;
};

/// Converts 16-bit or 32-bit floating-point numbers to floats exactly. Returns false for other types.
bool read_floats(dtype type, std::string_view bytes, float* out);

}  // namespace dsl::safetensors::TYPENET_MODE

#ifdef TYPENET_DEFINITIONS
#include <dsl/io/safetensors/read_inl.hpp>
#endif
