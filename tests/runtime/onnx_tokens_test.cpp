// SPDX-License-Identifier: MIT
// ONNX files of networks that read tokens, sequences, and groups of channels.
#include <dsl/io/onnx_import.hpp>

#include "support/catch.hpp"
#include "support/onnx_built.hpp"

#include <cstdint>
#include <functional>
#include <limits>
#include <string>
#include <vector>

namespace {

using dsl::onnx_fault;
using dsl::test::complaint;
using dsl::test::layers_of;
using model = dsl::test::built_model;
namespace pb = dsl::detail::onnx_messages;

std::vector<float> counted(std::size_t size) {
  std::vector<float> all(size);
  for (std::size_t i = 0; i < size; ++i) all[i] = static_cast<float>(i);
  return all;
}

/// Self-attention over 5 tokens of 4 channels with 2 heads, as PyTorch's exporters write it. `inner` appends what
/// computes "sums" of "part0", "part1" and "part2": queries, keys and values, as (1, 2, 5, 2).
model attention_of(std::function<void(model&)> const& inner) {
  model m({1, 5, 4});
  m.tensor("in_proj_weight", {4, 12}, counted(48)), m.numbers("in_proj_bias", counted(12));
  m.add("MatMul", {"x", "in_proj_weight"}, "all"), m.add("Add", {"all", "in_proj_bias"}, "biased");
  m.wholes("parts", {1, 5, 3, 2, 2}), m.add("Reshape", {"biased", "parts"}, "apart");
  model::set(m.add("Transpose", {"apart"}, "by_part"), "perm", {2, 0, 3, 1, 4});
  for (std::int64_t i = 0; i < 3; ++i) {
    std::string const n = std::to_string(i);
    m.whole("i" + n, i);
    model::set(m.add("Gather", {"by_part", "i" + n}, "part" + n), "axis", 0);
  }
  inner(m);
  model::set(m.add("Transpose", {"sums"}, "in_order"), "perm", {0, 2, 1, 3});
  m.wholes("joined", {1, 5, 4}), m.add("Reshape", {"in_order", "joined"}, "y");
  return m;
}

/// Appends a softmax over an axis.
void weigh(model& m, std::string const& products, std::string const& to, std::int64_t axis = -1) {
  model::set(m.add("Softmax", {products}, to), "axis", axis);
}

/// `mask` may append operators between "products" and "masked".
model attention(std::function<void(model&)> const& mask, float scale = 0.70710678F) {
  return attention_of([&](model& m) {
    model::set(m.add("Transpose", {"part1"}, "keys"), "perm", {0, 1, 3, 2});
    m.numbers("scale", {scale}), m.add("Mul", {"part0", "scale"}, "queries");
    m.add("MatMul", {"queries", "keys"}, "products");
    mask(m);
    weigh(m, "masked", "weights"), m.add("MatMul", {"weights", "part2"}, "sums");
  });
}

void add_mask(model& m, std::function<float(int, int)> const& at, std::string const& to = "masked",
              std::string const& products = "products") {
  std::vector<float> all;
  for (int i = 0; i < 25; ++i) all.push_back(at(i / 5, i % 5));
  m.tensor("mask", {5, 5}, all), m.add("Add", {products, "mask"}, to);
}

}  // namespace

