// SPDX-License-Identifier: MIT
#pragma once

#include <dsl/detail/mode.hpp>
#include <dsl/io/onnx/import_reader.hpp>
#include <dsl/io/weight_text.hpp>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace dsl::detail::TYPENET_MODE {

TYPENET_INLINE void onnx_reader::refuse(std::string const& must, std::string const& found, char const* advice) const {
  throw onnx_error(onnx_fault::unsupported,
                   "onnx: " + file_.name() + ": " + place_ + " " + must + "; found " + found + "; " + advice);
}

TYPENET_INLINE void onnx_reader::damaged(std::string const& what) const {
  throw onnx_error(onnx_fault::damaged, "onnx: " + file_.name() + ": " + place_ + " " + what + "; give another file");
}

TYPENET_INLINE void onnx_reader::outside(std::int64_t index, std::size_t axis, std::int64_t size) const {
  damaged("must have indices within axis " + std::to_string(axis) + " of size " + std::to_string(size) + "; found " +
          std::to_string(index));
}

TYPENET_INLINE void onnx_reader::other_count(std::vector<std::int64_t> const& asked,
                                             std::vector<std::int64_t> const& dims) const {
  damaged("must have a shape with as many elements as its operand; found " + onnx_dims_text(asked) + " for " +
          onnx_dims_text(dims));
}

TYPENET_INLINE void onnx_reader::repeated(std::vector<std::int64_t> const& axes) const {
  damaged("must list each axis once; found " + onnx_dims_text(axes));
}

TYPENET_INLINE void onnx_reader::need_order(std::vector<std::int64_t> const& order, std::size_t rank) const {
  std::vector<char> seen(rank);
  if (order.size() != rank)
    damaged("must have " + std::to_string(rank) + " axes in perm, as many as its operand; found " +
            onnx_dims_text(order));
  for (std::int64_t const axis : order)
    if (seen[axis_of(axis, rank)]++) damaged("must list each axis once in perm; found " + onnx_dims_text(order));
}

TYPENET_INLINE void onnx_reader::need_slices(std::size_t begins, std::size_t ends, std::size_t axes, std::size_t steps,
                                             std::size_t rank) const {
  if (begins != ends || begins != axes || begins != steps)
    damaged(message(
        {"must have as many starts as ends, axes and steps; found ", begins, ", ", ends, ", ", axes, " and ", steps}));
  if (axes > rank)  // each makes a copy
    damaged(message({"must slice no more axes than its operand has, ", rank, "; found ", axes}));
}

TYPENET_INLINE onnx_reader::known& onnx_reader::operand(int i) {
  if (!has(i))
    damaged("must have an operand " + std::to_string(i) + "; found " +
            (i < node_->input_size() ? "an empty name in its place" : counted(node_->input_size(), "operand")));
  std::string const& name = node_->input(i);
  auto const found = known_.find(name);
  if (found != known_.end()) return found->second;
  auto const tensor = unread_.find(name);
  if (tensor == unread_.end()) damaged("must read values that earlier nodes compute; found " + shown(name));
  auto c = std::make_shared<onnx_constant>(file_.read(*tensor->second));
  // Files do not say which of their tensors were trained. A single number is rarely a weight; in files that typenet
  // wrote, it is one if its name is a path.
  bool const is_path = file_.is_own() && c->name.find_first_of("./") != std::string::npos;
  c->is_weight = !c->is_whole && (c->count() > 1 || is_path);
  return known_.emplace(name, known{nullptr, std::move(c)}).first->second;
}

TYPENET_INLINE onnx_reader::constant onnx_reader::number(int i) {
  constant const c = operand(i).number;
  if (!c) refuse("must have a constant as operand " + std::to_string(i), "an operand that depends on the input");
  return c;
}

TYPENET_INLINE onnx_value onnx_reader::value(int i) {
  onnx_value const v = operand(i).value;
  if (!v) refuse("must have an operand " + std::to_string(i) + " that depends on the input", "a constant");
  return made(v);
}

TYPENET_INLINE std::vector<std::int64_t> onnx_reader::wholes(int i) {
  constant const c = number(i);
  if (!c->is_whole || c->dims.size() > 1)
    refuse("must have a list of integers as operand " + std::to_string(i), onnx_tensor_text(*c));
  return c->wholes;
}

