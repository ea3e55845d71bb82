// SPDX-License-Identifier: MIT
#pragma once

namespace dsl::broken {

/// Of a constant batch size: pipeline<...>::batch<256>, and that of towers around it.
template <class Pipeline, int Batch, int Fewest, int Needed>
struct micro_batches_have_samples {
  static_assert(Fewest >= Needed,
                "pipeline: a batch_norm needs two samples of each part; use a larger batch or fewer micro-batches");
};

}  // namespace dsl::broken
