// SPDX-License-Identifier: MIT
// Parts of a network with factors of the learning rate and of weight decay, and constants of layers: the kernel has the
// bits of host::update; networks on the simulated device agree with the reference, with towers too; NVRTC.
#include <dsl/executors/cuda/nvrtc.hpp>
#include <dsl/executors/host/update.hpp>

#include <algorithm>
#include <cstring>

#include "support/gpu/scaled.hpp"
#include "support/catch.hpp"
#include "support/run_kernel.hpp"
#include "cuda/tower_training.hpp"

namespace kernels = dsl::cu::kernels;
using dsl::test::scaled_network;
using namespace dsl_test;

namespace {

bool same_bits(std::vector<float> const& a, std::vector<float> const& b) {
  return a.size() == b.size() && std::memcmp(a.data(), b.data(), 4 * a.size()) == 0;
}

}  // namespace

TEMPLATE_TEST_CASE("update_by_parts has the bits of host::update for the rule of each part", "[kernels]", float, bf16) {
  std::pair<update_rule, double> const rules[] = {
      {{.weight_decay = 5e-4}, 0.05},
      {{.momentum = 0.9, .weight_decay = 1e-2, .nesterov = true}, 1e-2},
      {{.momentum = 0.7, .weight_decay = 1e-3, .nesterov = true, .rate_in_velocity = false}, 0.3},
      {dsl::sgd{.momentum = 0.9, .clip = {.norm = 2, .value = 0.3}}.rule(), 1e-2},
      {adam{.epsilon = 1e-3, .corrected_epsilon = true, .weight_decay = 1e-2}.rule(), 1e-2},
      {adamw{.weight_decay = 0.1, .clip = {.norm = 3}}.rule(), 1e-2},
      {rmsprop{.momentum = 0.9, .centered = true, .weight_decay = 1e-3}.rule(), 1e-3},
  };
  update_factors const factors[] = {{}, {.learning_rate = 0.1}, {.weight_decay = 0}, {0.7, 3}, {0, 0}};
  std::uint64_t const step = 41;
  for (auto const& [rule, rate] : rules)
    for (int const count : {67, 1024}) {
      INFO("method " << static_cast<int>(rule.method) << ", momentum " << rule.momentum << ", " << count << " numbers");
      bool const adaptive = rule.method != update_method::sgd;  // mean squares are not negative
      dsl_test::numbers p(count, -1, 1), g(count, -1, 1), v(3 * count, adaptive ? 0 : -1, 1);
      std::vector<TestType> stage, copy(static_cast<std::size_t>(count));
      std::vector<unsigned char> map(static_cast<std::size_t>(count + 15) / 16);
      std::vector<int> part_of(map.size());
      std::vector<float> mixed = g.values, wanted_p = p.values, wanted_v = v.values;
      for (std::size_t i = 0; i < mixed.size(); ++i) {
        stage.push_back(stored<TestType>(uniform(-1, 1)));
        map[i / 16] = i / 16 % 2 == 0;
        if (map[i / 16]) mixed[i] = value_of(stage[i]);
        part_of[i / 16] = static_cast<int>(i / 16 * 3 % 5);
      }
      float scale = 0.37F;
      kernels::part_rates rates[5];
      for (int k = 0; k < 5; ++k) {
        update_rule own = rule;
        own.weight_decay *= factors[k].weight_decay;
        update_numbers const now = own.at(rate * factors[k].learning_rate, step);
        rates[k] = {static_cast<float>(now.rate), static_cast<float>(now.shrink),
                    own.decoupled ? 0 : static_cast<float>(own.weight_decay)};
        for (int i = 0; i < count; i += 16)
          if (part_of[static_cast<std::size_t>(i / 16)] == k)
            host::update<float>({&own, rate * factors[k].learning_rate, step,
                                 rule.clip.norm > 0 ? static_cast<double>(scale) : 1, wanted_p.data() + i,
                                 mixed.data() + i, wanted_v.data() + i, count, std::min(16, count - i)});
      }
      // The rates of step_state must not matter, apart from epsilon.
      cu::step_state state{.step = step,
                           .position = 640,
                           .learning_rate = 77,
                           .shrink = 66,
                           .epsilon = static_cast<float>(rule.at(rate, step).epsilon)};
      run(kernels::update_by_parts(storage_of<TestType>, rule, count, {.copies = true, .staged = true, .advance = 64}),
          p.data(), static_cast<float const*>(g.data()), rule.slots() > 0 ? v.data() : nullptr, copy.data(),
          static_cast<TestType const*>(stage.data()), static_cast<unsigned char const*>(map.data()),
          static_cast<float const*>(rule.clip.norm > 0 ? &scale : nullptr), &state,
          static_cast<int const*>(part_of.data()), static_cast<kernels::part_rates const*>(rates));
      CHECK(same_bits(p.values, wanted_p));
      CHECK(same_bits(v.values, wanted_v));
      for (std::size_t i = 0; i < copy.size(); ++i)
        CHECK(value_of(copy[i]) == value_of(stored<TestType>(static_cast<double>(wanted_p[i]))));
      CHECK(state.step == step + 1);
      CHECK(state.position == 704);
    }
}

TEST_CASE("cuda agrees with reference: scaled layers", "[cuda]") {
  add_all_kernels();
  simulated_device device({.seed = 11});
  dsl::test::ledger l;
  dsl::test::check_scaled({.calls = device.api(), .workspace_limit = 1 << 18}, l);
  CHECK(l.findings().size() == 5 * 5 + 2);
  for (auto const& f : l.findings()) {
    INFO(f.what << ": measured " << f.measured << ", bound " << f.bound << " " << f.note);
    CHECK(f.is == dsl::test::finding::verdict::good);
  }
  CHECK(device.report() == "");
}

