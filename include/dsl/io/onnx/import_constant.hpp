// SPDX-License-Identifier: MIT
#pragma once

#include <dsl/detail/mode.hpp>

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace dsl::detail::TYPENET_MODE {

/// A tensor of an ONNX file whose numbers are known, because it is a weight or was computed from shapes and weights.
/// Its numbers are integers or floats.
struct onnx_constant {
  std::vector<std::int64_t> dims{};
  bool is_whole = false;
  std::vector<float> reals{};
  std::vector<std::int64_t> wholes{};
  std::string name{};      // in the file; empty if it was computed
  bool is_weight = false;  // whether it is a weight of the file or was computed from one; single numbers are constants

  std::size_t count() const { return is_whole ? wholes.size() : reals.size(); }
  double at(std::size_t i) const { return is_whole ? static_cast<double>(wholes[i]) : static_cast<double>(reals[i]); }
  /// Sets number i. A whole number that does not fit 64 bits becomes 0.
  void set(std::size_t i, double n) {
    if (is_whole)
      wholes[i] = n > -9e18 && n < 9e18 ? static_cast<std::int64_t>(n) : 0;
    else
      reals[i] = static_cast<float>(n);
  }
};

/// Returns the product of dims, or -1 if one of the dims is negative or the product exceeds 2^40.
std::int64_t onnx_count(std::vector<std::int64_t> const& dims);
/// Returns the dims of a tensor as text: {1, 64, 8, 8} -> "[1, 64, 8, 8]". Of a longer list, such as one of indices,
/// the text has the first 16 numbers.
std::string onnx_dims_text(std::vector<std::int64_t> const& dims);
/// Returns a tensor's type and dims as text: "floats of shape [1, 64]".
std::string onnx_tensor_text(onnx_constant const& c);

/// Returns the decimal number with the fewest digits that becomes this float: 0.1 for 0.1F.
double onnx_decimal(float value);
/// Returns a number as C++ source with the fewest digits: "0.001", "1e-05".
std::string onnx_digits(float value);

/// Returns a number as a template argument that is not an integer: 1.0, 0.1.
inline std::string onnx_number_text(double value) {
  std::string const text = onnx_digits(static_cast<float>(value));
  return text.find_first_of(".e") == std::string::npos ? text + ".0" : text;
}

/// Returns a tensor with these dims whose numbers are not set yet.
onnx_constant onnx_empty(std::vector<std::int64_t> const& dims, bool is_whole);
/// Copies number `from` of tensor `a` to place `to` of tensor `b`, which has the same type.
inline void onnx_copy(onnx_constant const& a, std::size_t from, onnx_constant& b, std::size_t to) {
  if (a.is_whole)
    b.wholes[to] = a.wholes[from];
  else
    b.reals[to] = a.reals[from];
}

/// Returns dims with as many axes of size 1 in front as are needed for at least `rank` dims.
std::vector<std::int64_t> onnx_widened(std::vector<std::int64_t> dims, std::size_t rank);

/// Finds the place of an element of a tensor that is repeated along axes of size 1 until it has the dims `wide`.
class onnx_spread {
 public:
  onnx_spread(std::vector<std::int64_t> const& narrow, std::vector<std::int64_t> const& wide);
  /// Returns the number of the narrow tensor that is number i of the wide one.
  std::size_t operator()(std::size_t i) const;

 private:
  std::vector<std::size_t> wide_, strides_;
};

/// Returns a tensor with its axes in another order: axis i of the result is axis order[i] of `a`.
onnx_constant onnx_transposed(onnx_constant const& a, std::vector<int> const& order);
/// Returns the `size` elements begin, begin + step, ... along one axis. All of them must lie within the axis.
onnx_constant onnx_taken(onnx_constant const& a, std::size_t axis, std::vector<std::int64_t> const& indices);
/// Returns the tensors joined along one axis. Their other dims must be equal.
onnx_constant onnx_joined(std::vector<onnx_constant const*> const& all, std::size_t axis);

}  // namespace dsl::detail::TYPENET_MODE

#ifdef TYPENET_DEFINITIONS
#include <dsl/io/onnx/import_constant_inl.hpp>
#endif
