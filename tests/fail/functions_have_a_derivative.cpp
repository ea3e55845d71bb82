// SPDX-License-Identifier: MIT
// EXPECT: elementwise: its function must have a name, and static functions value(x) and derivative(x) for float and double
// EXPECT-RE: functions_have_a_derivative<.*dsl::at<1>, (Layer=)?softsign
#include <dsl/language.hpp>

struct softsign_function {
  static constexpr char const* name = "softsign";
  template <class T>
  static constexpr T value(T x) {
    return x / (1 + (x < 0 ? -x : x));
  }
#ifdef FIXED
  template <class T>
  static constexpr T derivative(T x) {
    T const d = 1 + (x < 0 ? -x : x);
    return 1 / (d * d);
  }
#endif
};
struct softsign : dsl::elementwise<softsign_function> {};
using model = dsl::network<dsl::features<8>, dsl::dense<4>, softsign>;
constexpr dsl::shape output = model::output;
