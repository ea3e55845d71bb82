// SPDX-License-Identifier: MIT
#pragma once

#include <dsl/detail/mode.hpp>
#include <dsl/io/onnx/import_taps.hpp>
#include <dsl/io/onnx/import_tree.hpp>
#include <dsl/io/onnx/options.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace dsl::detail::TYPENET_MODE {

/// Makes the tree of a network's layers. dominator_[n] is the last layer before n that is on every path from the first
/// input to n.
class onnx_tree_maker {
 public:
  onnx_tree_maker(onnx_network& net, std::string const& file)
      : net_(net),
        file_(file),
        dominator_(net.layers.size(), none),
        live_(net.layers.size()),
        used_(live_),
        tapped_(live_),
        nested_(live_),
        of_result_(live_),
        readers_(net.layers.size()) {}

  onnx_tree make();

 private:
  static constexpr int none = -1;
  static constexpr int deepest = 80;  // of the 100 levels of a type, since the names of a path take up to 17
  /// A further output: the layer that computes it, the last layer before it that is on every path to it and that the
  /// result depends on, and its number.
  struct further {
    int last, begin, output;
  };
  static std::size_t at(int i) { return static_cast<std::size_t>(i); }
  onnx_layer const& layer(int n) const { return net_.layers[at(n)]; }

  [[noreturn]] void fail(int n, char const* must, std::string const& found) const {
    throw onnx_error(onnx_fault::other_connection,
                     "onnx: " + file_ + ": " + layer(n).place + " " + must + "; found " + found + "; " + onnx_advice);
  }
  /// Returns the last layer that is on every path to a and on every path to b. Throws if the file has taken too many
  /// steps for this.
  int common(int a, int b) const;
  void find_dominators();
  void find_outputs();
  /// Decides behind which layer of the result each further output begins: as early as its operands and those further
  /// outputs that it depends on allow, or, if the tree is flat, where its first layer is in the file.
  void place_outputs();
  /// Whether operands of a join that share layers are not next to each other.
  bool is_tangled(int n) const;
  /// Returns some operands of a concat in an order in which those that share layers after layer `from` are neighbours.
  std::vector<std::size_t> untangled(std::vector<int> const& in, std::vector<std::size_t> all, int from) const;
  /// Reorders the operands of tangled concats, and the weights of the convolution after them to match.
  /// The path of such a convolution ends with _reordered.
  void sort_concats();
  /// Returns the layers that compute layer `to` from layer `from`, without those that earlier branches contain.
  onnx_tree way(int from, int to, int depth);
  /// Returns the numbers of these layers, in order. Layers inside the branches of a join are not among them.
  std::vector<int> chain(int from, int to, int depth);
  /// Whether the layers between join n and its dominator can be its branches: nothing else reads them, and branches
  /// share only layers that another branch ends with or, of a concat, begins with.
  bool is_nested(int n, int depth);
  /// Appends a from<...> if the value that follows is not that of layer `from`.
  void read_from(int from, int& current, onnx_tree& to);
  /// Returns a join whose operands are named, but for the one that the layer before it computes.
  onnx_tree flat_join(int n, int current);
  onnx_tree from_tap(int n);
  static int depth_of(onnx_tree const& t);
  /// Whether the layers of a tree run in the order in which the file has them.
  bool in_order(onnx_tree const& t, int& last) const;
  onnx_tree join(int n, int from, int depth);
  /// Returns the branches from layer `from` to the operands of join n. Of a concat, operands that share layers are one
  /// branch.
  std::vector<onnx_tree> branches(int n, std::vector<int> const& inputs, int from, int depth);
  /// Returns one branch of concat n, for some of its operands. All of these depend on layer `deep`.
  onnx_tree inner_concat(int n, std::vector<int> const& inputs, int from, int deep, int depth);
  /// Whether a layer is computed in each branch that reads it, because it costs nothing.
  bool is_repeated(int n) const { return !is_flat_ && layer(n).what.kind == op::flatten; }
  void add_outputs(int n, onnx_tree& to);

  onnx_network& net_;
  std::string const& file_;
  std::vector<int> dominator_;
  std::vector<char> live_, used_, tapped_, nested_;
  std::vector<char> of_result_;              // whether the network's result depends on it
  std::vector<std::vector<int>> readers_;    // of layers that are alive
  mutable std::int64_t steps_ = 1 << 25;     // that common() may still take
  std::int64_t nesting_steps_ = 1 << 22;     // that is_nested() may still take
  bool is_flat_ = false;                     // whether no join has branches of its own
  std::vector<further> heads_{};             // in the order of their last layers
  std::vector<std::vector<int>> outputs_{};  // further outputs that begin at each layer
};

