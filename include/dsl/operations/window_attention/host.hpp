// SPDX-License-Identifier: MIT
#pragma once

#include <dsl/detail/list.hpp>
#include <dsl/detail/mode.hpp>
#include <dsl/operations/attention/host.hpp>

namespace dsl::plain::TYPENET_MODE {

/// The rows of an image, or its columns, divided into windows. Shifted windows wrap around the end of the image, but
/// tokens before and after the end do not see each other (Liu et al. 2021). With a dilation, a window has every
/// `dilation`th row (Tu et al. 2022).
struct window_places {
  int image, size, shift, dilation;

  int count() const { return image / size; }
  /// Returns the image's row that is row i of a window.
  int place(int window, int i) const {
    if (dilation > 1) return window + i * dilation;
    int const row = window * size + i + shift;
    return row < image ? row : row - image;
  }
  /// Whether row i of a window is beyond the end of the image.
  bool wraps(int window, int i) const { return dilation == 1 && window * size + i + shift >= image; }
};

/// The windows of a window_attention. Both windows and the tokens in a window have numbers, row by row.
struct token_windows {
  window_places rows, columns;

  token_windows(node const& n, shape const& image)
      : rows{image.height, n.window.height, n.window.pad_top, n.window.row_dilation},
        columns{image.width, n.window.width, n.window.pad_left, n.window.column_dilation} {}

  int count() const { return rows.count() * columns.count(); }
  int tokens() const { return rows.size * columns.size; }
  /// Returns the image's pixel that is a token of a window.
  int pixel(int window, int token) const {
    int const row = rows.place(window / columns.count(), token / columns.size);
    return row * columns.image + columns.place(window % columns.count(), token % columns.size);
  }
  /// Whether two tokens of a window see each other.
  bool sees(int window, int a, int b) const {
    int const down = window / columns.count(), right = window % columns.count();
    return rows.wraps(down, a / columns.size) == rows.wraps(down, b / columns.size) &&
           columns.wraps(right, a % columns.size) == columns.wraps(right, b % columns.size);
  }
  /// Returns the number of the offset between a query and a key: that of torchvision's relative_position_index.
  int offset(int query, int key) const {
    int const down = query / columns.size - key / columns.size + rows.size - 1;
    return down * (2 * columns.size - 1) + query % columns.size - key % columns.size + columns.size - 1;
  }
  int offsets() const { return (2 * rows.size - 1) * (2 * columns.size - 1); }
};

/// Returns the factor of the scores of a window_attention.
inline double score_factor(node const& n) { return n.rate > 0 ? 1 / detail::sqrt(n.rate) : 1; }

/// Calls f(head, number of the head, windows, window) for every head of every window of every sample.
template <class T, class F>
void for_each_window(host::bound_step<T> const& b, int channels, F f) {
  token_windows const windows(*b.node, b.x.shape);
  int const width = channels / b.node->groups;
  for (int n = 0; n < b.x.batch; ++n)
    for (int head = 0; head < b.node->groups; ++head)
      for (int w = 0; w < windows.count(); ++w)
        f(attention_head<T>{b.x, n, head * width, width, channels, score_factor(*b.node)}, head, windows, w);
}

/// Returns the bias of bounded_window_attention for a number of its second operand.
inline double bounded_bias(double z) { return 16 / (1 + detail::exp(-z)); }
/// Returns the derivative of bounded_bias.
inline double bounded_bias_slope(double z) { return bounded_bias(z) * (1 - bounded_bias(z) / 16); }

/// One window of one head, whose scores have the bias of their offset.
template <class T, bool Bounded>
struct window_scores {
  host::bound_step<T> const& step;
  attention_head<T> const& head;
  int number;  // of the head
  token_windows const& windows;
  int window;

