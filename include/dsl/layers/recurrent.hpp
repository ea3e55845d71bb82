// SPDX-License-Identifier: MIT
#pragma once

#include <dsl/layers/conv1d.hpp>

namespace dsl {

namespace option {
/// The option last_step.
struct last_step {};
}  // namespace option

/// Lets a recurrent layer give only its output at the last position of the sequence, as a flat value.
inline constexpr option::last_step last_step{};

namespace detail {

/// The arguments of a recurrent layer after Units.
struct recurrent_arguments {
  bool gives_last = false;
  int wrong = -1;

  template <class T>
  constexpr bool take(T) {
    return false;
  }
  constexpr bool take(option::last_step) {
    bool const first = !gives_last;
    gives_last = true;
    return first;
  }
};

constexpr value lower_recurrent(builder& b, value in, op kind, int units, recurrent_arguments const& o) {
  b.require(o.wrong < 0, {.broken = rule::options_belong_to_the_layer, .first = in.shape, .found = o.wrong + 2});
  require_sequence(b, in);
  b.require(units > 0, {.broken = rule::units_are_positive, .first = in.shape, .found = units});
  int const rows = narrow(1LL * recurrent_gates(kind) * units), channels = in.shape.channels;
  auto const kernel = [&](role r, int columns, int fan_out) {
    b.parameter({.role = r, .dims = {rows, columns, 1, 1}, .rank = 2, .fan_in = columns, .fan_out = fan_out});
  };
  kernel(role::kernel, channels, rows);
  kernel(role::recurrent_kernel, units, units);
  b.parameter({.role = role::bias, .dims = {rows, 1, 1, 1}});
  b.parameter({.role = role::recurrent_bias, .dims = {rows, 1, 1, 1}});
  return b.append({.kind = kind}, in, {units, 1, o.gives_last ? 1 : in.shape.width});
}

}  // namespace detail

/// Long short-term memory (Hochreiter & Schmidhuber 1997), with the gates i, f, g, o, biases and names of PyTorch's
/// nn.LSTM. It gives the outputs at all positions of a sequence, or with lstm<Units, last_step> only at the last one.
/// Kernels are initialised from Glorot's uniform distribution, biases with 0.
template <int Units, auto... Options>
struct lstm {
  static constexpr value lower(builder& b, value in) {
    return detail::lower_recurrent(b, in, op::lstm, Units,
                                   detail::read_arguments<detail::recurrent_arguments, Options...>());
  }
};
// lstm<32> on 3x1x100 -> 32x1x100;  lstm<32, last_step> on 3x1x100 -> 32

/// Gated recurrent unit (Cho et al. 2014), with the gates r, z, n, biases and names of PyTorch's nn.GRU. Its options
/// and its initial values are those of lstm.
template <int Units, auto... Options>
struct gru {
  static constexpr value lower(builder& b, value in) {
    return detail::lower_recurrent(b, in, op::gru, Units,
                                   detail::read_arguments<detail::recurrent_arguments, Options...>());
  }
};
// gru<32> on 3x1x100 -> 32x1x100, with 3 * 32 * (3 + 32 + 2) parameters

}  // namespace dsl
