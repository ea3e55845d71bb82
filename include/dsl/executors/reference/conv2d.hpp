// SPDX-License-Identifier: MIT
#pragma once

#include <dsl/graph/node.hpp>
#include <dsl/view.hpp>

namespace dsl::plain {

/// Calls f(x row, y row, first, last, shift) for every pair of rows a kernel element joins: y columns [first, last)
/// meet x columns column * stride + shift. Padding is skipped here, once for all three passes.
template <class X, class Y, class F>
void for_each_row(X x, Y y, shape const& in, shape const& out, window const& w, int kh, int kw, F f) {
  int const shift = kw - w.pad_left;
  int first = 0;
  int last = out.width;
  while (first < last && first * w.stride + shift < 0) ++first;
  while (last > first && (last - 1) * w.stride + shift >= in.width) --last;
  for (int row = 0; row < out.height; ++row) {
    int const from = row * w.stride + kh - w.pad_top;
    if (from >= 0 && from < in.height) f(x + 1LL * from * in.width, y + 1LL * row * out.width, first, last, shift);
  }
}

/// y is (B, O, H', W'), x (B, I, H, W), kernel (O, I, KH, KW); bias may be null.
template <class T>
void conv2d_forward(view<T const> x, T const* kernel, T const* bias, view<T> y, window const& w) {
  for (int n = 0; n < y.batch; ++n)
    for (int o = 0; o < y.shape.channels; ++o) {
      T* const out = y.plane(n, o);
      for (long long i = 0; i < y.shape.area(); ++i) out[i] = bias ? bias[o] : T(0);
      T const* k = kernel + 1LL * o * x.shape.channels * w.height * w.width;
      for (int c = 0; c < x.shape.channels; ++c)
        for (int kh = 0; kh < w.height; ++kh)
          for (int kw = 0; kw < w.width; ++kw, ++k)
            for_each_row(x.plane(n, c), out, x.shape, y.shape, w, kh, kw,
                         [s = w.stride, k = *k](T const* xr, T* yr, int first, int last, int shift) {
                           for (int i = first; i < last; ++i) yr[i] += k * xr[i * s + shift];
                         });
    }
}

template <class T>
void conv2d_backward_weights(view<T const> x, view<T const> dy, T* dkernel, T* dbias, window const& w) {
  for (int o = 0; o < dy.shape.channels; ++o) {
    T* dk = dkernel + 1LL * o * x.shape.channels * w.height * w.width;
    for (int c = 0; c < x.shape.channels; ++c)
      for (int kh = 0; kh < w.height; ++kh)
        for (int kw = 0; kw < w.width; ++kw, ++dk) {
          T sum = 0;
          for (int n = 0; n < x.batch; ++n)
            for_each_row(x.plane(n, c), dy.plane(n, o), x.shape, dy.shape, w, kh, kw,
                         [s = w.stride, &sum](T const* xr, T const* yr, int first, int last, int shift) {
                           T row = 0;
                           for (int i = first; i < last; ++i) row += yr[i] * xr[i * s + shift];
                           sum += row;
                         });
          *dk = sum;
        }
    if (!dbias) continue;
    T sum = 0;
    for (int n = 0; n < dy.batch; ++n)
      for (long long i = 0; i < dy.shape.area(); ++i) sum += dy.plane(n, o)[i];
    dbias[o] = sum;
  }
}

template <class T>
void conv2d_backward_data(view<T const> dy, T const* kernel, view<T> dx, window const& w, bool accumulate) {
  for (int n = 0; n < dx.batch; ++n)
    for (int c = 0; c < dx.shape.channels; ++c) {
      T* const out = dx.plane(n, c);
      if (!accumulate)
        for (long long i = 0; i < dx.shape.area(); ++i) out[i] = 0;
      for (int o = 0; o < dy.shape.channels; ++o) {
        T const* k = kernel + (1LL * o * dx.shape.channels + c) * w.height * w.width;
        for (int kh = 0; kh < w.height; ++kh)
          for (int kw = 0; kw < w.width; ++kw, ++k)
            for_each_row(out, dy.plane(n, o), dx.shape, dy.shape, w, kh, kw,
                         [s = w.stride, k = *k](T* xr, T const* yr, int first, int last, int shift) {
                           for (int i = first; i < last; ++i) xr[i * s + shift] += k * yr[i];
                         });
      }
    }
}

}  // namespace dsl::plain
