// SPDX-License-Identifier: MIT
// Trains and predicts with all parts that use several threads on a CPU, and compares the bits with those of one thread:
// native, towers, layers on two devices in micro-batches, loader threads, and eight predictors that share weights.
// tests/threads/run runs it under ThreadSanitizer and under valgrind. Argument: how often, 1 by default.
#include <dsl/dsl.hpp>
#include <dsl/executors/native.hpp>
#include <dsl/placement.hpp>
#include <dsl/towers.hpp>
#include <dsl/training/predictor.hpp>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace {

using namespace dsl;
using floats = std::vector<float>;

using small = network<image<3, 12, 12>, conv_module<8, 3, 2>, inception_module<4, 4>, downsample_module<4>, flatten,
                      dropout<0.25>, dense<5>, softmax>;
using on_two_devices = pipeline<
    3, network<image<3, 12, 12>, conv_module<8, 3, 2>, on<device<1>, conv_module<4, 3>, flatten, dense<5>, softmax>>>;
using of_positions = network<image<3, 1, 24>, conv2d<24, 3>, attention<2>, lstm<8, last_step>, dense<5>, softmax>;

void require(bool holds, std::string const& what) {
  if (!holds) throw std::runtime_error(what);
}

struct pictures {
  dataset train, test;
};

dataset some_pictures(std::size_t count, shape const& size) {
  std::vector<std::uint8_t> pixels(count * static_cast<std::size_t>(size.channels * size.area()));
  for (std::size_t i = 0; i < pixels.size(); ++i) pixels[i] = static_cast<std::uint8_t>((i * i + i / 7) * 37 % 251);
  std::vector<std::int32_t> classes(count);
  for (std::size_t i = 0; i < count; ++i) classes[i] = static_cast<std::int32_t>(i % 5);
  return in_memory_dataset(size, 5, std::move(pixels), std::move(classes));
}

compile_options options() { return {.seed = 3, .batch_norm_momentum = 0.9}; }

/// Returns the predictions and losses of two epochs of 29 pictures.
floats trained(trainer t, pictures const& data, int loaders) {
  history const h = t.fit(data.train, {.epochs = 2,
                                       .batch_size = 8,
                                       .validation = &data.test,
                                       .augment = shift_and_flip{.width = 0.1, .height = 0.1, .horizontal_flip = true},
                                       .prefetch = loaders > 0 ? 4 : 0,
                                       .loader_threads = loaders > 0 ? loaders : 1});
  floats all = t.predict(data.test, 7);
  for (epoch_record const& e : h.epochs) {
    all.push_back(static_cast<float>(e.train.loss));
    all.push_back(static_cast<float>(e.validation.loss));
  }
  return all;
}

/// Trains with one thread and no loader thread, then with several of both, and compares the numbers. Towers and devices
/// always have threads of their own.
template <class Network>
void same_with_several_threads(char const* what, pictures const& data) {
  auto const with = [&](int threads, int loaders) {
    return trained(compile<Network>(native{.threads = threads}, sgd{.learning_rate = 0.02, .momentum = 0.9}, options()),
                   data, loaders);
  };
  floats const one = with(1, 0);
  require(with(2, 1) == one, std::string(what) + ": two threads and a loader compute other numbers");
  require(with(4, 3) == one, std::string(what) + ": four threads and three loaders compute other numbers");
}

/// Lets eight predictors with one set of weights predict at the same time. Two of them have two threads each.
void eight_predictors() {
  trainer t = compile<small>(native{.threads = 1}, sgd{}, options());
  auto const picture = [](std::size_t which) {
    floats x(3 * 12 * 12 * (1 + which % 3));
    for (std::size_t i = 0; i < x.size(); ++i) x[i] = static_cast<float>((i + which) * 37 % 251) / 251;
    return x;
  };
  auto const predicted = [&](predictor& p, std::size_t which) {
    floats out(5 * (1 + which % 3));
    p.predict(picture(which), out);
    return out;
  };
  predictor alone = make_predictor<small>(native{.threads = 1}, t);
  std::vector<floats> wanted;
  for (std::size_t i = 0; i < 8; ++i) wanted.push_back(predicted(alone, i));
  predictor first = make_predictor<small>(native{.threads = 1}, t);  // has not packed a kernel yet
  std::vector<predictor> all;
  for (int i = 0; i < 8; ++i) all.push_back(make_predictor<small>(native{.threads = 1 + i / 6}, first.weights()));
  std::vector<int> same(all.size());
  std::vector<std::thread> threads;
  for (std::size_t i = 0; i < all.size(); ++i)
    threads.emplace_back([&, i] {
      for (std::size_t round = 0; round < 8; ++round) {  // all batch sizes in all threads, in different orders
        std::size_t const which = (i + round) % 8;
        same[i] += predicted(all[i], which) == wanted[which];
      }
    });
  for (std::thread& one : threads) one.join();
  require(same == std::vector<int>(8, 8), "predictors that share weights predict other numbers at the same time");
}

}  // namespace

int main(int count, char** words) try {
  int const rounds = count > 1 ? std::atoi(words[1]) : 1;
  require(rounds > 0, "usage: threads [ROUNDS], 1 or more");
  pictures const data{some_pictures(29, {3, 12, 12}), some_pictures(10, {3, 12, 12})};
  pictures const rows{some_pictures(29, {3, 1, 24}), some_pictures(10, {3, 1, 24})};
  for (int i = 0; i < rounds; ++i) {
    same_with_several_threads<small>("one tower", data);
    same_with_several_threads<replicate<2, small>>("two towers", data);
    same_with_several_threads<on_two_devices>("two devices", data);
    same_with_several_threads<of_positions>("attention and LSTM", rows);
    eight_predictors();
  }
  std::puts("the same numbers with all numbers of threads");
  return 0;
} catch (std::exception const& e) {
  std::fprintf(stderr, "threads: %s\n", e.what());
  return 1;
}
