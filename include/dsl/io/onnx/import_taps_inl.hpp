// SPDX-License-Identifier: MIT
#pragma once

#include <dsl/detail/mode.hpp>
#include <dsl/io/onnx/import_taps.hpp>

#include <cstddef>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace dsl::detail::TYPENET_MODE {

/// Puts a tap behind each layer that a from<...> reads.
inline void onnx_put_tap(onnx_tree& t, std::vector<char>& tapped) {
  using word = onnx_tree::word;
  bool const splits = t.what == word::channel_split;
  bool const joins = splits || t.what == word::concat || t.what == word::add || t.what == word::multiply;
  std::vector<onnx_tree> made;
  for (onnx_tree& each : t.children) {
    onnx_put_tap(each, tapped);
    bool const is_tap = each.what == word::tap;
    if (is_tap && each.layer > 0 && !tapped[static_cast<std::size_t>(each.layer)])
      continue;  // the part of a channel_split
    int const n = each.layer < static_cast<int>(tapped.size()) ? each.layer : -1;
    bool const is_read = !joins && n >= 0 && each.what != word::from && tapped[static_cast<std::size_t>(n)];
    if (is_read) tapped[static_cast<std::size_t>(n)] = 0;
    made.push_back(std::move(each));
    if (!is_read || is_tap) continue;
    onnx_tree mark;
    mark.what = word::tap, mark.layer = n;
    made.push_back(std::move(mark));
  }
  t.children = std::move(made);
  for (onnx_tree& branch : t.children)
    if (splits && branch.what == word::sequential && branch.children.empty()) branch.what = word::identity;
}

/// Names taps. A name is free again after its last reader, so that equal blocks have equal names.
inline void onnx_name_taps(onnx_tree& t) {
  using word = onnx_tree::word;
  std::vector<onnx_tree*> marks;  // in the order in which they run
  auto const collect = [&](auto const& self, onnx_tree& x) -> void {
    if (x.what == word::tap || x.what == word::from) marks.push_back(&x);
    for (onnx_tree& each : x.children) self(self, each);
  };
  collect(collect, t);
  std::map<int, std::size_t> last;  // reader of each layer
  for (std::size_t i = 0; i < marks.size(); ++i) last[marks[i]->layer] = i;
  std::map<int, int> number;
  std::set<int> unused;
  int numbers = 0;
  for (std::size_t i = 0; i < marks.size(); ++i) {
    int const n = marks[i]->layer;
    if (marks[i]->what == word::tap) {
      if (unused.empty()) unused.insert(++numbers);
      number[n] = *unused.begin();
      unused.erase(unused.begin());
    }
    marks[i]->name = "skip" + std::to_string(number[n]);
    marks[i]->layer = -1;
    if (last[n] == i) unused.insert(number[n]);
  }
}

TYPENET_INLINE void onnx_put_taps(onnx_tree& all, std::vector<char>& tapped) {
  onnx_tree first;
  first.what = onnx_tree::word::tap, first.layer = 0;
  if (tapped[0]) all.children.insert(all.children.begin(), std::move(first));
  tapped[0] = 0;
  onnx_put_tap(all, tapped);
  onnx_name_taps(all);
}

}  // namespace dsl::detail::TYPENET_MODE
