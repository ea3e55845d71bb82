// SPDX-License-Identifier: MIT
#pragma once

#include <dsl/detail/mode.hpp>
#include <dsl/io/onnx/import_movement.hpp>
#include <dsl/io/weight_text.hpp>

#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace dsl::detail::TYPENET_MODE {

TYPENET_INLINE bool onnx_reader::read_movement() {
  std::string const& type = node_->op_type();
  if (type == "Identity" || type == "Dropout" || type == "Cast" || type == "CastLike") {
    if (type == "Cast" && whole("to", 0) != onnx_messages::TensorProto::FLOAT) {
      // The numbers of tokens are integers, even where they are stored as floats.
      std::int64_t const to = whole("to", 0);
      bool const is_whole = to == onnx_messages::TensorProto::INT64 || to == onnx_messages::TensorProto::INT32;
      need(is_whole && layer(value(0)).what.kind == op::input && node_->output_size() > 0 &&
               only_looks_up(node_->output(0)),
           "must convert to float32, or convert an input to token numbers", "another conversion");
    }
    double rate = type == "Dropout" ? real("ratio", 0.5) : 0;
    if (type == "Dropout" && has(1)) {
      constant const c = number(1);
      need(c->count() == 1, "must have one number as its ratio", std::to_string(c->count()) + " numbers");
      rate = c->at(0);
    }
    if (rate == 0) {  // value(0) would make a layer, but the operator may be inside an activation
      onnx_value const v = operand(0).value;
      need(v != nullptr, "must have an operand 0 that depends on the input", "a constant");
      give(v);
      return true;
    }
    need(rate > 0 && rate < 1, "must have a ratio of at least 0 and below 1", std::to_string(rate));
    onnx_value const x = value(0);
    onnx_layer l;
    l.what.kind = op::dropout;
    l.what.rate = onnx_decimal(static_cast<float>(rate));
    give(append(std::move(l), x, shape_of(x), x->axes));
    return true;
  }
  if (type != "Flatten" && type != "Reshape" && type != "Squeeze" && type != "Unsqueeze" && type != "Transpose" &&
      type != "Slice" && type != "Split" && type != "Gather" && type != "Pad" && type != "Expand")
    return false;
  if (type == "Pad") return read_pad(), true;
  onnx_value const pad = type == "Transpose" && has(0) && operand(0).value ? operand(0).value : nullptr;
  bool const is_pad = pad && pad->what == "Pad";  // which a transpose leaves for the window after it
  onnx_value const x = is_pad ? made(pad->inputs[0]) : value(0);
  std::size_t const rank = x->axes.size();
  std::vector<std::int64_t> const before = onnx_dims(x->axes);
  onnx_axes axes = x->axes;
  if (type == "Gather") {
    read_gather();
  } else if (type == "Expand") {
    std::vector<std::int64_t> const dims = wholes(1);
    bool same = dims.size() <= rank;
    for (std::size_t i = 0; same && i < dims.size(); ++i)
      same = dims[i] == 1 || dims[i] == before[rank - dims.size() + i];
    need(same, "must keep the shape of its operand", onnx_dims_text(dims) + " for " + onnx_dims_text(before));
    give(view(x, x->axes));
  } else if (type == "Transpose") {
    std::vector<std::int64_t> reversed(rank);
    for (std::size_t i = 0; i < rank; ++i) reversed[i] = static_cast<std::int64_t>(rank - 1 - i);
    std::vector<std::int64_t> const order = list("perm", reversed);
    need_order(order, rank);
    for (std::size_t i = 0; i < rank; ++i) axes[i] = x->axes[axis_of(order[i], rank)];
    if (file_.is_own() && node_->doc_string().ends_with("transpose_tokens)")) {
      onnx_axes row = rechannelled(onnx_axes(4), 1, shape_of(x).channels);
      row[3] = pixels_of(shape_of(x));
      need(x->axes == row, "must read one row of tokens", onnx_dims_text(before));
      return give(transposed(x)), true;
    }
    if (is_pad) return give_padded(view(x, std::move(axes)), pad->zeros, pad->number), true;
    give(view(x, std::move(axes)));
  } else if (type == "Squeeze") {
    std::vector<std::int64_t> which = list_or_operand("axes", 1);
    if (which.empty())
      for (std::size_t i = 0; i < rank; ++i)
        if (before[i] == 1) which.push_back(static_cast<std::int64_t>(i));
    std::vector<char> gone(rank);
    for (std::int64_t a : which) {
      std::size_t const i = axis_of(a, rank);
      if (before[i] != 1)
        damaged("must squeeze axes of size 1; found axis " + std::to_string(i) + " of " + onnx_dims_text(before));
      gone[i] = 1;
    }
    axes.clear();
    for (std::size_t i = 0; i < rank; ++i)
      if (!gone[i]) axes.push_back(x->axes[i]);
    give(view(x, std::move(axes)));
  } else if (type == "Unsqueeze") {
    std::vector<std::int64_t> const which = list_or_operand("axes", 1);
    std::size_t const wider = rank + which.size();
    if (wider > static_cast<std::size_t>(onnx_most_axes))
      damaged("must have at most 8 axes; found " + std::to_string(wider));
    std::vector<char> is_new(wider);
    for (std::int64_t a : which)
      if (is_new[axis_of(a, wider)]++) repeated(which);
    axes.assign(wider, {});
    for (std::size_t i = 0, from = 0; i < wider; ++i)
      if (!is_new[i]) axes[i] = x->axes[from++];
    give(view(x, std::move(axes)));
  } else if (type == "Flatten" || type == "Reshape") {
    std::vector<std::int64_t> dims;
    std::int64_t all = 1;
    for (std::int64_t d : before) all *= d;
    if (type == "Flatten") {
      std::int64_t const at = whole("axis", 1);
      std::size_t const end = at == static_cast<std::int64_t>(rank) ? rank : axis_of(at, rank);
      dims = {1, 1};
      for (std::size_t i = 0; i < rank; ++i) dims[i < end ? 0 : 1] *= before[i];
    } else {
      dims = wholes(1);
      if (dims.size() > static_cast<std::size_t>(onnx_most_axes))
        damaged("must have at most 8 axes; found " + std::to_string(dims.size()));
      std::vector<std::int64_t> const asked = dims;
      std::int64_t rest = all, open = 0;
      for (std::size_t i = 0; i < dims.size(); ++i) {
        if (dims[i] == 0 && i < rank && whole("allowzero", 0) == 0) dims[i] = before[i];
        if (dims[i] == -1 ? ++open > 1 : dims[i] < 1 || rest % dims[i] != 0) other_count(asked, before);
        if (dims[i] > 0) rest /= dims[i];
      }
      for (std::int64_t& d : dims)
        if (d == -1) d = rest;
      if (open == 0 && rest != 1) other_count(asked, before);
    }
    need(onnx_reshape(axes, dims), "must split or join whole axes",
         onnx_dims_text(before) + " that becomes " + onnx_dims_text(dims));
    shape const s = shape_of(x);
    bool const flattens = dims.size() == 2 && rank > 2 && axes == onnx_axes_of(s, 2);
    // In files that typenet wrote, a Flatten may also convert a value to two axes; only a node named flatten stands for
    // a layer.
    bool const is_conversion = file_.is_own() && s.is_flat() && !node_->doc_string().ends_with("flatten)");
    if (!flattens || is_conversion) {
      give(view(x, std::move(axes)));
      return true;
    }
    onnx_value& flat = rearranged_[{x->node, 0}];
    onnx_layer l;
    l.what.kind = op::flatten;
    shape const out{static_cast<int>(s.size())};
    if (!flat) flat = append(std::move(l), x, out, onnx_axes_of(out, 2));
    give(view(flat, flat->axes));
  } else if (type == "Split") {
    std::size_t const axis = axis_of(whole("axis", 0), rank);
    std::vector<std::int64_t> parts = list_or_operand("split", 1);
    std::int64_t const count = whole("num_outputs", node_->output_size());
    if (parts.empty()) {
      if (count < 1 || count > before[axis])
        damaged("must split an axis of " + std::to_string(before[axis]) + " into 1 to as many parts; found " +
                std::to_string(count));
      std::int64_t const each = (before[axis] + count - 1) / count;
      for (std::int64_t i = 0; i < count; ++i)
        parts.push_back(i + 1 < count ? each : before[axis] - each * (count - 1));
    }
    auto const need_parts = [&](bool holds) {
      if (!holds)
        damaged("must split axis " + std::to_string(axis) + " of " + onnx_dims_text(before) +
                " into positive parts that add up to it, at least one for each output; found the parts " +
                onnx_dims_text(parts) + " for " + counted(node_->output_size(), "output"));
    };
    std::int64_t sum = 0;
    for (std::int64_t p : parts) {
      need_parts(p >= 1 && p <= before[axis] - sum);
      sum += p;
    }
    need_parts(sum == before[axis] && static_cast<std::size_t>(node_->output_size()) <= parts.size());
    std::int64_t begin = 0;
    for (int i = 0; i < node_->output_size(); ++i) {
      std::int64_t const size = parts[static_cast<std::size_t>(i)];
      if (!node_->output(i).empty()) give(known{sliced(x, axis, begin, begin + size), nullptr}, i);
      begin += size;
    }
  } else {  // Slice
    std::vector<std::int64_t> const begins = list_or_operand("starts", 1), ends = list_or_operand("ends", 2);
    std::vector<std::int64_t> which = list_or_operand("axes", 3), steps = has(4) ? wholes(4) : which;
    if (which.empty())
      for (std::size_t i = 0; i < begins.size(); ++i) which.push_back(static_cast<std::int64_t>(i));
    if (!has(4)) steps.assign(begins.size(), 1);
    need_slices(begins.size(), ends.size(), which.size(), steps.size(), rank);
    onnx_value v = x;
    for (std::size_t i = 0; i < begins.size(); ++i) {
      std::size_t const axis = axis_of(which[i], rank);
      std::int64_t const size = onnx_size(v->axes[axis]);
      auto const clamped = [&](std::int64_t at) {
        std::int64_t const from = at < -size ? 0 : at < 0 ? at + size : at;
        return from > size ? size : from;
      };
      need(steps[i] == 1, "must have steps of 1", std::to_string(steps[i]));
      v = sliced(v, axis, clamped(begins[i]), clamped(ends[i]));
    }
    give(view(v, v->axes));
  }
  return true;
}

