// SPDX-License-Identifier: MIT
// Tests several CUDA engines on several simulated devices that sum gradients through a simulated NCCL, within their
// graphs.
#include <dsl/training/initialize.hpp>
#include "support/catch.hpp"
#include "support/extent.hpp"

#include "cuda/nccl_towers.hpp"

using namespace dsl_test;
using Catch::Contains;

TEST_CASE("cuda towers with NCCL agree with the reference's", "[cuda][towers]") {
  add_all_kernels();
  int const count = GENERATE(2, 4);
  if (dsl::test::only_a_sample() && count == 2) return;
  timing const when = GENERATE(timing::late, timing::random);
  if (dsl::test::only_a_sample() && when == timing::late) return;
  connected all({.seed = 3, .when = when, .devices = count});
  for (tower_policy const& policy : all_policies) check_against_reference(all.api(), count, policy, &all.collectives);
  CHECK(all.device.report() == "");
}

TEST_CASE("cuda towers with NCCL train as one device does", "[cuda][towers]") {
  add_all_kernels();
  connected all({.seed = 4, .devices = 4});
  for (int count : dsl::test::sampled({2, 4}))
    for (tower_policy const& policy : {host_merge, all_reduce})
      check_against_one(all.api(), count, policy, &all.collectives);
  CHECK(all.device.report() == "");
}

TEST_CASE("cuda towers with NCCL: a synchronized batch_norm in one of two branches waits for the others",
          "[cuda][towers]") {
  add_all_kernels();
  using branches = network<image<3, 4, 4>, conv2d<4, 3>, relu,
                           add<conv2d<4, 1>, sequential<conv2d<4, 3>, batch_norm<>>>, flatten, dense<3>, softmax>;
  graph_view const g = branches::view();
  {  // without synchronisation kernels' gradients are on the second queue
    plan const p = make_plan(g, {.batch = 3, .mode = mode::training, .target = cu::target_for(cu::storage::f32)});
    plan_streams const on = find_streams(g, p);
    int beside = 0;
    for (int s = 0; s < p.steps.size(); ++s) beside += p.steps[s].what == action::backward_weights && on.stream[s] == 1;
    REQUIRE(beside == 4);
  }
  for (std::uint64_t seed = 1; seed <= 4; ++seed) {
    connected all({.seed = seed, .when = timing::random, .devices = 2});
    trained const wanted = train(*simulated_cuda(all.api(), 1).make_engine(g, keras_rules), {6}, 3);
    check_near(train(*towers_on(simulated_cuda(all.api(), 2, precision::fp32_strict, &all.collectives), g, keras_rules,
                                {.count = 2, .policy = synchronized(all_reduce)}),
                     {6}, 3),
               wanted, precision::fp32_strict);
    CHECK(all.device.report() == "");
  }
}

TEST_CASE("cuda towers with NCCL add up gradients", "[cuda][towers]") {
  add_all_kernels();
  connected all({.seed = 5, .when = timing::random, .devices = 4});
  for (int count : dsl::test::sampled({2, 4}))
    for (precision p : {precision::fp32_strict, precision::bf16})
      check_gradients(all.api(), count, p, &all.collectives, 1e-6);
  CHECK(all.device.report() == "");
}

TEST_CASE("cuda towers with NCCL gather their parts of each batch in device memory", "[cuda][towers]") {
  add_all_kernels();
  connected all({.seed = 7, .devices = 4});
  check_resident(all.api(), 4, 10, true, &all.collectives);
  check_resident(all.api(), 4, 3, false, &all.collectives);
  CHECK(all.device.report() == "");
}

TEST_CASE("cuda towers with NCCL: one graph a step, its collectives recorded once", "[cuda][towers]") {
  add_all_kernels();
  tower_policy const policy = GENERATE(as<tower_policy>{}, host_merge, all_reduce, synchronized(all_reduce));
  connected all({.seed = 4, .devices = 2});
  {
    auto const e = towers_on(simulated_cuda(all.api(), 2, precision::bf16, &all.collectives), all_modules::view(),
                             keras_rules, {.count = 2, .policy = policy});
    initialize(*e, 5);
    drawn_batch const data(e->graph(), 6, 1);
    int const program = e->prepare(mode::training, 6);
    bool const synchronized = policy.moments == tower_moments::synchronized;
    // two buckets, and moments that are gathered or summed; or one bucket, and two for each of four launches of
    // batch_norms
    CHECK(all.device.calls("ncclAllReduce") == 2 * (synchronized ? 1 + 4 : 2 + (policy == all_reduce ? 1 : 0)));
    CHECK(all.device.calls("ncclAllGather") == 2 * (synchronized ? 4 : policy == all_reduce ? 0 : 1));
    e->run(program, data.view(0, 0.01));
    e->metrics(program);
    all.device.reset_calls();
    for (std::uint64_t s = 0; s < 3; ++s) {
      e->run(program, data.view(s, 0.01));
      e->metrics(program);
    }
    CHECK(all.device.calls("cudaGraphLaunch") == 3 * 2);
    CHECK(all.device.calls("ncclAllReduce") + all.device.calls("ncclAllGather") == 0);
    CHECK(all.device.calls("cudaMalloc") + all.device.calls("cudaMallocHost") == 0);
    CHECK(all.device.calls("cudaStreamSynchronize") == 0);  // it could wait for ever
  }
  CHECK(all.device.calls("ncclCommDestroy") == 2);
  CHECK(all.device.calls("ncclCommAbort") == 0);
  CHECK(all.device.report() == "");
}

