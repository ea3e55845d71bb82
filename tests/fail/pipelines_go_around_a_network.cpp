// SPDX-License-Identifier: MIT
// EXPECT: layer: this type is none; a layer has a public static constexpr value lower(builder&, value)
// EXPECT: dsl::pipeline<2,
#include <dsl/language.hpp>
#include <dsl/placement.hpp>

using namespace dsl;
#ifdef FIXED
using model = pipeline<2, network<image<3, 8, 8>, conv_module<8, 3>>>;
#else
using model = network<image<3, 8, 8>, pipeline<2, conv_module<8, 3>>>;
#endif
constexpr shape output = model::output;
