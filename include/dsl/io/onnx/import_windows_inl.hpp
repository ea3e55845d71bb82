// SPDX-License-Identifier: MIT
#pragma once

#include <dsl/detail/message.hpp>
#include <dsl/detail/mode.hpp>
#include <dsl/io/onnx/import_products.hpp>
#include <dsl/io/onnx/import_windows.hpp>

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace dsl::detail::TYPENET_MODE {

TYPENET_INLINE bool onnx_reader::read_windows() {
  std::string const& type = node_->op_type();
  if (type == "Slice") return read_rows();
  if (type == "Concat") return read_joined_rows();
  return read_unit_vectors();
}

TYPENET_INLINE void onnx_reader::give_part(char const* what, onnx_value const& of, onnx_axes axes, double number) {
  onnx_value f = std::make_shared<onnx_function>();
  f->what = what;
  f->number = number;
  f->inputs = {of};
  f->axes = std::move(axes);
  f->place = place_;
  f->path = path_;
  give(f);
}

TYPENET_INLINE bool onnx_reader::read_rows() {
  if (!has(0) || is_constant(0)) return false;
  onnx_value const v = operand(0).value;
  bool const again = v->what == "Slice";
  onnx_value const x = again ? v->inputs[0] : value(0);
  shape const s = shape_of(x);
  onnx_run rows = again ? v->rows : onnx_run{0, 1, s.height}, columns = again ? v->columns : onnx_run{0, 1, s.width};
  std::vector<std::int64_t> const begins = list_or_operand("starts", 1), ends = list_or_operand("ends", 2);
  std::vector<std::int64_t> which = list_or_operand("axes", 3);
  if (which.empty())
    for (std::size_t i = 0; i < begins.size(); ++i) which.push_back(static_cast<std::int64_t>(i));
  std::vector<std::int64_t> const steps = has(4) ? wholes(4) : std::vector<std::int64_t>(begins.size(), 1);
  if (begins.size() != ends.size() || begins.size() != which.size() || steps.size() != begins.size()) return false;
  onnx_axes axes = again ? v->axes : x->axes;
  bool any = false;
  for (std::size_t i = 0; i < begins.size(); ++i) {
    std::size_t const axis = axis_of(which[i], axes.size());
    std::int64_t const size = onnx_size(axes[axis]);
    auto const clamped = [&](std::int64_t at) {
      std::int64_t const from = at < -size ? 0 : at < 0 ? at + size : at;
      return from > size ? size : from;
    };
    std::int64_t const begin = clamped(begins[i]), end = clamped(ends[i]);
    if (begin == 0 && end == size && steps[i] == 1) continue;
    onnx_axis const& all = x->axes[axis];
    bool const has_sides = all.size() == 1 && all[0].step == 1 && all != pixels_of(s);
    bool const is_row = has_sides && all[0].along == 'h' && all[0].size == s.height;
    bool const is_column = has_sides && all[0].along == 'w' && all[0].size == s.width;
    if ((!is_row && !is_column) || begin >= end || steps[i] < 1 || steps[i] > size) {
      need(!again, "must slice the channels or the tokens", "a slice of rows or columns");
      return false;
    }
    any = true;
    onnx_run& run = is_row ? rows : columns;
    auto const step = static_cast<int>(steps[i]);
    run.first += static_cast<int>(begin) * run.step;
    run.step *= step;
    run.count = static_cast<int>((end - begin + step - 1) / step);
    axes[axis].clear();
    if (run.count > 1) axes[axis].push_back({all[0].along, run.count});
  }
  if (!any && !again) return false;
  onnx_value f = std::make_shared<onnx_function>();
  f->what = "Slice";
  f->inputs = {x};
  f->axes = std::move(axes);
  f->rows = rows;
  f->columns = columns;
  f->place = place_;
  f->path = path_;
  give(f);
  return true;
}

TYPENET_INLINE bool onnx_reader::read_joined_rows() {
  std::vector<onnx_value> all;
  for (int i = 0; i < node_->input_size(); ++i) {
    if (!has(i) || is_constant(i) || operand(i).value->what != "Slice") return false;
    all.push_back(operand(i).value);
  }
  if (all.size() < 2) return false;
  onnx_value const x = all[0]->inputs[0];
  for (onnx_value const& each : all)
    if (each->inputs[0]->node != x->node || each->inputs[0]->axes != x->axes) return false;
  shape const s = shape_of(x);
  std::size_t const axis = axis_of(whole("axis", 1), x->axes.size());
  onnx_axes axes = x->axes;
  onnx_run const every_row{0, 1, s.height}, every_column{0, 1, s.width};
  if (all.size() == 2 && axes[axis].size() == 1 && axes[axis][0].along != 'c') {
    // The end of the image, then its beginning: a roll.
    bool const is_row = axes[axis][0].along == 'h';
    onnx_run const end = is_row ? all[0]->rows : all[0]->columns, begin = is_row ? all[1]->rows : all[1]->columns;
    int const size = is_row ? s.height : s.width;
    bool whole_sides = true;
    for (onnx_value const& each : all)
      whole_sides = whole_sides && (is_row ? each->columns == every_column : each->rows == every_row);
    if (!whole_sides || end.step != 1 || begin.step != 1 || begin.first != 0 || end.first != begin.count ||
        end.first + end.count != size)
      return false;
    axes[axis][0].shift = (axes[axis][0].shift + end.first) % size;
    give(view(x, std::move(axes)));
    return true;
  }
  // The pixels of each square, column by column: merge_pixels.
  int const side = all[0]->rows.step;
  bool fits = side > 1 && side < 0x8000 &&
              all.size() == static_cast<std::size_t>(side) * static_cast<std::size_t>(side) && s.height % side == 0 &&
              s.width % side == 0;
  for (std::size_t i = 0; fits && i < all.size(); ++i) {
    int const place = static_cast<int>(i);
    fits = all[i]->rows == onnx_run{place % side, side, s.height / side} &&
           all[i]->columns == onnx_run{place / side, side, s.width / side};
  }
  if (!fits) return false;
  onnx_value const v = with_channels(x, axis);
  for (onnx_axis& each : axes)
    for (onnx_atom& a : each) {
      if (a.along == 'c') continue;
      need(a.shift == 0, "must merge the pixels of an image that is not rolled", "a rolled one");
      a.size /= side;
    }
  for (onnx_axis& each : axes)
    if (each.size() == 1 && each[0].size == 1) each.clear();
  long long const channels = 1LL * s.channels * side * side;
  need(channels <= 0x7fffffff, "must have at most 2,147,483,647 channels", std::to_string(channels));
  onnx_layer l;
  l.what.kind = op::merge_pixels;
  shape const out{static_cast<int>(channels), s.height / side, s.width / side};
  give(append(std::move(l), v, out, rechannelled(std::move(axes), axis, out.channels)));
  return true;
}

TYPENET_INLINE bool onnx_reader::read_unit_vectors() {
  std::string const& type = node_->op_type();
  auto const is = [&](int i, char const* what) { return has(i) && !is_constant(i) && operand(i).value->what == what; };
  if (type == "ReduceL2" && has(0) && !is_constant(0)) {
    onnx_value const x = value(0);
    std::vector<std::int64_t> const which = list_or_operand("axes", 1);
    if (which.size() != 1 || whole("keepdims", 1) == 0) return false;
    onnx_axes axes = x->axes;
    std::size_t const axis = axis_of(which[0], axes.size());
    if (axes[axis].size() != 1 || axes[axis][0].along != 'c' || axes[axis][0].step != 1) return false;
    axes[axis].clear();
    give_part("length", x, std::move(axes));
    return true;
  }
  if ((type == "Clip" || type == "Expand" || type == "Max") && is(0, "length")) {
    onnx_value const v = operand(0).value;
    if (type == "Expand") {
      need(wholes(1) == onnx_dims(v->inputs[0]->axes), "must repeat the length of a query or a key for its channels",
           "another shape");
    } else {
      bool const has_bound = has(1) && is_constant(1);
      double const least = has_bound ? (number(1)->count() == 1 ? number(1)->at(0) : 1) : real("min", 0);
      need(least >= 0 && least < 1e-5,
           "must bound the length of a query or a key from below by a number of at least 0 and less than 1e-5",
           message({least}));
      bool const has_most = has(2) || real("max", 4e38) < 3.4e38;  // the attribute's own default is the largest float
      need(!has_most, "must not bound the length of a query or a key from above", "an upper bound");
    }
    give_part("length", v->inputs[0], v->axes);
    return true;
  }
  if (type == "Div" && node_->input_size() == 2 && is(1, "length") && has(0) && !is_constant(0)) {
    onnx_value const x = value(0), of = operand(1).value->inputs[0];
    need(x->node == of->node && x->axes == of->axes, "must divide queries or keys by their own lengths",
         "another operand");
    give_part("unit", x, x->axes);
    return true;
  }
  if (type == "Transpose" && is(0, "unit")) {
    onnx_value const v = operand(0).value;
    std::size_t const rank = v->axes.size();
    std::vector<std::int64_t> const order = list("perm", {});
    need_order(order, rank);
    onnx_axes axes(rank);
    for (std::size_t i = 0; i < rank; ++i) axes[i] = v->axes[axis_of(order[i], rank)];
    onnx_value const turned = view(v->inputs[0], axes);
    give_part("unit", turned, std::move(axes));
    return true;
  }
  return false;
}

TYPENET_INLINE bool onnx_reader::takes_biases(onnx_products& p, constant const& c) {
  std::size_t const rank = p.axes.size();
  if (c->is_whole || c->dims.size() > rank) return false;
  std::vector<std::int64_t> const dims = onnx_widened(c->dims, rank);
  for (std::size_t i = 0; i < rank; ++i) {
    bool const varies = p.axes[i] == 'f' || p.axes[i] == 's' || p.axes[i] == 'h';
    if (dims[i] != (varies ? p.size(p.axes[i]) : 1)) return false;
  }
  bool hides = p.heads == 1;  // then it may be a mask
  for (std::size_t i = 0; hides && i < c->count(); ++i) hides = c->at(i) == 0 || c->at(i) <= -100;
  if (hides) return false;
  need(p.keys == 0 && !p.biases, "must add biases to the products of queries and keys once, before their softmax",
       "another place");
  p.biases = c;
  p.bias_axes = p.axes;
  return true;
}

TYPENET_INLINE onnx_layer onnx_reader::in_windows(onnx_products const& p, char queries, shape const& s,
                                                  double divisor) {
  window const& w = p.over;
  int const shift = w.pad_top > w.pad_left ? w.pad_top : w.pad_left;
  bool const spreads = w.is_dilated();
  bool const fits =
      w.height == w.width &&
      (spreads ? w.row_dilation == s.height / w.height && w.column_dilation == s.width / w.width
               : w.pad_top == (s.height == w.height ? 0 : shift) && w.pad_left == (s.width == w.width ? 0 : shift));
  need(fits, "must be an attention in square windows, as window_attention and grid_attention are", "other windows");
  need((shift == 0) == !p.is_divided,
       "must hide, within each window, exactly the pairs of pixels that a roll brings together from opposite edges of "
       "the image",
       p.is_divided ? "a mask without a roll" : "no mask");
  onnx_layer l;
  l.what.kind = op::window_attention;
  l.what.window = w;
  l.what.groups = p.heads;
  l.what.rate = divisor;
  int const offsets = offsets_in(w);
  auto const heads = static_cast<std::size_t>(p.heads);
  spend(static_cast<std::size_t>(offsets) * heads);
  std::vector<float> table(static_cast<std::size_t>(offsets) * heads);
  l.is_constant = !p.biases || !p.biases->is_weight;
  if (p.biases) {
    std::size_t const rank = p.bias_axes.size();
    std::vector<char> is_filled(table.size());
    std::vector<std::int64_t> at(rank);
    for (std::size_t i = 0; i < p.biases->count(); ++i) {
      std::int64_t query = 0, key = 0, head = 0;
      for (std::size_t d = 0; d < rank; ++d) {
        char const axis = p.bias_axes[d];
        if (axis == 'h') head = at[d];
        if (axis == 'f' || axis == 's') (axis == queries ? query : key) = at[d];
      }
      // The number of the offset between the two pixels, as in torchvision's relative_position_index.
      std::int64_t const down = query / w.width - key / w.width + w.height - 1;
      std::int64_t const right = query % w.width - key % w.width + w.width - 1;
      auto const place = static_cast<std::size_t>((down * (2 * w.width - 1) + right) * p.heads + head);
      float const n = p.biases->reals[i];
      need(!is_filled[place] || table[place] == n, "must add biases that depend only on the offset between two pixels",
           "different ones for the same offset");
      is_filled[place] = 1;
      table[place] = n;
      for (std::size_t d = rank; d-- > 0;) {
        char const axis = p.bias_axes[d];
        bool const varies = axis == 'f' || axis == 's' || axis == 'h';
        if (++at[d] < (varies ? p.size(axis) : 1)) break;
        at[d] = 0;
      }
    }
  }
  l.weights.push_back(std::move(table));
  if (!path_.empty() && !l.is_constant) l.path = path_ + ".relative_position_bias_table";
  return l;
}

}  // namespace dsl::detail::TYPENET_MODE
