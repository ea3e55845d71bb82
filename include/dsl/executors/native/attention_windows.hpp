// SPDX-License-Identifier: MIT
#pragma once

#include <dsl/detail/list.hpp>
#include <dsl/detail/mode.hpp>
#include <dsl/executors/native/attention_products.hpp>

namespace dsl::native_cpu::TYPENET_MODE {

/// The windows of a step of window_attention, and the biases of a head's scores in the layout of scores. Other
/// attention has one window of all tokens, without biases.
class attention_windows {
 public:
  attention_windows(attention_products const& sizes, host::bound_step<float> const& s)
      : sizes_(sizes),
        windows_(*s.node, s.x.shape),
        heads_(s.node->groups),
        is_divided_(attention_products::is_divided(*s.node)),
        pixels_(is_divided_ ? count() * windows_.tokens() : 0) {
    for (int i = 0; i < pixels_.size(); ++i) pixels_[i] = windows_.pixel(i / windows_.tokens(), i % windows_.tokens());
  }

  int count() const { return is_divided_ ? windows_.count() : 1; }
  /// Returns the pixels of a window's tokens, or null if all pixels are tokens.
  int const* pixels(int window) const { return is_divided_ ? &pixels_[window * windows_.tokens()] : nullptr; }

  /// Returns the number of biases of a head.
  int offsets() const { return is_divided_ ? windows_.offsets() : 0; }
  /// Returns how many floats of a thread's memory hold the biases of a head and those of the scores of all kinds of
  /// windows.
  long long bias_floats() const { return is_divided_ ? padded_offsets() + kinds * sizes_.biases() : 0; }
  /// Returns how many floats hold the gradients of the biases of a head's scores.
  long long gradient_floats() const { return is_divided_ ? sizes_.biases() : 0; }

  /// The biases of one head's scores, which are expanded for a kind of windows when the first of them is computed.
  class biases {
   public:
    /// `memory` has bias_floats().
    biases(attention_windows const& all, host::bound_step<float> const& s, int n, int head, float* memory)
        : all_(all), table_(memory), memory_(memory + all.padded_offsets()) {
      constexpr float log2_of_e = 1.44269504F;
      bool const bounded = s.node->kind == op::bounded_window_attention;
      for (int i = 0; i < all.offsets(); ++i)
        table_[i] =
            log2_of_e * (bounded ? static_cast<float>(plain::bounded_bias(static_cast<double>(s.x2(n, head, i))))
                                 : s.parameter(role::kernel)[1LL * i * all.heads_ + head]);
    }

    /// Returns the biases of a window's scores, or null if they have none.
    float const* of(int window) {
      if (!all_.is_divided_) return nullptr;
      int const kind = all_.kind_of(window);
      float* const to = memory_ + kind * all_.sizes_.biases();
      if ((made_ >> kind & 1) == 0) all_.expand(window, table_, to);
      made_ |= 1U << kind;
      return to;
    }

   private:
    attention_windows const& all_;
    float* table_;  // as binary logarithms
    float* memory_;
    unsigned made_ = 0;
  };

  /// Adds the gradients of a head's scores, in the layout of scores, to those of its biases.
  void add_by_offset(float const* gradients, float* to) const {
    for_each_score([&](pair const& p) { to[p.offset] += gradients[p.at]; });
  }

 private:
  long long padded_offsets() const { return (offsets() + 15LL) / 16 * 16; }
  /// The logarithm of the weight of a key that a query does not see. It is finite, because a block of keys may have
  /// only such keys, and the difference of two infinities is not a number.
  static constexpr float hidden = -1e30F;
  /// The number of kinds of windows. After a shift, the tokens of a window in the last row or column of windows come
  /// from opposite sides of the image, and only tokens from the same side see each other: 2 x 2 kinds.
  static constexpr int kinds = 4;
  int kind_of(int window) const {
    bool const last_row = windows_.rows.shift > 0 && window / windows_.columns.count() + 1 == windows_.rows.count();
    bool const last = windows_.columns.shift > 0 && (window + 1) % windows_.columns.count() == 0;
    return (last_row ? 2 : 0) + (last ? 1 : 0);
  }

  /// A query and a key of a window, by row and column, with the number of their offset and the place of their score.
  struct pair {
    int query_row, query_column, key_row, key_column, offset;
    long long at;
  };
  template <class F>
  void for_each_score(F const& f) const {
    int const width = windows_.columns.size;
    for (int query = 0; query < windows_.tokens(); ++query)
      for (int key_row = 0, key = 0; key_row < windows_.rows.size; ++key_row) {
        pair p{query / width, query % width, key_row, 0, windows_.offset(query, key), 0};
        for (; p.key_column < width; ++p.key_column, --p.offset, ++key) {
          int const block = key / attention_products::block_keys;
          p.at = block * sizes_.biases_of_block() + query * sizes_.score_row() + key % attention_products::block_keys;
          f(p);
        }
      }
  }

  /// Writes the biases of a window's scores as binary logarithms, and `hidden` for keys that a query does not see.
  void expand(int window, float const* table, float* to) const {
    bool const is_whole = kind_of(window) == 0;
    int const down = window / windows_.columns.count(), right = window % windows_.columns.count();
    for_each_score([&](pair const& p) {
      bool const sees =
          is_whole || (windows_.rows.wraps(down, p.query_row) == windows_.rows.wraps(down, p.key_row) &&
                       windows_.columns.wraps(right, p.query_column) == windows_.columns.wraps(right, p.key_column));
      to[p.at] = sees ? table[p.offset] : hidden;
    });
  }

  attention_products sizes_;
  plain::token_windows windows_;
  int heads_;
  bool is_divided_;
  detail::list<int> pixels_;
};

}  // namespace dsl::native_cpu::TYPENET_MODE
