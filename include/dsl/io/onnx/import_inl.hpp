// SPDX-License-Identifier: MIT
#pragma once

#include <dsl/data/normalization.hpp>
#include <dsl/detail/mode.hpp>
#include <dsl/graph/graph.hpp>
#include <dsl/io/onnx/import.hpp>
#include <dsl/io/onnx/import_arithmetic.hpp>
#include <dsl/io/onnx/import_attention.hpp>
#include <dsl/io/onnx/import_file.hpp>
#include <dsl/io/onnx/import_fold.hpp>
#include <dsl/io/onnx/import_layers.hpp>
#include <dsl/io/onnx/import_movement.hpp>
#include <dsl/io/onnx/import_names.hpp>
#include <dsl/io/onnx/import_norms.hpp>
#include <dsl/io/onnx/import_operators.hpp>
#include <dsl/io/onnx/import_reader.hpp>
#include <dsl/io/onnx/import_text.hpp>
#include <dsl/io/onnx/import_tokens.hpp>
#include <dsl/io/onnx/import_windows.hpp>
#include <dsl/io/weight_names.hpp>
#include <dsl/rules/diagnose.hpp>
#include <dsl/rules/rule_message.hpp>
#include <dsl/training/checks.hpp>

#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace dsl::detail::TYPENET_MODE {

/// Whether a verdict is about the layer that node n belongs to, or about a layer around it.
inline bool onnx_is_about(graph_view const& g, int n, verdict const& why) {
  verdict here;
  place(g, n, here);
  bool same = here.depth >= why.depth;
  for (int i = 0; same && i < why.depth; ++i) same = here.path[i] == why.path[i];
  return same;
}

/// Returns what must hold by a rule. The rest of the rule's sentence is advice for networks that are written in C++.
inline std::string onnx_rule_text(rule broken) {
  std::string_view const sentence = rules::rule_message(broken);
  return std::string(sentence.substr(0, sentence.find(';')));
}

/// Returns text that can be put into a one-line comment.
inline std::string onnx_comment(std::string_view text) {
  std::string all;
  for (char c : text.substr(0, 100)) all += c >= 0x20 && c < 0x7f && c != '\\' && c != '?' ? c : '_';
  return all;
}

}  // namespace dsl::detail::TYPENET_MODE

