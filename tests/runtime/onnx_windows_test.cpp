// SPDX-License-Identifier: MIT
// ONNX files of networks with attention in windows, as exporters write them: with rolls, masks and biases.
#include <dsl/io/onnx_import.hpp>

#include "support/catch.hpp"
#include "support/onnx_built.hpp"

#include <cmath>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace {

using dsl::onnx_fault;
using dsl::test::complaint;
using dsl::test::layers_of;
using model = dsl::test::built_model;

std::vector<float> counted(std::size_t size) {
  std::vector<float> all(size);
  for (std::size_t i = 0; i < size; ++i) all[i] = 0.01F * static_cast<float>(i);
  return all;
}

/// What a test changes in an attention with 2 heads of 2 channels, in the 4 windows of 2x2 pixels of a 4x4 image.
struct windows {
  int shift = 0;      // the image is rolled by this number of rows and columns
  int back = -1;      // and back by this number; -1: by as many
  bool grid = false;  // the pixels of a window are spread over the image
  bool wide = false;  // windows of 1x4 pixels
  bool unit = false;  // queries and keys are divided by their lengths
  bool only_queries = false;
  bool twice = false;  // the biases are added twice
  float scale = 0.70710678F;
  std::function<float(int, int, int)> bias{};  // of a head, a query and a key; empty: none
  std::function<float(int, int, int)> mask{};  // of a window, a query and a key; empty: none
};

void roll(model& m, std::string const& from, int by, std::string const& to) {
  std::string last = from;
  for (std::int64_t const axis : {1, 2}) {
    std::string const n = to + std::to_string(axis);
    m.wholes("from" + n, {by}), m.wholes("all" + n, {0x7fffffff}), m.wholes("axis" + n, {axis});
    m.wholes("zero" + n, {0});
    m.add("Slice", {last, "from" + n, "all" + n, "axis" + n}, "end" + n);
    m.add("Slice", {last, "zero" + n, "from" + n, "axis" + n}, "begin" + n);
    last = axis == 2 ? to : "rolled" + n;
    model::set(m.add("Concat", {"end" + n, "begin" + n}, last), "axis", axis);
  }
}

/// Divides a value by its length along the last axis.
void divide_by_length(model& m, std::string const& from, std::string const& to) {
  model::set(m.add("ReduceL2", {from}, to + "_length"), "axes", std::vector<std::int64_t>{-1});
  m.numbers(to + "_least", {1e-12F}), m.add("Clip", {to + "_length", to + "_least"}, to + "_bounded");
  m.add("Shape", {from}, to + "_shape"), m.add("Expand", {to + "_bounded", to + "_shape"}, to + "_divisor");
  m.add("Div", {from, to + "_divisor"}, to);
}

