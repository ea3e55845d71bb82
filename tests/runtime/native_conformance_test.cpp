// SPDX-License-Identifier: MIT
// Compares the native executor with reference in double, tensor by tensor, as tests/support/conformance.hpp explains,
// with every instruction set of this processor.
#include "support/one_batch.hpp"
#include "support/conformance.hpp"
#include "support/hard_numbers.hpp"
#include "support/larger.hpp"
#include "support/warnings.hpp"

#include <dsl/executors/native.hpp>
#include <dsl/executors/native/engine.hpp>
#include <dsl/training/initialize.hpp>

using namespace dsl;
using namespace dsl::test;

namespace {

instructions set_with(int lanes) {
  return lanes == 16 ? instructions::avx512 : lanes == 8 ? instructions::avx2 : instructions::baseline;
}
std::vector<instructions> sets() {
  std::vector<instructions> all;
  for (int lanes : checked_blocks()) all.push_back(set_with(lanes));
  return all;
}
constexpr std::initializer_list<int> thread_counts{2, 3, 4, 16, 7};

}  // namespace

std::unique_ptr<dsl::engine> dsl::test::make_checked(graph_view const& g, engine_options const& o, setup const& c) {
  return native{.threads = c.threads > 0 ? c.threads : 2, .instructions = set_with(c.block), .winograd = c.winograd}
      .make_engine(g, o);
}
std::vector<int> dsl::test::checked_blocks() {
  std::vector<int> all;
  for (int lanes : {16, 8, 4})
    if (host::has(set_with(lanes))) all.push_back(lanes);
  return all;
}

TEST_CASE("native agrees with reference: conv2d", "[conformance]") {
  check_convolutions<5>();
  check_convolutions<17>();
  check_convolutions<44>();
}
TEST_CASE("native agrees with reference: activations, dropout, custom operations", "[conformance]") {
  check_elementwise<5>();
  check_elementwise<32>();
}
TEST_CASE("native agrees with reference: batch_norm", "[conformance]") {
  check_batch_norm<5>();
  check_batch_norm<17>();
  check_batch_norm<16>();
  check_layer_norm<17>();
  check_group_norm<18>();
  check_groups<6>();
  check_groups<16>();
}
TEST_CASE("native agrees with reference: pools", "[conformance]") {
  check_operations<5>();
  check_operations<16>();
  check_pools<5>();
  check_upsampling<5>();
  check_channels<6>();
  check_channels<32>();
  check_tokens<5>();
  check_tokens<16>();
  check_sequences<5>();
  check_sequences<16>();
  check_recurrent<5>();
  check_recurrent<16>();
  check_attention<8>();
  check_attention<32>();
  check_windows<8>();
  check_windows<32>();
  check_upsampling<16>();
  check_pools<32>();
}
TEST_CASE("native agrees with reference: concat and add", "[conformance]") {
  check_joins<5>();
  check_joins<16>();
  check_joins<44>();
}
TEST_CASE("native agrees with reference: straight on pictures and flat inputs", "[conformance]") {
  check_on_pictures<3>();
  check_on_pictures<17>();
}
TEST_CASE("native agrees with reference: what ends a network", "[conformance]") { check_ends(); }
TEST_CASE("native agrees with reference: networks that nobody would write", "[conformance]") {
  check_random_networks(150);
}
TEST_CASE("native agrees with reference: MiniGoogLeNet", "[conformance]") {
  using model = network<image<3, 32, 32>, minigooglenet<10>>;
  for (auto set : only_a_sample() ? std::vector{sets().front()} : sets())
    for (bool winograd : sampled({false, true})) {
      INFO(host::name_of(set) << (winograd ? ", Winograd" : ", direct"));
      check_minigooglenet(
          native{.threads = 2, .instructions = set, .winograd = winograd}.make_engine(model::view(), keras), 1e-2);
    }
}
TEST_CASE("native agrees with reference: few comparisons needed other numbers", "[conformance]") {
  WARN(compared_again << " of " << compared << " comparisons made again with other numbers");
  if (!only_a_sample()) CHECK(compared_again <= compared / 100);
}

