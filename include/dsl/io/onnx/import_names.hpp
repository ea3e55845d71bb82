// SPDX-License-Identifier: MIT
#pragma once

#include <dsl/detail/mode.hpp>
#include <dsl/io/onnx/import_tree.hpp>

#include <cstddef>
#include <map>
#include <string>
#include <vector>

namespace dsl::detail::TYPENET_MODE {

/// Puts named<...> and numbered<...> around the layers of a tree, so that weights get the names of the file's paths.
/// Also replaces equal neighbours by repeat<...>.
class onnx_namer {
 public:
  explicit onnx_namer(onnx_network const& net);

  void name(onnx_tree& tree);

 private:
  using path = std::vector<std::string>;

  static std::size_t at(int i) { return static_cast<std::size_t>(i); }
  static bool is_mark(onnx_tree const& t) { return t.what == onnx_tree::word::tap || t.what == onnx_tree::word::from; }
  bool has_weights(onnx_tree const& t) const;
  /// Whether a layer without a path probably belongs to the same module as the layer before it.
  bool goes_with_the_last(onnx_tree const& t) const;
  /// Finds the beginning that the paths of all layers in a tree have in common. Returns false if no layer has a path.
  bool common_path(onnx_tree const& t, bool with_weights, path& all) const;
  /// Names the layers of a sequence, which is already inside `depth` nested names.
  std::vector<onnx_tree> grouped(std::vector<onnx_tree> all, std::size_t depth) const;
  void name_branches(onnx_tree& t, std::size_t depth) const;
  /// If a name equals the position of its layer in the list, removes it. Returns whether all names were removed.
  static bool number(std::vector<onnx_tree>& all);
  static std::vector<onnx_tree> repeated(std::vector<onnx_tree> all, onnx_network const& net);
  void repeat_in(onnx_tree& t) const;

  onnx_network const& net_;
  std::vector<path> paths_;
};

/// Whether two trees stand for the same type.
bool onnx_same_type(onnx_network const& net, onnx_tree const& a, onnx_tree const& b);

}  // namespace dsl::detail::TYPENET_MODE

#ifdef TYPENET_DEFINITIONS
#include <dsl/io/onnx/import_names_inl.hpp>
#endif
