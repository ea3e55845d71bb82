// SPDX-License-Identifier: MIT
// Tests that benchmarks/predict_gpu derives the launches of a step from the plan alone: the same as the executor
// records on the simulated device, with bytes and operations computed by hand; also the times that follow from them.
#include "../../benchmarks/cuda_step.hpp"
#include "../../benchmarks/gpu_time_model.hpp"

#include "operations/joined.hpp"
#include "support/catch.hpp"
#include "support/gpu/further_convolutions.hpp"
#include "support/moving_networks.hpp"
#include "support/normed_networks.hpp"
#include "support/product_networks.hpp"
#include "support/all_kernels.hpp"
#include "support/simulated_device/simulated_device.hpp"

using namespace dsl;
using bench::gpu_launch;

namespace {

/// Each kind of layer of MiniGoogLeNet, smaller, and more: an added branch, and a bias without batch_norm.
using all_layers = network<image<3, 16, 16>, conv_module<8, 3, 3>, inception_module<8, 16>, downsample_module<8>,
                           inception_module<16, 8>, add<conv2d<24, 1>, conv2d<24, 3>>, relu, max_pool2d<2>,
                           avg_pool2d<3>, flatten, dropout<0.5>, dense<10>, softmax>;

template <class Model>
std::vector<gpu_launch> predicted(int batch, mode m, precision on) {
  cu::storage const t = cu::storage_of(on);
  return bench::gpu_launches(Model::view(),
                             make_plan(Model::view(), {.batch = batch, .mode = m, .target = cu::target_for(t)}), t)
      .all();
}
long count(std::vector<gpu_launch> const& launches, gpu_launch::maker by) {
  return std::count_if(launches.begin(), launches.end(), [&](gpu_launch const& l) { return l.by == by; });
}
gpu_launch const& find(std::vector<gpu_launch> const& launches, std::string_view what) {
  auto const found =
      std::find_if(launches.begin(), launches.end(), [&](gpu_launch const& l) { return l.what == what; });
  REQUIRE(found != launches.end());
  return *found;
}

}  // namespace

TEST_CASE("a step's launches are predicted as they are recorded", "[gpu]") {
  dsl_test::add_all_kernels();
  dsl_test::simulated_device device({.seed = 2});
  for (bool train : {true, false})
    for (precision p : {precision::bf16, precision::fp32_strict}) {
      bench::measured_step<all_layers> const step(
          device.api(),
          {.train = train, .batch = 4, .precision = p, .steps = 3, .warmup = 1, .pictures = 12, .cache = ""});
      test::watched_calls::recorded_step const recorded = test::watched_calls::last_recorded();
      std::vector<gpu_launch> const launches = predicted<all_layers>(4, train ? mode::training : mode::inference, p);
      INFO((train ? "training" : "inference"));
      // Convolutions of 16-bit numbers write their slices of a concat's buffer.
      auto const copies =
          std::count_if(launches.begin(), launches.end(), [](gpu_launch const& l) { return l.what == "copy"; });
      if (!train) CHECK(copies == (p == precision::bf16 ? 0 : 5));
      CHECK(recorded.convolutions > 5);
      CHECK(count(launches, gpu_launch::maker::cudnn) == recorded.convolutions);
      CHECK(count(launches, gpu_launch::maker::ours) == recorded.kernels);
      CHECK(count(launches, gpu_launch::maker::copy) == recorded.copies);
    }
  CHECK(device.report() == "");
}

namespace {

template <class Model>
void predicts_a_training_step(dsl_test::simulated_device& device) {
  bench::measured_step<Model> const step(
      device.api(),
      {.train = true, .batch = 4, .precision = precision::bf16, .steps = 2, .warmup = 1, .pictures = 8, .cache = ""});
  test::watched_calls::recorded_step const recorded = test::watched_calls::last_recorded();
  CHECK(count(predicted<Model>(4, mode::training, precision::bf16), gpu_launch::maker::ours) == recorded.kernels);
}

}  // namespace

TEST_CASE("launches of layers that move numbers are predicted as they are recorded", "[gpu]") {
  dsl_test::add_all_kernels();
  dsl_test::simulated_device device({.seed = 2});
  predicts_a_training_step<test::moving_network>(device);
  predicts_a_training_step<test::enlarging_network>(device);
  predicts_a_training_step<test::token_network>(device);
  predicts_a_training_step<test::odd_token_network>(device);
  predicts_a_training_step<test::frozen_tokens_network>(device);
  CHECK(device.report() == "");
}

TEST_CASE("launches of operations with a fixture are predicted as they are recorded", "[gpu]") {
  dsl_test::add_all_kernels();
  dsl_test::simulated_device device({.seed = 2});
  predicts_a_training_step<test::joined_fixtures>(device);
  CHECK(device.report() == "");
}

TEST_CASE("launches of grouped, dilated and transposed convolutions are predicted as they are recorded", "[gpu]") {
  dsl_test::add_all_kernels();
  dsl_test::simulated_device device({.seed = 2});
  predicts_a_training_step<test::grouped_network>(device);
  predicts_a_training_step<test::spread_network>(device);
  predicts_a_training_step<test::transposed_network>(device);
  CHECK(device.report() == "");
}

TEST_CASE("launches of products are predicted as they are recorded", "[gpu]") {
  dsl_test::add_all_kernels();
  dsl_test::simulated_device device({.seed = 2});
  predicts_a_training_step<test::multiplied_network>(device);
  predicts_a_training_step<test::softmax_of_pixels>(device);
  CHECK(device.report() == "");
}