model attention(windows const& o) {
  model m({1, 4, 4, 4});
  model::set(m.add("Transpose", {"x"}, "image"), "perm", {0, 2, 3, 1});
  std::string from = "image";
  if (o.shift != 0) roll(m, "image", o.shift, "rolled"), from = "rolled";
  std::int64_t const high = o.wide ? 1 : 2, across = o.wide ? 4 : 2;
  std::vector<std::int64_t> parts{1, 4 / high, high, 4 / across, across, 4}, order{0, 1, 3, 2, 4, 5}, merged = parts;
  std::vector<std::int64_t> back_order = order;
  merged = {1, 4 / high, 4 / across, high, across, 4};
  if (o.grid) order = {0, 2, 4, 1, 3, 5}, back_order = {0, 3, 1, 4, 2, 5}, merged = {1, 2, 2, 2, 2, 4};
  m.wholes("parts", parts), m.add("Reshape", {from, "parts"}, "a");
  model::set(m.add("Transpose", {"a"}, "b"), "perm", order);
  m.wholes("windows", {4, 4, 4}), m.add("Reshape", {"b", "windows"}, "c");
  m.tensor("qkv.weight", {4, 12}, counted(48)), m.numbers("qkv.bias", counted(12));
  m.add("MatMul", {"c", "qkv.weight"}, "d"), m.add("Add", {"d", "qkv.bias"}, "e");
  m.wholes("heads", {4, 4, 3, 2, 2}), m.add("Reshape", {"e", "heads"}, "f");
  model::set(m.add("Transpose", {"f"}, "g"), "perm", {2, 0, 3, 1, 4});
  for (std::int64_t i = 0; i < 3; ++i) {
    std::string const n = std::to_string(i);
    m.whole("i" + n, i), model::set(m.add("Gather", {"g", "i" + n}, "part" + n), "axis", 0);
  }
  std::string queries = "part0", keys = "part1";
  if (o.unit || o.only_queries) divide_by_length(m, queries, "unit0"), queries = "unit0";
  if (o.unit) divide_by_length(m, keys, "unit1"), keys = "unit1";
  model::set(m.add("Transpose", {keys}, "turned"), "perm", {0, 1, 3, 2});
  std::string products = "products";
  m.add("MatMul", {queries, "turned"}, products);
  if (o.unit)
    m.tensor("by_head", {2, 1, 1}, {2, 200}), m.add("Mul", {products, "by_head"}, "scaled");
  else
    m.numbers("scale", {o.scale}), m.add("Mul", {products, "scale"}, "scaled");
  products = "scaled";
  if (o.bias) {
    std::vector<float> all;
    for (int i = 0; i < 32; ++i) all.push_back(o.bias(i / 16, i / 4 % 4, i % 4));
    m.tensor("bias", {1, 2, 4, 4}, all), m.add("Add", {products, "bias"}, "biased"), products = "biased";
    if (o.twice) m.add("Add", {products, "bias"}, "again biased"), products = "again biased";
  }
  if (o.mask) {
    std::vector<float> all;
    for (int i = 0; i < 64; ++i) all.push_back(o.mask(i / 16, i / 4 % 4, i % 4));
    m.wholes("by_window", {1, 4, 2, 4, 4}), m.add("Reshape", {products, "by_window"}, "split");
    m.tensor("mask", {1, 4, 1, 4, 4}, all), m.add("Add", {"split", "mask"}, "masked");
    m.wholes("again", {-1, 2, 4, 4}), m.add("Reshape", {"masked", "again"}, "joined"), products = "joined";
  }
  model::set(m.add("Softmax", {products}, "weights"), "axis", -1), m.add("MatMul", {"weights", "part2"}, "sums");
  model::set(m.add("Transpose", {"sums"}, "h"), "perm", {0, 2, 1, 3}), m.add("Reshape", {"h", "windows"}, "i");
  m.wholes("merged", merged), m.add("Reshape", {"i", "merged"}, "j");
  model::set(m.add("Transpose", {"j"}, "k"), "perm", back_order);
  m.wholes("whole", {1, 4, 4, 4}), m.add("Reshape", {"k", "whole"}, "l");
  from = "l";
  int const back = o.back < 0 ? o.shift : o.back;
  if (back != 0) roll(m, "l", -back, "unrolled"), from = "unrolled";
  model::set(m.add("Transpose", {from}, "y"), "perm", {0, 3, 1, 2});
  return m;
}

/// A bias that depends on a head and on the offset between the two pixels of a 2x2 window.
float by_offset(int head, int query, int key) {
  return static_cast<float>(head * 100 + (query / 2 - key / 2) * 10 + query % 2 - key % 2);
}

/// The mask for a roll by one row and one column: those that were rolled around the end see only each other.
float torn(int window, int query, int key) {
  auto const wraps = [&](int token) {
    return std::pair{window / 2 == 1 && token / 2 == 1, window % 2 == 1 && token % 2 == 1};
  };
  return wraps(query) == wraps(key) ? 0.0F : -100.0F;
}

std::string refused(windows const& o) { return complaint(attention(o).bytes(), onnx_fault::unsupported); }

}  // namespace

