// SPDX-License-Identifier: MIT
// ONNX operators in forms that exporters seldom write: what is computed from constants before the network is read, and
// sizes, paddings and parts that follow from other sizes.
#include <dsl/io/onnx_import.hpp>

#include "support/catch.hpp"
#include "support/onnx_built.hpp"

#include <cmath>
#include <cstdint>
#include <functional>
#include <string>
#include <utility>
#include <vector>

namespace {

namespace pb = dsl::detail::onnx_messages;
using dsl::onnx_fault;
using dsl::test::complaint;
using dsl::test::layers_of;
using model = dsl::test::built_model;
using change = std::function<void(model&)>;

model made(std::vector<std::int64_t> const& dims, change const& add) {
  model m(dims);
  add(m);
  return m;
}

pb::AttributeProto& constant(model& m, std::string const& name, char const* attribute) {
  pb::AttributeProto& a = *m.add("Constant", {}, name).add_attribute();
  a.set_name(attribute);
  return a;
}

/// Returns the factors of three channels that a file computes as "c"; each must be there.
std::vector<float> factors(change const& add) {
  model m = made({1, 3}, add);
  m.add("Mul", {"x", "c"}, "y");
  dsl::imported_network const net(m.bytes(), "x.onnx", "");
  REQUIRE(net.view().size.parameters == 1);
  return {net.weights(0).begin(), net.weights(0).end()};
}

/// Checks that a file whose "c" scales three channels is damaged.
void damaged(change const& add, std::string const& words) {
  model m = made({1, 3}, add);
  m.add("Mul", {"x", "c"}, "y");
  CHECK_THAT(complaint(m.bytes(), onnx_fault::damaged), Catch::Contains(words));
}

/// Checks that typenet does not read a file whose "c" scales three channels.
void unsupported(change const& add, std::string const& words) {
  model m = made({1, 3}, add);
  m.add("Mul", {"x", "c"}, "y");
  CHECK_THAT(complaint(m.bytes(), onnx_fault::unsupported), Catch::Contains(words));
}

}  // namespace

TEST_CASE("onnx import: a constant is a tensor, a number or a list of numbers", "[onnx]") {
  std::vector<float> const three{2, 3, 4};
  CHECK(factors([](model& m) {
          pb::AttributeProto& a = constant(m, "c", "value_floats");
          for (float f : {2.0F, 3.0F, 4.0F}) a.add_floats(f);
        }) == three);
  CHECK(factors([](model& m) { constant(m, "c", "value_float").set_f(1.5F); }) == std::vector<float>(3, 1.5F));
  CHECK(factors([](model& m) {
          m.numbers("n", {7}), constant(m, "dims", "value_ints").add_ints(3), m.add("Expand", {"n", "dims"}, "c");
        }) == std::vector<float>(3, 7));
  CHECK(factors([](model& m) {  // one whole number becomes a list of one
          m.numbers("n", {7}), constant(m, "three", "value_int").set_i(3), m.wholes("first", {0});
          m.add("Unsqueeze", {"three", "first"}, "dims"), m.add("Expand", {"n", "dims"}, "c");
        }) == std::vector<float>(3, 7));
  model const text =
      made({1, 3}, [](model& m) { constant(m, "c", "value_string").set_s("2"), m.add("Mul", {"x", "c"}, "y"); });
  CHECK_THAT(complaint(text.bytes(), onnx_fault::unsupported),
             Catch::Contains("must have a value that is a tensor or numbers; found another type of value"));
}

TEST_CASE("onnx import: constants are given other axes before they are used", "[onnx]") {
  std::vector<float> const three{2, 3, 4};
  auto const row = [](model& m) { m.tensor("w", {1, 3, 1}, {2, 3, 4}); };
  CHECK(factors([&](model& m) { row(m), m.add("Squeeze", {"w"}, "c"); }) == three);
  CHECK(factors([&](model& m) { row(m), m.wholes("last", {-1}), m.add("Squeeze", {"w", "last"}, "c"); }) == three);
  CHECK(factors([&](model& m) { row(m), m.add("Flatten", {"w"}, "c"); }) == three);
  CHECK(factors([](model& m) {
          m.numbers("w", {2, 3, 4}), model::set(m.add("Flatten", {"w"}, "c"), "axis", std::int64_t{0});
        }) == three);
  CHECK(factors([](model& m) {
          m.numbers("w", {2, 3, 4}), m.wholes("first", {0}), m.add("Unsqueeze", {"w", "first"}, "c");
        }) == three);

  damaged([&](model& m) { row(m), m.wholes("wide", {1}), m.add("Squeeze", {"w", "wide"}, "c"); }, "[1, 3, 1]");
  damaged([&](model& m) { row(m), m.wholes("beyond", {3}), m.add("Squeeze", {"w", "beyond"}, "c"); }, "found 3");
  damaged([&](model& m) { row(m), m.wholes("twice", {0, 0}), m.add("Unsqueeze", {"w", "twice"}, "c"); }, "[0, 0]");
  damaged([&](model& m) { row(m), m.wholes("many", {0, 1, 2, 3, 4, 5}), m.add("Unsqueeze", {"w", "many"}, "c"); },
          "must have at most 8 axes; found 9");
  damaged([](model& m) { m.numbers("n", {2, 3}), m.wholes("dims", {3}), m.add("Expand", {"n", "dims"}, "c"); },
          "must expand axes of size 1; found 2");
}