TEST_CASE("onnx import: attention is recognised in the operators that exporters write", "[onnx]") {
  constexpr float hidden = -std::numeric_limits<float>::infinity();
  auto const plain = [](model& m) { m.add("Identity", {"products"}, "masked"); };
  CHECK(layers_of(attention(plain).bytes()) == "network<image<4, 1, 5>, pointwise_dense<12>, attention<2>>;");
  CHECK(layers_of(attention([](model& m) { add_mask(m, [](int, int) { return 0.0F; }); }).bytes()) ==
        "network<image<4, 1, 5>, pointwise_dense<12>, attention<2>>;");
  auto const causal = attention([](model& m) { add_mask(m, [](int i, int k) { return k > i ? hidden : 0.0F; }); });
  CHECK(layers_of(causal.bytes()) == "network<image<4, 1, 5>, pointwise_dense<12>, causal_attention<2>>;");
  auto const filled = attention([](model& m) {  // by a mask of what is shown
    m.tensor("ones", {5, 5}, std::vector<float>(25, 1)), model::set(m.add("Trilu", {"ones"}, "lower"), "upper", 0);
    model::set(m.add("Cast", {"lower"}, "shown"), "to", pb::TensorProto::BOOL);
    m.numbers("least", {-1e9F}), m.add("Where", {"shown", "products", "least"}, "masked");
  });
  CHECK(layers_of(filled.bytes()) == "network<image<4, 1, 5>, pointwise_dense<12>, causal_attention<2>>;");
  // Another scale than 1 / sqrt(2) becomes a layer of the queries.
  CHECK(layers_of(attention(plain, 1).bytes()) ==
        "network<image<4, 1, 5>, pointwise_dense<12>, channel_split<frozen<channel_scale>, identity, identity>, "
        "attention<2>>;");

  auto const refused = [](std::function<void(model&)> const& mask) {
    return complaint(attention(mask).bytes(), onnx_fault::unsupported);
  };
  CHECK_THAT(refused([](model& m) { add_mask(m, [](int i, int k) { return k < i ? hidden : 0.0F; }); }),
             Catch::Contains("(Softmax) must hide the tokens after each token") &&
                 Catch::Contains("hides the tokens before each token"));
  CHECK_THAT(refused([](model& m) { add_mask(m, [](int i, int k) { return k > i + 1 ? hidden : 0.0F; }); }),
             Catch::Contains("(Add) must hide the tokens after each token") && Catch::Contains("another mask"));
  CHECK_THAT(refused([](model& m) { add_mask(m, [](int i, int) { return 0.1F * static_cast<float>(i); }); }),
             Catch::Contains("of zeros and of numbers of at most -10,000"));
  CHECK_THAT(refused([](model& m) { m.add("Relu", {"products"}, "masked"); }),
             Catch::Contains("(Relu) must be part of an attention"));
  // Before opset 13 a softmax is over axis 1 and all axes behind it, unless the file says otherwise.
  for (std::int64_t const axis : {-1, 3, 1, 2}) {
    model early = attention(plain);
    early.file.mutable_opset_import(0)->set_version(12);
    for (pb::NodeProto& n : *early.graph().mutable_node())
      if (n.op_type() == "Softmax") n.mutable_attribute(0)->set_i(axis);
    if (axis == -1 || axis == 3)
      CHECK(layers_of(early.bytes()) == "network<image<4, 1, 5>, pointwise_dense<12>, attention<2>>;");
    else
      CHECK_THAT(complaint(early.bytes(), onnx_fault::unsupported),
                 Catch::Contains("(Softmax) must be a softmax over one axis"));
    for (pb::NodeProto& n : *early.graph().mutable_node())
      if (n.op_type() == "Softmax") n.clear_attribute();
    CHECK_THAT(complaint(early.bytes(), onnx_fault::unsupported),
               Catch::Contains("(Softmax) must be a softmax over one axis"));
  }
  model wide({1, 2, 300'000'000});  // a scale for each channel would not fit any memory
  model::set(wide.add("Transpose", {"x"}, "keys"), "perm", {0, 2, 1}), wide.add("MatMul", {"x", "keys"}, "products");
  model::set(wide.add("Softmax", {"products"}, "weights"), "axis", -1), wide.add("MatMul", {"weights", "x"}, "y");
  CHECK_THAT(complaint(wide.bytes(), onnx_fault::unsupported),
             Catch::Contains("must keep the numbers that typenet computes for the file to at most "));
  model two({1, 4, 4});
  two.add("MatMul", {"x", "x"}, "y");
  CHECK_THAT(
      complaint(two.bytes(), onnx_fault::unsupported),
      Catch::Contains("must multiply by a matrix of weights, or be the product of an attention's queries and keys"));
}

TEST_CASE("onnx import: attention in the sums of products that an Einsum writes", "[onnx]") {
  auto const einsum = [](model& m, std::string const& equation, std::vector<std::string> const& in, char const* out) {
    pb::AttributeProto& a = *m.add("Einsum", in, out).add_attribute();
    a.set_name("equation"), a.set_type(pb::AttributeProto::STRING), a.set_s(equation);
  };
  auto const written = [&](std::string const& products, std::string const& sums, bool turned = false,
                           std::vector<std::string> const& last = {"weights", "part2"}) {
    return attention_of([&](model& m) {
             model::set(m.add("Transpose", {"part1"}, "keys"), "perm", {0, 1, 3, 2});
             einsum(m, products, {"part0", turned ? "keys" : "part1"}, "products");
             m.numbers("root", {1.41421356F}), m.add("Div", {"products", "root"}, "scaled");
             weigh(m, "scaled", "weights"), einsum(m, sums, last, "sums");
           })
        .bytes();
  };
  std::string const sums = "bhqk,bhkc->bhqc", found = "network<image<4, 1, 5>, pointwise_dense<12>, attention<2>>;";
  CHECK(layers_of(written("bhqc,bhkc->bhqk", sums)) == found);
  CHECK(layers_of(written("bhqc, bhkc -> bhqk", "bhij, bhjd -> bhid")) == found);
  CHECK(layers_of(written("bhqc,bhck->bhqk", sums, true)) == found);

  auto const refused = [&](std::string const& bytes, std::string const& equation) {
    CHECK_THAT(complaint(bytes, onnx_fault::unsupported),
               Catch::Contains("(Einsum) must multiply an attention's queries by its keys, or its weights by its "
                               "values; found \"" +
                               equation + "\""));
  };
  for (char const* const equation :
       {"", "bhqc", "q,k->qk", "bhqc,bhkc->bhqkc", "bhqc,bhkc=>bhqk", "bhqc,bhkc->hbqk", "bhqc,hbkc->bhqk",
        "bhqc,bhkd->bhqk", "bhqc,bhkc->bhqc", "bhqc,bhck->bhqc", "bhqc,bhcd->bhqk", "bhqc,bhkc->bhkq"})
    refused(written(equation, sums), equation);
  for (char const* const equation : {"bhqk,bhck->bhqc", "bhqk,bhkc->bhcq"})
    refused(written("bhqc,bhkc->bhqk", equation), equation);
  refused(written("bhqc,bhkc->bhqk", sums, false, {"part2", "weights"}), sums);  // values by weights
}

