// SPDX-License-Identifier: MIT
// EXPECT: window: a pool has no dilation; leave its row_dilation and column_dilation at 1
// EXPECT-RE: pools_are_not_dilated<.*dsl::at<1>, (Layer=)?sparse_pool, (Kind=)?.*(max_pool2d|op\)4), (Dilation=)?2
// PyTorch's max pools have a dilation; those of typenet do not.
#include <dsl/language.hpp>

struct sparse_pool {
  static constexpr dsl::value lower(dsl::builder& b, dsl::value in) {
    dsl::window w{2, 2, 1};
#ifdef FIXED
    dsl::shape const out{in.shape.channels, in.shape.height - 1, in.shape.width - 1};
#else
    w.row_dilation = w.column_dilation = 2;
    dsl::shape const out{in.shape.channels, in.shape.height - 2, in.shape.width - 2};
#endif
    return b.append({.kind = dsl::op::max_pool2d, .window = w}, in, out);
  }
};
using model = dsl::network<dsl::image<4, 8, 8>, dsl::relu, sparse_pool>;
constexpr dsl::shape output = model::output;
