// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <cmath>
#include <cstdint>
#include <fstream>
#include <limits>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

// Trajectories saved from PyTorch and Keras (tests/fixtures): the formula by which both sides compute weights and
// pictures, equal bit by bit to that of trajectory_formula.py, and the reader of the files. tests/fixtures/README.md
// defines both.

namespace dsl::test {

// ---- the formula ----

/// Applies one round of the hash: mix(1) == 0x5fbe51fa.
constexpr std::uint32_t mix(std::uint32_t x) {
  x ^= x >> 16;
  x *= 0x6A09E667u;  // sqrt(2) - 1
  x ^= x >> 15;
  x *= 0xBB67AE85u;  // sqrt(3) - 1
  return x ^ (x >> 16);
}

/// Returns 32 bits for element i of stream k. With one round streams would be shifted copies of one another.
constexpr std::uint32_t hash32(std::uint32_t k, std::uint32_t i) { return mix(mix(i + 1) + (k + 1) * 0x9E3779B9u); }

/// Returns an exact number in [0, 1).
constexpr double unit(std::uint32_t k, std::uint32_t i) { return hash32(k, i) * 0x1p-32; }

/// Returns an exact number in [-1, 1).
constexpr double symmetric(std::uint32_t k, std::uint32_t i) { return 2.0 * unit(k, i) - 1.0; }

enum class parameter_kind { kernel, bias, gamma, beta, moving_mean, moving_variance };

/// Returns parameter k's element i before step 0. The fans (I*KH*KW and O*KH*KW; dense: in and out) matter only for
/// kernels.
inline double initial_value(parameter_kind kind, std::uint32_t k, std::uint32_t i, int fan_in = 0, int fan_out = 0) {
  switch (kind) {
    case parameter_kind::kernel: return symmetric(k, i) * std::sqrt(6.0 / (fan_in + fan_out));
    case parameter_kind::gamma: return 1.0 + symmetric(k, i) * 0.1;
    case parameter_kind::moving_variance: return 1.0 + 0.5 * unit(k, i);
    case parameter_kind::bias:
    case parameter_kind::beta:
    case parameter_kind::moving_mean: break;
  }
  return symmetric(k, i) * 0.1;
}

inline constexpr int trajectory_batches = 4;  // step s trains on batch s mod 4

/// Returns element i (NCHW, counted over the whole batch) of the pictures that step s trains on.
constexpr double picture(int step, std::uint32_t i) {
  return symmetric(1000u + static_cast<std::uint32_t>(step % trajectory_batches), i);
}

/// Returns the class of sample n at step s.
constexpr int label(int step, int n, int classes) {
  std::uint32_t const bits =
      hash32(2000u + static_cast<std::uint32_t>(step % trajectory_batches), static_cast<std::uint32_t>(n));
  return static_cast<int>(bits % static_cast<std::uint32_t>(classes));
}

inline constexpr int trajectory_samples = 8;

/// Returns which element of parameter k is its j-th sample: sample_index(2, 3, 216) == 73.
constexpr std::int64_t sample_index(int j, int k, std::int64_t count) { return (std::int64_t{j} * 7919 + k) % count; }
static_assert(mix(1) == 0x5fbe51fau && sample_index(2, 3, 216) == 73);

/// What a file stores of a parameter.
struct parameter_summary {
  double sum = 0;
  double sum_of_squares = 0;
  std::array<double, trajectory_samples> samples{};
};

/// Returns the summary of your own parameter k. Sums are in long double, since the file's are exactly rounded.
inline parameter_summary summarize(int k, std::span<double const> values) {
  long double sum = 0;
  long double squares = 0;
  for (double const v : values) {
    sum += v;
    squares += static_cast<long double>(v) * v;
  }
  parameter_summary s{static_cast<double>(sum), static_cast<double>(squares), {}};
  for (int j = 0; j < trajectory_samples && !values.empty(); ++j)
    s.samples[static_cast<std::size_t>(j)] =
        values[static_cast<std::size_t>(sample_index(j, k, static_cast<std::int64_t>(values.size())))];
  return s;
}

// ---- the files ----

struct saved_parameter {
  parameter_kind kind{};
  std::int64_t count = 0;
  int fan_in = 0;  // 0 unless a kernel
  int fan_out = 0;
  double float32_difference = 0;  // the largest one between an element of this run and of the float32 run
  parameter_summary value;
};

struct saved_state {
  int steps_done = 0;
  std::vector<saved_parameter> parameters;  // parameter k is entry k
};

struct saved_prediction {  // inference on batch 0 with the weights and moving statistics after steps_done steps
  int steps_done = 0;
  double logits_float32_difference = 0;
  double probabilities_float32_difference = 0;
  std::vector<double> logits;         // batch x classes
  std::vector<double> probabilities;  // batch x classes
};

struct trajectory {
  std::string framework, framework_version, backend, backend_version, numpy_version;
  std::string net;  // "small" or "minigooglenet"
  int channels = 0, height = 0, width = 0, classes = 0, batch = 0, batches = 0;
  bool rate_in_velocity = false;  // Keras's v = m*v - lr*g, p += v; else PyTorch's v = m*v + g, p -= lr*v
  double first_learning_rate = 0, momentum = 0;
  int learning_rate_steps = 0;
  bool biased_moving_variance = false;
  double bn_epsilon = 0, bn_momentum = 0;
  std::vector<double> losses;          // float64, before the update of step s
  std::vector<double> losses_float32;  // the same run in float32
  std::vector<saved_state> states;
  std::vector<saved_prediction> predictions;

