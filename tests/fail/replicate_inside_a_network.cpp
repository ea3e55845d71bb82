// SPDX-License-Identifier: MIT
// LINES: 12
// EXPECT: replicate: its second argument must be a network; write replicate<G, network<image<3, 32, 32>, ...>>
// The layers after it are not judged, because what it would give them is not known.
#include <dsl/dsl.hpp>
#include <dsl/towers.hpp>

struct body : dsl::sequential<dsl::conv_module<32, 3>, dsl::global_avg_pool2d> {};
#ifdef FIXED
using model = dsl::replicate<2, dsl::network<dsl::image<3, 32, 32>, body, dsl::dense<10>, dsl::softmax>>;
#else
using model = dsl::network<dsl::image<3, 32, 32>, dsl::replicate<2, body>, dsl::dense<10>, dsl::softmax>;
#endif
dsl::trainer make() { return dsl::compile<model>(dsl::sgd{}); }
