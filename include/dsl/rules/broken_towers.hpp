// SPDX-License-Identifier: MIT
#pragma once

namespace dsl::broken {

template <int Towers, class Network>
struct towers_are_positive {
  static_assert(Towers >= 1, "replicate: the number of towers must be 1 or more");
};

template <int Towers, class Network, bool HasTowers>
struct towers_are_given_once {
  static_assert(!HasTowers, "replicate: the network already has towers; write replicate<G, ...> once");
};

/// Checks a constant batch size, such as replicate<...>::batch<256>.
template <class Towers, int Batch, int Fewest, int Needed>
struct towers_have_samples {
  static_assert(
      Fewest >= Needed,
      "towers: each needs at least one sample of the batch, or two if the network has a batch_norm that is not "
      "synchronized; use a larger batch or fewer towers");
};

}  // namespace dsl::broken
