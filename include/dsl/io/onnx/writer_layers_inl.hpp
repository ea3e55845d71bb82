// SPDX-License-Identifier: MIT
#pragma once

#include <dsl/detail/mode.hpp>
#include <dsl/graph/place.hpp>
#include <dsl/io/onnx/library.hpp>
#include <dsl/io/onnx/names.hpp>
#include <dsl/io/onnx/writer.hpp>

#include <cstdint>
#include <string>
#include <vector>

namespace dsl::detail::TYPENET_MODE {

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

TYPENET_INLINE void onnx_writer::write_zero_padding() {
  window_side const rows = node_->window.rows(), columns = node_->window.columns();
  std::string const x = form(0, 4);
  append("Pad",
         {x, integers("pads", {0, 0, rows.before, columns.before, 0, 0, rows.behind(in().height, out().height),
                               columns.behind(in().width, out().width)})},
         4);
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

TYPENET_INLINE std::string const& onnx_writer::height_and_width() {
  if (axes_.empty()) axes_ = integers("height_and_width", {2, 3});
  return axes_;
}

TYPENET_INLINE std::string const& onnx_writer::zero_and_six() {
  if (zero_.empty()) zero_ = number("zero", 0.0F), six_ = number("six", 6.0F);
  return zero_;
}

}  // namespace dsl::detail::TYPENET_MODE
