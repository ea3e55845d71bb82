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

/// The largest number of nodes that an ONNX file may have, followed by other limits. Published networks have far less.
inline constexpr int onnx_most_nodes = 100'000;
inline constexpr int onnx_most_axes = 8;
inline constexpr long long onnx_most_numbers = 1LL << 31;

/// An ONNX file whose structure has been checked. A tensor's numbers are read only when they are needed, so that unused
/// tensors cost nothing.
class onnx_file {
 public:
  /// Reads a file that is given as bytes. `name` is the file's name in messages. If the weights are in further files,
  /// these must be in `folder`; if `folder` is empty, such files are an error. Throws onnx_error.
  onnx_file(std::string_view bytes, std::string name, std::string folder);

  onnx_messages::ModelProto const& model() const { return model_; }
  onnx_messages::GraphProto const& graph() const { return model_.graph(); }
  std::string const& name() const { return name_; }
  /// Whether typenet wrote the file. If so, the doc_string of each node names its layer.
  bool is_own() const { return model_.producer_name() == "typenet"; }

  /// Returns a tensor's numbers. 16-bit and 64-bit floating-point numbers become floats. Throws onnx_error if the count
  /// of numbers does not match the tensor's dims.
  onnx_constant read(onnx_messages::TensorProto const& t);

  [[noreturn, gnu::cold]] void fail(onnx_fault which, std::string const& what) const;

 private:
  void check_versions() const;
  /// Returns the bytes of a tensor that are stored in another file.
  std::string read_outside(onnx_messages::TensorProto const& t, std::string const& which, std::uint64_t bytes);

  onnx_messages::ModelProto model_{};
  std::string name_;
  std::string folder_;
  std::map<std::string, std::uint64_t> read_{};  // bytes of each other file
};

/// Reads the bytes of an ONNX file. Throws data_error if the file cannot be read.
std::string read_onnx_bytes(std::string const& path);
/// Returns the folder of a file's path, or "." if the path is only a name.
std::string onnx_folder(std::string const& path);

}  // namespace dsl::detail::TYPENET_MODE

#ifdef TYPENET_DEFINITIONS
#include <dsl/io/onnx/import_file_inl.hpp>
#endif
