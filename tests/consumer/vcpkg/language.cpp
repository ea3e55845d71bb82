// SPDX-License-Identifier: MIT
#include <dsl/language.hpp>

static_assert(dsl::network<dsl::image<3, 32, 32>, dsl::minigooglenet<10>>::gives<dsl::shape{10}>);
