// SPDX-License-Identifier: MIT
// Checks the native executor on the processor at hand, without any library, so that it can be built for another one and
// run in an emulator: convolutions against double, a training step against `reference` in double, the same bits for any
// number of threads and batch size, and a training that is interrupted and resumed. Prints the instruction set and a
// hash of all results, which other builds of this program must print, too. Arguments: numbers of threads.
#include "../support/larger.hpp"

#include <dsl/dsl.hpp>
#include <dsl/executors/native/kernels.hpp>
#include <dsl/io/backup_and_restore.hpp>

#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <unistd.h>
#include <vector>

using namespace dsl;

namespace {

constexpr int samples = 22;  // three steps of seven; the last sample is only predicted

using floats = std::vector<float>;

void require(bool holds, char const* what, double found = 0, double most = 0) {
  if (holds) return;
  std::printf("FAILED: %s (%g, at most %g)\n", what, found, most);
  std::exit(1);
}

struct hash {
  std::uint64_t value = 14695981039346656037U;
  void add(floats const& v) {
    for (float x : v) {
      std::uint32_t bits = 0;
      std::memcpy(&bits, &x, sizeof bits);
      value = (value ^ bits) * 1099511628211U;
    }
  }
};

floats numbers(std::size_t count, unsigned seed) {
  floats v(count);
  std::uint32_t state = seed;
  for (float& x : v) {
    state = state * 1664525U + 1013904223U;
    x = static_cast<float>(static_cast<std::int32_t>(state >> 8)) * 0x1p-23F - 1;
  }
  return v;
}

floats parameter(trainer& t, int k) {
  floats v(static_cast<std::size_t>(t.graph().parameters[k].count()));
  t.engine().read_parameter(k, v.data());
  return v;
}
/// Gives a trainer random parameters between -1 and 1.
void randomize(trainer& t) {
  for (int k = 0; k < t.graph().size.parameters; ++k)
    t.engine().write_parameter(
        k, numbers(static_cast<std::size_t>(t.graph().parameters[k].count()), 7 + static_cast<unsigned>(k)).data());
}

/// Returns an upper bound for the magnitude of what F(4x4, 3x3) sums up for an output, per input channel and divided by
/// the nine products of a direct convolution, if all numbers are at most 1.
double winograd_growth() {
  auto const& m = native_cpu::f43::matrices;
  double most = 0;
  for (int i = 0; i < m.outputs; ++i) {
    double all = 0;
    for (int p = 0; p < m.products; ++p) {
      double kernel = 0, input = 0;
      for (int j = 0; j < m.weights; ++j) kernel += std::abs(m.g[p][j]);
      for (int j = 0; j < m.products; ++j) input += std::abs(m.bt[p][j]);
      all += std::abs(m.at[i][p]) * kernel * input;
    }
    most = std::max(most, all);
  }
  return most * most / 9;
}

/// Compares a layer's outputs with those of `reference` in double. `terms` products are summed for each output, and
/// every one of them is at most 1. The roundings of a sum of n numbers are at most n 2^-24 times the sum of magnitudes.
template <class Layer, shape In>
void check_layer(native const& on, int terms, bool winograd, hash& all) {
  using model = network<image<In.channels, In.height, In.width>, Layer>;
  compile_options const squares{.loss = loss::mean_squared_error};
  auto ours = compile<model>(on, sgd{}, squares), exact = compile<model>(reference<double>{}, sgd{}, squares);
  randomize(ours), randomize(exact);
  constexpr int batch = 3;
  floats const x = numbers(static_cast<std::size_t>(batch * In.size()), 1);
  floats y(static_cast<std::size_t>(batch * shape{model::output}.size())), expected = y;
  ours.predict_on_batch(x, y);
  exact.predict_on_batch(x, expected);
  double const most = (terms + 40) * 0x1p-24 * terms * (winograd ? winograd_growth() : 1);
  double worst = 0;
  for (std::size_t i = 0; i < y.size(); ++i)
    worst = test::larger(worst, std::abs(static_cast<double>(y[i]) - static_cast<double>(expected[i])));
  require(worst <= most && worst > 0, detail::message({"convolution of ", terms, " terms"}).c_str(), worst, most);
  all.add(y);
}

using body = sequential<conv_module<32, 3, 3>,                                               // unrolled
                        concat<conv_module<16, 1, 1>, conv_module<32, 3, 3>>,                // direct; F(4x4, 3x3)
                        conv2d<48, 3, 3, 1, padding::same, groups<48>>, layer_norm<>, silu,  // depthwise
                        conv2d<32, 3, 3, 2, padding::same, groups<4>>, relu,                 // stride, groups
                        max_pool2d<3, 2>, residual<conv2d<32, 3, 3>>>;
using model = network<image<3, 11, 13>, body, avg_pool2d<2>, flatten, dropout<0.25>, dense<5>, softmax>;

dataset pictures() {
  std::vector<std::int32_t> labels(samples);
  for (int i = 0; i < samples; ++i) labels[static_cast<std::size_t>(i)] = i % 5;
  return in_memory_classes({3, 11, 13}, numbers(samples * 3 * 11 * 13, 2), 5, labels);
}

trainer compiled(native const& on) { return compile<model>(on, sgd{.learning_rate = 0.02, .momentum = 0.9}); }

/// Compares the losses of two steps with those of `reference` in double. The second one depends on all gradients.
void check_steps(native const& on) {
  auto ours = compiled(on);
  auto exact = compile<model>(reference<double>{}, sgd{.learning_rate = 0.02, .momentum = 0.9});
  floats const x = numbers(7 * 3 * 11 * 13, 3);
  std::vector<std::int32_t> const labels{0, 1, 2, 3, 4, 0, 1};
  for (int step = 0; step < 2; ++step) {
    double const a = ours.train_on_batch(x, labels).loss, b = exact.train_on_batch(x, labels).loss;
    require(std::abs(a - b) <= 1e-3 * b, "difference of a training step's loss", std::abs(a - b), 1e-3 * b);
  }
}

struct end_of_process {};
/// Ends a training in the second of its two epochs, of three steps each, as a crash would.
struct crash : callback {
  int steps = 0;
  void on_batch_end(fit_run&) override {
    if (++steps == 5) throw end_of_process{};
  }
};

/// Returns a hash of what a training of two epochs and its predictions give. With a path, the training crashes and is
/// resumed from that file.
std::uint64_t trained(native const& on, dataset const& data, std::string const& path) {
  auto t = compiled(on);
  if (path.empty()) {
    t.fit(data, {.epochs = 2, .batch_size = 7});
  } else {
    backup_options const each_step{.save_freq = every_batches(1), .verbose = false};
    try {
      compiled(on).fit(data,
                       {.epochs = 2, .batch_size = 7, .callbacks = {backup_and_restore{path, each_step}, crash{}}});
      require(false, "the training must crash");
    } catch (end_of_process) {
    }
    t.fit(data, {.epochs = 2, .batch_size = 7, .callbacks = {backup_and_restore{path, each_step}}});
  }
  hash all;
  for (int k = 0; k < t.graph().size.parameters; ++k) all.add(parameter(t, k));
  for (int batch : {1, 5, samples}) all.add(t.predict(data, batch));
  return all.value;
}

}  // namespace

