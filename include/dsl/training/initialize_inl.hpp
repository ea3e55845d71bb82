// SPDX-License-Identifier: MIT
#pragma once

#include <dsl/detail/math.hpp>
#include <dsl/detail/mode.hpp>
#include <dsl/detail/philox.hpp>
#include <dsl/detail/zeros.hpp>
#include <dsl/executors/engine.hpp>
#include <dsl/executors/host/vector.hpp>
#include <dsl/training/initialize.hpp>

#include <cstddef>
#include <cstdint>

namespace dsl::detail::TYPENET_MODE {

/// Returns a standard normal number between -2 and 2, made from two uniform numbers by Box and Muller's method.
inline double draw_within_two(random_stream& random) {
  for (;;) {
    double const u = 1 - static_cast<double>(random.uniform()), v = static_cast<double>(random.uniform());  // u above 0
    double const x = sqrt(-2 * log(u)) * cos(6.283185307179586 * v);
    if (x > -2 && x < 2) return x;
  }
}

/// Returns a number in [-edge, edge). The product is rounded before the addition, whatever flags the compiler is given.
inline float draw_up_to(float edge, random_stream& random) {
  return static_cast<float>(host::product_of(2.0 * static_cast<double>(edge), static_cast<double>(random.uniform()))) -
         edge;
}

TYPENET_INLINE void draw_kernel(parameter const& p, random_stream& random, float* values, std::size_t count) {
  // the deviation of a standard normal distribution that is truncated at 2
  constexpr double cut = 0.8796256610342398;
  double const in = p.fan_in, both = 1.0 * p.fan_in + p.fan_out;
  double limit = 0, deviation = 0;
  switch (p.initial.kind) {
    case distribution::glorot_uniform: limit = sqrt(6.0 / both); break;
    case distribution::he_uniform: limit = sqrt(6.0 / in); break;
    case distribution::glorot_normal: deviation = sqrt(2.0 / both) / cut; break;
    case distribution::he_normal: deviation = sqrt(2.0 / in) / cut; break;
    case distribution::truncated_normal: deviation = p.initial.number; break;
    case distribution::constant: break;
  }
  auto const edge = static_cast<float>(limit);
  for (std::size_t i = 0; i < count; ++i)
    values[i] = p.initial.kind == distribution::constant ? static_cast<float>(p.initial.number)
                : deviation > 0                          ? static_cast<float>(deviation * draw_within_two(random))
                                                         : draw_up_to(edge, random);
}

}  // namespace dsl::detail::TYPENET_MODE

namespace dsl::TYPENET_MODE {

TYPENET_INLINE void initialize(engine& e, std::uint64_t seed) {
  detail::zeros<float> values;
  for (int k = 0; k < e.graph().size.parameters; ++k) {
    parameter const& p = e.graph().parameters[k];
    bool const one = p.role == role::gamma || p.role == role::moving_variance;
    values.allocate(static_cast<std::size_t>(p.count()));
    for (std::size_t i = 0; one && i < values.size(); ++i) values[i] = 1;
    for (std::size_t i = 0; p.constant && i < values.size(); ++i) values[i] = static_cast<float>(p.initial.number);
    if (p.role == role::kernel || p.role == role::recurrent_kernel) {
      detail::random_stream random(seed, detail::purpose::initial_weights, static_cast<std::uint64_t>(k));
      detail::draw_kernel(p, random, values.data(), values.size());
    }
    e.write_parameter(k, values.data());
    values.allocate(values.size());
    if (p.trainable())
      for (int s = 0; s < e.options().update.slots(); ++s) e.write_slot(s, k, values.data());
  }
}

}  // namespace dsl::TYPENET_MODE