TEST_CASE("onnx import: comparisons, roundings and selections of constants are computed", "[onnx]") {
  using floats = std::vector<float>;
  auto const applied = [](char const* type, floats const& a, floats const& b = {}) {
    return factors([&](model& m) {
      std::vector<std::string> in{"a"};
      m.numbers("a", a);
      if (!b.empty()) m.numbers("b", b), in.emplace_back("b");
      m.add(type, in, "found"), model::set(m.add("Cast", {"found"}, "c"), "to", pb::TensorProto::FLOAT);
    });
  };
  CHECK(applied("Equal", {1, 2, 3}, {1, 3, 3}) == floats{1, 0, 1});
  CHECK(applied("Less", {1, 2, 3}, {2, 2, 2}) == floats{1, 0, 0});
  CHECK(applied("LessOrEqual", {1, 2, 3}, {2, 2, 2}) == floats{1, 1, 0});
  CHECK(applied("GreaterOrEqual", {1, 2, 3}, {2, 2, 2}) == floats{0, 1, 1});
  CHECK(applied("And", {0, 1, 2}, {1, 0, 3}) == floats{0, 0, 1});
  CHECK(applied("Or", {0, 0, 2}, {0, 3, 0}) == floats{0, 1, 1});
  CHECK(applied("Not", {0, 5, 0}) == floats{1, 0, 1});
  CHECK(applied("Ceil", {1.5F, -1.5F, 2}) == floats{2, -1, 2});
  CHECK(applied("Sin", {0, 1, 2})[2] == Approx(std::sin(2.0)));
  CHECK(applied("Cos", {0, 1, 2})[1] == Approx(std::cos(1.0)));
  CHECK(applied("Mod", {7, -7, 4}, {0, 0, 3}) == floats{0, 0, 1});
  CHECK(factors([](model& m) {  // with the sign of the first operand
          m.numbers("a", {7, -7, 4}), m.numbers("b", {3}), model::set(m.add("Mod", {"a", "b"}, "c"), "fmod", 1);
        }) == floats{1, -1, 1});
  CHECK(factors([](model& m) {  // whole numbers are divided without a rest
          m.wholes("a", {7, -7, 9}), m.wholes("b", {2, 2, 4}), m.add("Div", {"a", "b"}, "q");
          model::set(m.add("Cast", {"q"}, "c"), "to", pb::TensorProto::FLOAT);
        }) == floats{3, -3, 2});
  CHECK(factors([](model& m) { m.wholes("a", {7, -7, 9}), m.numbers("b", {0.5F}), m.add("Mul", {"a", "b"}, "c"); }) ==
        floats{3.5F, -3.5F, 4.5F});
  for (bool const is_whole : {false, true})
    CHECK(factors([&](model& m) {
            m.wholes("a", {1, 2, 3}), m.numbers("which", {1, 0, 1});
            if (is_whole)
              m.wholes("b", {7, 8, 9});
            else
              m.numbers("b", {7, 8, 9});
            m.add("Where", {"which", "a", "b"}, "found");
            model::set(m.add("Cast", {"found"}, "c"), "to", pb::TensorProto::FLOAT);
          }) == floats{1, 8, 3});
  CHECK(factors([](model& m) {
          m.numbers("a", {2, 3, 4}), model::set(m.add("ReduceSum", {"a"}, "c"), "noop_with_empty_axes", 1);
        }) == floats{2, 3, 4});
  CHECK(factors([](model& m) {
          m.tensor("a", {2, 3}, {4, 1, 6, 1, 5, 3}), m.wholes("rows", {0});
          m.add("ReduceMax", {"a", "rows"}, "c");
        }) == floats{4, 5, 6});

  unsupported([](model& m) { m.numbers("a", {1, 2, 3}), m.numbers("b", {1, 2}), m.add("Add", {"a", "b"}, "c"); },
              "must have constants whose axes are equal or of size 1; found [3] and [2]");
  unsupported([](model& m) { m.numbers("a", {1, 2, 3}), m.add("Add", {"a", ""}, "c"); },
              "must have two operands; found 2");
  unsupported([](model& m) { m.numbers("a", {1, 2, 3}), m.add("Where", {"a", "a"}, "c"); },
              "must have three operands; found 2");
  for (std::vector<std::string> const& in : {std::vector<std::string>{"a", "", "a"}, {"a", "a", ""}})
    unsupported([&](model& m) { m.numbers("a", {1, 2, 3}), m.add("Where", in, "c"); },
                "must have three operands; found 3");
}

