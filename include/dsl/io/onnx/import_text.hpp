// SPDX-License-Identifier: MIT
#pragma once

#include <dsl/detail/mode.hpp>
#include <dsl/io/onnx/import_network.hpp>
#include <dsl/io/onnx/import_tree.hpp>

#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace dsl::detail::TYPENET_MODE {

/// Whether a convolution has the same padding as with padding::same.
bool onnx_pads_same(onnx_network const& net, onnx_layer const& l);

/// Returns a layer as C++ source: "conv2d<64, 7, stride<2>, pad<3>, bias<false>>".
std::string onnx_layer_text(onnx_network const& net, onnx_layer const& l);

/// Returns the C++ type of a network's input: image<3, 224, 224>, features<7>.
std::string onnx_input_text(shape const& s);

/// Writes a tree as C++ source. Its larger parts get names.
class onnx_printer {
 public:
  explicit onnx_printer(onnx_network const& net) : net_(net) {}

  /// Returns the definitions of `model` and of its parts.
  std::string print(onnx_tree const& tree, std::string const& input);

 private:
  /// Returns a type on one line. With `with_aliases`, a part that has a name is written as this name.
  std::string flat(onnx_tree const& t, bool with_aliases = true) const;
  std::string wrapped(onnx_tree const& t, std::size_t indent, bool is_definition) const;
  void count(onnx_tree const& t, bool is_repeated);
  void define_inner(onnx_tree const& t);
  void define(onnx_tree const& t, std::string const& name);
  std::string unused(std::string name);
  std::pair<std::string, std::vector<onnx_tree const*>> parts(onnx_tree const& t) const;

  onnx_network const& net_;
  std::map<std::string, int> counts_{};           // of each type
  std::map<std::string, std::string> aliases_{};  // by the type
  std::set<std::string> taken_{};
  std::string text_{};
  std::string around_ = "block";  // the innermost name around a part
};

/// Makes a C++ identifier from a name. It is neither a keyword nor a name of the language dsl: "resnet18-v2" ->
/// resnet18_v2.
std::string onnx_identifier(std::string const& name);

}  // namespace dsl::detail::TYPENET_MODE

#ifdef TYPENET_DEFINITIONS
#include <dsl/io/onnx/import_text_inl.hpp>
#endif
