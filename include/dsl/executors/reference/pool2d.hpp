// SPDX-License-Identifier: MIT
#pragma once

#include <dsl/graph/node.hpp>
#include <dsl/view.hpp>

namespace dsl::plain {

/// Calls f(n, c, output pixel, pixel of the window's first value) for every window of a batch.
template <class F>
void for_each_window(int batch, shape const& in, shape const& out, window const& w, F f) {
  for (int n = 0; n < batch; ++n)
    for (int c = 0; c < out.channels; ++c)
      for (int row = 0; row < out.height; ++row)
        for (int column = 0; column < out.width; ++column)
          f(n, c, 1LL * row * out.width + column, 1LL * row * w.stride * in.width + 1LL * column * w.stride);
}

/// The first largest value of each window; argmax receives its place in the window, row by row, or has no data.
template <class T, class Index>
void max_pool2d_forward(view<T const> x, view<T> y, view<Index> argmax, window const& w) {
  for_each_window(y.batch, x.shape, y.shape, w, [&](int n, int c, long long to, long long from) {
    T best = x(n, c, from);
    int place = 0;
    for (int i = 0; i < w.height; ++i)
      for (int j = 0; j < w.width; ++j)
        if (T const v = x(n, c, from + 1LL * i * x.shape.width + j); v > best) best = v, place = i * w.width + j;
    y(n, c, to) = best;
    if (argmax.data) argmax(n, c, to) = static_cast<Index>(place);
  });
}

template <class T>
void zero(view<T> v) {
  for (int n = 0; n < v.batch; ++n)
    for (int c = 0; c < v.shape.channels; ++c)
      for (long long i = 0; i < v.shape.area(); ++i) v(n, c, i) = 0;
}

template <class T, class Index>
void max_pool2d_backward(view<T const> dy, view<Index> argmax, view<T> dx, window const& w, bool accumulate) {
  if (!accumulate) zero(dx);
  for_each_window(dy.batch, dx.shape, dy.shape, w, [&](int n, int c, long long to, long long from) {
    int const place = argmax(n, c, to);
    dx(n, c, from + 1LL * (place / w.width) * dx.shape.width + place % w.width) += dy(n, c, to);
  });
}

template <class T>
void avg_pool2d_forward(view<T const> x, view<T> y, window const& w) {
  T const size = static_cast<T>(w.height * w.width);
  for_each_window(y.batch, x.shape, y.shape, w, [&](int n, int c, long long to, long long from) {
    T sum = 0;
    for (int i = 0; i < w.height; ++i)
      for (int j = 0; j < w.width; ++j) sum += x(n, c, from + 1LL * i * x.shape.width + j);
    y(n, c, to) = sum / size;
  });
}

template <class T>
void avg_pool2d_backward(view<T const> dy, view<T> dx, window const& w, bool accumulate) {
  T const size = static_cast<T>(w.height * w.width);
  if (!accumulate) zero(dx);
  for_each_window(dy.batch, dx.shape, dy.shape, w, [&](int n, int c, long long to, long long from) {
    T const share = dy(n, c, to) / size;
    for (int i = 0; i < w.height; ++i)
      for (int j = 0; j < w.width; ++j) dx(n, c, from + 1LL * i * dx.shape.width + j) += share;
  });
}

}  // namespace dsl::plain
