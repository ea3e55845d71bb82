// SPDX-License-Identifier: MIT
#pragma once

#include <dsl/detail/mode.hpp>
#include <dsl/graph/node.hpp>
#include <dsl/io/onnx/import_constant.hpp>
#include <dsl/io/onnx/import_function.hpp>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace dsl::detail::TYPENET_MODE {

/// The division of an image by the axes of queries, keys or values: into tokens of windows, and channels of heads.
struct onnx_heads {
  int count = 1;
  window over{};        // as that of window_attention; without windows, it is the whole image
  onnx_axis outside{};  // the axis that has the windows; empty if there is only one
  std::size_t windows_at = 0;
};

/// The products of queries and keys, and what operators have made of them. After a softmax they are the weights of an
/// attention.
struct onnx_products {
  onnx_value first{}, second{};  // the factors: one has the queries, the other one the keys
  std::string
      axes{};  // each axis: the tokens of the first factor (f) or of the second one (s), heads (h), windows (w), 1
  int heads = 1;
  window over{};      // of the tokens
  int windows = 1;    // their number
  bool unit = false;  // whether queries and keys are divided by their lengths
  double scale = 1;
  std::vector<float> factors{};  // of each head; empty if there are none
  bool trains_factors = false;   // whether they are weights
  std::shared_ptr<onnx_constant const> biases{};
  std::string bias_axes{};  // the products' axes when the biases were added
  char hidden = 0;          // causal: the axis whose later tokens are hidden, that of the keys
  bool is_divided = false;  // whether what a roll has moved around the end of the image is hidden from the rest
  char keys = 0;            // the axis over which the weights add up to 1

  std::int64_t tokens() const { return 1LL * over.height * over.width; }
  /// Returns the size of the axis that has this letter.
  std::int64_t size(char axis) const {
    return axis == '1' ? 1 : axis == 'h' ? heads : axis == 'w' ? windows : tokens();
  }
};

}  // namespace dsl::detail::TYPENET_MODE