namespace dsl::TYPENET_MODE {

TYPENET_INLINE imported_network::imported_network(std::string_view bytes, std::string name, std::string folder,
                                                  onnx_import_options const& o)
    : file_(std::move(name)) {
  {
    detail::onnx_file file(bytes, file_, std::move(folder));
    net_ = detail::onnx_reader(file, o.input).read();
  }
  tree_ = detail::onnx_tree_of(net_, file_);
  detail::onnx_tree const plain = tree_;
  detail::onnx_name_tree(net_, tree_);
  graph_ = detail::onnx_lower(net_, tree_);
  try {
    names_ = dsl::weight_names(graph_.view());
  } catch (option_error const&) {  // two of the file's paths are equal; names by position are not
    tree_ = plain;
    graph_ = detail::onnx_lower(net_, tree_);
    names_ = dsl::weight_names(graph_.view());
  }
  graph_view const g = graph_.view();
  if (!graph_.why.holds()) {
    int n = 0;
    for (int i = 0; i < g.size.nodes; ++i)
      if (detail::onnx_is_about(g, i, graph_.why)) n = graph_.layers[static_cast<std::size_t>(i)];
    std::string const layer = detail::onnx_layer_text(net_, net_.layers[static_cast<std::size_t>(n < 0 ? 0 : n)]);
    throw onnx_error(onnx_fault::unsupported,
                     "onnx: " + file_ + ": " + net_.layers[static_cast<std::size_t>(n < 0 ? 0 : n)].place +
                         " must be a layer that typenet accepts; found " + layer + ", which breaks the rule \"" +
                         detail::onnx_rule_text(graph_.why.broken) + "\"; " + detail::onnx_advice);
  }
  for (int n = 0; n < g.size.nodes; ++n) {
    int const from = graph_.layers[static_cast<std::size_t>(n)];
    if (from < 0) continue;
    detail::onnx_layer const& l = net_.layers[static_cast<std::size_t>(from)];
    if (g.nodes[n].parameters != static_cast<int>(l.weights.size()))
      throw error("onnx: " + file_ + ": " + l.place + " must have the " + std::to_string(g.nodes[n].parameters) +
                  " weights of its layer; found " + std::to_string(l.weights.size()) +
                  "; this is an error of typenet, so please report the network");
    for (std::vector<float> const& each : l.weights) {
      if (g.parameters[weights_.size()].count() != static_cast<long long>(each.size()))
        throw error("onnx: " + file_ + ": " + l.place + " must have " +
                    std::to_string(g.parameters[weights_.size()].count()) + " numbers in a weight; found " +
                    std::to_string(each.size()) + "; this is an error of typenet, so please report the network");
      weights_.push_back(&each);
    }
  }
}

TYPENET_INLINE std::string imported_network::place(int n) const {
  int const from = graph_.layers[static_cast<std::size_t>(n)];
  return from < 0 ? "a channel_split" : net_.layers[static_cast<std::size_t>(from)].place;
}

TYPENET_INLINE normalization imported_network::normalization() const {
  dsl::normalization all;
  graph_view const g = graph_.view();
  for (int n = 0; n < g.size.nodes; ++n) {
    auto const from = static_cast<std::size_t>(graph_.layers[static_cast<std::size_t>(n)]);
    if (g.nodes[n].kind != op::input || from >= net_.moments.size()) continue;
    input_moments m = net_.moments[from];
    if (is_further_input(g, n)) m.input = detail::name_of_input(g, n);
    if (m.mean || m.deviation) all.inputs.push_back(std::move(m));
  }
  return all;
}

TYPENET_INLINE std::string imported_network::header(std::string const& namespace_name) const {
  graph_view const g = graph_.view();
  auto const with_marks = [](long long n) {
    std::string text = std::to_string(n);
    for (std::size_t at = text.size(); at > 3;) text.insert(at -= 3, "'");
    return text;
  };
  std::string const own = detail::onnx_identifier(namespace_name);
  dsl::shape const& out = g.shape_of(g.result());
  std::string const shape =
      "shape{" + std::to_string(out.channels) +
      (out.is_flat() ? "" : ", " + std::to_string(out.height) + ", " + std::to_string(out.width)) + "}";
  std::string const input = detail::onnx_input_text(g.output_shape(g.nodes[0]));
  std::string text = "// Made by onnx_to_typenet from ";
  text +=
      detail::onnx_comment(file_) + (net_.summary.empty() ? "" : ", written by " + detail::onnx_comment(net_.summary));
  text += ".\n";
  for (detail::onnx_layer const& l : net_.layers)
    if (l.is_reordered)
      text += "// The input channels of " + detail::onnx_comment(l.place) +
              " are in a different order than in the file:\n// take its weights from the file that onnx_to_typenet has "
              "written, not from the original file.\n";
  if (!net_.moments.empty())
    text +=
        "// The file normalises its inputs. The mean and the deviation are with the weights that onnx_to_typenet has\n"
        "// written; they are not part of the network.\n";
  text += "#pragma once\n\n#include <dsl/language.hpp>\n\nnamespace " + own + " {\n\nusing namespace dsl;\n\n";
  text += detail::onnx_printer(net_).print(tree_, graph_.is_intended ? "intended<" + input + ">" : input);
  text += "\nstatic_assert(model::gives<" + shape +
          ">);\nstatic_assert(model::parameter_count == " + with_marks(parameter_count(g)) + ");\n\n}  // namespace " +
          own + "\n";
  return text;
}

TYPENET_INLINE std::unique_ptr<imported_network> import_onnx(std::string const& path, onnx_import_options const& o) {
  std::string const bytes = detail::read_onnx_bytes(path);
  return std::make_unique<imported_network>(bytes, path, detail::onnx_folder(path), o);
}

}  // namespace dsl::TYPENET_MODE
