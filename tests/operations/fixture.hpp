// SPDX-License-Identifier: MIT
#pragma once

#include <vector>

#include "support/graph_values.hpp"

#include <dsl/dsl.hpp>
#include <dsl/executors/host/operation.hpp>

namespace dsl::test {

/// What rules and plan may rely on beyond what the loops can show: which outputs fit, and what is allowed instead of
/// merely possible. It is stated here a second time because no loop shows that it could do more.
struct allowance {
  char const* name;
  operations::makes output;
  int inputs;
  bool or_more, forward_in_place, gradient_in_place, gradient_over_input;
  operations::slices slices;
  operations::renames renames;
  plain::parts_of parts = plain::parts_of::none;
  int optional = 0;
};

/// An example of an operation: a node, the shapes of its operands and its output, and what its row allows.
struct sample {
  node of;
  std::vector<shape> in;
  shape out;
  allowance allowed;
  int parameter_size = 0;  // of each parameter; 0: as many numbers as the output has channels
};

/// What comes back from an ONNX file: nothing, since save_onnx refuses the operation; the same layers; or others that
/// compute the same.
enum class in_file { refused, same, others };

/// The rule that layers behind an image of 4x8x8 break.
template <class... Layers>
inline constexpr rule rule_against = dsl::detail::checked<image<4, 8, 8>, Layers...>::why.broken;
/// Appends a node of this kind, whose output has this shape.
template <op Kind, int Channels, int Height, int Width, int Groups = 1>
struct bare_node {
  static constexpr value lower(builder& b, value in) {
    return b.append({.kind = Kind, .groups = Groups}, in, {Channels, Height, Width});
  }
};

/// What tests know about an operation; tests/operations/<name>.hpp specialises it. All tests that go through the
/// operations read it, and no list has the operation's name.
///
/// bodies<C>       layers behind C channels of any number of pixels; each is types<...> of layers. Executors, which
///                 include cuda, are compared on networks with them (C is 5 and 16), gradients with differences (3),
///                 and ONNX files with what is read back (4). operation_set_test.cpp joins the first bodies of all
///                 operations to one network (16)
/// samples()       examples for operations_test.cpp, where a change of any field of the row must show, and for
///                 nvrtc_test.cpp, which compiles the kernels that they need
/// grow(g, t)      appends the operation to a random graph, and returns a value with as many rows and columns as t
/// in_onnx         whether save_onnx writes it, and whether what is read back are the same layers
template <op Kind>
struct fixture;  // not defined: the tests know the operation from their own lists

template <op Kind>
concept has_fixture = requires { fixture<Kind>::samples(); };

/// Calls f.operator()<Kind>() for each operation with a fixture, in the order of the table.
template <class F>
void for_each_fixture(F const& f) {
  auto const one = [&]<op Kind>() {
    if constexpr (has_fixture<Kind>) f.template operator()<Kind>();
  };
  [&]<int... Kinds>(std::integer_sequence<int, Kinds...>) {
    (one.template operator()<static_cast<op>(Kinds)>(), ...);
  }(std::make_integer_sequence<int, operations::count>{});
}

/// Calls f.operator()<Kind, types<Layers...>>(number) for each body of each operation with a fixture.
template <int C, class F>
void for_each_body(F const& f) {
  for_each_fixture([&]<op Kind>() {
    [&]<class... Bodies>(types<Bodies...>) {
      int number = 0;
      (f.template operator()<Kind, Bodies>(number++), ...);
    }(typename fixture<Kind>::template bodies<C>{});
  });
}

}  // namespace dsl::test
