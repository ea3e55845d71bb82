// SPDX-License-Identifier: MIT
// Tests several CUDA engines on several simulated devices that communicate through the host.
#include "support/one_batch.hpp"
#include "support/catch.hpp"
#include "support/extent.hpp"

#include <filesystem>

#include <unistd.h>

#include "cuda/tower_failures.hpp"

using namespace dsl_test;
using Catch::Contains;

TEST_CASE("cuda towers that meet on the host agree with the reference's", "[cuda][towers]") {
  add_all_kernels();
  int const count = GENERATE(2, 4);
  if (dsl::test::only_a_sample() && count == 2) return;
  simulated_device device({.seed = 3, .when = timing::random, .devices = count});
  for (tower_policy const& policy : all_policies) check_against_reference(device.api(), count, policy, nullptr);
  CHECK(device.report() == "");
}

TEST_CASE("cuda towers that meet on the host train as one device does", "[cuda][towers]") {
  add_all_kernels();
  simulated_device device({.seed = 4, .devices = 4});
  for (int count : dsl::test::sampled({2, 4}))
    for (tower_policy const& policy : {host_merge, all_reduce}) check_against_one(device.api(), count, policy, nullptr);
  CHECK(device.report() == "");
}

TEST_CASE("cuda towers add up gradients in tower order, to the bit", "[cuda][towers]") {
  add_all_kernels();
  simulated_device device({.seed = 5, .when = timing::random, .devices = 4});
  for (int count : dsl::test::sampled({2, 4}))
    for (precision p : {precision::fp32_strict, precision::bf16}) check_gradients(device.api(), count, p, nullptr, 0);
  CHECK(device.report() == "");
}

TEST_CASE("cuda towers give the same bits in every run", "[cuda][towers]") {
  add_all_kernels();
  for (tower_policy const& policy : all_policies) {
    std::vector<trained> runs;
    for (std::uint64_t seed : {1U, 2U}) {  // other orders of streams, blocks and threads
      simulated_device device({.seed = seed, .when = timing::random, .devices = 3});
      towers const t{.count = 3, .policy = policy, .devices = {2, 0, 1}};
      auto const e = towers_on(simulated_cuda(device.api(), 3, precision::bf16), all_modules::view(), keras_rules, t);
      std::size_t const used = simulated::state::active->memory.used(0);
      for (int d : {1, 2}) CHECK(simulated::state::active->memory.used(d) == used);  // each on its own device
      CHECK(used > 0);
      runs.push_back(train(*e, {7}, 3));
    }
    CHECK(runs[0] == runs[1]);
  }
}

TEST_CASE("cuda towers clip the norm of their sum, and stay equal to the bit", "[cuda][towers]") {
  add_all_kernels();
  simulated_device device({.seed = 9, .when = timing::random, .devices = 3});
  graph_view const g = no_batch_norm::view();
  engine_options o = keras_rules;
  o.update = adamw{.epsilon = 1e-2, .clip = {.norm = 0.5}}.rule();
  for (precision p : {precision::fp32_strict, precision::bf16}) {
    auto const many = towers_on(simulated_cuda(device.api(), 3, p), g, o, {.count = 3});
    trained const three = train(*many, {7, 2}, 4);  // with two pictures, some towers have none
    for (int i : {1, 2}) CHECK(parameters_of(many->at(i)) == parameters_of(many->at(0)));
    auto const one = simulated_cuda(device.api(), 1, p).make_engine(g, o);
    trained const alone = train(*one, {7, 2}, 4);
    double const near = p == precision::bf16 ? 0.03 : 1e-4;
    REQUIRE(three.losses.size() == alone.losses.size());
    for (std::size_t i = 0; i < three.losses.size(); ++i)
      CHECK(three.losses[i] == approx(alone.losses[i]).epsilon(near));
  }
  CHECK(device.report() == "");
}

TEST_CASE("cuda towers evaluate and predict every sample once", "[cuda][towers]") {
  add_all_kernels();
  simulated_device device({.seed = 6, .devices = 4});
  graph_view const g = all_modules::view();
  long recorded[] = {0, 0};
  for (bool const fills : {false, true}) {  // smaller parts of a batch run in the programs of larger ones
    simulated_cuda on(device.api(), 4);
    on.settings.fill_batches = on.settings.copy_ahead = fills;
    auto const many = towers_on(on, g, keras_rules, {.count = 4});
    auto const one = simulated_cuda(device.api(), 1).make_engine(g, keras_rules);
    initialize(*many, 3);
    initialize(*one, 3);
    for (int size : {10, 3, 1}) {
      drawn_batch const data(g, size, 1);
      std::vector<std::vector<float>> results;
      std::vector<double> losses;
      for (engine* e : std::initializer_list<engine*>{many.get(), one.get()}) {
        long const before = device.calls("cudaGraphInstantiate");
        int const inference = e->prepare(mode::inference, size), evaluation = e->prepare(mode::evaluation, size);
        if (e == many.get()) recorded[fills] += device.calls("cudaGraphInstantiate") - before;
        e->run(inference, dsl::test::one_batch{data.images.data(), {}, size, 0, 0});
        results.emplace_back(static_cast<std::size_t>(5 * size));
        e->read_result(inference, results.back().data());
        e->run(evaluation, data.view(0, 0));
        losses.push_back(e->metrics(evaluation).loss);
        CHECK(e->stage(evaluation, data.view(0, 0)) == 0);  // a tower's part is not copied ahead
      }
      CHECK(results[0] == results[1]);
      CHECK(losses[0] == approx(losses[1]).epsilon(1e-6));
    }
  }
  CHECK(recorded[true] < recorded[false]);
  CHECK(device.report() == "");
}

