// SPDX-License-Identifier: MIT
#pragma once

#include <dsl/detail/mode.hpp>
#include <dsl/io/onnx/operations.hpp>
#include <dsl/io/onnx/import_reader.hpp>
#include <dsl/io/weight_text.hpp>

#include <cstddef>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace dsl::detail::TYPENET_MODE {

TYPENET_INLINE void onnx_reader::give(known k, int output) {
  if (output >= node_->output_size() || node_->output(output).empty()) return;
  std::string const& name = node_->output(output);
  if (k.value) k.value->readers += readers_[name];
  if (unread_.count(name) > 0 || !known_.emplace(name, std::move(k)).second)
    damaged("must compute a value with a new name; found " + shown(name) + ", which exists already");
}

TYPENET_INLINE void onnx_reader::give(onnx_constant c) {
  spend(c.count());
  for (int i = 0; i < node_->input_size() && !c.is_whole; ++i)
    if (is_constant(i)) c.is_weight = c.is_weight || operand(i).number->is_weight;
  give(known{nullptr, std::make_shared<onnx_constant>(std::move(c))});
}

TYPENET_INLINE onnx_value onnx_reader::append(onnx_layer l, std::vector<onnx_value> const& in, shape const& out,
                                              onnx_axes axes) {
  if (out.channels < 1 || out.height < 1 || out.width < 1 || out.size() > 0x7fffffff)
    refuse("must have a result of 1 to 2,147,483,647 numbers",
           std::to_string(out.channels) + "x" + std::to_string(out.height) + "x" + std::to_string(out.width));
  for (onnx_value const& v : in) l.inputs.push_back(v->node);
  l.out = out;
  l.place = place_;
  if (l.path.empty()) l.path = path_;
  onnx_value v = std::make_shared<onnx_function>();
  v->node = static_cast<int>(made_.layers.size());
  v->axes = std::move(axes);
  made_.layers.push_back(std::move(l));
  return v;
}

TYPENET_INLINE onnx_value onnx_reader::append(onnx_layer l, onnx_value const& in, shape const& out, onnx_axes axes) {
  return append(std::move(l), std::vector<onnx_value>{in}, out, std::move(axes));
}

TYPENET_INLINE onnx_value onnx_reader::made(onnx_value const& v) {
  if (v->what.empty()) return v;
  std::string const place = std::exchange(place_, v->place), path = std::exchange(path_, v->path);
  onnx_activation is;
  onnx_value result;
  if (!v->is_function()) {
    if (v->what == "Pad") {
      need(v->number == 0, "must pad with zeros, or be followed by a max_pool2d", std::to_string(v->number));
      result = padded(made(v->inputs[0]), v->zeros);
    } else if (v->what == "Slice") {
      refuse("must slice the channels or the tokens", "a slice of rows or columns");
    } else if (v->what != "products") {
      refuse("must be an L2 normalisation of the queries and the keys of an attention, the only one that typenet has",
             "another operator that reads the result");
    } else {
      refuse("must be a product of queries and keys, or of their weights and values, which only an attention may read",
             "another operator that reads it");
    }
    return become(v, result, place, path);
  }
  bool const first = v->inputs[0]->what == "number", second = v->inputs.size() > 1 && v->inputs[1]->what == "number";
  if (onnx_value const from = onnx_recognise(v, is)) {
    onnx_value const in = made(from);
    onnx_layer l;
    l.what.kind = op::activation;
    l.what.function = is.function;
    l.what.rate = onnx_decimal(static_cast<float>(is.rate));
    result = append(std::move(l), in, shape_of(in), in->axes);
  } else if (double epsilon = 0; onnx_value const normal = onnx_normalised(v, epsilon)) {
    result = normalised(made(normal), op::layer_norm, 1, onnx_decimal(static_cast<float>(epsilon)));
  } else if (any_onnx_row([&]<class Row>() {
               if constexpr (requires { result = Row::made_of(*this, v); }) result = Row::made_of(*this, v);
               return result != nullptr;
             })) {
    return become(v, result, place, path);
  } else if (v->inputs.size() == 2 && !first && !second && (v->what == "Add" || v->what == "Mul" || v->what == "Sub")) {
    std::vector<onnx_value> both{made(v->inputs[0]), made(v->inputs[1])};
    if (v->what == "Sub") both[1] = scaled(both[1], minus_ones(both[1]), false);
    result = v->what == "Mul" ? product(both[0], both[1]) : sum(both);
  } else if (v->inputs.size() == 2 && (first || second) && !(first && v->what == "Div")) {
    onnx_value const in = made(v->inputs[first ? 1 : 0]);
    double const n = v->inputs[first ? 0 : 1]->number;
    auto const all = [&](double x) {
      spend(static_cast<std::size_t>(shape_of(in).channels));
      return std::vector<float>(static_cast<std::size_t>(shape_of(in).channels), static_cast<float>(x));
    };
    if (v->what == "Mul" || v->what == "Div")
      result = scaled(in, all(v->what == "Mul" ? n : 1 / n), false);
    else if (v->what == "Add" || (v->what == "Sub" && second))
      result = shifted(in, all(v->what == "Add" ? n : -n), false);
  }
  if (!result) refuse("must be part of an activation that typenet has", "an unknown function");
  return become(v, result, place, path);
}

TYPENET_INLINE onnx_value onnx_reader::become(onnx_value const& v, onnx_value const& result, std::string const& place,
                                              std::string const& path) {
  place_ = place;
  path_ = path;
  int const readers = v->readers;
  // *v may own the value, which must outlive the assignment.
  // NOLINTNEXTLINE(performance-unnecessary-copy-initialization)
  onnx_value const made_value = result;
  *v = *made_value;  // other functions of this value read this layer, too
  v->readers = readers;
  return v;
}

