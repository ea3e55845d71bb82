// SPDX-License-Identifier: MIT
#include "support/budgets.hpp"
#include "support/catch.hpp"
#include "support/extent.hpp"
#include "support/random_graph.hpp"
#include "support/sanitized.hpp"

#include <dsl/dsl.hpp>
#include <dsl/models.hpp>
#include <dsl/placement.hpp>
#include <dsl/plan/verify.hpp>
#include <dsl/towers.hpp>

#include <cstdint>
#include <string>
#include <vector>

using namespace dsl;
using namespace dsl::literals;

using namespace dsl::test;

namespace {

using mini = network<image<3, 32, 32>, minigooglenet<10>>;
using mini_160 = memory_budget<64, 160_MiB, mini>;

template <class F>
std::string message_of(F f) {
  try {
    f();
  } catch (option_error const& e) {
    return e.what();
  }
  return "";
}

int steps_again(plan const& p) {
  int n = 0;
  for (step const& s : p.steps) n += s.again ? 1 : 0;
  return n;
}

}  // namespace

TEST_CASE("with a budget, training has the same bits in fewer bytes", "[budget]") {
  int const steps = DSL_TEST_ASAN || DSL_TEST_TSAN ? 1 : 3;
  CHECK(same_bits(trained<mini>(native{}, 64, steps), trained<mini_160>(native{}, 64, steps)));
  CHECK(same_bits(trained<mini>(native{}, 5, steps), trained<mini_160>(native{}, 5, steps)));
  CHECK(same_bits(trained<mini>(reference{}, 2, 1), trained<mini_160>(reference{}, 2, 1)));
}

TEST_CASE("every operation gives the same bits when it runs again", "[budget]") {
  graph_view const g = varied::view();
  for (int block : {1, 8, 16}) {
    plan_options const o{.batch = 8, .target = {.channel_block = block}};
    recomputation const least = choose_recomputation(g, o, 1);
    plan const p = make_plan(g, o, least.again);
    CHECK(verify(g, p).holds());
    CHECK(p.bytes() == least.bytes);
  }
  // little more than the least: convolutions run again, too
  using tight = within<8, 2'250'000, varied>;
  CHECK(same_bits(trained<varied>(reference{}, 8, 3), trained<tight>(reference{}, 8, 3)));
  CHECK(same_bits(trained<varied>(reference{}, 3, 3), trained<tight>(reference{}, 3, 3)));
  CHECK(same_bits(trained<varied>(native{}, 8, 3), trained<tight>(native{}, 8, 3)));
  using tuned = network<image<3, 16, 16>, frozen<conv_module<16, 3, 3>, conv_module<16, 3, 3>>, conv_module<32, 3, 3>,
                        frozen<conv_module<32, 3, 3>>, conv_module<32, 3, 3>, global_avg_pool2d, dense<10>, softmax>;
  CHECK(same_bits(trained<tuned>(native{}, 8, 3), trained<within<8, 1'040'000, tuned>>(native{}, 8, 3)));
  using parts = pipeline<2, varied>;
  CHECK(same_bits(trained<parts>(native{}, 8, 3), trained<within<8, 2'050'000, parts>>(native{}, 8, 3)));
  CHECK(same_bits(trained<replicate<2, varied>>(native{}, 16, 3), trained<replicate<2, tight>>(native{}, 16, 3)));
}

TEST_CASE("the arena is exactly the plan's, whatever ran first", "[budget]") {
  samples const batch(mini::view().shape_of(0), 64);
  trainer t = compile<mini_160>(native{.threads = 1}, sgd{.learning_rate = 0.01, .momentum = 0.9});
  std::vector<float> out(64 * 10);
  t.predict_on_batch(batch.images.data(), 64, out.data());
  CHECK(t.engine().arena_bytes() <= mini_160::limit.bytes);
  t.train_on_batch(batch.images, batch.labels);
  plan_options o{.batch = 64, .target = {.channel_block = t.engine().channel_block(), .library_writes_slices = true}};
  recomputation const chosen = choose_recomputation(mini::view(), o, mini_160::limit.bytes);
  CHECK(t.engine().arena_bytes() == chosen.bytes);
  CHECK(chosen.bytes <= mini_160::limit.bytes);
  CHECK(make_plan(mini::view(), o).bytes() > mini_160::limit.bytes);
  std::vector<std::int32_t> const labels(batch.labels.begin(), batch.labels.begin() + 5);
  std::vector<float> const images(batch.images.begin(), batch.images.begin() + 5 * 3 * 32 * 32);
  t.train_on_batch(images, labels);
  CHECK(t.engine().arena_bytes() == chosen.bytes);
}

TEST_CASE("a batch that the budget is not for is refused, with its bytes", "[budget]") {
  samples const batch(mini::view().shape_of(0), 65);
  trainer t = compile<mini_160>(native{.threads = 1}, sgd{.learning_rate = 0.01});
  std::string const trains = message_of([&] { t.train_on_batch(batch.images, batch.labels); });
  CHECK(trains.find("is for batches of up to 64; found 65, whose plan takes ") != std::string::npos);
  std::vector<float> out(65 * 10);
  CHECK(message_of([&] { t.predict_on_batch(batch.images.data(), 65, out.data()); }).find("found 65") !=
        std::string::npos);
  auto const data = synthetic_pictures(130, 130, 1);
  CHECK(message_of([&] { t.fit(data.train, {.epochs = 1, .batch_size = 65}); }).find("found 65") != std::string::npos);
  CHECK(message_of([&] { t.evaluate(data.test, 65); }).find("found 65") != std::string::npos);
  CHECK(t.evaluate(data.test, 64).loss > 0);
}

