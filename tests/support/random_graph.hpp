// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <initializer_list>
#include <string_view>
#include <vector>

#include <dsl/graph/transfers.hpp>
#include <dsl/layers/conv2d.hpp>
#include <dsl/plan/plan.hpp>
#include <dsl/view.hpp>

// Small networks that nobody would write, as values: the planner and its checker must handle them, too.

namespace dsl::test {

/// Random numbers that are the same on every machine (splitmix64), unlike std::uniform_int_distribution's.
class dice {
 public:
  explicit dice(std::uint64_t seed) : state_(seed) {}
  /// The first numbers are these bytes, so that a fuzzer chooses them.
  explicit dice(std::string_view first) : state_(first.size()), first_(first) {}

  std::uint64_t bits() {
    if (!first_.empty()) {
      auto const b = static_cast<unsigned char>(first_.front());
      first_.remove_prefix(1);
      return b;
    }
    std::uint64_t z = (state_ += 0x9E3779B97F4A7C15u);
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
    return z ^ (z >> 31);
  }
  int below(int n) { return n < 1 ? 0 : static_cast<int>(bits() % static_cast<std::uint64_t>(n)); }
  int between(int low, int high) { return low + below(high - low + 1); }
  bool percent(int chance) { return below(100) < chance; }
  template <class T>
  T of(std::initializer_list<T> choices) {
    return choices.begin()[below(static_cast<int>(choices.size()))];
  }

 private:
  std::uint64_t state_;
  std::string_view first_{};
};

/// A custom operation that is planned but never computed.
inline constexpr custom_op planned{.name = "planned"};

/// A graph built at run time; every function appends a node and returns its output.
class graph_values {
 public:
  graph_view view() const {
    return {nodes_.data(),      edges_.data(), tensors_.data(),
            parameters_.data(), nullptr,       {size(nodes_), size(edges_), size(tensors_), size(parameters_), 0, 1}};
  }
  shape const& shape_of(int t) const { return tensors_[static_cast<std::size_t>(t)].shape; }
  int tensors() const { return size(tensors_); }

