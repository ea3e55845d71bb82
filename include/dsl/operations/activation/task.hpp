// SPDX-License-Identifier: MIT
#pragma once

#include <dsl/detail/mode.hpp>
#include <dsl/executors/host/memory_tasks.hpp>
#include <dsl/executors/host/step_task.hpp>

namespace dsl::host::TYPENET_MODE {

template <class Place>
task function_task(Place& at, bound_step<float> const& b) {
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

template <>
struct step_task<op::activation> {
  template <operation_set Only, class Place>
  static task make(Place& at, bound_step<float> const& b) {
    if constexpr ((Only & detail::functions_but_relu) != 0)
      if (b.node->function != function::relu) return function_task(at, b);
    bool const forward = b.step->what == action::forward;
    return rows_task(at, b.to, b.accumulate, forward ? row_function::relu : row_function::relu_backward, b.x,
                     forward ? b.x : b.dy);
  }
};

}  // namespace dsl::host::TYPENET_MODE
