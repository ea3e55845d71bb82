// SPDX-License-Identifier: MIT
// Tests lstm and gru: outputs and gradients against PyTorch's, the plan's memory, bits for any number of threads, and
// the names of weights.
#include "support/one_batch.hpp"
#include "support/catch.hpp"
#include "support/random_graph.hpp"
#include "support/trajectory.hpp"
#include "support/words.hpp"

#include <dsl/dsl.hpp>
#include <dsl/executors/host/engine.hpp>
#include <dsl/io/weight_layout.hpp>
#include <dsl/training/weights.hpp>

#include <cstring>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

using namespace dsl;
using dsl::test::dice;

namespace {

using numbers = std::vector<double>;
using names = std::vector<std::string>;

/// A line of tests/fixtures/torch_recurrent.txt.
struct line {
  std::string layer, form, name;
  numbers values;
};
std::vector<line> read_lines() {
  std::ifstream in(TYPENET_TEST_DATA "/torch_recurrent.txt");
  std::vector<line> all;
  for (std::string text; std::getline(in, text);) {
    std::istringstream words(text);
    line l;
    words >> l.layer >> l.form >> l.name;
    for (double x = 0; words >> x;) l.values.push_back(x);
    all.push_back(l);
  }
  return all;
}

template <class T>
std::vector<T> stream(std::uint32_t k, long long count) {
  std::vector<T> all;
  for (std::uint32_t i = 0; i < static_cast<std::uint32_t>(count); ++i)
    all.push_back(static_cast<T>(test::hash32(k, i) * 0x1p-31 - 1));
  return all;
}

/// Returns what the file says of a network, computed by an executor: its outputs, then the gradients of parameters.
template <class T, class Network, class Executor>
std::vector<numbers> computed(Executor const& on) {
  auto const e = on.make_engine(Network::view(), {.loss = loss::mean_squared_error, .verify = &verify});
  auto& host = dynamic_cast<host::engine<T>&>(*e);
  graph_view const& g = e->graph();
  for (int k = 0; k < g.size.parameters; ++k) {
    std::vector<T> const all = stream<T>(static_cast<std::uint32_t>(52 + k), g.parameters[k].count());
    std::memcpy(host.parameter_data(k), all.data(), all.size() * sizeof(T));
  }
  std::vector<float> const x = stream<float>(50, 2 * Network::input.size());
  std::vector<float> const wanted = stream<float>(51, 2 * Network::output.size());
  std::vector<float> y(wanted.size());
  int const predicts = e->prepare(mode::inference, 2);
  e->run(predicts, test::one_batch{x.data(), {}, 2});
  e->read_result(predicts, y.data());
  std::vector<numbers> all{numbers(y.begin(), y.end())};
  int const trains = e->prepare(mode::training, 2, target_kind::values);
  e->run(trains, test::one_batch{x.data(), {.values = wanted.data()}, 2});
  for (int k = 0; k < g.size.parameters; ++k) {
    T const* const from = host.parameter_gradient_data(k);
    all.emplace_back(from, from + g.parameters[k].count());
  }
  return all;
}

int compared = 0;

/// Compares them with PyTorch's. The samples are floats, rounded from PyTorch's doubles.
template <class Network>
void agrees(std::vector<line> const& all, std::string const& layer, std::string const& form) {
  char const* const parts[] = {"outputs", "learnt", "weight_ih_l0", "weight_hh_l0", "bias_ih_l0", "bias_hh_l0"};
  for (int executor = 0; executor < 3; ++executor) {
    std::vector<numbers> const ours = executor == 0   ? computed<double, Network>(reference<double>{})
                                      : executor == 1 ? computed<float, Network>(reference<float>{})
                                                      : computed<float, Network>(native{.threads = 2});
    REQUIRE(ours.size() == 6);
    for (line const& l : all) {
      if (l.layer != layer || l.form != form) continue;
      for (std::size_t k = 0; k < 6; ++k) {
        if (l.name != parts[k]) continue;
        INFO(layer << ' ' << form << ' ' << l.name << " on executor " << executor);
        REQUIRE(ours[k].size() == l.values.size());
        for (std::size_t i = 0; i < l.values.size(); ++i) {
          CHECK(std::abs(ours[k][i] - l.values[i]) <= (executor == 0 ? 2e-7 : 2e-6));
          ++compared;
        }
      }
    }
  }
}

template <class... Layers>
using along = network<sequence<3, 5>, position_embedding, Layers...>;

}  // namespace

