// SPDX-License-Identifier: MIT
#pragma once

#include <dsl/detail/message.hpp>
#include <dsl/detail/mode.hpp>
#include <dsl/graph/node.hpp>
#include <dsl/io/onnx/import_constant.hpp>
#include <dsl/io/onnx/import_function.hpp>
#include <dsl/io/onnx/import_network.hpp>
#include <dsl/io/onnx/operation.hpp>

#include <cstddef>
#include <string>
#include <utility>
#include <vector>

namespace dsl::detail::TYPENET_MODE {

template <>
struct onnx_row<op::rms_norm> {
  /// Writes the products, the mean and the quotient that it consists of, since RMSNormalization came with opset 23.
  /// They work on the last axis, so an image's channels are moved there before them and back after them.
  template <class Writer>
  static void write(Writer& w) {
    bool const turns = w.operand().rank == 4;
    int const rank = w.operand().rank;
    dsl::shape const s = w.in();
    dsl::shape const last = turns ? dsl::shape{s.height, s.width, s.channels} : s;
    dsl::shape const one = turns ? dsl::shape{s.height, s.width, 1} : dsl::shape{1, 1, 1};
    auto const made = [&](char const* type, std::vector<std::string> const& from, dsl::shape const& out) {
      return w.output_of(w.add_node(type, from), out, rank);
    };
    std::string x = w.form(0, rank);
    if (turns) {
      auto& there = w.add_node("Transpose", {x});
      w.set("perm", {0, 2, 3, 1}, there);
      x = w.output_of(there, last, rank);
    }
    auto& mean = w.add_node("ReduceMean", {made("Mul", {x, x}, last)});
    w.set("axes", {-1}, mean);
    w.set("keepdims", 1, mean);
    std::string const squares = w.output_of(mean, one, rank);
    std::string const epsilon = w.number("epsilon", static_cast<float>(w.node_->epsilon));
    std::string const length = made("Sqrt", {made("Add", {squares, epsilon}, one)}, one);
    std::string const normal = made("Div", {x, length}, last);
    if (!turns) {
      w.parameters(w.append("Mul", {normal}, rank));
      return;
    }
    auto& scale = w.parameters(w.add_node("Mul", {normal}));
    w.set("perm", {0, 3, 1, 2}, w.append("Transpose", {w.output_of(scale, last, rank)}, rank));
  }

  /// Reads an RMSNormalization.
  template <class Reader>
  static bool read(Reader& r, std::string const& type) {
    if (type != "RMSNormalization") return false;
    onnx_value const v = r.value(0);
    std::size_t const rank = v->axes.size(), axis = r.axis_of(r.whole("axis", -1), rank);
    r.need(axis + 1 == rank, "must normalise over the last axis", "several axes");
    onnx_value const x = r.with_channels(v, axis);
    onnx_layer l = layer(r, r.real("epsilon", 1e-5));
    l.weights.push_back(r.parameter(1, {r.shape_of(x).channels}));
    l.path = r.path_of_weight(r.number(1));
    r.give(r.append(std::move(l), x, r.shape_of(x), x->axes));
    return true;
  }

  /// Reads x / sqrt(mean(x^2) + epsilon), as exporters write it. The next operator may multiply it by gamma.
  template <class Reader>
  static onnx_value made_of(Reader& r, onnx_value const& f) {
    for (bool const divides : {true, false}) {
      if (f->what != (divides ? "Div" : "Mul") || f->inputs.size() != 2) continue;
      for (std::size_t const i : {std::size_t{0}, std::size_t{1}}) {
        onnx_value const x = f->inputs[i], other = f->inputs[1 - i];
        if (divides ? i == 1 : other->what != "Reciprocal") continue;
        onnx_value const root = divides ? other : other->inputs[0];
        double epsilon = 0, power = 0;
        onnx_value const mean = root->what == "Sqrt" ? onnx_beside_number(root->inputs[0], "Add", epsilon) : nullptr;
        if (!mean || mean->what != "mean") continue;
        onnx_value const squares = mean->inputs[0];
        bool const powered = onnx_beside_number(squares, "Pow", power) == x && power == 2 && squares->inputs[0] == x;
        bool const multiplied = squares->what == "Mul" && squares->inputs[0] == x && squares->inputs[1] == x;
        if (!powered && !multiplied) continue;
        onnx_value const in = r.made(x);
        auto const channels = static_cast<std::size_t>(r.shape_of(in).channels);
        r.spend(channels);
        onnx_layer l = layer(r, onnx_decimal(static_cast<float>(epsilon)));
        l.weights = {std::vector<float>(channels, 1.0F)};
        l.takes_scale = true;
        l.is_constant = !r.file_.is_own();  // until an operand or an operator has a weight
        return r.append(std::move(l), in, r.shape_of(in), in->axes);
      }
    }
    return nullptr;
  }

  template <class Network>
  static std::string text(Network const&, onnx_layer const& l) {
    double const epsilon = l.what.epsilon;
    return epsilon == 1.1920929e-7 ? "rms_norm<>" : "rms_norm<" + onnx_number_text(epsilon) + ">";
  }

 private:
  template <class Reader>
  static onnx_layer layer(Reader const& r, double epsilon) {
    r.need(epsilon >= 1e-30 && epsilon < 1e30, "must have an epsilon of at least 1e-30 and below 1e30",
           message({epsilon}));
    onnx_layer l;
    l.what.kind = op::rms_norm;
    l.what.epsilon = epsilon;
    return l;
  }
};

}  // namespace dsl::detail::TYPENET_MODE
