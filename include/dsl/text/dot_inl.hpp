// SPDX-License-Identifier: MIT
#pragma once

#include <dsl/detail/mode.hpp>
#include <dsl/detail/utf8.hpp>
#include <dsl/formats/table.hpp>
#include <dsl/network.hpp>
#include <dsl/text/dot.hpp>
#include <dsl/text/format.hpp>
#include <dsl/text/summary.hpp>

#include <algorithm>
#include <cstddef>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/core.h>

namespace dsl::text::TYPENET_MODE {

TYPENET_INLINE std::string dot_string(std::string_view s) {
  std::string quoted = "\"";
  for (std::size_t begin = 0, end = 0; begin <= s.size(); begin = end + 1) {
    end = std::min(s.find('\n', begin), s.size());
    if (begin > 0) quoted += "\\n";
    for (char const c : detail::without_controls(s.substr(begin, end - begin))) {
      if (c == '"' || c == '\\') quoted += '\\';
      quoted += c;
      if (c == '&') quoted += "amp;";
    }
  }
  return quoted + '"';
}

TYPENET_INLINE std::string dot_details(node const& n) {
  if (contains(facts_of(n).options, operations::options::share)) return fmt::format(" {:g}", n.rate);
  formats::row const& row = formats::row_of(n.kind);
  std::string text = row.shows_window ? fmt::format(" {}x{}", n.window.height, n.window.width) : "";
  window_side const rows = n.window.rows(), columns = n.window.columns();
  auto const add = [&text](char const* what, int a, int b) {
    if (text.empty() || (a == 1 && b == 1)) return;
    text += a == b ? fmt::format(", {} {}", what, a) : fmt::format(", {} {}x{}", what, a, b);
  };
  add("stride", rows.stride, columns.stride);
  add("dilation", rows.dilation, columns.dilation);
  if (n.groups > 1) text += fmt::format(", {} {}", n.groups, row.parts);
  return text;
}

TYPENET_INLINE dot_writer::dot_writer(graph_view const& g, bool collapses)
    : graph_(g),
      names_(g),
      blocks_(g),
      collapses_(collapses),
      device_(static_cast<std::size_t>(g.size.scopes), nobody) {
  for (int i = 0; i < g.size.nodes; ++i)
    for (int s = g.nodes[i].scope; s >= 0 && g.nodes[i].kind != op::transfer; s = g.scopes[s].parent) {
      int& d = device_[static_cast<std::size_t>(s)];
      d = d == nobody || d == g.nodes[i].device ? g.nodes[i].device : several;
    }
}

TYPENET_INLINE std::string dot_writer::layers(int indent) {
  for (int i = 0; i < graph_.size.nodes; ++i) {
    node const& n = graph_.nodes[i];
    if (n.kind == op::transfer || shown(i) != i) continue;
    std::vector<int> around;  // the clusters that contain the node, from the outermost
    for (int s = n.scope; s > 0; s = graph_.scopes[s].parent)
      if (!names_.is_one_node(s)) around.insert(around.begin(), s);
    std::size_t common = 0;
    while (common < open_.size() && common < around.size() && open_[common] == around[common]) ++common;
    while (open_.size() > common) leave(indent);
    while (open_.size() < around.size()) enter(around[open_.size()], indent);
    line(indent, fmt::format("n{} [label={}{}];", i, dot_string(label(i)), look(n)));
  }
  while (!open_.empty()) leave(indent);
  return std::exchange(text_, {});
}

TYPENET_INLINE std::string dot_writer::edges(int indent) {
  for (int i = 0; i < graph_.size.nodes; ++i) {
    node const& n = graph_.nodes[i];
    for (int k = 0; k < n.inputs && n.kind != op::transfer && shown(i) == i; ++k) {
      int const from = shown(maker_of(graph_, graph_.input(n, k)));
      int const before = graph_.nodes[from].device;
      line(indent,
           fmt::format("n{} -> n{}{};", from, i,
                       before == n.device ? "" : fmt::format(" [style=dashed, label=\"{} to {}\"]", before, n.device)));
    }
  }
  return std::exchange(text_, {});
}

TYPENET_INLINE std::string dot_writer::label(int i) const {
  node const& n = graph_.nodes[i];
  bool const whole = n.kind != op::input && names_.is_one_node(n.scope);
  std::string text = n.kind == op::input ? names_.reference(i) : names_.reference(i) + " ";
  if (facts_of(n).inputs > 1 || (n.kind != op::input && !whole))
    text = operation(n);
  else if (n.kind != op::input)
    text += names_.name(n.scope);
  text += dot_details(n) + "\n" + shape(graph_.output_shape(n));
  long long parameters = 0;
  for (int p = n.first_parameter; p < n.first_parameter + n.parameters; ++p)
    if (!graph_.parameters[p].constant) parameters += graph_.parameters[p].count();
  if (parameters > 0) text += "\n" + thousands(parameters) + (parameters == 1 ? " parameter" : " parameters");
  if (placed() && device_of(n.scope) == several) text += fmt::format("\ndevice {}", n.device);
  return text;
}

TYPENET_INLINE std::string dot_writer::look(node const& n) const {
  static constexpr char const* devices[] = {"#dbe9f6", "#fde3cf", "#dcefdc", "#ecdff0", "#fbf3c8", "#f6d9e3"};
  char const* const colour = placed() ? devices[n.device % 6] : n.parameters > 0 ? devices[0] : "#f4f4f4";
  bool const joins = facts_of(n).inputs > 1 || n.kind == op::input;
  return fmt::format(", fillcolor=\"{}\"{}", colour, joins ? ", shape=ellipse" : "");
}

TYPENET_INLINE void dot_writer::enter(int scope, int indent) {
  std::string what = names_.path(scope) + " " + names_.name(scope);
  if (int const times = blocks_.count(scope); collapses_ && times > 1)
    what += fmt::format("\n{} identical blocks; the last is {}", times, names_.path(blocks_.last(scope)));
  int const device = device_of(scope);
  if (placed() && device >= 0 && device_of(graph_.scopes[scope].parent) == several)
    what += fmt::format("\ndevice {}", device);
  line(indent, fmt::format("subgraph cluster_{} {{", scope));
  open_.push_back(scope);
  line(indent, fmt::format("label={};", dot_string(what)));
}

TYPENET_INLINE void dot_writer::leave(int indent) {
  open_.pop_back();
  line(indent, "}");
}

TYPENET_INLINE void dot_writer::line(int indent, std::string const& words) {
  text_.append(static_cast<std::size_t>(indent) + 2 * open_.size(), ' ').append(words) += '\n';
}

}  // namespace dsl::text::TYPENET_MODE