TYPENET_INLINE onnx_value onnx_reader::view(onnx_value const& v, onnx_axes axes) {
  onnx_value seen = std::make_shared<onnx_function>();
  seen->node = v->node;
  seen->axes = std::move(axes);
  seen->readers = v->readers > 1 ? 1 : 0;  // the number of readers besides the reader of the view
  return seen;
}

TYPENET_INLINE onnx_axes onnx_reader::rechannelled(onnx_axes axes, std::size_t axis, int channels) {
  axes[axis].clear();
  if (channels > 1) axes[axis].push_back({'c', channels, 1});
  return axes;
}

TYPENET_INLINE onnx_value onnx_reader::with_channels(onnx_value const& v, std::size_t axis) {
  shape const s = shape_of(v);
  onnx_axis const& a = v->axes[axis];
  bool others_are_pixels = true, others_are_empty = true;
  for (std::size_t i = 0; i < v->axes.size(); ++i)
    for (onnx_atom const& x : v->axes[i]) {
      others_are_pixels = others_are_pixels && (i == axis || x.along != 'c');
      others_are_empty = others_are_empty && i == axis;
    }
  if (others_are_pixels && a == rechannelled(v->axes, axis, s.channels)[axis]) return v;
  onnx_axes made_axes(v->axes.size());
  if (others_are_empty && a == onnx_axes_of(s, 2)[1]) {
    onnx_value& flat = rearranged_[{v->node, 0}];
    onnx_layer l;
    l.what.kind = op::flatten;
    shape const out{static_cast<int>(s.size())};
    if (!flat) flat = append(std::move(l), v, out, onnx_axes_of(out, 2));
    return view(flat, rechannelled(made_axes, axis, out.channels));
  }
  if (others_are_pixels && a.size() == 2 && a[0].along == 'c' && a[1].along == 'c' && a[0].step == 1 &&
      a[1].step == a[0].size && onnx_size(a) == s.channels) {
    onnx_value& shuffled = rearranged_[{v->node, a[1].size}];
    onnx_layer l;
    l.what.kind = op::channel_shuffle;
    l.what.groups = a[1].size;
    if (!shuffled) shuffled = append(std::move(l), v, s, onnx_axes_of(s, 4));
    return view(shuffled, rechannelled(v->axes, axis, s.channels));
  }
  std::size_t other = v->axes.size();  // that has the channels, if this axis has the pixels
  bool is_turned = s.area() > 1 && a == pixels_of(s);
  for (std::size_t i = 0; i < v->axes.size(); ++i) {
    if (i == axis || v->axes[i].empty()) continue;
    is_turned = is_turned && other == v->axes.size() && v->axes[i] == rechannelled(v->axes, i, s.channels)[i];
    other = i;
  }
  if (is_turned && other < v->axes.size()) {
    onnx_value& turned = rearranged_[{v->node, -1}];
    if (!turned) turned = transposed(v);
    shape const out = shape_of(turned);
    made_axes = rechannelled(made_axes, axis, out.channels);
    made_axes[other] = pixels_of(out);
    return view(turned, std::move(made_axes));
  }
  refuse("must read a tensor whose channels are one of its axes",
         "other axes, after a reshape or a transpose to " + onnx_dims_text(onnx_dims(v->axes)));
}

TYPENET_INLINE onnx_value onnx_reader::transposed(onnx_value const& v) {
  shape const s = shape_of(v);
  need(s.area() <= 0x7fffffff, "must have at most 2,147,483,647 tokens", std::to_string(s.area()));
  onnx_layer l;
  l.what.kind = op::transpose_tokens;
  shape const out{static_cast<int>(s.area()), 1, s.channels};
  return append(std::move(l), v, out, onnx_axes_of(out, 4));
}

TYPENET_INLINE void onnx_reader::align_rows(std::vector<onnx_value>& all) {
  long long row = 0;
  for (onnx_value const& v : all)
    if (shape_of(v).height == 1 && shape_of(v).width > 1) row = shape_of(v).width;
  for (onnx_value& v : all) {
    shape const s = shape_of(v);
    if (s.height == 1 || s.area() != row) continue;
    for (std::size_t i = 0; i < v->axes.size(); ++i)
      if (v->axes[i] == pixels_of(s)) {
        v = in_row(v, i, 0, s.area());
        break;
      }
  }
}

TYPENET_INLINE onnx_value onnx_reader::picture(onnx_value const& v) {
  need(v->axes.size() == 4 || v->axes.size() == 3,
       "must read a tensor of four axes (batch, channels, height, width), or of three (batch, channels, length)",
       std::to_string(v->axes.size()) + " axes");
  onnx_value p = with_channels(v, 1);
  if (p->axes.size() == 3) {
    shape const s = shape_of(p);
    if (s.height > 1 && p->axes[2] == pixels_of(s)) p = in_row(p, 2, 0, s.area());
    onnx_axes axes = p->axes;
    axes.insert(axes.begin() + 2, onnx_axis{});
    p = view(p, std::move(axes));
  }
  need(p->axes == onnx_axes_of(shape_of(p), 4), "must read a tensor with the axes (batch, channels, height, width)",
       "other axes, in a tensor of " + onnx_dims_text(onnx_dims(p->axes)));
  return p;
}

TYPENET_INLINE onnx_value onnx_reader::as_operand(onnx_value const& v, std::size_t rank) {
  if (rank == 4) return v;
  onnx_axes axes = v->axes;
  axes.erase(axes.begin() + 2);
  return view(v, std::move(axes));
}

}  // namespace dsl::detail::TYPENET_MODE
