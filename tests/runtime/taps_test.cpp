// SPDX-License-Identifier: MIT
#include "support/catch.hpp"
#include "support/random_graph.hpp"
#include "support/weight_names_of.hpp"

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include <dsl/dsl.hpp>
#include <dsl/executors/native.hpp>
#include <dsl/placement.hpp>
#include <dsl/towers.hpp>
#include <dsl/training/fingerprint.hpp>

// Tests tap<"name"> and from<"name">: numbers, gradients, names of weights, and that every way to compute them agrees.

namespace {

using namespace dsl;
using dsl::test::dice;
using dsl::test::names_of;

/// A layer that names its input and computes something.
struct named_and_computed {
  static constexpr value lower(builder& b, value in) {
    b.tap({"x", 1}, in);
    return conv2d<3, 3>::lower(b, in);
  }
};

/// h = w0 x, y = w1 h, z = y + h, out = w2 z + w3 x: x and h are read by layers that are not nested.
using crossed = network<features<1>, tap<"x">, dense<1>, tap<"h">, dense<1>, add<identity, from<"h">>, tap<"z">,
                        from<"x">, dense<1>, tap<"w3">, from<"z">, dense<1>, add<identity, from<"w3">>>;

template <class Executor>
void check_numbers(Executor executor) {
  trainer t = compile<crossed>(executor, sgd{.learning_rate = 1.0, .momentum = 0},
                               {.loss = loss::mean_squared_error, .verify = &verify});
  std::vector<float> const weights{2, 3, 5, 7};  // w0, w1, w3, w2, in the order of their layers
  float const zero = 0;
  for (int k = 0, i = 0; k < t.graph().size.parameters; ++k)
    t.engine().write_parameter(
        k, t.graph().parameters[k].role == role::kernel ? &weights[static_cast<std::size_t>(i++)] : &zero);
  std::vector<float> const x{1};
  std::vector<float> out(1);
  t.predict_on_batch(x, out);
  CHECK(out[0] == 2 * (3 + 1) * 7 + 5);  // 61
  // The loss (out - 60)^2 has the derivative 2 by out, and each weight changes by the negative of its gradient.
  std::vector<float> const target{60};
  CHECK(t.train_on_batch(x, target).loss == approx(1));
  std::vector<float> const wanted{2 - 2 * 7 * (3 + 1),  // through y and through h itself
                                  3 - 2 * 7 * 2,        // h is 2
                                  5 - 2 * 1,            // x is 1
                                  7 - 2 * 8};           // z is 8
  for (int k = 0, i = 0; k < t.graph().size.parameters; ++k) {
    if (t.graph().parameters[k].role != role::kernel) continue;
    float found = 0;
    t.engine().read_parameter(k, &found);
    CHECK(found == approx(wanted[static_cast<std::size_t>(i++)]));
  }
}

template <int Device>
using placed_on =
    network<image<2, 6, 6>, tap<"pixels">, conv2d<4, 3>, batch_norm<>, relu, tap<"fine">, max_pool2d<2>,
            on<device<Device>, conv2d<6, 3>, relu, tap<"coarse">, conv2d<6, 3>, add<identity, from<"coarse">>>,
            upsample2d<2>, concat<identity, from<"fine">, sequential<from<"pixels">, conv2d<3, 1>>>, dropout<0.1>,
            concat<global_avg_pool2d, sequential<from<"coarse">, global_avg_pool2d>>, dense<2>, softmax>;
using mixed = placed_on<0>;

dataset drawn(int samples, std::uint64_t seed) {
  dice d(seed);
  std::vector<float> pictures;
  std::vector<std::int32_t> labels;
  for (int n = 0; n < samples; ++n) {
    float sum = 0;
    for (int i = 0; i < 72; ++i) {
      pictures.push_back(static_cast<float>(d.below(2001)) / 1000 - 1);
      sum += i < 36 ? pictures.back() : -pictures.back();
    }
    labels.push_back(sum > 0);
  }
  return in_memory_classes({2, 6, 6}, std::move(pictures), 2, std::move(labels));
}

}  // namespace

TEST_CASE("taps: outputs and gradients are those of the graph computed by hand") {
  check_numbers(reference<double>{});
  check_numbers(reference<float>{});
  check_numbers(native{});
}

