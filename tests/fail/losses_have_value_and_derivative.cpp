// SPDX-License-Identifier: MIT
// EXPECT: loss: a loss of your own must have double value(double y, double t) const and double derivative(double y, double t) const, or both for the std::span<double const> of a sample; derivative then adds to a std::span<double>
// EXPECT-RE: losses_have_value_and_derivative<.*squares
#include <dsl/dsl.hpp>

using model = dsl::network<dsl::features<4>, dsl::dense<2>>;
struct squares {
  double value(double y, double t) const { return (y - t) * (y - t); }
#ifdef FIXED
  double derivative(double y, double t) const { return 2 * (y - t); }
#endif
};
dsl::trainer make() { return dsl::compile<model>(dsl::native{}, dsl::sgd{}, {.loss = squares{}}); }