TYPENET_INLINE int onnx_tree_maker::common(int a, int b) const {
  if (a == none) return b;
  if (b == none) return a;
  while (a != b) {
    if (--steps_ < 0)
      fail(a > b ? a : b, "must be in a graph whose paths can be compared in 33,554,432 steps", "that more are needed");
    if (a > b)
      a = dominator_[at(a)];
    else
      b = dominator_[at(b)];
    if (a == none || b == none) return 0;
  }
  return a;
}

TYPENET_INLINE void onnx_tree_maker::find_dominators() {
  int const count = static_cast<int>(net_.layers.size());
  for (auto const& [name, n] : net_.outputs) live_[at(n)] = 1;
  for (int n = count; n-- > 0;)
    if (live_[at(n)])
      for (int in : layer(n).inputs) live_[at(in)] = 1;
  std::vector<char> rooted(net_.layers.size());  // whether the first input reaches it
  rooted[0] = 1;
  for (int n = 1; n < count; ++n) {
    int found = none;
    for (int in : layer(n).inputs)
      if (rooted[at(in)]) found = found == none ? in : common(found, in), rooted[at(n)] = 1;
    dominator_[at(n)] = found;
  }
}

TYPENET_INLINE void onnx_tree_maker::find_outputs() {
  of_result_[at(net_.outputs[0].second)] = 1;
  for (int n = static_cast<int>(net_.layers.size()); n-- > 0;) {
    if (!live_[at(n)]) continue;
    for (int in : layer(n).inputs) {
      if (of_result_[at(n)]) of_result_[at(in)] = 1;
      readers_[at(in)].push_back(n);
    }
  }
  for (std::size_t k = 1; k < net_.outputs.size(); ++k) {
    int const last = net_.outputs[k].second;
    int begin = last;
    while (begin != none && !of_result_[at(begin)]) begin = dominator_[at(begin)];
    if (begin == last)
      fail(last,
           "must compute an output that the network's result does not depend on, since a named_output<...> has layers "
           "of its own",
           "an output that it depends on");
    if (begin == none)
      fail(last, "must compute an output from a value that the network's result depends on", "another value");
    heads_.push_back({last, begin, static_cast<int>(k)});
  }
  std::sort(heads_.begin(), heads_.end(), [](further const& a, further const& b) { return a.last < b.last; });
  for (std::size_t i = 1; i < heads_.size(); ++i)
    if (heads_[i].last == heads_[i - 1].last)
      fail(heads_[i].last, "must compute one output, since each named_output<...> has layers of its own",
           "that it computes two");
  place_outputs();
}

TYPENET_INLINE void onnx_tree_maker::place_outputs() {
  outputs_.assign(live_.size(), {});
  std::vector<int> taken(live_.size(), none);  // behind which layer the output begins that has this layer
  for (further const& h : heads_) {
    int first = h.last, behind = h.begin;
    std::vector<int> own;
    for (std::vector<int> todo{h.last}; !todo.empty();) {
      int const v = todo.back();
      todo.pop_back();
      if (of_result_[at(v)]) continue;
      if (taken[at(v)] != none) {
        behind = std::max(behind, taken[at(v)]);
        continue;
      }
      taken[at(v)] = 0;
      own.push_back(v);
      first = std::min(first, v);
      todo.insert(todo.end(), layer(v).inputs.begin(), layer(v).inputs.end());
    }
    if (is_flat_)
      for (behind = first - 1; behind > 0 && !of_result_[at(behind)];) --behind;
    for (int v : own) taken[at(v)] = behind;
    outputs_[at(behind)].push_back(h.output);
  }
}

TYPENET_INLINE bool onnx_tree_maker::is_tangled(int n) const {
  std::vector<int> const& in = layer(n).inputs;
  if (in.size() > 64) return false;
  for (std::size_t i = 0; i < in.size(); ++i) {
    bool parted = false;
    for (std::size_t k = i + 1; k < in.size(); ++k) {
      bool const shares = common(in[i], in[k]) > dominator_[at(n)];
      if (shares && parted) return true;
      parted = parted || !shares;
    }
  }
  return false;
}

