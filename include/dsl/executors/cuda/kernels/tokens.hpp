// SPDX-License-Identifier: MIT
#pragma once

#include <dsl/detail/mode.hpp>
#include <dsl/executors/cuda/kernels/batch_norm.hpp>
#include <dsl/executors/cuda/kernels/spec.hpp>

/// Specs of kernels/tokens.cuh. Learnt numbers and their gradients are floats, of the shape (pixels, channels).
namespace dsl::cu::kernels::TYPENET_MODE {

/// Puts a learnt token before the pixels of each sample. x has the shape `s`; y has one pixel more, in one row.
inline auto class_token(storage t, int batch, shape const& s, slice x, slice y)
    -> kernel_spec<element const*, float const*, element*> {
  int const lanes = detail::lanes_of(t, s.channels, {x, y});
  return detail::pointwise("class_token", t, batch * (s.area() + 1) * (s.channels / lanes), batch,
                           detail::checked_count("class_token", s.area()), s.channels, lanes, x, y);
}
/// Computes the gradient of the token from dy, whose samples have `tokens` pixels: the sum of their first pixels.
inline auto class_token_gradient(storage t, int batch, long long tokens, int channels, slice dy)
    -> meeting_spec<float, element const*, float*> {
  int const row = detail::checked_count("class_token_gradient", tokens * dy.channels);
  return channel_sums(t, batch, channels, {row, dy.offset});
}

/// Adds learnt numbers to each sample. y may be x.
inline auto position_embedding(storage t, int batch, shape const& s, slice x, slice y)
    -> kernel_spec<element const*, float const*, element*> {
  int const lanes = detail::lanes_of(t, s.channels, {x, y});
  return detail::pointwise("position_embedding", t, batch * s.area() * (s.channels / lanes), batch,
                           detail::checked_count("position_embedding", s.area()), s.channels, lanes, x, y);
}
/// Sums each number of a sample over the samples: the gradient of an embedding from dy.
inline auto sample_sums(storage t, int batch, shape const& s, slice y) -> kernel_spec<element const*, float*> {
  int const lanes = detail::lanes_of(t, s.channels, {y});
  detail::checked_count("sample_sums", batch * s.area());
  return detail::pointwise("sample_sums", t, s.area() * (s.channels / lanes), batch,
                           detail::checked_count("sample_sums", s.size()) / s.channels, s.channels, lanes, slice{}, y);
}

}  // namespace dsl::cu::kernels::TYPENET_MODE
