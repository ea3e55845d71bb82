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

// Graphs that are built at run time, node by node.

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

  /// Gives the node that is appended next a parameter.
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

  int image(shape s) { return append({.kind = op::input}, {}, s); }
  int conv(int in, int filters, int kernel, int stride = 1, padding pad = padding::same, bool biased = true) {
    shape const& s = shape_of(in);
    dsl::detail::extent const h = dsl::detail::extent_of(s.height, kernel, stride, pad);
    dsl::detail::extent const w = dsl::detail::extent_of(s.width, kernel, stride, pad);
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
  int attend_by_offsets(int in, int heads, window const& w) {
    shape const s = shape_of(in);
    int const offsets = append({.kind = op::window_offsets}, {in}, {2, 2 * w.height - 1, 2 * w.width - 1});
    return append({.kind = op::bounded_window_attention, .window = w, .groups = heads}, {in, conv(offsets, heads, 1)},
                  {s.channels / 3, s.height, s.width});
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
  std::vector<node> nodes_;
  std::vector<int> edges_;
  std::vector<tensor> tensors_;
  std::vector<dsl::parameter> parameters_;
  int further_outputs_ = 0;
};

}  // namespace dsl::test