TYPENET_INLINE onnx_value onnx_reader::sliced(onnx_value const& x, std::size_t axis, std::int64_t begin,
                                              std::int64_t end) {
  std::int64_t const size = onnx_size(x->axes[axis]);
  need(begin >= 0 && begin < end && end <= size, "must keep at least one element of an axis", "none");
  shape const s = shape_of(x);
  bool const is_whole = begin == 0 && end == size;
  bool const has_tokens = x->axes[axis] == pixels_of(s);
  if (is_whole && (!has_tokens || s.height <= 1 || !file_.is_own())) return x;
  if (has_tokens) return in_row(x, axis, begin, end);
  onnx_axis const& parts = x->axes[axis];
  if (parts.size() == 1 && parts[0].along == 'c' && parts[0].step > 1 &&
      1LL * parts[0].size * parts[0].step == s.channels) {
    // The slowest part of the channels, such as queries, keys and values.
    int const step = parts[0].step, count = static_cast<int>(end - begin);
    onnx_layer l;
    l.what.kind = op::channel_slice;
    l.what.first_channel = static_cast<int>(begin) * step;
    onnx_axes axes = x->axes;
    axes[axis].clear();
    if (count > 1) axes[axis].push_back({'c', count, step});
    return append(std::move(l), x, {count * step, s.height, s.width}, std::move(axes));
  }
  bool has_channels = true;
  for (onnx_atom const& a : x->axes[axis]) has_channels = has_channels && a.along == 'c';
  need(has_channels, "must slice the channels or the tokens", "a slice of rows or columns");
  onnx_value const v = with_channels(x, axis);
  onnx_layer l;
  l.what.kind = op::channel_slice;
  l.what.first_channel = static_cast<int>(begin);
  shape out = shape_of(v);
  out.channels = static_cast<int>(end - begin);
  return append(std::move(l), v, out, rechannelled(v->axes, axis, out.channels));
}

