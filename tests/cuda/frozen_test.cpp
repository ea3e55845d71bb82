// SPDX-License-Identifier: MIT
// Networks with frozen layers on the simulated device: in training, with towers, and after their weights have been
// written again; NVRTC. The kernel of their batch_norms is in batch_norm_kernels_test.cpp.
#include <dsl/executors/cuda/nvrtc.hpp>

#include "support/gpu/frozen.hpp"
#include "support/catch.hpp"
#include "support/kernels_of_plan.hpp"
#include "cuda/tower_training.hpp"

using namespace dsl_test;
using dsl::test::frozen_network;
using dsl::test::odd_frozen_network;

TEST_CASE("cuda agrees with reference: frozen layers", "[cuda]") {
  add_all_kernels();
  simulated_device device({.seed = 6});
  dsl::test::ledger l;
  dsl::test::check_frozen({.calls = device.api(), .workspace_limit = 1 << 18}, l);
  CHECK(l.findings().size() == (2 * 2 + 1) * 5);
  for (auto const& f : l.findings()) {
    INFO(f.what << ": measured " << f.measured << ", bound " << f.bound << " " << f.note);
    CHECK(f.is == dsl::test::finding::verdict::good);
  }
  CHECK(device.report() == "");
}

TEST_CASE("cuda: a training step with frozen layers is one graph, for which nothing is computed before", "[cuda]") {
  add_all_kernels();
  simulated_device device({.seed = 7});
  dsl::test::ledger l;
  dsl::test::gpu const on{.calls = device.api(), .workspace_limit = 1 << 18};
  dsl::test::check_calls(on.untimed(), l, frozen_network::view(), 4);
  CHECK(l.bad() == 0);
}

TEST_CASE("cuda: training does not change frozen layers, and they have neither gradients nor slots", "[cuda]") {
  add_all_kernels();
  precision const p = GENERATE(precision::fp32_strict, precision::bf16);
  simulated_device device({.seed = 8});
  graph_view const g = frozen_network::view();
  dsl::test::gpu const on{.calls = device.api(), .workspace_limit = 1 << 18, .deterministic = true};
  auto const e = on.make(g, keras_rules, p);
  auto const plain = reference<double>{}.make_engine(g, keras_rules);
  for (engine* x : {static_cast<engine*>(e.get()), plain.get()}) initialize(*x, 5), dsl::test::draw_frozen(*x);
  auto const before = parameters_of(*e);
  int const a = e->prepare(mode::training, 4), b = plain->prepare(mode::training, 4);
  auto const run = [&](std::uint64_t s) {
    drawn_batch const data(g, 4, s);
    e->run(a, data.view(s, 0.02));
    plain->run(b, data.view(s, 0.02));
    INFO("step " << s);
    CHECK(e->metrics(a).loss == Approx(plain->metrics(b).loss).epsilon(dsl::test::bounds_of(p).loss));
  };
  for (std::uint64_t s = 0; s < 3; ++s) run(s);
  int frozen = 0;
  for (int k = 0; k < g.size.parameters; ++k) {
    INFO("parameter " << k);
    bool const same = parameter_of(*e, k) == before[static_cast<std::size_t>(k)];
    bool const cancelled = g.parameters[k].role == role::bias && k + 1 < g.size.parameters &&
                           g.nodes[g.parameters[k + 1].node].kind == op::batch_norm && !g.parameters[k + 1].frozen;
    CHECK(same == (g.parameters[k].frozen || cancelled));
    std::vector<float> values(static_cast<std::size_t>(g.parameters[k].count()));
    if (!g.parameters[k].frozen) continue;
    ++frozen;
    CHECK_THROWS_AS(e->read_slot(0, k, values.data()), option_error);
  }
  CHECK(frozen == 20);
  // Weights that are loaded later also reach the kernels that contain a batch_norm, and the 16-bit copies.
  for (int k = 0; k < g.size.parameters; ++k) {
    std::vector<float> values = parameter_of(*plain, k);
    for (float& x : values) x *= g.parameters[k].frozen ? 1.5F : 1;
    e->write_parameter(k, values.data());
    plain->write_parameter(k, values.data());
  }
  for (std::uint64_t s = 3; s < 5; ++s) run(s);
}

TEST_CASE("cuda: a network of frozen layers only infers", "[cuda]") {
  using all_frozen = network<image<3, 8, 8>, frozen<conv2d<8, 3>, batch_norm<>, relu, flatten, dense<4>>, softmax>;
  add_all_kernels();
  for (precision p : {precision::fp32_strict, precision::bf16}) {
    simulated_device device({.seed = 9});
    graph_view const g = all_frozen::view();
    dsl::test::gpu const on{.calls = device.api(), .workspace_limit = 1 << 18, .deterministic = true};
    auto const e = on.make(g, keras_rules, p);
    auto const plain = reference<double>{}.make_engine(g, keras_rules);
    for (engine* x : {static_cast<engine*>(e.get()), plain.get()}) initialize(*x, 5), dsl::test::draw_frozen(*x);
    int const a = e->prepare(mode::inference, 3), b = plain->prepare(mode::inference, 3);
    drawn_batch const data(g, 3, 1);
    e->run(a, data.view(0, 0));
    plain->run(b, data.view(0, 0));
    CHECK(dsl::test::difference(dsl::test::result_of(*e, a, 3), dsl::test::result_of(*plain, b, 3)).apart <
          dsl::test::bounds_of(p).results);
  }
}

TEST_CASE("cuda towers with frozen layers agree with the reference's", "[cuda][towers]") {
  add_all_kernels();
  simulated_device device({.seed = 10, .when = timing::random, .devices = 3});
  std::vector<int> const sizes{7, 2};  // 2, 2, 3 and 0, 0, 2; or 3, 2, 2 and 1, 1, 0
  for (tower_policy const& policy : all_policies) {
    towers const t{.count = 3, .policy = policy};
    INFO(name_of(t, sizes));
    for (graph_view const& g : {frozen_network::view(), odd_frozen_network::view()}) {
      trained const wanted = train(*towers_on(reference<double>{}, g, keras_rules, t), sizes, 3);
      for (precision p : {precision::fp32_strict, precision::bf16})
        check_near(train(*towers_on(simulated_cuda(device.api(), 3, p), g, keras_rules, t), sizes, 3), wanted, p);
    }
  }
  CHECK(device.report() == "");
}

TEST_CASE("NVRTC compiles the kernels of frozen layers", "[nvrtc]") {
  using enum dsl::cu::storage;
  for (auto const& [t, architecture] :
       {std::pair{bf16, "sm_80"}, std::pair{bf16, "sm_90a"}, std::pair{f32, "sm_100"}}) {
    std::vector<dsl::cu::any_kernel> specs;
    for (auto const& view : {frozen_network::view(), odd_frozen_network::view()}) {
      kernels_of_plan all(view, t);
      all.add_plan(mode::training, 4, false);
      for (auto const& s : all.all())
        if (s.function.find("batch_norm_") != std::string_view::npos) specs.push_back(s);
    }
    CHECK(std::count_if(specs.begin(), specs.end(),
                        [](auto const& s) { return s.function == "frozen_batch_norm_backward"; }) == 3);
    std::string const code = dsl::cu::compile({}, dsl::cu::program_text(specs), architecture);
    for (std::size_t k = 0; k < specs.size(); ++k)
      CHECK(code.find("\0.text.k" + std::to_string(k) + '\0') != std::string::npos);
  }
}