TEST_CASE("native: the same bits for any number of threads", "[conformance]") {
  using model = network<image<3, 15, 15>, conv_module<24, 3, 3>, inception_module<12, 20>, downsample_module<16>,
                        add<identity, conv2d<48, 3>>, conv2d<48, 3, 3, 1, padding::same, 48>, batch_norm<>, relu,
                        conv2d<36, 3, 3, 1, padding::same, 12>, layer_norm<>,
                        multiply<identity, sequential<global_avg_pool2d, conv2d<36, 1>, sigmoid>>, attention<2>,
                        conv2d<36, 1>, causal_attention<3>, conv2d<33, 5>, dropout<0.4>, avg_pool2d<2>, flatten,
                        dense<70>, relu, dense<7>, softmax>;
  using other = network<image<3, 12, 14>, conv2d<36, 3>, group_norm<3>, relu, local_response_norm<5>, channel_scale,
                        stochastic_depth<0.3>, concat<channel_slice<3, 20>, channel_slice<7, 17>>, sigmoid,
                        multiply<identity, conv2d<1, 1>>, max_pool2d<2>, upsample2d<2, interpolation::bilinear>,
                        conv2d<36, 1>, channel_shuffle<4>, upsample2d<2>, zero_pad2d<1, 2, 0, 0>,
                        conv2d_transpose<18, 3, stride<2>>, dropout<0.2>, class_token, position_embedding,
                        token_slice<2>, conv2d<7, 1>, softmax2d, global_avg_pool2d, flatten, dense<7>, softmax>;
  for (int lanes : checked_blocks())
    for (int batch : sampled({1, 2, 19, 5}))
      for (bool winograd : {true, false}) {
        INFO("batch " << batch << ", " << lanes << " lanes" << (winograd ? ", Winograd" : ", direct"));
        for (graph_view const& g : {model::view(), other::view()}) {
          auto const one = trained(g, batch, {lanes, winograd, 1});
          CHECK(same_bits(one, trained(g, batch, {lanes, winograd, 1})));
          for (int threads : sampled(thread_counts))
            CHECK(same_bits(one, trained(g, batch, {lanes, winograd, threads})));
        }
      }
}

TEST_CASE("native: a prediction does not depend on the other samples of its batch", "[conformance]") {
  using model = network<image<3, 15, 15>, conv_module<24, 3, 3>, inception_module<12, 20>, downsample_module<16>,
                        avg_pool2d<2>, flatten, dense<70>, relu, dense<7>, softmax>;
  int const batch = 5;
  std::vector<float> x(static_cast<std::size_t>(batch * model::input.size()));
  dice d(3);
  for (float& v : x) v = static_cast<float>(d.below(256)) / 64 - 2;
  for (auto set : sets()) {
    auto const e = native{.threads = 2, .instructions = set}.make_engine(model::view(), keras);
    initialize(*e, 4);
    std::vector<float> together(batch * 7), alone(7);
    int const all = e->prepare(mode::inference, batch), one = e->prepare(mode::inference, 1);
    e->run(all, test::one_batch{x.data(), {}, batch});
    e->read_result(all, together.data());
    for (int n = 0; n < batch; ++n) {
      e->run(one, test::one_batch{x.data() + n * model::input.size(), {}, 1});
      e->read_result(one, alone.data());
      INFO(host::name_of(set) << ", sample " << n);
      CHECK(std::memcmp(alone.data(), together.data() + static_cast<std::size_t>(n) * 7, 7 * sizeof(float)) == 0);
    }
  }
}

TEST_CASE("native: large means, NaNs, and running moments of four numbers", "[conformance]") {
  for (auto set : sets()) {
    INFO(host::name_of(set));
    native const on{.threads = 2, .instructions = set};
    for (float offset : {2.0F, 20.0F, 1e4F, 1e6F}) {
      check_variance_near<16, conv2d<16, 1>>(offset, on);
      check_variance_near<19, conv2d<19, 1>>(offset, on);
      check_variance_near<16>(offset, on);
      check_variance_near<19>(offset, on);
      check_variance_near<16>(offset, on, 2);
    }
    check_nan_is_kept<16>(on);
    check_nan_is_kept<20>(on);
    check_nan_is_kept_unfused(on);
    for (auto const& [options, wanted] : moved_by_one_sample()) {
      INFO("momentum " << options.batch_norm_momentum << (options.unbiased_running_variance ? ", unbiased" : ""));
      running_moments const now =
          moments_behind_step(compile<known_moments<0.8>>(on, sgd{.learning_rate = 0}, options), 1);
      CHECK(now.mean == approx(wanted.mean).epsilon(1e-6));
      CHECK(now.variance == approx(wanted.variance).epsilon(1e-6));
    }
  }
}

namespace {

/// Returns the largest difference between a parameter and reference's after three steps. No layer has a kink, and no
/// gradient is 0.
template <class Optimizer>
double strays(native const& on, Optimizer const& optimizer) {
  using model = network<image<20, 5, 6>, conv2d<33, 3>, dsl::tanh, avg_pool2d<2>, flatten, dense<4>, softmax>;
  int const batch = 3;
  std::vector<float> x(static_cast<std::size_t>(batch * model::input.size()));
  dice d(8);
  for (float& v : x) v = static_cast<float>(d.below(256)) / 128 - 1;
  std::int32_t const labels[batch] = {2, 0, 3};
  trainer ours = compile<model>(on, optimizer), theirs = compile<model>(reference<double>{}, optimizer);
  double worst = 0;
  for (int step = 0; step < 3; ++step) {
    ours.train_on_batch(x.data(), labels, batch);
    theirs.train_on_batch(x.data(), labels, batch);
  }
  for (int k = 0; k < ours.graph().size.parameters; ++k) {
    std::vector<float> a(static_cast<std::size_t>(ours.graph().parameters[k].count())), b(a.size());
    ours.engine().read_parameter(k, a.data());
    theirs.engine().read_parameter(k, b.data());
    for (std::size_t i = 0; i < a.size(); ++i)
      worst = larger(worst, std::fabs(static_cast<double>(a[i]) - static_cast<double>(b[i])));
  }
  return worst;
}

}  // namespace