TYPENET_INLINE onnx_value onnx_reader::in_row(onnx_value const& x, std::size_t axis, std::int64_t begin,
                                              std::int64_t end) {
  onnx_layer l;
  l.what.kind = op::token_slice;
  l.what.first_channel = static_cast<int>(begin);
  shape const row{shape_of(x).channels, 1, static_cast<int>(end - begin)};
  onnx_axes axes = x->axes;
  axes[axis] = pixels_of(row);
  return append(std::move(l), x, row, std::move(axes));
}

TYPENET_INLINE bool onnx_reader::only_looks_up(std::string const& name) {
  spend(static_cast<std::size_t>(file_.graph().node_size()));
  std::vector<std::string> names{name};
  for (int i = index_ + 1; i < file_.graph().node_size(); ++i) {
    auto const& n = file_.graph().node(i);
    for (int k = 0; k < n.input_size(); ++k) {
      bool is_it = false;
      for (std::string const& each : names) is_it = is_it || each == n.input(k);
      if (!is_it) continue;
      std::string const& type = n.op_type();
      if (type == "Gather" && k == 1) continue;
      bool const is_view = k == 0 && (type == "Squeeze" || type == "Unsqueeze" || type == "Reshape" || type == "Cast");
      if (!is_view || n.output_size() != 1 || names.size() > 16) return false;
      names.push_back(n.output(0));
    }
  }
  return true;
}

