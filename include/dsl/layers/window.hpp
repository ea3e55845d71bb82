// SPDX-License-Identifier: MIT
#pragma once

#include <dsl/layer.hpp>

namespace dsl {

/// The padding of a convolution. `same` pads with zeros as TensorFlow does: the output has ceil(input / stride) rows,
/// and if the padding is odd, the extra row is at the end. `valid` does not pad.
enum class padding : unsigned char { same, valid };

/// The named options of convolutions and pools, under the names that compiler errors print.
namespace option {

/// The options kernel<H, W>, stride<N> and pad<T, L, B, R>.
struct kernel {
  int height, width;
};
struct stride {
  int rows, columns;
};
struct pad {
  int top, left, bottom, right;
};

}  // namespace option

/// Named options: conv2d<64, kernel<7>, stride<2>, pad<3>> is a 7x7 convolution with stride 2 and 3 rows and columns of
/// zeros on each side. Named options come after the numbers, in any order, and each at most once.
template <int Height, int Width = Height>
inline constexpr option::kernel kernel{Height, Width};
/// The stride along rows and along columns. stride<2, 1> halves only the number of rows.
template <int Rows, int Columns = Rows>
inline constexpr option::stride stride{Rows, Columns};
/// The padding. pad<1> adds one row or column on each side, as in PyTorch; pad<1, 2> adds one row above and one below,
/// and two columns left and two right; pad<0, 0, 1, 1> adds one row below and one column on the right.
template <int Top, int Left = Top, int Bottom = Top, int Right = Left>
inline constexpr option::pad pad{Top, Left, Bottom, Right};

namespace detail {

/// Returns n, or the largest int if n does not fit an int, since such a number breaks another rule anyway.
constexpr int narrow(long long n) { return n > 0x7fffffffLL ? 0x7fffffff : static_cast<int>(n); }

/// Satisfied by values of any integer type, as template arguments.
template <class T>
concept whole_number = requires(T n) { n % n; };

/// Collects the arguments that describe a layer's window, one after the other. take() returns false for an argument
/// that the layer does not have, that has been given before, or that is allowed only before named options.
struct window_arguments {
  int height = 0;
  int width = 0;
  int stride = 0;  // of rows; 0: not given
  int column_stride = 0;
  padding pads = padding::same;
  option::pad zeros{};
  bool has_zeros = false;
  unsigned given = 0;  // a bit per option
  int numbers = 0;
  int wrong = -1;  // the first argument that was refused

  enum : unsigned { by_name = 1, kernel_bit = 2, stride_bit = 4, pad_bit = 8, first_free_bit = 16 };

  constexpr bool take(option::kernel k) {
    height = k.height, width = k.width;
    return once(kernel_bit);
  }
  constexpr bool take(option::stride s) {
    stride = s.rows, column_stride = s.columns;
    return once(stride_bit);
  }
  constexpr bool take(option::pad p) {
    zeros = p, has_zeros = true;
    return once(pad_bit);
  }
  /// Returns the window that these arguments describe. Its first row and column begin in the padding, which has `top`
  /// and `left` zeros.
  constexpr window window_at(int top, int left) const {
    return {height, width, stride, top, left, column_stride == stride ? 0 : column_stride};
  }

 protected:
  /// Records that a named option has been given. Returns false if it was given before.
  constexpr bool once(unsigned bit) {
    bool const first = (given & bit) == 0;
    given |= bit | by_name;
    return first;
  }
  /// Records a number that stands for the option with this bit.
  constexpr bool number(unsigned bit, int& to, long long n) {
    bool const fits = (given & by_name) == 0 && n == static_cast<int>(n);
    given |= bit;
    ++numbers;
    to = static_cast<int>(n);
    return fits;
  }
  /// Records a number as the stride of both rows and columns.
  constexpr bool stride_number(long long n) {
    bool const fits = number(stride_bit, stride, n);
    column_stride = stride;
    return fits;
  }
};

template <class Arguments, auto... Given>
constexpr Arguments read_arguments() {
  Arguments all;
  int i = 0;
  ((all.wrong < 0 && !all.take(Given) ? void(all.wrong = i) : void(), ++i), ...);
  return all;
}

/// The output size, the zeros before the input, and the size of the padded input, for rows or for columns.
struct extent {
  int size;    // of the output
  int before;  // zeros before the input
  int padded;  // input with all its zeros
};

/// Returns the extent for a padding: extent_of(32, 3, 2, padding::valid) -> {15, 0, 32}; extent_of(32, 3, 1,
/// padding::same) -> {32, 1, 34}.
constexpr extent extent_of(int input, int kernel, int stride, padding pad) {
  if (stride < 1 || kernel < 1) return {1, 0, input};
  if (pad == padding::valid) return {input < kernel ? 1 : (input - kernel) / stride + 1, 0, input};
  long long const size = (1LL * input + stride - 1) / stride;
  long long const total = (size - 1) * stride + kernel - input;
  long long const zeros = total > 0 ? total : 0;
  return {static_cast<int>(size), static_cast<int>(zeros / 2), narrow(input + zeros)};
}

/// Returns the extent for zeros before and after the input: extent_of(224, 7, 2, 3, 3) -> {112, 3, 230}.
constexpr extent extent_of(int input, int kernel, int stride, int before, int behind) {
  long long const padded = 1LL * input + before + behind;
  if (stride < 1 || kernel < 1 || padded < kernel) return {1, before, narrow(padded)};
  return {narrow((padded - kernel) / stride + 1), before, narrow(padded)};
}

/// Requires that the strides along rows and along columns are positive.
constexpr void require_strides(builder& b, value const& in, int rows, int columns) {
  b.require(rows > 0 && columns > 0,
            {.broken = rule::stride_is_positive, .first = in.shape, .found = rows > 0 ? columns : rows});
}

/// Requires that the padding on each side is smaller than the window.
constexpr void require_pads(builder& b, value const& in, option::pad const& p, int height, int width) {
  auto const side = [&](int zeros, int size) {
    b.require(zeros >= 0 && zeros < size,
              {.broken = rule::pad_is_less_than_the_window, .first = in.shape, .wanted = size, .found = zeros});
  };
  side(p.top, height), side(p.bottom, height), side(p.left, width), side(p.right, width);
}

}  // namespace detail
}  // namespace dsl