TEST_CASE("cuda towers gather their parts of each batch in device memory", "[cuda][towers]") {
  add_all_kernels();
  simulated_device device({.seed = 7, .devices = 4});
  check_resident(device.api(), 2, 10, true, nullptr);
  check_resident(device.api(), 4, 10, false, nullptr);
  check_resident(device.api(), 4, 3, true, nullptr);  // one of them without a sample
  {
    auto const e = towers_on(simulated_cuda(device.api(), 2), all_modules::view(), keras_rules, {.count = 2});
    dataset huge = drawn_data({3, 9, 9}, 5, 43);
    CHECK_THROWS_AS(e->prepare_resident(huge, {}, 0, true), option_error);
    huge.size = 0x7fffffff;
    CHECK(e->prepare_resident(huge, {}, 4, true) == -1);
    CHECK(e->prepare(mode::training, 4) == 0);
  }
  {  // no memory for it, which the others cannot know: an error, for one tower as well
    auto const e = towers_on(simulated_cuda(device.api(), 1), all_modules::view(), keras_rules, {.count = 1});
    device.fail_call("cudaMalloc", 1, cudaErrorMemoryAllocation);
    CHECK_THROWS_WITH(e->prepare_resident(drawn_data({3, 9, 9}, 5, 43), {}, 4, true),
                      Catch::Contains("cudaMalloc failed: out of memory"));
  }
  CHECK(device.report() == "");
}

TEST_CASE("cuda towers on the host: two graphs a step, nothing allocated", "[cuda][towers]") {
  add_all_kernels();
  simulated_device device({.seed = 4, .devices = 2});
  {
    auto const e =
        towers_on(simulated_cuda(device.api(), 2, precision::bf16), all_modules::view(), keras_rules, {.count = 2});
    initialize(*e, 5);
    drawn_batch const data(e->graph(), 6, 1);
    int const program = e->prepare(mode::training, 6);
    e->run(program, data.view(0, 0.01));
    e->metrics(program);
    device.reset_calls();
    for (std::uint64_t s = 0; s < 3; ++s) {
      e->run(program, data.view(s, 0.01));
      e->metrics(program);
    }
    CHECK(device.calls("cudaGraphLaunch") == 3 * 2 * 2);
    CHECK(device.calls("cudaStreamSynchronize") == 3 * 2 * 2);
    CHECK(device.calls() - device.calls("cudaSetDevice") == 3 * 2 * 4);
  }
  CHECK(device.report() == "");
}

TEST_CASE("one cuda tower is the plain engine", "[cuda][towers]") {
  add_all_kernels();
  simulated_device device({.seed = 4});
  {
    auto const e = towers_on(simulated_cuda(device.api(), 1), all_modules::view(), keras_rules, {.count = 1});
    auto const one = simulated_cuda(device.api(), 1).make_engine(all_modules::view(), keras_rules);
    CHECK(train(*e, {6}, 3) == train(*one, {6}, 3));
    drawn_batch const data(e->graph(), 6, 1);
    int const program = e->prepare(mode::training, 6);
    device.reset_calls();
    e->run(program, data.view(0, 0.01));
    e->metrics(program);
    CHECK(device.calls() == 3);
    CHECK(device.calls("cudaGraphLaunch") == 1);
  }
  CHECK(device.report() == "");
}

TEST_CASE("cuda towers that meet in different order are told, on the host", "[cuda][towers]") {
  add_all_kernels();
  simulated_device device({.seed = 4, .devices = 2});
  {
    engine_group group(simulated_cuda(device.api(), 2), all_modules::view(), 2, [](int r) {
      engine_options o = keras_rules;
      o.moments = r == 0 ? tower_moments::synchronized : tower_moments::in_turn;
      return o;
    });
    drawn_batch const data(all_modules::view(), 2, 1);
    auto const said = group.on_all(
        [&](int r) { group.at(r).run(group.at(r).prepare(mode::training, {2, 2 * r, 4}), data.view(0, 0.1)); });
    for (std::string const& s : said)
      CHECK_THAT(s, Contains("rank 0 all_gather") || Contains("rank 0 calls all_gather"));
    for (std::string const& s : said) CHECK_THAT(s, Contains("in the same order"));
  }
  CHECK(device.report() == "");
}

