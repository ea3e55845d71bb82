// SPDX-License-Identifier: MIT
// EXPECT: window: the padding on each side must be less than the window's size, and no further window may fit after the last one; change the output's shape, the stride or the padding
// EXPECT-RE: windows_lead_to_their_output<.*dsl::at<1>, (Layer=)?smooth<3>, (Kind=)?.*(avg_pool2d|op\)5)
// EXPECT-RE: (Window=)?.*window\{3, 3, 1, 0, 0, 0, 1, 1\}, (In=)?.*shape\{4, 8, 8\}, (Output=)?.*shape\{4, 9, 9\}
// 3x3 windows turn 8x8 into 6x6, or up to 8x8 with padding at the end; a ninth row of windows would see nothing.
#include <dsl/language.hpp>

template <int Size>
struct smooth {
  static constexpr dsl::value lower(dsl::builder& b, dsl::value in) {
#ifdef FIXED
    dsl::shape const out{in.shape.channels, in.shape.height - Size + 1, in.shape.width - Size + 1};
#else
    dsl::shape const out{in.shape.channels, in.shape.height + 1, in.shape.width + 1};
#endif
    return b.append({.kind = dsl::op::avg_pool2d, .window = {Size, Size, 1}}, in, out);
  }
};
using model = dsl::network<dsl::image<4, 8, 8>, dsl::relu, smooth<3>>;
constexpr dsl::shape output = model::output;
