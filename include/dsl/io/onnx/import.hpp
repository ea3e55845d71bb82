// SPDX-License-Identifier: MIT
#pragma once

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
  /// The shape of the first input, for files that leave height and width open.
  dsl::shape input{0, 0, 0};
};

/// The network of an ONNX file: its C++ source, its graph and its weights. It lacks layers that do nothing in
/// inference, such as dropout, if the exporter left them out.
class imported_network {
 public:
  /// Reads the bytes of a file. `name` is the file's name for messages; further files with weights must be in `folder`.
  [[gnu::cold]] imported_network(std::string_view bytes, std::string name, std::string folder,
                                 onnx_import_options const& o = {});
  imported_network(imported_network const&) = delete;  // the graph points into the tree
  imported_network& operator=(imported_network const&) = delete;

  /// Returns a header that defines NAMESPACE::model and asserts its output and its parameters.
  [[gnu::cold]] std::string header(std::string const& namespace_name) const;

  /// Returns the graph of that model. It is valid as long as this object exists.
  graph_view view() const { return graph_.view(); }

  /// Returns which node of the file became node n of the graph, for messages: node 7, "/conv1/Conv" (Conv).
  [[gnu::cold]] std::string place(int n) const;

  /// Returns the name that the model's parameter k has in a .safetensors file.
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
/// layers and combinators cannot express it, and data_error if it cannot be read.
[[gnu::cold]] std::unique_ptr<imported_network> import_onnx(std::string const& path, onnx_import_options const& o = {});

}  // namespace dsl::TYPENET_MODE

#ifndef TYPENET_COMPILED
#include <dsl/io/onnx/import_inl.hpp>
#endif