TYPENET_INLINE std::vector<std::size_t> onnx_tree_maker::untangled(std::vector<int> const& in,
                                                                   std::vector<std::size_t> all, int from) const {
  std::sort(all.begin(), all.end(), [&](std::size_t a, std::size_t b) { return in[a] < in[b]; });
  std::vector<std::size_t> order;
  std::vector<char> done(all.size());
  for (std::size_t i = 0; i < all.size(); ++i) {
    if (done[i]) continue;
    std::vector<std::size_t> group{all[i]};
    int deep = in[all[i]];
    for (std::size_t k = i + 1; k < all.size(); ++k)
      if (int const both = common(deep, in[all[k]]); !done[k] && both > from)
        deep = both, done[k] = 1, group.push_back(all[k]);
    if (group.size() > 1) group = untangled(in, std::move(group), deep);
    order.insert(order.end(), group.begin(), group.end());
  }
  return order;
}

TYPENET_INLINE void onnx_tree_maker::sort_concats() {
  int const count = static_cast<int>(net_.layers.size());
  std::vector<int> readers(net_.layers.size()), reader(net_.layers.size(), none);
  for (int n = 0; n < count; ++n)
    if (live_[at(n)])
      for (int in : layer(n).inputs) ++readers[at(in)], reader[at(in)] = n;
  for (auto const& [name, n] : net_.outputs) ++readers[at(n)];
  for (int n = 0; n < count; ++n) {
    bool const is_candidate = live_[at(n)] && layer(n).what.kind == op::concat && readers[at(n)] == 1 &&
                              reader[at(n)] != none && !net_.is_own;  // the one reader may be an output of the network
    if (!is_candidate || layer(reader[at(n)]).what.kind != op::conv2d || layer(reader[at(n)]).what.groups != 1 ||
        !is_tangled(n))
      continue;
    std::vector<int>& inputs = net_.layers[at(n)].inputs;
    std::vector<std::size_t> order(inputs.size()), begins(inputs.size());
    std::size_t channels = 0;
    for (std::size_t i = 0; i < inputs.size(); ++i) {
      order[i] = i, begins[i] = channels;
      channels += at(layer(inputs[i]).out.channels);
    }
    order = untangled(inputs, std::move(order), dominator_[at(n)]);
    onnx_layer& conv = net_.layers[at(reader[at(n)])];
    conv.is_reordered = true;
    if (!conv.path.empty()) conv.path += "_reordered";  // so that the original weights don't fit by name
    std::vector<float>& kernel = conv.weights[0];
    std::size_t const filters = at(conv.out.channels), each = kernel.size() / (filters * channels);
    std::vector<float> sorted;
    sorted.reserve(kernel.size());
    for (std::size_t f = 0; f < filters; ++f)
      for (std::size_t i : order) {
        auto const from = kernel.begin() + static_cast<std::ptrdiff_t>((f * channels + begins[i]) * each);
        sorted.insert(sorted.end(), from, from + static_cast<std::ptrdiff_t>(at(layer(inputs[i]).out.channels) * each));
      }
    kernel = std::move(sorted);
    std::vector<int> moved;
    moved.reserve(order.size());
    for (std::size_t i : order) moved.push_back(inputs[i]);
    inputs = std::move(moved);
  }
}

TYPENET_INLINE onnx_tree onnx_tree_maker::make() {
  find_dominators();
  sort_concats();
  find_outputs();
  if (!live_[0] || net_.outputs[0].second == 0)
    fail(0, "must be an input that the output depends on", "that the output is independent of it");
  std::size_t const count = live_.size();
  onnx_tree all = way(0, net_.outputs[0].second, 0);
  int last = none;
  // A file of typenet's becomes the network that was saved. C++ types may be nested at most 100 deep.
  if ((net_.is_own && !in_order(all, last)) || depth_of(all) > deepest) {
    used_.assign(count, 0), tapped_.assign(count, 0);
    used_[0] = 1;
    is_flat_ = true;
    place_outputs();
    all = way(0, net_.outputs[0].second, 0);
  }
  for (int n = 1; n < static_cast<int>(count); ++n)
    if (live_[at(n)] && !used_[at(n)]) {
      std::string reads;
      for (int const from : layer(n).inputs) reads += (reads.empty() ? "" : " and ") + layer(from).place;
      fail(n, "must be on a path that sequential layers and branches can describe",
           "other connections; it reads " + reads);
    }
  onnx_put_taps(all, tapped_);
  return all;
}

TYPENET_INLINE int onnx_tree_maker::depth_of(onnx_tree const& t) {
  int inner = 0;
  for (onnx_tree const& each : t.children) inner = std::max(inner, depth_of(each));
  return 1 + inner;
}

