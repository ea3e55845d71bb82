// SPDX-License-Identifier: MIT
#pragma once

#include <dsl/detail/mode.hpp>
#include <dsl/error.hpp>
#include <dsl/io/weight_names.hpp>

#include <string>
#include <utility>
#include <vector>

namespace dsl::TYPENET_MODE {

/// Why a network can't be an ONNX file.
enum class onnx_fault : unsigned char {
  no_operator,  // a layer's own operation, which ONNX has not got
  too_large,    // 2 GiB and more, which no protobuf file holds
};

/// A network that can't be an ONNX file; `which` says why, what() in a sentence.
struct TYPENET_EXPORT onnx_error : error {
  onnx_fault which;
  onnx_error(onnx_fault f, std::string const& what) : error(what), which(f) {}
};

/// How a network is written.
struct onnx_options {
  /// Of the network's one input and one output, as programs that run the file name them.
  std::string input = "input";
  std::string output = "output";
  /// What viewers and runtimes call the first dimension, whose size the file leaves open.
  std::string batch = "batch";
  /// Whose names the weights have, and the rest of a weight_naming: as a member of its own it makes GCC 12 warn of
  /// callers' options. Axes are ONNX's whatever is chosen, and those are PyTorch's.
  weight_convention convention = weight_convention::torch;
  std::string prefix{};
  std::string branches = "branches";
  /// ONNX operators for operations of a user's own, which take and give one tensor of the same shape, and have no
  /// attributes: {{"softplus", "Softplus"}} for a dsl::elementwise whose name is "softplus".
  std::vector<std::pair<std::string, std::string>> operators{};
  long long model_version = 1;
  std::string domain{};  // whose model it is: "org.example.pictures"
  std::string doc{};     // what it is for; empty: what goes in, what comes out, how many parameters
  /// Further text by name. A trainer adds "typenet.steps", the steps that it has trained.
  std::vector<std::pair<std::string, std::string>> metadata{};
};

}  // namespace dsl::TYPENET_MODE
