// SPDX-License-Identifier: MIT
// EXPECT: loss: a loss of your own must have double value(double y, double t) const and double derivative(double y, double t) const; or, for whole samples, double value(std::span<double const> y, std::span<double const> t) const and void derivative(std::span<double const> y, std::span<double const> t, std::span<double> slopes) const, which adds the derivatives to slopes
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