TYPENET_INLINE onnx_messages::AttributeProto const* onnx_reader::attribute(char const* name) const {
  for (auto const& a : node_->attribute())
    if (a.name() == name) return &a;
  return nullptr;
}

TYPENET_INLINE std::int64_t onnx_reader::whole(char const* name, std::int64_t otherwise) const {
  auto const* const a = attribute(name);
  return a ? a->i() : otherwise;
}

TYPENET_INLINE double onnx_reader::real(char const* name, double otherwise) const {
  auto const* const a = attribute(name);
  return a ? onnx_decimal(a->f()) : otherwise;
}

TYPENET_INLINE std::string onnx_reader::text(char const* name, char const* otherwise) const {
  auto const* const a = attribute(name);
  return a ? a->s() : otherwise;
}

TYPENET_INLINE std::vector<std::int64_t> onnx_reader::list(char const* name,
                                                           std::vector<std::int64_t> otherwise) const {
  auto const* const a = attribute(name);
  if (!a) return otherwise;
  return {a->ints().begin(), a->ints().end()};
}

TYPENET_INLINE std::vector<std::int64_t> onnx_reader::list_or_operand(char const* name, int i) {
  return has(i) ? wholes(i) : list(name, {});
}

TYPENET_INLINE std::size_t onnx_reader::axis_of(std::int64_t axis, std::size_t rank) const {
  auto const count = static_cast<std::int64_t>(rank);
  if (axis < -count || axis >= count)
    damaged("must name one of " + std::to_string(rank) + " axes; found " + std::to_string(axis));
  return static_cast<std::size_t>(axis < 0 ? axis + count : axis);
}

TYPENET_INLINE void onnx_reader::afford(double numbers) const {
  double const all = static_cast<double>(spent_) + numbers;
  if (all <= static_cast<double>(allowed_)) return;
  refuse("must keep the numbers that typenet computes for the file to at most " + std::to_string(allowed_) +
             " (four times the numbers in the file, plus 67,108,864)",
         message({all < 1e15 ? piece(static_cast<long long>(all)) : piece(all), " up to here"}),
         "simplify the file first, for example with onnxsim");
}

TYPENET_INLINE void onnx_reader::need_dims(std::vector<std::int64_t> const& dims) const {
  need(dims.size() <= static_cast<std::size_t>(onnx_most_axes), "must have a result of at most 8 axes",
       std::to_string(dims.size()));
  double count = 1;  // a file can ask for more numbers than an integer can count
  for (std::int64_t const d : dims) {
    need(d >= 0, "must have a result whose axes have sizes of 0 or more", onnx_dims_text(dims));
    count *= static_cast<double>(d);
  }
  afford(count);
}

TYPENET_INLINE std::string onnx_reader::two_shapes(onnx_value const& a, onnx_value const& b) const {
  std::vector<std::int64_t> const one = onnx_dims(a->axes), other = onnx_dims(b->axes);
  if (one == other) return "two of " + onnx_dims_text(one) + " with their elements in different orders";
  return onnx_dims_text(one) + " and " + onnx_dims_text(other);
}

TYPENET_INLINE void onnx_reader::need_matrix(std::int64_t inputs, std::int64_t units, std::int64_t wanted) const {
  if (inputs != wanted)
    damaged("must have a matrix for " + counted(wanted, "feature") + "; found one for " + std::to_string(inputs));
  if (units < 1 || units > 0x7fffffff)
    damaged("must have a matrix with 1 to 2,147,483,647 units; found " + std::to_string(units));
}

TYPENET_INLINE void onnx_reader::spend(std::size_t numbers) {
  afford(static_cast<double>(numbers) + 16);
  spent_ += static_cast<std::int64_t>(numbers) + 16;
}

TYPENET_INLINE std::vector<float> onnx_reader::parameter(int i, std::vector<std::int64_t> const& dims) {
  constant const c = number(i);
  std::vector<std::uint64_t> wanted(dims.begin(), dims.end()), found(c->dims.begin(), c->dims.end());
  if (c->is_whole || found != wanted)
    damaged("must have floats of shape " + shown(wanted) + " as operand " + std::to_string(i) + "; found " +
            (c->is_whole ? "whole numbers" : shown(found)));
  spend(c->count());
  return c->reals;
}

}  // namespace dsl::detail::TYPENET_MODE
