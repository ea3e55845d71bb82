// SPDX-License-Identifier: MIT
// EXPECT: layer: each enter() needs a leave() with the value that enter() returned; call lower_child() instead
// EXPECT-RE: children_are_left<.*dsl::at<1>, (Layer=)?twice<dsl::relu>
// A combinator enters its child by hand and forgets to leave it.
#include <dsl/language.hpp>

template <class Child>
struct twice {
  using children = dsl::types<Child, Child>;

  static constexpr dsl::value lower(dsl::builder& b, dsl::value in) {
    for (int i = 0; i < 2; ++i) {
      [[maybe_unused]] int const parent = b.enter(i, dsl::detail::name_of<Child>());
      in = Child::lower(b, in);
#ifdef FIXED
      b.leave(parent);
#endif
    }
    return in;
  }
};
using model = dsl::network<dsl::image<3, 8, 8>, dsl::relu, twice<dsl::relu>, dsl::sigmoid>;
constexpr dsl::shape output = model::output;
