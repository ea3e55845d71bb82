// SPDX-License-Identifier: MIT
#pragma once

#include <dsl/detail/math.hpp>
#include <dsl/detail/mode.hpp>
#include <dsl/io/onnx/library.hpp>
#include <dsl/io/onnx/names.hpp>
#include <dsl/io/onnx/writer.hpp>

#include <cstdint>
#include <string>
#include <vector>

namespace dsl::detail::TYPENET_MODE {

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

}  // namespace dsl::detail::TYPENET_MODE
