// SPDX-License-Identifier: MIT
#pragma once

#include <dsl/detail/mode.hpp>
#include <dsl/executors/cuda/kernels/spec.hpp>
#include <dsl/plan/plan.hpp>

#include <cstdint>
#include <string_view>
#include <utility>
#include <vector>

/// Specs of kernels/dense.cuh, softmax.cuh and loss.cuh: the kernels at the end of a classifier.
namespace dsl::cu::kernels::detail::TYPENET_MODE {

/// Returns the number of threads that share a sample's outputs, a power of 2.
inline int threads_for(int outputs) {
  int threads = 32;
  while (threads < outputs && threads < 256) threads *= 2;
  return threads;
}

inline any_kernel per_sample(std::string_view function, storage t, long long batch, int outputs,
                             std::vector<constant> constants) {
  any_kernel s{.function = function, .storage = t, .constants = std::move(constants)};
  s.blocks_x = static_cast<unsigned>(checked_count(function, batch));
  s.threads = static_cast<unsigned>(threads_for(outputs));
  return s;
}

}  // namespace dsl::cu::kernels::detail::TYPENET_MODE

namespace dsl::cu::kernels::TYPENET_MODE {

/// Computes y = x kernel^T + bias. x is (batch, features), y (batch, units), kernel (units, features), all flat.
inline auto dense_forward(storage t, int batch, int features, int units, slice x, slice y)
    -> kernel_spec<element const*, element const*, float const*, element*> {
  any_kernel s{.function = "dense_forward", .storage = t};
  s.constants = detail::constants_of(batch, features, units, detail::lanes_of(t, features, {x}), x, y, false);
  s.blocks_x = static_cast<unsigned>(detail::checked_count(s.function, batch));
  s.blocks_y = static_cast<unsigned>(detail::ceil_div(units, 16));
  s.threads = 256;
  if (s.blocks_y > 65'535)
    throw executor_error(dsl::detail::message({"cuda: dense_forward has at most 1048560 units; found ", units}));
  return s;
}
/// Computes the gradients of a dense layer's kernel and bias, which are floats.
inline auto dense_backward_weights(storage t, int batch, int features, int units, slice x, slice dy)
    -> kernel_spec<element const*, element const*, float*, float*> {
  return detail::pointwise("dense_backward_weights", t, (features + 1LL) * units, batch, features, units, 1, x, dy,
                           false);
}
/// Computes dx = dy kernel, or dx += dy kernel.
inline auto dense_backward_data(storage t, int batch, int features, int units, slice dx, slice dy, bool accumulate)
    -> kernel_spec<element const*, element const*, element*> {
  int const lanes = detail::lanes_of(t, features, {dx});
  return detail::pointwise("dense_backward_data", t, 1LL * batch * (features / lanes), batch, features, units, lanes,
                           dx, dy, accumulate);
}

/// Computes the softmax over the channels of each pixel. `pixels` counts those of the whole batch; a flat sample has
/// one.
inline auto softmax_forward(storage t, long long pixels, int channels, slice x, slice y)
    -> kernel_spec<element const*, element*> {
  return detail::per_sample(
      "softmax_forward", t, pixels, channels,
      detail::constants_of(channels, detail::threads_for(channels), x, y, slice{}, slice{}, false));
}
/// Computes the gradient of a softmax with respect to its input.
inline auto softmax_backward(storage t, long long pixels, int channels, slice y, slice dy, slice dx, bool accumulate)
    -> kernel_spec<element const*, element const*, element*> {
  return detail::per_sample(
      "softmax_backward", t, pixels, channels,
      detail::constants_of(channels, detail::threads_for(channels), slice{}, y, dy, dx, accumulate));
}

}  // namespace dsl::cu::kernels::TYPENET_MODE

namespace dsl::cu::kernels::detail::TYPENET_MODE {

inline any_kernel loss_spec(std::string_view function, storage t, loss kind, bool from_logits, int batch, int whole,
                            shape const& s, slice x, slice y, slice gradient, bool wants_gradient, double smoothing) {
  int const outputs = checked_count(function, s.size());
  double const others = smoothing / outputs;
  any_kernel k = per_sample(function, t, batch, outputs,
                            constants_of(batch, outputs, static_cast<int>(s.area()), threads_for(outputs), whole,
                                         kind == loss::mean_squared_error, from_logits, wants_gradient,
                                         static_cast<float>(1 - smoothing + others), static_cast<float>(others),
                                         static_cast<float>(smoothing), x, y, gradient));
  checked_count(function, batch * s.area());
  k.scratch_bytes = 16LL * batch;
  k.counters = 1;
  return k;
}

}  // namespace dsl::cu::kernels::detail::TYPENET_MODE

namespace dsl::cu::kernels::TYPENET_MODE {

/// The label of a sample that only fills a batch: it counts neither for the loss nor as correct. The number is the same
/// as in loss.cuh.
inline constexpr std::int32_t no_sample = -2147483647 - 1;

/// Computes the loss as host::compute_loss does. metrics are two doubles, the sum of the losses and the number of
/// correct predictions. The gradient is that of the mean over `whole` samples, including these. With from_logits, y is
/// a softmax's output, and the gradient is with respect to the softmax's input. gradient may be null if it is not
/// needed.
inline auto loss(storage t, dsl::loss kind, bool from_logits, int batch, int whole, shape const& s, slice y,
                 slice gradient, bool wants_gradient, double smoothing = 0)
    -> meeting_spec<double, element const*, int const*, double*, element*> {
  return detail::loss_spec("loss", t, kind, from_logits, batch, whole, s, {}, y, gradient, wants_gradient, smoothing);
}
/// Computes the network's last softmax and the loss after it in one launch; x are the logits. The gradient is with
/// respect to x for categorical_crossentropy, and with respect to y for mean_squared_error.
inline auto softmax_loss(storage t, dsl::loss kind, int batch, int whole, int outputs, slice x, slice y, slice gradient,
                         bool wants_gradient, double smoothing = 0)
    -> meeting_spec<double, element const*, element*, int const*, double*, element*> {
  return detail::loss_spec("softmax_loss", t, kind, true, batch, whole, {outputs, 1, 1}, x, y, gradient, wants_gradient,
                           smoothing);
}

}  // namespace dsl::cu::kernels::TYPENET_MODE
