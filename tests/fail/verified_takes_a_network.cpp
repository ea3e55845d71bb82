// SPDX-License-Identifier: MIT
// EXPECT: verified: it takes a network; give it network<image<3, 32, 32>, ...> with your layers in it
// EXPECT-RE: verified_takes_a_network<.*(dsl::minigooglenet<10|Thing=layers)
#include <dsl/language.hpp>

using layers = dsl::minigooglenet<10>;
#ifdef FIXED
static_assert(dsl::verified<dsl::network<dsl::image<3, 32, 32>, layers>>);
#else
static_assert(dsl::verified<layers>);
#endif
