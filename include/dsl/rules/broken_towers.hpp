// SPDX-License-Identifier: MIT
#pragma once

namespace dsl::broken {

/// Of a constant batch size: replicate<...>::batch<256>.
template <class Towers, int Batch, int Fewest, int Needed>
struct towers_have_samples {
  static_assert(Fewest >= Needed,
                "towers: each needs a sample of the batch, and two for a batch_norm of its own; use a larger batch or "
                "fewer towers");
};

}  // namespace dsl::broken
