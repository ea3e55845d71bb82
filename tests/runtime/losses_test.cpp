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

// Compares each loss and its gradient with PyTorch's, which tests/fixtures/make_torch_losses.py wrote.

namespace {

using namespace dsl;

struct known {
  std::string name;
  int batch = 0;
  shape outputs{};
  double smoothing = 0;
  std::vector<double> y, targets, gradient;
  double value = 0;
};

std::vector<known> all_known() {
  std::ifstream in(TYPENET_TEST_DATA "/torch_losses.txt");
  std::vector<known> all;
  for (known k; in >> k.name >> k.batch >> k.outputs.channels >> k.outputs.height >> k.outputs.width >> k.smoothing;) {
    auto const count = static_cast<std::size_t>(k.batch * k.outputs.size());
    std::size_t targets = count;
    if (k.name == "crossentropy_of_logits") targets = static_cast<std::size_t>(k.batch);
    if (k.name == "pixels_of_logits") targets = static_cast<std::size_t>(k.batch * k.outputs.area());
    k.y.resize(count), k.gradient.resize(count), k.targets.resize(targets);
    for (double& v : k.y) in >> v;
    for (double& v : k.targets) in >> v;
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

template <class T>
void compare(known const& k, double relative) {
  INFO(k.name << " " << k.smoothing << " in " << sizeof(T) << " bytes");
  std::vector<T> y(k.y.begin(), k.y.end()), gradient(y.size());
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
  view<T const> const from{y.data(), k.outputs, k.batch, 1, k.outputs.channels, 0};
  view<T> const to{gradient.data(), k.outputs, k.batch, 1, k.outputs.channels, 0};
  std::vector<std::int32_t> const labels(k.targets.begin(), k.targets.end());
  std::vector<float> const wanted(k.targets.begin(), k.targets.end());
  long long labelled = 0;
  for (std::int32_t label : labels) labelled += label >= 0 ? 1 : 0;
  double metrics[2] = {}, divisor = k.batch;
  if (k.name == "crossentropy_of_logits") {
    host::compute_loss<T>(loss::categorical_crossentropy, true, from, labels.data(), metrics, to, 0, false,
                          k.smoothing);
  } else if (k.name == "pixels_of_logits") {
    divisor = static_cast<double>(labelled);
    host::compute_pixel_loss<T>(true, from, labels.data(), metrics, to, labelled, false, k.smoothing);
  } else {
    loss const kind = binary                            ? loss::binary_crossentropy
                      : k.name == "huber"               ? loss::huber
                      : k.name == "mean_absolute_error" ? loss::mean_absolute_error
                                                        : loss::mean_squared_error;
    host::compute_value_loss<T>(kind, logits, from, wanted.data(), metrics, to);
    relative = std::max(relative, 1e-6);  // targets are floats
  }
  CHECK(metrics[0] / divisor == approx(k.value).epsilon(relative));
  double largest = 0;
  for (double g : k.gradient) largest = std::max(largest, std::abs(g));
  for (std::size_t i = 0; i < gradient.size(); ++i)
    CHECK(static_cast<double>(gradient[i]) == approx(k.gradient[i]).epsilon(relative).margin(relative * largest));
}

}  // namespace

TEST_CASE("losses and gradients are PyTorch's") {
  std::vector<known> const all = all_known();
  REQUIRE(all.size() == 9);
  for (known const& k : all) {
    compare<double>(k, near_enough);
    compare<float>(k, 1e-5);
  }
}
