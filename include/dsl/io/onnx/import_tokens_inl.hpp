// SPDX-License-Identifier: MIT
#pragma once

#include <dsl/detail/mode.hpp>
#include <dsl/io/onnx/import_tokens.hpp>

#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace dsl::detail::TYPENET_MODE {

TYPENET_INLINE bool onnx_reader::read_tokens() {
  std::string const& type = node_->op_type();
  if (type == "Gather" && is_constant(0) && !is_constant(1)) return read_embedding(), true;
  if (type != "Concat" || node_->input_size() < 2) return false;
  int const last = node_->input_size() - 1;
  for (int i = 0; i < last; ++i)
    if (!is_constant(i)) return false;
  return read_class_token(), true;
}

TYPENET_INLINE void onnx_reader::take_path_of(constant const& c) {
  std::size_t const dot = c->name.rfind('.');
  bool const is_other = c->name.empty() || c->name.find("::") != std::string::npos || c->name.find('/') == 0;
  if (is_other || (dot == std::string::npos && c->name.find('_') == std::string::npos)) return;
  bool const is_shared = readers_[c->name] > 1 && !path_.empty();  // then the name may be another module's
  path_ =
      onnx_clean_path(is_shared ? path_ + (dot == std::string::npos ? "." + c->name : c->name.substr(dot)) : c->name);
}

TYPENET_INLINE void onnx_reader::read_embedding() {
  onnx_value const x = value(1);
  constant const table = number(0);
  need(whole("axis", 0) == 0 && !table->is_whole && table->dims.size() == 2, "must look up rows of a matrix of floats",
       "another tensor or axis");
  std::int64_t const rows = table->dims[0], features = table->dims[1];
  need(rows > 0 && rows <= largest_vocabulary && features > 0 && features <= 0x7fffffff,
       "must have a matrix of 1 to 16,777,216 rows", std::to_string(rows));
  need(layer(x).what.kind == op::input && shape_of(x).channels == 1,
       "must read an input of the network with one channel, the numbers of the tokens", "another value");
  onnx_layer l;
  l.what.kind = op::embedding;
  l.what.groups = static_cast<int>(rows);
  l.weights.push_back(parameter(0, table->dims));
  l.path = path_of_weight(table);
  shape out = shape_of(x);
  out.channels = static_cast<int>(features);
  onnx_axes axes = x->axes;
  axes.push_back(rechannelled(onnx_axes(1), 0, out.channels)[0]);
  give(append(std::move(l), x, out, std::move(axes)));
}

TYPENET_INLINE void onnx_reader::read_class_token() {
  int const last = node_->input_size() - 1;
  onnx_value x = value(last);
  std::size_t const rank = x->axes.size(), axis = axis_of(whole("axis", 1), rank);
  std::size_t channels_at = rank;
  for (std::size_t i = 0; i < rank; ++i)
    for (onnx_atom const& a : x->axes[i])
      if (a.along == 'c') channels_at = i;
  need(channels_at < rank && channels_at != axis && x->axes[axis] == pixels_of(shape_of(x)),
       "must put constant tokens before all pixels of a value", "another axis");
  x = with_channels(x, channels_at);
  for (int i = last; i-- > 0;) {  // the nearest first
    constant const c = number(i);
    std::int64_t const channels = shape_of(x).channels;
    bool fits =
        !c->is_whole && c->dims.size() == rank && static_cast<std::int64_t>(c->count()) == channels * c->dims[axis];
    for (std::size_t d = 0; fits && d < rank; ++d) fits = d == axis || c->dims[d] == (d == channels_at ? channels : 1);
    if (!fits)
      damaged("must join tensors of one type and, apart from axis " + std::to_string(axis) + ", one shape; found " +
              onnx_tensor_text(*c) + " and floats of shape " + onnx_dims_text(onnx_dims(x->axes)));
    std::string const path = path_;
    take_path_of(c);
    spend(c->count());
    std::int64_t const tokens = c->dims[axis];
    need(tokens <= 1024, "must have at most 1024 constant tokens", std::to_string(tokens));
    for (std::int64_t t = tokens; t-- > 0;) {
      onnx_layer l;
      l.what.kind = op::class_token;
      l.is_constant = !c->is_weight;
      std::vector<float> numbers(static_cast<std::size_t>(channels));
      for (std::size_t k = 0; k < numbers.size(); ++k)
        numbers[k] = c->reals[axis < channels_at ? static_cast<std::size_t>(t) * numbers.size() + k
                                                 : k * static_cast<std::size_t>(tokens) + static_cast<std::size_t>(t)];
      l.weights.push_back(std::move(numbers));
      long long const all = shape_of(x).area() + 1;
      need(all <= 0x7fffffff, "must have at most 2,147,483,647 tokens", std::to_string(all));
      shape const out{shape_of(x).channels, 1, static_cast<int>(all)};
      onnx_axes axes = x->axes;
      axes[axis] = pixels_of(out);
      x = append(std::move(l), x, out, std::move(axes));
    }
    path_ = path;
  }
  give(x);
}

TYPENET_INLINE void onnx_reader::add_positions(onnx_value const& x, constant const& c, float sign, bool is_weight) {
  shape const s = shape_of(x);
  std::size_t const rank = x->axes.size();
  std::vector<std::int64_t> const dims = onnx_dims(x->axes);
  std::vector<std::int64_t> strides(rank);  // of the constant; 0 where it is repeated
  std::int64_t step = 1;
  for (std::size_t d = rank; d-- > 0;) {
    std::size_t const from = d + c->dims.size();
    std::int64_t const size = from < rank ? 1 : c->dims[from - rank];
    need(size == 1 || size == dims[d], "must have a constant that fits the other operand",
         std::to_string(size) + " numbers along axis " + std::to_string(d));
    strides[d] = size == 1 ? 0 : step;
    step *= size;
  }
  for (onnx_axis const& axis : x->axes)
    for (onnx_atom const& a : axis)
      need(a.shift == 0, "must add a constant to an image that is not rolled", "a rolled one");
  spend(static_cast<std::size_t>(s.size()));
  onnx_layer l;
  l.what.kind = op::position_embedding;
  l.is_constant = !is_weight;
  std::vector<float> numbers(static_cast<std::size_t>(s.size()));
  std::vector<std::int64_t> at(rank);
  for (std::size_t k = 0; k < numbers.size(); ++k) {
    std::int64_t from = 0, channel = 0, row = 0, column = 0;
    for (std::size_t d = 0; d < rank; ++d) {
      from += at[d] * strides[d];
      std::int64_t rest = at[d];
      for (std::size_t i = x->axes[d].size(); i-- > 0;) {
        onnx_atom const& a = x->axes[d][i];
        (a.along == 'c' ? channel : a.along == 'h' ? row : column) += rest % a.size * a.step;
        rest /= a.size;
      }
    }
    numbers[static_cast<std::size_t>((row * s.width + column) * s.channels + channel)] =
        sign * static_cast<float>(c->at(static_cast<std::size_t>(from)));
    for (std::size_t d = rank; d-- > 0;) {
      if (++at[d] < dims[d]) break;
      at[d] = 0;
    }
  }
  l.weights.push_back(std::move(numbers));
  std::string const path = path_;
  take_path_of(c);
  onnx_value const v = append(std::move(l), x, s, x->axes);
  path_ = path;
  give(v);
}

}  // namespace dsl::detail::TYPENET_MODE