TYPENET_INLINE bool onnx_tree_maker::in_order(onnx_tree const& t, int& last) const {
  for (onnx_tree const& each : t.children)
    if (!in_order(each, last)) return false;
  using word = onnx_tree::word;  // inputs may stand anywhere
  bool const is_layer = t.layer >= 0 && t.what != word::tap && t.what != word::from && t.what != word::named_input;
  if (!is_layer || t.layer >= static_cast<int>(live_.size()) || is_repeated(t.layer)) return true;
  bool const later = t.layer > last;
  last = t.layer;
  return later;
}

TYPENET_INLINE bool onnx_tree_maker::is_nested(int n, int depth) {
  std::vector<int> const& inputs = layer(n).inputs;
  if (is_flat_ || depth > 30) return false;
  int const begin = dominator_[at(n)];
  std::map<int, std::size_t> branch;  // of each layer in between
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    for (std::vector<int> todo{inputs[i]}; !todo.empty();) {
      int const v = todo.back();
      todo.pop_back();
      if (--nesting_steps_ < 0) return false;
      if (v == begin || used_[at(v)]) continue;
      auto const [found, is_new] = branch.emplace(v, i);
      if (is_new) {
        todo.insert(todo.end(), layer(v).inputs.begin(), layer(v).inputs.end());
        continue;
      }
      bool const may_be_shared = found->second == i || is_repeated(v) ||
                                 std::find(inputs.begin(), inputs.end(), v) != inputs.end() ||
                                 (layer(n).what.kind == op::concat && common(inputs[i], inputs[found->second]) > begin);
      if (!may_be_shared) return false;
    }
  }
  for (auto const& [v, i] : branch)
    for (int reader : readers_[at(v)])
      if (reader != n && branch.count(reader) == 0 && !is_repeated(v) && (of_result_[at(reader)] || !of_result_[at(v)]))
        return false;
  return true;
}

TYPENET_INLINE std::vector<int> onnx_tree_maker::chain(int from, int to, int depth) {
  std::vector<int> all;
  for (std::set<int> todo{to}; !todo.empty();) {
    int const n = *todo.rbegin();
    todo.erase(n);
    if (n == from || (used_[at(n)] && !is_repeated(n))) continue;
    all.push_back(n);
    std::vector<int> const& inputs = layer(n).inputs;
    nested_[at(n)] = inputs.size() > 1 && is_nested(n, depth);
    if (nested_[at(n)]) {
      if (dominator_[at(n)] != none) todo.insert(dominator_[at(n)]);
    } else {
      todo.insert(inputs.begin(), inputs.end());
    }
  }
  std::reverse(all.begin(), all.end());
  return all;
}

TYPENET_INLINE onnx_tree onnx_tree_maker::from_tap(int n) {
  onnx_tree t;
  t.what = onnx_tree::word::from;
  t.layer = n;
  tapped_[at(n)] = 1;
  return t;
}

TYPENET_INLINE void onnx_tree_maker::read_from(int from, int& current, onnx_tree& to) {
  if (from != current) to.children.push_back(from_tap(from));
  current = from;
}

TYPENET_INLINE onnx_tree onnx_tree_maker::flat_join(int n, int current) {
  using word = onnx_tree::word;
  op const kind = layer(n).what.kind;
  onnx_tree all;
  all.layer = n;
  all.what = kind == op::add ? word::add : kind == op::multiply ? word::multiply : word::concat;
  for (int in : layer(n).inputs) {
    onnx_tree operand;
    operand.what = word::identity;
    all.children.push_back(in == current ? std::move(operand) : from_tap(in));
  }
  return all;
}

TYPENET_INLINE onnx_tree onnx_tree_maker::way(int from, int to, int depth) {
  onnx_tree all;
  int current = from;
  if (from == 0 && depth == 0) add_outputs(0, all);
  for (int n : chain(from, to, depth)) {
    if (used_[at(n)] && !is_repeated(n)) continue;    // a branch contains it meanwhile
    std::vector<int> const inputs = layer(n).inputs;  // a copy, since layers may be added
    onnx_tree here;
    if (nested_[at(n)]) {
      if (dominator_[at(n)] != none) read_from(dominator_[at(n)], current, all);
      here = join(n, current, depth);
    } else if (inputs.size() > 1) {
      here = flat_join(n, current);
    } else {
      here.layer = n;
      here.what = inputs.empty() ? onnx_tree::word::named_input : onnx_tree::word::layer;
      if (inputs.empty())
        for (std::size_t i = 0, k = 0; i <= at(n); ++i)
          if (net_.layers[i].what.kind == op::input) here.name = net_.input_names[k++];
      if (!inputs.empty()) read_from(inputs[0], current, all);
    }
    bool const is_first = !used_[at(n)];
    used_[at(n)] = 1;
    current = n;
    all.children.push_back(std::move(here));
    if (is_first) add_outputs(n, all);
  }
  read_from(to, current, all);
  return all;
}