TEST_CASE("onnx import: triangles, ranges and products of constants are computed", "[onnx]") {
  using floats = std::vector<float>;
  // Row 1 of a matrix of whole numbers.
  auto const triangle = [](std::vector<std::string> const& in, bool upper) {
    return factors([&](model& m) {
      m.wholes("list", {1, 2, 3, 4, 5, 6, 7, 8, 9}), m.wholes("square", {3, 3}),
          m.add("Reshape", {"list", "square"}, "a");
      m.whole("one", 1), model::set(m.add("Trilu", in, "t"), "upper", upper ? 1 : 0);
      m.add("Gather", {"t", "one"}, "row"), model::set(m.add("Cast", {"row"}, "c"), "to", pb::TensorProto::FLOAT);
    });
  };
  CHECK(triangle({"a"}, true) == floats{0, 5, 6});
  CHECK(triangle({"a"}, false) == floats{4, 5, 0});
  CHECK(triangle({"a", "one"}, true) == floats{0, 0, 6});
  unsupported(
      [](model& m) { m.tensor("a", {3, 3}, floats(9)), m.wholes("two", {0, 1}), m.add("Trilu", {"a", "two"}, "c"); },
      "must have one number as its diagonal; found 2 numbers");

  auto const range = [](float from, float to, float step) {
    return factors([&](model& m) {
      m.numbers("from", {from}), m.numbers("to", {to}), m.numbers("step", {step});
      m.add("Range", {"from", "to", "step"}, "found"), m.numbers("all", {2, 3, 4});
      m.add("Concat", {"all", "found"}, "both"), m.wholes("begin", {-3}), m.wholes("end", {99});
      m.add("Slice", {"both", "begin", "end"}, "c");  // the last three
    });
  };
  CHECK(range(5, 11, 2) == floats{5, 7, 9});
  CHECK(range(1, -1, -0.75F) == floats{1, 0.25F, -0.5F});
  CHECK(range(5, 2, 1) == floats{2, 3, 4});  // nothing
  for (bool const is_whole : {false, true})
    CHECK(factors([&](model& m) {
            m.whole("from", 6), m.whole("to", 0);
            if (is_whole)
              m.whole("step", -2);
            else
              m.numbers("step", {-2});
            m.add("Range", {"from", "to", "step"}, "a");
            model::set(m.add("Cast", {"a"}, "c"), "to", pb::TensorProto::FLOAT);
          }) == floats{6, 4, 2});
  char const* const single = "must have a start, an end and a step other than 0, each a single number";
  for (std::vector<std::string> const& in : {std::vector<std::string>{"one", "three", "zero"},
                                             {"two", "three", "one"},
                                             {"one", "two", "one"},
                                             {"one", "three", "two"}})
    unsupported(
        [&](model& m) {
          m.numbers("zero", {0}), m.numbers("one", {1}), m.numbers("two", {1, 2}), m.numbers("three", {3});
          m.add("Range", in, "c");
        },
        single);

  auto const product = [](change const& add) { unsupported(add, "must multiply floats by a matrix if both operands"); };
  product([](model& m) { m.numbers("a", {1, 2, 3}), m.numbers("b", {1, 2, 3}), m.add("MatMul", {"a", "b"}, "c"); });
  product([](model& m) { m.wholes("a", {1, 2}), m.tensor("b", {2, 3}, floats(6)), m.add("MatMul", {"a", "b"}, "c"); });
  product([](model& m) { m.numbers("a", {1}), m.tensor("b", {1, 3}, floats(3)), m.add("MatMul", {"a", "b"}, "c"); });
  product([](model& m) {
    m.numbers("a", {1, 2}), m.wholes("list", {1, 2, 3, 4, 5, 6}), m.wholes("to", {2, 3});
    m.add("Reshape", {"list", "to"}, "b"), m.add("MatMul", {"a", "b"}, "c");
  });
  unsupported([](model& m) { m.numbers("a", {1, 2, 3}), m.add("MatMul", {"a"}, "c"); },
              "must have two operands; found 1");
  unsupported([](model& m) { m.numbers("a", {1, 2, 3}), m.add("MatMul", {"a", ""}, "c"); },
              "must have two operands; found 2");
  damaged([](model& m) { m.numbers("a", {1, 2}), m.tensor("b", {3, 3}, floats(9)), m.add("MatMul", {"a", "b"}, "c"); },
          "found [2] and [3, 3]");

  // Row 1 of two is replaced.
  CHECK(factors([](model& m) {
          m.tensor("a", {2, 3}, {1, 2, 3, 4, 5, 6}), m.wholes("one", {1}), m.wholes("apart", {1, 1});
          m.add("Reshape", {"one", "apart"}, "places"), m.tensor("row", {1, 3}, {7, 8, 9});
          m.add("ScatterND", {"a", "places", "row"}, "both"), m.add("Gather", {"both", "one"}, "c");
        }) == floats{7, 8, 9});
  auto const scattered = [](change const& add) {
    damaged([&](model& m) { m.numbers("a", {1, 2, 3}), add(m), m.add("ScatterND", {"a", "places", "by"}, "c"); },
            "must have a place for each number that it replaces; found places of ");
  };
  scattered([](model& m) { m.whole("places", 1), m.numbers("by", {7}); });
  scattered([](model& m) { m.tensor("places", {1, 1}, {1}), m.tensor("by", {1}, {7}); });
  scattered([](model& m) { m.wholes("places", {1, 1}), m.numbers("by", {7}); });
  scattered([](model& m) { m.wholes("places", {1}), m.wholes("by", {7}); });
  scattered([](model& m) { m.wholes("places", {1}), m.numbers("by", {7, 8}); });
  unsupported(
      [](model& m) { m.numbers("a", {1, 2, 3}), m.wholes("places", {1}), m.add("ScatterND", {"a", "places"}, "c"); },
      "must have three operands; found 2");
  for (std::vector<std::string> const& in : {std::vector<std::string>{"a", "", "a"}, {"a", "a", ""}})
    unsupported([&](model& m) { m.numbers("a", {1, 2, 3}), m.add("ScatterND", in, "c"); },
                "must have three operands; found 3");
}

