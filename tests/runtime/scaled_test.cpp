// SPDX-License-Identifier: MIT
// Factors of learning rate and weight decay for parts of a network.
#include "support/catch.hpp"
#include "support/words.hpp"

#include <cstdint>
#include <string>
#include <vector>

#include <dsl/dsl.hpp>
#include <dsl/io/checkpoint.hpp>
#include <dsl/io/weight_names.hpp>
#include <dsl/placement.hpp>
#include <dsl/towers.hpp>
#include <dsl/training/weights.hpp>

namespace {

using namespace dsl;
using namespace dsl::test;

using first = conv2d<6, 3>;
using rest = sequential<batch_norm<>, relu, conv2d<5, 3>, relu, flatten>;
using unscaled = network<image<2, 6, 6>, first, rest, dense<3>, softmax>;
template <class Head>
using with_head = network<image<2, 6, 6>, first, rest, Head, softmax>;
using half_rate = with_head<scaled<factor::learning_rate<0.5>, dense<3>>>;
using quarter_decay = with_head<scaled<factor::weight_decay<0.25>, dense<3>>>;
using both = network<image<2, 6, 6>, scaled<factor::learning_rate<2.0>, first>, rest,
                     scaled<factor::learning_rate<0.5>, scaled<factor::weight_decay<0.25>, dense<3>>>, softmax>;
using all_half = network<image<2, 6, 6>, scaled<factor::learning_rate<0.5>, first, rest, dense<3>>, softmax>;
using placed =
    network<image<2, 6, 6>, on<device<0>, scaled<factor::learning_rate<2.0>, first>>,
            on<device<1>, rest, scaled<factor::learning_rate<0.5>, scaled<factor::weight_decay<0.25>, dense<3>>>>,
            softmax>;

constexpr update_factors factors_of(graph_view const& g, int k) { return g.parameters[k].factors; }
static_assert(factors_of(unscaled::view(), 0) == update_factors{} &&
              factors_of(both::view(), 0) == update_factors{2, 1});
static_assert(factors_of(both::view(), both::view().size.parameters - 1) == update_factors{0.5, 0.25});
static_assert(both::training_bytes(8) == unscaled::training_bytes(8) && verified<both>);
// scaled<F, repeat<2, A>, B> is scaled<F, A>, scaled<F, A>, scaled<F, B>
using repeated = network<features<4>, scaled<factor::learning_rate<0.1>, repeat<2, dense<4>>, dense<2>>, dense<2>>;
static_assert(factors_of(repeated::view(), 5).learning_rate == 0.1 &&
              factors_of(repeated::view(), 6).learning_rate == 1);

std::vector<float> pictures(int samples) {
  std::vector<float> all(static_cast<std::size_t>(samples * 72));
  for (std::size_t i = 0; i < all.size(); ++i) all[i] = static_cast<float>(i * i % 23) / 11 - 1;
  return all;
}

/// An optimizer as numbers.
struct chosen {
  double learning_rate;
  update_rule numbers;
  update_rule rule() const { return numbers; }
};

/// Returns the parameters after some steps on one batch.
std::vector<std::vector<float>> trained(trainer t, std::vector<float> const& from, int steps) {
  detail::write_weights(t.engine(), from);
  std::vector<std::int32_t> const labels{0, 1, 2, 0, 1, 2, 2};
  for (int i = 0; i < steps; ++i) t.train_on_batch(pictures(7), labels);
  std::vector<std::vector<float>> all;
  for (int k = 0; k < t.graph().size.parameters; ++k) {
    all.emplace_back(static_cast<std::size_t>(t.graph().parameters[k].count()));
    t.engine().read_parameter(k, all.back().data());
  }
  return all;
}

template <class Executor>
void check(Executor const& on) {
  chosen const rules[] = {
      {0.0625, sgd{.weight_decay = 0.5}.rule()},
      {0.0625, sgd{.momentum = 0.9, .nesterov = true, .weight_decay = 0.5}.rule()},
      {0.0625, adam{.weight_decay = 0.25}.rule()},
      {0.0625, adamw{.weight_decay = 0.25}.rule()},
      {0.0625, rmsprop{.momentum = 0.5, .centered = true}.rule()},
      {0.0625, sgd{.momentum = 0.9, .weight_decay = 0.5, .clip = {.norm = 0.25}}.rule()},
  };
  trainer fresh = compile<unscaled>(on, sgd{});
  std::vector<float> const from = detail::read_weights(fresh.engine());
  int const last = unscaled::view().size.parameters;
  int which = 0;
  for (chosen const& rule : rules) {
    INFO("rule " << which++);
    auto const other = [&](double rate, double decay) {
      chosen c = rule;
      c.learning_rate *= rate, c.numbers.weight_decay *= decay;
      return c;
    };
    // After one step each parameter is what an optimizer with its numbers makes of it: powers of 2 round nothing.
    auto const a = trained(compile<unscaled>(on, rule), from, 1);
    auto const halved = trained(compile<unscaled>(on, other(0.5, 1)), from, 1);
    auto const doubled = trained(compile<unscaled>(on, other(2, 1)), from, 1);
    auto const head = trained(compile<unscaled>(on, other(0.5, 0.25)), from, 1);
    auto const decayed = trained(compile<unscaled>(on, other(1, 0.25)), from, 1);
    auto const by_rate = trained(compile<half_rate>(on, rule), from, 1);
    auto const by_decay = trained(compile<quarter_decay>(on, rule), from, 1);
    auto const by_both = trained(compile<both>(on, rule), from, 1);
    for (int k = 0; k < last; ++k) {
      INFO("parameter " << k);
      auto const i = static_cast<std::size_t>(k);
      bool const in_head = k >= last - 2, in_first = k < 2;
      CHECK(by_rate[i] == (in_head ? halved : a)[i]);
      CHECK(by_decay[i] == (in_head ? decayed : a)[i]);
      CHECK(by_both[i] == (in_head ? head : in_first ? doubled : a)[i]);
    }
    CHECK(halved[static_cast<std::size_t>(last - 2)] != a[static_cast<std::size_t>(last - 2)]);
    // over several steps, if everything has the same factor
    CHECK(trained(compile<all_half>(on, rule), from, 4) == trained(compile<unscaled>(on, other(0.5, 1)), from, 4));
  }
}

}  // namespace