TEST_CASE("onnx import: attention in windows is recognised in the operators that exporters write", "[onnx]") {
  std::string const start = "network<image<4, 4, 4>, named<\"qkv\", pointwise_dense<12>>, ";
  CHECK(layers_of(attention({.bias = by_offset}).bytes()) == start + "window_attention<2, 2>>;");
  CHECK(layers_of(attention({.shift = 1, .bias = by_offset, .mask = torn}).bytes()) ==
        start + "window_attention<2, 2, 1>>;");
  CHECK(layers_of(attention({.grid = true, .bias = by_offset}).bytes()) == start + "grid_attention<2, 2>>;");
  CHECK(layers_of(attention({.scale = 0.5F, .bias = by_offset}).bytes()) == start + "window_attention<2, 2, 0, 4>>;");
  CHECK(layers_of(attention({.grid = true, .scale = 0.5F, .bias = by_offset}).bytes()) ==
        start + "grid_attention<2, 2, 4>>;");
  CHECK(layers_of(attention({}).bytes()) == start + "frozen<window_attention<2, 2>>>;");  // without biases

  dsl::imported_network const net(attention({.bias = by_offset}).bytes(), "x.onnx", "");
  REQUIRE(net.view().size.parameters == 3);
  std::vector<float> table;  // rows of the offset, then columns, from -1 to 1, with a number for each head
  for (int down = -1; down <= 1; ++down)
    for (int right = -1; right <= 1; ++right)
      for (int head = 0; head < 2; ++head) table.push_back(static_cast<float>(head * 100 + down * 10 + right));
  CHECK(net.weights(2) == table);

  CHECK_THAT(refused({.bias = [](int, int query, int) { return static_cast<float>(query); }}),
             Catch::Contains("must add biases that depend only on the offset between two pixels"));
  CHECK_THAT(refused({.twice = true, .bias = by_offset}),
             Catch::Contains("(Add) must add biases to the products of queries and keys once, before their softmax"));
  CHECK_THAT(refused({.wide = true, .bias = by_offset}), Catch::Contains("must be an attention in square windows"));
}

TEST_CASE("onnx import: windows that a roll has moved around the end of an image are divided there", "[onnx]") {
  char const* const must =
      "must hide, within each window, exactly the pairs of pixels that a roll brings together from opposite edges";
  CHECK_THAT(refused({.shift = 1, .bias = by_offset}), Catch::Contains(must) && Catch::Contains("no mask"));
  CHECK_THAT(refused({.bias = by_offset, .mask = torn}), Catch::Contains(must) && Catch::Contains("another mask"));
  auto const other = [](int window, int query, int key) { return window == 3 ? 0.0F : torn(window, query, key); };
  CHECK_THAT(refused({.shift = 1, .bias = by_offset, .mask = other}),
             Catch::Contains(must) && Catch::Contains("another mask"));
  auto const weak = [](int window, int query, int key) { return 0.01F * torn(window, query, key); };
  CHECK_THAT(refused({.shift = 1, .bias = by_offset, .mask = weak}), Catch::Contains(must));
  // An image that is not rolled back cannot be a result, and no layer but those of each pixel reads it.
  CHECK_THAT(refused({.shift = 1, .back = 0, .bias = by_offset, .mask = torn}),
             Catch::Contains("output \"y\" must have the pixels of an image row by row"));
  model half({1, 2, 4, 4});
  half.wholes("from", {1}), half.wholes("to", {4}), half.wholes("axis", {2});
  half.add("Slice", {"x", "from", "to", "axis"}, "a"), half.add("Relu", {"a"}, "y");
  CHECK_THAT(complaint(half.bytes(), onnx_fault::unsupported),
             Catch::Contains("(Slice) must slice the channels or the tokens; found a slice of rows or columns"));
}

