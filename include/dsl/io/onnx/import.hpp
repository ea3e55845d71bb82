// SPDX-License-Identifier: MIT
#pragma once

#include <dsl/data/normalization.hpp>
#include <dsl/detail/mode.hpp>
#include <dsl/io/onnx/import_lower.hpp>
#include <dsl/io/onnx/import_network.hpp>
#include <dsl/io/onnx/import_tree.hpp>
#include <dsl/io/onnx/options.hpp>

#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace dsl::TYPENET_MODE {

/// Options for reading an ONNX file.
struct onnx_import_options {
  /// The shape of the first input. It is needed for files that leave height and width open.
  dsl::shape input{0, 0, 0};
};

/// The network of an ONNX file: its C++ source, its graph and its weights. If the exporter left out layers that do
/// nothing in inference, such as dropout, the network lacks them, too.
class imported_network {
 public:
  /// Reads a network from the bytes of a file. `name` is the file's name in messages. If the weights are in further
  /// files, these must be in `folder`.
  imported_network(std::string_view bytes, std::string name, std::string folder, onnx_import_options const& o = {});
  imported_network(imported_network const&) = delete;  // the graph points into the tree
  imported_network& operator=(imported_network const&) = delete;

  /// Returns a C++ header that defines NAMESPACE::model and asserts the shape of its output and its parameters.
  std::string header(std::string const& namespace_name) const;

  /// Returns the mean and the deviation with which the file normalises its inputs, if save_onnx wrote the file with
  /// .normalize. They are not part of the model. The names of the inputs are those of the model.
  dsl::normalization normalization() const;

  /// Returns the graph of the model. The view is valid as long as this object exists.
  graph_view view() const { return graph_.view(); }

  /// Returns, for messages, which node of the file has become node n of the graph: node 7, "/conv1/Conv" (Conv).
  std::string place(int n) const;

  /// Returns the names that the model's parameters have in a .safetensors file, by parameter number.
  std::vector<std::string> const& weight_names() const { return names_; }
  /// Returns the numbers of the model's parameter k, in typenet's layout, which is PyTorch's.
  std::vector<float> const& weights(int k) const { return *weights_[static_cast<std::size_t>(k)]; }

 private:
  std::string file_;
  detail::onnx_network net_{};
  detail::onnx_tree tree_{};
  detail::onnx_graph graph_{};
  std::vector<std::string> names_{};
  std::vector<std::vector<float> const*> weights_{};
};

/// Reads an ONNX file as a network. Throws onnx_error, which names the operator, if the file is damaged or if typenet's
/// layers and combinators cannot express it, and data_error if the file cannot be read.
std::unique_ptr<imported_network> import_onnx(std::string const& path, onnx_import_options const& o = {});

}  // namespace dsl::TYPENET_MODE

#ifdef TYPENET_DEFINITIONS
#include <dsl/io/onnx/import_inl.hpp>
#endif