TEST_CASE("onnx import: constants are cast, moved, selected and bounded", "[onnx]") {
  using floats = std::vector<float>;
  using ints = std::vector<std::int64_t>;
  auto const as_floats = [](model& m, char const* from) {
    model::set(m.add("Cast", {from}, "c"), "to", pb::TensorProto::FLOAT);
  };
  for (auto const& [to, wanted] : {std::pair{pb::TensorProto::INT64, floats{2, -3, 0}},
                                   {pb::TensorProto::INT32, floats{2, -3, 0}},
                                   {pb::TensorProto::BOOL, floats{1, 1, 0}}})
    CHECK(factors([&](model& m) {
            m.numbers("a", {2.5F, -3.5F, 0}), model::set(m.add("Cast", {"a"}, "b"), "to", to), as_floats(m, "b");
          }) == wanted);
  CHECK(factors([&](model& m) {  // whole numbers as others of another type, and as truth values
          m.wholes("a", {2, 0, 4}), model::set(m.add("Cast", {"a"}, "b"), "to", pb::TensorProto::INT32);
          model::set(m.add("Cast", {"b"}, "d"), "to", pb::TensorProto::BOOL), as_floats(m, "d");
        }) == floats{1, 0, 1});
  CHECK(factors([&](model& m) {
          m.numbers("a", {2.5F, -3.5F, 4}), m.wholes("like", {1}), m.add("CastLike", {"a", "like"}, "b");
          as_floats(m, "b");
        }) == floats{2, -3, 4});
  for (char const* const like : {"x", "b"})
    CHECK(factors([&](model& m) {
            m.wholes("a", {2, -3, 4}), m.numbers("b", {1}), m.add("CastLike", {"a", like}, "c");
          }) == floats{2, -3, 4});
  CHECK(factors([](model& m) { m.numbers("a", {2, -3, 4}), m.add("Identity", {"a"}, "c"); }) == floats{2, -3, 4});

  // Sizes of shapes, as one number for each of three channels.
  auto const measured = [](change const& add) {
    return factors([&](model& m) {
      m.tensor("a", {2, 3, 4}, floats(24)), add(m);
      model::set(m.add("Cast", {"size"}, "b"), "to", pb::TensorProto::FLOAT);
      m.wholes("three", {3}), m.add("Expand", {"b", "three"}, "c");
    })[1];
  };
  auto const part = [](model& m, std::int64_t begin, std::int64_t end, char const* to) {
    pb::NodeProto& n = m.add("Shape", {"a"}, to);
    model::set(n, "start", begin), model::set(n, "end", end);
  };
  CHECK(measured([](model& m) { m.add("Size", {"a"}, "size"); }) == 24);
  CHECK(measured([&](model& m) { part(m, -1, 99, "size"); }) == 4);
  CHECK(measured([&](model& m) { part(m, -9, 1, "size"); }) == 2);
  CHECK(measured([&](model& m) { part(m, 1, -1, "size"); }) == 3);
  CHECK(measured([&](model& m) {  // nothing, in front of one
          part(m, 2, 1, "none"), part(m, 0, 1, "two"), m.add("Concat", {"none", "two"}, "size");
        }) == 2);
  damaged([](model& m) { m.add("Shape", {""}, "c"); }, "must have an operand; found none");

  auto const moved = [](change const& add) {
    return factors([&](model& m) { m.tensor("a", {3, 2}, {1, 2, 3, 4, 5, 6}), add(m); });
  };
  auto const row = [](model& m, char const* of, std::int64_t i) { m.whole("i", i), m.add("Gather", {of, "i"}, "c"); };
  CHECK(moved([&](model& m) { m.add("Transpose", {"a"}, "t"), row(m, "t", -1); }) == floats{2, 4, 6});
  CHECK(moved([&](model& m) { m.wholes("to", {2, -1}), m.add("Reshape", {"a", "to"}, "t"), row(m, "t", 0); }) ==
        floats{1, 2, 3});
  CHECK(moved([&](model& m) {  // axis 0 has the size that it had
          m.wholes("to", {0, 2, 1}), m.add("Reshape", {"a", "to"}, "b"), m.add("Transpose", {"b"}, "t");
          m.wholes("one", {1}), m.whole("last", 1), m.add("Squeeze", {"t"}, "d"), m.add("Gather", {"d", "last"}, "c");
        }) == floats{2, 4, 6});
  CHECK(factors([](model& m) {
          m.numbers("a", {2, 3, 4}), model::set(m.add("Flatten", {"a"}, "b"), "axis", 1), m.add("Squeeze", {"b"}, "c");
        }) == floats{2, 3, 4});
  CHECK(moved([](model& m) {
          m.wholes("which", {-1, 0, 1}), m.wholes("apart", {3, 1}), m.add("Reshape", {"which", "apart"}, "places");
          model::set(m.add("GatherElements", {"a", "places"}, "b"), "axis", 1), m.add("Squeeze", {"b"}, "c");
        }) == floats{2, 3, 6});
  auto const reshaped = [](ints const& to, std::string const& words, bool allows_zero = false) {
    damaged(
        [&](model& m) {
          m.tensor("a", {3, 2}, floats(6)), m.wholes("to", to);
          model::set(m.add("Reshape", {"a", "to"}, "c"), "allowzero", allows_zero ? 1 : 0);
        },
        words);
  };
  reshaped({-1, -1}, "found [-1, -1] for [3, 2]");
  reshaped({-2, 3}, "found [-2, 3] for [3, 2]");
  reshaped({4}, "found [4] for [3, 2]");
  reshaped({0, 3}, "found [0, 3] for [3, 2]");
  reshaped({2, 3, 0}, "found [2, 3, 0] for [3, 2]");
  reshaped({0, 2}, "found [0, 2] for [3, 2]", true);
  reshaped({3}, "found [3] for [3, 2]");

  auto const joined = [](change const& add) {
    damaged([&](model& m) { m.tensor("a", {3, 2}, floats(6)), add(m), m.add("Concat", {"a", "b"}, "c"); },
            "must join tensors of one type and, apart from axis 0, one shape; found floats of shape [3, 2] and ");
  };
  joined([](model& m) { m.tensor("b", {3, 3}, floats(9)); });
  joined([](model& m) { m.numbers("b", {1, 2}); });
  joined([](model& m) { m.wholes("list", {1, 2}), m.wholes("to", {1, 2}), m.add("Reshape", {"list", "to"}, "b"); });
  auto const gathered = [](char const* type, change const& add, std::string const& words) {
    damaged([&](model& m) { m.tensor("a", {3, 2}, floats(6)), add(m), m.add(type, {"a", "which"}, "c"); }, words);
  };
  for (std::int64_t const outside : {-4, 3}) {
    std::string const words = "must have indices within axis 0 of size 3; found " + std::to_string(outside);
    gathered("Gather", [&](model& m) { m.wholes("which", {0, outside}); }, words);
    gathered(
        "GatherElements",
        [&](model& m) {
          m.wholes("list", {0, outside}), m.wholes("to", {1, 2}), m.add("Reshape", {"list", "to"}, "which");
        },
        words);
  }
  std::string const misfit =
      "must have integers as indices, in a shape that fits into its operand's [3, 2] apart from "
      "axis 0; found ";
  gathered("GatherElements", [](model& m) { m.wholes("which", {0}); }, misfit + "integers of shape [1]");
  gathered("GatherElements", [](model& m) { m.tensor("which", {1, 2}, floats(2)); }, misfit + "floats of shape [1, 2]");
  gathered(
      "GatherElements",
      [](model& m) { m.wholes("list", {0, 1, 2}), m.wholes("to", {1, 3}), m.add("Reshape", {"list", "to"}, "which"); },
      misfit + "integers of shape [1, 3]");

  auto const sliced = [](ints const& begin, ints const& end, ints const& axes, ints const& steps) {
    return [=](model& m) {
      m.numbers("a", {1, 2, 3, 4, 5}), m.wholes("begin", begin), m.wholes("end", end);
      std::vector<std::string> in{"a", "begin", "end"};
      if (!axes.empty() || !steps.empty()) in.emplace_back(axes.empty() ? "" : "axes");
      if (!axes.empty()) m.wholes("axes", axes);
      if (!steps.empty()) m.wholes("steps", steps), in.emplace_back("steps");
      m.add("Slice", in, "c");
    };
  };
  CHECK(factors(sliced({1}, {4}, {}, {})) == floats{2, 3, 4});
  CHECK(factors(sliced({-9}, {3}, {0}, {})) == floats{1, 2, 3});
  CHECK(factors(sliced({-3}, {99}, {0}, {1})) == floats{3, 4, 5});
  CHECK(factors(sliced({0}, {5}, {}, {2})) == floats{1, 3, 5});
  CHECK(factors(sliced({4}, {-6}, {-1}, {-2})) == floats{5, 3, 1});
  CHECK(factors(sliced({99}, {1}, {0}, {-1})) == floats{5, 4, 3});
  CHECK(factors(sliced({-1}, {-4}, {0}, {-1})) == floats{5, 4, 3});
  CHECK(factors([&](model& m) {  // one step goes beyond the axis
          sliced({4}, {5}, {0}, {7})(m), m.graph().mutable_node(0)->set_output(0, "b");
          m.wholes("three", {3}), m.add("Expand", {"b", "three"}, "c");
        }) == floats{5, 5, 5});
  for (std::int64_t const step : {ints::value_type{0}, ints::value_type{-0x80000000LL}})
    unsupported(sliced({0}, {3}, {0}, {step}),
                "must have steps other than 0, and above -2,147,483,647; found " + std::to_string(step));

  CHECK(factors([](model& m) {  // of zeros, unless the file says of what
          m.wholes("dims", {3}), m.add("ConstantOfShape", {"dims"}, "a"), m.numbers("b", {1, 2, 3});
          m.add("Add", {"a", "b"}, "c");
        }) == floats{1, 2, 3});
  damaged(
      [](model& m) {
        m.wholes("dims", {3});
        pb::AttributeProto& a = *m.add("ConstantOfShape", {"dims"}, "c").add_attribute();
        a.set_name("value"), a.set_type(pb::AttributeProto::TENSOR);
        pb::TensorProto& t = *a.mutable_t();
        t.set_data_type(pb::TensorProto::FLOAT), t.add_dims(2), t.add_float_data(1), t.add_float_data(2);
      },
      "must have one number as its value; found 2 numbers");
  CHECK(factors([](model& m) {  // before opset 11 the bounds are attributes
          m.numbers("a", {1, 5, -2});
          pb::NodeProto& n = m.add("Clip", {"a"}, "c");
          model::set_real(n, "min", 0), model::set_real(n, "max", 4);
        }) == floats{1, 4, 0});
  unsupported([](model& m) { m.numbers("a", {1, 5, -2}), m.add("Clip", {"a", "a"}, "c"); },
              "must have one number as each bound; found 3 numbers");

  // (number - mean) / sqrt(3 + 1) * gamma + beta
  auto const normalised = [](change const& add) {
    return [=](model& m) {
      add(m), m.numbers("gamma", {2, 4, 6}), m.numbers("beta", {1, 0, -1}), m.numbers("mean", {1, 2, 3});
      m.numbers("variance", {3, 3, 3});
      model::set_real(m.add("BatchNormalization", {"a", "gamma", "beta", "mean", "variance"}, "c"), "epsilon", 1);
    };
  };
  CHECK(factors(normalised([](model& m) { m.tensor("a", {1, 3}, {5, 6, 4}); })) == floats{5, 8, 2});
  unsupported(normalised([](model& m) { m.numbers("a", {5, 6, 4}); }), "must normalise numbers with channels");
  unsupported(normalised([](model& m) {
                m.wholes("list", {5, 6, 4}), m.wholes("to", {1, 3}), m.add("Reshape", {"list", "to"}, "a");
              }),
              "must normalise numbers with channels");
}

