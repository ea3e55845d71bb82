// SPDX-License-Identifier: MIT
#pragma once

#include <dsl/detail/math.hpp>
#include <dsl/detail/mode.hpp>
#include <dsl/executors/host/operation.hpp>

namespace dsl::plain::TYPENET_MODE {

/// One head of one sample. It has channels [first, first + width) of the queries, of the keys and of the values.
template <class T>
struct attention_head {
  view<T const> const& x;
  int n, first, width,
      channels;  // `channels` of the output: also the distance from queries to keys, and from keys to values
  double scale;

  double input(int part, int c, long long token) const {
    return static_cast<double>(x(n, part * channels + first + c, token));
  }
  /// Returns the score of a query for a key: their dot product divided by the square root of the head's width.
  double score(long long query, long long key) const {
    double sum = 0;
    for (int c = 0; c < width; ++c) sum += input(0, c, query) * input(1, c, key);
    return sum * scale;
  }
};

/// The largest score of a query, and the sum of all e^(score - largest), found in one pass over the keys (Milakov &
/// Gimelshein 2018). mean() is the mean of one number per key, weighted with the softmax of the scores.
struct running_softmax {
  double largest = 0, sum = 0, weighted = 0;

  void see(double score, double number) {
    if (sum == 0) {
      largest = score, sum = 1, weighted = number;
    } else if (score > largest) {
      double const shrink = detail::exp(largest - score);
      largest = score, sum = sum * shrink + 1, weighted = weighted * shrink + number;
    } else {
      double const weight = detail::exp(score - largest);
      sum += weight, weighted += weight * number;
    }
  }
  double weight(double score) const { return detail::exp(score - largest) / sum; }
  double mean() const { return weighted / sum; }
};

/// Calls f(head) for every head of every sample.
template <class T, class F>
void for_each_head(host::bound_step<T> const& b, int channels, F f) {
  int const width = channels / b.node->groups;
  double const scale = 1 / detail::sqrt(static_cast<double>(width));
  for (int n = 0; n < b.x.batch; ++n)
    for (int first = 0; first < channels; first += width) f(attention_head<T>{b.x, n, first, width, channels, scale});
}

/// Computes y = softmax(queries keys^T / sqrt(width)) values, one query at a time.
template <class T, bool Causal>
void attention_forward(host::bound_step<T> const& b, step_context const&) {
  long long const tokens = b.x.shape.area();
  for_each_head(b, b.to.shape.channels, [&](attention_head<T> const& h) {
    for (long long i = 0; i < tokens; ++i) {
      long long const seen = Causal ? i + 1 : tokens;
      running_softmax all;
      for (long long j = 0; j < seen; ++j) all.see(h.score(i, j), 0);
      constexpr int most = 64;  // channels at a time, whose sums fit on the stack
      for (int begin = 0; begin < h.width; begin += most) {
        int const count = h.width - begin < most ? h.width - begin : most;
        double sums[most] = {};
        for (long long j = 0; j < seen; ++j) {
          double const weight = all.weight(h.score(i, j));
          for (int c = 0; c < count; ++c) sums[c] += weight * h.input(2, begin + c, j);
        }
        for (int c = 0; c < count; ++c) b.to(h.n, h.first + begin + c, i) = static_cast<T>(sums[c]);
      }
    }
  });
}

/// Computes the gradients of queries, keys and values. With p the attention weights, t_ij = dy_i v_j and d_ij = p_ij
/// (t_ij - sum_k p_ik t_ik), they are dv_j = sum_i p_ij dy_i, dq_i = scale sum_j d_ij k_j, dk_j = scale sum_i d_ij q_i.
/// The weights are computed again for each query, as in FlashAttention (Dao et al. 2022).
template <class T, bool Causal>
void attention_backward(host::bound_step<T> const& b, step_context const&) {
  if (!b.to.data) return;
  int const channels = b.dy.shape.channels;
  long long const tokens = b.x.shape.area();
  for (int n = 0; !b.accumulate && n < b.x.batch; ++n)
    for (int c = 0; c < b.x.shape.channels; ++c)
      for (long long i = 0; i < tokens; ++i) b.to(n, c, i) = 0;
  for_each_head(b, channels, [&](attention_head<T> const& h) {
    auto const product = [&](long long i, long long j) {  // t_ij
      double sum = 0;
      for (int c = 0; c < h.width; ++c) sum += static_cast<double>(b.dy(h.n, h.first + c, i)) * h.input(2, c, j);
      return sum;
    };
    auto const add = [&](int part, int c, long long token, double number) {
      b.to(h.n, part * channels + h.first + c, token) += static_cast<T>(number);
    };
    for (long long i = 0; i < tokens; ++i) {
      long long const seen = Causal ? i + 1 : tokens;
      running_softmax all;
      for (long long j = 0; j < seen; ++j) all.see(h.score(i, j), product(i, j));
      for (long long j = 0; j < seen; ++j) {
        double const p = all.weight(h.score(i, j));
        double const d = p * (product(i, j) - all.mean()) * h.scale;
        for (int c = 0; c < h.width; ++c) {
          add(0, c, i, d * h.input(1, c, j));
          add(1, c, j, d * h.input(0, c, i));
          add(2, c, j, p * static_cast<double>(b.dy(h.n, h.first + c, i)));
        }
      }
    }
  });
}

template <class T, bool Causal>
inline constexpr loops<T> attention_loops{.forward = attention_forward<T, Causal>,
                                          .backward = attention_backward<T, Causal>};

template <class T>
inline constexpr loops<T> loops_for<T, op::attention> = attention_loops<T, false>;
template <class T>
inline constexpr loops<T> loops_for<T, op::causal_attention> = attention_loops<T, true>;

}  // namespace dsl::plain::TYPENET_MODE
