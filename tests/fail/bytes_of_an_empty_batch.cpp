// SPDX-License-Identifier: MIT
// EXPECT: a_batch_must_have_at_least_one_sample
// This asks for the bytes of a batch without samples.
#include <dsl/language.hpp>

#ifdef FIXED
constexpr int batch = 1;
#else
constexpr int batch = 0;
#endif
using model = dsl::network<dsl::image<3, 8, 8>, dsl::conv2d<4, 3>, dsl::relu>;
constexpr long long bytes = model::training_bytes(batch);