TEST_CASE("onnx import: a value is expanded only to its own shape", "[onnx]") {
  auto const expanded = [](std::vector<std::int64_t> const& to) {
    return made({1, 3},
                [&](model& m) { m.wholes("to", to), m.add("Expand", {"x", "to"}, "a"), m.add("Relu", {"a"}, "y"); })
        .bytes();
  };
  CHECK(layers_of(expanded({1, 3})) == "network<features<3>, relu>;");
  CHECK(layers_of(expanded({1})) == "network<features<3>, relu>;");
  for (std::vector<std::int64_t> const& other : {std::vector<std::int64_t>{2, 3}, {1, 1, 3}, {4}})
    CHECK_THAT(complaint(expanded(other), onnx_fault::unsupported),
               Catch::Contains("must keep the shape of its operand"));
}

TEST_CASE("onnx import: a split without sizes is one into equal parts", "[onnx]") {
  auto const halves = [](std::int64_t parts, int outputs) {
    return made({1, 4, 2, 2},
                [&](model& m) {
                  pb::NodeProto& n = m.add("Split", {"x"}, "a");
                  for (int i = 1; i < outputs; ++i) n.add_output(std::string(1, static_cast<char>('a' + i)));
                  model::set(n, "axis", std::int64_t{1});
                  if (parts != 0) model::set(n, "num_outputs", parts);
                  m.add("Relu", {"a"}, "r"), model::set(m.add("Concat", {"r", "b"}, "y"), "axis", std::int64_t{1});
                })
        .bytes();
  };
  std::string const split = "network<image<4, 2, 2>, channel_split<relu, identity>>;";
  CHECK(layers_of(halves(0, 2)) == split);
  CHECK(layers_of(halves(2, 2)) == split);
  // The last part of three is what is left: nothing of four channels, of which the others have two each.
  CHECK_THAT(complaint(halves(3, 2), onnx_fault::damaged), Catch::Contains("found the parts [2, 2, 0] for 2 outputs"));
  CHECK_THAT(complaint(halves(5, 2), onnx_fault::damaged),
             Catch::Contains("must split an axis of 4") && Catch::Contains("found 5"));
  CHECK_THAT(complaint(halves(1, 2), onnx_fault::damaged), Catch::Contains("found the parts [4] for 2 outputs"));
}

