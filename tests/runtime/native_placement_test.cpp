// SPDX-License-Identifier: MIT
#include "support/catch.hpp"

#include <dsl/dsl.hpp>
#include <dsl/executors/native.hpp>
#include <dsl/executors/native/engine.hpp>
#include <dsl/towers.hpp>

#include "support/placed_networks.hpp"
#include "support/warnings.hpp"

#include <stdexcept>

// Runs the tests of tests/runtime/placement_test.cpp on the native executor. Where no sum has another order, its bits
// are those of one device, with any number of threads.

using namespace dsl;
using namespace dsl::test;

namespace {

/// Five steps, too few for the effect of a ReLU that flips near zero to grow.
template <class Network, class Executor>
trained trained_for_few(Executor const& on, towers const& t = {}) {
  return trained_on<Network>(on, t, 10, 5);
}

/// The picture is sent to devices that it does not arrive on, and other tensors come back from there.
template <int Channels>
using picture_on_three = network<image<Channels, 16, 16>,
                                 concat<on<device<0>, conv_module<16, 3>>, on<device<1>, conv_module<16, 5>>,
                                        on<device<2>, conv2d<16, 3>, dsl::tanh>>,
                                 on<device<1>, conv2d<16, 3>, dsl::tanh>,
                                 on<device<2>, conv2d<32, 1>, global_avg_pool2d, dense<3>, softmax>>;

}  // namespace

TEST_CASE("native: several devices, with and without micro-batches, train as one does") {
  constexpr double bound = 1e-4;
  for (int threads : {1, 2, 6}) {
    native const on{.threads = threads}, one{.threads = 1};
    CHECK(trained_for_few<chain_on<0, 0>>(one) == trained_for_few<chain_on<0, 1>>(on));
    CHECK(trained_for_few<apart_on<0, 0>>(one) == trained_for_few<apart_on<0, 1>>(on));
    CHECK(trained_for_few<pipeline<3, apart_on<0, 0>>>(one) == trained_for_few<pipeline<3, apart_on<1, 0>>>(on));
    trained const small = trained_for_few<branches_on<0, 0, 0>>(one);
    CHECK(distance(trained_for_few<branches_on<0, 1, 1>>(on), small) < bound);
    CHECK(distance(trained_for_few<branches_on<0, 1, 2>>(on), small) < bound);
    CHECK(distance(trained_for_few<torn_on<0, 1>>(on), trained_for_few<torn_on<0, 0>>(one)) < bound);
    CHECK(distance(trained_for_few<pipeline<4, branches_on<0, 1, 2>>>(on),
                   trained_for_few<pipeline<4, branches_on<0, 0, 0>>>(reference<double>{})) < bound);
    CHECK(distance(trained_for_few<branches_on<0, 1, 2>>(on, {.count = 2}),
                   trained_for_few<branches_on<0, 0, 0>>(one, {.count = 2})) < bound);
  }
  native const on{.threads = 3};
  CHECK(distance(trained_for_few<picture_on_three<3>>(on), trained_for_few<picture_on_three<3>>(reference<double>{})) <
        bound);
  CHECK(distance(trained_for_few<picture_on_three<16>>(on),
                 trained_for_few<picture_on_three<16>>(reference<double>{})) < bound);
}

TEST_CASE("native: after a warning that throws, the next prepare() builds what the first one would have") {
  using model = pipeline<3, branches_on<0, 0, 0>>;
  engine_options o;
  o.micro_batches = detail::micro_batches<model>;
  auto const undisturbed = native{}.make_engine(model::view(), o), e = native{}.make_engine(model::view(), o);
  warnings_kept const kept;  // gives the library's own function back
  undisturbed->prepare(mode::training, 5);
  REQUIRE(kept.said.size() == 1);
  on_warning = [](char const* said) { throw std::runtime_error(said); };
  CHECK_THROWS_AS(e->prepare(mode::training, 5), std::runtime_error);
  CHECK(e->prepare(mode::training, 5) == 0);
  auto const chosen = [](engine& of) { return dynamic_cast<native_cpu::engine&>(of).algorithms(); };
  CHECK(chosen(*e) == chosen(*undisturbed));
}