TEST_CASE("recurrent: outputs and gradients are PyTorch's") {
  std::vector<line> const all = read_lines();
  REQUIRE(all.size() == 24);
  agrees<along<lstm<4>>>(all, "lstm", "whole");
  agrees<along<lstm<4, last_step>>>(all, "lstm", "last");
  agrees<along<gru<4>>>(all, "gru", "whole");
  agrees<along<gru<4, last_step>>>(all, "gru", "last");
  int values = 0;
  for (line const& l : all) values += static_cast<int>(l.values.size());
  CHECK(compared == 3 * values);
}

TEST_CASE("recurrent: memory grows with the length, and the plan has what training saves") {
  auto const bytes = []<int Length>() {
    return network<sequence<4, Length>, lstm<64>, gru<64, last_step>, dense<2>, softmax>::training_bytes(8);
  };
  constexpr long long each = 4LL * 8 * 5 * 64 * 2;  // five saved numbers of each unit of both, for each place
  long long const one = bytes.template operator()<256>(), two = bytes.template operator()<512>();
  CHECK(two - one >= 256 * each);
  CHECK(two - one <= 256 * each + 256 * 4LL * 8 * (4 + 64 + 64 + 64));  // input, output and gradients
  auto const predicts = []<int Length>() {
    return network<sequence<4, Length>, lstm<64>, gru<64, last_step>, dense<2>, softmax>::inference_bytes(8);
  };
  CHECK(predicts.template operator()<512>() - predicts.template operator()<256>() <= 256 * 4LL * 8 * (4 + 64 + 16));
}

TEST_CASE("recurrent: weights have the same bits with any number of threads and any division of the samples") {
  using net = network<sequence<5, 12>, lstm<20>, gru<9>, conv1d<6, 3>, lstm<7, last_step>, dense<3>, softmax>;
  for (host::instructions set : {host::instructions::baseline, host::instructions::automatic}) {
    std::vector<float> first;
    for (int threads : {1, 2, 3, 7}) {
      trainer t =
          compile<net>(native{.threads = threads, .instructions = set}, adam{.learning_rate = 1e-2}, {.seed = 5});
      dice d(9);
      std::vector<float> x(17 * 60);
      std::vector<std::int32_t> labels;
      for (float& v : x) v = static_cast<float>(d.below(2001) - 1000) / 1000;
      for (int n = 0; n < 17; ++n) labels.push_back(d.below(3));
      for (int step = 0; step < 4; ++step) t.train_on_batch(x, labels);
      std::vector<float> const now = detail::read_weights(t.engine());
      if (first.empty()) first = now;
      REQUIRE(now.size() == first.size());
      CHECK(std::memcmp(now.data(), first.data(), now.size() * sizeof(float)) == 0);
    }
  }
}

TEST_CASE("recurrent: weights have PyTorch's names and shapes, and Keras's are refused") {
  using net = network<sequence<3, 9>, named<"rnn", lstm<4>>, gru<5, last_step>, dense<2>>;
  CHECK(weight_names(net::view()) == names{"rnn.weight_ih_l0", "rnn.weight_hh_l0", "rnn.bias_ih_l0", "rnn.bias_hh_l0",
                                           "1.weight_ih_l0", "1.weight_hh_l0", "1.bias_ih_l0", "1.bias_hh_l0",
                                           "2.weight", "2.bias"});
  weight_layout const layout(net::view(), weight_convention::torch);
  CHECK(layout.shape(0) == std::vector<std::uint64_t>{16, 3});
  CHECK(layout.shape(1) == std::vector<std::uint64_t>{16, 4});
  CHECK(layout.shape(2) == std::vector<std::uint64_t>{16});
  CHECK(layout.shape(5) == std::vector<std::uint64_t>{15, 5});
  test::refuses<option_error>([] { weight_layout(net::view(), weight_convention::keras); },
                              {"lstm", "different biases"});
}