TEST_CASE("onnx import: a list of all elements in order gives an axis the shape of the list", "[onnx]") {
  auto const gathered = [](std::vector<std::int64_t> const& which) {
    return made({1, 4},
                [&](model& m) {
                  pb::TensorProto& t = *m.graph().add_initializer();
                  t.set_name("which"), t.set_data_type(pb::TensorProto::INT64), t.add_dims(2), t.add_dims(2);
                  for (std::int64_t i : which) t.add_int64_data(i);
                  model::set(m.add("Gather", {"x", "which"}, "a"), "axis", std::int64_t{1});
                  m.wholes("row", {1, 4}), m.add("Reshape", {"a", "row"}, "b"), m.add("Relu", {"b"}, "y");
                })
        .bytes();
  };
  // Back from three axes to two is a flatten, which changes nothing here.
  CHECK(layers_of(gathered({0, 1, 2, 3})) == "network<features<4>, flatten, relu>;");
  CHECK_THAT(complaint(gathered({0, 1, 3, 2}), onnx_fault::unsupported),
             Catch::Contains("must select elements by a list of whole numbers; found a tensor of 2 axes"));
}

TEST_CASE("onnx import: padding that keeps the size puts the odd zero behind or before", "[onnx]") {
  auto const file = [](char const* automatic, std::int64_t kernel, std::int64_t stride, char const* type = "Conv") {
    return made({1, 1, 5, 5},
                [&](model& m) {
                  std::vector<float> const numbers(static_cast<std::size_t>(kernel * kernel), 0.5F);
                  m.tensor("w", {1, 1, kernel, kernel}, numbers);
                  pb::NodeProto& n = m.add(type, {"x", "w"}, "y");
                  model::set(n, "strides", {stride, stride});
                  pb::AttributeProto& a = *n.add_attribute();
                  a.set_name("auto_pad"), a.set_type(pb::AttributeProto::STRING), a.set_s(automatic);
                })
        .bytes();
  };
  struct example {
    char const* automatic;
    std::int64_t kernel, stride;
    int before, size;
  };
  // To keep ceil(5 / stride) rows, kernels of 2 lack one row, those of 3 two, and those of 4 with stride 2 three.
  for (example const& e : {example{"SAME_UPPER", 2, 1, 0, 5},
                           {"SAME_LOWER", 2, 1, 1, 5},
                           {"SAME_UPPER", 3, 1, 1, 5},
                           {"SAME_LOWER", 3, 1, 1, 5},
                           {"SAME_UPPER", 2, 2, 0, 3},
                           {"SAME_LOWER", 2, 2, 1, 3},
                           {"SAME_UPPER", 4, 2, 1, 3},
                           {"SAME_LOWER", 4, 2, 2, 3},
                           {"SAME_UPPER", 1, 3, 0, 2}}) {
    INFO(e.automatic << ", kernel " << e.kernel << ", stride " << e.stride);
    dsl::imported_network const net(file(e.automatic, e.kernel, e.stride), "x.onnx", "");
    dsl::graph_view const g = net.view();
    int convolutions = 0;
    for (int n = 0; n < g.size.nodes; ++n) {
      if (g.nodes[n].kind != dsl::op::conv2d) continue;
      ++convolutions;
      CHECK(g.nodes[n].window.rows().before == e.before);
      CHECK(g.nodes[n].window.columns().before == e.before);
      CHECK(g.output_shape(g.nodes[n]).height == e.size);
      CHECK(g.output_shape(g.nodes[n]).width == e.size);
    }
    CHECK(convolutions == 1);
  }
  CHECK_THAT(complaint(file("SAME_UPPER", 3, 2, "ConvTranspose"), onnx_fault::unsupported),
             Catch::Contains("must state its padding in numbers; found auto_pad SAME_UPPER"));
}

