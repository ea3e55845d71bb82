// SPDX-License-Identifier: MIT
#pragma once

#include <dsl/detail/mode.hpp>
#include <dsl/operations/activation/host.hpp>
#include <dsl/operations/batch_norm/host.hpp>

namespace dsl::plain::TYPENET_MODE {

/// The distance between the pixels of a channel if they are contiguous. It is a constant 1, so that compilers
/// vectorise.
struct one_apart {
  constexpr operator long long() const { return 1; }  // NOLINT(google-explicit-constructor): it stands for a number
};
template <class F>
void with_steps(int x_block, int y_block, F f) {
  if (x_block == 1 && y_block == 1)
    f(one_apart{}, one_apart{});
  else
    f(static_cast<long long>(x_block), static_cast<long long>(y_block));
}

/// Calls f(x row, y row, first, last, shift) for every pair of rows that an element of the kernel connects: column c of
/// y, for c in [first, last), reads column c * stride + shift of x. Padding is skipped here for all three passes.
template <class X, class Y, class XStep, class YStep, class F>
void for_each_row(X x, Y y, XStep xs, YStep ys, shape const& in, shape const& out, window const& w, int kh, int kw,
                  F f) {
  window_side const rows = w.rows(), columns = w.columns();
  int const shift = kw * columns.dilation - columns.before;
  int first = 0;
  int last = out.width;
  while (first < last && first * columns.stride + shift < 0) ++first;
  while (last > first && (last - 1) * columns.stride + shift >= in.width) --last;
  for (int row = 0; row < out.height; ++row) {
    int const from = row * rows.stride + kh * rows.dilation - rows.before;
    if (from >= 0 && from < in.height)
      f(x + 1LL * from * in.width * xs, y + 1LL * row * out.width * ys, first, last, shift);
  }
}

/// The channels of x and y in one group: filter o reads `in` channels, the first of which is o / out * in.
struct channel_groups {
  int in;
  int out;
  channel_groups(int in_channels, int out_channels, int groups)
      : in(in_channels / groups), out(out_channels / groups) {}
};

/// Computes y (B, O, H', W') from x (B, I, H, W) and kernel (O, I / groups, KH, KW); bias may be null.
template <class T>
void conv2d_forward(view<T const> x, T const* kernel, T const* bias, view<T> y, window const& w, int groups = 1) {
  channel_groups const group(x.shape.channels, y.shape.channels, groups);
  int const s = w.columns().stride;
  with_steps(x.block, y.block, [&](auto xs, auto ys) {
    for (int n = 0; n < y.batch; ++n)
      for (int o = 0; o < y.shape.channels; ++o) {
        T* const out = y.pixels(n, o).first;
        for (long long i = 0; i < y.shape.area(); ++i) out[i * ys] = bias ? bias[o] : T(0);
        T const* k = kernel + 1LL * o * group.in * w.height * w.width;
        for (int i = 0; i < group.in; ++i)
          for (int kh = 0; kh < w.height; ++kh)
            for (int kw = 0; kw < w.width; ++kw, ++k)
              for_each_row(x.pixels(n, o / group.out * group.in + i).first, out, xs, ys, x.shape, y.shape, w, kh, kw,
                           [xs, ys, s, k = *k](T const* xr, T* yr, int first, int last, int shift) {
                             for (int j = first; j < last; ++j) yr[j * ys] += k * xr[(j * s + shift) * xs];
                           });
      }
  });
}

template <class T>
void conv2d_backward_weights(view<T const> x, view<T const> dy, T* dkernel, T* dbias, window const& w, int groups = 1) {
  channel_groups const group(x.shape.channels, dy.shape.channels, groups);
  int const s = w.columns().stride;
  with_steps(x.block, dy.block, [&](auto xs, auto ys) {
    for (int o = 0; o < dy.shape.channels; ++o) {
      T* dk = dkernel + 1LL * o * group.in * w.height * w.width;
      for (int i = 0; i < group.in; ++i)
        for (int kh = 0; kh < w.height; ++kh)
          for (int kw = 0; kw < w.width; ++kw, ++dk) {
            T sum = 0;
            for (int n = 0; n < x.batch; ++n)
              for_each_row(x.pixels(n, o / group.out * group.in + i).first, dy.pixels(n, o).first, xs, ys, x.shape,
                           dy.shape, w, kh, kw,
                           [xs, ys, s, &sum](T const* xr, T const* yr, int first, int last, int shift) {
                             T row = 0;
                             for (int j = first; j < last; ++j) row += yr[j * ys] * xr[(j * s + shift) * xs];
                             sum += row;
                           });
            *dk = sum;
          }
      if (!dbias) continue;
      T sum = 0;
      for (int n = 0; n < dy.batch; ++n)
        for (long long i = 0; i < dy.shape.area(); ++i) sum += dy.pixels(n, o).first[i * ys];
      dbias[o] = sum;
    }
  });
}

template <class T>
void conv2d_backward_data(view<T const> dy, T const* kernel, view<T> dx, window const& w, bool accumulate,
                          int groups = 1) {
  channel_groups const group(dx.shape.channels, dy.shape.channels, groups);
  int const s = w.columns().stride;
  with_steps(dx.block, dy.block, [&](auto xs, auto ys) {
    for (int n = 0; n < dx.batch; ++n)
      for (int c = 0; c < dx.shape.channels; ++c) {
        T* const out = dx.pixels(n, c).first;
        if (!accumulate)
          for (long long i = 0; i < dx.shape.area(); ++i) out[i * xs] = 0;
        int const begin = c / group.in * group.out;
        for (int o = begin; o < begin + group.out; ++o) {
          T const* k = kernel + (1LL * o * group.in + c % group.in) * w.height * w.width;
          for (int kh = 0; kh < w.height; ++kh)
            for (int kw = 0; kw < w.width; ++kw, ++k)
              for_each_row(out, dy.pixels(n, o).first, xs, ys, dx.shape, dy.shape, w, kh, kw,
                           [xs, ys, s, k = *k](T* xr, T const* yr, int first, int last, int shift) {
                             for (int j = first; j < last; ++j) xr[(j * s + shift) * xs] += k * yr[j * ys];
                           });
        }
      }
  });
}

/// Computes a convolution and, in inference, the batch_norm and the relu after it.
template <class T>
inline constexpr loops<T> loops_for<T, op::conv2d>{
    .forward =
        [](host::bound_step<T> const& b, step_context const& c) {
          conv2d_forward<T>(b.x, b.parameter(role::kernel), b.parameter(role::bias), b.to, b.node->window,
                            b.node->groups);
          bool const relu = b.step->activation >= 0;
          if (b.step->batch_norm >= 0)
            batch_norm_forward<T>(read_only(b.to), batch_norm_operands_of(b), nullptr, b.to, c.fused_epsilon, 0, false,
                                  relu);
          else if (relu)
            activation_forward(read_only(b.to), b.to, function::relu, T(0));
        },
    .backward_weights =
        [](host::bound_step<T> const& b, step_context const&) {
          conv2d_backward_weights<T>(b.x, b.dy, b.gradient(role::kernel), b.gradient(role::bias), b.node->window,
                                     b.node->groups);
        },
    .backward_data =
        [](host::bound_step<T> const& b, step_context const&) {
          conv2d_backward_data<T>(b.dy, b.parameter(role::kernel), b.to, b.node->window, b.accumulate, b.node->groups);
        }};

}  // namespace dsl::plain::TYPENET_MODE
