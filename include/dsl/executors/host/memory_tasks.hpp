// SPDX-License-Identifier: MIT
#pragma once

#include <dsl/detail/mode.hpp>
#include <dsl/executors/host/blocks.hpp>
#include <dsl/executors/host/bound_step.hpp>
#include <dsl/executors/host/memory_kernels.hpp>

// Memory-bound steps, through kernels shared by executors with channel blocks. A Place is a device of such an executor
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
template <class Place>
task rows_task(Place& at, view<float> const& to, bool accumulate, row_function f, view<float const> const& x,
               view<float const> const& second) {
  int const L = at.lanes();
  if (!in_vectors(L, to, x, second)) return {};
  return [&at, f, x, second, to, accumulate, count = vectors_of(to, L)] {
    at.run(to.batch, [&](int n) {
      at.memory().row({f, sample_of(x, n), sample_of(second, n), sample_of(to, n), count, accumulate});
    });
  };
}

template <class Place>
task activation_task(Place& at, bound_step<float> const& b) {
  int const L = at.lanes();
  view<float const> const dy = b.step->what == action::forward ? view<float const>{} : b.dy;
  if (!in_vectors(L, b.to, b.x, dy.data ? dy : b.x)) return {};
  bool const clears = b.to.block == L && b.to.shape.channels % L != 0 && !dy.data;  // some functions give 0 a value
  return [&at, f = b.node->function, alpha = static_cast<float>(b.node->rate), x = b.x, dy, to = b.to,
          accumulate = b.accumulate, count = vectors_of(b.to, L), clears] {
    at.run(to.batch, [&](int n) {
      at.memory().activation(
          {f, alpha, sample_of(x, n), dy.data ? sample_of(dy, n) : nullptr, sample_of(to, n), count, accumulate});
      if (clears)
        zero_rest_of_block(view<float>{sample_of(to, n), to.shape, 1, to.block, to.buffer_channels - to.channel, 0});
    });
  };
}

template <class Place>
task pool_task(Place& at, bound_step<float> const& b) {
  bool const forward = b.step->what == action::forward, mean = b.node->kind == op::avg_pool2d;
  view<float const> const& from = forward ? b.x : b.dy;
  int const L = at.lanes();
  if (b.argmax.wide.data || !from.data || !in_blocks(from, L) || !in_blocks(b.to, L)) return {};
  memory_kernels const& k = at.memory();
  auto const run =
      mean ? (forward ? k.average_pool : k.average_pool_gradient) : (forward ? k.max_pool : k.max_pool_gradient);
  pool_call const c{.argmax = b.argmax.narrow.data,
                    .in = forward ? from.shape : b.to.shape,
                    .out = forward ? b.to.shape : from.shape,
                    .window = b.node->window,
                    .accumulate = b.accumulate,
                    .counts_padding = b.node->counts_padding};
  return [&at, run, c, from, to = b.to, L] {
    int const blocks = blocks_of(to.shape.channels, L);
    at.run(to.batch * blocks, [&](int i) {
      pool_call one = c;
      one.from = sample_of(from, i / blocks) + i % blocks * L * from.shape.area();
      one.to = sample_of(to, i / blocks) + i % blocks * L * to.shape.area();
      if (one.argmax) one.argmax += i * L * c.out.area();
      run(one);
    });
  };
}

/// Returns the task of an update step. When the step runs, `each` calls a function with the arrays of each part of the
/// update.
template <class Place, class F>
task update_task(Place& at, F each) {
  return [&at, each] {
    each([&](update_call<float> const& c) {
      constexpr int items = 64;
      long long const lines = c.n / 16;  // parameters are padded to whole lines
      at.run(items,
             [&](int i) { at.memory().update_rows({&c, 16 * (lines * i / items), 16 * (lines * (i + 1) / items)}); });
    });
  };
}

}  // namespace dsl::host::TYPENET_MODE