  /// Returns the rate of step s: 0.05 * (1 - s / 40).
  double learning_rate(int step) const { return first_learning_rate * (1.0 - double(step) / learning_rate_steps); }

  /// Throws if the file has no state after that many steps.
  saved_state const& after(int steps_done) const { return find(states, steps_done, "state"); }
  saved_prediction const& predicted_after(int steps_done) const { return find(predictions, steps_done, "prediction"); }

 private:
  template <class Entry>
  Entry const& find(std::vector<Entry> const& entries, int steps_done, char const* what) const {
    for (Entry const& e : entries)
      if (e.steps_done == steps_done) return e;
    throw std::runtime_error("trajectory of " + net + " from " + framework + ": no " + what + " saved after " +
                             std::to_string(steps_done) + " steps");
  }
};

namespace detail {

/// Reads whitespace-separated words; every error names the file and the word's number.
class trajectory_reader {
 public:
  explicit trajectory_reader(std::string const& path) : path_(path), in_(path) {
    if (!in_) throw std::runtime_error(path + ": can't be opened; a trajectory of tests/fixtures was expected");
  }

  std::string word(char const* what) {
    std::string w;
    ++at_;
    if (!(in_ >> w)) fail(what, "the end of the file");
    return w;
  }

  void expect(char const* literal) {
    if (std::string const w = word(literal); w != literal) fail(literal, w);
  }

  /// Reads one of two words; returns true for the first.
  bool choice(char const* first, char const* second) {
    std::string const w = word(first);
    if (w != first && w != second) fail((std::string(first) + " or " + second).c_str(), w);
    return w == first;
  }

  double number(char const* what) {
    std::string const w = word(what);
    std::size_t used = 0;
    double value = 0;
    try {
      value = std::stod(w, &used);
    } catch (std::exception const&) {
      used = 0;
    }
    if (used != w.size() || !std::isfinite(value)) fail(what, w);
    return value;
  }

  std::int64_t integer(char const* what, std::int64_t least = 0) {
    double const value = number(what);
    if (value != std::floor(value) || value < static_cast<double>(least) || value > std::numeric_limits<int>::max())
      fail((std::string(what) + ", a whole number from " + std::to_string(least)).c_str(), std::to_string(value));
    return static_cast<std::int64_t>(value);
  }

  int small_integer(char const* what, int least = 0) { return static_cast<int>(integer(what, least)); }

  std::vector<double> numbers(std::int64_t n, char const* what) {
    std::vector<double> v;
    for (std::int64_t i = 0; i < n; ++i) v.push_back(number(what));
    return v;
  }

  [[noreturn]] void fail(char const* expected, std::string_view found) const {
    throw std::runtime_error(path_ + ": word " + std::to_string(at_) + ": expected " + expected + ", found " +
                             std::string(found) + "; make the file again with tests/fixtures/make_*_trajectories.py");
  }

