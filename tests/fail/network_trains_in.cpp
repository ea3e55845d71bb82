// SPDX-License-Identifier: MIT
// EXPECT: trains_in: a training step must take no more bytes than are asserted; use a smaller batch or network, or allow more
// EXPECT-RE: network_trains_in<.*(Batch=)?64, (Allowed=)?16777216(LL)?, (Needed=)?[0-9]{8,9}
#include <dsl/language.hpp>

using namespace dsl::literals;
using model = dsl::network<dsl::image<3, 32, 32>, dsl::minigooglenet<10>>;
#ifdef FIXED
static_assert(model::trains_in<64, 256_MiB>);
#else
static_assert(model::trains_in<64, 16_MiB>);
#endif