TEST_CASE("onnx import: the products of an attention are scaled, moved and masked before their softmax", "[onnx]") {
  std::string const start = "network<image<4, 1, 5>, pointwise_dense<12>, ", plain = start + "attention<2>>;";
  auto const products = [](model& m) {
    model::set(m.add("Transpose", {"part1"}, "keys"), "perm", {0, 1, 3, 2});
    m.add("MatMul", {"part0", "keys"}, "products"), m.numbers("root", {1.41421356F});
  };
  auto const sum = [](model& m) { m.add("MatMul", {"weights", "part2"}, "sums"); };
  auto const scaled = [&](std::function<void(model&)> const& mask) {
    return attention([&](model& m) { m.numbers("root", {1.41421356F}), mask(m); }, 1).bytes();
  };
  CHECK(layers_of(scaled([](model& m) { m.add("Div", {"products", "root"}, "masked"); })) == plain);
  CHECK(layers_of(scaled([](model& m) {
          m.numbers("half", {0.5F});
          m.add("Mul", {"root", "products"}, "a"), m.add("Mul", {"a", "half"}, "masked");
        })) == plain);
  CHECK(layers_of(attention_of([&](model& m) {  // of the queries, by a division
                    m.numbers("root", {1.41421356F}), m.add("Div", {"part0", "root"}, "queries");
                    model::set(m.add("Transpose", {"part1"}, "keys"), "perm", {0, 1, 3, 2});
                    m.add("MatMul", {"queries", "keys"}, "products"), weigh(m, "products", "weights"), sum(m);
                  })
                      .bytes()) == plain);
  // A number for each head; the queries have two channels of each.
  std::string const by_head = scaled([](model& m) {
    m.tensor("heads", {2, 1, 1}, {2, 3}), m.add("Mul", {"products", "heads"}, "a");
    m.add("Div", {"a", "root"}, "masked");
  });
  CHECK(layers_of(by_head) == start + "channel_split<channel_scale, identity, identity>, attention<2>>;");
  std::vector<float> const factors = dsl::imported_network(by_head, "x.onnx", "").weights(2);
  REQUIRE(factors.size() == 4);
  for (std::size_t i = 0; i < 4; ++i) CHECK(factors[i] == Approx(i < 2 ? 2 : 3).epsilon(1e-6));

  // Axes of size 1 come and go.
  CHECK(layers_of(scaled([](model& m) {
          m.add("Div", {"products", "root"}, "a");
          m.wholes("front", {0, -1}), m.add("Unsqueeze", {"a", "front"}, "b");
          m.wholes("back", {-1, 1}), m.add("Squeeze", {"b", "back"}, "c");
          m.wholes("same", {0, 0, -1, 5}), m.add("Reshape", {"c", "same"}, "d");
          m.wholes("long", {2, 5, 1, 5, 1}), m.add("Reshape", {"d", "long"}, "e");
          m.wholes("first", {1, 2, 5, 5}), m.add("Reshape", {"e", "first"}, "masked");
        })) == plain);
  // Without axes, a Squeeze removes all of size 1, here that of the batch.
  CHECK(layers_of(scaled([](model& m) {
          m.add("Div", {"products", "root"}, "a"), m.add("Squeeze", {"a"}, "b");
          m.wholes("front", {0}), m.add("Unsqueeze", {"b", "front"}, "masked");
        })) == plain);
  CHECK(layers_of(attention_of([&](model& m) {
                    products(m), m.add("Div", {"products", "root"}, "a"), m.add("Squeeze", {"a"}, "b");
                    weigh(m, "b", "weights"), m.add("Squeeze", {"part2"}, "values");
                    m.add("MatMul", {"weights", "values"}, "c"), m.wholes("front", {0});
                    m.add("Unsqueeze", {"c", "front"}, "sums");
                  }).bytes()) == plain);
  CHECK(layers_of(scaled([](model& m) {  // what does nothing
          m.add("Div", {"products", "root"}, "a"), m.add("Dropout", {"a"}, "b");
          model::set(m.add("Cast", {"b"}, "masked"), "to", pb::TensorProto::FLOAT);
        })) == plain);
  CHECK(layers_of(attention_of([&](model& m) {  // as exporters write a softmax without NaN
                    products(m), m.add("Div", {"products", "root"}, "a"), weigh(m, "a", "b");
                    m.add("IsNaN", {"b"}, "is_nan"), m.numbers("zero", {0});
                    m.add("Where", {"is_nan", "zero", "b"}, "weights"), sum(m);
                  })
                      .bytes()) == plain);

  // Keys by queries: the softmax is over the axis of the first factor, the keys.
  auto const turned = [&](bool is_causal) {
    return layers_of(attention_of([&](model& m) {
                       model::set(m.add("Transpose", {"part0"}, "queries"), "perm", {0, 1, 3, 2});
                       m.add("MatMul", {"part1", "queries"}, "products"), m.numbers("root", {1.41421356F});
                       m.add("Div", {"products", "root"}, "masked");
                       if (is_causal) {
                         std::vector<float> all;
                         for (int i = 0; i < 25; ++i) all.push_back(i / 5 > i % 5 ? -1e9F : 0);
                         m.tensor("mask", {5, 5}, all), m.add("Add", {"masked", "mask"}, "hidden");
                       }
                       weigh(m, is_causal ? "hidden" : "masked", "a", 2);
                       model::set(m.add("Transpose", {"a"}, "weights"), "perm", {0, 1, 3, 2}), sum(m);
                     }).bytes());
  };
  CHECK(turned(false) == plain);
  CHECK(turned(true) == start + "causal_attention<2>>;");
  // A mask of what is hidden.
  CHECK(layers_of(scaled([](model& m) {
          std::vector<float> above;
          for (int i = 0; i < 25; ++i) above.push_back(i % 5 > i / 5 ? 1.0F : 0.0F);
          m.add("Div", {"products", "root"}, "a"), m.tensor("above", {5, 5}, above), m.numbers("least", {-1e9F});
          model::set(m.add("Cast", {"above"}, "hides"), "to", pb::TensorProto::BOOL);
          m.add("Where", {"hides", "least", "a"}, "masked");
        })) == start + "causal_attention<2>>;");
  // Zeros hide nothing, however many there are.
  CHECK(layers_of(scaled([](model& m) {
          m.add("Div", {"products", "root"}, "a"), m.tensor("mask", {1, 1, 1, 5}, std::vector<float>(5));
          m.add("Add", {"a", "mask"}, "masked");
        })) == plain);
}