 private:
  std::string path_;
  std::ifstream in_;
  int at_ = 0;
};

inline parameter_kind read_kind(trajectory_reader& in) {
  static constexpr std::array<std::string_view, 6> names{"kernel", "bias",        "gamma",
                                                         "beta",   "moving_mean", "moving_variance"};
  std::string const w = in.word("a kind of parameter");
  for (std::size_t i = 0; i < names.size(); ++i)
    if (names[i] == w) return static_cast<parameter_kind>(i);
  in.fail("a kind of parameter", w);
}

inline saved_state read_state(trajectory_reader& in) {
  saved_state s;
  s.steps_done = in.small_integer("the steps done");
  int const n = in.small_integer("the number of parameters", 1);
  for (int k = 0; k < n; ++k) {
    if (int const found = in.small_integer("a parameter's number"); found != k)
      in.fail(("parameter " + std::to_string(k)).c_str(), std::to_string(found));
    saved_parameter p;
    p.kind = read_kind(in);
    p.count = in.integer("a number of elements", 1);
    p.fan_in = in.small_integer("a fan-in");
    p.fan_out = in.small_integer("a fan-out");
    p.float32_difference = in.number("the float32 difference");
    p.value.sum = in.number("a sum");
    p.value.sum_of_squares = in.number("a sum of squares");
    for (double& v : p.value.samples) v = in.number("a sample");
    s.parameters.push_back(p);
  }
  return s;
}

inline saved_prediction read_prediction(trajectory_reader& in) {
  saved_prediction p;
  p.steps_done = in.small_integer("the steps done");
  std::int64_t n = in.integer("the batch", 1);
  n *= in.integer("the classes", 1);
  p.logits_float32_difference = in.number("the float32 difference");
  p.logits = in.numbers(n, "a logit");
  p.probabilities_float32_difference = in.number("the float32 difference");
  p.probabilities = in.numbers(n, "a probability");
  return p;
}

}  // namespace detail

/// Reads a file of tests/fixtures. Throws std::runtime_error with file, word number, found and expected if it is
/// damaged.
inline trajectory read_trajectory(std::string const& path) {
  detail::trajectory_reader in(path);
  trajectory t;
  in.expect("typenet_trajectory");
  in.expect("1");
  in.expect("framework");
  t.framework = in.word("a framework's name");
  t.framework_version = in.word("a version");
  in.expect("backend");
  t.backend = in.word("a backend's name");
  t.backend_version = in.word("a version");
  in.expect("numpy");
  t.numpy_version = in.word("a version");
  in.expect("net");
  t.net = in.word("a net's name");
  in.expect("image");
  t.channels = in.small_integer("the channels", 1);
  t.height = in.small_integer("the height", 1);
  t.width = in.small_integer("the width", 1);
  in.expect("classes");
  t.classes = in.small_integer("the classes", 1);
  in.expect("batch");
  t.batch = in.small_integer("the batch", 1);
  in.expect("batches");
  t.batches = in.small_integer("the batches", 1);
  if (t.batches != trajectory_batches) in.fail("4 batches, which picture() cycles through", std::to_string(t.batches));
  in.expect("sgd");
  t.rate_in_velocity = in.choice("rate_in_velocity", "plain_velocity");
  in.expect("learning_rate");
  t.first_learning_rate = in.number("the learning rate");
  in.expect("over");
  t.learning_rate_steps = in.small_integer("the learning rate's steps", 1);
  in.expect("momentum");
  t.momentum = in.number("the momentum");
  in.expect("batch_norm");
  t.biased_moving_variance = in.choice("biased", "unbiased");
  in.expect("epsilon");
  t.bn_epsilon = in.number("batch norm's epsilon");
  in.expect("momentum");
  t.bn_momentum = in.number("batch norm's momentum");
  for (std::vector<double>* losses : {&t.losses, &t.losses_float32}) {
    in.expect("losses");
    in.expect(losses == &t.losses ? "float64" : "float32");
    *losses = in.numbers(in.integer("the number of losses", 1), "a loss");
  }
  for (std::string w; (w = in.word("state, predict or end")) != "end";) {
    if (w == "state")
      t.states.push_back(detail::read_state(in));
    else if (w == "predict")
      t.predictions.push_back(detail::read_prediction(in));
    else
      in.fail("state, predict or end", w);
  }
  return t;
}

}  // namespace dsl::test
