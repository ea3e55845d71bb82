// SPDX-License-Identifier: MIT
#include "support/one_batch.hpp"
#include "support/catch.hpp"
#include "support/trajectory.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <fstream>
#include <memory>
#include <sstream>
#include <string>
#include <vector>

#include <dsl/dsl.hpp>
#include <dsl/executors/host/engine.hpp>
#include <dsl/io/weight_names.hpp>
#include <dsl/models/maxvit.hpp>
#include <dsl/models/swin.hpp>
#include <dsl/models/swin_v2.hpp>
#include <dsl/training/weights.hpp>

// Compares small networks with attention in windows with those of torchvision, whose losses and gradients
// tests/fixtures/make_torch_windows.py has saved, and the windows of this attention with attention in a whole image.

namespace {

using namespace dsl;

using small_swin = network<
    image<3, 56, 56>,
    named<"features", numbered<conv2d<8, 4, stride<4>, pad<0>>, identity, layer_norm<>>,
          models::swin_stage<8, 2, 0, 2, 4, 0.0>, models::swin_merging<16>, models::swin_stage<16, 4, 2, 2, 4, 0.0>>,
    named<"norm", layer_norm<>>, models::classifier<"head", 5>>;

using small_swin_v2 = network<image<3, 64, 64>,
                              named<"features", numbered<conv2d<8, 4, stride<4>, pad<0>>, identity, layer_norm<>>,
                                    models::swin_v2_stage<8, 2, 0, 2, 4, 0.0>, models::swin_v2_merging<16>,
                                    models::swin_v2_stage<16, 4, 2, 2, 4, 0.0>>,
                              named<"norm", layer_norm<>>, models::classifier<"head", 5>>;

using small_maxvit =
    network<image<3, 56, 56>,
            named<"stem", numbered<conv2d<8, 3, stride<2>, pad<1>, bias<false>>, models::maxvit_norm, gelu>,
                  numbered<conv2d<8, 3, pad<1>>>>,
            named<"blocks", models::maxvit_block<32, 0, 2, 4, 0.0>, models::maxvit_block<64, 2, 2, 4, 0.0>>,
            named<"classifier", global_avg_pool2d, flatten, layer_norm<>, dense<64>, dsl::tanh,
                  pointwise_dense<5, bias<false>>>,
            softmax>;

/// What PyTorch has computed for one network.
struct saved_run {
  double rate = 0;
  std::vector<double> losses;
  std::vector<std::string> names;  // of the parameters, sorted
  std::vector<double> norms, sums;
};

saved_run read_run(std::string const& network, std::string const& type) {
  std::ifstream in(TYPENET_TEST_DATA "/torch_windows.txt");
  saved_run found;
  for (std::string line; std::getline(in, line);) {
    std::istringstream words(line);
    std::string name, number_type;
    words >> name >> number_type;
    if (name != network) continue;
    bool const wanted = number_type == type;
    words >> found.rate;
    for (double x = 0; wanted && words >> x;) found.losses.push_back(x);
    if (number_type != "float64") continue;
    for (double norm = 0, sum = 0; in >> name && name != "end";) {
      in >> norm >> sum;
      found.names.push_back(name), found.norms.push_back(norm), found.sums.push_back(sum);
    }
  }
  return found;
}

/// Returns the number of each parameter of the graph in the order of the names.
std::vector<std::uint32_t> ranks_of(graph_view const& g, std::vector<std::string> const& sorted) {
  std::vector<std::uint32_t> ranks;
  std::vector<std::string> const own = weight_names(g);
  std::size_t found = 0;
  for (int k = 0; k < g.size.parameters; ++k) {
    std::string const& name = own[static_cast<std::size_t>(k)];
    auto const at = std::find(sorted.begin(), sorted.end(), name);
    INFO(name);
    if (g.parameters[k].is_statistic()) {
      ranks.push_back(0);
      continue;
    }
    ++found;
    REQUIRE(at != sorted.end());
    ranks.push_back(static_cast<std::uint32_t>(at - sorted.begin()));
  }
  REQUIRE(found == sorted.size());
  return ranks;
}

double initial(parameter const& p, std::uint32_t rank, std::uint32_t i) {
  double const number = test::symmetric(rank, i);
  double const rows = p.dims[0], columns = static_cast<double>(p.count()) / rows;
  if (p.rank == 3) return number * std::sqrt(6 / (rows + 1));  // a factor of a head
  return p.role == role::gamma    ? 1 + 0.1 * number
         : p.role == role::kernel ? number * std::sqrt(6 / (rows + columns))
                                  : 0.1 * number;
}

/// Trains as PyTorch did, and compares losses and gradients within relative bounds.
template <class T>
void follow(std::unique_ptr<engine> e, saved_run const& theirs, double bound) {
  constexpr int samples = 2, classes = 5;
  auto& host = dynamic_cast<host::engine<T>&>(*e);
  graph_view const& g = e->graph();
  std::vector<std::uint32_t> const ranks = ranks_of(g, theirs.names);
  bool const has_cosines =
      std::any_of(g.nodes, g.nodes + g.size.nodes, [](node const& n) { return n.kind == op::head_norm; });
  auto const stays_zero = [&](int k, long long i) {  // the keys' biases of Swin Transformers V2
    long long const third = g.parameters[k].count() / 3;
    return has_cosines && theirs.names[ranks[static_cast<std::size_t>(k)]].ends_with("qkv.bias") && i >= third &&
           i < 2 * third;
  };
  int const program = e->prepare(mode::training, samples);
  for (int k = 0; k < g.size.parameters; ++k) {
    parameter const& p = g.parameters[k];
    if (p.is_statistic()) continue;
    std::uint32_t const rank = ranks[static_cast<std::size_t>(k)];
    std::vector<float> numbers(static_cast<std::size_t>(p.count()));
    auto const start = [&](std::size_t i) {
      return stays_zero(k, static_cast<long long>(i)) ? 0.0 : initial(p, rank, static_cast<std::uint32_t>(i));
    };
    for (std::size_t i = 0; i < numbers.size(); ++i) numbers[i] = static_cast<float>(start(i));
    e->write_parameter(k, numbers.data());  // tells the engine that they changed
    for (std::size_t i = 0; i < numbers.size(); ++i) host.parameter_data(k)[i] = static_cast<T>(start(i));
  }
  for (std::size_t step = 0; step < theirs.losses.size(); ++step) {
    INFO("step " << step);
    std::vector<std::int32_t> labels;
    for (int n = 0; n < samples; ++n) labels.push_back(test::label(static_cast<int>(step), n, classes));
    for (std::uint32_t i = 0; i < samples * g.shape_of(0).size(); ++i)
      host.input_data(program)[i] = static_cast<T>(test::picture(static_cast<int>(step), i));
    e->run(program, test::one_batch{nullptr, {labels.data()}, samples, step, theirs.rate});
    CHECK(e->metrics(program).loss / samples == approx(theirs.losses[step]).epsilon(bound));
    for (int k = 0; step == 0 && k < g.size.parameters; ++k) {
      if (g.parameters[k].is_statistic()) continue;
      std::size_t const rank = ranks[static_cast<std::size_t>(k)];
      double sum = 0;
      for (long long i = 0; i < g.parameters[k].count(); ++i)
        sum += stays_zero(k, i)
                   ? 0
                   : static_cast<double>(host.parameter_gradient_data(k)[i]) *
                         test::symmetric(static_cast<std::uint32_t>(5000 + rank), static_cast<std::uint32_t>(i));
      INFO(theirs.names[rank]);
      // A batch_norm behind a 1x1 convolution cancels the bias of a batch_norm before it, whose gradient is rounding.
      CHECK(std::abs(sum - theirs.sums[rank]) <= bound * (theirs.norms[rank] + 0.01));
    }
  }
}

template <class Network>
void compare(std::string const& name, std::size_t steps = 8, double bound = 1e-9) {
  engine_options const o{.update = {.momentum = 0.9, .rate_in_velocity = false}, .verify = &verify};
  saved_run const wide = read_run(name, "float64"), narrow = read_run(name, "float32");
  REQUIRE(wide.losses.size() == steps);
  follow<double>(reference<double>{}.make_engine(Network::view(), o), wide, bound);
  follow<float>(native{.threads = 2}.make_engine(Network::view(), o), narrow, 1e-4);
}

}  // namespace