TEST_CASE("onnx import: what is no attention is refused with what differs", "[onnx]") {
  using ints = std::vector<std::int64_t>;
  auto const refused = [](std::string const& words, std::function<void(model&)> const& mask) {
    CHECK_THAT(complaint(attention(mask).bytes(), onnx_fault::unsupported), Catch::Contains(words));
  };
  std::string const part =
      "must be part of an attention: scale the products of queries and keys, mask them, or take "
      "their softmax; found ";
  auto const after_softmax = [](std::function<void(model&)> const& add) {
    return [=](model& m) { weigh(m, "products", "early"), add(m); };
  };
  refused("(Mul) " + part + "Mul with 2",
          after_softmax([](model& m) { m.numbers("two", {2}), m.add("Mul", {"early", "two"}, "masked"); }));
  refused("(Div) " + part + "Div with 0",
          [](model& m) { m.numbers("zero", {0}), m.add("Div", {"products", "zero"}, "masked"); });
  refused("(Div) " + part + "Div with 2",
          [](model& m) { m.numbers("two", {2}), m.add("Div", {"two", "products"}, "masked"); });
  refused("(Mul) " + part + "an operand that depends on the input",
          [](model& m) { m.add("Mul", {"products", "products"}, "masked"); });
  refused("(Max) " + part + "\"Max\"",
          [](model& m) { m.numbers("two", {2}), m.add("Max", {"products", "two"}, "masked"); });
  refused("(Cast) " + part + "\"Cast\"",
          [](model& m) { model::set(m.add("Cast", {"products"}, "masked"), "to", pb::TensorProto::INT64); });
  auto const listed = [](ints const& numbers) {
    std::string all;
    for (std::int64_t const n : numbers) all += (all.empty() ? "[" : ", ") + std::to_string(n);
    return all + "]";
  };
  auto const multiplied = [&](std::string const& type, ints const& dims, std::size_t count) {
    refused("(" + type + ") " + part + type + " with floats of shape " + listed(dims),
            [=](model& m) { m.tensor("by", dims, counted(count)), m.add(type, {"products", "by"}, "masked"); });
  };
  multiplied("Mul", {5}, 5);
  multiplied("Mul", {1, 5, 1}, 5);
  multiplied("Mul", {1, 1, 2, 1, 1}, 2);
  multiplied("Div", {2, 1, 1}, 2);
  refused("(Mul) " + part + "Mul with floats of shape [2, 1, 1]", [](model& m) {
    m.tensor("by", {2, 1, 1}, {2, 3}), m.add("Mul", {"products", "by"}, "a"), m.add("Mul", {"a", "by"}, "masked");
  });

  char const* const pairs = "must have a mask with one number for each pair of tokens; found a mask of shape ";
  auto const added = [&](ints const& dims, std::size_t count, std::string const& words) {
    refused("(Add) " + words, [=](model& m) {
      m.tensor("mask", dims, std::vector<float>(count, -1e9F)), m.add("Add", {"products", "mask"}, "masked");
    });
  };
  added({5}, 5, pairs + std::string("[5] for 5 tokens"));
  added({25}, 25, pairs + std::string("[1, 1, 1, 25] for 5 tokens"));
  added({1, 1, 1, 5, 5}, 25, "must have a mask with no more axes than the products of queries and keys; found 5");
  auto const causal = [](int i, int k) { return k > i ? -1e9F : 0.0F; };
  refused("(Add) must add its mask before the softmax; found a mask after it",
          after_softmax([&](model& m) { add_mask(m, causal, "masked", "early"); }));
  refused("(Add) must hide the tokens after each token, as causal_attention does; found another mask",
          [&](model& m) { add_mask(m, causal, "a"), m.add("Add", {"a", "mask"}, "masked"); });

  auto const where = [&](std::vector<float> const& fill, std::string const& found) {
    refused("(Where) must fill hidden places with one number of at most -10,000; found " + found, [=](model& m) {
      m.tensor("ones", {5, 5}, std::vector<float>(25, 1)), m.numbers("least", fill);
      m.add("Where", {"ones", "products", "least"}, "masked");
    });
  };
  where({-1}, "-1.0");
  where(std::vector<float>(5, -1e9F), "5 numbers");
  refused("(Where) " + part + "another condition", [](model& m) {  // before the softmax
    m.add("IsNaN", {"products"}, "a"), m.numbers("zero", {0}), m.add("Where", {"a", "zero", "products"}, "masked");
  });
  refused("(Where) " + part + "another condition", after_softmax([](model& m) {
            m.add("IsNaN", {"early"}, "a"), m.numbers("zero", {0}), m.add("Where", {"a", "zero", "zero"}, "masked");
          }));
  refused("(Where) " + part + "another condition", after_softmax([](model& m) {
            m.add("IsNaN", {"early"}, "a"), m.numbers("zeros", {0, 0, 0, 0, 0});
            m.add("Where", {"a", "zeros", "early"}, "masked");
          }));
  refused("(Softmax) must be a softmax over the keys; found another axis",
          [](model& m) { weigh(m, "products", "masked", 1); });
  refused("(Softmax) must be a softmax over the keys; found another axis",
          after_softmax([](model& m) { m.add("Identity", {"early"}, "masked"); }));

  auto const reshaped = [&](ints const& to) {
    refused("(Reshape) " + part + "Reshape to " + listed(to) + " for [1, 2, 5, 5]",
            [=](model& m) { m.wholes("to", to), m.add("Reshape", {"products", "to"}, "masked"); });
  };
  for (ints const& to : {ints{1, 5, 2, 5}, {10, 5}, {1, 2, 5, 1}, {1, 2, 5, 7}, {1, 1, 1, 1, 1, 1, 2, 5, 5}})
    reshaped(to);
  refused("(Squeeze) " + part + "Squeeze of the axes [1] for [1, 2, 5, 5]",
          [](model& m) { m.wholes("axes", {1}), m.add("Squeeze", {"products", "axes"}, "masked"); });
  CHECK_THAT(complaint(attention([](model& m) {
                         m.wholes("axes", {0, 0}), m.add("Unsqueeze", {"products", "axes"}, "masked");
                       }).bytes(),
                       onnx_fault::damaged),
             Catch::Contains("(Unsqueeze) must list each axis once; found [0, 0]"));

  // Factors that are no queries and keys of the same heads and tokens.
  char const* const factors =
      "must multiply by a matrix of weights, or be the product of an attention's queries and "
      "keys; found ";
  auto const keys = [&](std::string const& found, std::function<void(model&)> const& make) {
    CHECK_THAT(complaint(attention_of([&](model& m) { make(m), m.add("MatMul", {"part0", "keys"}, "sums"); }).bytes(),
                         onnx_fault::unsupported),
               Catch::Contains(factors + found));
  };
  auto const transposed = [](model& m, std::string const& from, ints const& order) {
    model::set(m.add("Transpose", {from}, "keys"), "perm", order);
  };
  keys("other values or axes", [&](model& m) { transposed(m, "part1", {0, 1, 2, 3}); });
  keys("heads in different axes", [&](model& m) { transposed(m, "part1", {1, 0, 3, 2}); });
  auto const dense = [&](model& m, std::int64_t units, ints const& parts) {
    m.tensor("w", {4, units}, counted(static_cast<std::size_t>(4 * units))), m.add("MatMul", {"x", "w"}, "f");
    m.wholes("divided", parts), m.add("Reshape", {"f", "divided"}, "g"), transposed(m, "g", {0, 2, 3, 1});
  };
  keys("other values or axes", [&](model& m) { dense(m, 6, {1, 5, 2, 3}); });  // three channels of each head
  keys("other values or axes", [&](model& m) { dense(m, 8, {1, 5, 4, 2}); });  // four heads
  keys("other values or axes", [&](model& m) {                                 // of three tokens
    m.wholes("from", {0}), m.wholes("to", {3}), m.wholes("axis", {1});
    m.add("Slice", {"x", "from", "to", "axis"}, "f"), m.wholes("divided", {1, 3, 2, 2}),
        m.add("Reshape", {"f", "divided"}, "g");
    transposed(m, "g", {0, 2, 3, 1});
  });
  // Values of another form than the weights.
  auto const values = [&](std::function<void(model&)> const& make) {
    CHECK_THAT(complaint(attention_of([&](model& m) {
                           make(m), transposed(m, "part1", {0, 1, 3, 2});
                           m.add("MatMul", {"part0", "keys"}, "products"), weigh(m, "products", "weights");
                           m.add("MatMul", {"weights", "values"}, "sums");
                         }).bytes(),
                         onnx_fault::unsupported),
               Catch::Contains("(MatMul) must multiply the weights of an attention by its values; found other values "
                               "or axes"));
  };
  values([](model& m) { model::set(m.add("Transpose", {"part2"}, "values"), "perm", {0, 1, 3, 2}); });
  values([](model& m) { model::set(m.add("Transpose", {"part2"}, "values"), "perm", {1, 0, 2, 3}); });
  CHECK_THAT(complaint(attention_of([&](model& m) {
                         transposed(m, "part1", {0, 1, 3, 2}), m.add("MatMul", {"part0", "keys"}, "products");
                         weigh(m, "products", "weights"), m.add("MatMul", {"weights", "weights"}, "sums");
                       }).bytes(),
                       onnx_fault::unsupported),
             Catch::Contains("must multiply the weights of an attention by its values; found the weights of two "
                             "attentions"));
  CHECK_THAT(complaint(attention_of([&](model& m) {
                         transposed(m, "part1", {0, 1, 3, 2}), m.add("MatMul", {"part0", "keys"}, "products");
                         m.add("MatMul", {"products", "part2"}, "sums");
                       }).bytes(),
                       onnx_fault::unsupported),
             Catch::Contains("found products without a softmax"));
  for (float const scale : {0.0F, 1e-31F, 1e31F})
    CHECK_THAT(complaint(attention([](model& m) { m.add("Identity", {"products"}, "masked"); }, scale).bytes(),
                         onnx_fault::unsupported),
               Catch::Contains("must scale the products of queries and keys by a factor from 1e-30 to 1e30; found "));
}