// Runs three steps at a rate of 1e-3. Adam and RMSprop divide by the gradient's size, so the rounding of a small
// gradient changes the step by up to a thirtieth.
TEST_CASE("native: every optimizer moves parameters as in reference", "[conformance]") {
  for (auto set : sets())
    for (int threads : {1, 3}) {
      INFO(host::name_of(set) << ", threads " << threads);
      native const on{.threads = threads, .instructions = set};
      CHECK(strays(on, sgd{.learning_rate = 1e-3}) < 1e-6);
      CHECK(strays(on, sgd{.learning_rate = 1e-3, .momentum = 0.9}) < 1e-6);
      CHECK(strays(on, sgd{.learning_rate = 1e-3, .momentum = 0.9, .nesterov = true, .weight_decay = 0.1}) < 1e-6);
      CHECK(strays(on, adam{.learning_rate = 1e-3}) < 1e-4);
      CHECK(strays(on, rmsprop{.learning_rate = 1e-3}) < 1e-4);
    }
}

TEST_CASE("native: plain loops that take time are named, and warned of once", "[conformance]") {
  using model = network<image<18, 64, 64>, elementwise<bump>, global_avg_pool2d, dense<3>, softmax>;
  std::unique_ptr<engine> e;
  std::vector<std::string> const warned = test::warnings([&] {
    e = native{.threads = 2}.make_engine(model::view(), keras);
    for (mode m : {mode::training, mode::inference, mode::training}) e->prepare(m, 16);
  });
  CHECK_THAT(e->description(), Catch::Matchers::Contains(", plain loops for bump"));
  REQUIRE(warned.size() == 1);
  CHECK_THAT(warned[0], Catch::Matchers::Contains("native: there is no fast kernel for bump"));
}

TEST_CASE("native: operations of published networks have kernels, or loops on all threads", "[conformance]") {
  using model = network<image<3, 64, 64>, conv2d<36, 3>, layer_norm<>, conv2d<36, 3, 3, 1, padding::same, 36>,
                        multiply<identity, sequential<global_avg_pool2d, conv2d<36, 1>, sigmoid>>,
                        conv2d<36, 3, 3, 1, padding::same, 9>, group_norm<4>, local_response_norm<5>, channel_scale,
                        stochastic_depth<0.2>, channel_shuffle<2>, concat<channel_slice<1, 21>, channel_slice<0, 22>>,
                        max_pool2d<2>, upsample2d<2, interpolation::bilinear>, upsample2d<2>, zero_pad2d<1>,
                        dropout<0.1>, conv2d_transpose<21, 2, stride<2>>, softmax2d>;
  std::unique_ptr<engine> e;
  std::vector<std::string> const warned = test::warnings([&] {
    e = native{.threads = 2}.make_engine(model::view(), keras);
    e->prepare(mode::training, 8, target_kind::pixel_classes);
    e->prepare(mode::inference, 8);
  });
  CHECK(warned.empty());
  CHECK_THAT(e->description(), !Catch::Matchers::Contains("plain loops"));
}

TEST_CASE("native: attention has a kernel, whose memory grows with the tokens", "[conformance]") {
  using model = network<image<3, 24, 24>, conv2d<48, 1>, attention<2>, conv2d<48, 1>, causal_attention<4>,
                        global_avg_pool2d, dense<3>, softmax>;
  using larger = network<image<3, 48, 24>, conv2d<48, 1>, attention<2>, conv2d<48, 1>, causal_attention<4>,
                         global_avg_pool2d, dense<3>, softmax>;
  long long bytes[2] = {};
  std::vector<std::string> const warned = test::warnings([&] {
    for (int k : {0, 1}) {
      auto const e = native{.threads = 1}.make_engine(k == 0 ? model::view() : larger::view(), keras);
      for (mode m : {mode::training, mode::inference}) e->prepare(m, 16);
      CHECK_THAT(e->description(), !Catch::Matchers::Contains("attention"));
      bytes[k] = e->executor_bytes();
    }
  });
  for (std::string const& w : warned) CHECK_THAT(w, !Catch::Matchers::Contains("attention"));
  CHECK(bytes[0] > 0);
  CHECK(bytes[1] <= 2 * bytes[0]);
}

