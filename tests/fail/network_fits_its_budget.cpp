// SPDX-License-Identifier: MIT
// EXPECT: memory_budget: a training step must fit in the bytes allowed; the error's first three template arguments are the batch, the bytes allowed, and the fewest bytes that a step needs even if it computes values again; allow more, or use a smaller batch or network
// EXPECT-RE: network_fits_its_budget<.*(Batch=)?16, (Allowed=)?102400(LL)?, (Least=)?[0-9]{6}
#include <dsl/language.hpp>

using namespace dsl::literals;
using layers = dsl::network<dsl::image<3, 9, 9>, dsl::conv_module<16, 3, 3>, dsl::conv_module<16, 3, 3>,
                            dsl::global_avg_pool2d, dsl::dense<10>, dsl::softmax>;
#ifdef FIXED
using model = dsl::memory_budget<16, 500_KiB, layers>;
#else
using model = dsl::memory_budget<16, 100_KiB, layers>;
#endif
static_assert(model::is_sound);
