// SPDX-License-Identifier: MIT
#pragma once

#include <dsl/detail/mode.hpp>
#include <dsl/io/onnx/import_norms.hpp>

#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace dsl::detail::TYPENET_MODE {

TYPENET_INLINE bool onnx_reader::read_norm() {
  std::string const& type = node_->op_type();
  if (type == "BatchNormalization") {
    if (!read_scale_and_shift()) read_batch_norm();
    return true;
  }
  if (type == "LayerNormalization") return read_layer_norm(), true;
  if (type == "InstanceNormalization") return read_instance_norm(), true;
  if (type == "GroupNormalization") return read_group_norm(), true;
  if (type == "LRN") return read_response_norm(), true;
  return false;
}

TYPENET_INLINE onnx_value onnx_reader::normalised(onnx_value const& x, op kind, int groups, double epsilon) {
  need(epsilon >= 1e-30 && epsilon < 1e30, "must have an epsilon of at least 1e-30 and below 1e30", message({epsilon}));
  auto const channels = static_cast<std::size_t>(shape_of(x).channels);
  spend(2 * channels);
  onnx_layer l;
  l.what.kind = kind;
  l.what.epsilon = epsilon;
  l.what.groups = groups;
  l.weights = {std::vector<float>(channels, 1.0F), std::vector<float>(channels, 0.0F)};
  l.takes_scale = l.takes_shift = true;
  l.is_constant = !file_.is_own();  // until an operand or an operator has a weight
  return append(std::move(l), x, shape_of(x), x->axes);
}

TYPENET_INLINE void onnx_reader::read_instance_norm() {
  onnx_value const x = value(0);
  std::size_t const rank = x->axes.size();
  need(rank > 2, "must read a tensor of at least three axes", std::to_string(rank));
  shape const s = shape_of(x);
  auto const groups = static_cast<int>(onnx_size(x->axes[1]));
  onnx_axis rest;
  for (std::size_t i = 2; i < rank; ++i) rest.insert(rest.end(), x->axes[i].begin(), x->axes[i].end());
  onnx_merge(rest);
  int const each = groups > 0 ? s.channels / groups : 0;
  onnx_axis const wanted = groups > 1 ? onnx_axis{{'c', groups, each}} : onnx_axis{};
  need(each > 0 && each * groups == s.channels && x->axes[0].empty() && x->axes[1] == wanted &&
           rest == onnx_axes_of({each, s.height, s.width}, 2)[1],
       "must normalise groups of channels over all pixels",
       "other axes, in a tensor of " + onnx_dims_text(onnx_dims(x->axes)));
  onnx_value const v = normalised(x, op::group_norm, groups, real("epsilon", 1e-5));
  onnx_layer& l = layer(v);
  for (int k = 0; k < 2; ++k) {
    std::vector<float> const numbers = parameter(1 + k, {groups});
    for (std::size_t c = 0; c < l.weights[0].size(); ++c) {
      float const n = numbers[c / static_cast<std::size_t>(each)];
      if (n != l.weights[static_cast<std::size_t>(k)][c])
        l.takes_scale = false, l.takes_shift = k == 0 && l.takes_shift;
      l.weights[static_cast<std::size_t>(k)][c] = n;
    }
  }
  if (!l.takes_scale) l.path = path_of_weight(number(1));
  for (int k = 0; k < 2; ++k)
    if (number(1 + k)->is_weight && (!l.takes_scale || number(1 + k)->name.find('.') != std::string::npos))
      l.is_constant = false;
  give(v);
}

TYPENET_INLINE void onnx_reader::read_group_norm() {
  onnx_value const operand = value(0);
  std::size_t const rank = operand->axes.size();
  need(rank > 1, "must read a tensor with an axis of channels", std::to_string(rank) + " axes");
  onnx_value const x = with_channels(operand, 1);
  int const channels = shape_of(x).channels;
  std::int64_t const groups = whole("num_groups", 0);
  if (groups < 1 || groups > channels || channels % groups != 0)
    damaged("must have a number of groups that divides its channels; found " + std::to_string(groups));
  onnx_value const v = normalised(x, op::group_norm, static_cast<int>(groups), real("epsilon", 1e-5));
  onnx_layer& l = layer(v);
  for (int k = 0; k < 2; ++k) {  // until opset 20, there is a number for each group
    bool const per_group = number(1 + k)->count() == static_cast<std::size_t>(groups);
    std::vector<float> const numbers = parameter(1 + k, {per_group ? groups : channels});
    for (std::size_t c = 0; c < l.weights[0].size(); ++c)
      l.weights[static_cast<std::size_t>(k)][c] =
          numbers[per_group ? c / static_cast<std::size_t>(channels / groups) : c];
  }
  bool is_plain = true;
  for (std::size_t c = 0; c < l.weights[0].size(); ++c)
    is_plain = is_plain && l.weights[0][c] == 1.0F && l.weights[1][c] == 0.0F;
  l.takes_scale = l.takes_shift = is_plain;
  l.is_constant = l.is_constant && !number(1)->is_weight && !number(2)->is_weight;
  if (!is_plain) l.path = path_of_weight(number(1));
  give(v);
}

TYPENET_INLINE bool onnx_reader::read_scale_and_shift() {
  onnx_value const x = value(0);
  if (x->axes.size() < 2 || x->readers != 1 || !layer(x).takes_scale || !layer(x).takes_shift) return false;
  int const channels = shape_of(x).channels;
  if (with_channels(x, 1) != x || real("epsilon", 1e-5) > 1e-12) return false;
  for (int k = 3; k < 5; ++k)
    for (float const n : parameter(k, {channels}))
      if (n != (k == 3 ? 0.0F : 1.0F)) return false;
  onnx_layer& l = layer(x);
  l.weights = {parameter(1, {channels}), parameter(2, {channels})};
  l.takes_scale = l.takes_shift = l.is_constant = false;
  l.path = path_of_weight(number(1));
  give(view(x, x->axes));
  return true;
}

TYPENET_INLINE void onnx_reader::read_mean_of_channels(std::vector<std::int64_t> const& which) {
  onnx_value x = operand(0).value;
  if (x->size >= onnx_largest_function || !x->is_function()) x = made(x);
  onnx_value const base = x->what.empty() ? x : x->base;
  std::size_t const rank = base->axes.size();
  std::vector<char> gone(rank);
  for (std::int64_t a : which) gone[axis_of(a, rank)] = 1;
  for (std::size_t i = 0; i < rank; ++i)
    for (onnx_atom const& a : base->axes[i])
      need((a.along == 'c') == (gone[i] != 0), "must be a mean over all channels, or over all pixels",
           "one over other axes");
  need(whole("keepdims", 1) != 0, "must keep the axis of its channels", "keepdims 0");
  onnx_value f = std::make_shared<onnx_function>();
  f->what = "mean";
  f->inputs = {x};
  f->base = base;
  f->size = x->size + 1;
  f->place = place_;
  f->path = path_;
  give(f);
}

}  // namespace dsl::detail::TYPENET_MODE