  int image(shape s) { return append({.kind = op::input}, {}, s); }
  int conv(int in, int filters, int kernel, int stride = 1, padding pad = padding::same, bool biased = true) {
    shape const& s = shape_of(in);
    detail::extent const h = detail::extent_of(s.height, kernel, stride, pad);
    detail::extent const w = detail::extent_of(s.width, kernel, stride, pad);
    shape const out{filters, h.size, w.size};
    parameter(role::kernel, {filters, s.channels, kernel, kernel});
    if (biased) parameter(role::bias, {filters, 1, 1, 1});
    return append({.kind = op::conv2d, .window = {kernel, kernel, stride, h.before, w.before}}, {in}, out);
  }
  int dilated_conv(int in, int filters, int dilation) {
    shape const& s = shape_of(in);
    parameter(role::kernel, {filters, s.channels, 3, 3});
    return append({.kind = op::conv2d, .window = {3, 3, 1, dilation, dilation, 0, dilation, dilation}}, {in},
                  {filters, s.height, s.width});
  }
  int conv_transpose(int in, int filters, int kernel, int stride) {
    shape const& s = shape_of(in);
    shape const out{filters, (s.height - 1) * stride + kernel, (s.width - 1) * stride + kernel};
    parameter(role::kernel, {s.channels, filters, kernel, kernel});
    parameter(role::bias, {filters, 1, 1, 1});
    return append({.kind = op::conv2d_transpose, .window = {kernel, kernel, stride, 0, 0}}, {in}, out);
  }
  int norm(int in) {
    shape const s = shape_of(in);
    for (role r : {role::gamma, role::beta, role::moving_mean, role::moving_variance})
      parameter(r, {s.channels, 1, 1, 1});
    return append({.kind = op::batch_norm, .epsilon = 1e-3, .momentum = 0.99}, {in}, s);
  }
  int act(int in, function f = function::relu) {
    return append({.kind = op::activation, .function = f, .rate = 0.5}, {in}, shape_of(in));
  }
  int pool(op kind, int in, int size, int stride, int pad = 0) {
    shape const& s = shape_of(in);
    shape const out{s.channels, (s.height + 2 * pad - size) / stride + 1, (s.width + 2 * pad - size) / stride + 1};
    return append({.kind = kind, .window = {size, size, stride, pad, pad}, .counts_padding = pad == 0}, {in}, out);
  }
  int custom(int in) { return append({.kind = op::custom, .custom = &planned}, {in}, shape_of(in)); }
  int dropout(int in) { return append({.kind = op::dropout, .rate = 0.5}, {in}, shape_of(in)); }
  int flatten(int in) { return append({.kind = op::flatten}, {in}, {static_cast<int>(shape_of(in).size()), 1, 1}); }
  int dense(int in, int units) {
    parameter(role::kernel, {units, shape_of(in).channels, 1, 1});
    parameter(role::bias, {units, 1, 1, 1});
    return append({.kind = op::dense}, {in}, {units, 1, 1});
  }
  int softmax(int in) { return append({.kind = op::softmax}, {in}, shape_of(in)); }
  int concat(std::vector<int> const& in) {
    shape out{0, shape_of(in[0]).height, shape_of(in[0]).width};
    for (int t : in) out.channels += shape_of(t).channels;
    return append({.kind = op::concat}, in, out);
  }
  int layer_norm(int in) {
    shape const s = shape_of(in);
    for (role r : {role::gamma, role::beta}) parameter(r, {s.channels, 1, 1, 1});
    return append({.kind = op::layer_norm, .epsilon = 1e-3}, {in}, s);
  }
  int group_norm(int in, int groups) {
    shape const s = shape_of(in);
    for (role r : {role::gamma, role::beta}) parameter(r, {s.channels, 1, 1, 1});
    return append({.kind = op::group_norm, .epsilon = 1e-3, .groups = groups}, {in}, s);
  }
  int response_norm(int in, int size) {
    return append({.kind = op::local_response_norm, .rate = 0.3, .epsilon = 1, .groups = size, .power = 0.75}, {in},
                  shape_of(in));
  }
  int pad(int in, int top, int left, int bottom, int right) {
    shape const s = shape_of(in);
    return append({.kind = op::zero_pad2d, .window = {1, 1, 1, top, left}}, {in},
                  {s.channels, s.height + top + bottom, s.width + left + right});
  }
  int upsample(op kind, int in, int factor) {
    shape const& s = shape_of(in);
    return append({.kind = kind}, {in}, {s.channels, factor * s.height, factor * s.width});
  }
  int channels(int in, int first, int count) {
    shape const& s = shape_of(in);
    return append({.kind = op::channel_slice, .first_channel = first}, {in}, {count, s.height, s.width});
  }
  int shuffle(int in, int groups) {
    return append({.kind = op::channel_shuffle, .groups = groups}, {in}, shape_of(in));
  }
  int scale(int in) {
    parameter(role::gamma, {shape_of(in).channels, 1, 1, 1});
    return append({.kind = op::channel_scale}, {in}, shape_of(in));
  }
  int attend(int in, int heads, op kind) {
    shape const& s = shape_of(in);
    return append({.kind = kind, .groups = heads}, {in}, {s.channels / 3, s.height, s.width});
  }
  int attend_in_windows(int in, int heads, window const& w) {
    shape const& s = shape_of(in);
    parameter(role::kernel, {offsets_in(w), heads, 1, 1});
    return append({.kind = op::window_attention, .window = w, .rate = 2, .groups = heads}, {in},
                  {s.channels / 3, s.height, s.width});
  }
  int attend_by_cosines(int in, int heads, window const& w) {
    shape const s = shape_of(in);
    parameter(role::gamma, {heads, 1, 1, 1});
    int const all = append({.kind = op::head_norm, .groups = heads}, {in}, s);
    int const offsets = append({.kind = op::window_offsets}, {all}, {2, 2 * w.height - 1, 2 * w.width - 1});
    return append({.kind = op::bounded_window_attention, .window = w, .groups = heads}, {all, conv(offsets, heads, 1)},
                  {s.channels / 3, s.height, s.width});
  }
  int merge(int in, int side) {
    shape const& s = shape_of(in);
    return append({.kind = op::merge_pixels}, {in}, {s.channels * side * side, s.height / side, s.width / side});
  }
  int class_token(int in) {
    shape const s = shape_of(in);
    parameter(role::kernel, {1, 1, s.channels, 1});
    return append({.kind = op::class_token}, {in}, {s.channels, 1, static_cast<int>(s.area()) + 1});
  }
  int position(int in) {
    shape const s = shape_of(in);
    parameter(role::kernel, {1, static_cast<int>(s.area()), s.channels, 1});
    return append({.kind = op::position_embedding}, {in}, s);
  }
  int embed(int in, int vocabulary, int features) {
    shape const s = shape_of(in);
    parameter(role::kernel, {vocabulary, features, 1, 1});
    return append({.kind = op::embedding, .groups = vocabulary}, {in}, {features, s.height, s.width});
  }
  int recur(int in, int units, op kind, bool last) {
    shape const s = shape_of(in);
    int const rows = recurrent_gates(kind) * units;
    parameter(role::kernel, {rows, s.channels, 1, 1});
    parameter(role::recurrent_kernel, {rows, units, 1, 1});
    parameter(role::bias, {rows, 1, 1, 1});
    parameter(role::recurrent_bias, {rows, 1, 1, 1});
    return append({.kind = kind}, {in}, {units, 1, last ? 1 : s.width});
  }
  int tokens(int in, int first, int count) {
    return append({.kind = op::token_slice, .first_channel = first}, {in}, {shape_of(in).channels, 1, count});
  }
  int transpose(int in) {
    shape const s = shape_of(in);
    return append({.kind = op::transpose_tokens}, {in}, {static_cast<int>(s.area()), 1, s.channels});
  }
  int stochastic_depth(int in) { return append({.kind = op::stochastic_depth, .rate = 0.5}, {in}, shape_of(in)); }
  int multiply(int a, int b) { return append({.kind = op::multiply}, {a, b}, broadcast(shape_of(a), shape_of(b))); }
  int add(std::vector<int> const& in) { return append({.kind = op::add}, in, shape_of(in[0])); }