TEST_CASE("what the compiler cannot know is refused by the engine", "[budget]") {
  samples const batch(mini::view().shape_of(0), 64);
  trainer small = compile<within<64, 20_MiB, mini>>(native{.threads = 1}, adam{});
  std::string const refused = message_of([&] { small.train_on_batch(batch.images, batch.labels); });
  CHECK(refused.find("memory_budget: it allows 20971520 bytes") == 0);
  CHECK(refused.find("takes at least 12") != std::string::npos);  // about 122 MB
  CHECK_THROWS_AS(compile<mini_160>(native{.threads = 1}, sgd{.learning_rate = 0.01},
                                    towers{.count = 2, .policy = {.moments = tower_moments::synchronized}}),
                  option_error);
}

TEST_CASE("the checker refuses what runs again too often, too early or not whole", "[budget]") {
  using net =
      network<image<3, 8, 8>, inception_module<16, 16>, conv_module<16, 3, 3>, global_avg_pool2d, dense<10>, softmax>;
  graph_view const g = net::view();
  detail::list<bool> const all(g.size.tensors, true);
  plan const right = make_plan(g, {.batch = 2}, all);
  REQUIRE(verify(g, right).holds());
  auto const find = [](plan const& p, bool again) {
    for (int s = 0; s < p.steps.size(); ++s)
      if (p.steps[s].kind == op::batch_norm && p.steps[s].what == action::forward && p.steps[s].again == again)
        return s;
    return -1;
  };
  constexpr plan_rule rule = plan_rule::what_runs_again_repeats_the_first_time;
  plan twice = right;
  twice.steps.insert(find(twice, true), twice.steps[find(twice, true)]);
  CHECK(verify(g, twice).broken == rule);
  plan early = right;
  early.steps[find(early, false)].again = true;
  CHECK(verify(g, early).broken == rule);
  plan part = right;  // one slice of the concat is missing
  part.steps.erase(find(part, true));
  CHECK(verify(g, part).broken == plan_rule::every_read_has_its_write);
}

TEST_CASE("a budget is kept or the least bytes are named", "[budget]") {
  auto const check = [](graph_view const& g, char const* name) {
    plan_options const o{.batch = 16, .target = {.channel_block = 16, .library_writes_slices = true}};
    long long const all = make_plan(g, o).bytes();
    long long const least = choose_recomputation(g, o, 1).bytes;
    CHECK(choose_recomputation(g, o, all).again.size() == 0);
    for (int percent : {80, 65, 50}) {
      recomputation const r = choose_recomputation(g, o, all * percent / 100);
      plan const p = make_plan(g, o, r.again);
      INFO(name << ", " << percent << "%: " << all << " -> " << r.bytes << ", least " << least);
      CHECK(verify(g, p).holds());
      CHECK(p.bytes() == r.bytes);
      CHECK((r.bytes <= all * percent / 100 || r.bytes == least));
      CHECK(steps_again(p) > 0);
    }
  };
  check(mini::view(), "minigooglenet");
  check(network<image<3, 224, 224>, models::resnet18<>>::view(), "resnet18");
  check(network<image<3, 224, 224>, models::mobilenet_v2<>>::view(), "mobilenet_v2");
  check(network<image<3, 224, 224>, models::vgg16<>>::view(), "vgg16");
}

TEST_CASE("in networks of up to twelve nodes the choice is the cheapest", "[budget]") {
  int const networks = test::only_a_sample() ? 12 : 120;
  int most = 0, met = 0;
  for (int index = 0; index < networks; ++index) {
    test::dice d(1000 + static_cast<std::uint64_t>(index));
    test::graph_values g;
    int at = g.image({d.between(1, 20), d.between(6, 12), d.between(6, 12)});
    while (g.tensors() < 10) {
      switch (d.below(6)) {
        case 0:
        case 1: at = g.conv(at, 16 * d.between(1, 3), d.of({1, 3})); break;
        case 2: at = g.norm(at); break;
        case 3: at = g.act(at, d.of({function::relu, function::tanh, function::gelu})); break;
        case 4:
          if (g.shape_of(at).height > 1 && g.shape_of(at).width > 1)
            at = g.pool(op::max_pool2d, at, 2, d.between(1, 2));
          break;
        default: at = g.dropout(at); break;
      }
    }
    at = g.dense(g.flatten(at), 5);
    graph_view const v = g.view();
    plan_options const o{.batch = 4, .target = {.channel_block = d.of({1, 16})}};
    long long const all = make_plan(v, o).bytes();
    long long const allowed = all * d.between(60, 99) / 100;
    recomputation const found = choose_recomputation(v, o, allowed);
    CHECK(verify(v, make_plan(v, o, found.again)).holds());

    // every set of tensors that can be computed again
    long long cheapest = -1, least = all;
    int const inner = v.size.tensors - 2;
    for (int set = 0; set < 1 << inner; ++set) {
      detail::list<bool> again(v.size.tensors);
      for (int t = 0; t < inner; ++t) again[t + 1] = (set >> t & 1) != 0;
      plan const p = make_plan(v, o, again);
      long long cost = 0;
      for (step const& s : p.steps)
        if (s.again) cost += detail::cost_of(v, p, s);
      if (p.bytes() <= allowed && (cheapest < 0 || cost < cheapest)) cheapest = cost;
      least = p.bytes() < least ? p.bytes() : least;
    }
    INFO("seed " << 1000 + index << ", " << v.size.nodes << " nodes, allowed " << allowed << " of " << all);
    if (cheapest >= 0)
      CHECK((found.bytes <= allowed && found.cost == cheapest));
    else
      CHECK(found.bytes == least);
    met += cheapest >= 0;
    most = v.size.nodes > most ? v.size.nodes : most;
  }
  CHECK(most >= 11);
  CHECK(met > networks / 10);
}