TYPENET_INLINE void onnx_tree_maker::add_outputs(int n, onnx_tree& to) {
  for (int k : outputs_[at(n)]) {
    onnx_tree head = way(n, net_.outputs[at(k)].second, 1);
    head.what = onnx_tree::word::named_output;
    head.name = net_.outputs[at(k)].first;
    to.children.push_back(std::move(head));
  }
}

TYPENET_INLINE onnx_tree onnx_tree_maker::join(int n, int from, int depth) {
  using word = onnx_tree::word;
  std::vector<int> const inputs = layer(n).inputs;  // a copy, since layers may be added
  op const kind = layer(n).what.kind;
  onnx_tree all;
  all.layer = n;
  all.what = kind == op::add ? word::add : kind == op::multiply ? word::multiply : word::concat;
  all.children = branches(n, inputs, from, depth);
  bool const is_shortcut = all.what == word::add && all.children.size() == 2;
  // f(x) + x has the same bits as x + f(x). Files that typenet wrote keep their order.
  if (is_shortcut && !net_.is_own && all.children[1].what == word::identity)
    std::swap(all.children[0], all.children[1]);
  bool const begins_here =
      is_shortcut && !all.children[1].children.empty() && all.children[1].children[0].what != word::from;
  if (begins_here && all.children[0].what == word::identity && all.children[1].what == word::sequential) {
    onnx_tree inner = std::move(all.children[1]);
    inner.what = word::residual;
    inner.layer = n;
    return inner;
  }
  // Branches that begin with equal parts of the channels, in order, form a channel_split.
  int const channels = layer(from).out.channels, parts = static_cast<int>(all.children.size());
  bool splits = all.what == word::concat && channels % parts == 0;
  for (int i = 0; splits && i < parts; ++i) {
    onnx_tree const& branch = all.children[at(i)];
    int const first = branch.what == word::sequential ? branch.children[0].layer : none;
    splits = first > 0 && branch.children[0].what == word::layer && layer(first).what.kind == op::channel_slice &&
             layer(first).what.first_channel == i * (channels / parts) && layer(first).out.channels == channels / parts;
  }
  if (!splits) return all;
  all.what = word::channel_split;
  for (onnx_tree& branch : all.children)
    branch.children[0].what = word::tap;  // put_taps() removes it if nothing reads it
  return all;
}

TYPENET_INLINE std::vector<onnx_tree> onnx_tree_maker::branches(int n, std::vector<int> const& inputs, int from,
                                                                int depth) {
  std::vector<onnx_tree> all;
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    int deep = inputs[i];
    std::size_t end = i + 1;
    for (; layer(n).what.kind == op::concat && end < inputs.size(); ++end) {
      int const both = common(deep, inputs[end]);
      if (both <= from) break;
      deep = both;
    }
    if (end > i + 1 && (i > 0 || end < inputs.size())) {
      std::vector<int> const some(inputs.begin() + static_cast<std::ptrdiff_t>(i),
                                  inputs.begin() + static_cast<std::ptrdiff_t>(end));
      all.push_back(inner_concat(n, some, from, deep, depth + 1));
      i = end - 1;
      continue;
    }
    all.push_back(way(from, inputs[i], depth + 1));
    if (all.back().children.empty()) all.back().what = onnx_tree::word::identity;
  }
  return all;
}

TYPENET_INLINE onnx_tree onnx_tree_maker::inner_concat(int n, std::vector<int> const& inputs, int from, int deep,
                                                       int depth) {
  using word = onnx_tree::word;
  onnx_layer inner;
  inner.what.kind = op::concat;
  inner.inputs = inputs;
  inner.out = layer(n).out;
  inner.out.channels = 0;
  for (int in : inner.inputs) inner.out.channels += layer(in).out.channels;
  inner.place = layer(n).place, inner.path = layer(n).path;
  onnx_tree joined;
  joined.what = word::concat;
  onnx_tree branch = way(from, deep, depth);
  joined.children = branches(n, inputs, deep, depth + 1);
  joined.layer = static_cast<int>(net_.layers.size());
  net_.layers.push_back(std::move(inner));
  branch.children.push_back(std::move(joined));
  return branch;
}

TYPENET_INLINE onnx_tree onnx_tree_of(onnx_network& net, std::string const& file) {
  return onnx_tree_maker(net, file).make();
}

}  // namespace dsl::detail::TYPENET_MODE
