// SPDX-License-Identifier: MIT
#pragma once

#include <dsl/dsl.hpp>

#include <cstdint>
#include <vector>

namespace dsl::test {

/// A batch_norm of one channel on the picture's numbers, with a bias of 10 that only affects the running mean.
template <double Momentum>
using known_moments = network<image<1, 2, 2>, conv2d<1, 1>, batch_norm<Momentum>, flatten, dense<2>, softmax>;

struct running_moments {
  double mean = 0;
  double variance = 1;
};

/// Returns the running moments, from a mean of 0 and a variance of 1, after a step at rate 0 on the numbers 0, 1, 2
/// ..., four per sample.
inline running_moments moments_behind_step(trainer t, int samples) {
  graph_view const& g = t.graph();
  int mean = -1, variance = -1;
  for (int k = 0; k < g.size.parameters; ++k) {
    parameter const& p = g.parameters[k];
    float const one = 1, ten = 10;
    if (p.count() == 1 && p.role == role::kernel) t.engine().write_parameter(k, &one);
    if (p.count() == 1 && p.role == role::bias) t.engine().write_parameter(k, &ten);
    if (p.role == role::moving_mean) mean = k;
    if (p.role == role::moving_variance) variance = k;
  }
  std::vector<float> pictures;
  for (int i = 0; i < 4 * samples; ++i) pictures.push_back(static_cast<float>(i));
  std::vector<std::int32_t> const labels(static_cast<std::size_t>(samples));
  t.train_on_batch(pictures.data(), labels.data(), samples);
  float now[2];
  t.engine().read_parameter(mean, &now[0]);
  t.engine().read_parameter(variance, &now[1]);
  return {static_cast<double>(now[0]), static_cast<double>(now[1])};
}

/// Options of compile, and where one sample then moves the moments of known_moments<0.8>: its mean is 1.5 plus the
/// bias, and its squared deviations sum to 5, over 4 numbers or, unbiased, 3.
struct moved_moments {
  compile_options options;
  running_moments to;
};
inline std::vector<moved_moments> moved_by_one_sample() {
  return {{{}, {2.3, 1.05}},
          {{.unbiased_running_variance = true}, {2.3, 0.8 + 0.2 * 5 / 3}},
          {{.batch_norm_momentum = 0.5}, {5.75, 1.125}},
          {{.batch_norm_momentum = 0.5, .unbiased_running_variance = true}, {5.75, 4.0 / 3}},
          {{.batch_norm_momentum = 0}, {11.5, 1.25}}};
}

}  // namespace dsl::test