TEST_CASE("cuda towers on the host: any vendor call may fail", "[cuda][towers]") {
  add_all_kernels();
  int const struck = fail_every_call([](auto arm, auto at_end, auto look) {
    simulated_device device({.seed = 5, .devices = 2});
    arm(device);
    std::string const said = whole_life(device.api(), nullptr, [&] { at_end(device); });
    look(device);
    return told{said, device.report()};
  });
  CHECK(struck > (dsl::test::everything() ? 200 : 40));
  WARN(struck << " calls failed in turn");
}

TEST_CASE("cuda towers on the host: a program is made on all of them or on none", "[cuda][towers]") {
  add_all_kernels();
  simulated_device device({.seed = 5, .devices = 2, .memory_of = {1U << 30, 14U << 20}});
  check_retry(device, device.api(), nullptr);
  check_unequal_devices(device, device.api(), nullptr);
  CHECK(device.report() == "");
}

TEST_CASE("cuda towers on the host: a step that fails ends training, an evaluation doesn't", "[cuda][towers]") {
  add_all_kernels();
  simulated_device device({.seed = 5, .devices = 2});
  for (int batch : {1, 4}) check_broken_step(device, device.api(), nullptr, batch);
  check_broken_evaluation(device, device.api(), nullptr);
  CHECK(device.report() == "");
}

TEST_CASE("cuda towers share a cache on disk", "[cuda][towers]") {
  add_all_kernels();
  simulated_device device({.seed = 5, .devices = 4});
  std::string const folder =
      (std::filesystem::temp_directory_path() / ("typenet-towers-" + std::to_string(::getpid())));
  simulated_cuda on(device.api(), 4, precision::bf16);
  on.settings.deterministic = false;
  on.settings.cache = folder;
  int compiled = 0;
  auto const life = [&] {
    auto const e = towers_on(on, all_modules::view(), keras_rules, {.count = 4, .policy = all_reduce});
    trained const t = train(*e, {8, 3}, 2);
    for (int i = 0; i < 4; ++i) compiled += dynamic_cast<cu::engine&>(e->at(i)).library().compiled();
    return t;
  };
  trained const first = life();
  CHECK(std::exchange(compiled, 0) > 0);
  std::size_t files = 0;
  for (auto const& f : std::filesystem::directory_iterator(folder)) {
    CHECK(f.path().extension() != ".tmp");
    CHECK(f.file_size() > 0);
    ++files;
  }
  CHECK(files > 10);
  device.reset_calls();
  trained const again = life();
  CHECK(compiled == 0);
  CHECK(device.calls("nvrtcCompileProgram") == 0);
  CHECK(device.calls("cudaEventElapsedTime") == 0);  // nothing is timed
  CHECK(again.losses[0] == approx(first.losses[0]).epsilon(0.01));
  std::filesystem::remove_all(folder);
  CHECK(device.report() == "");
}

TEST_CASE("cuda: parts that can't be are refused", "[cuda][towers]") {
  add_all_kernels();
  simulated_device device({.devices = 2});
  {
    auto const one = simulated_cuda(device.api(), 1).make_engine(tiny::view(), keras_rules);
    CHECK_THROWS_AS(one->prepare(mode::training, {0, 4, 4}), option_error);
    CHECK_THROWS_AS(one->prepare(mode::inference, 0), option_error);
    CHECK_THROWS_AS(one->run(7, {}), option_error);
    int const program = one->prepare(mode::training, 2);
    drawn_batch const data(tiny::view(), 2, 1);
    CHECK_THROWS_AS(one->run(program, dsl::test::one_batch{data.images.data(), {}, 2, 0, 0}), option_error);
    one->run(program, data.view(0, 0));
    one->run(program, {.size = 2});  // the current ones
    auto const many = towers_on(simulated_cuda(device.api(), 2), tiny::view(), keras_rules, {.count = 2});
    CHECK_THROWS_AS(many->at(1).prepare(mode::evaluation, {0, 4, 4}), option_error);
    CHECK_THROWS_WITH(towers_on(simulated_cuda(device.api(), 2), tiny::view(), keras_rules, {.count = 3}),
                      Contains("3 towers need devices 0 to 2; only devices 0 and 1 exist; use 2 towers or fewer"));
  }
  CHECK(device.report() == "");
}

TEST_CASE("dsl::cuda takes a tower's device, and counts devices without a driver, too", "[cuda][towers]") {
  static_assert(executor<cuda>);
  cuda const on{.precision = precision::tf32, .deterministic = true, .cache = "somewhere"};
  cuda const mine = on.for_tower({1, 4, 3});
  CHECK(mine.device == 3);
  CHECK((mine.precision == on.precision && mine.deterministic && mine.cache == on.cache));
  CHECK(cuda::devices() >= 0);
  CHECK(dsl::detail::factory_of(on, 4).devices == cuda::devices());
}
