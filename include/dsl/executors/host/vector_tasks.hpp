// SPDX-License-Identifier: MIT
#pragma once

#include <dsl/detail/mode.hpp>
#include <dsl/executors/host/blocks.hpp>
#include <dsl/executors/host/bound_step.hpp>
#include <dsl/executors/host/vector_kernels.hpp>

// Memory-bound steps, through kernels shared by executors with channel blocks. A Device is a device of such an executor
// with lanes(); memory(), the kernels; need_shared(n) and shared(), scratch memory of n floats for all threads;
// threads(); and run(items, f), which calls f(item) for all items, in any order and on any thread. A task is empty if
// the layout has no whole vectors.

namespace dsl::host::TYPENET_MODE {

/// Whether the values of each sample are consecutive whole vectors in all of some tensors, with the same layout. The
/// last channel block may have unused lanes.
template <class V, class... Others>
bool in_vectors(int lanes, V const& v, Others const&... others) {
  bool const rows = in_rows(v, lanes) && (in_rows(others, lanes) && ...);
  bool const blocks = v.block == lanes && in_blocks(v, lanes) && (in_blocks(others, lanes) && ...);
  return (rows || blocks) && ((others.block == v.block) && ...);
}
/// Returns the number of vectors of a sample, if in_vectors() is true.
template <class V>
long long vectors_of(V const& v, int lanes) {
  return v.block == lanes ? blocks_of(v.shape.channels, lanes) * v.shape.area() : v.shape.size() / lanes;
}

/// Returns the task of a function of each value, or of two values; it is empty unless in_vectors() is true. The
/// functions turn 0 into 0, so unused lanes remain 0.
template <class Device>
task rows_task(Device& at, view<float> const& to, bool accumulate, row_function f, view<float const> const& x,
               view<float const> const& second) {
  int const L = at.lanes();
  if (!in_vectors(L, to, x, second)) return {};
  return [&at, f, x, second, to, accumulate, count = vectors_of(to, L)] {
    at.run(to.batch, [&](int n) {
      at.vectors().row({f, sample_of(x, n), sample_of(second, n), sample_of(to, n), count, accumulate});
    });
  };
}

/// Returns the task of an update step. When the step runs, `each` calls a function with the arrays of each part of the
/// update.
template <class Device, class F>
task update_task(Device& at, F each) {
  return [&at, each] {
    each([&](update_call<float> const& c) {
      constexpr int items = 64;
      long long const lines = c.n / 16;  // parameters are padded to whole lines
      at.run(items,
             [&](int i) { at.vectors().update_rows({&c, 16 * (lines * i / items), 16 * (lines * (i + 1) / items)}); });
    });
  };
}

}  // namespace dsl::host::TYPENET_MODE
