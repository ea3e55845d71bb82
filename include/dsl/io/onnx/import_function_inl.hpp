// SPDX-License-Identifier: MIT
#pragma once

#include <dsl/detail/mode.hpp>
#include <dsl/io/onnx/import_function.hpp>
#include <dsl/operations/activation/onnx.hpp>

#include <cmath>
#include <cstddef>
#include <string>
#include <utility>
#include <vector>

namespace dsl::detail::TYPENET_MODE {

TYPENET_INLINE bool onnx_is_elementwise(std::string const& type) {
  for (char const* each :
       {"Abs",         "Add",        "Celu", "Clip",      "Div",      "Elu",  "Erf",  "Exp",   "Gelu",
        "HardSigmoid", "HardSwish",  "Log",  "LeakyRelu", "Max",      "Min",  "Mish", "Mul",   "Neg",
        "Pow",         "Reciprocal", "Relu", "Sigmoid",   "Softplus", "Sqrt", "Sub",  "Swish", "Tanh"})
    if (type == each) return true;
  return false;
}

TYPENET_INLINE double onnx_apply(onnx_function const& f, double x, double y) {
  std::string const& t = f.what;
  if (t == "Add") return x + y;
  if (t == "Sub") return x - y;
  if (t == "Mul") return x * y;
  if (t == "Div") return x / y;
  if (t == "Pow") return std::pow(x, y);
  if (t == "Max") return x < y ? y : x;
  if (t == "Min") return x < y ? x : y;
  if (t == "Abs") return std::fabs(x);
  if (t == "Neg") return -x;
  if (t == "Sqrt") return std::sqrt(x);
  if (t == "Exp") return std::exp(x);
  if (t == "Log") return std::log(x);
  if (t == "Erf") return std::erf(x);
  if (t == "Reciprocal") return 1 / x;
  if (t == "Relu") return x > 0 ? x : 0;
  if (t == "LeakyRelu") return x > 0 ? x : f.number * x;
  if (t == "Elu" || t == "Celu") {
    double const scale = t == "Elu" ? 1 : f.number;
    return x > 0 ? x : f.number * (std::exp(x / scale) - 1);
  }
  if (t == "Clip") return x < f.number ? f.number : x > f.second ? f.second : x;
  if (t == "Tanh") return std::tanh(x);
  if (t == "Sigmoid") return 1 / (1 + std::exp(-x));
  if (t == "Swish") return x / (1 + std::exp(-f.number * x));
  if (t == "Softplus") return x > 30 ? x : std::log1p(std::exp(x));
  if (t == "HardSigmoid") return std::fmax(0, std::fmin(1, f.number * x + f.second));
  if (t == "HardSwish") return x * std::fmax(0, std::fmin(1, x / 6 + 0.5));
  if (t == "Mish") return x * std::tanh(x > 30 ? x : std::log1p(std::exp(x)));
  if (t == "Gelu" && f.number != 0) return x / (1 + std::exp(-1.5957691216057308 * (x + 0.044715 * x * x * x)));
  if (t == "Gelu") return 0.5 * x * (1 + std::erf(x * 0.7071067811865476));
  return std::nan("");
}

TYPENET_INLINE double onnx_evaluate(onnx_function const& f, onnx_function const& from, double x, bool& depends) {
  if (&f == &from) return x;
  if (f.what == "number") return f.number;
  if (f.inputs.empty()) {
    depends = true;
    return 0;
  }
  double const first = onnx_evaluate(*f.inputs[0], from, x, depends);
  return onnx_apply(f, first, f.inputs.size() > 1 ? onnx_evaluate(*f.inputs[1], from, x, depends) : 0);
}

/// Whether f, as a function of `from`, agrees at all sample points with an activation; if so, `found` is set to it.
inline bool onnx_equals(onnx_function const& f, onnx_function const& from, onnx_activation& found) {
  static constexpr double places[] = {-40, -9,   -6.5, -5.9, -4,  -3.1, -2.9, -2,   -1.3, -1,    -0.7, -0.3, -0.1,
                                      0,   0.1,  0.3,  0.7,  1,   1.3,  2,    2.9,  3.1,  4,     5.9,  6.5,  9,
                                      40,  -100, 100,  -500, 500, -1e4, 1e4,  -1e8, 1e8,  -1e30, 1e30};
  bool depends = false;
  auto const value = [&](double x) { return onnx_evaluate(f, from, x, depends); };
  auto const matches = [&](char const* type, double number, double second) {
    onnx_function known;
    known.what = type;
    known.number = number, known.second = second;
    for (double x : places) {
      double const wanted = onnx_apply(known, x, 0), got = value(x);
      if (std::fabs(x) > 100 && !std::isfinite(got)) continue;  // exp overflows there; a bound does not
      if (depends || !(std::fabs(wanted - got) <= 3e-6 * (1 + std::fabs(x)))) return false;
    }
    return true;
  };
  for (onnx_recognised const& each : onnx_functions)
    if (matches(each.type, each.number, each.second)) {
      found = {each.is, 0};
      return true;
    }
  double const slope = -value(-1), alpha = value(-1) / (std::exp(-1.0) - 1);
  if (slope > 0 && slope < 1e30 && slope != 1 && matches("LeakyRelu", slope, 0)) {
    found = {function::leaky_relu, slope};
    return true;
  }
  if (alpha > 0 && alpha < 1e30 && matches("Elu", alpha, 0)) {
    found = {function::elu, alpha};
    return true;
  }
  return false;
}

TYPENET_INLINE onnx_value onnx_beside_number(onnx_value const& f, char const* type, double& number) {
  if (f->what != type || f->inputs.size() != 2) return nullptr;
  std::size_t const at = f->inputs[0]->what == "number" ? 0 : 1;
  if (f->inputs[at]->what != "number") return nullptr;
  number = f->inputs[at]->number;
  return f->inputs[1 - at];
}

TYPENET_INLINE onnx_value onnx_normalised(onnx_value const& f, double& epsilon) {
  if ((f->what != "Div" && f->what != "Mul") || f->inputs.size() != 2) return nullptr;
  onnx_value centred = f->inputs[0], deviation = f->inputs[1];
  if (f->what == "Mul") {
    if (centred->what == "Reciprocal") std::swap(centred, deviation);
    if (deviation->what != "Reciprocal") return nullptr;
    deviation = deviation->inputs[0];
  }
  if (centred->what != "Sub" || centred->inputs[1]->what != "mean" || deviation->what != "Sqrt") return nullptr;
  onnx_value const x = centred->inputs[0];
  if (centred->inputs[1]->inputs[0] != x) return nullptr;
  onnx_value const variance = onnx_beside_number(deviation->inputs[0], "Add", epsilon);
  if (!variance || variance->what != "mean") return nullptr;
  onnx_value const squares = variance->inputs[0];
  double power = 0;
  onnx_value const root = onnx_beside_number(squares, "Pow", power);
  auto const is_centred = [&](onnx_value const& c) {
    return c->what == "Sub" && c->inputs[0] == x && c->inputs[1]->what == "mean" && c->inputs[1]->inputs[0] == x;
  };
  bool const powered = root && power == 2 && squares->inputs[1]->what == "number" && is_centred(root);
  bool const multiplied = squares->what == "Mul" && is_centred(squares->inputs[0]) && is_centred(squares->inputs[1]);
  return powered || multiplied ? x : nullptr;
}

TYPENET_INLINE onnx_value onnx_recognise(onnx_value const& f, onnx_activation& found) {
  std::vector<onnx_value> next{f};  // from the operator to its operands
  for (std::size_t i = 0; i < next.size(); ++i) {
    onnx_value const x = next[i];
    if (i > 0 && x->what != "number" && onnx_equals(*f, *x, found)) return x;
    for (onnx_value const& input : x->inputs) {
      bool known = false;
      for (onnx_value const& each : next) known = known || each == input;
      if (!known) next.push_back(input);
    }
  }
  return nullptr;
}

}  // namespace dsl::detail::TYPENET_MODE
