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
    if (!has(0)) damaged("must have an operand; found none");
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
    std::vector<std::int64_t> const narrow = onnx_widened(a.dims, dims.size()), asked = onnx_widened(dims, rank);
    std::vector<std::int64_t> wide = asked;
    for (std::size_t i = 0; i < wide.size(); ++i) {
      if (narrow[i] != 1 && asked[i] != 1 && narrow[i] != asked[i])
        damaged("must expand axes of size 1; found " + std::to_string(narrow[i]));
      if (asked[i] == 1) wide[i] = narrow[i];
    }
    need_dims(wide);
    onnx_constant c = onnx_empty(wide, a.is_whole);
    onnx_spread const from(a.dims, wide);
    for (std::size_t i = 0; i < c.count(); ++i) onnx_copy(a, from(i), c, i);
    c.name = a.name;
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
    if (type != "Identity" && (to_whole != a.is_whole || to == onnx_messages::TensorProto::BOOL)) {
      c = onnx_empty(a.dims, to_whole);
      for (std::size_t i = 0; i < a.count(); ++i) {
        double const n = a.at(i);
        c.set(i, to != onnx_messages::TensorProto::BOOL ? n : n != 0 ? 1 : 0);
      }
    }
    give(std::move(c));
    return true;
  }
  if (type == "Transpose") {
    std::vector<std::int64_t> const order = list("perm", {});
    std::vector<int> all;
    all.reserve(rank);
    for (std::size_t i = 0; i < rank; ++i) all.push_back(static_cast<int>(rank - 1 - i));
    if (!order.empty()) need_order(order, rank);
    for (std::size_t i = 0; i < order.size(); ++i) all[i] = static_cast<int>(axis_of(order[i], rank));
    onnx_constant c = onnx_transposed(a, all);
    c.name = a.name;
    give(std::move(c));
    return true;
  }
  if (type == "Reshape" || type == "Squeeze" || type == "Unsqueeze" || type == "Flatten") {
    onnx_constant c = a;
    if (type == "Reshape") {
      std::vector<std::int64_t> const asked = wholes(1);
      std::vector<std::int64_t> dims = asked;
      std::int64_t rest = static_cast<std::int64_t>(a.count()), open = -1;
      for (std::size_t i = 0; i < dims.size(); ++i) {
        if (dims[i] == 0 && i < rank && whole("allowzero", 0) == 0) dims[i] = a.dims[i];
        if (dims[i] == -1 && open < 0)
          open = static_cast<std::int64_t>(i);
        else if (dims[i] < 1 || rest % dims[i] != 0)
          other_count(asked, a.dims);
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
        if (is_new[axis_of(x, is_new.size())]++) repeated(which);
      c.dims.clear();
      for (std::size_t i = 0, from = 0; i < is_new.size(); ++i) c.dims.push_back(is_new[i] ? 1 : a.dims[from++]);
    }
    if (c.dims.size() > static_cast<std::size_t>(onnx_most_axes))
      damaged("must have at most 8 axes; found " + std::to_string(c.dims.size()));
    if (onnx_count(c.dims) != static_cast<std::int64_t>(a.count())) other_count(c.dims, a.dims);
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
      if (!fits)
        damaged("must join tensors of one type and, apart from axis " + std::to_string(axis) + ", one shape; found " +
                onnx_tensor_text(a) + " and " + onnx_tensor_text(each));
      all.push_back(&each);
      count += static_cast<std::int64_t>(each.count());
    }
    afford(static_cast<double>(count));
    give(onnx_joined(all, axis));
    return true;
  }
  if (type == "Gather") {
    onnx_constant const& which = *number(1);
    std::size_t const axis = axis_of(whole("axis", 0), rank);
    need(which.is_whole, "must have whole numbers as indices", "floats");
    std::vector<std::int64_t> all = which.wholes;
    for (std::int64_t& i : all) {
      if (i < -a.dims[axis] || i >= a.dims[axis]) outside(i, axis, a.dims[axis]);
      if (i < 0) i += a.dims[axis];
    }
    std::vector<std::int64_t> dims = a.dims;
    dims.erase(dims.begin() + static_cast<std::ptrdiff_t>(axis));
    dims.insert(dims.begin() + static_cast<std::ptrdiff_t>(axis), which.dims.begin(), which.dims.end());
    need_dims(dims);
    onnx_constant c = onnx_taken(a, axis, all);
    c.dims = std::move(dims);
    give(std::move(c));
    return true;
  }
  if (type == "GatherElements") {
    onnx_constant const& which = *number(1);
    std::size_t const axis = axis_of(whole("axis", 0), rank);
    bool fits = which.is_whole && which.dims.size() == rank;
    for (std::size_t d = 0; fits && d < rank; ++d) fits = d == axis || which.dims[d] <= a.dims[d];
    if (!fits)
      damaged("must have integers as indices, in a shape that fits into its operand's " + onnx_dims_text(a.dims) +
              " apart from axis " + std::to_string(axis) + "; found " + onnx_tensor_text(which));
    std::vector<std::size_t> steps(rank, 1);
    for (std::size_t d = rank; d-- > 1;) steps[d - 1] = steps[d] * static_cast<std::size_t>(a.dims[d]);
    onnx_constant c = onnx_empty(which.dims, a.is_whole);
    for (std::size_t i = 0; i < c.count(); ++i) {
      std::int64_t index = which.wholes[i];
      if (index < -a.dims[axis] || index >= a.dims[axis]) outside(index, axis, a.dims[axis]);
      if (index < 0) index += a.dims[axis];
      std::size_t rest = i, from = static_cast<std::size_t>(index) * steps[axis];
      for (std::size_t d = rank; d-- > 0; rest /= static_cast<std::size_t>(which.dims[d]))
        if (d != axis) from += rest % static_cast<std::size_t>(which.dims[d]) * steps[d];
      onnx_copy(a, from, c, i);
    }
    give(std::move(c));
    return true;
  }
  if (type == "Slice") {
    std::vector<std::int64_t> const begins = list_or_operand("starts", 1), ends = list_or_operand("ends", 2);
    std::vector<std::int64_t> which = list_or_operand("axes", 3), steps = has(4) ? wholes(4) : which;
    if (which.empty())
      for (std::size_t i = 0; i < begins.size(); ++i) which.push_back(static_cast<std::int64_t>(i));
    if (!has(4)) steps.assign(begins.size(), 1);
    need_slices(begins.size(), ends.size(), which.size(), steps.size(), rank);
    onnx_constant c = a;
    for (std::size_t i = 0; i < begins.size(); ++i) {
      std::size_t const axis = axis_of(which[i], rank);
      std::int64_t const size = c.dims[axis];
      need(steps[i] != 0 && steps[i] > -0x7fffffff, "must have steps other than 0, and above -2,147,483,647",
           std::to_string(steps[i]));
      auto const clamped = [&](std::int64_t at) {
        std::int64_t const from = at < -size ? 0 : at < 0 ? at + size : at;
        return from > size ? size : from;
      };
      std::vector<std::int64_t> all;
      for (std::int64_t at = clamped(begins[i]); steps[i] > 0 && at < clamped(ends[i]); at += steps[i]) {
        all.push_back(at);
        if (steps[i] > size) break;
      }
      if (steps[i] < 0) {  // backwards: the first one may be the last of the axis, and the end lies before the axis
        std::int64_t const end = ends[i] < -size ? -1 : clamped(ends[i]);
        for (std::int64_t at = clamped(begins[i]) < size ? clamped(begins[i]) : size - 1; at > end; at += steps[i])
          all.push_back(at);
      }
      c = onnx_taken(c, axis, all);
    }
    c.name.clear();
    give(std::move(c));
    return true;
  }
  if (type == "ConstantOfShape") {
    std::vector<std::int64_t> const dims = wholes(0);
    need_dims(dims);
    auto const* const a_value = attribute("value");
    onnx_constant fill = onnx_empty({1}, false);
    if (a_value) fill = file_.read(a_value->t());
    if (fill.count() != 1)
      damaged("must have one number as its value; found " + counted(static_cast<long long>(fill.count()), "number"));
    onnx_constant c = onnx_empty(dims, fill.is_whole);
    for (std::size_t i = 0; i < c.count(); ++i) onnx_copy(fill, 0, c, i);
    give(std::move(c));
    return true;
  }
  if (type == "Clip") {
    auto const bound = [&](int i, char const* name, double otherwise) {
      if (!has(i)) return real(name, otherwise);
      need(number(i)->count() == 1, "must have one number as each bound",
           std::to_string(number(i)->count()) + " numbers");
      return number(i)->at(0);
    };
    double const least = bound(1, "min", -1e300), most = bound(2, "max", 1e300);
    onnx_constant c = a;
    for (std::size_t i = 0; i < c.count(); ++i) {
      double const n = a.at(i) < least ? least : a.at(i) > most ? most : a.at(i);
      if (n == a.at(i)) continue;
      c.set(i, n);
    }
    c.name.clear();
    give(std::move(c));
    return true;
  }
  if (type == "Where" || type == "Range" || type == "Trilu") return fold_mask(type);
  if (type == "ScatterND") return fold_scatter();
  if (type == "MatMul") return fold_product();
  if (type == "BatchNormalization") return fold_batch_norm();
  if (type.starts_with("Reduce")) return fold_reduction(type);
  return fold_arithmetic(type);
}