  /// Makes a value a further output of the network.
  void give(int t) {
    nodes_[static_cast<std::size_t>(tensors_[static_cast<std::size_t>(t)].producer)].further_output =
        ++further_outputs_;
  }

  /// Freezes the parameters of the first `count` nodes.
  void freeze(int count) {
    for (int n = 0; n < count; ++n) freeze_node(n);
  }
  void freeze_node(int n) {
    nodes_[static_cast<std::size_t>(n)].frozen = true;
    for (dsl::parameter& p : parameters_)
      if (p.node == n) p.frozen = true;
  }

 private:
  template <class T>
  static int size(std::vector<T> const& v) {
    return static_cast<int>(v.size());
  }
  void parameter(role r, std::initializer_list<int> dims) {
    dsl::parameter p{.role = r, .node = size(nodes_)};
    for (int i = 0; i < 4; ++i) p.dims[i] = dims.begin()[i];
    parameters_.push_back(p);
  }
  int append(node n, std::vector<int> const& in, shape out) {
    n.first_input = size(edges_);
    n.inputs = size(in);
    n.output = size(tensors_);
    n.first_parameter = size(parameters_);
    while (n.first_parameter > 0 && parameters_[static_cast<std::size_t>(n.first_parameter - 1)].node == size(nodes_))
      --n.first_parameter;
    n.parameters = size(parameters_) - n.first_parameter;
    edges_.insert(edges_.end(), in.begin(), in.end());
    tensors_.push_back({out, size(nodes_)});
    nodes_.push_back(n);
    return n.output;
  }