TEST_CASE("taps: towers, micro-batches, devices and executors learn the same, to rounding") {
  dataset const train = drawn(66, 3), test = drawn(7, 4);
  fit_options const fit{.epochs = 2, .batch_size = 11, .validation = &test};
  compile_options const checked{.verify = &verify};
  trainer one = compile<mixed>(reference<double>{}, sgd{.learning_rate = 0.1}, checked);
  history const a = one.fit(train, fit);
  auto const agrees = [&](trainer t, double epsilon) {
    history const b = t.fit(train, fit);
    for (std::size_t e = 0; e < 2; ++e) {
      CHECK(a.epochs[e].train.loss == approx(b.epochs[e].train.loss).epsilon(epsilon));
      CHECK(a.epochs[e].validation.loss == approx(b.epochs[e].validation.loss).epsilon(epsilon));
    }
  };
  agrees(compile<placed_on<1>>(reference<double>{}, sgd{.learning_rate = 0.1}, checked), 1e-9);
  agrees(compile<mixed>(native{}, sgd{.learning_rate = 0.1}, checked), 1e-3);
  // Replicas and micro-batches have batch_norm statistics of their own, whatever the devices.
  trainer towers = compile<replicate<2, mixed>>(reference<double>{}, sgd{.learning_rate = 0.1}, checked);
  trainer moved = compile<replicate<2, placed_on<1>>>(reference<double>{}, sgd{.learning_rate = 0.1}, checked);
  CHECK(towers.fit(train, fit).epochs[1].train.loss ==
        approx(moved.fit(train, fit).epochs[1].train.loss).epsilon(1e-9));
  trainer piped = compile<pipeline<2, mixed>>(reference<double>{}, sgd{.learning_rate = 0.1}, checked);
  trainer both = compile<pipeline<2, placed_on<1>>>(reference<double>{}, sgd{.learning_rate = 0.1}, checked);
  CHECK(piped.fit(train, fit).epochs[1].train.loss == approx(both.fit(train, fit).epochs[1].train.loss).epsilon(1e-9));
}

TEST_CASE("taps: names of weights do not count them, and the fingerprint is that of the graph") {
  CHECK(names_of<numbered<conv2d<4, 3>, tap<"a">, relu, conv2d<4, 3>, tap<"b">, add<identity, from<"a">>,
                          add<sequential<from<"b">, conv2d<4, 1>>, identity>, sequential<tap<"c">, conv2d<4, 1>>>>() ==
        test::names{"0.weight", "0.bias", "2.weight", "2.bias", "4.branches.0.0.weight", "4.branches.0.0.bias",
                    "5.0.weight", "5.0.bias"});
  CHECK(names_of<named<"stem", conv2d<4, 3>>, tap<"a">, conv2d<4, 3>, add<conv2d<4, 3>, from<"a">>>() ==
        names_of<named<"stem", conv2d<4, 3>>, conv2d<4, 3>, add<conv2d<4, 3>, identity>>());
  CHECK(names_of<named<"out", repeat<1, conv2d<4, 3>>, tap<"x">>>() == test::names{"out.0.weight", "out.0.bias"});
  // A layer under a name is alone beside taps, and one that computes something counts, whatever it names or reads.
  CHECK(
      names_of<named<"stem", conv2d<4, 3>, tap<"x">>, named_output<"aux", from<"x">, conv2d<3, 1>, tap<"y">>, relu>() ==
      test::names{"stem.weight", "stem.bias", "aux.weight", "aux.bias"});
  CHECK(names_of<named_and_computed, conv2d<3, 3>, add<identity, from<"x">>>() ==
        test::names{"0.weight", "0.bias", "1.weight", "1.bias"});
  using nested = network<image<3, 8, 8>, residual<conv2d<3, 3>, relu>, global_avg_pool2d, dense<2>>;
  using tapped =
      network<image<3, 8, 8>, tap<"x">, conv2d<3, 3>, relu, add<from<"x">, identity>, global_avg_pool2d, dense<2>>;
  CHECK(detail::fingerprint_of(nested::view()) == detail::fingerprint_of(tapped::view()));
}
