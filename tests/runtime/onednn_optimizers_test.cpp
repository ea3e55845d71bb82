// SPDX-License-Identifier: MIT
// Compares the vector loop of every optimizer with its recurrence in double, and networks that oneDNN trains with
// reference.
#include "support/one_batch.hpp"
#include "support/catch.hpp"
#include "support/larger.hpp"
#include "support/recurrences.hpp"

#include <dsl/warning.hpp>
#include <dsl/dsl.hpp>
#include <dsl/executors/host/instructions.hpp>
#include <dsl/executors/host/vector_kernels.hpp>
#include <dsl/executors/host/update.hpp>
#include <dsl/executors/onednn.hpp>
#include <dsl/towers.hpp>
#include <dsl/towers/engine.hpp>
#include <dsl/training/initialize.hpp>

#include <cmath>
#include <vector>

namespace {

using namespace dsl;
using dsl::test::recurrence;

using model = network<image<3, 8, 8>, conv_module<16, 3>, max_pool2d<2, 2>, flatten, dense<3>, softmax>;
bool const silent = (on_warning = [](char const*) {}, true);

std::vector<float> parameters_of(engine& e) {
  std::vector<float> all;
  for (int k = 0; k < e.graph().size.parameters; ++k) {
    std::vector<float> v(static_cast<std::size_t>(e.graph().parameters[k].count()));
    e.read_parameter(k, v.data());
    all.insert(all.end(), v.begin(), v.end());
  }
  return all;
}
double distance(std::vector<float> const& a, std::vector<float> const& b) {
  REQUIRE(a.size() == b.size());
  double off = 0, all = 0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    double const x = static_cast<double>(a[i]), y = static_cast<double>(b[i]);
    off += (x - y) * (x - y), all += y * y;
  }
  return std::sqrt(off / all);
}

template <class Executor>
std::vector<float> trained(Executor const& on, update_rule const& rule, towers const& t, int steps) {
  engine_options const o{.seed = 3, .update = rule, .verify = &verify};
  std::unique_ptr<engine> const e = make_towers(on, model::view(), o, t);
  initialize(*e, 3);
  int const size = 10, program = e->prepare(mode::training, size);
  for (int s = 0; s < steps; ++s) {
    std::vector<float> images;
    std::vector<std::int32_t> labels;
    for (int i = 0; i < size * 192; ++i) images.push_back(static_cast<float>(std::sin(0.37 * i + 1.3 * s)));
    for (int n = 0; n < size; ++n) labels.push_back((n + s) % 3);
    e->run(program, test::one_batch{images.data(), {labels.data()}, size, static_cast<std::uint64_t>(s), 0.005});
  }
  if (auto* group = dynamic_cast<detail::towers_engine*>(e.get()))
    for (int i = 1; i < t.count; ++i) CHECK(parameters_of(group->at(i)) == parameters_of(group->at(0)));
  return parameters_of(*e);
}

}  // namespace

TEST_CASE("onednn: every optimizer's vector loop follows the recurrence, in parts") {
  for (recurrence const& wanted : test::recurrences())
    for (int const count : {16, 64, 1008})
      for (auto const set : {host::instructions::baseline, host::instructions::avx2, host::instructions::avx512}) {
        if (!host::has(set)) continue;
        INFO(wanted.name << ", " << count << " numbers, " << host::name_of(set));
        auto const n = static_cast<std::size_t>(count);
        std::vector<float> p(n), g(n), slots(3 * n);
        std::vector<double> exact(n);
        std::vector<test::recurrence_state> state(n);
        for (std::size_t i = 0; i < n; ++i)
          exact[i] = static_cast<double>(p[i] = static_cast<float>(std::sin(static_cast<double>(i) + 1)));
        for (int s = 0; s < 8; ++s) {
          for (std::size_t i = 0; i < n; ++i) {
            g[i] = static_cast<float>(std::cos(0.7 * static_cast<double>(i) * s) + 0.1);
            wanted.step(state[i], s + 1, 0.01, exact[i], static_cast<double>(g[i]));
          }
          host::update_call<float> const c{
              &wanted.rule, 0.01, static_cast<std::uint64_t>(s), 1, p.data(), g.data(), slots.data(), count, count};
          for (int part = 0; part < 3; ++part)
            host::vector_kernels_of(set).update_rows(
                {&c, count / 16 * part / 3 * 16, count / 16 * (part + 1) / 3 * 16});
        }
        double worst = 0;
        for (std::size_t i = 0; i < n; ++i)
          worst = dsl::test::larger(worst, std::fabs(static_cast<double>(p[i]) - exact[i]));
        CHECK(worst < 2e-5);
      }
}

TEST_CASE("onednn: networks train as reference does, on towers too, all of them with the same bits") {
  for (update_rule const& rule :
       {adam{.epsilon = 1e-3}.rule(), adamw{.epsilon = 1e-3, .weight_decay = 0.1, .clip = {.norm = 0.2}}.rule(),
        rmsprop{.momentum = 0.9, .epsilon = 1e-2, .clip = {.value = 0.02}}.rule(),
        sgd{.momentum = 0.9, .nesterov = true, .weight_decay = 0.01, .clip = {.norm = 0.2}}.rule(),
        sgd{.momentum = 0.9, .weight_decay = 0.1, .decoupled_decay = true}.rule(),
        sgd{.momentum = 0.9, .rate_in_velocity = false, .clip = {.value = 0.02}}.rule()}) {
    std::vector<float> const wanted = trained(reference{}, rule, {}, 10);
    CHECK(distance(trained(onednn{.threads = 2}, rule, {}, 10), wanted) < 2e-4);
    CHECK(trained(onednn{.threads = 1}, rule, {}, 10) == trained(onednn{.threads = 1}, rule, {}, 10));
    CHECK(distance(trained(onednn{.threads = 1}, rule, {.count = 3}, 10),
                   trained(reference{}, rule, {.count = 3}, 10)) < 2e-4);
  }
}
