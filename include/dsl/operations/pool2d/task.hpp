// SPDX-License-Identifier: MIT
#pragma once

#include <dsl/detail/mode.hpp>
#include <dsl/executors/host/memory_tasks.hpp>
#include <dsl/executors/host/step_task.hpp>

namespace dsl::host::TYPENET_MODE {

template <>
struct step_task<op::max_pool2d> {
  template <operation_set, class Place>
  static task make(Place& at, bound_step<float> const& b) {
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
};
template <>
struct step_task<op::avg_pool2d> : step_task<op::max_pool2d> {};

}  // namespace dsl::host::TYPENET_MODE
