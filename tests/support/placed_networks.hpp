// SPDX-License-Identifier: MIT
#pragma once

#include "support/one_batch.hpp"

#include <dsl/dsl.hpp>
#include <dsl/executors/reference/engine.hpp>
#include <dsl/placement.hpp>
#include <dsl/towers.hpp>
#include <dsl/towers/engine.hpp>
#include <dsl/training/initialize.hpp>

#include <cmath>
#include <vector>

// Networks that differ only in their devices, and the result of 20 steps.

namespace dsl::test {

/// A sequence of layers: every gradient has one contribution, and device 0's gradients are the same in any placement.
template <int A, int B>
using chain_on = network<image<3, 8, 8>, on<device<A>, conv2d<4, 3>, relu, max_pool2d<2, 2>>,
                         on<device<B>, conv2d<5, 3>, sigmoid, flatten, dropout<0.5>, dense<3>, softmax>>;

/// Neither pictures nor tensors read by two layers of another device get gradients from two devices; a relu may be on
/// another device than its batch_norm.
template <int A, int B>
using apart_on =
    network<image<3, 8, 8>,
            on<device<B>, concat<on<device<A>, conv2d<16, 3>, batch_norm<>, on<device<B>, relu>>, conv_module<16, 1>>>,
            on<device<A>, concat<conv_module<16, 3>, conv2d<5, 1>, max_pool2d<1, 1>>>,
            on<device<B>, flatten, dropout<0.25>, on<device<A>, dense<3>>, softmax>>;

/// A convolution whose bias is skipped on one device, because a batch_norm follows.
template <int A, int B>
using torn_on = network<image<3, 8, 8>, on<device<A>, conv2d<16, 3>>,
                        on<device<B>, batch_norm<>, relu, conv2d<5, 3>, flatten, dense<3>, softmax>>;

/// Two branches in parallel on their own devices, with their sum on a third; and a concat.
template <int A, int B, int C>
using branches_on =
    network<image<3, 8, 8>, on<device<A>, conv_module<4, 3>>,
            add<on<device<A>, conv_module<4, 3>>, on<device<B>, conv2d<4, 1>, batch_norm<>>>,
            on<device<C>, concat<on<device<B>, conv_module<4, 1>>, conv_module<4, 3>, on<device<A>, max_pool2d<1, 1>>>,
               flatten, dropout<0.25>, dense<3>, softmax>>;

inline constexpr update_rule momentum{.momentum = 0.9};

struct batch_of {
  std::vector<float> images;
  std::vector<std::int32_t> labels;
};
inline batch_of batch_at(graph_view const& g, int step, int size) {
  batch_of b;
  long long const each = g.output_shape(g.nodes[0]).size();
  for (long long i = 0; i < size * each; ++i)
    b.images.push_back(static_cast<float>(std::sin(0.37 * static_cast<double>(i) + 1.3 * step)));
  for (int n = 0; n < size; ++n) b.labels.push_back((n + step) % 3);
  return b;
}

struct trained {
  std::vector<double> losses;
  std::vector<double> parameters;
  friend bool operator==(trained const&, trained const&) = default;
};
inline double norm(std::vector<double> const& v) {
  double sum = 0;
  for (double x : v) sum += x * x;
  return std::sqrt(sum);
}
/// Returns the distance of losses and parameters, relative to b's.
inline double distance(trained const& a, trained const& b) {
  auto const of = [](std::vector<double> x, std::vector<double> const& y) {
    if (x.size() != y.size()) return 1e30;
    for (std::size_t i = 0; i < x.size(); ++i) x[i] -= y[i];
    double const d = norm(x) / norm(y);
    return std::isnan(d) ? 1e30 : d;
  };
  return std::fmax(of(a.losses, b.losses), of(a.parameters, b.parameters));
}

inline std::vector<double> parameters_of(engine& e) {
  std::vector<double> all;
  auto* const exact = dynamic_cast<plain::engine<double>*>(&e);
  for (int k = 0; k < e.graph().size.parameters; ++k) {
    long long const count = e.graph().parameters[k].count();
    std::vector<float> v(static_cast<std::size_t>(count));
    e.read_parameter(k, v.data());
    if (exact)
      all.insert(all.end(), exact->parameter_data(k), exact->parameter_data(k) + count);
    else
      all.insert(all.end(), v.begin(), v.end());
  }
  return all;
}

/// Trains with each device on its own thread, possibly on several towers.
template <class Network, class Executor>
trained trained_on(Executor const& on, towers const& t = {}, int size = 10, int steps = 20) {
  engine_options o;
  o.seed = 3;
  o.update = momentum;
  o.micro_batches = detail::micro_batches<Network>;
  o.make_thread_team = &host::make_thread_team;
  o.verify = &verify;
  std::unique_ptr<engine> const e = make_towers(on, Network::view(), o, t);
  initialize(*e, 3);
  int const program = e->prepare(mode::training, size);
  trained result;
  for (int s = 0; s < steps; ++s) {
    batch_of const b = batch_at(e->graph(), s, size);
    e->run(program,
           dsl::test::one_batch{b.images.data(), {b.labels.data()}, size, static_cast<std::uint64_t>(s), 0.02});
    result.losses.push_back(e->metrics(program).loss / size);
  }
  auto* const group = dynamic_cast<detail::towers_engine*>(e.get());
  result.parameters = parameters_of(group ? group->at(0) : *e);
  return result;
}

/// Trains on one device with an engine that knows neither towers nor micro-batches: one part of the batch after the
/// other, with gradients summed and the update computed here.
template <class Network>
trained trained_by_hand(int micro_batches, int size = 10, int steps = 20, towers const& t = {}) {
  engine_options o;
  o.seed = 3;
  plain::engine<double> e(Network::view(), o, reference<double>::target);
  initialize(e, 3);
  graph_view const& g = e.graph();
  bool const averages = t.policy.moments == tower_moments::averaged;
  std::vector<std::vector<double>> velocity, gradient, before, moved;
  for (int k = 0; k < g.size.parameters; ++k)
    for (auto* v : {&velocity, &gradient, &before, &moved})
      v->emplace_back(static_cast<std::size_t>(g.parameters[k].count()));
  auto const each_number = [&](bool trainable, auto f) {
    for (int k = 0; k < g.size.parameters; ++k)
      for (std::size_t j = 0;
           g.parameters[k].trainable() == trainable && j < gradient[static_cast<std::size_t>(k)].size(); ++j)
        f(k, static_cast<std::size_t>(k), j);
  };
  trained result;
  for (int s = 0; s < steps; ++s) {
    batch_of const b = batch_at(g, s, size);
    double loss = 0;
    int active = 0;
    for (auto* all : {&gradient, &moved})
      for (auto& v : *all) v.assign(v.size(), 0);
    each_number(false, [&](int k, std::size_t i, std::size_t j) { before[i][j] = e.parameter_data(k)[j]; });
    for (int tower = 0; tower < t.count; ++tower) {
      batch_part const own = part_of(size, t.count, tower, t.policy);
      if (own.size == 0) continue;
      ++active;
      if (averages)
        each_number(false, [&](int k, std::size_t i, std::size_t j) { e.parameter_data(k)[j] = before[i][j]; });
      int const parts = micro_batches_of({.batch = own.size, .micro_batches = micro_batches});
      for (int m = 0; m < parts; ++m) {
        sample_range const part = micro_batch(own.size, parts, m);
        int const first = own.first + part.first;
        int const program = e.prepare(mode::training, {part.size, first, size});
        e.run(program, dsl::test::one_batch{b.images.data() + first * g.output_shape(g.nodes[0]).size(),
                                            {b.labels.data() + first},
                                            part.size,
                                            static_cast<std::uint64_t>(s),
                                            0});
        loss += e.metrics(program).loss;
        each_number(true,
                    [&](int k, std::size_t i, std::size_t j) { gradient[i][j] += e.parameter_gradient_data(k)[j]; });
      }
      each_number(false, [&](int k, std::size_t i, std::size_t j) { moved[i][j] += e.parameter_data(k)[j]; });
    }
    if (averages)
      each_number(false, [&](int k, std::size_t i, std::size_t j) { e.parameter_data(k)[j] = moved[i][j] / active; });
    each_number(true, [&](int k, std::size_t i, std::size_t j) {
      velocity[i][j] = momentum.momentum * velocity[i][j] - 0.02 * gradient[i][j];
      e.parameter_data(k)[j] += velocity[i][j];
    });
    result.losses.push_back(loss / size);
  }
  result.parameters = parameters_of(e);
  return result;
}

}  // namespace dsl::test
