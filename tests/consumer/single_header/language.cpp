// SPDX-License-Identifier: MIT
// The language alone, without exceptions and RTTI.
#include "typenet_language.hpp"

using model = dsl::network<dsl::image<3, 32, 32>, dsl::minigooglenet<10>>;
static_assert(model::gives<dsl::shape{10}>);
static_assert(model::parameter_count == 1'656'250);
