// SPDX-License-Identifier: MIT
// The language with MiniGoogLeNet, lowered, checked by every rule, and planned for training; the plan is verified.
#include <dsl/language.hpp>

using model = dsl::network<dsl::image<3, 32, 32>, dsl::minigooglenet<10>>;
static_assert(model::trains_in<64, 256LL << 20>);
static_assert(dsl::verified<model>);
