// SPDX-License-Identifier: MIT
// With HAND_OVER a trainer of this file is given to a function of the other one, which must not link.
#include "train.hpp"

#include <cstdio>

outcome train_header_only();
double learning_rate_of(dsl::trainer const& trainer);

int main() {
#ifdef HAND_OVER
  std::printf("%g\n", learning_rate_of(dsl::compile<model>(dsl::reference{}, dsl::sgd{})));
#endif
  outcome const here = train_all(), there = train_header_only();
  bool const same = here == there && !here.losses.empty() && !here.predictions.empty() && !here.refusal.empty();
  std::printf("%s: losses %g and %g, %d and %d predictions\n", same ? "the same" : "DIFFERENT", here.losses.back(),
              there.losses.back(), static_cast<int>(here.predictions.size()),
              static_cast<int>(there.predictions.size()));
  return same ? 0 : 1;
}
