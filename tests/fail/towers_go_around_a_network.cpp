// SPDX-License-Identifier: MIT
// EXPECT: layer: this type is none; a layer has a public static constexpr value lower(builder&, value)
// EXPECT: dsl::replicate<4,
#include <dsl/dsl.hpp>
#include <dsl/towers.hpp>

using namespace dsl;
#ifdef FIXED
using model = replicate<4, network<image<3, 8, 8>, conv_module<8, 3>>>;
#else
using model = network<image<3, 8, 8>, replicate<4, conv_module<8, 3>>>;
#endif
constexpr shape output = model::output;