TEST_CASE("attention in windows: a small Swin Transformer has torchvision's losses and gradients") {
  compare<small_swin>("swin");
}
TEST_CASE("attention in windows: a small Swin Transformer V2 has torchvision's loss and gradients") {
  compare<small_swin_v2>("swin_v2", 1, 1e-7);  // torchvision computes the offsets in float
}
TEST_CASE("attention in windows: a small MaxViT has torchvision's losses and gradients") {
  compare<small_maxvit>("maxvit");
}

TEST_CASE("head_norm: NaN in a vector or in a scale stays NaN") {
  using net = network<image<96, 2, 2>, head_norm<2>>;
  std::vector<float> x(96 * 4, 0.5F), y(x.size());
  x[5 * 4 + 1] = std::nanf("");  // of the first head's queries, at pixel 1
  auto const check = [&](trainer t) {
    t.predict_on_batch(x, y);
    for (std::size_t c = 0; c < 96; ++c)
      for (std::size_t i = 0; i < 4; ++i)
        if (std::isnan(y[4 * c + i]) != (i == 1 && c < 16)) FAIL_CHECK("channel " << c << ", pixel " << i);
    float const gammas[] = {0, std::nanf("")};
    t.engine().write_parameter(0, gammas);
    t.predict_on_batch(x, y);
    for (std::size_t c = 0; c < 96; ++c)
      if (std::isnan(y[4 * c]) != (c >= 16 && c < 32)) FAIL_CHECK("channel " << c << " with a scale that is NaN");
  };
  check(compile<net>(reference{}, sgd{}, {.loss = loss::mean_squared_error}));
  check(compile<net>(native{.threads = 1}, sgd{}, {.loss = loss::mean_squared_error}));
}
