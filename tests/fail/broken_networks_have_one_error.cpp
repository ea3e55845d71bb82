// SPDX-License-Identifier: MIT
// EXPECT: max_pool2d, avg_pool2d: the window is larger than its padded input; use a smaller window, more padding, or global_avg_pool2d
// EXPECT-RE: pool_window_fits_input<.*at<0, 11>.*dsl::avg_pool2d<7
// An assertion about a broken network adds no second error.
#include <dsl/language.hpp>

using namespace dsl::literals;
#ifdef FIXED
using model = dsl::network<dsl::image<3, 32, 32>, dsl::minigooglenet<10>>;
#else
using model = dsl::network<dsl::image<3, 16, 16>, dsl::minigooglenet<10>>;
#endif
static_assert(model::output == dsl::shape{10});
static_assert(model::gives<dsl::shape{10}>);
static_assert(model::parameter_count == 1'656'250);
static_assert(1'656'250 >= model::trainable_parameter_count);
static_assert(model::forward_macs == 234'597'920);
static_assert(model::training_bytes(64) < 256_MiB);
static_assert(model::trains_in<64, 256_MiB>);