  std::vector<node> nodes_;
  std::vector<int> edges_;
  std::vector<tensor> tensors_;
  std::vector<dsl::parameter> parameters_;
  int further_outputs_ = 0;
};

/// Random series, branches, and skips over them, of every operation, followed by a classifier or a regression.
class random_graph : public graph_values {
 public:
  /// `everywhere` restricts it to operations that every executor has. With `heads`, there may be further outputs.
  random_graph(dice& d, int channel_block, bool everywhere = true, bool heads = false)
      : d_(d), block_(channel_block > 0 ? channel_block : 4), everywhere_(everywhere) {
    shape const first{d_.of({1, 3, 4, block_}), d_.between(2, 4), d_.between(2, 4)};
    bool const reads_tokens = !everywhere && d.percent(15);
    int t = image(reads_tokens ? shape{1, first.height, first.width} : first);
    if (reads_tokens) t = embed(t, d_.between(2, 7), first.channels + 1);
    for (int i = d_.between(1, 3); i > 0; --i) {
      t = block(t, 0);
      if (heads && d_.percent(60)) head(t);
    }
    finish(t);
    if (everywhere || d.percent(50)) return;
    if (d.percent(60)) freeze(d.below(tensors()));
    for (int n = 0; n < tensors(); ++n)
      if (d.percent(20)) freeze_node(n);
  }

 private:
  int filters() { return d_.of({1, 2, 3, 4, block_, block_}); }
  function any_function() {
    return d_.of({function::relu, function::relu, function::leaky_relu, function::elu, function::sigmoid,
                  function::tanh, function::silu});
  }

  // Separate statements, since the order of evaluation of a call's arguments is unspecified.
  int random_conv(int in, int kernel) {
    int const f = filters();
    return conv(in, f, kernel);
  }
  int random_act(int in) {
    function const f = any_function();
    return act(in, f);
  }
  int random_pool(int in, int size, int stride) {
    op const kind = d_.of({op::max_pool2d, op::avg_pool2d});
    return pool(kind, in, size, stride);
  }

  int mean(int in) {
    shape const& s = shape_of(in);
    return s.height == s.width ? pool(op::avg_pool2d, in, s.height, 1) : in;
  }

  /// Appends an operation that keeps height and width.
  int layer(int in) {
    switch (d_.below(everywhere_ ? 11 : 11 + cpu_alone)) {
      case 14: return conv(in, filters(), 3, 1, padding::same, false);
      case 15: return act(norm(conv(in, filters(), 1, 1, padding::same, false)));
      case 22: return position(in);
      case 23: {
        op const kind = d_.of({op::attention, op::causal_attention});
        int const heads = d_.between(1, 2), all = conv(in, 6 * d_.between(1, 2), 1);
        shape const s = shape_of(all);
        if (d_.percent(50)) return attend(all, heads, kind);
        int const rows = s.height % 2 == 0 ? 2 : s.height, columns = s.width % 2 == 0 ? 2 : s.width;
        window w{.height = rows, .width = columns, .pad_top = d_.below(rows), .pad_left = d_.below(columns)};
        if (d_.percent(30))
          w.pad_top = w.pad_left = 0, w.row_dilation = s.height / rows, w.column_dilation = s.width / columns;
        return d_.percent(50) ? attend_in_windows(all, heads, w) : attend_by_cosines(all, heads, w);
      }
      case 19: return pool(op::avg_pool2d, conv_transpose(in, filters(), 2, 2), 2, 2);
      case 20: {
        int const dilation = d_.between(2, 5);
        return dilated_conv(in, filters(), dilation);
      }
      case 18: return d_.percent(50) ? scale(in) : stochastic_depth(scale(in));
      case 17: {  // split, and joined again
        int const count = shape_of(in).channels, first = count / 2;
        if (count < 2) return layer_norm(in);
        int const low = channels(in, 0, first), high = chain(channels(in, first, count - first));
        int const all = d_.percent(50) ? concat({low, high}) : concat({high, low});
        return shape_of(all).channels % 2 == 0 ? shuffle(all, 2) : all;
      }
      case 16: {  // and back to its size
        if (shape_of(in).height % 2 == 0 && shape_of(in).width % 2 == 0 && d_.percent(30))
          return upsample(op::upsample_nearest, conv(merge(in, 2), filters(), 1), 2);
        if (d_.percent(25)) return pool(op::max_pool2d, pad(in, 1, 0, 1, 2), 3, 1, 0);
        // Bilinear means of equal numbers differ by their rounding, and a max pool right after them would take any.
        bool const bilinear = d_.percent(50);
        int const larger = upsample(bilinear ? op::upsample_bilinear : op::upsample_nearest, in, 2);
        return pool(op::avg_pool2d, bilinear ? larger : act(larger, function::tanh), 2, 2);
      }
      case 13: return pool(d_.of({op::max_pool2d, op::avg_pool2d}), in, 3, 1, 1);
      case 12: {
        bool const halves = shape_of(in).channels % 2 == 0;
        return d_.percent(50) ? layer_norm(in) : group_norm(in, halves && d_.percent(70) ? 2 : 1);
      }
      case 21: return response_norm(in, d_.of({1, 3, 5}));
      case 11: {  // by one number a pixel, or a channel, or by itself
        int const gate = d_.percent(40) ? conv(in, 1, 1) : d_.percent(50) ? random_act(in) : mean(in);
        return d_.percent(50) ? multiply(in, gate) : multiply(gate, in);
      }
      case 0: return norm(in);
      case 1: return act(norm(in));
      case 2: return random_act(in);
      case 3: return dropout(in);
      case 4: return random_conv(in, 3);
      case 5: return random_act(random_conv(in, 1));
      case 6: return norm(random_conv(in, 1));
      case 7: return random_pool(in, 1, 1);
      case 8: return act(norm(random_conv(in, 3)));
      case 9: return custom(in);
      default: return act(norm(random_conv(in, 1)));
    }
  }
  int chain(int in) {
    for (int i = d_.between(1, 2); i > 0; --i) in = layer(in);
    return in;
  }
  /// Appends an operation that halves or reduces height and width: all branches of a downsampling must agree.
  int smaller(int in, bool halves) {
    int const stride = halves ? 2 : 1;
    int t = 0;
    if (d_.percent(50)) {
      int const f = filters();
      t = conv(in, f, 2, stride, padding::valid);
    } else {
      t = random_pool(in, 2, stride);
    }
    return d_.percent(40) ? chain(t) : t;
  }

