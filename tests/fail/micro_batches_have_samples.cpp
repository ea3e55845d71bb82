// SPDX-License-Identifier: MIT
// LINES: 5
// EXPECT: pipeline: each micro-batch needs at least one sample, or two if the network has a batch_norm; the error's last three template arguments are the batch, the smallest micro-batch, and the samples that it needs; use a larger batch or fewer micro-batches
// EXPECT-RE: micro_batches_have_samples<.*(dsl::replicate<2.*, 15, 1, 2>|Pipeline=.*, Batch=15, Fewest=1, Needed=2)
// Two towers split 15 samples into 7 and 8, and four micro-batches split 7 samples into 1, 1, 1 and 4: a batch_norm
// would normalise single samples by themselves.
#include <dsl/language.hpp>
#include <dsl/placement.hpp>
#include <dsl/towers.hpp>

using model = dsl::network<dsl::image<3, 9, 9>, dsl::conv_module<4, 3>, dsl::flatten, dsl::dense<10>, dsl::softmax>;
using two_towers = dsl::replicate<2, dsl::pipeline<4, model>>;
#ifdef FIXED
constexpr int batch = two_towers::batch<16> + dsl::pipeline<4, model>::batch<8>;
#else
constexpr int batch = two_towers::batch<15>;
#endif