TEST_CASE("onnx import: tokens of an image have a class token and positions, and may be selected", "[onnx]") {
  model m({1, 2, 2, 3});
  m.wholes("row", {1, 2, 6}), m.add("Reshape", {"x", "row"}, "a");
  model::set(m.add("Transpose", {"a"}, "b"), "perm", {0, 2, 1});
  m.tensor("class_token", {1, 1, 2}, {7, 8});
  model::set(m.add("Concat", {"class_token", "b"}, "c"), "axis", 1);
  m.tensor("encoder.pos_embedding", {1, 7, 2}, counted(14)), m.add("Add", {"c", "encoder.pos_embedding"}, "d");
  m.whole("first", 0), model::set(m.add("Gather", {"d", "first"}, "y"), "axis", 1);
  CHECK(layers_of(m.bytes()) ==
        "network<image<2, 2, 3>, named<\"class_token\", class_token>, named<\"encoder\", named<\"pos_embedding\", "
        "position_embedding>>, token_slice<0>>;");
  dsl::imported_network const net(m.bytes(), "x.onnx", "");
  CHECK(net.weights(0) == std::vector<float>{7, 8});
  CHECK(net.weights(1) == counted(14));

  model words({1, 3});
  words.graph().mutable_input(0)->mutable_type()->mutable_tensor_type()->set_elem_type(pb::TensorProto::INT64);
  words.tensor("wte.weight", {5, 2}, counted(10)), words.add("Gather", {"wte.weight", "x"}, "a");
  words.tensor("wpe", {3, 2}, counted(6)), words.add("Add", {"a", "wpe"}, "y");
  CHECK(layers_of(words.bytes()) == "network<image<1, 1, 3>, named<\"wte\", embedding<5, 2>>, position_embedding>;");
  model twice({1, 3});
  twice.tensor("w", {5, 2}, counted(10)), twice.add("Relu", {"x"}, "a"), twice.add("Gather", {"w", "a"}, "y");
  CHECK_THAT(complaint(twice.bytes(), onnx_fault::unsupported), Catch::Contains("must read an input of the network"));
}

