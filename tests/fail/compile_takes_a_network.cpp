// SPDX-License-Identifier: MIT
// EXPECT: compile: it takes a network in angle brackets; write compile<model>(...), where model is network<image<3, 32, 32>, ...> with your layers in it
// EXPECT-RE: compile_takes_a_network<.*(dsl::minigooglenet<10|Thing=model)
// Layers alone don't have an input shape.
#include <dsl/dsl.hpp>

#ifdef FIXED
using model = dsl::network<dsl::image<3, 32, 32>, dsl::minigooglenet<10>>;
#else
using model = dsl::minigooglenet<10>;
#endif
dsl::trainer make() { return dsl::compile<model>(dsl::sgd{.learning_rate = 5e-3}); }
