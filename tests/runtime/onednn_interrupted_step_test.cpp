// SPDX-License-Identifier: MIT
// Tests that an engine can continue after a training step in which a user's own operation throws.
#include "support/catch.hpp"
#include "support/larger.hpp"

#include <dsl/dsl.hpp>
#include <dsl/executors/onednn.hpp>

#include <cmath>
#include <stdexcept>
#include <vector>

namespace {

using namespace dsl;

bool throws = false;
struct touchy_op {
  static constexpr char const* name = "touchy";
  static constexpr shape output(shape in) { return in; }
  template <class T>
  static void forward(custom_call<T> const& c) {
    if (throws) throw std::runtime_error("touched");
    for (int n = 0; n < c.x.batch; ++n)
      for (int k = 0; k < c.x.shape.channels; ++k)
        for (long long p = 0; p < c.x.shape.area(); ++p) c.y(n, k, p) = c.x(n, k, p);
  }
  template <class T>
  static void backward(custom_call<T> const& c) {
    for (int n = 0; n < c.x.batch; ++n)
      for (int k = 0; k < c.x.shape.channels; ++k)
        for (long long p = 0; p < c.x.shape.area(); ++p) {
          if (c.accumulate)
            c.dx(n, k, p) += c.dy(n, k, p);
          else
            c.dx(n, k, p) = c.dy(n, k, p);
        }
  }
};
using model =
    network<image<3, 8, 8>, conv2d<16, 3>, batch_norm<0.5>, relu, custom<touchy_op>, flatten, dense<2>, softmax>;

/// Returns the predictions before and after a step that was interrupted after the batch_norm.
template <class Executor>
std::vector<float> predicted(bool interrupted) {
  trainer t = compile<model>(Executor{}, sgd{.learning_rate = 0.1}, {.seed = 5});
  constexpr int batch = 4;
  std::vector<float> pictures(batch * 3 * 8 * 8), result(batch * 2);
  for (std::size_t i = 0; i < pictures.size(); ++i) pictures[i] = std::sin(0.7F * static_cast<float>(i)) + 1;
  std::vector<std::int32_t> const labels{0, 1, 1, 0};
  throws = false;
  t.predict_on_batch(pictures.data(), batch, result.data());
  if (!interrupted) return result;
  throws = true;
  CHECK_THROWS_AS(t.train_on_batch(pictures.data(), labels.data(), batch), std::runtime_error);
  throws = false;
  t.predict_on_batch(pictures.data(), batch, result.data());
  return result;
}
double distance(std::vector<float> const& a, std::vector<float> const& b) {
  double most = 0;
  for (std::size_t i = 0; i < a.size(); ++i) most = dsl::test::larger(most, static_cast<double>(std::abs(a[i] - b[i])));
  return most;
}

}  // namespace

TEST_CASE("a step that throws: inference has the running statistics that it had moved", "[onednn]") {
  std::vector<float> const wanted = predicted<reference<>>(true);
  CHECK(distance(predicted<reference<>>(false), wanted) > 0.01);  // the statistics matter
  CHECK(distance(predicted<onednn>(true), wanted) < 1e-5);
}
