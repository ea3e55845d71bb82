// SPDX-License-Identifier: MIT
#pragma once

#include <dsl/detail/mode.hpp>
#include <dsl/io/onnx/import_fold.hpp>

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace dsl::detail::TYPENET_MODE {

/// Returns dims with as many axes of size 1 in front as are needed for at least `rank` dims.
[[gnu::cold]] inline std::vector<std::int64_t> onnx_widened(std::vector<std::int64_t> dims, std::size_t rank) {
  if (dims.size() < rank) dims.insert(dims.begin(), rank - dims.size(), 1);
  return dims;
}

/// Returns how many operands an operator has that is computed during the import if all of them are constants; 0 for
/// other operators.
[[gnu::cold]] inline int onnx_folded_operands(std::string const& type) {
  for (char const* each : {"Add", "Sub", "Mul", "Div", "Pow", "Max", "Min"})
    if (type == each) return 2;
  for (char const* each : {"Sqrt", "Neg", "Abs", "Exp", "Log", "Reciprocal", "Floor", "Ceil"})
    if (type == each) return 1;
  return 0;
}

TYPENET_INLINE bool onnx_reader::fold() {
  std::string const& type = node_->op_type();
  if (type == "Constant") {
    onnx_constant c;
    if (auto const* a = attribute("value")) {
      c = file_.read(a->t());
    } else if (auto const* f = attribute("value_float")) {
      c = onnx_empty({}, false), c.reals[0] = f->f();
    } else if (auto const* i = attribute("value_int")) {
      c = onnx_empty({}, true), c.wholes[0] = i->i();
    } else if (auto const* many = attribute("value_ints")) {
      c = onnx_empty({many->ints_size()}, true), c.wholes.assign(many->ints().begin(), many->ints().end());
    } else if (auto const* reals = attribute("value_floats")) {
      c = onnx_empty({reals->floats_size()}, false), c.reals.assign(reals->floats().begin(), reals->floats().end());
    } else {
      refuse("must have a value that is a tensor or numbers", "another type of value");
    }
    if (node_->output_size() > 0) c.name = node_->output(0);
    give(std::move(c));
    return true;
  }
  if (type == "Shape" || type == "Size") {
    if (!has(0)) damaged("must have an operand");
    known const of = operand(0);
    std::vector<std::int64_t> dims = of.number ? of.number->dims : std::vector<std::int64_t>{};
    if (of.value) dims = onnx_dims(made(of.value)->axes);
    auto const size = static_cast<std::int64_t>(dims.size());
    auto const clamped = [&](std::int64_t at) {
      std::int64_t const from = at < -size ? 0 : at < 0 ? at + size : at;
      return from > size ? size : from;
    };
    std::int64_t const begin = clamped(whole("start", 0)), end = clamped(whole("end", size));
    onnx_constant c = onnx_empty({end > begin ? end - begin : 0}, true);
    for (std::size_t i = 0; i < c.count(); ++i) c.wholes[i] = dims[static_cast<std::size_t>(begin) + i];
    if (type == "Size") c = onnx_empty({}, true), c.wholes[0] = onnx_count(dims);
    give(std::move(c));
    return true;
  }
  if (node_->input_size() == 0) return false;
  for (int i = 0; i < node_->input_size(); ++i)
    if (bool const only_a_type = i == 1 && type == "CastLike"; has(i) && !is_constant(i) && !only_a_type) return false;
  if (!has(0)) return false;
  onnx_constant const& a = *number(0);
  std::size_t const rank = a.dims.size();
  if (type == "Expand") {
    std::vector<std::int64_t> const dims = wholes(1);
    std::int64_t const count = onnx_count(dims);
    need(a.count() == 1, "must expand a single number", std::to_string(a.count()) + " numbers");
    if (count < 0 || count > budget_ || dims.size() > static_cast<std::size_t>(onnx_most_axes))
      refuse("must not compute more constants than fit in memory", "more than 64 million numbers");
    onnx_constant c = onnx_empty(onnx_widened(dims, rank), a.is_whole);
    for (std::size_t i = 0; i < c.count(); ++i) onnx_copy(a, 0, c, i);
    give(std::move(c));
    return true;
  }
  if (type == "Identity" || type == "Cast" || type == "CastLike") {
    onnx_constant c = a;
    if (type == "Identity" && node_->output_size() > 0) c.name = node_->output(0);  // one of several equal weights
    std::int64_t const to = type == "Cast" ? whole("to", 0) : 0;
    bool const to_whole = type == "CastLike"
                              ? is_constant(1) && number(1)->is_whole
                              : to == onnx_messages::TensorProto::INT64 || to == onnx_messages::TensorProto::INT32 ||
                                    to == onnx_messages::TensorProto::BOOL;
    if (type != "Identity" && to_whole != a.is_whole) {
      c = onnx_empty(a.dims, to_whole);
      for (std::size_t i = 0; i < a.count(); ++i) {
        double const n = a.at(i);
        if (to_whole)
          c.wholes[i] = n > -9e18 && n < 9e18 ? static_cast<std::int64_t>(n) : 0;
        else
          c.reals[i] = static_cast<float>(n);
      }
    }
    give(std::move(c));
    return true;
  }
  if (type == "Transpose") {
    std::vector<std::int64_t> const order = list("perm", {});
    std::vector<int> all;
    all.reserve(rank);
    std::vector<char> seen(rank);
    for (std::size_t i = 0; i < rank; ++i) all.push_back(static_cast<int>(rank - 1 - i));
    if (!order.empty() && order.size() != rank) damaged("must have as many axes in perm as its operand");
    for (std::size_t i = 0; i < order.size(); ++i) {
      all[i] = static_cast<int>(axis_of(order[i], rank));
      if (seen[static_cast<std::size_t>(all[i])]++) damaged("must list each axis once in perm");
    }
    onnx_constant c = onnx_transposed(a, all);
    c.name = a.name;
    give(std::move(c));
    return true;
  }
  if (type == "Reshape" || type == "Squeeze" || type == "Unsqueeze" || type == "Flatten") {
    onnx_constant c = a;
    if (type == "Reshape") {
      std::vector<std::int64_t> dims = wholes(1);
      std::int64_t rest = static_cast<std::int64_t>(a.count()), open = -1;
      for (std::size_t i = 0; i < dims.size(); ++i) {
        if (dims[i] == 0 && i < rank && whole("allowzero", 0) == 0) dims[i] = a.dims[i];
        if (dims[i] == -1 && open < 0)
          open = static_cast<std::int64_t>(i);
        else if (dims[i] < 1 || rest % dims[i] != 0)
          damaged("must have a shape with as many elements as its operand");
        else
          rest /= dims[i];
      }
      if (open >= 0) dims[static_cast<std::size_t>(open)] = rest;
      c.dims = dims;
    } else if (type == "Flatten") {
      std::int64_t const at = whole("axis", 1);
      std::size_t const end = at == static_cast<std::int64_t>(rank) ? rank : axis_of(at, rank);
      c.dims = {1, 1};
      for (std::size_t i = 0; i < rank; ++i) c.dims[i < end ? 0 : 1] *= a.dims[i];
    } else if (type == "Squeeze") {
      std::vector<std::int64_t> const which = list_or_operand("axes", 1);
      std::vector<char> gone(rank);
      for (std::int64_t x : which) gone[axis_of(x, rank)] = 1;
      c.dims.clear();
      for (std::size_t i = 0; i < rank; ++i)
        if (which.empty() ? a.dims[i] != 1 : !gone[i]) c.dims.push_back(a.dims[i]);
    } else {
      std::vector<std::int64_t> const which = list_or_operand("axes", 1);
      std::vector<char> is_new(rank + which.size());
      for (std::int64_t x : which)
        if (is_new[axis_of(x, is_new.size())]++) damaged("must list each axis once");
      c.dims.clear();
      for (std::size_t i = 0, from = 0; i < is_new.size(); ++i) c.dims.push_back(is_new[i] ? 1 : a.dims[from++]);
    }
    if (c.dims.size() > static_cast<std::size_t>(onnx_most_axes)) damaged("must have at most 8 axes");
    if (onnx_count(c.dims) != static_cast<std::int64_t>(a.count()))
      damaged("must have a shape with as many elements as its operand");
    give(std::move(c));
    return true;
  }
  if (type == "Concat") {
    std::vector<onnx_constant const*> all;
    std::size_t const axis = axis_of(whole("axis", 0), rank);
    std::int64_t count = 0;
    for (int i = 0; i < node_->input_size(); ++i) {
      onnx_constant const& each = *number(i);
      bool fits = each.dims.size() == rank && each.is_whole == a.is_whole;
      for (std::size_t d = 0; fits && d < rank; ++d) fits = d == axis || each.dims[d] == a.dims[d];
      if (!fits) damaged("must join tensors of the same shape");
      all.push_back(&each);
      count += static_cast<std::int64_t>(each.count());
    }
    if (count > budget_) refuse("must not compute more constants than fit in memory", "more than 64 million numbers");
    give(onnx_joined(all, axis));
    return true;
  }
  if (type == "Gather") {
    onnx_constant const& which = *number(1);
    std::size_t const axis = axis_of(whole("axis", 0), rank);
    if (!which.is_whole || which.dims.size() > 1) refuse("must have a list of indices", "another tensor");
    std::vector<std::int64_t> all = which.wholes;
    for (std::int64_t& i : all) {
      if (i < -a.dims[axis] || i >= a.dims[axis]) damaged("must have indices within the axis");
      if (i < 0) i += a.dims[axis];
    }
    if (static_cast<double>(a.count()) * static_cast<double>(all.size()) > static_cast<double>(budget_) * 4)
      refuse("must not compute more constants than fit in memory", "more than 64 million numbers");
    onnx_constant c = onnx_taken(a, axis, all);
    if (which.dims.empty()) c.dims.erase(c.dims.begin() + static_cast<std::ptrdiff_t>(axis));
    give(std::move(c));
    return true;
  }
  if (type == "Slice") {
    std::vector<std::int64_t> const begins = list_or_operand("starts", 1), ends = list_or_operand("ends", 2);
    std::vector<std::int64_t> which = list_or_operand("axes", 3), steps = has(4) ? wholes(4) : which;
    if (which.empty())
      for (std::size_t i = 0; i < begins.size(); ++i) which.push_back(static_cast<std::int64_t>(i));
    if (!has(4)) steps.assign(begins.size(), 1);
    if (begins.size() != ends.size() || begins.size() != which.size() || steps.size() != begins.size())
      damaged("must have as many starts as ends, axes and steps");
    if (which.size() > rank) damaged("must list no more axes than its operand has");  // each makes a copy
    onnx_constant c = a;
    for (std::size_t i = 0; i < begins.size(); ++i) {
      std::size_t const axis = axis_of(which[i], rank);
      std::int64_t const size = c.dims[axis];
      need(steps[i] > 0, "must have steps above 0", std::to_string(steps[i]));
      auto const clamped = [&](std::int64_t at) {
        std::int64_t const from = at < -size ? 0 : at < 0 ? at + size : at;
        return from > size ? size : from;
      };
      std::vector<std::int64_t> all;
      for (std::int64_t at = clamped(begins[i]); at < clamped(ends[i]); at += steps[i]) {
        all.push_back(at);
        if (steps[i] > size) break;
      }
      c = onnx_taken(c, axis, all);
    }
    c.name.clear();
    give(std::move(c));
    return true;
  }
  if (type == "ConstantOfShape") {
    std::vector<std::int64_t> const dims = wholes(0);
    std::int64_t const count = onnx_count(dims);
    if (count < 0 || count > budget_ || dims.size() > static_cast<std::size_t>(onnx_most_axes))
      refuse("must not compute more constants than fit in memory", "more than 64 million numbers");
    auto const* const a_value = attribute("value");
    onnx_constant fill = onnx_empty({1}, false);
    if (a_value) fill = file_.read(a_value->t());
    if (fill.count() != 1) damaged("must have one number as value");
    onnx_constant c = onnx_empty(dims, fill.is_whole);
    for (std::size_t i = 0; i < c.count(); ++i) onnx_copy(fill, 0, c, i);
    give(std::move(c));
    return true;
  }
  return fold_arithmetic(type);
}

TYPENET_INLINE bool onnx_reader::fold_arithmetic(std::string const& type) {
  int const operands = onnx_folded_operands(type);
  need(operands > 0, "must be an operator that typenet computes on constants", shown(node_->op_type()));
  need(node_->input_size() == operands && has(operands - 1),
       operands == 2 ? "must have two constants" : "must have one constant", std::to_string(node_->input_size()));
  onnx_constant const& a = *number(0);
  onnx_constant const& b = *number(operands - 1);
  bool const scalar = (b.count() == 1 || a.count() == 1) && b.count() > 0 && a.count() > 0;
  need(a.dims == b.dims || scalar, "must have constants of the same shape, or one of them a single number",
       "other shapes");
  bool const first = a.count() != b.count() ? a.count() > b.count() : a.dims.size() >= b.dims.size();
  std::size_t const rank = a.dims.size() > b.dims.size() ? a.dims.size() : b.dims.size();
  onnx_constant c = onnx_empty(onnx_widened(first ? a.dims : b.dims, rank), a.is_whole && b.is_whole);
  onnx_function f;
  f.what = type;
  for (std::size_t i = 0; i < c.count(); ++i) {
    double const x = a.at(a.count() == 1 ? 0 : i), y = b.at(b.count() == 1 ? 0 : i);
    double n = type == "Floor" ? std::floor(x) : type == "Ceil" ? std::ceil(x) : onnx_apply(f, x, y);
    if (c.is_whole && type == "Div") n = std::trunc(n);
    if (c.is_whole)
      c.wholes[i] = n > -9e18 && n < 9e18 ? static_cast<std::int64_t>(n) : 0;
    else
      c.reals[i] = static_cast<float>(n);
  }
  give(std::move(c));
  return true;
}

}  // namespace dsl::detail::TYPENET_MODE
