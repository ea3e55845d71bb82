// SPDX-License-Identifier: MIT
#pragma once

#include <dsl/detail/mode.hpp>
#include <dsl/error.hpp>
#include <dsl/io/weight_names.hpp>

#include <string>
#include <utility>
#include <vector>

namespace dsl::TYPENET_MODE {

/// The reasons why a network cannot be written as an ONNX file, or an ONNX file cannot be read as a network.
enum class onnx_fault : unsigned char {
  no_operator,       // a custom operation, for which ONNX has no operator
  too_large,         // 2 GiB or more, the limit of protobuf files
  damaged,           // not an ONNX file, or one that breaks a rule of the format
  outside,           // weights in a file that is not in the folder of the ONNX file
  unsupported,       // an operator, an attribute or a shape that typenet has no layer for
  other_connection,  // operators connected as no combinator connects them
  other_network,     // the file's network differs from the one that loads its weights
};

/// The size limit of protobuf files, in bytes.
inline constexpr long long onnx_most_bytes = 0x7fffffff;

/// Thrown for a network that cannot be written as an ONNX file, and for a file that cannot be read as a network.
struct TYPENET_EXPORT onnx_error : error {
  onnx_fault which;
  onnx_error(onnx_fault f, std::string const& what) : error(what), which(f) {}
};

/// Options for writing a network as an ONNX file.
struct onnx_options {
  /// The names of the network's input and output in the file.
  std::string input = "input";
  std::string output = "output";
  /// The name of the file's first dimension, the batch size, which the file leaves open.
  std::string batch = "batch";
  /// The convention for the weights' names, as in weight_naming, which cannot be a member here because GCC 12 would
  /// warn about the options of callers. The axes are always in the order of ONNX, which is PyTorch's.
  weight_convention convention = weight_convention::torch;
  std::string prefix{};
  std::string branches = "branches";
  /// The ONNX operators that stand for custom operations, by the name of the custom operation. They have no attributes,
  /// and one input and one output of the same shape: {{"softplus", "Softplus"}} for a dsl::elementwise whose name is
  /// "softplus".
  std::vector<std::pair<std::string, std::string>> operators{};
  /// Whether the file itself normalises its inputs, by a Sub and a Div in front of the network, so that it takes the
  /// data as they are. If false, its inputs must be normalised as the training data were; if there are means or
  /// deviations, a warning and the text "typenet.normalization" in the file say so.
  bool normalize = false;
  long long model_version = 1;
  std::string domain{};  // the domain of the model's owner: "org.example.pictures"
  std::string doc{};     // a description; empty: inputs, outputs and the number of parameters
  /// Further texts for the file, by name. For a trainer, "typenet.steps", the number of steps trained so far, is added.
  std::vector<std::pair<std::string, std::string>> metadata{};
};

}  // namespace dsl::TYPENET_MODE
