// SPDX-License-Identifier: MIT
#pragma once

#include <dsl/training/initialize.hpp>
#include <dsl/towers/engine.hpp>
#include <memory>
#include <string>
#include <vector>

#include "support/one_batch.hpp"

#include "cuda/tower_training.hpp"

// Checks that hold for towers however their devices communicate. A null `collectives` means on the host.

namespace dsl_test {

/// One engine per rank, each with its thread and its device, without a towers_engine around them.
struct engine_group {
  in_process_group ranks;
  dsl::detail::pinned_threads threads;
  std::vector<std::unique_ptr<cu::engine>> engines;

  /// Uses options_of(rank), for engines that do not fit each other.
  template <class F>
  engine_group(simulated_cuda const& on, graph_view const& g, int count, F options_of)
      : ranks(count),
        threads(count, std::vector<dsl::detail::core_set>(static_cast<std::size_t>(count)).data()),
        engines(static_cast<std::size_t>(count)) {
    std::vector<std::string> const said = on_all([&](int r) {
      engine_options o = options_of(r);
      o.group = &ranks.at(r);
      simulated_cuda const mine = on.for_tower({r, count, r});
      engines[static_cast<std::size_t>(r)] = std::make_unique<cu::engine>(*on.calls, g, o, mine.settings);
    });
    for (std::string const& s : said) REQUIRE(s == "");
  }
  ~engine_group() {
    on_all([&](int r) { engines[static_cast<std::size_t>(r)].reset(); });
  }
  cu::engine& at(int r) const { return *engines[static_cast<std::size_t>(r)]; }
  /// Runs f(rank) on every rank's thread, and returns the message of each exception, or "". A failure ends it for the
  /// others.
  template <class F>
  std::vector<std::string> on_all(F f) {
    std::vector<std::string> said(static_cast<std::size_t>(ranks.ranks()));
    threads.run(
        [&](int r) {
          try {
            f(r);
          } catch (error const& e) {
            said[static_cast<std::size_t>(r)] = e.what();
            ranks.abort("another rank failed");
          }
        },
        [](int) {});
    return said;
  }
};

/// Compares with towers of the reference in double: parts of different sizes, one without a sample, both storages.
inline void check_against_reference(cu::api const& a, int count, tower_policy const& policy,
                                    cu::device_collectives const* collectives) {
  graph_view const g = all_modules::view();
  towers const t{.count = count, .policy = policy};
  std::vector<int> const sizes{10, 3};  // four towers: 2, 2, 2, 4 and 0, 0, 0, 3, or 3, 3, 2, 2 and 1, 1, 1, 0
  INFO(name_of(t, sizes));
  trained const wanted = train(*towers_on(reference<double>{}, g, keras_rules, t), sizes, 6);
  for (precision p : {precision::fp32_strict, precision::bf16})
    check_near(train(*towers_on(simulated_cuda(a, count, p, collectives), g, keras_rules, t), sizes, 6), wanted, p);
  if (policy.moments == tower_moments::synchronized) return;
  // PyTorch's momentum and unbiased running variance
  check_near(
      train(*towers_on(simulated_cuda(a, count, precision::fp32_strict, collectives), g, torch_rules, t), {10}, 2),
      train(*towers_on(reference<double>{}, g, torch_rules, t), {10}, 2), precision::fp32_strict);
}

/// Checks that towers without batch_norm, or with a synchronized one, train as one device does.
inline void check_against_one(cu::api const& a, int count, tower_policy const& policy,
                              cu::device_collectives const* collectives) {
  towers const t{.count = count, .policy = policy};
  auto const check = [&](graph_view const& g, engine_options const& o, towers const& many) {
    INFO(name_of(many, {10, 3}));
    trained const wanted = train(*simulated_cuda(a, 1).make_engine(g, o), {10, 3}, 6);
    check_near(train(*towers_on(simulated_cuda(a, count, precision::fp32_strict, collectives), g, o, many), {10, 3}, 6),
               wanted, precision::fp32_strict);
  };
  check(no_batch_norm::view(), torch_rules, t);
  check(all_modules::view(), torch_rules, {.count = count, .policy = synchronized(policy)});
}

/// Computes the gradients with which towers update: the sum, in tower order, of one engine's gradients of each part.
inline void check_gradients(cu::api const& a, int count, precision p, cu::device_collectives const* collectives,
                            double bound) {
  graph_view const g = all_modules::view();
  towers const t{.count = count};
  auto const many = towers_on(simulated_cuda(a, count, p, collectives), g, keras_rules, t);
  auto const single = simulated_cuda(a, 1, p).make_engine(g, keras_rules);
  initialize(*many, 5);
  initialize(*single, 5);
  drawn_batch const data(g, 10, 1);
  many->run(many->prepare(mode::training, 10), data.view(7, 0));
  std::vector<std::vector<float>> sums(static_cast<std::size_t>(g.size.parameters));
  auto const gradient_of = [&](engine& e, int k) {
    std::vector<float> v(static_cast<std::size_t>(g.parameters[k].count()));
    dynamic_cast<cu::engine&>(e).read_gradient(k, v.data());
    return v;
  };
  for (int i = 0; i < count; ++i) {
    batch_part const part = part_of(10, count, i, t.policy);
    dsl::test::one_batch mine = data.view(7, 0);
    mine.input += part.first * g.shape_of(g.nodes[0].output).size();
    mine.target.labels += part.first, mine.size = part.size;
    single->run(single->prepare(mode::training, part), mine);
    for (int k = 0; k < g.size.parameters; ++k) {
      if (!g.parameters[k].trainable()) continue;
      std::vector<float> const share = gradient_of(*single, k);
      std::vector<float>& sum = sums[static_cast<std::size_t>(k)];
      if (sum.empty()) sum.assign(share.size(), 0);
      for (std::size_t j = 0; j < share.size(); ++j) sum[j] += share[j];
    }
  }
  for (int k = 0; k < g.size.parameters; ++k) {
    if (!g.parameters[k].trainable()) continue;
    INFO("parameter " << k << " of node " << g.parameters[k].node);
    std::vector<float> const& wanted = sums[static_cast<std::size_t>(k)];
    double largest = 1e-12, worst = 0;
    for (float x : wanted) largest = std::fmax(largest, std::fabs(static_cast<double>(x)));
    for (int i = 0; i < count; ++i) {
      std::vector<float> const got = gradient_of(many->at(i), k);
      for (std::size_t j = 0; j < wanted.size(); ++j)
        worst = dsl::test::larger(worst, std::fabs(static_cast<double>(got[j]) - static_cast<double>(wanted[j])));
    }
    CHECK(worst <= bound * largest);
  }
}

/// Checks that towers that gather their parts from their own device's memory agree with towers that get them from the
/// host.
inline void check_resident(cu::api const& a, int count, int batch, bool shuffle,
                           cu::device_collectives const* collectives) {
  graph_view const g = all_modules::view();
  dataset const data = drawn_data({3, 9, 9}, 5, 43);
  shift_and_flip const augment{.width = 0.2};
  simulated_cuda const on(a, count, precision::fp32_strict, collectives);
  auto const fed = towers_on(on, g, keras_rules, {.count = count, .policy = all_reduce});
  initialize(*fed, 5);
  int const program = fed->prepare(mode::training, batch);
  auto const own = towers_on(on, g, keras_rules, {.count = count, .policy = all_reduce});
  initialize(*own, 5);
  int const resident = own->prepare_resident(data, augment, batch, shuffle);
  REQUIRE(resident >= 0);
  CHECK(own->prepare_resident(data, augment, batch, shuffle) == resident);
  CHECK(own->prepare(mode::training, batch) != resident);
  batch_loader loader(
      data, {.batch_size = batch, .seed = keras_rules.seed, .shuffle = shuffle, .drop_last = true, .augment = augment});
  std::uint64_t step = 0;
  for (int epoch = 0; epoch < 2; ++epoch) {
    int const first = epoch == 1 ? 2 : 0;  // a run that resumes in the middle of an epoch
    loader.start(epoch, first);
    own->start_epoch(resident, epoch, first);
    while (auto const* x = loader.next()) {
      fed->run(program, dsl::test::one_batch{x->inputs[0], x->targets[0], batch, step, 0.01});
      own->run(resident, {.size = batch, .step = step, .learning_rate = 0.01});
      INFO("step " << step);
      CHECK(own->metrics(resident).loss == approx(fed->metrics(program).loss).epsilon(1e-6));
      ++step;
    }
  }
  CHECK(step > 3);
  trained got{{}, parameters_of(*fed), parameters_of(own->at(count - 1))};
  for (std::size_t k = 0; k < got.begin.size(); ++k)
    for (std::size_t i = 0; i < got.begin[k].size(); ++i)
      CHECK(got.parameters[k][i] == approx(got.begin[k][i]).epsilon(1e-4).margin(1e-5));
}

}  // namespace dsl_test