TEST_CASE("scaled: each parameter is updated by the optimizer's numbers times its factors, to the bit") {
  check(reference<double>{});
  check(native{.threads = 2});
}

TEST_CASE("scaled: towers and devices update the same, to rounding") {
  trainer fresh = compile<unscaled>(reference<double>{}, sgd{});
  std::vector<float> const from = detail::read_weights(fresh.engine());
  auto const rule = sgd{.learning_rate = 0.1, .momentum = 0.9, .weight_decay = 0.1};
  auto const wanted = trained(compile<both>(reference<double>{}, rule), from, 3);
  auto const agree = [](std::vector<std::vector<float>> const& a, std::vector<std::vector<float>> const& b) {
    REQUIRE(a.size() == b.size());
    for (std::size_t k = 0; k < a.size(); ++k)
      for (std::size_t i = 0; i < a[k].size(); ++i) {
        INFO("parameter " << k << ", number " << i);
        CHECK(a[k][i] == approx(b[k][i]).epsilon(2e-7).margin(1e-12));  // floats of doubles
      }
  };
  agree(trained(compile<placed>(reference<double>{}, rule), from, 3), wanted);
  agree(trained(compile<replicate<2, placed>>(reference<double>{}, rule), from, 3),
        trained(compile<replicate<2, both>>(reference<double>{}, rule), from, 3));
}

TEST_CASE("scaled: weights keep their names, states know their factors") {
  CHECK(weight_names(both::view()) == weight_names(unscaled::view()));
  CHECK(detail::fingerprint_of(both::view()) == detail::fingerprint_of(unscaled::view()));
  CHECK(detail::fingerprint_of_factors(unscaled::view()) == 0);
  CHECK(detail::fingerprint_of_factors(both::view()) != detail::fingerprint_of_factors(half_rate::view()));
  using ones = with_head<scaled<factor::learning_rate<1.0>, scaled<factor::weight_decay<1.0>, dense<3>>>>;
  CHECK(detail::fingerprint_of_factors(ones::view()) == 0);
  auto const rule = sgd{.learning_rate = 0.1, .momentum = 0.9};
  trainer t = compile<both>(reference{}, rule), same = compile<both>(reference{}, rule);
  t.train_on_batch(pictures(1), std::vector<std::int32_t>{1});
  std::string const bytes = checkpoint(t, {});
  restore(same, bytes, "state");
  CHECK(detail::read_weights(same.engine()) == detail::read_weights(t.engine()));
  trainer other = compile<unscaled>(reference{}, rule);
  CHECK_THROWS_WITH(restore(other, bytes, "state"), Catch::Contains("factor"));
}
