// SPDX-License-Identifier: MIT
#pragma once

#include <dsl/detail/mode.hpp>
#include <dsl/io/onnx/import_names.hpp>

#include <cstddef>
#include <iterator>
#include <map>
#include <string>
#include <utility>
#include <vector>

namespace dsl::detail::TYPENET_MODE {

TYPENET_INLINE onnx_namer::onnx_namer(onnx_network const& net) : net_(net), paths_(net.layers.size()) {
  std::map<std::string, int> taken;
  for (std::size_t n = 0; n < net.layers.size(); ++n) {
    onnx_layer const& l = net.layers[n];
    std::string whole = l.path;
    if (whole.empty()) continue;
    if (!l.weights.empty())  // if two layers have the same weights, the second gets another name
      if (int const before = taken[whole]++; before > 0) whole += "_" + std::to_string(before + 1);
    paths_[n].emplace_back();
    for (char c : whole) {
      if (c == '.')
        paths_[n].emplace_back();
      else
        paths_[n].back() += c;
    }
  }
}

TYPENET_INLINE bool onnx_namer::has_weights(onnx_tree const& t) const {
  if (t.children.empty()) return t.layer >= 0 && !net_.layers[at(t.layer)].weights.empty();
  for (onnx_tree const& each : t.children)
    if (has_weights(each)) return true;
  return false;
}

TYPENET_INLINE bool onnx_namer::goes_with_the_last(onnx_tree const& t) const {
  if (is_mark(t)) return true;
  op const kind = t.layer >= 0 ? net_.layers[at(t.layer)].what.kind : op::input;
  return kind == op::activation || kind == op::dropout;
}

TYPENET_INLINE bool onnx_namer::common_path(onnx_tree const& t, bool with_weights, path& all) const {
  bool found = false;
  auto const add = [&](path const& other) {
    if (!found) all = other;
    std::size_t same = 0;
    while (same < all.size() && same < other.size() && all[same] == other[same]) ++same;
    all.resize(same);
    found = true;
  };
  bool const is_leaf = t.children.empty();
  if (is_leaf && t.layer >= 0 && !paths_[at(t.layer)].empty() &&
      (!with_weights || !net_.layers[at(t.layer)].weights.empty()))
    add(paths_[at(t.layer)]);
  for (onnx_tree const& each : t.children)
    if (path inner; common_path(each, with_weights, inner)) add(inner);
  return found;
}

TYPENET_INLINE void onnx_namer::name_branches(onnx_tree& t, std::size_t depth) const {
  if (t.what == onnx_tree::word::residual || t.what == onnx_tree::word::named_output) {
    t.children = grouped(std::move(t.children), depth);
    return;
  }
  for (onnx_tree& branch : t.children)
    if (branch.what == onnx_tree::word::sequential) branch.children = grouped(std::move(branch.children), depth);
}

TYPENET_INLINE std::vector<onnx_tree> onnx_namer::grouped(std::vector<onnx_tree> all, std::size_t depth) const {
  std::vector<std::string> names(all.size());  // the next name of each layer's path
  std::vector<char> alone(all.size());         // whether that name is the last one
  for (std::size_t i = 0; i < all.size(); ++i) {
    path own;
    bool const weighs = has_weights(all[i]);
    if (all[i].what == onnx_tree::word::named_output) continue;
    bool const known = common_path(all[i], weighs, own);
    if (known && own.size() > depth) {
      names[i] = own[depth];
      alone[i] = weighs && all[i].children.empty() && own.size() == depth + 1;
      if (!weighs && all[i].children.empty() && own.size() == depth + 1) names[i].clear();
    } else if (!known && i > 0 && !alone[i - 1] && goes_with_the_last(all[i])) {
      names[i] = names[i - 1];
    }
  }
  std::vector<onnx_tree> made;
  for (std::size_t i = 0; i < all.size();) {
    std::size_t end = i + 1;
    if (!alone[i] && !names[i].empty())
      while (end < all.size() && names[end] == names[i] && !alone[end]) ++end;
    while (end > i + 1 && is_mark(all[end - 1])) --end;  // a single layer in a name is not numbered
    std::vector<onnx_tree> run(std::make_move_iterator(all.begin() + static_cast<std::ptrdiff_t>(i)),
                               std::make_move_iterator(all.begin() + static_cast<std::ptrdiff_t>(end)));
    bool weighs = false;
    for (onnx_tree const& each : run) weighs = weighs || has_weights(each);
    if (names[i].empty() || !weighs) {
      for (onnx_tree& each : run) {
        name_branches(each, depth);
        made.push_back(std::move(each));
      }
    } else {
      onnx_tree group;
      group.what = onnx_tree::word::named;
      group.name = names[i];
      group.children = alone[i] ? std::move(run) : grouped(std::move(run), depth + 1);
      group.numbers = number(group.children);
      made.push_back(std::move(group));
    }
    i = end;
  }
  return made;
}

TYPENET_INLINE bool onnx_namer::number(std::vector<onnx_tree>& all) {
  using word = onnx_tree::word;
  bool any = false;
  std::size_t place = 0;  // taps are not counted in the names of weights
  for (onnx_tree const& each : all) {
    bool const named = each.what == word::named;
    if (is_mark(each)) continue;
    if (named && each.name != std::to_string(place)) return false;
    if (!named && each.what != word::layer && each.what != word::identity) return false;
    any = any || named;
    ++place;
  }
  if (!any || all.size() < 2) return false;
  for (onnx_tree& each : all) {
    if (each.what != word::named) continue;
    if (each.children.size() == 1 && each.children[0].what != word::named) {
      onnx_tree only = std::move(each.children[0]);
      each = std::move(only);
      continue;
    }
    // A numbered list has layers with weights and without a name. A sequential of one layer would be that layer itself.
    each.what = each.numbers || each.children.size() == 1 ? word::numbered : word::sequential;
    each.name.clear();
  }
  return true;
}

TYPENET_INLINE void onnx_namer::name(onnx_tree& tree) {
  tree.children = grouped(std::move(tree.children), 0);
  if (number(tree.children)) {
    onnx_tree all;
    all.what = onnx_tree::word::numbered;
    all.children = std::move(tree.children);
    tree.children.clear();
    tree.children.push_back(std::move(all));
  }
  repeat_in(tree);
}

TYPENET_INLINE void onnx_namer::repeat_in(onnx_tree& t) const {
  for (onnx_tree& each : t.children) repeat_in(each);
  using word = onnx_tree::word;
  bool const is_list = t.what == word::sequential || t.what == word::numbered || t.what == word::named ||
                       t.what == word::residual || t.what == word::named_output;
  if (is_list) t.children = repeated(std::move(t.children), net_);
}

TYPENET_INLINE std::vector<onnx_tree> onnx_namer::repeated(std::vector<onnx_tree> all, onnx_network const& net) {
  std::vector<onnx_tree> made;
  std::size_t const count = all.size();
  for (std::size_t i = 0; i < count;) {
    std::size_t best = 1, times = 1;
    for (std::size_t period = 1; period <= 8 && i + 2 * period <= count; ++period) {
      std::size_t end = i + period;
      while (end < count && onnx_same_type(net, all[end], all[end - period])) ++end;
      std::size_t const found = (end - i) / period;
      if (found > 1 && (found - 1) * period > (times - 1) * best) best = period, times = found;
    }
    if (times == 1) {
      made.push_back(std::move(all[i++]));
      continue;
    }
    onnx_tree group;
    group.what = onnx_tree::word::repeat;
    group.count = static_cast<int>(times);
    // The copies differ in their weights: all are kept, and the first period is printed.
    for (std::size_t k = 0; k < best * times; ++k) group.children.push_back(std::move(all[i + k]));
    made.push_back(std::move(group));
    i += best * times;
  }
  return made;
}

TYPENET_INLINE void onnx_name_tree(onnx_network const& net, onnx_tree& tree) { onnx_namer(net).name(tree); }

}  // namespace dsl::detail::TYPENET_MODE
