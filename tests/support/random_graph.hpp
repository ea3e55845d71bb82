// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <vector>

#include "operations/all.hpp"
#include "support/graph_values.hpp"

#include <dsl/graph/transfers.hpp>
#include <dsl/layers/conv2d.hpp>
#include <dsl/plan/plan.hpp>
#include <dsl/view.hpp>

// Small networks that nobody would write, as values: the planner and its checker must handle them, too.

namespace dsl::test {

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

  /// Appends one of the operations that have a fixture, with what it needs to keep height and width.
  int grown(int in) {
    std::vector<int (*)(graph_values&, int)> all;
    for_each_fixture([&]<op Kind>() { all.push_back(&fixture<Kind>::grow); });
    return all[static_cast<std::size_t>(d_.below(static_cast<int>(all.size())))](*this, in);
  }

  /// Appends an operation that keeps height and width.
  int layer(int in) {
    switch (d_.below(everywhere_ ? 11 : 11 + cpu_alone)) {
      case 14: return conv(in, filters(), 3, 1, padding::same, false);
      case 15: return act(norm(conv(in, filters(), 1, 1, padding::same, false)));
      case 22: return position(in);
      case 24: return grown(in);
      case 23: {
        op const kind = d_.of({op::attention, op::causal_attention});
        int const heads = d_.between(1, 2), all = conv(in, 6 * d_.between(1, 2), 1);
        shape const s = shape_of(all);
        if (d_.percent(50)) return attend(all, heads, kind);
        int const rows = s.height % 2 == 0 ? 2 : s.height, columns = s.width % 2 == 0 ? 2 : s.width;
        window w{.height = rows, .width = columns, .pad_top = d_.below(rows), .pad_left = d_.below(columns)};
        if (d_.percent(30))
          w.pad_top = w.pad_left = 0, w.row_dilation = s.height / rows, w.column_dilation = s.width / columns;
        return d_.percent(50) ? attend_in_windows(all, heads, w) : attend_by_offsets(all, heads, w);
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
      if (d_.percent(30)) t = grown(t);
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

  static constexpr int cpu_alone = 14;  // further choices of layer()

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
