// SPDX-License-Identifier: MIT
#pragma once

#include <dsl/detail/math.hpp>
#include <dsl/detail/mode.hpp>
#include <dsl/executors/engine.hpp>
#include <dsl/graph/place.hpp>
#include <dsl/io/onnx/library.hpp>
#include <dsl/io/onnx/names.hpp>
#include <dsl/io/onnx/writer.hpp>
#include <dsl/view.hpp>

#include <array>
#include <cstdint>
#include <initializer_list>
#include <string>
#include <utility>
#include <vector>

namespace dsl::detail::TYPENET_MODE {

TYPENET_INLINE onnx_writer::onnx_writer(graph_view const& g, onnx_options const& o, double momentum,
                                        onnx_messages::GraphProto& to, normalization const* by)
    : graph_(g), options_(o), momentum_(momentum), to_(to), names_(g, o), by_(by), made_(at(g.size.tensors)) {}

TYPENET_INLINE void onnx_writer::write() {
  for (node_ = graph_.nodes; node_ != graph_.nodes + graph_.size.nodes; ++node_) write_node();
  name_outputs();
  for (std::string const& own : outputs_)
    for (named const& v : values_)
      if (v.name == own) describe(v, *to_.add_output());
  for (named const& v : values_) {
    bool given = false;
    for (std::string const& own : outputs_) given = given || v.name == own;
    if (!given) describe(v, *to_.add_value_info());
  }
}

TYPENET_INLINE void onnx_writer::write_node() {
  switch (node_->kind) {
    case op::input: return write_input();
    case op::conv2d: return write_convolution();
    case op::conv2d_transpose: return write_transposed();
    case op::batch_norm: return write_batch_norm();
    case op::activation: return write_activation();
    case op::max_pool2d: return write_pool("MaxPool");
    case op::avg_pool2d: return write_pool("AveragePool");
    case op::dropout:
    case op::stochastic_depth:
    case op::transfer: made_[at(node_->output)] = operand(); return;
    case op::flatten: made_[at(node_->output)] = {{form(0, 2), ""}, 2}; return;
    case op::dense: set("transB", 1, parameters(append("Gemm", {form(0, 2)}, 2))); return;
    case op::softmax: return write_softmax();
    case op::concat: set("axis", 1, join("Concat")); return;
    case op::add: join(node_->inputs == 2 ? "Add" : "Sum"); return;
    case op::multiply: return write_product();
    case op::layer_norm: return write_layer_norm();
    case op::upsample_nearest:
    case op::upsample_bilinear: return write_upsampling();
    case op::channel_scale: return write_scale();
    case op::channel_slice: return write_slice();
    case op::channel_shuffle: return write_shuffle();
    case op::group_norm: return write_group_norm();
    case op::local_response_norm: return write_response_norm();
    case op::attention:
    case op::causal_attention: return write_attention();
    case op::class_token: return write_class_token();
    case op::position_embedding: return write_positions();
    case op::token_slice: return write_token_slice();
    case op::embedding: return write_embedding();
    case op::transpose_tokens: return write_transposed_tokens();
    case op::zero_pad2d: return write_zero_padding();
    case op::window_attention:
    case op::merge_pixels:
    case op::lstm:
    case op::gru:
    case op::bounded_window_attention:
    case op::window_offsets:
    case op::head_norm: return refuse();
    case op::custom: return write_custom();
  }
}

TYPENET_INLINE void onnx_writer::write_input() {
  int const rank = out().is_flat() ? 2 : 4;
  scope const& own = graph_.scopes[node_->scope];
  bool const further = node_ != graph_.nodes;
  std::string const name =
      further ? std::string(own.name.data, static_cast<std::size_t>(own.name.size)) : options_.input;
  describe({name, dims_of(out(), rank)}, *to_.add_input());
  keep(node_->output, name, rank);
  input_moments const* const moments = by_ ? by_->find(further ? name : "") : nullptr;
  if (moments && moments->mean) normalize("Sub", "mean", *moments->mean, rank);
  if (moments && moments->deviation) normalize("Div", "deviation", *moments->deviation, rank);
}

TYPENET_INLINE void onnx_writer::normalize(char const* type, char const* name, std::vector<float> const& numbers,
                                           int rank) {
  onnx_messages::TensorProto& t = *to_.add_initializer();
  t.set_name(names_.unused(name));
  t.set_data_type(onnx_messages::TensorProto::FLOAT);
  dsl::shape const& s = out();
  if (rank == 2)
    t.add_dims(s.size());
  else
    for (int const d : {s.channels, s.height, s.width}) t.add_dims(d);
  t.set_raw_data(numbers.data(), numbers.size() * sizeof(float));
  append(type, {made_[at(node_->output)].name[rank == 4], t.name()}, rank);
}

TYPENET_INLINE void onnx_writer::write_convolution() {
  onnx_messages::NodeProto& n = parameters(append("Conv", {form(0, 4)}, 4));
  set_window(n, true);
  if (node_->groups > 1) set("group", node_->groups, n);
}

TYPENET_INLINE void onnx_writer::write_transposed() {
  onnx_messages::NodeProto& n = parameters(append("ConvTranspose", {form(0, 4)}, 4));
  window const& w = node_->window;
  // The number of rows removed at the end; if negative, rows are added.
  long long const bottom = w.rows().behind(out().height, in().height);
  long long const right = w.columns().behind(out().width, in().width);
  set_steps(n);
  set("pads", {w.pad_top, w.pad_left, bottom > 0 ? bottom : 0, right > 0 ? right : 0}, n);
  if (bottom < 0 || right < 0) set("output_padding", {bottom < 0 ? -bottom : 0, right < 0 ? -right : 0}, n);
  if (node_->groups > 1) set("group", node_->groups, n);
}

TYPENET_INLINE void onnx_writer::set_steps(onnx_messages::NodeProto& n) {
  window const& w = node_->window;
  set("kernel_shape", {w.height, w.width}, n);
  set("strides", {w.rows().stride, w.columns().stride}, n);
  if (w.is_dilated()) set("dilations", {w.row_dilation, w.column_dilation}, n);
}

TYPENET_INLINE void onnx_writer::set_window(onnx_messages::NodeProto& n, bool always_pads) {
  window const& w = node_->window;
  auto const zeros = [](long long behind) { return behind > 0 ? behind : 0; };
  long long const bottom = zeros(w.rows().behind(in().height, out().height));
  long long const right = zeros(w.columns().behind(in().width, out().width));
  bool const pads = w.pad_top > 0 || w.pad_left > 0 || bottom > 0 || right > 0;
  set_steps(n);
  if (pads || always_pads) set("pads", {w.pad_top, w.pad_left, bottom, right}, n);
  if (pads && node_->kind == op::avg_pool2d) set("count_include_pad", node_->counts_padding ? 1 : 0, n);
}

TYPENET_INLINE void onnx_writer::write_batch_norm() {
  onnx_messages::NodeProto& n = parameters(append("BatchNormalization", {as_it_is()}, operand().rank));
  set("epsilon", node_->epsilon, n);
  set("momentum", momentum_ < 0 ? node_->momentum : momentum_, n);  // the share that is kept, as in typenet
}

TYPENET_INLINE void onnx_writer::write_activation() {
  std::string const x = as_it_is();
  int const rank = operand().rank;
  switch (node_->function) {
    case function::relu: append("Relu", {x}, rank); return;
    case function::leaky_relu: set("alpha", node_->rate, append("LeakyRelu", {x}, rank)); return;
    case function::elu: set("alpha", node_->rate, append("Elu", {x}, rank)); return;
    case function::sigmoid: append("Sigmoid", {x}, rank); return;
    case function::tanh: append("Tanh", {x}, rank); return;
    case function::silu: {  // there is no such operator before opset 24
      std::string const s = append("Sigmoid", {x}, rank).output(0);
      append("Mul", {x, s}, rank);
      return;
    }
    case function::relu6: append("Clip", {x, zero_and_six(), six_}, rank); return;
    case function::hard_sigmoid: {
      onnx_messages::NodeProto& n = append("HardSigmoid", {x}, rank);
      set("alpha", 1.0 / 6, n);
      set("beta", 0.5, n);
      return;
    }
    case function::hard_swish: append("HardSwish", {x}, rank); return;
    case function::gelu: {  // there is no such operator before opset 20
      std::string const scaled = multiplied(x, "root_of_half", 0.70710678F, rank);
      std::string const share = append("Erf", {scaled}, rank).output(0);
      std::string const sum = append("Add", {share, number("one", 1.0F)}, rank).output(0);
      multiplied(append("Mul", {x, sum}, rank).output(0), "half", 0.5F, rank);
      return;
    }
    case function::gelu_tanh: {
      std::string const square = append("Mul", {x, x}, rank).output(0);
      std::string const cubic = multiplied(square, "cubic", 0.07135482F, rank);
      std::string const factor = append("Add", {cubic, number("linear", 1.5957691F)}, rank).output(0);
      std::string const share = append("Sigmoid", {append("Mul", {x, factor}, rank).output(0)}, rank).output(0);
      append("Mul", {x, share}, rank);
      return;
    }
    case function::mish: {  // there is no such operator before opset 18
      std::string const ramp = append("Softplus", {x}, rank).output(0);
      append("Mul", {x, append("Tanh", {ramp}, rank).output(0)}, rank);
      return;
    }
    case function::softplus: append("Softplus", {x}, rank); return;
  }
}

TYPENET_INLINE std::string onnx_writer::multiplied(std::string const& x, char const* name, float by, int rank) {
  return append("Mul", {x, number(name, by)}, rank).output(0);
}

TYPENET_INLINE void onnx_writer::write_pool(char const* type) {
  window const& w = node_->window;
  std::string const x = form(0, 4);
  // With another stride it is not written as a global pool, so that reading the file gives the same layer again.
  bool const all = w.height == in().height && w.width == in().width && out().area() == 1 && w.pad_top == 0 &&
                   w.pad_left == 0 && w.strides_by(1);
  if (node_->kind == op::avg_pool2d && all) {
    append("GlobalAveragePool", {x}, 4);
    return;
  }
  set_window(append(type, {x}, 4), false);
}

TYPENET_INLINE void onnx_writer::write_custom() {
  std::string const operation = node_->custom->name;
  for (auto const& [name, type] : options_.operators)
    if (name == operation && in() == out()) {
      append(type, {as_it_is()}, operand().rank);
      return;
    }
  throw onnx_error(onnx_fault::no_operator, "onnx: " + layer_place(graph_, node_->scope) +
                                                " must consist of ONNX operators; found \"" + operation +
                                                "\", a custom operation; use typenet's layers, or name its ONNX "
                                                "operator in .operators, if it keeps its input's shape");
}

TYPENET_INLINE void onnx_writer::refuse() {
  throw onnx_error(onnx_fault::no_operator, "onnx: " + layer_place(graph_, node_->scope) +
                                                " must consist of operators that typenet writes; found \"" +
                                                facts_of(*node_).name +
                                                "\", which it does not write yet; save the weights with "
                                                "save_safetensors instead");
}

TYPENET_INLINE onnx_messages::NodeProto& onnx_writer::join(char const* type) {
  int rank = operand().rank;
  for (int i = 1; i < node_->inputs; ++i)
    if (operand(i).rank != rank) rank = 2;
  std::vector<std::string> all(at(node_->inputs));
  for (int i = 0; i < node_->inputs; ++i) all[at(i)] = form(i, rank);
  return append(type, all, rank);
}

TYPENET_INLINE void onnx_writer::write_layer_norm() {
  if (operand().rank == 2) {
    finish(parameters(append("LayerNormalization", {form(0, 2)}, 2)));
    return;
  }
  onnx_messages::NodeProto& there = add_node("Transpose", {form(0, 4)});
  set("perm", {0, 2, 3, 1}, there);
  dsl::shape const last{in().height, in().width, in().channels};
  std::string const turned = output_of(there, last, 4);
  onnx_messages::NodeProto& norm = finish(parameters(add_node("LayerNormalization", {turned})));
  std::string const made = output_of(norm, last, 4);
  set("perm", {0, 3, 1, 2}, append("Transpose", {made}, 4));
}

TYPENET_INLINE void onnx_writer::write_group_norm() {
  int const rank = operand().rank, groups = node_->groups, last = static_cast<int>(in().size() / groups);
  dsl::shape const s = in(), apart{groups, last, 1};
  auto const all = [&](char const* name, int count, float value) {
    return numbers(name, std::vector<float>(at(count), value));
  };
  std::string const split =
      output_of(add_node("Reshape", {as_it_is(), integers("groups", {0, groups, last})}), apart, 3);
  onnx_messages::NodeProto& norm =
      add_node("InstanceNormalization", {split, all("ones", groups, 1), all("zeros", groups, 0)});
  set("epsilon", node_->epsilon, norm);
  std::vector<std::int64_t> dims{0, s.channels};
  if (rank == 4) dims.insert(dims.end(), {s.height, s.width});
  std::string const normal = output_of(norm, apart, 3);
  std::string const joined = output_of(add_node("Reshape", {normal, integers("joined", dims)}), s, rank);
  onnx_messages::NodeProto& scale = parameters(append("BatchNormalization", {joined}, rank));
  scale.add_input(all("mean", s.channels, 0));
  scale.add_input(all("variance", s.channels, 1));
  set("epsilon", 0.0, scale);
}

TYPENET_INLINE void onnx_writer::write_response_norm() {
  onnx_messages::NodeProto& n = append("LRN", {form(0, 4)}, 4);
  set("size", node_->groups, n);
  set("alpha", node_->rate, n);
  set("beta", node_->power, n);
  set("bias", node_->epsilon, n);
}

TYPENET_INLINE onnx_messages::NodeProto& onnx_writer::finish(onnx_messages::NodeProto& n) {
  set("axis", -1, n);
  set("epsilon", node_->epsilon, n);
  return n;
}

TYPENET_INLINE void onnx_writer::write_softmax() {
  int const rank = out().is_flat() ? 2 : 4;
  set("axis", 1, append("Softmax", {form(0, rank)}, rank));
}

TYPENET_INLINE void onnx_writer::write_product() {
  if (out().is_flat()) {
    join("Mul");
    return;
  }
  std::string const first = form(0, 4);
  append("Mul", {first, form(1, 4)}, 4);
}

TYPENET_INLINE void onnx_writer::write_scale() { parameters(append("Mul", {form(0, 4)}, 4)); }

TYPENET_INLINE void onnx_writer::write_slice() {
  std::string const x = as_it_is();
  int const rank = operand().rank, first = node_->first_channel;
  std::string const begin = integers("begin", {first}), end = integers("end", {first + out().channels});
  append("Slice", {x, begin, end, integers("axis", {1})}, rank);
}

TYPENET_INLINE std::string onnx_writer::as_row() {
  std::string x = form(0, 4);
  int const tokens = static_cast<int>(in().area());
  if (in().height == 1) return x;
  return output_of(add_node("Reshape", {x, integers("row", {0, in().channels, 1, tokens})}), {in().channels, 1, tokens},
                   4);
}

TYPENET_INLINE std::string onnx_writer::weight() const { return names_.weights[at(node_->first_parameter)]; }

TYPENET_INLINE void onnx_writer::write_embedding() {
  onnx_messages::NodeProto& whole = add_node("Cast", {form(0, 4)});
  set("to", static_cast<int>(onnx_messages::TensorProto::INT64), whole);
  std::string const numbers = integers_of(whole, {of_batch, 1, out().height, out().width});
  onnx_messages::NodeProto& squeezed = add_node("Squeeze", {numbers, integers("channel", {1})});
  std::string const tokens = integers_of(squeezed, {of_batch, out().height, out().width});
  onnx_messages::NodeProto& rows = add_node("Gather", {weight(), tokens});
  set("axis", 0, rows);
  std::string const found = output_of(rows, {out().height, out().width, out().channels}, 4);
  set("perm", {0, 3, 1, 2}, append("Transpose", {found}, 4));
}

TYPENET_INLINE void onnx_writer::write_positions() {
  onnx_messages::NodeProto& there = add_node("Transpose", {weight()});
  set("perm", {0, 2, 1}, there);
  std::string const turned = numbers_of(there, {1, out().channels, out().area()});
  std::vector<std::int64_t> const dims{1, out().channels, out().height, out().width};
  std::string const added = numbers_of(add_node("Reshape", {turned, integers("positions", dims)}), dims);
  append("Add", {form(0, 4), added}, 4);
}

TYPENET_INLINE void onnx_writer::write_class_token() {
  std::string const row = as_row();
  int const channels = in().channels;
  std::vector<std::int64_t> const one{1, channels, 1, 1};
  std::string const token = numbers_of(add_node("Reshape", {weight(), integers("token", one)}), one);
  onnx_messages::NodeProto& shape = add_node("Shape", {row});
  set("end", 1, shape);
  std::string const batch = integers_of(shape, {1});
  onnx_messages::NodeProto& joined = add_node("Concat", {batch, integers("one_token", {channels, 1, 1})});
  set("axis", 0, joined);
  std::string const dims = integers_of(joined, {4});
  std::string const tokens = output_of(add_node("Expand", {token, dims}), {channels, 1, 1}, 4);
  set("axis", 3, append("Concat", {tokens, row}, 4));
}

TYPENET_INLINE void onnx_writer::write_token_slice() {
  std::string const row = as_row();
  int const first = node_->first_channel;
  std::string const begin = integers("begin", {first}), end = integers("end", {first + out().width});
  append("Slice", {row, begin, end, integers("tokens", {3})}, 4);
}

TYPENET_INLINE void onnx_writer::write_transposed_tokens() {
  set("perm", {0, 3, 2, 1}, append("Transpose", {as_row()}, 4));
}

TYPENET_INLINE void onnx_writer::write_zero_padding() {
  window_side const rows = node_->window.rows(), columns = node_->window.columns();
  std::string const x = form(0, 4);
  append("Pad",
         {x, integers("pads", {0, 0, rows.before, columns.before, 0, 0, rows.behind(in().height, out().height),
                               columns.behind(in().width, out().width)})},
         4);
}

TYPENET_INLINE void onnx_writer::write_attention() {
  std::string const x = form(0, 4);
  int const channels = out().channels, heads = node_->groups, width = channels / heads;
  int const tokens = static_cast<int>(out().area());
  std::string const split = integers("heads", {0, heads, width, tokens}), axis = integers("axis", {1});
  auto const part = [&](int which) {
    std::string const begin = integers("begin", {which * channels}), end = integers("end", {(which + 1) * channels});
    std::string const some = output_of(add_node("Slice", {x, begin, end, axis}), out(), 4);
    return output_of(add_node("Reshape", {some, split}), {heads, width, tokens}, 4);
  };
  auto const turned = [&](std::string const& what, dsl::shape const& to) {
    onnx_messages::NodeProto& n = add_node("Transpose", {what});
    set("perm", {0, 1, 3, 2}, n);
    return output_of(n, to, 4);
  };
  dsl::shape const pairs{heads, tokens, tokens};
  std::string const queries = turned(part(0), {heads, tokens, width}), keys = part(1), values = part(2);
  std::string const products = output_of(add_node("MatMul", {queries, keys}), pairs, 4);
  float const scale = 1 / detail::sqrt(static_cast<float>(width));
  std::string scores = output_of(add_node("Mul", {products, number("scale", scale)}), pairs, 4);
  if (node_->kind == op::causal_attention) {
    onnx_messages::NodeProto& all = add_node("ConstantOfShape", {integers("pairs", {tokens, tokens})});
    onnx_messages::AttributeProto& value = attribute("value", all);
    value.set_type(onnx_messages::AttributeProto::TENSOR);
    float const nothing = -__builtin_inff();
    onnx_messages::TensorProto& t = *value.mutable_t();
    t.set_data_type(onnx_messages::TensorProto::FLOAT);
    t.add_dims(1);
    t.set_raw_data(&nothing, sizeof nothing);
    std::string const hidden = numbers_of(all, {tokens, tokens});
    onnx_messages::NodeProto& above = add_node("Trilu", {hidden, scalar("behind", 1)});  // 0 up to the diagonal
    std::string const mask = numbers_of(above, {tokens, tokens});
    scores = output_of(add_node("Add", {scores, mask}), pairs, 4);
  }
  onnx_messages::NodeProto& share = add_node("Softmax", {scores});
  set("axis", -1, share);
  std::string const weights = turned(output_of(share, pairs, 4), pairs);
  std::string const sums = output_of(add_node("MatMul", {values, weights}), {heads, width, tokens}, 4);
  append("Reshape", {sums, integers("joined", {0, channels, out().height, out().width})}, 4);
}

TYPENET_INLINE std::string onnx_writer::scalar(char const* name, std::int64_t value) {
  onnx_messages::TensorProto& t = *to_.add_initializer();
  t.set_name(names_.unused(name));
  t.set_data_type(onnx_messages::TensorProto::INT64);
  t.set_raw_data(&value, sizeof value);
  return t.name();
}

TYPENET_INLINE void onnx_writer::write_shuffle() {
  std::string const x = as_it_is();
  int const rank = operand().rank, channels = in().channels, each = channels / node_->groups;
  std::vector<std::int64_t> from;
  from.reserve(at(channels));
  for (int c = 0; c < channels; ++c) from.push_back(c % node_->groups * each + c / node_->groups);
  set("axis", 1, append("Gather", {x, integers("order", from)}, rank));
}

TYPENET_INLINE void onnx_writer::write_upsampling() {
  bool const bilinear = node_->kind == op::upsample_bilinear;
  std::string const x = form(0, 4);
  int const rows = out().height / in().height, columns = out().width / in().width;
  std::string const factors = numbers("scales", {1.0F, 1.0F, static_cast<float>(rows), static_cast<float>(columns)});
  onnx_messages::NodeProto& n = append("Resize", {x, "", factors}, 4);  // without a region of interest
  set("mode", bilinear ? "linear" : "nearest", n);
  set("coordinate_transformation_mode", bilinear ? "half_pixel" : "asymmetric", n);
  if (!bilinear) set("nearest_mode", "floor", n);
}

TYPENET_INLINE std::string onnx_writer::form(int i, int rank) {
  forms& f = operand(i);
  std::string& name = f.name[rank == 4];
  if (!name.empty()) return name;
  dsl::shape const& s = graph_.input_shape(*node_, i);
  std::string const from = f.name[rank != 4];
  onnx_messages::NodeProto& n =
      rank == 2 ? add_node("Flatten", {from}) : add_node("Unsqueeze", {from, height_and_width()});
  if (rank == 2) set("axis", 1, n);
  return name = output_of(n, rank == 2 ? dsl::shape{static_cast<int>(s.size())} : s, rank);
}

TYPENET_INLINE std::string const& onnx_writer::height_and_width() {
  if (axes_.empty()) axes_ = integers("height_and_width", {2, 3});
  return axes_;
}

TYPENET_INLINE std::string onnx_writer::integers(char const* name, std::vector<std::int64_t> const& values) {
  onnx_messages::TensorProto& t = *to_.add_initializer();
  t.set_name(names_.unused(name));
  t.set_data_type(onnx_messages::TensorProto::INT64);
  t.add_dims(static_cast<std::int64_t>(values.size()));
  t.set_raw_data(values.data(), values.size() * sizeof(std::int64_t));
  return t.name();
}

TYPENET_INLINE std::string const& onnx_writer::zero_and_six() {
  if (zero_.empty()) zero_ = number("zero", 0.0F), six_ = number("six", 6.0F);
  return zero_;
}

TYPENET_INLINE std::string onnx_writer::number(char const* name, float value) {
  onnx_messages::TensorProto& t = *to_.add_initializer();
  t.set_name(names_.unused(name));
  t.set_data_type(onnx_messages::TensorProto::FLOAT);
  t.set_raw_data(&value, sizeof value);
  return t.name();
}

TYPENET_INLINE std::string onnx_writer::numbers(char const* name, std::vector<float> const& values) {
  onnx_messages::TensorProto& t = *to_.add_initializer();
  t.set_name(names_.unused(name));
  t.set_data_type(onnx_messages::TensorProto::FLOAT);
  t.add_dims(static_cast<std::int64_t>(values.size()));
  t.set_raw_data(values.data(), values.size() * sizeof(float));
  return t.name();
}

TYPENET_INLINE onnx_messages::NodeProto& onnx_writer::add_node(std::string const& type,
                                                               std::vector<std::string> const& inputs) {
  onnx_messages::NodeProto& n = *to_.add_node();
  n.set_name(names_.operation(node_->scope, type));
  n.set_op_type(type);
  n.set_doc_string(layer_place(graph_, node_->scope));
  for (std::string const& name : inputs) n.add_input(name);
  return n;
}

TYPENET_INLINE std::string onnx_writer::output_of(onnx_messages::NodeProto& n, dsl::shape const& s, int rank) {
  return numbers_of(n, dims_of(s, rank));
}

TYPENET_INLINE std::string onnx_writer::numbers_of(onnx_messages::NodeProto& n, std::vector<std::int64_t> const& dims) {
  return described(n, {names_.unused(n.name() + "_output_0"), dims});
}

TYPENET_INLINE std::string onnx_writer::integers_of(onnx_messages::NodeProto& n,
                                                    std::vector<std::int64_t> const& dims) {
  return described(n, {names_.unused(n.name() + "_output_0"), dims, onnx_messages::TensorProto::INT64});
}

TYPENET_INLINE std::string onnx_writer::described(onnx_messages::NodeProto& n, named v) {
  n.add_output(v.name);
  values_.push_back(std::move(v));
  return values_.back().name;
}

TYPENET_INLINE std::vector<std::int64_t> onnx_writer::dims_of(dsl::shape const& s, int rank) {
  std::vector<std::int64_t> dims{of_batch, s.channels, s.height, s.width};
  dims.resize(at(rank));
  return dims;
}

TYPENET_INLINE onnx_messages::NodeProto& onnx_writer::append(std::string const& type,
                                                             std::vector<std::string> const& inputs, int rank) {
  onnx_messages::NodeProto& n = add_node(type, inputs);
  keep(node_->output, output_of(n, out(), rank), rank);
  return n;
}

TYPENET_INLINE void onnx_writer::keep(int tensor, std::string const& name, int rank) {
  forms& f = made_[at(tensor)];
  f.name[rank == 4] = name;
  f.rank = rank;
}

TYPENET_INLINE onnx_messages::NodeProto& onnx_writer::parameters(onnx_messages::NodeProto& n) {
  for (int k = node_->first_parameter; k < node_->first_parameter + node_->parameters; ++k)
    n.add_input(names_.weights[at(k)]);
  return n;
}

TYPENET_INLINE void onnx_writer::name_outputs() {
  --node_;  // write() has advanced it beyond the last node
  for (int k = 0; k < output_count(graph_); ++k) {
    node const& x = graph_.nodes[output_node(graph_, k)];
    name const& own = graph_.scopes[x.further_output].name;
    outputs_.push_back(k == 0 ? options_.output : std::string(own.data, static_cast<std::size_t>(own.size)));
    name_output(x.output, outputs_.back());
  }
}

TYPENET_INLINE void onnx_writer::name_output(int tensor, std::string const& own) {
  forms const& f = made_[at(tensor)];
  std::string const before = f.name[f.rank == 4];
  bool renames = false;  // true: the value is renamed, since it is an operator's result that nothing else reads
  for (onnx_messages::NodeProto const& n : to_.node()) renames = renames || n.output(0) == before;
  for (onnx_messages::NodeProto const& n : to_.node())
    for (std::string const& read : n.input()) renames = renames && read != before;
  for (std::string const& other : outputs_) renames = renames && other != before;
  if (!renames) {
    add_node("Identity", {before}).add_output(own);
    values_.push_back({own, dims_of(graph_.shape_of(tensor), f.rank)});
    return;
  }
  for (onnx_messages::NodeProto& n : *to_.mutable_node())
    if (n.output(0) == before) n.set_output(0, own);
  for (named& v : values_)
    if (v.name == before) v.name = own;
  for (forms& other : made_)
    for (std::string& name : other.name)
      if (name == before) name = own;
}

TYPENET_INLINE void onnx_writer::describe(named const& v, onnx_messages::ValueInfoProto& to) const {
  to.set_name(v.name);
  onnx_messages::TypeProto_Tensor& type = *to.mutable_type()->mutable_tensor_type();
  type.set_elem_type(v.type);
  for (std::int64_t const d : v.dims) {
    auto& dim = *type.mutable_shape()->add_dim();
    if (d == of_batch)
      dim.set_dim_param(options_.batch);
    else
      dim.set_dim_value(d);
  }
}

TYPENET_INLINE onnx_messages::AttributeProto& onnx_writer::attribute(char const* name, onnx_messages::NodeProto& n) {
  onnx_messages::AttributeProto& a = *n.add_attribute();
  a.set_name(name);
  return a;
}

TYPENET_INLINE void onnx_writer::set(char const* name, int value, onnx_messages::NodeProto& n) {
  onnx_messages::AttributeProto& a = attribute(name, n);
  a.set_type(onnx_messages::AttributeProto::INT);
  a.set_i(value);
}

TYPENET_INLINE void onnx_writer::set(char const* name, char const* value, onnx_messages::NodeProto& n) {
  onnx_messages::AttributeProto& a = attribute(name, n);
  a.set_type(onnx_messages::AttributeProto::STRING);
  a.set_s(value);
}

TYPENET_INLINE void onnx_writer::set(char const* name, double value, onnx_messages::NodeProto& n) {
  onnx_messages::AttributeProto& a = attribute(name, n);
  a.set_type(onnx_messages::AttributeProto::FLOAT);
  a.set_f(static_cast<float>(value));
}

TYPENET_INLINE void onnx_writer::set(char const* name, std::initializer_list<long long> values,
                                     onnx_messages::NodeProto& n) {
  onnx_messages::AttributeProto& a = attribute(name, n);
  a.set_type(onnx_messages::AttributeProto::INTS);
  for (long long v : values) a.add_ints(v);
}

}  // namespace dsl::detail::TYPENET_MODE
