// SPDX-License-Identifier: MIT
#pragma once

#include <dsl/detail/mode.hpp>
#include <dsl/io/onnx/import_axes.hpp>
#include <dsl/operations/operation.hpp>

#include <memory>
#include <string>
#include <vector>

namespace dsl::detail::TYPENET_MODE {

struct onnx_function;
using onnx_value = std::shared_ptr<onnx_function>;

/// What an operator that works on each number by itself makes of one value. Exporters write an activation as one
/// operator or as many (gelu: Div, Erf, Add, Mul, Mul), so such operators are collected until another kind of operator
/// reads the result, and then recognised by their values. `what` is "" for a value that a layer makes, "number", or the
/// operator's type.
struct onnx_function {
  std::string what{};
  double number = 0;                 // of a "number"; otherwise an attribute
  double second = 0;                 // the second attribute
  std::vector<onnx_value> inputs{};  // of an operator
  onnx_value base{};                 // the one value that all its inputs are made of; empty for that value itself
  int size = 1;                      // the number of operators
  int node = -1;                     // the layer that makes it; -1: none yet
  onnx_axes axes{};
  std::string place{};  // of the operator, for messages
  std::string path{};   // of its module
  int readers = 0;      // operators that read it; 2 if what it is a view of has several
};

/// An activation that typenet has.
struct onnx_activation {
  dsl::function function = dsl::function::relu;
  double rate = 0;
};

/// More operators than any activation has.
inline constexpr int onnx_largest_function = 24;

/// The largest bound of a Clip, Max or Min; functions are compared beyond it, so that none is overlooked.
inline constexpr double onnx_largest_bound = 1e29;

/// Whether typenet reads this operator as a function of each number.
[[gnu::cold]] bool onnx_is_elementwise(std::string const& type);

/// Returns what an operator makes of one or two numbers, as ONNX defines it; NaN for an unknown operator.
[[gnu::cold]] double onnx_apply(onnx_function const& f, double x, double y);

/// Returns f's value where `from` has the value x; sets `depends` if something else is read, too.
[[gnu::cold]] double onnx_evaluate(onnx_function const& f, onnx_function const& from, double x, bool& depends);

/// Finds an activation that f is of one of the values that it is made of, the nearest one. Returns that value, or null.
[[gnu::cold]] onnx_value onnx_recognise(onnx_value const& f, onnx_activation& found);

}  // namespace dsl::detail::TYPENET_MODE

#ifndef TYPENET_COMPILED
#include <dsl/io/onnx/import_function_inl.hpp>
#endif
