// SPDX-License-Identifier: MIT
// LINES: 7
// EXPECT: move_to: moving values between devices needs a header; include <dsl/placement.hpp>
// EXPECT-RE: moves_need_placement<.*on_device_1>, (Devices=)?2
// A custom layer moves to another device without including the header of on<device<1>, ...>.
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
