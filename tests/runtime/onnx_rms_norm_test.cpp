// SPDX-License-Identifier: MIT
// rms_norm: its numbers, and the ONNX files that it is read from.
#include "support/catch.hpp"
#include "support/onnx_built.hpp"

#include <dsl/dsl.hpp>
#include <dsl/io/onnx_import.hpp>

#include <cmath>
#include <string>
#include <vector>

using dsl::onnx_fault;
using dsl::test::complaint;
using dsl::test::layers_of;
using model = dsl::test::built_model;

TEST_CASE("rms_norm divides by the root mean square of the channels, and multiplies by gamma") {
  using net = dsl::network<dsl::image<3, 1, 2>, dsl::rms_norm<0.25>>;
  dsl::trainer t(dsl::reference<double>{}.make_engine(net::view(), {.loss = dsl::loss::mean_squared_error}), 0.01);
  float const gamma[] = {1, 2, -3};
  t.engine().write_parameter(0, gamma);
  std::vector<float> const x{1, 4, -2, 0, 2, 1};  // the pixels are (1, -2, 2) and (4, 0, 1)
  std::vector<float> const y = t.predict(dsl::in_memory_values({3, 1, 2}, x, 6, x));
  double const roots[] = {std::sqrt(9.0 / 3 + 0.25), std::sqrt(17.0 / 3 + 0.25)};
  REQUIRE(y.size() == 6);
  for (std::size_t i = 0; i < 6; ++i)
    CHECK(static_cast<double>(y[i]) ==
          Approx(static_cast<double>(x[i]) / roots[i % 2] * static_cast<double>(gamma[i / 2])).epsilon(1e-6));
}

TEST_CASE("onnx import: RMSNormalization is rms_norm", "[onnx]") {
  auto const read = [](std::int64_t axis, float epsilon) {
    model m({1, 3, 4});
    auto& n = m.add("RMSNormalization", {"x", "norm.weight"}, "y");
    model::set(n, "axis", axis);
    if (epsilon > 0) model::set_real(n, "epsilon", epsilon);
    m.numbers("norm.weight", {1, 2, 3, 4});
    return m.bytes();
  };
  CHECK(layers_of(read(-1, 0.5F)) == "network<image<4, 1, 3>, named<\"norm\", rms_norm<0.5>>>;");
  CHECK_THAT(layers_of(read(2, 0)), Catch::Contains("rms_norm<1e-05>"));
  CHECK_THAT(layers_of(read(2, 1.1920929e-7F)), Catch::Contains("rms_norm<>"));
  CHECK_THAT(complaint(read(1, 0.5F), onnx_fault::unsupported), Catch::Contains("must normalise over the last axis"));
  CHECK_THAT(complaint(read(-1, 1e-31F), onnx_fault::unsupported), Catch::Contains("must have an epsilon"));
}

TEST_CASE("onnx import: a quotient by the root of the mean of squares is rms_norm", "[onnx]") {
  auto const read = [](bool powered, bool divided, bool another = false) {
    model m({1, 3, 4});
    m.numbers("two", {2}), m.numbers("epsilon", {0.5F}), m.numbers("norm.weight", {1, 2, 3, 4});
    if (powered)
      m.add("Pow", {"x", "two"}, "squares");
    else
      m.add("Mul", {"x", "x"}, "squares");
    auto& mean = m.add("ReduceMean", {"squares"}, "mean");
    model::set(mean, "axes", std::vector<std::int64_t>{-1});
    m.add("Add", {"mean", "epsilon"}, "sum");
    m.add("Sqrt", {"sum"}, "root");
    if (another) m.add("Relu", {"x"}, "z");
    std::string const x = another ? "z" : "x";
    if (divided) {
      m.add("Div", {x, "root"}, "normal");
    } else {
      m.add("Reciprocal", {"root"}, "inverse");
      m.add("Mul", {x, "inverse"}, "normal");
    }
    m.add("Mul", {"normal", "norm.weight"}, "y");
    return m.bytes();
  };
  for (bool const powered : {false, true})
    for (bool const divided : {false, true})
      CHECK(layers_of(read(powered, divided)) == "network<image<4, 1, 3>, named<\"norm\", rms_norm<0.5>>>;");
  CHECK(complaint(read(true, true, true), onnx_fault::unsupported) != "");  // the root is not that of the numerator
}
