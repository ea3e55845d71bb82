// SPDX-License-Identifier: MIT
#pragma once

#include <dsl/detail/mode.hpp>
#include <dsl/io/onnx/import_arithmetic.hpp>
#include <dsl/io/weight_text.hpp>

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <string>
#include <utility>
#include <vector>

namespace dsl::detail::TYPENET_MODE {

/// Returns how many operands an operator has that is computed during the import if all of them are constants; 0 for
/// other operators.
inline int onnx_folded_operands(std::string const& type) {
  for (char const* each : {"Add", "Sub", "Mul", "Div", "Pow", "Max", "Min", "Mod", "Equal", "Greater", "Less",
                           "GreaterOrEqual", "LessOrEqual", "And", "Or"})
    if (type == each) return 2;
  for (char const* each : {"Sqrt", "Neg", "Abs", "Exp", "Log", "Reciprocal", "Floor", "Ceil", "Not", "Sin", "Cos",
                           "Relu", "Sigmoid", "Tanh"})
    if (type == each) return 1;
  return 0;
}

/// Whether an operator's result is true or false, which are 1 and 0.
inline bool onnx_is_question(std::string const& type) {
  for (char const* each : {"Equal", "Greater", "Less", "GreaterOrEqual", "LessOrEqual", "And", "Or", "Not"})
    if (type == each) return true;
  return false;
}

/// Returns the result of an operator on constants, as ONNX defines it.
inline double onnx_computed(onnx_function const& f, double x, double y) {
  std::string const& type = f.what;
  auto const answer = [](bool holds) { return holds ? 1.0 : 0.0; };
  if (type == "Floor") return std::floor(x);
  if (type == "Ceil") return std::ceil(x);
  if (type == "Sin") return std::sin(x);
  if (type == "Cos") return std::cos(x);
  if (type == "Equal") return answer(x == y);
  if (type == "Greater") return answer(x > y);
  if (type == "Less") return answer(x < y);
  if (type == "GreaterOrEqual") return answer(x >= y);
  if (type == "LessOrEqual") return answer(x <= y);
  if (type == "And") return answer(x != 0 && y != 0);
  if (type == "Or") return answer(x != 0 || y != 0);
  if (type == "Not") return answer(x == 0);
  if (type == "Mod") return y == 0 ? 0 : f.number != 0 ? std::fmod(x, y) : x - y * std::floor(x / y);
  return onnx_apply(f, x, y);
}

TYPENET_INLINE bool onnx_reader::fold_arithmetic(std::string const& type) {
  int const operands = onnx_folded_operands(type);
  need(operands > 0, "must be an operator that typenet can compute for constants", shown(node_->op_type()));
  need(node_->input_size() == operands && has(operands - 1),
       operands == 2 ? "must have two operands" : "must have one operand", std::to_string(node_->input_size()));
  onnx_constant const& a = *number(0);
  onnx_constant const& b = *number(operands - 1);
  std::vector<std::int64_t> const dims = common_dims(a.dims, b.dims);
  onnx_constant c = onnx_empty(dims, onnx_is_question(type) || (a.is_whole && b.is_whole));
  onnx_function f;
  f.what = type;
  f.number = type == "Mod" ? static_cast<double>(whole("fmod", 0)) : 0;
  onnx_spread const first(a.dims, dims), second(b.dims, dims);
  for (std::size_t i = 0; i < c.count(); ++i) {
    double n = onnx_computed(f, a.at(first(i)), b.at(second(i)));
    if (c.is_whole && type == "Div") n = std::trunc(n);
    c.set(i, n);
  }
  give(std::move(c));
  return true;
}

TYPENET_INLINE bool onnx_reader::fold_reduction(std::string const& type) {
  std::string const what = type.substr(6);
  bool const is_bound = what == "Max" || what == "Min", squares = what == "SumSquare" || what == "L2";
  bool const adds = what == "Sum" || what == "Mean" || what == "L1" || squares;
  need(is_bound || adds || what == "Prod", "must be an operator that typenet can compute for constants", shown(type));
  onnx_constant const& a = *number(0);
  std::vector<std::int64_t> const which = list_or_operand("axes", 1);
  bool const keeps = whole("keepdims", 1) != 0, nothing = which.empty() && whole("noop_with_empty_axes", 0) != 0;
  std::size_t const rank = a.dims.size();
  std::vector<char> gone(rank, which.empty() && !nothing ? 1 : 0);
  for (std::int64_t const i : which) gone[axis_of(i, rank)] = 1;
  std::vector<std::int64_t> all, left;
  for (std::size_t d = 0; d < rank; ++d) {
    all.push_back(gone[d] ? 1 : a.dims[d]);
    if (!gone[d] || keeps) left.push_back(all.back());
  }
  onnx_constant c = onnx_empty(left, a.is_whole);
  need(a.count() > 0, "must have at least one number", "none");
  double const infinite = std::numeric_limits<double>::infinity();
  std::vector<double> found(c.count(), what == "Prod" ? 1.0 : what == "Max" ? -infinite : what == "Min" ? infinite : 0);
  onnx_spread const to(all, a.dims);
  for (std::size_t i = 0; i < a.count(); ++i) {
    double& n = found[to(i)];
    double const x = a.at(i);
    if (is_bound)
      n = what == "Max" ? (x > n ? x : n) : (x < n ? x : n);
    else if (what == "Prod")
      n *= x;
    else
      n += squares ? x * x : what == "L1" ? std::fabs(x) : x;
  }
  for (std::size_t i = 0; i < found.size(); ++i) {
    double n = found[i];
    if (what == "Mean") n /= static_cast<double>(a.count()) / static_cast<double>(c.count());
    if (what == "L2") n = std::sqrt(n);
    c.set(i, n);
  }
  give(std::move(c));
  return true;
}

TYPENET_INLINE std::vector<std::int64_t> onnx_reader::common_dims(std::vector<std::int64_t> const& a,
                                                                  std::vector<std::int64_t> const& b) {
  std::vector<std::int64_t> dims = onnx_widened(a, b.size()), others = onnx_widened(b, a.size());
  for (std::size_t d = 0; d < dims.size(); ++d) {
    need(dims[d] == others[d] || dims[d] == 1 || others[d] == 1,
         "must have constants whose axes are equal or of size 1", onnx_dims_text(a) + " and " + onnx_dims_text(b));
    if (dims[d] == 1) dims[d] = others[d];
  }
  need_dims(dims);
  return dims;
}

TYPENET_INLINE bool onnx_reader::fold_mask(std::string const& type) {
  if (type == "Trilu") {
    onnx_constant c = *number(0);
    std::size_t const rank = c.dims.size();
    need(rank >= 2, "must have an operand of at least two axes", std::to_string(rank));
    if (has(1) && number(1)->count() != 1)
      refuse("must have one number as its diagonal", std::to_string(number(1)->count()) + " numbers");
    double const from = has(1) ? number(1)->at(0) : 0;
    bool const upper = whole("upper", 1) != 0;
    auto const columns = static_cast<std::size_t>(c.dims[rank - 1]), rows = static_cast<std::size_t>(c.dims[rank - 2]);
    for (std::size_t i = 0; i < c.count(); ++i) {
      double const place = static_cast<double>(i % columns) - static_cast<double>(i / columns % rows);
      if (upper ? place >= from : place <= from) continue;
      if (c.is_whole)
        c.wholes[i] = 0;
      else
        c.reals[i] = 0;
    }
    c.name.clear();
    give(std::move(c));
    return true;
  }
  need(node_->input_size() == 3 && has(1) && has(2), "must have three operands", std::to_string(node_->input_size()));
  onnx_constant const &first = *number(0), &a = *number(1), &b = *number(2);
  if (type == "Where") {
    std::vector<std::int64_t> const dims = common_dims(common_dims(first.dims, a.dims), b.dims);
    onnx_constant c = onnx_empty(dims, a.is_whole && b.is_whole);
    onnx_spread const which(first.dims, dims), left(a.dims, dims), right(b.dims, dims);
    for (std::size_t i = 0; i < c.count(); ++i) {
      double const n = first.at(which(i)) != 0 ? a.at(left(i)) : b.at(right(i));
      c.set(i, n);
    }
    give(std::move(c));
    return true;
  }
  need(first.count() == 1 && a.count() == 1 && b.count() == 1 && b.at(0) != 0,
       "must have a start, an end and a step other than 0, each a single number", "other constants");
  double const steps = std::ceil((a.at(0) - first.at(0)) / b.at(0));
  afford(steps);
  onnx_constant c = onnx_empty({steps > 0 ? static_cast<std::int64_t>(steps) : 0}, first.is_whole && b.is_whole);
  for (std::size_t i = 0; i < c.count(); ++i) {
    double const n = first.at(0) + static_cast<double>(i) * b.at(0);
    c.set(i, n);
  }
  give(std::move(c));
  return true;
}

TYPENET_INLINE bool onnx_reader::fold_scatter() {
  need(node_->input_size() == 3 && has(1) && has(2), "must have three operands", std::to_string(node_->input_size()));
  need(text("reduction", "none") == "none", "must replace numbers", shown(text("reduction", "none")));
  onnx_constant c = *number(0);
  onnx_constant const &places = *number(1), &updates = *number(2);
  std::size_t const rank = c.dims.size();
  auto const depth = places.dims.empty() ? 0 : static_cast<std::size_t>(places.dims.back());
  bool fits = places.is_whole && depth > 0 && depth <= rank && updates.is_whole == c.is_whole;
  std::vector<std::int64_t> wanted = places.dims;
  if (fits) {
    wanted.pop_back();
    wanted.insert(wanted.end(), c.dims.begin() + static_cast<std::ptrdiff_t>(depth), c.dims.end());
  }
  if (!fits || wanted != updates.dims)
    damaged("must have a place for each number that it replaces; found places of " + onnx_tensor_text(places) +
            " and " + onnx_tensor_text(updates) + " for " + onnx_tensor_text(c));
  std::size_t each = 1;
  for (std::size_t d = depth; d < rank; ++d) each *= static_cast<std::size_t>(c.dims[d]);
  for (std::size_t i = 0; i < places.count() / depth; ++i) {
    std::size_t to = 0;
    for (std::size_t d = 0; d < depth; ++d) {
      std::int64_t at = places.wholes[i * depth + d];
      if (at < -c.dims[d] || at >= c.dims[d]) outside(at, d, c.dims[d]);
      if (at < 0) at += c.dims[d];
      to = to * static_cast<std::size_t>(c.dims[d]) + static_cast<std::size_t>(at);
    }
    for (std::size_t k = 0; k < each; ++k) onnx_copy(updates, i * each + k, c, to * each + k);
  }
  give(std::move(c));
  return true;
}

TYPENET_INLINE bool onnx_reader::fold_product() {
  need(node_->input_size() == 2 && has(1), "must have two operands", std::to_string(node_->input_size()));
  onnx_constant const &a = *number(0), &b = *number(1);
  need(!a.is_whole && !b.is_whole && !a.dims.empty() && b.dims.size() == 2,
       "must multiply floats by a matrix if both operands are constants", "other constants");
  if (a.dims.back() != b.dims[0])
    damaged("must multiply by a matrix with as many rows as its first operand has columns; found " +
            onnx_dims_text(a.dims) + " and " + onnx_dims_text(b.dims));
  auto const inner = static_cast<std::size_t>(b.dims[0]), columns = static_cast<std::size_t>(b.dims[1]);
  std::vector<std::int64_t> dims = a.dims;
  dims.back() = b.dims[1];
  need(inner > 0, "must multiply by a matrix with at least one row", onnx_dims_text(b.dims));
  need_dims(dims);
  double const products = static_cast<double>(onnx_count(dims)) * static_cast<double>(inner);
  afford(products);
  spend(static_cast<std::size_t>(products));
  onnx_constant c = onnx_empty(dims, false);
  for (std::size_t i = 0; i < c.count(); ++i) {
    double sum = 0;
    for (std::size_t k = 0; k < inner; ++k) sum += a.at(i / columns * inner + k) * b.at(k * columns + i % columns);
    c.reals[i] = static_cast<float>(sum);
  }
  give(std::move(c));
  return true;
}

}  // namespace dsl::detail::TYPENET_MODE