namespace dsl::TYPENET_MODE {

TYPENET_INLINE std::string dot(graph_view const& g, dot_options const& o) {
  text::dot_writer writer(g, o.collapse);
  bool const framed = o.towers > 1 || o.micro_batches > 1;
  std::string const title = (o.title.empty() ? "" : o.title + "\n") + text::thousands(parameter_count(g)) +
                            " parameters, " + text::thousands(forward_macs(g)) + " multiply-adds per sample";
  std::string all =
      "digraph network {\n"
      "  graph [fontname=\"DejaVu Sans,sans-serif\", fontsize=11, labelloc=t, labeljust=l, style=rounded, "
      "color=\"#888888\", nodesep=0.2, "
      "ranksep=0.25];\n"
      "  node [fontname=\"DejaVu Sans,sans-serif\", fontsize=10, shape=box, style=\"rounded,filled\", "
      "color=\"#888888\", "
      "margin=\"0.12,0.04\", height=0.2];\n"
      "  edge [fontname=\"DejaVu Sans,sans-serif\", fontsize=9, color=\"#555555\", arrowsize=0.6];\n";
  all += "  label=" + text::dot_string(title) + ";\n";
  if (framed) {
    std::string frame;
    if (o.towers > 1)
      frame += fmt::format("towers 0 to {}: each has these layers, and a part of every batch", o.towers - 1);
    if (o.micro_batches > 1)
      frame += fmt::format("{}{} is computed in {} micro-batches", frame.empty() ? "" : "\n",
                           o.towers > 1 ? "this part" : "every batch", o.micro_batches);
    all += "  batch [shape=ellipse, fillcolor=\"#ffffff\"];\n  subgraph cluster_towers {\n    label=" +
           text::dot_string(frame) + ";\n    style=\"rounded,dashed\";\n";
  }
  all += writer.layers(framed ? 4 : 2);
  if (framed) {
    all +=
        "  }\n  outputs [label=\"outputs, in order\", shape=ellipse, fillcolor=\"#ffffff\"];\n"
        "  batch -> n0;\n";
    for (int k = 0; k < output_count(g); ++k)
      all += fmt::format("  n{} -> outputs;\n", writer.shown(text::maker_of(g, g.nodes[output_node(g, k)].output)));
  }
  return all + writer.edges(2) + "}\n";
}

}  // namespace dsl::TYPENET_MODE
