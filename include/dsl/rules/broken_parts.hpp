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
                "pipeline: each micro-batch needs at least one sample, or two if the network has a batch_norm; the "
                "error's last three template arguments are the batch, the smallest micro-batch, and the samples that "
                "it needs; use a larger batch or fewer micro-batches");
};

}  // namespace dsl::broken