TEST_CASE("onnx import: a picture is enlarged to sizes or by factors", "[onnx]") {
  auto const to = [](std::vector<std::int64_t> const& sizes) {
    return made({1, 2, 4, 4}, [&](model& m) { m.wholes("to", sizes), m.add("Resize", {"x", "", "", "to"}, "y"); })
        .bytes();
  };
  auto const by = [](std::vector<float> const& factors) {
    return made({1, 2, 4, 4}, [&](model& m) { m.numbers("by", factors), m.add("Resize", {"x", "", "by"}, "y"); })
        .bytes();
  };
  std::string const twice = layers_of(by({1, 1, 2, 2}));
  CHECK_THAT(twice, Catch::Contains("upsample2d<2>"));
  CHECK(layers_of(to({1, 2, 8, 8})) == twice);
  CHECK_THAT(complaint(to({1, 2, 8, 12}), onnx_fault::unsupported), Catch::Contains("by the same integer factor"));
  CHECK_THAT(complaint(to({1, 2, 6, 6}), onnx_fault::unsupported), Catch::Contains("by the same integer factor"));
  CHECK_THAT(complaint(to({1, 4, 8, 8}), onnx_fault::unsupported),
             Catch::Contains("must enlarge only height and width; found [1, 4, 8, 8] for [1, 2, 4, 4]"));
  CHECK_THAT(complaint(to({8, 8}), onnx_fault::damaged), Catch::Contains("must have four sizes"));
  CHECK_THAT(complaint(by({2, 2}), onnx_fault::damaged), Catch::Contains("must have four factors"));
  CHECK_THAT(complaint(by({1, 2, 2, 2}), onnx_fault::unsupported),
             Catch::Contains("must enlarge only height and width"));
  CHECK_THAT(complaint(by({1, 1, 65535, 65535}), onnx_fault::unsupported), Catch::Contains("2,147,483,647"));
  CHECK_THAT(complaint(by({1, 1, 65536, 65536}), onnx_fault::unsupported), Catch::Contains("same integer factor"));
}

