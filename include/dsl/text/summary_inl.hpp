// SPDX-License-Identifier: MIT
#pragma once

#include <dsl/detail/mode.hpp>
#include <dsl/placement/share.hpp>
#include <dsl/plan/budget.hpp>
#include <dsl/text/format.hpp>
#include <dsl/text/summary.hpp>

#include <algorithm>
#include <cstdio>
#include <string>
#include <vector>

#include <fmt/core.h>

namespace dsl::text::TYPENET_MODE {

TYPENET_INLINE layer_names::layer_names(graph_view const& g)
    : graph_(g), own_(static_cast<std::size_t>(g.size.scopes)), parent_(own_.size()), rank_() {
  for (int i = 0; i < g.size.nodes; ++i)
    rank_.push_back(g.nodes[i].kind == op::transfer ? 0 : ++own_[at(g.nodes[i].scope)]);
  for (int s = 1; s < g.size.scopes; ++s) parent_[at(g.scopes[s].parent)] = true;
}

TYPENET_INLINE std::string layer_names::path(int scope) const {
  std::string text;
  for (; scope > 0; scope = graph_.scopes[scope].parent)
    text = fmt::format("{}{}{}", graph_.scopes[scope].index, text.empty() ? "" : ".", text);
  return text;
}

TYPENET_INLINE std::string layer_names::name(int scope) const {
  detail::name const& n = graph_.scopes[scope].name;
  return {n.data, static_cast<std::size_t>(n.size)};
}

TYPENET_INLINE std::string layer_names::reference(int n) const {
  int const scope = graph_.nodes[n].scope;
  if (graph_.nodes[n].kind == op::input) return n == 0 ? "input" : "input " + name(scope);
  return own_[at(scope)] > 1 ? fmt::format("{}:{}", path(scope), rank_[at(n)]) : path(scope);
}

TYPENET_INLINE std::string layer_names::line(int n) const {
  node const& x = graph_.nodes[n];
  if (x.kind == op::input) return reference(n);
  if (is_one_node(x.scope)) return fmt::format("{:{}}{} {}", "", 2 * depth(x.scope) - 2, path(x.scope), name(x.scope));
  std::string const which = own_[at(x.scope)] > 1 ? reference(n) + " " : "";
  return fmt::format("{:{}}{}{}", "", 2 * depth(x.scope), which, operation(x));
}

TYPENET_INLINE int maker_of(graph_view const& g, int tensor) {
  int n = g.tensors[tensor].producer;
  while (g.nodes[n].kind == op::transfer) n = g.tensors[g.input(g.nodes[n])].producer;
  return n;
}

TYPENET_INLINE std::vector<summary_line> summary_lines(graph_view const& g) {
  layer_names const names(g);
  std::vector<summary_line> lines;
  std::vector<bool> said(static_cast<std::size_t>(g.size.scopes));
  int before = -1;
  for (int i = 0; i < g.size.nodes; ++i) {
    node const& n = g.nodes[i];
    if (n.kind == op::transfer) continue;
    std::vector<int> around;
    for (int s = n.scope; s > 0 && !said[static_cast<std::size_t>(s)]; s = g.scopes[s].parent) {
      said[static_cast<std::size_t>(s)] = true;
      if (!names.is_one_node(s)) around.insert(around.begin(), s);
    }
    for (int s : around)
      lines.push_back({fmt::format("{:{}}{} {}", "", 2 * names.depth(s) - 2, names.path(s), names.name(s))});
    long long parameters = 0;
    for (int p = n.first_parameter; p < n.first_parameter + n.parameters; ++p)
      if (!g.parameters[p].constant) parameters += g.parameters[p].count();
    summary_line line{names.line(i), shape(g.output_shape(n)), thousands(parameters)};
    if (g.size.devices > 1) line.device = fmt::format("{}", n.device);
    bool const follows = n.inputs == 0 || (n.inputs == 1 && maker_of(g, g.input(n)) == before);
    for (int k = 0; k < n.inputs && !follows; ++k)
      line.from += (k > 0 ? ", " : "") + names.reference(maker_of(g, g.input(n, k)));
    lines.push_back(line);
    before = i;
  }
  return lines;
}

TYPENET_INLINE std::string operations_again(graph_view const& g, plan const& p) {
  layer_names const names(g);
  std::string all;
  for (step const& s : p.steps)
    if (s.again && s.what == action::forward && s.micro == 0)
      all += fmt::format("{}{} {}", all.empty() ? "" : ", ", names.reference(s.node), operation(g.nodes[s.node]));
  return all.empty() ? "nothing" : all;
}

}  // namespace dsl::text::TYPENET_MODE