TYPENET_INLINE void onnx_reader::read_pad() {
  onnx_value const x = value(0);
  std::size_t const rank = x->axes.size();
  std::vector<std::int64_t> const pads = list_or_operand("pads", 1);
  std::vector<std::int64_t> which = has(3) ? wholes(3) : std::vector<std::int64_t>{};
  if (!has(3))
    for (std::size_t i = 0; i < rank; ++i) which.push_back(static_cast<std::int64_t>(i));
  if (pads.size() != 2 * which.size())
    damaged("must have padding before and after each of " +
            counted(static_cast<long long>(which.size()), "axis", "axes") + "; found " + onnx_dims_text(pads));
  need(text("mode", "constant") == "constant", "must pad with a constant", shown(text("mode", "constant")));
  double const fill = has(2) ? (number(2)->count() == 1 ? number(2)->at(0) : 1) : real("value", 0);
  need(fill == 0 || fill < -1e30, "must pad with zeros, or with the lowest float before a max_pool2d",
       std::to_string(fill));
  option::pad zeros{};
  shape const s = shape_of(x);
  bool any = false;
  for (std::size_t i = 0; i < which.size(); ++i) {
    std::int64_t const before = pads[i], behind = pads[i + which.size()];
    if (before == 0 && behind == 0) continue;
    any = true;
    std::size_t const axis = axis_of(which[i], rank);
    need(before >= 0 && behind >= 0 && before < 0x8000 && behind < 0x8000,
         "must pad each side with 0 to 32,767 numbers", std::to_string(before) + " and " + std::to_string(behind));
    // An axis without parts has one row or one column.
    onnx_axis const& parts = x->axes[axis];
    bool const is_row = parts.empty() ? s.height == 1 && rank == 4 && axis == 2 : parts == pixels_of({1, s.height, 1});
    bool const is_column =
        parts.empty() ? s.width == 1 && rank > 2 && axis + 1 == rank : parts == pixels_of({1, 1, s.width});
    need(is_row || is_column, "must pad only rows and columns", "another axis");
    (is_row ? zeros.top : zeros.left) = static_cast<int>(before);
    (is_row ? zeros.bottom : zeros.right) = static_cast<int>(behind);
  }
  if (!any && !file_.is_own()) return give(view(x, x->axes));
  if (s.height > 0x7fffffff - 0xffff || s.width > 0x7fffffff - 0xffff)
    refuse("must have a result of at most 2,147,483,647 numbers", "more");
  give_padded(x, zeros, fill);
}

TYPENET_INLINE void onnx_reader::give_padded(onnx_value const& x, option::pad const& zeros, double fill) {
  onnx_value f = std::make_shared<onnx_function>();
  f->what = "Pad";
  f->number = fill;
  f->inputs = {x};
  f->axes = x->axes;
  f->zeros = zeros;
  f->place = place_;
  f->path = path_;
  give(f);
}