  int block(int in, int depth) {
    switch (d_.below(depth < 2 ? 8 : 3)) {
      case 0:
      case 1: return chain(in);
      case 2: {
        bool const small = shape_of(in).height < 2 || shape_of(in).width < 2;
        return small ? layer(in) : smaller(in, d_.percent(50));
      }
      case 3: {  // downsampling branches
        if (shape_of(in).height < 2 || shape_of(in).width < 2) return chain(in);
        bool const halves = d_.percent(50);
        std::vector<int> parts;
        for (int i = d_.between(2, 3); i > 0; --i) parts.push_back(smaller(in, halves));
        return concat(parts);
      }
      case 4:
      case 5:
      case 6: {
        std::vector<int> parts;
        for (int i = d_.between(2, 3); i > 0; --i) parts.push_back(branch(in, depth));
        if (d_.percent(15)) skip(parts, false);
        return concat(parts);
      }
      default: {
        std::vector<int> parts{d_.percent(60) ? in : chain(in)};
        for (int i = d_.between(1, 2); i > 0; --i) {
          int const t = d_.percent(15) ? in : branch(in, depth);
          parts.push_back(shape_of(t) == shape_of(parts[0]) ? t : conv(t, shape_of(parts[0]).channels, 1));
        }
        if (d_.percent(15)) skip(parts, true);
        return add(parts);
      }
    }
  }
  int branch(int in, int depth) {
    if (d_.percent(15)) return in;
    if (d_.percent(25) && depth < 1) {
      int const t = block(in, depth + 1);
      if (shape_of(t).height == shape_of(in).height && shape_of(t).width == shape_of(in).width) return t;
      drop_.push_back(t);  // the wrong size: it joins as a flat tensor at the end
    }
    return chain(in);
  }
  /// Adds an earlier value, if one fits.
  void skip(std::vector<int>& parts, bool same_channels) {
    shape const& s = shape_of(parts[0]);
    int const t = d_.below(tensors());
    shape const& x = shape_of(t);
    if (x.height == s.height && x.width == s.width && (!same_channels || x.channels == s.channels)) parts.push_back(t);
  }

