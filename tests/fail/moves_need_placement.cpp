// SPDX-License-Identifier: MIT
// LINES: 7
// EXPECT: move_to: values must get from device to device; include <dsl/placement.hpp>
// EXPECT-RE: moves_need_placement<.*on_device_1>, (Devices=)?2
// A layer of one's own moves to another device, without the header whose on<device<1>, ...> would.
#include <dsl/language.hpp>
#ifdef FIXED
#include <dsl/placement.hpp>
#endif

struct on_device_1 {
  static constexpr dsl::value lower(dsl::builder& b, dsl::value in) {
    int const before = b.move_to(1);
    dsl::value const out = dsl::conv2d<4, 3>::lower(b, in);
    b.move_to(before);
    return out;
  }
};
using model = dsl::network<dsl::image<3, 8, 8>, dsl::relu, on_device_1>;
constexpr dsl::shape output = model::output;
constexpr long long bytes = model::training_bytes(4);