TEST_CASE("cuda: each part of a network moves at its own rate", "[cuda]") {
  // One step without momentum and decay: every part has moved by its factor times the rate times the gradient.
  add_all_kernels();
  simulated_device device({.seed = 12});
  graph_view const g = scaled_network::view();
  dsl::test::gpu const on{.calls = device.api(), .workspace_limit = 1 << 18, .deterministic = true};
  auto const e = on.make(g, {.seed = 11, .verify = &verify}, precision::fp32_strict);
  initialize(*e, 5);
  auto const before = parameters_of(*e);
  int const program = e->prepare(mode::training, 5);
  e->run(program, drawn_batch(g, 5, 1).view(0, 0.5));
  std::vector<double> seen;
  for (int k = 0; k < g.size.parameters; ++k) {
    parameter const& p = g.parameters[k];
    if (!p.trainable()) continue;
    INFO("parameter " << k);
    if (std::find(seen.begin(), seen.end(), p.factors.learning_rate) == seen.end())
      seen.push_back(p.factors.learning_rate);
    std::vector<float> gradient(static_cast<std::size_t>(p.count()));
    e->read_gradient(k, gradient.data());
    auto const after = parameter_of(*e, k), from = before[static_cast<std::size_t>(k)];
    bool right = true;
    for (std::size_t i = 0; i < gradient.size(); ++i) {
      float const rate = static_cast<float>(0.5 * p.factors.learning_rate);
      right = right && after[i] == from[i] - rate * gradient[i];
    }
    CHECK(right);
  }
  CHECK(seen.size() == 5);
}

TEST_CASE("cuda: training does not change constants", "[cuda]") {
  add_all_kernels();
  simulated_device device({.seed = 15});
  graph_view const g = dsl::test::constants_network::view();
  engine_options o = keras_rules;
  o.update = adamw{.weight_decay = 0.1}.rule();
  for (precision p : {precision::fp32_strict, precision::bf16}) {
    auto const e =
        dsl::test::gpu{.calls = device.api(), .workspace_limit = 1 << 18, .deterministic = true}.make(g, o, p);
    auto const begin = train(*e, {6}, 3).begin;
    int constants = 0;
    for (int k = 0; k < g.size.parameters; ++k) {
      if (!g.parameters[k].constant) continue;
      ++constants;
      CHECK(parameter_of(*e, k) == begin[static_cast<std::size_t>(k)]);
      CHECK(parameter_of(*e, k)[0] == static_cast<float>(g.parameters[k].initial.number));
    }
    CHECK(constants == 4);
  }
}

TEST_CASE("cuda: scaled layers have the same bits on one queue, on two, and if both are timed", "[cuda]") {
  add_all_kernels();
  std::vector<std::vector<std::vector<float>>> runs;
  for (int const queues : {1, 2, 0}) {
    simulated_device device({.seed = 13});
    dsl::test::gpu const on{.calls = device.api(), .workspace_limit = 1 << 18, .deterministic = true, .queues = queues};
    auto const e = on.make(scaled_network::view(), dsl::test::torch_rules, precision::bf16);
    train(*e, {5}, 3);
    runs.push_back(parameters_of(*e));
  }
  CHECK(runs[0] == runs[1]);
  CHECK(runs[0] == runs[2]);
}

TEST_CASE("cuda towers with scaled layers agree with the reference's", "[cuda][towers]") {
  add_all_kernels();
  simulated_device device({.seed = 14, .when = timing::random, .devices = 3});
  std::vector<int> const sizes{7, 2};  // 2, 2, 3 and 0, 0, 2; or 3, 2, 2 and 1, 1, 0
  engine_options o = dsl::test::torch_rules;
  o.batch_norm_momentum = -1, o.unbiased_running_variance = false;
  for (tower_policy const& policy : all_policies) {
    towers const t{.count = 3, .policy = policy};
    INFO(name_of(t, sizes));
    for (graph_view const& g : {scaled_network::view(), dsl::test::constants_network::view()}) {
      trained const wanted = train(*towers_on(reference<double>{}, g, o, t), sizes, 3);
      for (precision p : {precision::fp32_strict, precision::bf16})
        check_near(train(*towers_on(simulated_cuda(device.api(), 3, p), g, o, t), sizes, 3), wanted, p);
    }
  }
  CHECK(device.report() == "");
}

TEST_CASE("NVRTC compiles updates by parts", "[nvrtc]") {
  using enum cu::storage;
  for (auto const& [t, architecture] :
       {std::pair{bf16, "sm_80"}, std::pair{bf16, "sm_90a"}, std::pair{f32, "sm_100"}}) {
    std::vector<cu::any_kernel> specs;
    for (update_rule const& rule : {dsl::sgd{.momentum = 0.9, .weight_decay = 1e-4}.rule(), adam{}.rule(),
                                    adamw{.clip = {.norm = 1}}.rule(), rmsprop{.centered = true}.rule()})
      for (long long const count : {1023LL, 4096LL})
        specs.push_back(kernels::update_by_parts(t, rule, count, {.copies = t == bf16, .staged = t == bf16}));
    std::string const code = cu::compile({}, cu::program_text(specs), architecture);
    for (std::size_t k = 0; k < specs.size(); ++k)
      CHECK(code.find("\0.text.k" + std::to_string(k) + '\0') != std::string::npos);
  }
}
