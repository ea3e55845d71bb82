// SPDX-License-Identifier: MIT
#pragma once

#include <dsl/combinators/channel_split.hpp>
#include <dsl/detail/mode.hpp>
#include <dsl/graph/facts.hpp>
#include <dsl/io/onnx/import_lower.hpp>
#include <dsl/io/onnx/import_text.hpp>
#include <dsl/layers/attention.hpp>
#include <dsl/layers/conv2d_transpose.hpp>
#include <dsl/layers/dense.hpp>
#include <dsl/layers/tokens.hpp>
#include <dsl/rules/diagnose.hpp>

#include <cstddef>
#include <vector>

namespace dsl::detail::TYPENET_MODE {

/// Makes a graph at run time: the same nodes, scopes and names, in the same order, as the lower() functions of layer
/// types make at compile time.
class onnx_lowering {
 public:
  onnx_lowering(onnx_network const& net, builder& b, std::vector<int>& layers) : net_(net), b_(b), layers_(layers) {}

  value children_of(onnx_tree const& t, value in);

 private:
  onnx_layer const& layer(int n) const { return net_.layers[static_cast<std::size_t>(n)]; }
  /// Lowers a child of a list. If the child is a repeat, lowers each of the repeated layers.
  value child(onnx_tree const& t, value in, int& index);
  value inside(onnx_tree const& t, value in);
  value branches(onnx_tree const& t, value in);
  value one(onnx_layer const& l, value in);

