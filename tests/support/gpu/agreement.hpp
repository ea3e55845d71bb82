// SPDX-License-Identifier: MIT
#pragma once

#include <dsl/training/initialize.hpp>
#include "support/follow_trajectory.hpp"
#include "support/gpu/comparing.hpp"

// Compares the executor with others: the reference in double, and PyTorch's and Keras's saved trajectories.

namespace dsl::test {

using minigooglenet_network = network<image<3, 32, 32>, minigooglenet<10>>;

/// The allowed differences of losses, of parameters after some steps, of results, and of the gradients of one step.
/// Factors are rounded to 8 bits of mantissa in bf16, and 11 in tf32, in every layer, and after a batch_norm little is
/// left of a gradient. Betas differ most, since they began at 0 and are as large as their few steps. Bounds are two to
/// ten times what rounding alone gave on the simulated device, since sums in another order give other results: bf16
/// 0.12, 0.003 and 0.17; tf32 0.07, 0.0003 and 0.002, and more if tensor cores drop bits instead, which its bounds
/// allow.
struct bounds {
  double loss, values, results, gradient;
};
constexpr bounds bounds_of(precision p) {
  return p == precision::bf16   ? bounds{0.03, 0.35, 0.02, 0.4}
         : p == precision::tf32 ? bounds{0.01, 0.2, 0.01, 0.05}
                                : bounds{1e-4, 1e-3, 1e-4, 1e-4};
}

/// The result of a training run.
struct trained {
  std::vector<double> losses;  // mean of each step
  std::vector<float> parameters;
};

/// Trains both side by side, then evaluates and infers. `begin` may change parameters before.
inline void check_agreement(gpu const& on, ledger& l, std::string const& name, graph_view const& g,
                            engine_options const& o, int batch, int steps, precision p,
                            void (*begin)(engine&) = nullptr) {
  auto const fast = on.make(g, o, p);
  auto const plain = reference<double>{}.make_engine(g, o);
  initialize(*fast, 5);
  initialize(*plain, 5);
  if (begin) begin(*fast), begin(*plain);
  // What it derives from the parameters here is out of date later.
  fast->run(fast->prepare(mode::inference, batch), drawn_batch(g, batch, 77).view(9, 0));
  int const a = fast->prepare(mode::training, batch), b = plain->prepare(mode::training, batch);
  comparison losses, values;
  for (int s = 0; s < steps; ++s) {
    drawn_batch const data(g, batch, static_cast<std::uint64_t>(s));
    fast->run(a, data.view(static_cast<std::uint64_t>(s), 0.02));
    plain->run(b, data.view(static_cast<std::uint64_t>(s), 0.02));
    losses.add(difference(fast->metrics(a).loss / batch, plain->metrics(b).loss / batch));
  }
  for (int k = 0; k < g.size.parameters; ++k) values.add(difference(parameter_of(*fast, k), parameter_of(*plain, k)));
  bounds const near = bounds_of(p);
  std::string const what = name + ", " + name_of(p) + ", " + std::to_string(steps) + " steps: ";
  l.within(what + "losses", losses, near.loss);
  l.within(what + "the parameter that differs most", values, near.values);
  drawn_batch const data(g, batch, 77);
  for (mode m : {mode::evaluation, mode::inference}) {
    int const c = fast->prepare(m, batch), d = plain->prepare(m, batch);
    fast->run(c, data.view(9, 0));
    plain->run(d, data.view(9, 0));
    if (m == mode::evaluation)
      l.within(what + "evaluation", difference(fast->metrics(c).loss / batch, plain->metrics(d).loss / batch),
               near.loss);
    l.within(what + (m == mode::evaluation ? "its results" : "inference"),
             difference(result_of(*fast, c, batch), result_of(*plain, d, batch)), near.results);
  }
}

/// Plans are timed in one run only, the last: a hundred timed convolutions take minutes.
inline void check_layers(gpu const& on, ledger& l) {
  for (precision p : all_precisions) {
    check_agreement(on.untimed(), l, "all modules", mixed_network::view(), keras_rules, 6,
                    p == precision::fp32_strict ? 20 : 4, p);
    check_agreement(on.untimed(), l, "odd channels, torch's rules", odd_network::view(), torch_rules, 3, 4, p);
    check_agreement(on.untimed(), l, "wide dense layers", wide_network::view(), keras_rules, 64, 4, p);
  }
  check_agreement(on, l, "all modules, timed", mixed_network::view(), keras_rules, 6, 4, precision::bf16);
}

/// Compares the gradients of one step, by parameter: those of a precision all together, and the one that differs most.
inline void check_gradients(gpu const& on, ledger& l, std::string const& name, graph_view const& g, int batch,
                            std::initializer_list<std::pair<precision, double>> bounds_of_most) {
  auto const plain = reference<double>{}.make_engine(g, keras_rules);
  initialize(*plain, 5);
  drawn_batch const data(g, batch, 1);
  plain->run(plain->prepare(mode::training, batch), data.view(0, 0));
  auto& host = dynamic_cast<host::engine<double>&>(*plain);
  for (auto const& [p, bound] : bounds_of_most) {
    auto const fast = on.make(g, keras_rules, p);
    initialize(*fast, 5);
    fast->run(fast->prepare(mode::training, batch), data.view(0, 0));
    comparison worst;
    int which = 0;
    std::vector<float> all_got, all_wanted;
    for (int k = 0; k < g.size.parameters; ++k) {
      parameter const& q = g.parameters[k];
      // A batch_norm after a convolution's bias leaves no gradient for it.
      if (!q.trainable() || (q.role == role::bias && q.node != g.size.nodes - 2)) continue;
      std::vector<float> got(static_cast<std::size_t>(q.count())), wanted;
      fast->read_gradient(k, got.data());
      for (int i = 0; i < q.count(); ++i) wanted.push_back(static_cast<float>(host.parameter_gradient_data(k)[i]));
      double const before = worst.apart;
      worst.add(difference(got, wanted));
      if (worst.apart > before) which = k;
      all_got.insert(all_got.end(), got.begin(), got.end());
      all_wanted.insert(all_wanted.end(), wanted.begin(), wanted.end());
    }
    l.within(name + ", " + name_of(p) + ": all gradients together", difference(all_got, all_wanted), 0.7 * bound);
    l.within(name + ", " + name_of(p) + ": the gradient that differs most, of parameter " + std::to_string(which),
             worst, bound);
  }
}

}  // namespace dsl::test
