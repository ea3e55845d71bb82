// SPDX-License-Identifier: MIT
#pragma once

namespace dsl::broken {

template <int Parts, class Network>
struct micro_batches_are_positive {
  static_assert(Parts >= 1, "pipeline: the number of micro-batches must be 1 or more");
};

template <int Parts, class Network, bool HasParts>
struct micro_batches_are_given_once {
  static_assert(!HasParts, "pipeline: the network already has micro-batches; write pipeline<M, ...> once");
};

template <int Parts, class Network, bool HasTowers>
struct towers_go_around_pipelines {
  static_assert(!HasTowers, "pipeline: towers must be outside of it; write replicate<G, pipeline<M, ...>>");
};

/// Checks a constant batch size, such as pipeline<...>::batch<256>, even if there are towers around the pipeline.
template <class Pipeline, int Batch, int Fewest, int Needed>
struct micro_batches_have_samples {
  static_assert(Fewest >= Needed,
                "pipeline: a batch_norm needs at least two samples in each micro-batch; use a larger batch or fewer "
                "micro-batches");
};

}  // namespace dsl::broken
