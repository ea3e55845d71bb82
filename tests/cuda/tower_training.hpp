// SPDX-License-Identifier: MIT
#pragma once

#include <dsl/dsl.hpp>
#include <dsl/executors/cuda.hpp>
#include <dsl/executors/cuda/engine.hpp>
#include <dsl/towers.hpp>
#include <dsl/towers/engine.hpp>
#include <dsl/training/initialize.hpp>

#include <cmath>
#include <string>
#include <vector>

#include "support/catch.hpp"
#include "support/drawn.hpp"
#include "support/all_kernels.hpp"
#include "support/larger.hpp"
#include "support/simulated_device/simulated_device.hpp"

// Towers of CUDA engines on simulated devices, and what they must agree with.

namespace dsl_test {

using namespace dsl;

/// The executor dsl::cuda with another table of vendor calls.
struct simulated_cuda {
  cu::api const* calls;
  int gpus;
  cu::engine_settings settings;

  simulated_cuda(cu::api const& a, int count, precision p = precision::fp32_strict,
                 cu::device_collectives const* collectives = nullptr)
      : calls(&a),
        gpus(count),
        settings{.precision = p,
                 .deterministic = true,
                 .cache = "",
                 .workspace_limit = 1 << 18,
                 .collectives = collectives} {}
  simulated_cuda for_tower(dsl::detail::tower_device const& at) const {
    simulated_cuda mine = *this;
    mine.settings.device = at.device;
    return mine;
  }
  int devices() const { return gpus; }
  std::unique_ptr<engine> make_engine(graph_view const& g, engine_options const& o) const {
    return std::make_unique<cu::engine>(*calls, g, o, settings);
  }
};

using all_modules = dsl::test::mixed_network;
using no_batch_norm = network<image<3, 8, 8>, conv2d<8, 3>, relu, max_pool2d<2, 2>, dropout<0.25>, conv2d<5, 3>, relu,
                              flatten, dense<4>, softmax>;
using tiny = network<image<3, 4, 4>, conv_module<4, 3, 3>, flatten, dense<3>, softmax>;

using dsl::test::drawn_batch;
using dsl::test::drawn_data;
using dsl::test::keras_rules;
using dsl::test::parameter_of;
using dsl::test::torch_rules;

/// Returns all parameters, including running moments.
inline std::vector<std::vector<float>> parameters_of(engine& e) {
  std::vector<std::vector<float>> all;
  for (int k = 0; k < e.graph().size.parameters; ++k) all.push_back(parameter_of(e, k));
  return all;
}
struct trained {
  std::vector<double> losses{};
  std::vector<std::vector<float>> begin{}, parameters{};
  bool operator==(trained const&) const = default;
};

template <class Executor>
std::unique_ptr<dsl::detail::towers_engine> towers_on(Executor const& on, graph_view const& g, engine_options const& o,
                                                      towers const& t) {
  return std::make_unique<dsl::detail::towers_engine>(dsl::detail::factory_of(on, t.count), g, o, t);
}
/// Trains with batches of the given `sizes`, in turn; the learning rate changes from step to step.
inline trained train(engine& e, std::vector<int> const& sizes, int steps) {
  initialize(e, 5);
  trained t;
  t.begin = parameters_of(e);
  std::vector<int> programs;
  for (int size : sizes) programs.push_back(e.prepare(mode::training, size));
  for (int s = 0; s < steps; ++s) {
    auto const which = static_cast<std::size_t>(s) % sizes.size();
    drawn_batch const data(e.graph(), sizes[which], static_cast<std::uint64_t>(s));
    e.run(programs[which], data.view(static_cast<std::uint64_t>(s), 0.02 / (1 + s)));
    t.losses.push_back(e.metrics(programs[which]).loss / sizes[which]);
  }
  t.parameters = parameters_of(e);
  return t;
}
inline trained train(dsl::detail::towers_engine& e, std::vector<int> const& sizes, int steps) {
  trained t = train(static_cast<engine&>(e), sizes, steps);
  for (int i = 1; i < e.replicas(); ++i) CHECK(parameters_of(e.at(i)) == t.parameters);
  return t;
}

/// The distance of two trainings that began alike: for losses the largest relative difference; for parameters the root
/// mean square, relative to how far they have moved.
struct distance {
  double loss = 0, all = 0, worst = 0;  // worst: the largest over single parameters
};
inline distance distance_of(trained const& got, trained const& wanted) {
  distance d;
  for (std::size_t s = 0; s < wanted.losses.size(); ++s)
    d.loss = dsl::test::larger(d.loss, std::fabs(got.losses[s] / wanted.losses[s] - 1));
  double apart = 0, moved = 0;
  for (std::size_t k = 0; k < wanted.parameters.size(); ++k) {
    double differ = 0, move = 1e-12;
    for (std::size_t i = 0; i < wanted.parameters[k].size(); ++i) {
      auto const x = static_cast<double>(got.parameters[k][i]), y = static_cast<double>(wanted.parameters[k][i]);
      double const from = static_cast<double>(wanted.begin[k][i]);
      differ += std::isfinite(x) ? (x - y) * (x - y) : 1e30;
      move += (y - from) * (y - from);
    }
    apart += differ, moved += move;
    d.worst = dsl::test::larger(d.worst, std::sqrt(differ / move));
  }
  d.all = std::sqrt(apart / moved);
  return d;
}
/// Bounds: for fp32 only rounding; for bf16, factors of 8 bits pass through every layer, and gradients are small after
/// a batch_norm, so that single parameters say nothing.
inline void check_near(trained const& got, trained const& wanted, precision p) {
  distance const d = distance_of(got, wanted);
  INFO("losses " << d.loss << ", parameters " << d.all << ", the worst one " << d.worst);
  CHECK(d.loss < (p == precision::bf16 ? 0.005 : 1e-6));
  CHECK(d.all < (p == precision::bf16 ? 0.1 : 1e-5));
  if (p != precision::bf16) CHECK(d.worst < 2e-3);
}

inline std::string name_of(towers const& t, std::vector<int> const& sizes) {
  std::string text = std::to_string(t.count) + " towers, " + (t.policy.even ? "even" : "the last takes the rest");
  char const* const moments[] = {", in turn", ", averaged", ", synchronized"};
  text += moments[static_cast<int>(t.policy.moments)];
  for (int s : sizes) text += ", batch " + std::to_string(s);
  return text;
}
inline std::vector<tower_policy> const all_policies{host_merge, all_reduce, synchronized(host_merge),
                                                    synchronized(all_reduce)};

}  // namespace dsl_test
