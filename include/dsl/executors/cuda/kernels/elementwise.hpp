// SPDX-License-Identifier: MIT
#pragma once

#include <dsl/detail/mode.hpp>
#include <dsl/executors/cuda/kernels/spec.hpp>

#include <algorithm>
#include <span>

/// Specs of kernels/elementwise.cuh and dropout.cuh, and of operations/activation/kernels.cuh. `pixels` counts those of
/// the whole batch, batch * area.
namespace dsl::cu::kernels::TYPENET_MODE {

/// The inputs of a sum: their buffers, not their slices.
struct sum_inputs {
  element const* x[8] = {};
};

/// Computes y, or y +=, the sum of 1 to 8 inputs, for add and for every copy between slices. y may be one of the
/// inputs.
inline auto sum(storage t, long long pixels, int channels, std::span<slice const> x, slice y, bool accumulate)
    -> kernel_spec<sum_inputs, element*> {
  if (x.empty() || x.size() > 8)
    throw executor_error(dsl::detail::message(
        {"cuda: one launch adds 1 to 8 tensors; found ", x.size(), "; please report the network"}));
  int lanes = detail::lanes_of(t, channels, {y});
  slice all[8];
  for (std::size_t i = 0; i < x.size(); ++i) {
    all[i] = x[i];
    lanes = std::min(lanes, detail::lanes_of(t, channels, {x[i]}));
  }
  return detail::pointwise("sum", t, pixels * (channels / lanes), detail::checked_count("sum", pixels), channels, lanes,
                           static_cast<int>(x.size()), accumulate, y, all[0], all[1], all[2], all[3], all[4], all[5],
                           all[6], all[7]);
}
inline auto copy(storage t, long long pixels, int channels, slice x, slice y, bool accumulate)
    -> kernel_spec<sum_inputs, element*> {
  return sum(t, pixels, channels, {&x, 1}, y, accumulate);
}

/// Copies the values of a flatten, or of its gradient, in the order (channel, row, column).
inline auto reshape(storage t, int batch, shape const& from, shape const& to, slice x, slice y, bool accumulate)
    -> kernel_spec<element const*, element*> {
  int const size = detail::checked_count("reshape", from.size());
  return detail::pointwise("reshape", t, batch * from.size(), batch, size, static_cast<int>(from.area()),
                           static_cast<int>(to.area()), x, y, accumulate);
}

/// Computes y = f(x). y may be x.
inline auto activation_forward(storage t, long long pixels, int channels, function f, double alpha, slice x, slice y)
    -> kernel_spec<element const*, element*> {
  int const lanes = detail::lanes_of(t, channels, {x, y});
  return detail::pointwise("activation_forward", t, pixels * (channels / lanes),
                           detail::checked_count("activation_forward", pixels), channels, lanes, static_cast<int>(f),
                           static_cast<float>(alpha), x, y);
}

/// Computes dx = f' dy, with f' computed from `from`: the activation's input or output, as
/// operations/activation/facts.hpp says. dx may be dy.
inline auto activation_backward(storage t, long long pixels, int channels, function f, double alpha, slice from,
                                slice dy, slice dx, bool accumulate)
    -> kernel_spec<element const*, element const*, element*> {
  int const lanes = detail::lanes_of(t, channels, {from, dy, dx});
  return detail::pointwise("activation_backward", t, pixels * (channels / lanes),
                           detail::checked_count("activation_backward", pixels), channels, lanes, static_cast<int>(f),
                           static_cast<float>(alpha), from, dy, dx, accumulate);
}

/// Drops values of x or, in the backward pass, of dy, which is then passed as x. y may be x. The kernel draws the same
/// numbers as the CPU (executors/dropout.hpp).
inline auto dropout(storage t, int batch, shape const& s, double rate, int node, slice x, slice y, bool accumulate)
    -> kernel_spec<element const*, element*, step_state const*> {
  int const lanes = detail::lanes_of(t, s.channels, {x, y});
  return detail::pointwise("dropout", t, batch * s.area() * (s.channels / lanes), batch, static_cast<int>(s.area()),
                           s.channels, lanes, node, static_cast<float>(rate), x, y, accumulate);
}

/// Drops whole samples, and otherwise works like dropout().
inline auto stochastic_depth(storage t, int batch, shape const& s, double rate, int node, slice x, slice y,
                             bool accumulate) -> kernel_spec<element const*, element*, step_state const*> {
  any_kernel k = dropout(t, batch, s, rate, node, x, y, accumulate);
  k.function = "stochastic_depth";
  return k;
}

/// Computes y = y + bias, then relu if requested, after a convolution that could not include this.
inline auto add_bias(storage t, long long pixels, int channels, slice y, bool relu)
    -> kernel_spec<float const*, element*> {
  int const lanes = detail::lanes_of(t, channels, {y});
  return detail::pointwise("add_bias", t, pixels * (channels / lanes), detail::checked_count("add_bias", pixels),
                           channels, lanes, relu, y);
}

/// Converts a flat arena of floats to T. This makes the working copy of the weights after they have been loaded.
inline auto narrow(storage t, long long count) -> kernel_spec<float const*, element*> {
  int const lanes = count % 4 == 0 ? 4 : 1;
  return detail::pointwise("narrow", t, count / lanes, detail::checked_count("narrow", count), lanes);
}
/// Converts a flat arena of T to floats.
inline auto widen(storage t, long long count) -> kernel_spec<element const*, float*> {
  int const lanes = count % 4 == 0 ? 4 : 1;
  return detail::pointwise("widen", t, count / lanes, detail::checked_count("widen", count), lanes);
}

}  // namespace dsl::cu::kernels::TYPENET_MODE