TEST_CASE("onnx import: a dense layer over the tokens is one over the channels of a transposed value", "[onnx]") {
  model m({1, 2, 2, 3});  // the block of a mixer, without its norm
  m.wholes("row", {1, 2, 6}), m.add("Reshape", {"x", "row"}, "a");
  model::set(m.add("Transpose", {"a"}, "tokens"), "perm", {0, 2, 1});
  m.add("Tanh", {"tokens"}, "b"), model::set(m.add("Transpose", {"b"}, "c"), "perm", {0, 2, 1});
  m.tensor("fc1.weight", {6, 4}, counted(24)), m.add("MatMul", {"c", "fc1.weight"}, "d"), m.add("Relu", {"d"}, "e");
  m.tensor("fc2.weight", {4, 6}, counted(24)), m.add("MatMul", {"e", "fc2.weight"}, "f");
  model::set(m.add("Transpose", {"f"}, "g"), "perm", {0, 2, 1});
  m.add("Add", {"tokens", "g"}, "y");
  auto const header = [](model const& of) {
    std::string all;
    for (char const c : dsl::imported_network(of.bytes(), "x.onnx", "").header("x"))
      if (c != ' ' && c != '\n') all += c;
    return all;
  };
  CHECK_THAT(header(m), Catch::Contains("add<token_slice<0,6>,sequential<dsl::tanh,transpose_tokens,named<\"fc1\","
                                        "pointwise_dense<4,bias<false>>>,relu,named<\"fc2\",pointwise_dense<6,"
                                        "bias<false>>>,transpose_tokens>>;"));

  model scaled({1, 2, 1, 6});  // a number for each channel of a value whose tokens are mixed
  scaled.wholes("row", {1, 2, 6}), scaled.add("Reshape", {"x", "row"}, "a");
  scaled.tensor("w", {6, 6}, counted(36)), scaled.add("MatMul", {"a", "w"}, "b");
  scaled.tensor("gamma", {2, 1}, {3, 4}), scaled.add("Mul", {"gamma", "b"}, "y");
  CHECK(layers_of(scaled.bytes()) ==
        "network<image<2, 1, 6>, transpose_tokens, pointwise_dense<6, bias<false>>, transpose_tokens, channel_scale>;");

  model gated({1, 2, 2, 3});  // by a value whose tokens are mixed
  gated.wholes("row", {1, 2, 6}), gated.add("Reshape", {"x", "row"}, "a"), gated.add("Relu", {"a"}, "b");
  gated.tensor("w", {6, 6}, counted(36)), gated.add("MatMul", {"b", "w"}, "c"), gated.add("Mul", {"c", "a"}, "y");
  CHECK_THAT(header(gated), Catch::Contains("multiply<sequential<relu,transpose_tokens,pointwise_dense<6,bias<false>>>,"
                                            "transpose_tokens>;"));
}

