// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>

#include <dsl/plan/make_plan.hpp>
#include "support/random_graph.hpp"

namespace dsl::test {

inline constexpr std::uint64_t seed_of_plans = 20150904;

/// A random network, one in five with further outputs, and random options of its plan. The same index gives the same
/// network.
struct random_plan {
  dice d;
  int block;
  random_graph net;
  placed_graph placed;  // for every second network; with micro-batches for every third
  graph_view g;
  plan_options options;
  detail::list<bool> again{};  // of two plans in three: tensors that the backward pass computes again

  explicit random_plan(int index)
      : d(seed_of_plans + 1'000'003 * static_cast<std::uint64_t>(index)),
        block(d.of({channels_last, 1, 4, 16})),
        net(d, block, index % 4 < 2, index % 5 == 2),
        placed(net.view(), d, index % 2 == 0 ? 1 : d.between(2, 3)),
        g(placed.view()),
        options(random_options(d, block)) {
    if (int const outputs = output_count(g); outputs > 1 && d.percent(60)) {  // losses and targets of their own
      options.loss = {}, options.targets = {};
      for (int k = 0; k < outputs; ++k) {
        options.targets.push(d.of({target_kind::classes, target_kind::values, target_kind::pixel_classes}));
        bool const takes_squares = takes(loss::mean_squared_error, options.targets[k]);
        options.loss.push(takes_squares && d.percent(50) ? loss::mean_squared_error : loss::categorical_crossentropy);
      }
    }
    if (index % 3 != 1) {
      int const chance = d.of({20, 50, 100});
      for (int t = 0; t < g.size.tensors; ++t) again.push(d.percent(chance));
    }
    if (index % 3 != 0) return;
    options.batch += d.between(0, 3);
    options.micro_batches = d.between(2, 4);
  }

  plan make() const { return make_plan(g, options, again); }
};

}  // namespace dsl::test
