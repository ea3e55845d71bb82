// SPDX-License-Identifier: MIT
#pragma once

#include <dsl/detail/mode.hpp>
#include <dsl/executors/reference/step_loops.hpp>

namespace dsl::plain::TYPENET_MODE {

/// An operand of multiply, broadcast to the output's shape: row(n, c)[i * step] is its value for channel c and pixel i.
template <class T>
struct broadcast {
  view<T> const& from;
  pixel_row<T> row(int n, int c) const {
    pixel_row<T> r = from.pixels(n, from.shape.channels > 1 ? c : 0);
    if (from.shape.is_flat()) r.step = 0;
    return r;
  }
};

template <class T>
void multiply_forward(host::bound_step<T> const& b, step_context const&) {
  broadcast<T const> const first{b.x}, second{b.x2};
  for (int n = 0; n < b.to.batch; ++n)
    for (int c = 0; c < b.to.shape.channels; ++c) {
      auto const x = first.row(n, c), y = second.row(n, c);
      auto const out = b.to.pixels(n, c);
      for (long long i = 0; i < b.to.shape.area(); ++i) out[i] = x[i] * y[i];
    }
}

/// Computes the gradient of one operand. It is dy times the other operand, summed over the channels and pixels to which
/// the first operand was broadcast. Pixels are summed in double.
template <class T>
void multiply_backward(host::bound_step<T> const& b, step_context const&) {
  broadcast<T const> const other{b.x};
  bool const one_channel = b.to.shape.channels == 1;
  bool const one_pixel = b.to.shape.is_flat();
  for (int n = 0; n < b.dy.batch; ++n)
    for (int c = 0; c < b.dy.shape.channels; ++c) {
      auto const dy = b.dy.pixels(n, c), x = other.row(n, c);
      auto const to = b.to.pixels(n, one_channel ? 0 : c);
      bool const adds = b.accumulate || (one_channel && c > 0);
      long long const area = b.dy.shape.area();
      double sum = 0;
      for (long long i = 0; one_pixel && i < area; ++i) sum += static_cast<double>(dy[i]) * static_cast<double>(x[i]);
      if (one_pixel) to[0] = static_cast<T>(sum) + (adds ? to[0] : T(0));
      for (long long i = 0; !one_pixel && i < area; ++i) to[i] = dy[i] * x[i] + (adds ? to[i] : T(0));
    }
}

template <class T>
inline constexpr loops<T> loops_for<T, op::multiply>{
    .forward = multiply_forward<T>, .backward = multiply_backward<T>, .parts = parts_of::samples};

}  // namespace dsl::plain::TYPENET_MODE