TEST_CASE("onnx import: group_norm and layer_norm are recognised in the operators that exporters write", "[onnx]") {
  model groups({1, 4, 2, 3});
  groups.wholes("apart", {0, 2, -1}), groups.add("Reshape", {"x", "apart"}, "a");
  groups.numbers("ones", {1, 1}), groups.numbers("zeros", {0, 0});
  groups.add("InstanceNormalization", {"a", "ones", "zeros"}, "b");
  groups.wholes("joined", {1, 4, 2, 3}), groups.add("Reshape", {"b", "joined"}, "c");
  groups.tensor("norm.weight", {4, 1, 1}, {1, 2, 3, 4}), groups.tensor("norm.bias", {4, 1, 1}, {5, 6, 7, 8});
  groups.add("Mul", {"c", "norm.weight"}, "d"), groups.add("Add", {"d", "norm.bias"}, "y");
  CHECK(layers_of(groups.bytes()) == "network<image<4, 2, 3>, named<\"norm\", group_norm<2>>>;");
  dsl::imported_network const net(groups.bytes(), "x.onnx", "");
  CHECK(net.weights(0) == std::vector<float>{1, 2, 3, 4});
  CHECK(net.weights(1) == std::vector<float>{5, 6, 7, 8});

  for (bool per_group : {false, true}) {
    model later({1, 4, 2, 3});
    later.numbers("s", per_group ? std::vector<float>{1, 3} : std::vector<float>{1, 2, 3, 4});
    later.numbers("b", per_group ? std::vector<float>{5, 7} : std::vector<float>{5, 6, 7, 8});
    model::set(later.add("GroupNormalization", {"x", "s", "b"}, "y"), "num_groups", 2);
    CHECK(layers_of(later.bytes()) == "network<image<4, 2, 3>, group_norm<2>>;");
    CHECK(dsl::imported_network(later.bytes(), "x.onnx", "").weights(0) ==
          (per_group ? std::vector<float>{1, 1, 3, 3} : std::vector<float>{1, 2, 3, 4}));
  }
  model::set(groups.add("GroupNormalization", {"x", "ones", "zeros"}, "z"), "num_groups", 3);
  CHECK_THAT(complaint(groups.bytes("z"), onnx_fault::damaged),
             Catch::Contains("a number of groups that divides its channels"));

  auto const normal = [](std::vector<std::int64_t> const& axes, bool squared) {
    model m({1, 3, 2, 2});
    m.numbers("two", {2}), m.numbers("epsilon", {1e-6F});
    model::set(m.add("ReduceMean", {"x"}, "mean"), "axes", axes), m.add("Sub", {"x", "mean"}, "centred");
    m.add(squared ? "Pow" : "Mul", {"centred", squared ? "two" : "centred"}, "squares");
    model::set(m.add("ReduceMean", {"squares"}, "variance"), "axes", axes);
    m.add("Add", {"variance", "epsilon"}, "a"), m.add("Sqrt", {"a"}, "b"), m.add("Div", {"centred", "b"}, "c");
    m.tensor("gamma", {3, 1, 1}, {1, 2, 3}), m.add("Mul", {"gamma", "c"}, "d");
    m.tensor("beta", {3, 1, 1}, {4, 5, 6}), m.add("Add", {"d", "beta"}, "y");
    return m.bytes();
  };
  for (bool squared : {false, true}) {
    CHECK(layers_of(normal({1}, squared)) == "network<image<3, 2, 2>, layer_norm<1e-06>>;");
    CHECK(dsl::imported_network(normal({1}, squared), "x.onnx", "").weights(1) == std::vector<float>{4, 5, 6});
  }
  CHECK_THAT(complaint(normal({1, 2}, true), onnx_fault::unsupported), Catch::Contains("mean over all channels"));
  // Without axes a mean is over all of them, unless the file says otherwise.
  for (std::vector<std::int64_t> const& dims : {std::vector<std::int64_t>{1, 3}, {1, 3, 1, 1}, {1, 3, 2, 2}}) {
    model whole(dims);
    pb::NodeProto& mean = whole.add("ReduceMean", {"x"}, "y");
    CHECK(complaint(whole.bytes(), onnx_fault::unsupported) != "");
    model::set(mean, "noop_with_empty_axes", 1), whole.add("Relu", {"y"}, "z");
    CHECK_THAT(layers_of(whole.bytes("z")), Catch::Contains(", relu>;"));
  }
}