  /// Appends a classifier or a convolution of a value, and sometimes a head of the head.
  void head(int in) {
    int t = in;
    if (d_.percent(60)) {
      t = softmax(dense(flatten(in), 3));
    } else {
      t = random_conv(in, 1);
      if (d_.percent(40)) t = random_act(t);
    }
    give(t);
    if (!d_.percent(25)) return;
    int const inner = dense(flatten(t), 2);
    give(d_.percent(50) ? softmax(inner) : inner);
  }
  void finish(int t) {
    if (d_.percent(40) && shape_of(t).height == shape_of(t).width) t = pool(op::avg_pool2d, t, shape_of(t).height, 1);
    if (d_.percent(30)) t = dropout(t);
    if (!everywhere_ && d_.percent(20)) {
      t = class_token(t);
      if (d_.percent(50)) t = position(t);
      if (d_.percent(30)) t = transpose(t);
      if (d_.percent(40)) {
        op const kind = d_.of({op::lstm, op::gru});
        int const units = d_.between(1, 5);
        t = recur(t, units, kind, d_.percent(30));
      }
      int const all = static_cast<int>(shape_of(t).area()), first = d_.below(all);
      if (d_.percent(70)) t = tokens(t, first, d_.between(1, all - first));
    }
    t = flatten(t);
    if (!drop_.empty()) {
      std::vector<int> parts{t};
      for (int extra : drop_) parts.push_back(flatten(extra));
      t = concat(parts);
    }
    if (d_.percent(25)) t = d_.percent(50) ? norm(dense(t, 4)) : random_act(dense(t, 3));
    if (d_.percent(15)) t = dropout(t);
    if (d_.percent(10)) t = concat({dense(t, 2), random_act(dense(t, 3)), t});
    if (d_.percent(10)) t = dense(softmax(t), 4);
    t = dense(t, d_.between(2, 3));
    if (d_.percent(85))
      softmax(t);
    else if (d_.percent(50))
      random_act(t);
  }

  static constexpr int cpu_alone = 13;  // further choices of layer()

  dice& d_;
  int block_;
  bool everywhere_;
  std::vector<int> drop_;
};

/// A graph with nodes on several devices, and the transfers between them.
class placed_graph {
 public:
  placed_graph(graph_view const& g, dice& d, int devices) {
    std::vector<node> nodes(g.nodes, g.nodes + g.size.nodes);
    int device = 0;
    for (node& n : nodes) {
      if (d.percent(30)) device = d.below(devices);
      n.device = static_cast<short>(device);
    }
    for (node& n : nodes)
      if (n.further_output > 0) n.device = nodes.back().device;
    graph_view from = g;
    from.nodes = nodes.data();
    from.size.devices = devices;
    size_ = dsl::detail::sizes_with_transfers(from);
    nodes_.resize(static_cast<std::size_t>(size_.nodes));
    edges_.resize(static_cast<std::size_t>(size_.edges));
    tensors_.resize(static_cast<std::size_t>(size_.tensors));
    parameters_.resize(static_cast<std::size_t>(size_.parameters));
    dsl::detail::insert_transfers(from, nodes_.data(), edges_.data(), tensors_.data(), parameters_.data());
  }
  graph_view view() const {
    return {nodes_.data(), edges_.data(), tensors_.data(), parameters_.data(), nullptr, size_};
  }

 private:
  graph_sizes size_{};
  std::vector<node> nodes_;
  std::vector<int> edges_;
  std::vector<tensor> tensors_;
  std::vector<dsl::parameter> parameters_;
};

inline plan_options random_options(dice& d, int channel_block) {
  plan_options o;
  o.batch = d.between(1, 3);
  o.mode = d.of({mode::training, mode::training, mode::training, mode::evaluation, mode::inference});
  o.target.channel_block = channel_block;
  o.target.alignment = d.of({4, 64});
  o.target.element_bytes = d.of({1, 2, 4});
  o.target.state_bytes = d.of({1, 2, 4});
  o.target.library_writes_slices = d.percent(50);
  o.optimizer_slots = d.between(0, 2);
  o.all_reduce_buckets = d.percent(50) ? 0 : d.between(1, 4);
  o.loss = d.percent(70) ? loss::categorical_crossentropy : loss::mean_squared_error;
  o.gradient_norm = d.percent(40);
  if (o.loss == loss::mean_squared_error && o.batch == 2) o.targets = target_kind::values;
  return o;
}

}  // namespace dsl::test
