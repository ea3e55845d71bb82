// SPDX-License-Identifier: MIT
#include "support/one_batch.hpp"
#include "support/catch.hpp"

#include <dsl/dsl.hpp>
#include <dsl/executors/onednn.hpp>
#include <dsl/executors/onednn/engine.hpp>
#include <dsl/towers.hpp>
#include <dsl/training/initialize.hpp>

#include "support/placed_networks.hpp"

#include <sstream>
#include <string>

// Runs the tests of tests/runtime/placement_test.cpp on oneDNN, with kernels over channel blocks.

namespace {

using namespace dsl;
using namespace dsl::test;

/// Whole blocks of 16 channels, so that our kernels run and not the plain loops.
template <int A, int B, int C>
using wide_on = network<
    image<3, 8, 8>, on<device<A>, conv_module<16, 3>, inception_module<16, 32>>,
    on<device<B>, concat<conv_module<16, 3>, on<device<A>, conv_module<16, 1>>, on<device<C>, max_pool2d<1, 1>>>>,
    on<device<C>, add<conv2d<16, 3>, on<device<B>, conv2d<16, 1>>>, relu, global_avg_pool2d, dense<3>, softmax>>;

/// A ReLU whose input is zero except for rounding may flip at any step; that changes the parameters by 1e-5, and by
/// half as much again with each further step. Few steps keep this below the bound, while a mistake in placement changes
/// the gradients themselves.
constexpr int steps = 5;
constexpr double bound = 1e-4;

template <class Network, class Executor>
trained trained_for_few(Executor const& on, towers const& t = {}) {
  return trained_on<Network>(on, t, 10, steps);
}

/// The picture is sent to devices that it does not arrive on, and other tensors come back from there.
template <int Channels, int Filters>
using picture_on_three =
    network<image<Channels, 16, 16>,
            concat<on<device<0>, conv_module<Filters, 3>>, on<device<1>, conv_module<Filters, 5>>,
                   on<device<2>, conv2d<Filters, 3>, relu>>,
            on<device<1>, conv2d<16, 3>, relu>, on<device<2>, conv2d<32, 1>, global_avg_pool2d, dense<3>, softmax>>;

/// Counts the convolutions for which the library has only plain loops, and the others, on each device.
struct choices {
  std::string slow;
  int on_device[3] = {};
};
template <class Network>
choices choices_of(onednn const& on) {
  engine_options o;
  o.make_thread_team = &host::make_thread_team;
  std::unique_ptr<engine> const made = on.make_engine(Network::view(), o);
  auto& e = dynamic_cast<dnn::engine&>(*made);
  initialize(e, 3);
  for (mode m : {mode::training, mode::evaluation, mode::inference}) e.prepare(m, 6);
  choices all;
  std::istringstream lines(e.implementations());
  for (std::string line; std::getline(lines, line);) {
    if (line.find("ref") != std::string::npos) all.slow += line + "\n";
    ++all.on_device[e.graph().nodes[std::stoi(line)].device];
  }
  return all;
}

}  // namespace

TEST_CASE("oneDNN: two and three devices, with and without micro-batches, train as one does") {
  onednn const two{.threads = 2};
  trained const small = trained_for_few<branches_on<0, 0, 0>>(two);
  CHECK(distance(trained_for_few<branches_on<0, 1, 1>>(two), small) < bound);
  CHECK(distance(trained_for_few<branches_on<0, 1, 2>>(two), small) < bound);
  trained const wide = trained_for_few<wide_on<0, 0, 0>>(two);
  CHECK(distance(trained_for_few<wide_on<0, 1, 1>>(two), wide) < bound);
  CHECK(distance(trained_for_few<wide_on<0, 1, 2>>(two), wide) < bound);
  CHECK(distance(trained_for_few<wide_on<0, 1, 2>>(onednn{.threads = 6}), wide) < bound);
  trained const piped = trained_for_few<pipeline<4, wide_on<0, 0, 0>>>(two);
  CHECK(distance(trained_for_few<pipeline<4, wide_on<0, 1, 1>>>(two), piped) < bound);
  CHECK(distance(trained_for_few<pipeline<4, wide_on<0, 1, 2>>>(two), piped) < bound);
  CHECK(distance(trained_for_few<pipeline<4, wide_on<0, 1, 2>>>(reference<double>{}), piped) < bound);
  trained const chain = trained_for_few<chain_on<0, 0>>(two);
  CHECK(distance(trained_for_few<pipeline<3, chain_on<0, 1>>>(two), chain) < bound);
}

TEST_CASE("oneDNN: the bits of one device with the threads of each, where no sum has another order") {
  for (int threads : {1, 2}) {
    onednn const one{.threads = threads}, two{.threads = 2 * threads};
    CHECK(trained_for_few<chain_on<0, 0>>(one) == trained_for_few<chain_on<0, 1>>(two));
    CHECK(trained_for_few<apart_on<0, 0>>(one) == trained_for_few<apart_on<0, 1>>(two));
    CHECK(trained_for_few<pipeline<3, apart_on<0, 0>>>(one) == trained_for_few<pipeline<3, apart_on<1, 0>>>(two));
    CHECK(distance(trained_for_few<torn_on<0, 1>>(two), trained_for_few<torn_on<0, 0>>(one)) < bound);
  }
}

TEST_CASE("oneDNN: convolutions of pictures that crossed devices run in fast code") {
  for (bool winograd : {false, true}) {
    onednn const three{.threads = 3, .winograd = winograd};
    for (choices const& c : {choices_of<picture_on_three<3, 16>>(three), choices_of<picture_on_three<1, 16>>(three),
                             choices_of<picture_on_three<4, 16>>(three), choices_of<picture_on_three<16, 32>>(three)}) {
      INFO(c.slow);
      CHECK(c.slow.empty());
      for (int convolutions : c.on_device) CHECK(convolutions > 0);
    }
  }
}

TEST_CASE("oneDNN: towers of placed networks") {
  trained const one = trained_for_few<wide_on<0, 0, 0>>(onednn{.threads = 2}, {.count = 2});
  CHECK(distance(trained_for_few<wide_on<0, 1, 2>>(onednn{.threads = 2}, {.count = 2}), one) < bound);
  CHECK(distance(trained_for_few<pipeline<2, chain_on<0, 1>>>(onednn{.threads = 2}, {.count = 2}),
                 trained_for_few<chain_on<0, 0>>(onednn{.threads = 2})) < bound);
}

TEST_CASE("oneDNN: a device has its share of the threads, and evaluation and inference run on the devices, too") {
  engine_options o;
  o.make_thread_team = &host::make_thread_team;
  auto const e = onednn{.threads = 4}.make_engine(wide_on<0, 1, 2>::view(), o);
  CHECK(e->description().find("1 thread a device") != std::string::npos);
  auto const one = onednn{.threads = 1}.make_engine(wide_on<0, 0, 0>::view(), {});
  batch_of const b = batch_at(e->graph(), 0, 5);
  std::vector<float> results[2];
  for (auto* x : {e.get(), one.get()}) {
    initialize(*x, 3);
    int const program = x->prepare(mode::evaluation, 5);
    x->run(program, test::one_batch{b.images.data(), {b.labels.data()}, 5, 0, 0});
    std::vector<float>& y = results[x == one.get()];
    y.resize(15);
    x->read_result(program, y.data());
    y.push_back(static_cast<float>(x->metrics(program).loss));
  }
  for (std::size_t i = 0; i < results[0].size(); ++i) CHECK(std::abs(results[0][i] - results[1][i]) < 1e-4F);
}