TEST_CASE("onnx import: padding belongs to the window behind it", "[onnx]") {
  auto const made = [](std::function<void(model&)> const& add) {
    model m({1, 2, 4, 4});
    m.tensor("w", {1, 2, 3, 3}, counted(18)), m.wholes("pads", {0, 0, 1, 0, 0, 0, 2, 1});
    m.numbers("zero", {0}), m.numbers("least", {-std::numeric_limits<float>::infinity()});
    add(m);
    return m;
  };
  CHECK(layers_of(made([](model& m) {
                    m.add("Pad", {"x", "pads", "zero"}, "a"), m.add("Conv", {"a", "w"}, "y");
                  }).bytes()) == "network<image<2, 4, 4>, conv2d<1, 3, pad<1, 0, 2, 1>, bias<false>>>;");
  CHECK(layers_of(made([](model& m) {
                    m.add("Pad", {"x", "pads", "least"}, "a");
                    model::set(m.add("MaxPool", {"a"}, "y"), "kernel_shape", {3, 3});
                  }).bytes()) == "network<image<2, 4, 4>, max_pool2d<3, 1, pad<1, 0, 2, 1>>>;");
  model last({1, 4, 4, 2});  // as Keras has it: the channels come last, also in what is read before they are moved
  last.tensor("scale", {1, 1, 1, 2}, {1, 2}), last.add("Mul", {"x", "scale"}, "a");
  last.wholes("pads", {0, 1, 0, 0, 0, 2, 1, 0}), last.add("Pad", {"a", "pads"}, "b");
  model::set(last.add("Transpose", {"b"}, "c"), "perm", {0, 3, 1, 2});
  last.tensor("w", {1, 2, 3, 3}, counted(18)), last.add("Conv", {"c", "w"}, "y");
  CHECK(layers_of(last.bytes()) ==
        "network<image<2, 4, 4>, channel_scale, conv2d<1, 3, pad<1, 0, 2, 1>, bias<false>>>;");
  // Zeros are no padding of a maximum, and not the input of an activation.
  auto const alone = [&](char const* type) {
    return made([&](model& m) {
      m.add("Pad", {"x", "pads"}, "a");
      pb::NodeProto& n = m.add(type, {"a"}, "y");
      if (n.op_type() == "MaxPool") model::set(n, "kernel_shape", {3, 3});
    });
  };
  CHECK(layers_of(alone("MaxPool").bytes()) == "network<image<2, 4, 4>, zero_pad2d<1, 0, 2, 1>, max_pool2d<3, 1>>;");
  CHECK(layers_of(alone("Relu").bytes()) == "network<image<2, 4, 4>, zero_pad2d<1, 0, 2, 1>, relu>;");
  CHECK_THAT(
      complaint(made([](model& m) { m.add("Pad", {"x", "pads", "least"}, "y"); }).bytes(), onnx_fault::unsupported),
      Catch::Contains("must pad with zeros, or be followed by a max_pool2d"));
}

TEST_CASE("onnx import: a sequence is an image of one row", "[onnx]") {
  model m({1, 3, 8});
  m.tensor("w", {4, 3, 3}, counted(36)), m.numbers("b", counted(4));
  pb::NodeProto& n = m.add("Conv", {"x", "w", "b"}, "a");
  model::set(n, "kernel_shape", std::vector<std::int64_t>{3}), model::set(n, "strides", std::vector<std::int64_t>{2});
  model::set(n, "pads", {1, 1});
  pb::NodeProto& pool = m.add("MaxPool", {"a"}, "c");
  model::set(pool, "kernel_shape", std::vector<std::int64_t>{2}),
      model::set(pool, "strides", std::vector<std::int64_t>{2});
  m.add("GlobalAveragePool", {"c"}, "y");
  CHECK(layers_of(m.bytes()) ==
        "network<image<3, 1, 8>, conv1d<4, 3, 2, pad<1>>, max_pool2d<kernel<1, 2>, stride<2>>, "
        "global_avg_pool2d>;");
}

TEST_CASE("onnx import: a rule that a file's network breaks is named by its sentence", "[onnx]") {
  model m({1, 3});
  m.tensor("w", {3, 3}, counted(9)), m.add("Relu", {"x"}, "a"), m.add("MatMul", {"a", "w"}, "main").set_name("head");
  m.add("Sigmoid", {"a"}, "y");
  pb::ModelProto file = m.file;
  file.mutable_graph()->add_output()->set_name("y"), file.mutable_graph()->add_output()->set_name("main");
  CHECK(
      complaint(file.SerializeAsString(), onnx_fault::unsupported) ==
      "onnx: x.onnx: node 1, \"head\" (MatMul) must be a layer that typenet accepts; found dense<3>, which "
      "breaks the rule \"named_output: main, val and names that begin with val_ are reserved\"; change the network and "
      "export it again, or write it in C++ and load its weights with load_safetensors");
}