int main(int arguments, char** argument) {
  try {
    hash all;
    native const on{.threads = 2};
    check_layer<conv2d<48, 3, 3>, shape{32, 13, 15}>(on, 9 * 32, true, all);
    check_layer<conv2d<48, 1, 1>, shape{32, 13, 15}>(on, 32, false, all);
    check_layer<conv2d<40, 5, 3, 2>, shape{33, 13, 15}>(on, 15 * 33, false, all);
    check_layer<conv2d<40, 3, 3>, shape{3, 13, 15}>(on, 9 * 3, false, all);
    check_layer<conv2d<64, 3, 3, 1, padding::same, groups<32>>, shape{32, 13, 15}>(on, 9, false, all);
    check_layer<sequential<flatten, dense<37>>, shape{3, 13, 15}>(on, 3 * 13 * 15, false, all);
    check_steps(on);
    dataset const data = pictures();
    std::uint64_t first = 0;
    for (int i = 1; i < arguments; ++i) {
      native const with{.threads = std::atoi(argument[i])};
      std::uint64_t const found = trained(with, data, "");
      if (i == 1) first = found;
      require(found == first, detail::message({"other bits with ", with.threads, " threads"}).c_str());
    }
    std::string const path = detail::message({"training_", getpid(), ".state"});
    require(trained(on, data, path) == first, "other bits after a crash");
    std::printf("%s %016llx %016llx\n", host::name_of(host::widest()), static_cast<unsigned long long>(all.value),
                static_cast<unsigned long long>(first));
  } catch (std::exception const& e) {
    require(false, e.what());
  }
}