TEST_CASE("onnx import: cosines of queries and keys are a head_norm", "[onnx]") {
  CHECK_THAT(refused({.unit = true, .bias = by_offset}), Catch::Contains("factors above 0 and of at most 100"));
  model cosines = attention({.unit = true, .bias = by_offset});
  for (auto& t : *cosines.graph().mutable_initializer())
    if (t.name() == "by_head") {
      std::vector<float> const factors{2, 50};
      t.set_raw_data(factors.data(), factors.size() * sizeof(float));
    }
  CHECK(layers_of(cosines.bytes()) ==
        "network<image<4, 4, 4>, named<\"qkv\", pointwise_dense<12>>, head_norm<2>, window_attention<2, 2, 0, 1>>;");
  dsl::imported_network const net(cosines.bytes(), "x.onnx", "");
  REQUIRE(net.view().size.parameters == 4);
  CHECK(net.weights(2) == std::vector<float>{std::log(2.0F), std::log(50.0F)});
  CHECK_THAT(refused({.only_queries = true, .bias = by_offset}), Catch::Contains("only one of the two"));
  model alone({1, 2, 4, 4});
  divide_by_length(alone, "x", "y");
  CHECK(complaint(alone.bytes(), onnx_fault::unsupported) != "");
}

TEST_CASE("onnx import: only queries and keys are divided by their lengths, which nothing else changes", "[onnx]") {
  auto const divided = [](std::function<void(model&)> const& add, char const* by = "divisor") {
    model m({1, 5, 4});
    m.wholes("shape", {1, 5, 4}), m.add("Identity", {"x"}, "a");
    model::set(m.add("ReduceL2", {"a"}, "length"), "axes", std::vector<std::int64_t>{-1});
    add(m), m.add("Div", {"a", by}, "unit");
    model::set(m.add("Transpose", {"unit"}, "turned"), "perm", {0, 2, 1}), m.add("MatMul", {"unit", "turned"}, "p");
    m.numbers("factor", {2}), m.add("Mul", {"p", "factor"}, "scaled");
    model::set(m.add("Softmax", {"scaled"}, "weights"), "axis", -1), m.add("MatMul", {"weights", "a"}, "y");
    return m.bytes();
  };
  auto const bounded = [&](char const* type, std::vector<float> const& least) {
    return divided([&](model& m) { m.numbers("least", least), m.add(type, {"length", "least"}, "divisor"); });
  };
  std::string const wanted = layers_of(divided([](model&) {}, "length"));
  CHECK(wanted == "network<image<4, 1, 5>, concat<identity, identity, identity>, frozen<head_norm<1>>, attention<1>>;");
  for (char const* const type : {"Clip", "Max"}) {
    CHECK(layers_of(bounded(type, {1e-12F})) == wanted);
    CHECK(layers_of(bounded(type, {0})) == wanted);
    for (float const least : {0.5F, -1.0F})
      CHECK_THAT(complaint(bounded(type, {least}), onnx_fault::unsupported),
                 Catch::Contains("must bound the length of a query or a key from below by a number of at least 0 and "
                                 "less than 1e-5; found " +
                                 std::string(least < 0 ? "-1;" : "0.5;")));
    CHECK_THAT(complaint(bounded(type, {0, 0}), onnx_fault::unsupported),
               Catch::Contains("must bound the length of a query or a key from below"));
  }
  auto const by_attributes = [&](float most) {  // as before opset 11
    return divided([&](model& m) {
      auto& clip = m.add("Clip", {"length"}, "divisor");
      model::set_real(clip, "min", 1e-12F), model::set_real(clip, "max", most);
    });
  };
  CHECK(layers_of(by_attributes(3.4028235e38F)) == wanted);
  for (std::string const& above : {by_attributes(9), divided([](model& m) {
                                     m.numbers("least", {0}), m.numbers("most", {9});
                                     m.add("Clip", {"length", "least", "most"}, "divisor");
                                   })})
    CHECK_THAT(complaint(above, onnx_fault::unsupported),
               Catch::Contains("must not bound the length of a query or a key from above; found an upper bound"));
  CHECK_THAT(complaint(divided([](model& m) {
                         m.wholes("other", {1, 5, 2}), m.add("Expand", {"length", "other"}, "divisor");
                       }),
                       onnx_fault::unsupported),
             Catch::Contains("must repeat the length of a query or a key for its channels; found another shape"));
  CHECK_THAT(complaint(divided([](model& m) {
                         m.add("Relu", {"a"}, "other");
                         model::set(m.add("ReduceL2", {"other"}, "divisor"), "axes", std::vector<std::int64_t>{-1});
                       }),
                       onnx_fault::unsupported),
             Catch::Contains("must divide queries or keys by their own lengths; found another operand"));
}

