// SPDX-License-Identifier: MIT
#pragma once

#include <dsl/data/normalization.hpp>
#include <dsl/detail/mode.hpp>
#include <dsl/graph/node.hpp>
#include <dsl/layers/pool2d.hpp>

#include <string>
#include <utility>
#include <vector>

namespace dsl::detail::TYPENET_MODE {

/// What the errors for operators, connections and shapes that typenet cannot express advise.
inline constexpr char const* onnx_advice =
    "change the network and export it again, or write it in C++ and load its weights with load_safetensors";

/// A layer made from operators of the file. It is not yet part of a tree of layers.
struct onnx_layer {
  node what{};                // without the connections, which `inputs` has
  option::pad zeros{};        // the padding of a window
  bool rounds_up = false;     // a pool's ceil_mode
  bool has_bias = true;       // of a convolution
  bool is_reordered = false;  // whether a convolution's input channels have another order than in the file
  int kernel_rank = 4;        // of a convolution: 2 of pointwise_dense, whose kernel is a matrix, and 3 of conv1d
  bool is_constant = false;   // whether its weights are constants of the file, which training does not change
  bool takes_scale = false;   // of a normalisation: the next operator may be its gamma
  bool takes_shift = false;   // or its beta
  std::vector<int> inputs{};  // layers
  dsl::shape out{};
  std::vector<std::vector<float>> weights{};  // in the order in which the layer declares its parameters
  std::string path{};                         // of the module in the framework that wrote the file: "layer1.0.conv1"
  std::string place{};                        // for messages: node 7, "/layer1/0/Conv" (Conv)
};

/// The layers of a file. Each layer comes after the layers that it reads, and the first one is the input.
struct onnx_network {
  std::vector<onnx_layer> layers{};
  std::vector<std::pair<std::string, int>> outputs{};  // name and layer; the first one is the result
  std::vector<std::string> input_names{};              // of the layers that are inputs, in order
  std::vector<input_moments> moments{};                // of these inputs; their names are empty
  std::string summary{};                               // the producer of the file
  bool is_own = false;                                 // whether typenet produced it
};

}  // namespace dsl::detail::TYPENET_MODE
