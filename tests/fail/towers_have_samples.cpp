// SPDX-License-Identifier: MIT
// EXPECT: towers: each needs at least one sample of the batch, or two if the network has a batch_norm that is not synchronized; use a larger batch or fewer towers
// EXPECT-RE: towers_have_samples<.*(dsl::replicate<4.*, 7, 1, 2>|Towers=.*, Batch=7, Fewest=1, Needed=2)
// Four towers split 7 samples into 1, 1, 1 and 4: a batch_norm would normalise single samples by themselves.
#include <dsl/language.hpp>
#include <dsl/towers.hpp>

using model = dsl::network<dsl::image<3, 9, 9>, dsl::conv_module<4, 3>, dsl::flatten, dsl::dense<10>, dsl::softmax>;
using four_towers = dsl::replicate<4, model>;
#ifdef FIXED
constexpr int batch = four_towers::batch<8>;
#else
constexpr int batch = four_towers::batch<7>;
#endif
