// SPDX-License-Identifier: MIT
#pragma once

#include <dsl/detail/mode.hpp>
#include <dsl/io/onnx/import_constant.hpp>
#include <dsl/io/onnx/library.hpp>
#include <dsl/io/onnx/options.hpp>

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>

namespace dsl::detail::TYPENET_MODE {

/// Limits of what an ONNX file may contain; published networks have far less.
inline constexpr int onnx_most_nodes = 100'000;
inline constexpr int onnx_most_axes = 8;
inline constexpr long long onnx_most_numbers = 1LL << 31;

/// An ONNX file whose structure has been checked. The numbers of its tensors are read on demand, so that unused tensors
/// cost nothing.
class onnx_file {
 public:
  /// Reads a file given as bytes. `name` is the file's name for messages. Further files with weights must be in
  /// `folder`; if that is empty, there may be none. Throws onnx_error.
  [[gnu::cold]] onnx_file(std::string_view bytes, std::string name, std::string folder);

  onnx_messages::ModelProto const& model() const { return model_; }
  onnx_messages::GraphProto const& graph() const { return model_.graph(); }
  std::string const& name() const { return name_; }
  /// Whether typenet wrote the file: then the doc_string of each node names its layer.
  bool is_own() const { return model_.producer_name() == "typenet"; }

  /// Returns a tensor's numbers. Throws onnx_error if their count does not match its dims. Numbers of 16 and of 64 bits
  /// become floats.
  [[gnu::cold]] onnx_constant read(onnx_messages::TensorProto const& t);

  [[noreturn, gnu::cold]] void fail(onnx_fault which, std::string const& what) const;

 private:
  [[gnu::cold]] void check_versions() const;
  /// Returns the bytes of a tensor that are in another file.
  [[gnu::cold]] std::string read_outside(onnx_messages::TensorProto const& t, std::string const& which,
                                         std::uint64_t bytes);

  onnx_messages::ModelProto model_{};
  std::string name_;
  std::string folder_;
  std::map<std::string, std::uint64_t> read_{};  // bytes of each other file
};

/// Reads the bytes of an ONNX file. Throws data_error if it cannot be read.
[[gnu::cold]] std::string read_onnx_bytes(std::string const& path);
/// Returns the folder of a file: "." for a name alone.
[[gnu::cold]] std::string onnx_folder(std::string const& path);

}  // namespace dsl::detail::TYPENET_MODE

#ifndef TYPENET_COMPILED
#include <dsl/io/onnx/import_file_inl.hpp>
#endif
