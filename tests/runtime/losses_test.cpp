// SPDX-License-Identifier: MIT
#include "support/catch.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <fstream>
#include <string>
#include <vector>

#include <dsl/dsl.hpp>
#include <dsl/executors/host/loss.hpp>
#include <dsl/executors/host/pixel_loss.hpp>
#include <dsl/executors/host/value_loss.hpp>

// Compares each loss and its gradient with PyTorch's and Keras's, also with weights of samples, pixels and classes.
// tests/fixtures/make_torch_losses.py and make_keras_losses.py wrote the files.

namespace {

using namespace dsl;

struct known {
  std::string name;
  int batch = 0;
  shape outputs{};
  double smoothing = 0;
  std::vector<double> y, targets, weights, gradient;
  double value = 0;
};

bool has_classes(known const& k) { return k.name.starts_with("crossentropy") || k.name.starts_with("pixels"); }
bool weighs_classes(known const& k) { return k.name.starts_with("class_weights"); }

std::vector<known> all_known(std::string const& file) {
  std::ifstream in(TYPENET_TEST_DATA "/" + file);
  std::vector<known> all;
  for (known k; in >> k.name >> k.batch >> k.outputs.channels >> k.outputs.height >> k.outputs.width >> k.smoothing;) {
    auto const count = static_cast<std::size_t>(k.batch * k.outputs.size());
    auto const samples = static_cast<std::size_t>(k.batch);
    std::size_t targets = count, weights = samples;
    if (k.name == "crossentropy_of_logits" || weighs_classes(k)) targets = samples;
    if (weighs_classes(k)) weights = static_cast<std::size_t>(k.outputs.channels);
    if (k.name == "pixels_of_logits") targets = weights = static_cast<std::size_t>(k.batch * k.outputs.area());
    k.y.resize(count), k.gradient.resize(count), k.targets.resize(targets), k.weights.resize(weights);
    for (double& v : k.y) in >> v;
    for (double& v : k.targets) in >> v;
    for (double& v : k.weights) in >> v;
    in >> k.value;
    for (double& v : k.gradient) in >> v;
    REQUIRE(in);
    all.push_back(k);
  }
  return all;
}

/// Bounds the error: in float64, each value takes a few dozen operations and one exp or log, which is off by a few
/// units in the last place.
constexpr double near_enough = 1e-12;

/// Returns a loss for outputs, which are logits where the name says so, and its gradient with respect to them.
template <class T>
double loss_of(known const& k, std::vector<T> y, std::vector<T>& gradient) {
  auto const channels = static_cast<std::size_t>(k.outputs.channels), area = static_cast<std::size_t>(k.outputs.area());
  bool const logits = k.name.find("of_logits") != std::string::npos, binary = k.name.rfind("binary", 0) == 0;
  for (std::size_t n = 0; logits && binary && n < y.size(); ++n) y[n] = 1 / (1 + std::exp(-y[n]));
  for (std::size_t n = 0; logits && !binary && n < static_cast<std::size_t>(k.batch); ++n)
    for (std::size_t i = 0; i < area; ++i) {
      T sum = 0;
      T* const first = y.data() + n * channels * area + i;
      for (std::size_t c = 0; c < channels; ++c) sum += first[c * area] = std::exp(first[c * area]);
      for (std::size_t c = 0; c < channels; ++c) first[c * area] /= sum;
    }
  gradient.assign(y.size(), 0);
  view<T const> const from{y.data(), k.outputs, k.batch, 1, k.outputs.channels, 0};
  view<T> const to{gradient.data(), k.outputs, k.batch, 1, k.outputs.channels, 0};
  std::vector<std::int32_t> const labels(k.targets.begin(), k.targets.end());
  std::vector<float> const wanted(k.targets.begin(), k.targets.end()), weights(k.weights.begin(), k.weights.end());
  long long labelled = 0;
  for (std::int32_t label : labels) labelled += label >= 0 ? 1 : 0;
  double metrics[2] = {};
  if (k.name.starts_with("crossentropy")) {
    host::compute_loss<T>(loss::categorical_crossentropy, logits, from, labels.data(), metrics, to, 0, false,
                          k.smoothing, weights.data());
  } else if (k.name.starts_with("pixels")) {
    host::compute_pixel_loss<T>(logits, from, labels.data(), metrics, to, labelled, false, k.smoothing, weights.data());
    return metrics[0] / static_cast<double>(labelled);
  } else {
    loss const kind = binary                            ? loss::binary_crossentropy
                      : k.name == "huber"               ? loss::huber
                      : k.name == "mean_absolute_error" ? loss::mean_absolute_error
                                                        : loss::mean_squared_error;
    host::compute_value_loss<T>(kind, logits, from, wanted.data(), metrics, to, 0, false, weights.data());
  }
  return metrics[0] / k.batch;
}

template <class T>
void compare(known const& k, double relative) {
  INFO(k.name << " " << k.smoothing << " in " << sizeof(T) << " bytes");
  std::vector<T> gradient;
  double const found = loss_of<T>(k, {k.y.begin(), k.y.end()}, gradient);
  if (!has_classes(k)) relative = std::max(relative, 1e-6);  // targets are floats
  CHECK(found == approx(k.value).epsilon(relative));
  double largest = 0;
  for (double g : k.gradient) largest = std::max(largest, std::abs(g));
  for (std::size_t i = 0; i < gradient.size(); ++i)
    CHECK(static_cast<double>(gradient[i]) == approx(k.gradient[i]).epsilon(relative).margin(relative * largest));
}

/// Compares each number of a loss's gradient with the slope of the loss around it.
void compare_with_differences(known const& k) {
  INFO(k.name << " " << k.smoothing);
  std::vector<double> gradient, ignored;
  loss_of<double>(k, k.y, gradient);
  double constexpr step = 1e-5;  // the error of the slope is about its square, times a third derivative
  double largest = 0;
  for (double g : gradient) largest = std::max(largest, std::abs(g));
  CHECK(largest > 0.01);
  for (std::size_t i = 0; i < k.y.size(); ++i) {
    std::vector<double> less = k.y, more = k.y;
    less[i] -= step, more[i] += step;
    double const slope = (loss_of<double>(k, more, ignored) - loss_of<double>(k, less, ignored)) / (2 * step);
    CHECK(gradient[i] == approx(slope).epsilon(1e-6).margin(1e-7 * largest));
  }
}

/// Trains one step with class_weights: the inputs are one-hot and the bias is 0, so the
/// kernel is the logits, and changes by the gradient times the learning rate.
template <class Executor>
void compare_class_weights(Executor executor, known const& k, double relative) {
  INFO(k.name << " of " << sizeof(Executor) << " bytes");
  using model = network<features<5>, dense<4>, softmax>;
  double constexpr rate = 64;  // it takes the changes out of the rounding of the kernel's floats
  trainer t = compile<model>(executor, sgd{.learning_rate = rate},
                             {.class_weights = std::vector<float>(k.weights.begin(), k.weights.end())});
  std::vector<float> kernel(20), after(20), inputs(25);
  for (std::size_t n = 0; n < 5; ++n) {
    inputs[6 * n] = 1;
    for (std::size_t c = 0; c < 4; ++c) kernel[5 * c + n] = static_cast<float>(k.y[4 * n + c]);
  }
  t.engine().write_parameter(0, kernel.data());
  std::vector<std::int32_t> const labels(k.targets.begin(), k.targets.end());
  CHECK(t.train_on_batch(inputs, labels).loss == approx(k.value).epsilon(relative));
  t.engine().read_parameter(0, after.data());
  double largest = 0;
  for (double g : k.gradient) largest = std::max(largest, std::abs(g));
  for (std::size_t i = 0; i < 20; ++i) {
    double const gradient = static_cast<double>(kernel[i] - after[i]) / rate;
    CHECK(gradient == approx(k.gradient[i % 5 * 4 + i / 5]).epsilon(relative).margin(relative * largest));
  }
}

/// Compares with all cases of a file, in double as closely as `relative`; returns how many have weights.
int compare_all(std::string const& file, std::size_t cases, double relative) {
  std::vector<known> const all = all_known(file);
  REQUIRE(all.size() == cases);
  int weighted = 0;
  for (known const& k : all) {
    INFO(file);
    weighted += std::all_of(k.weights.begin(), k.weights.end(), [](double w) { return w == 1; }) ? 0 : 1;
    if (weighs_classes(k)) {
      compare_class_weights(reference<double>{}, k, 1e-6);  // weights are read as floats
      compare_class_weights(reference{}, k, 1e-5);
      compare_class_weights(native{.threads = 1}, k, 1e-5);
    } else {
      compare<double>(k, relative);
      compare<float>(k, 1e-5);
    }
  }
  return weighted;
}

}  // namespace

TEST_CASE("losses and gradients are PyTorch's, with weights, too") {
  CHECK(compare_all("torch_losses.txt", 19, near_enough) == 10);
}

TEST_CASE("losses and gradients are Keras's, of logits and with weights, too") {
  // It rounds the losses of values to floats.
  CHECK(compare_all("keras_losses.txt", 17, 1e-6) == 9);
}

TEST_CASE("gradients of losses are the slopes of the losses, by finite differences") {
  for (known k : all_known("torch_losses.txt")) {
    if (weighs_classes(k)) continue;
    compare_with_differences(k);
    if (!has_classes(k)) continue;
    // Of probabilities that no softmax has computed, too: they need not add up to 1.
    k.name = k.name.substr(0, k.name.find("_of_logits"));
    for (double& p : k.y) p = 1 / (1 + std::exp(-p));
    compare_with_differences(k);
  }
}