namespace {

/// Counts the nodes of a recorded graph that come neither before nor after node n.
int beside(std::vector<simulated::recorded_node> const& nodes, std::size_t n) {
  std::vector<bool> before(nodes.size()), after(nodes.size());
  before[n] = after[n] = true;
  for (std::size_t i = n + 1; i-- > 0;)
    if (before[i])
      for (std::size_t b : nodes[i].before) before[b] = true;
  for (std::size_t i = n; i < nodes.size(); ++i)
    for (std::size_t b : nodes[i].before) after[i] = after[i] || after[b];
  int count = 0;
  for (std::size_t i = 0; i < nodes.size(); ++i) count += !before[i] && !after[i];
  return count;
}

}  // namespace

TEST_CASE("cuda towers with NCCL: the first bucket travels while the backward pass goes on", "[cuda][towers]") {
  add_all_kernels();
  connected all({.seed = 4, .devices = 2});
  {
    auto const e = towers_on(simulated_cuda(all.api(), 2, precision::bf16, &all.collectives), all_modules::view(),
                             keras_rules, {.count = 2});
    e->prepare(mode::training, 6);
    auto const graphs = simulated::state::active->all<simulated::graph_exec>();
    REQUIRE(graphs.size() == 2);
    auto const streams = simulated::state::active->all<simulated::stream>();
    CHECK(std::count_if(streams.begin(), streams.end(), [](auto const& q) { return q->priority == -5; }) == 2);
    for (auto const& g : graphs) {
      std::vector<std::size_t> sums;
      std::size_t update = 0;
      auto const& nodes = *g->nodes;
      for (std::size_t i = 0; i < nodes.size(); ++i) {
        if (std::string_view(nodes[i].what) == "ncclAllReduce") sums.push_back(i);
        if (std::string_view(nodes[i].what) == "update") update = i;
      }
      REQUIRE(sums.size() == 2);
      REQUIRE(update > sums[1]);
      CHECK(beside(nodes, sums[0]) >= 8);  // convolutions and batch_norms of earlier layers
      CHECK(beside(nodes, update) <= 1);   // it waits for all but the copy of the metrics
    }
  }
  CHECK(all.device.report() == "");
}

TEST_CASE("cuda towers that meet in different order are told, with NCCL", "[cuda][towers]") {
  add_all_kernels();
  connected all({.seed = 4, .devices = 2}, soon);
  auto const start = std::chrono::steady_clock::now();
  {
    engine_group group(simulated_cuda(all.api(), 2, precision::fp32_strict, &all.collectives), all_modules::view(), 2,
                       [](int r) {
                         engine_options o = keras_rules;
                         o.moments = r == 0 ? tower_moments::synchronized : tower_moments::in_turn;
                         return o;
                       });
    drawn_batch const data(all_modules::view(), 2, 1);
    auto const said = group.on_all([&](int r) {
      int const program = group.at(r).prepare(mode::training, {2, 2 * r, 4});
      group.at(r).run(program, data.view(0, 0.1));
      group.at(r).metrics(program);
    });
    for (std::string const& s : said) CHECK_THAT(s, Contains("nccl: rank "));
    CHECK_THAT(said[0] + said[1], Contains("another rank has stopped or is making a different call"));
    auto const again = group.on_all([&](int r) { group.at(r).run(0, data.view(1, 0.1)); });
    for (std::string const& s : again) CHECK_THAT(s, Contains("an earlier step failed"));
  }
  CHECK(seconds_since(start) < 20);
  CHECK_THAT(all.device.report(), Contains("misuse: deadlock: collective 0 is ncclAll") && !Contains("leak"));
}

TEST_CASE("dsl::nccl is what dsl::cuda takes", "[cuda][towers]") {
  cuda const on{.collectives = &dsl::nccl};
  CHECK(on.for_tower({0, 2, 1}).collectives == &dsl::nccl);
}
