// SPDX-License-Identifier: MIT
// A program with the headers alone holds the code for its networks' operations only. Compares the bits of such engines
// with those of engines that hold everything, for networks that together have all operations.
#include "operations/joined.hpp"
#include "support/catch.hpp"

#include <dsl/dsl.hpp>
#include <dsl/graph/operation_set.hpp>
#include <dsl/models.hpp>
#include <dsl/models/maxvit.hpp>
#include <dsl/models/swin.hpp>
#include <dsl/models/swin_v2.hpp>

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

using namespace dsl;

namespace {

using mini = network<image<3, 32, 32>, minigooglenet<10>>;
// Kernels that several operations need are needed by one operation in each of these.
using pictures = network<image<3, 8, 8>, conv2d<16, 3, pad<1>>, relu6, conv2d<16, 3, pad<1>, groups<16>>, group_norm<4>,
                         channel_shuffle<4>, channel_scale, upsample2d<2>, zero_pad2d<1>, max_pool2d<2>, flatten,
                         dense<10>, softmax>;
using others = network<image<3, 8, 8>, conv2d<16, 3, pad<1>>,
                       multiply<identity, sequential<global_avg_pool2d, conv2d<16, 1>>>, local_response_norm<5>,
                       upsample2d<2, interpolation::bilinear>, avg_pool2d<2>, conv2d_transpose<8, 2, stride<2>>,
                       channel_slice<0, 4>, softmax2d, dropout<0.2>, flatten, dense<10>, softmax>;
using swin = network<
    image<3, 56, 56>,
    named<"features", numbered<conv2d<8, 4, stride<4>, pad<0>>, identity, layer_norm<>>,
          models::swin_stage<8, 2, 0, 2, 4, 0.0>, models::swin_merging<16>, models::swin_stage<16, 4, 2, 2, 4, 0.0>>,
    layer_norm<>, models::classifier<"head", 10>>;
using swin_v2 = network<image<3, 64, 64>,
                        named<"features", numbered<conv2d<8, 4, stride<4>, pad<0>>, identity, layer_norm<>>,
                              models::swin_v2_stage<8, 2, 0, 2, 4, 0.0>, models::swin_v2_merging<16>>,
                        layer_norm<>, models::classifier<"head", 10>>;
using vision = network<image<3, 16, 16>, conv2d<16, 4, stride<4>, pad<0>>, class_token, position_embedding,
                       pointwise_dense<48>, attention<4>, token_slice<0, 1>, flatten, dense<10>, softmax>;
using text = network<token_numbers<6>, embedding<20, 8>, position_embedding, pointwise_dense<24>, causal_attention<2>,
                     flatten, dense<10>, softmax>;
using waves = network<sequence<2, 12>, conv1d<4, 3>, lstm<4>, gru<4, last_step>, dense<10>, softmax>;

using fixtures = test::joined_fixtures;

/// The operations of which the networks above have none: input has no code, custom operations bring their own, and
/// transfer needs several devices.
constexpr operation_set left_out = detail::set_of(op::custom) | detail::set_of(op::transfer);

template <class... Networks>
constexpr operation_set operations_of_all = (operations_of(Networks::view()) | ...);

}  // namespace

TEST_CASE("a set has the operations of its network") {
  constexpr operation_set all = operations_of(mini::view());
  CHECK(detail::has(all, op::conv2d));
  CHECK(detail::has(all, op::lstm, op::concat));
  CHECK(!detail::has(all, op::lstm, op::attention));
  CHECK((all & detail::grouped_convolutions) == 0);
  CHECK((all & detail::functions_but_relu) == 0);
  constexpr operation_set more = operations_of(pictures::view());
  CHECK((more & detail::grouped_convolutions) != 0);
  CHECK((more & detail::functions_but_relu) != 0);
  constexpr int count = operations::count;
  STATIC_REQUIRE(count < 62);
  constexpr operation_set every = (operation_set{1} << count) - 1;  // a new operation belongs in the networks above
  CHECK((operations_of_all<mini, pictures, others, swin, swin_v2, vision, text, waves, fixtures> & every) ==
        (every & ~left_out));
}

namespace {

/// Returns the probabilities after two steps of training.
std::vector<float> probabilities(std::unique_ptr<engine> made, shape const& input, bool tokens) {
  trainer t(std::move(made), 0.01);
  constexpr int samples = 6;
  std::vector<float> numbers(static_cast<std::size_t>(samples * input.size()));
  for (std::size_t i = 0; i < numbers.size(); ++i)
    numbers[i] = tokens ? static_cast<float>(i * 7 % 20) : std::sin(static_cast<float>(i));
  std::vector<std::int32_t> labels;
  for (int i = 0; i < samples; ++i) labels.push_back(i % 10);
  for (int step = 0; step < 2; ++step) t.train_on_batch(numbers, labels);
  return t.predict(in_memory_classes(input, numbers, 10, labels));
}

template <class Network>
void check(bool tokens = false) {
  constexpr operation_set only = operations_of(Network::view());
  graph_view const g = Network::view();
  engine_options const o = detail::options_of<Network>(sgd{.learning_rate = 0.01, .momentum = 0.9}.rule(), {});
  auto const same = [&](auto const& on) {
    std::vector<float> const less = probabilities(on.template make_engine_for<only>(g, o), g.shape_of(0), tokens);
    bool const same_bits = less == probabilities(on.make_engine(g, o), g.shape_of(0), tokens);
    CHECK(same_bits);
    CHECK(std::isfinite(less[0]));
  };
  for (auto const set : {instructions::baseline, instructions::automatic})
    same(native{.threads = 2, .instructions = set});
  if (g.size.nodes < 60) same(reference{});  // slow
}

}  // namespace

TEST_CASE("engines with less code give the same bits: pictures") {
  check<mini>();
  check<pictures>();
  check<others>();
  check<fixtures>();
}
TEST_CASE("engines with less code give the same bits: attention") {
  check<swin>();
  check<swin_v2>();
  check<vision>();
  check<text>(true);
}
TEST_CASE("engines with less code give the same bits: sequences") { check<waves>(); }