TEST_CASE("native: a description says what computes; options that make no sense are refused", "[conformance]") {
  using model = network<image<20, 9, 8>, conv2d<32, 3>, conv2d<8, 3, 3, 2>, conv2d<8, 3, 3, 1, padding::same, 8>,
                        conv2d<8, 3, 3, 2, padding::same, 4>, flatten, dense<3>, softmax>;
  for (auto set : sets()) {
    auto const e = native{.threads = 3, .instructions = set}.make_engine(model::view(), keras);
    std::string const arithmetic =
        detail::message({"native ", dsl::native_cpu::algorithm_version, ", ", host::name_of(set)});
    CHECK(e->description() == arithmetic + ", 3 threads");
    CHECK(e->arithmetic() == arithmetic);
    CHECK(e->executor_bytes() == 0);
    e->prepare(mode::training, 2);
    CHECK(e->executor_bytes() > 0);
    std::string const chosen = dynamic_cast<dsl::native_cpu::engine&>(*e).algorithms();
    CHECK(chosen.find("1 forward: F(4x4, 3x3)\n") != std::string::npos);
    CHECK(chosen.find("2 forward: direct\n") != std::string::npos);
    CHECK(chosen.find("2 backward data: direct\n") != std::string::npos);
    for (char const* pass : {"forward", "backward data", "backward weights"}) {
      CHECK(chosen.find(std::string("3 ") + pass + ": depthwise\n") != std::string::npos);
      CHECK(chosen.find(std::string("4 ") + pass + ": direct, ") != std::string::npos);
    }
    auto const direct = native{.instructions = set, .winograd = false}.make_engine(model::view(), keras);
    direct->prepare(mode::training, 2);
    CHECK(direct->arithmetic() == arithmetic + ", direct");
    CHECK(dynamic_cast<dsl::native_cpu::engine&>(*direct).algorithms().find("F(") == std::string::npos);
  }
  for (int threads : {-1, 1025})
    CHECK_THROWS_AS(native{.threads = threads}.make_engine(model::view(), keras), option_error);
  for (auto set : {instructions::avx2, instructions::avx512})
    if (!host::has(set)) CHECK_THROWS_AS(native{.instructions = set}.make_engine(model::view(), keras), option_error);
}

TEST_CASE("native: packed kernels are kept until their parameters change, once for all batch sizes", "[conformance]") {
  using model =
      network<image<16, 9, 9>, frozen<conv2d<32, 3>, conv2d<32, 1>>, conv2d<16, 3>, flatten, dense<3>, softmax>;
  std::vector<float> const pictures(4 * 16 * 81, 0.25F);
  std::int32_t const labels[4] = {0, 1, 2, 1};
  auto const e = native{.threads = 2}.make_engine(model::view(), keras);
  auto& own = dynamic_cast<dsl::native_cpu::engine&>(*e);
  auto const reference_engine = reference{}.make_engine(model::view(), keras);
  int const frozen_kernel = 0;
  REQUIRE(model::view().parameters[frozen_kernel].frozen);
  std::vector<float> kernel(static_cast<std::size_t>(model::view().parameters[frozen_kernel].count()));
  auto const write = [&](float scale) {
    for (std::size_t i = 0; i < kernel.size(); ++i) kernel[i] = scale * static_cast<float>(i % 7);
    for (engine* one : {e.get(), reference_engine.get()}) one->write_parameter(frozen_kernel, kernel.data());
  };
  for (int k = 1; k < model::view().size.parameters; ++k) {
    std::vector<float> some(static_cast<std::size_t>(model::view().parameters[k].count()));
    for (std::size_t i = 0; i < some.size(); ++i) some[i] = 0.01F * static_cast<float>(i % 5);
    for (engine* one : {e.get(), reference_engine.get()}) one->write_parameter(k, some.data());
  }
  auto const loss = [&](engine& one) {
    int const program = one.prepare(mode::training, 4);
    one.run(program, test::one_batch{pictures.data(), {labels}, 4, 0, 0});
    return one.metrics(program).loss;
  };
  write(0.01F);
  CHECK(loss(*e) == Approx(loss(*reference_engine)).epsilon(1e-4));
  write(0.02F);
  double const second = loss(*e);
  CHECK(second == Approx(loss(*reference_engine)).epsilon(1e-4));
  // Writes without the engine's knowledge, so the kernel is not packed anew.
  own.parameter_data(frozen_kernel)[0] += 1;
  CHECK(loss(*e) == second);
  write(0.02F);
  CHECK(loss(*e) == second);

  e->prepare(mode::inference, 4);
  long long const bytes = e->executor_bytes();
  e->prepare(mode::inference, 3);
  CHECK(e->executor_bytes() == bytes);
}