TEST_CASE("onnx import: operators that break their rules are named with what was found", "[onnx][hostile]") {
  using ints = std::vector<std::int64_t>;
  auto const refused = [](ints const& dims, onnx_fault which, char const* words, change const& add) {
    CHECK_THAT(complaint(made(dims, add).bytes(), which), Catch::Contains(words));
  };
  auto const broken = [&](char const* words, change const& add) {
    refused({1, 2, 4, 4}, onnx_fault::damaged, words, add);
  };
  auto const unknown = [&](char const* words, change const& add) {
    refused({1, 2, 4, 4}, onnx_fault::unsupported, words, add);
  };
  auto const conv = [](char const* type, ints const& kernels, char const* attribute, ints const& value) {
    return [=](model& m) {
      std::int64_t count = 1;
      for (std::int64_t d : kernels) count *= d;
      m.tensor("w", kernels, std::vector<float>(static_cast<std::size_t>(count), 0.5F));
      pb::NodeProto& n = m.add(type, {"x", "w"}, "y");
      if (value.size() == 1)
        model::set(n, attribute, value[0]);
      else
        model::set(n, attribute, value);
    };
  };
  ints const square{2, 2, 3, 3};
  broken("must have a window of two axes", conv("Conv", square, "strides", {1, 1, 1}));
  broken("at least 1; found the kernel [3, 3], strides [0, 1]", conv("Conv", square, "strides", {0, 1}));
  broken("at least 1; found the kernel [3, 3], strides [1, 1] and dilations [1, 0]",
         conv("Conv", square, "dilations", {1, 0}));
  broken("a stride", conv("Conv", square, "strides", {-1, 1}));
  broken("padding", conv("Conv", square, "pads", {0, 0, 0, ints::value_type{1} << 40}));
  broken("must have kernels of four axes (", conv("Conv", {2, 2}, "strides", {1, 1}));
  broken("that divides its channels", conv("Conv", square, "group", {3}));
  broken("that divides its channels", conv("Conv", square, "group", {0}));
  broken("must have kernels of four axes (in, out, height, width)", conv("ConvTranspose", {2, 2}, "strides", {1, 1}));
  broken("must have a number of groups that divides its channels; found 3",
         conv("ConvTranspose", square, "group", {3}));
  broken("must have an output_padding of two numbers from 0 to less than its stride",
         conv("ConvTranspose", square, "output_padding", {1, 1}));
  unknown("must have less padding than the size of its kernel; found 3, 3, 3, 3",
          conv("ConvTranspose", square, "pads", {3, 3, 3, 3}));

  refused({1, 3}, onnx_fault::damaged, "must have a matrix of floats as operand 1",
          [](model& m) { m.tensor("w", {1, 3, 3}, std::vector<float>(9)), m.add("Gemm", {"x", "w"}, "y"); });
  refused({1, 3}, onnx_fault::damaged, "must have one bias for each of 3 units", [](model& m) {
    m.tensor("w", {3, 3}, std::vector<float>(9)), m.numbers("b", {1, 2}), m.add("Gemm", {"x", "w", "b"}, "y");
  });

  broken("must have at most 8 axes; found 9",
         [](model& m) { m.wholes("to", {1, 2, 4, 4, 1, 1, 1, 1, 1}), m.add("Reshape", {"x", "to"}, "y"); });
  broken("must have at most 8 axes; found 9",
         [](model& m) { m.wholes("to", {0, 1, 2, 3, 4}), m.add("Unsqueeze", {"x", "to"}, "y"); });
  broken("[-1, -1]", [](model& m) { m.wholes("to", {-1, -1}), m.add("Reshape", {"x", "to"}, "y"); });
  broken("[1, 31]", [](model& m) { m.wholes("to", {1, 31}), m.add("Reshape", {"x", "to"}, "y"); });
  broken("[1, 5, -1]", [](model& m) { m.wholes("to", {1, 5, -1}), m.add("Reshape", {"x", "to"}, "y"); });
  broken("[0, 1, 1, 2]", [](model& m) { model::set(m.add("Transpose", {"x"}, "y"), "perm", {0, 1, 1, 2}); });
  broken("found 4", [](model& m) { model::set(m.add("Softmax", {"x"}, "y"), "axis", std::int64_t{4}); });
  unknown("must keep at least one element of an axis",
          [](model& m) { m.wholes("one", {1}), m.add("Slice", {"x", "one", "one", "one"}, "y"); });
  broken("must have as many starts as ends, axes and steps; found 2, 1, 2 and 2", [](model& m) {
    m.wholes("two", {0, 1}), m.wholes("one", {0}), m.add("Slice", {"x", "two", "one", "two"}, "y");
  });

  auto const gather = [](ints const& which) {
    return [=](model& m) {
      m.wholes("which", which), model::set(m.add("Gather", {"x", "which"}, "y"), "axis", std::int64_t{1});
    };
  };
  broken("found 2", gather({0, 2}));
  broken("found -3", gather({0, -3}));
  unknown("must select elements by a list of whole numbers; found an empty list", gather({}));
  unknown("must select elements by a list of whole numbers; found floats",
          [](model& m) { m.numbers("which", {0, 1}), m.add("Gather", {"x", "which"}, "y"); });

  unknown("must be part of an activation that typenet has",
          [](model& m) { m.numbers("c", {2}), m.add("Div", {"c", "x"}, "y"); });
  unknown("must pad with zeros", [](model& m) {
    m.wholes("by", {0, 0, 1, 1, 0, 0, 1, 1}), m.numbers("five", {5}), m.add("Pad", {"x", "by", "five"}, "y");
  });
  unknown("must pad only rows and columns",
          [](model& m) { m.wholes("by", {0, 1, 0, 0, 0, 0, 0, 0}), m.add("Pad", {"x", "by"}, "y"); });
  unknown("must have an odd size; found 4",
          [](model& m) { model::set(m.add("LRN", {"x"}, "y"), "size", std::int64_t{4}); });

  change const relu = [](model& m) { m.add("Relu", {"x"}, "y"); };
  refused({3}, onnx_fault::unsupported, "found", relu);
  refused({1, 2, 3, 4, 5}, onnx_fault::unsupported, "found", relu);
  refused({1, ints::value_type{1} << 31}, onnx_fault::unsupported, "must have axes of size 1 to 2,147,483,647", relu);
  refused({1, 60000, 60000}, onnx_fault::unsupported, "2,147,483,647", relu);
}

TEST_CASE("onnx import: a maximum over the whole picture is a pool of its size", "[onnx]") {
  dsl::imported_network const net(made({1, 2, 3, 5}, [](model& m) { m.add("GlobalMaxPool", {"x"}, "y"); }).bytes(),
                                  "x.onnx", "");
  dsl::graph_view const g = net.view();
  dsl::node const& last = g.nodes[g.size.nodes - 1];
  CHECK(last.kind == dsl::op::max_pool2d);
  CHECK((last.window.height == 3 && last.window.width == 5));
  CHECK((g.output_shape(last).channels == 2 && g.output_shape(last).area() == 1));
}
