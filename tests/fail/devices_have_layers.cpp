// SPDX-License-Identifier: MIT
// EXPECT: on: a device has no layers; the error's last three template arguments are the number of devices, the device without layers, and its number of layers; number the devices 0, 1, 2 without gaps
// EXPECT-RE: devices_have_layers<.*, (Devices=)?3, (Device=)?1
#include <dsl/language.hpp>
#include <dsl/placement/on.hpp>

#ifdef FIXED
using tail = dsl::on<dsl::device<1>, dsl::flatten, dsl::dense<10>>;
#else
using tail = dsl::on<dsl::device<2>, dsl::flatten, dsl::dense<10>>;
#endif
using model = dsl::network<dsl::image<3, 8, 8>, dsl::on<dsl::device<0>, dsl::relu>, tail>;
static_assert(model::parameter_count == 1930);