TEST_CASE("onnx import: a roll puts the end of an image before its beginning", "[onnx]") {
  struct part {
    std::int64_t begin, end, step = 1;
  };
  auto const joined = [](part const& first, part const& second, char const* from = "a", std::int64_t axis = 1) {
    model m({1, 2, 4, 4});
    model::set(m.add("Transpose", {"x"}, "a"), "perm", {0, 2, 3, 1}), m.add("Relu", {"a"}, "b");
    m.wholes("axis", {axis});
    auto const slice = [&](char const* of, part const& p, std::string const& to) {
      m.wholes("begin" + to, {p.begin}), m.wholes("end" + to, {p.end}), m.wholes("step" + to, {p.step});
      m.add("Slice", {of, "begin" + to, "end" + to, "axis", "step" + to}, to);
    };
    slice("b", first, "c"), slice(from, second, "d");
    model::set(m.add("Concat", {"c", "d"}, "e"), "axis", axis);
    model::set(m.add("Transpose", {"e"}, "y"), "perm", {0, 3, 1, 2});
    return complaint(m.bytes(), onnx_fault::unsupported);
  };
  char const* const order = "output \"y\" must have the pixels of an image row by row; found another order";
  for (std::int64_t const axis : {1, 2}) {
    CHECK_THAT(joined({1, 4}, {0, 1}, "b", axis), Catch::Contains(order));
    CHECK_THAT(joined({3, 4}, {0, 3}, "b", axis), Catch::Contains(order));
  }
  char const* const slice = "(Slice) must slice the channels or the tokens; found a slice of rows or columns";
  CHECK_THAT(joined({1, 4}, {0, 1}, "a"), Catch::Contains(slice));     // of two images
  CHECK_THAT(joined({1, 4, 2}, {0, 2}, "b"), Catch::Contains(slice));  // every second row
  CHECK_THAT(joined({2, 4}, {0, 4, 2}, "b"), Catch::Contains(slice));
  CHECK_THAT(joined({2, 4}, {1, 3}, "b"), Catch::Contains(slice));     // not from the beginning
  CHECK_THAT(joined({2, 4}, {0, 1}, "b"), Catch::Contains(slice));     // a row is missing
  CHECK_THAT(joined({1, 3}, {0, 1}, "b"), Catch::Contains(slice));     // the last one is
  CHECK_THAT(joined({-9, -1}, {-1, 9}, "b"), Catch::Contains(slice));  // in order
  CHECK_THAT(joined({3, 1}, {0, 1}, "b"), Catch::Contains("must keep at least one element of an axis"));
}

TEST_CASE("onnx import: the pixels of each square become one pixel", "[onnx]") {
  auto const merged = [](std::vector<std::string> const& order) {
    model m({1, 2, 4, 4});
    model::set(m.add("Transpose", {"x"}, "a"), "perm", {0, 2, 3, 1});
    m.wholes("end", {0x7fffffff}), m.wholes("rows", {1}), m.wholes("columns", {2}), m.wholes("two", {2});
    m.wholes("0", {0}), m.wholes("1", {1});
    for (std::string const row : {"0", "1"}) {
      m.add("Slice", {"a", row, "end", "rows", "two"}, "b" + row);
      for (std::string const column : {"0", "1"})
        m.add("Slice", {"b" + row, column, "end", "columns", "two"}, "c" + row + column);
    }
    model::set(m.add("Concat", order, "d"), "axis", -1);
    model::set(m.add("Transpose", {"d"}, "y"), "perm", {0, 3, 1, 2});
    return m.bytes();
  };
  CHECK(layers_of(merged({"c00", "c10", "c01", "c11"})) == "network<image<2, 4, 4>, merge_pixels<2>>;");
  CHECK_THAT(complaint(merged({"c00", "c01", "c10", "c11"}), onnx_fault::unsupported),
             Catch::Contains("must slice the channels or the tokens"));
}