namespace dsl::TYPENET_MODE {

TYPENET_INLINE std::string summary(graph_view const& g, int micro_batches, memory_limit limit) {
  std::vector<text::summary_line> lines = text::summary_lines(g);
  bool const placed = g.size.devices > 1;
  lines.insert(lines.begin(), {"layer", "output", "parameters", placed ? "device" : "", "connected to"});
  std::size_t layer = 0, output = 0, parameters = 0, from = 0;
  bool branches = false;
  for (auto const& l : lines) {
    layer = std::max(layer, l.layer.size());
    output = std::max(output, l.output.size());
    parameters = std::max(parameters, l.parameters.size());
    from = std::max(from, l.from.size());
    branches = branches || (&l != lines.data() && !l.from.empty());
  }
  std::string const rule =
      std::string(layer + output + parameters + 4 + (placed ? 8 : 0) + (branches ? from + 2 : 0), '-') + "\n";
  std::string table;
  for (auto const& l : lines) {
    std::string line = fmt::format("{:{}}  {:>{}}  {:>{}}", l.layer, layer, l.output, output, l.parameters, parameters);
    if (placed) line += fmt::format("  {:>6}", l.device);
    if (branches) line += "  " + l.from;
    table += line.substr(0, line.find_last_not_of(' ') + 1) + "\n";
    if (&l == lines.data()) table += rule;
  }
  long long const all = parameter_count(g);
  long long const trainable = trainable_parameter_count(g);
  auto const total = [](char const* what, std::string const& value) {
    return fmt::format("{:<27}{:>13}\n", what, value);
  };
  plan_options const o{.batch = limit.batch > 0 ? limit.batch : 64, .micro_batches = micro_batches};
  recomputation const choice = limit.batch > 0 ? choose_recomputation(g, o, limit.bytes) : recomputation{};
  plan const training = make_plan(g, o, choice.again);
  table += rule + total("Total params:", text::thousands(all)) +
           total("Trainable params:", text::thousands(trainable)) +
           total("Non-trainable params:", text::thousands(all - trainable)) +
           total("Forward MACs per sample:", text::thousands(forward_macs(g)));
  if (training.micro_batches > 1) table += total("Micro-batches:", text::thousands(training.micro_batches));
  table += total(fmt::format("Training memory, batch {}:", o.batch).c_str(), text::bytes(training.bytes()));
  if (limit.batch > 0) {
    table += total("Memory budget:", text::bytes(limit.bytes));
    table += total("Computed again:", text::operations_again(g, training));
  }
  for (int d = 0; placed && d < g.size.devices; ++d) {
    device_share const s = share_of(g, training, d);
    table += fmt::format("Device {}: {} params, {} MACs, {}\n", d, text::thousands(s.parameters),
                         text::thousands(s.forward_macs), text::bytes(s.bytes));
  }
  if (placed) table += total("Between devices, per step:", text::bytes(traffic_of(g, training)));
  return table;
}

TYPENET_INLINE void summary_printer::print(graph_view const& g, int micro_batches, memory_limit limit) {
  std::string const table = summary(g, micro_batches, limit);
  std::fwrite(table.data(), 1, table.size(), stdout);
}

}  // namespace dsl::TYPENET_MODE
