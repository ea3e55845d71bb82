// SPDX-License-Identifier: MIT
#pragma once

#include <dsl/dsl.hpp>
#include <dsl/executors/cuda.hpp>
#include <dsl/executors/cuda/engine.hpp>
#include <dsl/training/initialize.hpp>

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "support/all_kernels.hpp"
#include "support/catch.hpp"
#include "support/drawn.hpp"
#include "support/simulated_device/simulated_device.hpp"

// The comparison of the CUDA engine on a simulated device with the reference in double.

namespace dsl_test {

/// Returns the root mean square of the difference, relative to that of b.
inline double difference(std::vector<float> const& a, std::vector<float> const& b) {
  double apart = 0, size = 1e-12;
  for (std::size_t i = 0; i < a.size(); ++i) {
    double const x = static_cast<double>(a[i]), y = static_cast<double>(b[i]);
    if (!std::isfinite(x)) return 1e30;
    apart += (x - y) * (x - y);
    size += y * y;
  }
  return std::sqrt(apart / size);
}
/// Returns the settings of an engine that stores nothing.
inline dsl::cu::engine_settings settings(dsl::precision p, bool deterministic = false) {
  return {.precision = p, .deterministic = deterministic, .cache = "", .workspace_limit = 1 << 18};
}

/// Bounds of losses and parameters: rounded factors (8 bits of mantissa in bf16, 11 in tf32) pass through every layer,
/// and a few steps of training amplify the differences.
struct bounds {
  double loss;
  double values;
};
constexpr bounds bounds_of(dsl::precision p) {
  return p == dsl::precision::bf16   ? bounds{0.03, 0.25}
         : p == dsl::precision::tf32 ? bounds{0.01, 0.1}
                                     : bounds{1e-4, 1e-3};
}

/// Trains both engines side by side, and evaluates and infers before and afterwards.
inline void agree(dsl::graph_view const& g, dsl::engine_options const& o, int batch, int steps, dsl::precision p,
                  double rate = 0.02) {
  add_all_kernels();
  simulated_device device({.seed = 3});
  {
    dsl::cu::engine fast(device.api(), g, o, settings(p));
    auto const plain = dsl::reference<double>{}.make_engine(g, o);
    dsl::initialize(fast, 5);
    dsl::initialize(*plain, 5);
    bounds const near = bounds_of(p);
    auto const evaluate_and_infer = [&] {
      dsl::test::drawn_batch const data(g, batch, 77);
      for (dsl::mode m : {dsl::mode::evaluation, dsl::mode::inference}) {
        int const c = fast.prepare(m, batch), d = plain->prepare(m, batch);
        fast.run(c, data.view(9, 0));
        plain->run(d, data.view(9, 0));
        if (m == dsl::mode::evaluation) {
          CHECK(fast.metrics(c).loss == Approx(plain->metrics(d).loss).epsilon(near.loss));
        }
        CHECK(difference(dsl::test::result_of(fast, c, batch), dsl::test::result_of(*plain, d, batch)) < near.values);
      }
    };
    evaluate_and_infer();  // results computed from the parameters here are outdated later
    auto const training = [&](dsl::engine& e) { return e.prepare(dsl::mode::training, batch); };
    int const a = training(fast), b = training(*plain);
    for (int s = 0; s < steps; ++s) {
      dsl::test::drawn_batch const data(g, batch, static_cast<std::uint64_t>(s));
      fast.run(a, data.view(static_cast<std::uint64_t>(s), rate));
      plain->run(b, data.view(static_cast<std::uint64_t>(s), rate));
      INFO("step " << s);
      CHECK(fast.metrics(a).loss == Approx(plain->metrics(b).loss).epsilon(near.loss));
    }
    for (int k = 0; k < g.size.parameters; ++k) {
      INFO("parameter " << k << " of node " << g.parameters[k].node);
      CHECK(difference(dsl::test::parameter_of(fast, k), dsl::test::parameter_of(*plain, k)) < near.values);
    }
    evaluate_and_infer();
  }
  CHECK(device.report() == "");
}

}  // namespace dsl_test