TYPENET_INLINE bool onnx_reader::fold_batch_norm() {
  onnx_constant const& a = *number(0);
  need(a.dims.size() > 1 && !a.is_whole && a.count() > 0, "must normalise numbers with channels", "another tensor");
  std::vector<std::int64_t> const channels{a.dims[1]};
  std::size_t const count = static_cast<std::size_t>(a.dims[1]), batch = static_cast<std::size_t>(a.dims[0]);
  std::size_t const area = a.count() / (count * batch);
  std::vector<float> const gamma = parameter(1, channels), beta = parameter(2, channels);
  bool const own = whole("training_mode", 0) != 0;  // the statistics are those of the constant itself
  std::vector<float> const means = own ? std::vector<float>() : parameter(3, channels);
  std::vector<float> const variances = own ? std::vector<float>() : parameter(4, channels);
  double const epsilon = real("epsilon", 1e-5);
  need(epsilon > 0, "must have an epsilon above 0", message({epsilon}));
  onnx_constant c = a;
  for (std::size_t channel = 0; channel < count; ++channel) {
    auto const for_each = [&](auto const& f) {
      for (std::size_t n = 0; n < batch; ++n)
        for (std::size_t i = 0; i < area; ++i) f((n * count + channel) * area + i);
    };
    double mean = own ? 0 : static_cast<double>(means[channel]);
    double variance = own ? 0 : static_cast<double>(variances[channel]);
    auto const all = static_cast<double>(batch * area);
    if (own) {
      for_each([&](std::size_t i) { mean += a.at(i) / all; });
      for_each([&](std::size_t i) { variance += (a.at(i) - mean) * (a.at(i) - mean) / all; });
    }
    double const scale = static_cast<double>(gamma[channel]) / std::sqrt(variance + epsilon);
    for_each([&](std::size_t i) { c.set(i, (a.at(i) - mean) * scale + static_cast<double>(beta[channel])); });
  }
  give(std::move(c));
  return true;
}

}  // namespace dsl::detail::TYPENET_MODE
