// SPDX-License-Identifier: MIT
#pragma once

#include <dsl/detail/mode.hpp>
#include <dsl/error.hpp>
#include <dsl/io/weight_names.hpp>

#include <string>
#include <utility>
#include <vector>

namespace dsl::TYPENET_MODE {

/// Why a network cannot be written as an ONNX file, or why such a file cannot be read as a network.
enum class onnx_fault : unsigned char {
  no_operator,       // a custom operation, for which ONNX has no operator
  too_large,         // 2 GiB or more, the limit of protobuf files
  damaged,           // not an ONNX file, or one that breaks a rule of the format
  outside,           // weights in a file that is not in the folder of the ONNX file
  unsupported,       // an operator, an attribute or a shape that typenet has no layer for
  other_connection,  // operators connected as no combinator connects them
  other_network,     // the file's network differs from the one that loads its weights
};

/// The size limit of protobuf files.
inline constexpr long long onnx_most_bytes = 0x7fffffff;

/// Thrown for a network that cannot be written as an ONNX file, and for a file that cannot be read as a network.
struct TYPENET_EXPORT onnx_error : error {
  onnx_fault which;
  onnx_error(onnx_fault f, std::string const& what) : error(what), which(f) {}
};

/// Options for writing a network.
struct onnx_options {
  /// The names of the network's input and output in the file.
  std::string input = "input";
  std::string output = "output";
  /// The name of the first dimension, whose size the file leaves open.
  std::string batch = "batch";
  /// The names of the weights, as in weight_naming, which cannot be a member here because GCC 12 would warn of callers'
  /// options. Axes are always ONNX's, which are PyTorch's.
  weight_convention convention = weight_convention::torch;
  std::string prefix{};
  std::string branches = "branches";
  /// ONNX operators for custom operations, without attributes and with one input and one output of the same shape:
  /// {{"softplus", "Softplus"}} for a dsl::elementwise whose name is "softplus".
  std::vector<std::pair<std::string, std::string>> operators{};
  long long model_version = 1;
  std::string domain{};  // the owner's domain: "org.example.pictures"
  std::string doc{};     // a description; empty: inputs, outputs and the number of parameters
  /// More text by name. A trainer adds "typenet.steps", the number of steps trained.
  std::vector<std::pair<std::string, std::string>> metadata{};
};

}  // namespace dsl::TYPENET_MODE