  double bias(int offset) const {
    if (Bounded) return bounded_bias(static_cast<double>(step.x2(head.n, number, offset)));
    return static_cast<double>(step.parameter(role::kernel)[offset * step.node->groups + number]);
  }
  double score(int query, int key) const {
    return head.score(windows.pixel(window, query), windows.pixel(window, key)) + bias(windows.offset(query, key));
  }
  /// Calls f(key) for each key that a query sees.
  template <class F>
  void for_each_key(int query, F f) const {
    for (int key = 0; key < windows.tokens(); ++key)
      if (windows.sees(window, query, key)) f(key);
  }
};

/// Computes y = softmax(queries keys^T factor + bias) values in each window, one query at a time.
template <class T, bool Bounded>
void window_attention_forward(host::bound_step<T> const& b, step_context const&) {
  for_each_window(b, b.to.shape.channels, [&](attention_head<T> const& h, int head, token_windows const& all, int w) {
    window_scores<T, Bounded> const s{b, h, head, all, w};
    for (int i = 0; i < all.tokens(); ++i) {
      running_softmax seen;
      s.for_each_key(i, [&](int j) { seen.see(s.score(i, j), 0); });
      constexpr int most = 64;  // channels at a time, whose sums fit on the stack
      for (int begin = 0; begin < h.width; begin += most) {
        int const count = h.width - begin < most ? h.width - begin : most;
        double sums[most] = {};
        s.for_each_key(i, [&](int j) {
          double const weight = seen.weight(s.score(i, j));
          for (int c = 0; c < count; ++c) sums[c] += weight * h.input(2, begin + c, all.pixel(w, j));
        });
        for (int c = 0; c < count; ++c) b.to(h.n, h.first + begin + c, all.pixel(w, i)) = static_cast<T>(sums[c]);
      }
    }
  });
}

/// Computes the gradients of queries, keys and values as attention does, if `inputs` is set, and calls f(sample, head,
/// offset, gradient) with the gradient of each score, p_ij (t_ij - sum_k p_ik t_ik).
template <class T, bool Bounded, class F>
void for_each_score_gradient(host::bound_step<T> const& b, bool inputs, F f) {
  int const channels = b.dy.shape.channels;
  for (int n = 0; inputs && !b.accumulate && n < b.x.batch; ++n)
    for (int c = 0; c < b.x.shape.channels; ++c)
      for (long long i = 0; i < b.x.shape.area(); ++i) b.to(n, c, i) = 0;
  for_each_window(b, channels, [&](attention_head<T> const& h, int head, token_windows const& all, int w) {
    window_scores<T, Bounded> const s{b, h, head, all, w};
    auto const slope = [&](int c, int i) { return static_cast<double>(b.dy(h.n, h.first + c, all.pixel(w, i))); };
    auto const product = [&](int i, int j) {  // t_ij
      double sum = 0;
      for (int c = 0; c < h.width; ++c) sum += slope(c, i) * h.input(2, c, all.pixel(w, j));
      return sum;
    };
    auto const add = [&](int part, int c, int token, double number) {
      b.to(h.n, part * channels + h.first + c, all.pixel(w, token)) += static_cast<T>(number);
    };
    for (int i = 0; i < all.tokens(); ++i) {
      running_softmax seen;
      s.for_each_key(i, [&](int j) { seen.see(s.score(i, j), product(i, j)); });
      s.for_each_key(i, [&](int j) {
        double const p = seen.weight(s.score(i, j)), d = p * (product(i, j) - seen.mean());
        f(h.n, head, all.offset(i, j), d);
        for (int c = 0; inputs && c < h.width; ++c) {
          add(0, c, i, d * h.scale * h.input(1, c, all.pixel(w, j)));
          add(1, c, j, d * h.scale * h.input(0, c, all.pixel(w, i)));
          add(2, c, j, p * slope(c, i));
        }
      });
    }
  });
}

/// Computes the gradients of the input and of the biases, which are sums over all pairs of tokens with the same offset,
/// in double.
template <class T>
void window_attention_backward(host::bound_step<T> const& b, step_context const&) {
  int const heads = b.node->groups;
  detail::list<double> biases(token_windows(*b.node, b.x.shape).offsets() * heads, 0.0);
  for_each_score_gradient<T, false>(b, b.to.data != nullptr,
                                    [&](int, int head, int offset, double d) { biases[offset * heads + head] += d; });
  for (int k = 0; b.gradient(role::kernel) && k < biases.size(); ++k)
    b.gradient(role::kernel)[k] = static_cast<T>(biases[k]);
}

/// Computes the gradient of one operand: of the first one as for window_attention, or of the numbers that give the
/// biases.
template <class T>
void bounded_window_attention_backward(host::bound_step<T> const& b, step_context const&) {
  if (!b.to.data) return;
  if (b.to.shape.channels == 3 * b.dy.shape.channels)
    return for_each_score_gradient<T, true>(b, true, [](int, int, int, double) {});
  int const heads = b.node->groups, offsets = static_cast<int>(b.to.shape.area());
  detail::list<double> biases(b.to.batch * heads * offsets, 0.0);
  for_each_score_gradient<T, true>(
      b, false, [&](int n, int head, int offset, double d) { biases[(n * heads + head) * offsets + offset] += d; });
  for (int k = 0; k < biases.size(); ++k) {
    int const n = k / offsets / heads, head = k / offsets % heads, offset = k % offsets;
    T const d = static_cast<T>(biases[k] * bounded_bias_slope(static_cast<double>(b.x2(n, head, offset))));
    T& to = b.to(n, head, offset);
    to = b.accumulate ? to + d : d;
  }
}

template <class T>
inline constexpr loops<T> loops_for<T, op::window_attention>{.forward = window_attention_forward<T, false>,
                                                             .backward = window_attention_backward<T>};
template <class T>
inline constexpr loops<T> loops_for<T, op::bounded_window_attention>{.forward = window_attention_forward<T, true>,
                                                                     .backward = bounded_window_attention_backward<T>};

}  // namespace dsl::plain::TYPENET_MODE