  onnx_network const& net_;
  builder& b_;
  std::vector<int>& layers_;
};

inline name onnx_name_of(onnx_tree const& t) { return {t.name.data(), static_cast<int>(t.name.size())}; }

TYPENET_INLINE value onnx_lowering::children_of(onnx_tree const& t, value in) {
  int index = 0;
  for (onnx_tree const& each : t.children) in = child(each, in, index);
  return in;
}

TYPENET_INLINE value onnx_lowering::child(onnx_tree const& t, value in, int& index) {
  using word = onnx_tree::word;
  if (t.what == word::repeat) {
    for (onnx_tree const& each : t.children) in = child(each, in, index);
    return in;
  }
  onnx_tree const* one_layer = &t;  // a branch with a single layer is that layer itself
  while (one_layer->what == word::sequential && one_layer->children.size() == 1 &&
         one_layer->children[0].what != word::repeat)
    one_layer = &one_layer->children[0];
  static constexpr char const* words[] = {"layer",       "identity",      "sequential", "numbered", "named",
                                          "named_input", "named_output",  "residual",   "concat",   "add",
                                          "multiply",    "channel_split", "repeat",     "tap",      "from"};
  char const* word_of = words[static_cast<int>(one_layer->what)];
  if (one_layer->what == word::layer)
    word_of = layer(one_layer->layer).is_constant ? "frozen" : facts_of(layer(one_layer->layer).what).name;
  if (one_layer->what == word::layer && layer(one_layer->layer).what.kind == op::window_attention &&
      !layer(one_layer->layer).is_constant && layer(one_layer->layer).what.window.is_dilated())
    word_of = "grid_attention";
  int size = 0;
  while (word_of[size] != '\0') ++size;
  int const parent = b_.enter(index++, {word_of, size});
  value const out = inside(*one_layer, in);
  b_.leave(parent);
  return out;
}

TYPENET_INLINE value onnx_lowering::inside(onnx_tree const& t, value in) {
  using word = onnx_tree::word;
  switch (t.what) {
    case word::layer: {
      layers_.push_back(t.layer);
      bool const outside = b_.freeze(layer(t.layer).is_constant);
      value const out = one(layer(t.layer), in);
      b_.freeze(outside);
      return out;
    }
    case word::identity: return in;
    case word::tap: b_.tap(onnx_name_of(t), in); return in;
    case word::from: return b_.tapped(onnx_name_of(t), in);
    case word::repeat:
    case word::sequential: return children_of(t, in);
    case word::numbered: b_.number_children(); return children_of(t, in);
    case word::named:
    case word::named_output: {
      b_.name_layer(onnx_name_of(t));
      int layers = 0;  // that names of weights count
      for (onnx_tree const& each : t.children)
        layers += each.what == word::repeat ? 2 : each.what == word::tap || each.what == word::from ? 0 : 1;
      if (layers > 1) b_.number_children();
      int const before = b_.sizes().tensors;
      value const out = children_of(t, in);
      if (t.what == word::named) return out;
      b_.mark_output(out, before);
      return in;
    }
    case word::named_input: {
      b_.name_layer(onnx_name_of(t));
      layers_.push_back(t.layer);
      return b_.append({.kind = op::input}, nullptr, 0, layer(t.layer).out);
    }
    case word::residual: {
      int const first = b_.enter(0, {"identity", 8});
      b_.leave(first);
      int const parent = b_.enter(1, {"sequential", 10});
      value const both[] = {in, children_of(t, in)};
      b_.leave(parent);
      layers_.push_back(t.layer);
      return b_.append({.kind = op::add}, both, in.shape);
    }
    case word::concat:
    case word::add:
    case word::multiply:
    case word::channel_split: return branches(t, in);
  }
  return in;
}

TYPENET_INLINE value onnx_lowering::branches(onnx_tree const& t, value in) {
  using word = onnx_tree::word;
  std::vector<value> out;
  int index = 0;
  int const count = static_cast<int>(t.children.size());
  for (onnx_tree const& branch : t.children) {
    value from = in;
    if (t.what == word::channel_split) {
      int const each = in.shape.channels / count;
      layers_.push_back(-1);
      from = b_.append({.kind = op::channel_slice, .first_channel = index * each}, in,
                       {each, in.shape.height, in.shape.width});
    }
    out.push_back(child(branch, from, index));
  }
  op const kind = t.what == word::add ? op::add : t.what == word::multiply ? op::multiply : op::concat;
  layers_.push_back(t.layer);
  return b_.append({.kind = kind}, out.data(), count, layer(t.layer).out);
}

TYPENET_INLINE value onnx_lowering::one(onnx_layer const& l, value in) {
  node const& x = l.what;
  window const& w = x.window;
  if (x.kind == op::conv2d && l.kernel_rank == 2) return lower_pointwise_dense(b_, in, l.out.channels, l.has_bias);
  switch (x.kind) {
    case op::conv2d:
    case op::conv2d_transpose: {
      conv2d_transpose_arguments all;
      all.height = w.height, all.width = w.width, all.given = window_arguments::stride_bit;
      all.stride = w.rows().stride, all.column_stride = w.columns().stride;
      all.dilated = {w.row_dilation, w.column_dilation};
      all.groups = x.groups, all.has_bias = l.has_bias, all.zeros = l.zeros;
      if (x.kind == op::conv2d_transpose) return lower_conv2d_transpose(b_, in, l.out.channels, all);
      all.has_zeros = !onnx_pads_same(net_, l);
      all.kernel_rank = l.kernel_rank;
      conv2d_arguments const& plain = all;
      return lower_conv2d(b_, in, l.out.channels, plain);
    }
    case op::max_pool2d:
    case op::avg_pool2d: {
      pool2d_arguments all;
      all.height = w.height, all.width = w.width, all.given = window_arguments::stride_bit;
      all.stride = w.rows().stride, all.column_stride = w.columns().stride;
      all.zeros = l.zeros, all.rounds_up = l.rounds_up, all.counts_padding = x.counts_padding;
      return lower_pool2d(b_, in, x.kind, all);
    }
    case op::dense: return lower_dense(b_, in, l.out.channels);
    case op::attention:
    case op::causal_attention: return attend(b_, in, x.kind, x.groups);
    case op::window_attention: return attend_in(w, b_, in, x.groups, static_cast<int>(x.rate));
    case op::head_norm: b_.parameter({.role = role::gamma, .dims = {x.groups, 1, 1, 1}, .rank = 3}); break;
    case op::embedding: return lower_embedding(b_, in, x.groups, l.out.channels);
    case op::class_token: learnt_constants(b_, 1, in.shape.channels, {distribution::constant, 0}); break;
    case op::position_embedding:
      learnt_constants(b_, in.shape.area(), in.shape.channels, {distribution::truncated_normal, 0.02});
      break;
    default:  // a number for each channel, as all others
      for (int i = 0; i < facts_of(x).parameters; ++i)
        b_.parameter({.role = facts_of(x).roles[i], .dims = {in.shape.channels, 1, 1, 1}});
  }
  return b_.append(x, in, l.out);
}

TYPENET_INLINE onnx_graph onnx_lower(onnx_network const& net, onnx_tree const& tree) {
  onnx_graph g;
  auto const lower = [&](builder& b) {
    g.layers = {0};
    if (g.is_intended) b.set_intended();
    value const in = b.append({.kind = op::input}, nullptr, 0, net.layers[0].out);
    return onnx_lowering(net, b, g.layers).children_of(tree, in);
  };
  for (bool intended : {false, true}) {
    g.is_intended = intended;
    builder counting;
    lower(counting);
    g.sizes = counting.sizes();
    g.nodes.assign(static_cast<std::size_t>(g.sizes.nodes), {});
    g.edges.assign(static_cast<std::size_t>(g.sizes.edges), 0);
    g.tensors.assign(static_cast<std::size_t>(g.sizes.tensors), {});
    g.parameters.assign(static_cast<std::size_t>(g.sizes.parameters), {});
    g.scopes.assign(static_cast<std::size_t>(g.sizes.scopes), {});
    builder b(g.nodes.data(), g.edges.data(), g.tensors.data(), g.parameters.data(), g.scopes.data());
    value const out = lower(b);
    g.scopes[0].name = {"network", 7};
    g.why = diagnose(b, g.view(), out);
    if (g.why.holds()) break;
  }
  return g;
}

}  // namespace dsl::detail::TYPENET_MODE
