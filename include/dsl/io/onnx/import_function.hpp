// SPDX-License-Identifier: MIT
#pragma once

#include <dsl/detail/mode.hpp>
#include <dsl/io/onnx/import_axes.hpp>
#include <dsl/layers/window.hpp>
#include <dsl/operations/operation.hpp>

#include <memory>
#include <string>
#include <vector>

namespace dsl::detail::TYPENET_MODE {

struct onnx_function;
struct onnx_products;

/// Every `step`th row of an image, or every `step`th column, from `first` on.
struct onnx_run {
  int first = 0;
  int step = 1;
  int count = 0;

  friend bool operator==(onnx_run const&, onnx_run const&) = default;
};

using onnx_value = std::shared_ptr<onnx_function>;

/// A value, or the result of elementwise operators on one value. Exporters write an activation as one operator or as
/// several (gelu: Div, Erf, Add, Mul, Mul). Such operators are therefore collected until another kind of operator reads
/// the result; then the activation is recognised by the numbers that it computes. `what` is "" for a value that a layer
/// makes, "number" for a constant, "mean" for the mean over the channels, or otherwise the operator's type. Some
/// results are not functions of numbers, and become part of a later layer: a Pad, a Slice of rows and columns, the
/// products of queries and keys, the "length" of each query or key, and the "unit" vectors that are queries or keys
/// divided by it.
struct onnx_function {
  std::string what{};
  double number = 0;                 // of a "number"; otherwise an attribute
  double second = 0;                 // the second attribute
  std::vector<onnx_value> inputs{};  // of an operator
  onnx_value base{};                 // the one value from which it is computed; empty for that value itself
  int size = 1;                      // the number of operators
  int node = -1;                     // the layer that makes it; -1: none yet
  onnx_axes axes{};
  std::string place{};  // of the operator, for messages
  std::string path{};   // of its module
  int readers = 0;      // operators that read it; for a view, at least 2 if the viewed value has several readers
  option::pad zeros{};  // of a Pad
  onnx_run rows{};      // of a Slice
  onnx_run columns{};   // of a Slice
  std::shared_ptr<onnx_products const> products{};

  /// Whether a layer or an activation can be made of it alone.
  bool is_function() const {
    return what != "Pad" && what != "products" && what != "Slice" && what != "length" && what != "unit";
  }
};

/// An activation that typenet has a layer for.
struct onnx_activation {
  dsl::function function = dsl::function::relu;
  double rate = 0;
};

/// The largest number of operators that one activation may consist of. No known activation has more.
inline constexpr int onnx_largest_function = 24;

/// The largest bound of a Clip, Max or Min. Functions are also compared at numbers beyond this bound, so that no bound
/// is overlooked.
inline constexpr double onnx_largest_bound = 1e29;

/// Whether typenet reads this operator as an elementwise one.
bool onnx_is_elementwise(std::string const& type);

/// Returns an operator's result for one or two numbers, as ONNX defines it; NaN for an unknown operator.
double onnx_apply(onnx_function const& f, double x, double y);

/// Returns the value of f if `from` has the value x. Sets `depends` if f also reads a value other than `from`.
double onnx_evaluate(onnx_function const& f, onnx_function const& from, double x, bool& depends);

/// Returns the other operand of an operator with two operands, one of which is a number; null for another operator.
onnx_value onnx_beside_number(onnx_value const& f, char const* type, double& number);

/// Finds a normalisation over the channels, written as operators: (x - mean) / sqrt(variance + epsilon). Returns x, or
/// null if f is something else.
onnx_value onnx_normalised(onnx_value const& f, double& epsilon);

/// Finds an activation that computes f from one of the values that f depends on; if there are several such values, uses
/// the one nearest to f. Returns this value, or null if there is no such activation.
onnx_value onnx_recognise(onnx_value const& f, onnx_activation& found);

}  // namespace dsl::detail::TYPENET_MODE

#ifdef TYPENET_DEFINITIONS
#include <dsl/io/onnx/import_function_inl.hpp>
#endif