TEST_CASE("launches of normalisations within a sample are predicted as they are recorded", "[gpu]") {
  dsl_test::add_all_kernels();
  dsl_test::simulated_device device({.seed = 2});
  predicts_a_training_step<test::normed_network>(device);
  predicts_a_training_step<test::responding_network>(device);
  predicts_a_training_step<test::frozen_norms_network>(device);
  CHECK(device.report() == "");
}

TEST_CASE("bytes and operations of launches", "[gpu]") {
  using model = network<image<4, 6, 6>, conv2d<8, 3>, batch_norm<>, relu, flatten, dense<5>, softmax>;
  std::vector<gpu_launch> const launches = predicted<model>(10, mode::training, precision::bf16);
  long long const x = 10 * 36 * 4 * 2, y = 10 * 36 * 8 * 2, kernel = 8 * 4 * 9 * 2;
  CHECK(find(launches, "convolution").bytes() == x + y + kernel);
  CHECK(find(launches, "convolution").flops == 2.0 * 10 * 36 * 8 * 4 * 9);
  CHECK(find(launches, "convolution").of == "0.conv2d");
  CHECK(find(launches, "convolution_weights").flops == 2.0 * 10 * 36 * 8 * 4 * 9);
  CHECK(find(launches, "batch_norm_statistics").bytes() == y);
  CHECK(find(launches, "batch_norm_apply").bytes() == 2 * y);
  CHECK(find(launches, "batch_norm_gradients").bytes() == 2 * y);
  CHECK(find(launches, "batch_norm_backward").bytes() == 3 * y);
  CHECK(find(launches, "dense_forward").flops == 2.0 * 10 * 288 * 5);
  // 360 pixels in 128 rows a tile, 8 channels in 32 columns
  CHECK(find(launches, "convolution").tiles == 3);
  CHECK(find(launches, "convolution").fill == 360.0 * 8 / (3 * 128 * 32));
  for (gpu_launch const& l : launches) CHECK(l.what != "convolution_data");
  // If gradients are clipped by their norm, a launch reads them all.
  plan const clipped =
      make_plan(model::view(), {.batch = 10, .target = cu::target_for(cu::storage::f32), .gradient_norm = true});
  std::vector<gpu_launch> const more = bench::gpu_launches(model::view(), clipped, cu::storage::f32).all();
  CHECK(more.size() == launches.size() + 1);
  CHECK(find(more, "measure").bytes() == clipped.region_bytes[static_cast<int>(region::gradients)]);
}

TEST_CASE("times of launches", "[gpu]") {
  bench::gpu_facts const on{.name = "",
                            .multiprocessors = 10,
                            .memory_bytes_s = 1e9,
                            .l2_bytes_s = 4e9,
                            .l2_bytes = 1000,
                            .bf16_flops_s = 0,
                            .tf32_flops_s = 0,
                            .fp32_flops_s = 0};
  bench::reached const all{.bandwidth = 1, .arithmetic = 1, .kept_in_l2 = 1, .begin_s = 0, .least_s = 0, .copy_s = 0};
  std::vector<gpu_launch> launches(5);
  launches[0].moves = {{1, 400, true}};
  launches[1].moves = {{1, 400}, {2, 500, true}};  // 1 is in L2
  launches[2].moves = {{3, 400}, {4, 2000}};       // 1 leaves it, 4 never fits in
  launches[3].moves = {{1, 400}, {4, 2000}};       // neither is in it
  launches[4].by = gpu_launch::maker::cudnn, launches[4].flops = 3e9, launches[4].tiles = 15, launches[4].fill = 0.5;
  std::vector<bench::launch_time> times = bench::times_of(launches, on, all, 1e12);
  CHECK(times[0].all() == Approx(400e-9));
  CHECK(times[1].all() == Approx(500e-9));
  CHECK(times[2].all() == Approx(2400e-9));
  CHECK(times[3].all() == Approx(2400e-9));
  CHECK(times[4].all() == Approx(3e-3 / 0.5 / 0.75));  // two waves of ten for fifteen tiles

  // Two queues: if both need the memory, one waits while the arithmetic continues beside it; a wait holds.
  plan_streams queues{detail::list<int>(4), detail::list<int>(4, -1)};
  queues.stream[1] = queues.stream[2] = 1;
  std::vector<gpu_launch> four(4);
  for (int s = 0; s < 4; ++s) four[static_cast<std::size_t>(s)].step = four[static_cast<std::size_t>(s)].last_step = s;
  std::vector<bench::launch_time> needs(4);
  needs[0].memory = needs[1].memory = 1;
  CHECK(bench::queue_times(four, needs, queues).run() == Approx(2));
  needs[1] = {.arithmetic = 1};
  CHECK(bench::queue_times(four, needs, queues).run() == Approx(1));
  needs[1] = {.fixed = 0.5, .least = 0.25};
  needs[3] = {.least = 1};
  CHECK(bench::queue_times(four, needs, queues).run() == Approx(2));
  queues.wait[3] = 2;
  needs[2] = {.fixed = 0.5, .least = 1};
  CHECK(bench::queue_times(four, needs, queues).run() == Approx(3.25));

  // The first step of each queue waits for the second of the other: a plan that never ends has no time.
  queues.wait[0] = 2;
  CHECK(bench::queue_times(four, needs, queues).run() == Approx(4.25));
  queues.wait[1] = 3;
  CHECK_THROWS_AS(bench::queue_times(four, needs, queues).run(), std::invalid_argument);
}
