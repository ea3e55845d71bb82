// SPDX-License-Identifier: MIT
#pragma once

#include <dsl/detail/mode.hpp>
#include <dsl/io/onnx/import_constant.hpp>

#include <charconv>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace dsl::detail::TYPENET_MODE {

TYPENET_INLINE std::int64_t onnx_count(std::vector<std::int64_t> const& dims) {
  std::int64_t count = 1;
  for (std::int64_t d : dims)
    if (d < 0) return -1;
  for (std::int64_t d : dims) {
    if (d == 0) return 0;
    if (count > (std::int64_t{1} << 40) / d) return -1;
    count *= d;
  }
  return count;
}

TYPENET_INLINE std::string onnx_dims_text(std::vector<std::int64_t> const& dims) {
  std::string all = "[";
  for (std::size_t i = 0; i < dims.size() && i < 16; ++i) all += (i > 0 ? ", " : "") + std::to_string(dims[i]);
  return all + (dims.size() > 16 ? ", ...]" : "]");
}

TYPENET_INLINE std::string onnx_tensor_text(onnx_constant const& c) {
  return (c.is_whole ? "integers of shape " : "floats of shape ") + onnx_dims_text(c.dims);
}

TYPENET_INLINE std::string onnx_digits(float value) {
  char text[40];
  return {text, std::to_chars(text, text + sizeof text, value).ptr};
}

TYPENET_INLINE double onnx_decimal(float value) {
  std::string const text = onnx_digits(value);
  double exact = static_cast<double>(value);
  std::from_chars(text.data(), text.data() + text.size(), exact);
  return exact;
}

TYPENET_INLINE onnx_constant onnx_empty(std::vector<std::int64_t> const& dims, bool is_whole) {
  onnx_constant c;
  c.dims = dims;
  c.is_whole = is_whole;
  auto const count = static_cast<std::size_t>(onnx_count(dims));
  if (is_whole)
    c.wholes.resize(count);
  else
    c.reals.resize(count);
  return c;
}

TYPENET_INLINE std::vector<std::int64_t> onnx_widened(std::vector<std::int64_t> dims, std::size_t rank) {
  if (dims.size() < rank) dims.insert(dims.begin(), rank - dims.size(), 1);
  return dims;
}

TYPENET_INLINE onnx_spread::onnx_spread(std::vector<std::int64_t> const& narrow, std::vector<std::int64_t> const& wide)
    : wide_(wide.begin(), wide.end()), strides_(wide.size()) {
  std::vector<std::int64_t> const dims = onnx_widened(narrow, wide.size());
  std::size_t step = 1;
  for (std::size_t d = wide.size(); d-- > 0;) {
    strides_[d] = dims[d] == 1 ? 0 : step;
    step *= static_cast<std::size_t>(dims[d]);
  }
}

TYPENET_INLINE std::size_t onnx_spread::operator()(std::size_t i) const {
  std::size_t from = 0;
  for (std::size_t d = wide_.size(); d-- > 0;) {
    from += i % wide_[d] * strides_[d];
    i /= wide_[d];
  }
  return from;
}

TYPENET_INLINE onnx_constant onnx_transposed(onnx_constant const& a, std::vector<int> const& order) {
  std::size_t const rank = a.dims.size();
  std::vector<std::int64_t> dims(rank);
  std::vector<std::size_t> strides(rank, 1), moved(rank);
  for (std::size_t d = rank; d-- > 1;) strides[d - 1] = strides[d] * static_cast<std::size_t>(a.dims[d]);
  for (std::size_t d = 0; d < rank; ++d) {
    dims[d] = a.dims[static_cast<std::size_t>(order[d])];
    moved[d] = strides[static_cast<std::size_t>(order[d])];
  }
  onnx_constant b = onnx_empty(dims, a.is_whole);
  std::vector<std::int64_t> at(rank);
  std::size_t from = 0;
  for (std::size_t to = 0; to < b.count(); ++to) {
    onnx_copy(a, from, b, to);
    for (std::size_t d = rank; d-- > 0;) {
      from += moved[d];
      if (++at[d] < dims[d]) break;
      from -= moved[d] * static_cast<std::size_t>(dims[d]);
      at[d] = 0;
    }
  }
  return b;
}

TYPENET_INLINE onnx_constant onnx_taken(onnx_constant const& a, std::size_t axis,
                                        std::vector<std::int64_t> const& indices) {
  std::vector<std::int64_t> dims = a.dims;
  dims[axis] = static_cast<std::int64_t>(indices.size());
  std::size_t before = 1, behind = 1;
  for (std::size_t d = 0; d < axis; ++d) before *= static_cast<std::size_t>(a.dims[d]);
  for (std::size_t d = axis + 1; d < a.dims.size(); ++d) behind *= static_cast<std::size_t>(a.dims[d]);
  onnx_constant b = onnx_empty(dims, a.is_whole);
  std::size_t to = 0;
  for (std::size_t i = 0; i < before; ++i)
    for (std::int64_t index : indices)
      for (std::size_t k = 0; k < behind; ++k)
        onnx_copy(a, (i * static_cast<std::size_t>(a.dims[axis]) + static_cast<std::size_t>(index)) * behind + k, b,
                  to++);
  return b;
}

TYPENET_INLINE onnx_constant onnx_joined(std::vector<onnx_constant const*> const& all, std::size_t axis) {
  std::vector<std::int64_t> dims = all[0]->dims;
  std::size_t before = 1, behind = 1;
  for (std::size_t d = 0; d < axis; ++d) before *= static_cast<std::size_t>(dims[d]);
  for (std::size_t d = axis + 1; d < dims.size(); ++d) behind *= static_cast<std::size_t>(dims[d]);
  dims[axis] = 0;
  for (onnx_constant const* each : all) dims[axis] += each->dims[axis];
  onnx_constant b = onnx_empty(dims, all[0]->is_whole);
  std::size_t to = 0;
  for (std::size_t i = 0; i < before; ++i)
    for (onnx_constant const* each : all) {
      std::size_t const part = static_cast<std::size_t>(each->dims[axis]) * behind;
      for (std::size_t k = 0; k < part; ++k) onnx_copy(*each, i * part + k, b, to++);
    }
  return b;
}

}  // namespace dsl::detail::TYPENET_MODE
