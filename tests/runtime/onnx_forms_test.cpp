// SPDX-License-Identifier: MIT
// ONNX operators in forms that exporters seldom write: what is computed from constants before the network is read, and
// sizes, paddings and parts that follow from other sizes.
#include <dsl/io/onnx_import.hpp>

#include "support/catch.hpp"
#include "support/onnx_built.hpp"

#include <cstdint>
#include <functional>
#include <string>
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
