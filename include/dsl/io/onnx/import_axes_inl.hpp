// SPDX-License-Identifier: MIT
#pragma once

#include <dsl/detail/mode.hpp>
#include <dsl/io/onnx/import_axes.hpp>

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

namespace dsl::detail::TYPENET_MODE {

TYPENET_INLINE onnx_axes onnx_axes_of(shape const& s, int rank) {
  onnx_axes axes(static_cast<std::size_t>(rank));
  std::size_t at = 1;
  for (onnx_atom const& a : {onnx_atom{'c', s.channels}, onnx_atom{'h', s.height}, onnx_atom{'w', s.width}}) {
    if (a.size > 1) axes[at].push_back(a);
    if (rank == 4) ++at;
  }
  return axes;
}

TYPENET_INLINE std::int64_t onnx_size(onnx_axis const& a) {
  std::int64_t size = 1;
  for (onnx_atom const& x : a) size *= x.size;
  return size;
}

TYPENET_INLINE std::vector<std::int64_t> onnx_dims(onnx_axes const& axes) {
  std::vector<std::int64_t> dims;
  dims.reserve(axes.size());
  for (onnx_axis const& a : axes) dims.push_back(onnx_size(a));
  return dims;
}

TYPENET_INLINE void onnx_merge(onnx_axis& a) {
  onnx_axis merged;
  for (onnx_atom const& x : a) {
    if (!merged.empty() && merged.back().along == x.along && merged.back().shift == x.shift &&
        merged.back().step == x.size * x.step)
      merged.back() = {x.along, merged.back().size * x.size, x.step, x.shift};
    else
      merged.push_back(x);
  }
  a = std::move(merged);
}

TYPENET_INLINE bool onnx_reshape(onnx_axes& axes, std::vector<std::int64_t> const& dims) {
  std::vector<onnx_atom> rest;  // from the fastest to the slowest, so that the next one is at the end
  for (std::size_t i = axes.size(); i-- > 0;) rest.insert(rest.end(), axes[i].rbegin(), axes[i].rend());
  onnx_axes made(dims.size());
  for (std::size_t i = 0; i < dims.size(); ++i) {
    for (std::int64_t need = dims[i]; need > 1;) {
      if (rest.empty()) return false;
      onnx_atom& next = rest.back();
      if (need % next.size == 0) {
        need /= next.size;
        made[i].push_back(next);
        rest.pop_back();
      } else if (next.size % need == 0) {
        int const inner = next.size / static_cast<int>(need);
        made[i].push_back({next.along, static_cast<int>(need), next.step * inner, next.shift});
        next.size = inner;
        need = 1;
      } else {
        return false;
      }
    }
    onnx_merge(made[i]);
  }
  axes = std::move(made);
  return rest.empty();
}

}  // namespace dsl::detail::TYPENET_MODE