TYPENET_INLINE onnx_value onnx_reader::padded(onnx_value const& v, option::pad const& zeros) {
  shape const s = shape_of(v);
  onnx_value const x = view(v, onnx_axes_of(s, 4));
  onnx_layer l;
  l.what.kind = op::zero_pad2d;
  l.what.window = {1, 1, 1, zeros.top, zeros.left};
  l.zeros = zeros;
  shape const out{s.channels, s.height + zeros.top + zeros.bottom, s.width + zeros.left + zeros.right};
  if (out.size() > 0x7fffffff) refuse("must have a result of at most 2,147,483,647 numbers", "more");
  onnx_axes axes = v->axes;
  for (std::size_t i = 0; i < axes.size(); ++i) {
    bool const is_row = axes[i].empty() ? s.height == 1 && axes.size() == 4 && i == 2 : axes[i][0].along == 'h';
    bool const is_column = axes[i].empty() ? s.width == 1 && i + 1 == axes.size() : axes[i][0].along == 'w';
    if (is_row && zeros.top + zeros.bottom > 0) axes[i] = pixels_of({1, out.height, 1});
    if (is_column && zeros.left + zeros.right > 0) axes[i] = pixels_of({1, 1, out.width});
  }
  return append(std::move(l), x, out, std::move(axes));
}

TYPENET_INLINE void onnx_reader::read_gather() {
  onnx_value const x = value(0);
  std::size_t const axis = axis_of(whole("axis", 0), x->axes.size());
  constant const c = number(1);
  std::int64_t const size = onnx_size(x->axes[axis]);
  need(c->is_whole && c->count() > 0, "must select elements by a list of whole numbers",
       c->is_whole ? "an empty list" : "floats");
  std::vector<std::int64_t> all = c->wholes;
  bool is_all = static_cast<std::int64_t>(c->count()) == size;
  for (std::size_t i = 0; is_all && i < all.size(); ++i) is_all = all[i] == static_cast<std::int64_t>(i);
  if (is_all && !c->dims.empty()) {  // all elements in order: this only reshapes the axis to the shape of the list
    std::vector<std::int64_t> dims = onnx_dims(x->axes);
    dims.erase(dims.begin() + static_cast<std::ptrdiff_t>(axis));
    dims.insert(dims.begin() + static_cast<std::ptrdiff_t>(axis), c->dims.begin(), c->dims.end());
    onnx_axes axes = x->axes;
    need(onnx_reshape(axes, dims), "must split or join whole axes",
         onnx_dims_text(onnx_dims(x->axes)) + " that becomes " + onnx_dims_text(dims));
    return give(view(x, std::move(axes)));
  }
  need(c->dims.size() <= 1, "must select elements by a list of whole numbers",
       "a tensor of " + std::to_string(c->dims.size()) + " axes");
  for (std::int64_t& i : all) {
    if (i < -size || i >= size) outside(i, axis, size);
    if (i < 0) i += size;
  }
  bool neighbours = true;
  for (std::size_t i = 1; i < all.size(); ++i) neighbours = neighbours && all[i] == all[i - 1] + 1;
  if (neighbours) {
    onnx_value const v = sliced(x, axis, all[0], all[0] + static_cast<std::int64_t>(all.size()));
    onnx_axes axes = v->axes;
    if (c->dims.empty()) axes.erase(axes.begin() + static_cast<std::ptrdiff_t>(axis));
    give(view(v, std::move(axes)));
    return;
  }
  onnx_value const v = with_channels(x, axis);
  int const channels = shape_of(v).channels;
  int const each = static_cast<int>(all[1]), groups = each > 0 ? channels / each : 0;
  bool is_shuffle = all.size() == static_cast<std::size_t>(channels) && each > 0 && each * groups == channels;
  for (int i = 0; is_shuffle && i < channels; ++i)
    is_shuffle = all[static_cast<std::size_t>(i)] == i % groups * each + i / groups;
  need(is_shuffle, "must select neighbouring channels, or all channels in the order of a channel_shuffle",
       "other channels");
  onnx_layer l;
  l.what.kind = op::channel_shuffle;
  l.what.groups = groups;
  give(append(std::move(l), v, shape_of(v), v->axes));
}

}  // namespace dsl::detail::TYPENET_MODE
