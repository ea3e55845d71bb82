// SPDX-License-Identifier: MIT
// Nodes appended by a custom lower(): every mistake that would make a kernel read beyond a tensor's end breaks a rule,
// and correct nodes break none. tests/fail has the sentences.
#include "support/static_graph.hpp"

using dsl::builder;
using dsl::op;
using dsl::role;
using dsl::rule;
using dsl::shape;
using dsl::value;
using dsl::verdict;

namespace {

/// The verdict on a picture of 4x8x8 after a relu, from which compile-time errors are made.
template <class... Layers>
inline constexpr verdict on_picture = dsl::detail::checked<dsl::image<4, 8, 8>, dsl::relu, Layers...>::why;
template <class... Layers>
inline constexpr verdict on_flat = dsl::detail::checked<dsl::features<4>, dsl::relu, Layers...>::why;

constexpr void kernel(builder& b, int out, int in, int height = 1, int width = 1) {
  b.parameter({.role = role::kernel, .dims = {out, in, height, width}, .fan_in = 1, .fan_out = 1});
}
constexpr void row(builder& b, role r, int channels) { b.parameter({.role = r, .dims = {channels, 1, 1, 1}}); }

// ---- windows -----------------------------------------------------------------------------------------------------
template <op Kind, int Height, int Width, int Stride, int Top, int Left, int Rows, int Columns>
struct slide {
  static constexpr value lower(builder& b, value in) {
    if (Kind == op::conv2d) kernel(b, 4, 4, Height, Width), row(b, role::bias, 4);
    return b.append({.kind = Kind, .window = {Height, Width, Stride, Top, Left}}, in, {4, Rows, Columns});
  }
};
template <int Height, int Width, int Stride, int Top, int Left, int Rows, int Columns>
inline constexpr rule conv = on_picture<slide<op::conv2d, Height, Width, Stride, Top, Left, Rows, Columns>>.broken;
template <int Size, int Stride, int Top, int Rows>
inline constexpr rule max_pool = on_picture<slide<op::max_pool2d, Size, Size, Stride, Top, 0, Rows, Rows>>.broken;
template <int Size, int Stride, int Top, int Rows>
inline constexpr rule avg_pool = on_picture<slide<op::avg_pool2d, Size, Size, Stride, Top, 0, Rows, Rows>>.broken;
constexpr rule ill = rule::windows_lead_to_their_output;

static_assert(conv<3, 3, 1, 1, 1, 8, 8> == rule::holds && conv<3, 3, 1, 0, 0, 6, 6> == rule::holds);
static_assert(conv<3, 3, 1, 0, 0, 7, 7> == rule::holds && conv<3, 3, 1, 0, 0, 8, 8> == rule::holds);  // zeros after
static_assert(conv<3, 3, 1, 2, 2, 10, 10> == rule::holds);                            // every place where they meet
static_assert(conv<3, 3, 1, 0, 0, 9, 8> == ill);                                      // a window of nothing but zeros
static_assert(conv<3, 3, 1, 1, 1, 5, 8> == ill && conv<3, 3, 1, 1, 1, 8, 5> == ill);  // rows, columns left over
static_assert(conv<3, 3, 1, 3, 1, 8, 8> == ill && conv<3, 3, 1, 1, -1, 8, 8> == ill);
static_assert(conv<3, 3, 2, 0, 0, 4, 4> == rule::holds && conv<3, 3, 2, 0, 0, 3, 3> == rule::holds);
static_assert(conv<3, 3, 2, 0, 0, 5, 5> == ill && conv<3, 3, 2, 0, 0, 2, 3> == ill);
static_assert(conv<1, 1, 3, 0, 0, 3, 3> == rule::holds && conv<1, 1, 3, 0, 0, 2, 3> == ill);
static_assert(conv<9, 9, 1, 0, 0, 1, 1> == rule::holds && conv<2'000'000'000, 1, 1, 0, 0, 2'000'000'000, 8> != ill);
static_assert(conv<0, 3, 1, 0, 0, 8, 8> == rule::kernel_is_positive);
static_assert(conv<3, 3, 0, 1, 1, 8, 8> == rule::stride_is_positive);
static_assert(max_pool<2, 2, 0, 4> == rule::holds && max_pool<3, 2, 0, 3> == rule::holds);
static_assert(max_pool<3, 2, 0, 4> == rule::holds && max_pool<3, 1, 1, 8> == rule::holds);  // padded
static_assert(max_pool<2, 2, 0, 5> == ill && max_pool<3, 1, 3, 8> == ill && max_pool<2, 2, 0, 3> == ill);
static_assert(avg_pool<8, 1, 0, 1> == rule::holds && avg_pool<9, 1, 0, 1> == rule::holds);
static_assert(avg_pool<9, 1, 9, 1> == ill && avg_pool<3, 1, 0, 9> == ill);
static_assert(avg_pool<0, 1, 0, 8> == rule::pool_window_is_positive &&
              max_pool<2, -2, 0, 4> == rule::stride_is_positive);
static_assert(on_picture<slide<op::avg_pool2d, 3, 3, 1, 0, 0, 9, 9>>.window.height == 3);

template <op Kind, dsl::window Window, int Rows, int Columns>
struct steps {
  static constexpr value lower(builder& b, value in) {
    if (Kind == op::conv2d) kernel(b, 4, 4, Window.height, Window.width), row(b, role::bias, 4);
    return b.append({.kind = Kind, .window = Window}, in, {4, Rows, Columns});
  }
};
template <op Kind, dsl::window Window, int Rows, int Columns>
inline constexpr rule stepping = on_picture<steps<Kind, Window, Rows, Columns>>.broken;
using dsl::window;
static_assert(stepping<op::conv2d, window{3, 3, 2, 1, 1, 1}, 4, 8> == rule::holds);
static_assert(stepping<op::conv2d, window{3, 3, 2, 1, 1, 1}, 8, 4> == ill);
static_assert(stepping<op::conv2d, window{3, 3, 1, 1, 1, 3}, 8, 3> == rule::holds);
static_assert(stepping<op::conv2d, window{3, 3, 1, 1, 1, 3}, 8, 2> == ill);
static_assert(stepping<op::conv2d, window{3, 3, 1, 0, 0, 0, 2, 1}, 4, 6> == rule::holds);
static_assert(stepping<op::conv2d, window{3, 3, 1, 0, 0, 0, 1, 3}, 6, 2> == rule::holds);
static_assert(stepping<op::conv2d, window{3, 3, 2, 0, 0, 0, 2, 1}, 1, 3> == ill);  // rows left over
static_assert(stepping<op::conv2d, window{3, 3, 1, 4, 1, 0, 2, 1}, 8, 8> == rule::holds);
static_assert(stepping<op::conv2d, window{3, 3, 1, 5, 1, 0, 2, 1}, 9, 8> == ill);  // as much padding as the window
static_assert(stepping<op::conv2d, window{3, 3, 1, 1, 1, -1}, 8, 8> == rule::stride_is_positive);
static_assert(stepping<op::conv2d, window{3, 3, 1, 1, 1, 0, 0, 1}, 8, 8> == rule::dilation_is_positive);
static_assert(stepping<op::conv2d, window{3, 3, 1, 1, 1, 0, 2, -3}, 8, 8> == rule::dilation_is_positive);
static_assert(on_picture<steps<op::conv2d, window{3, 3, 1, 1, 1, 0, 2, -3}, 8, 8>>.found == -3);
static_assert(stepping<op::max_pool2d, window{2, 2, 1, 0, 0, 2}, 7, 4> == rule::holds);
static_assert(stepping<op::max_pool2d, window{2, 2, 1, 0, 0, 0, 1, 2}, 7, 6> == rule::pools_are_not_dilated);
static_assert(stepping<op::avg_pool2d, window{2, 2, 1, 0, 0, 0, 2, 1}, 6, 7> == rule::pools_are_not_dilated);
template <op Kind, int Height, int Width>
inline constexpr rule large_window =
    dsl::detail::checked<dsl::image<4, 300, 300>, slide<Kind, Height, Width, 1, 0, 0, 301 - Height, 301 - Width>>::why
        .broken;
static_assert(large_window<op::max_pool2d, 256, 256> == rule::holds);
static_assert(large_window<op::max_pool2d, 257, 256> == rule::pool_window_fits_16_bits);
static_assert(large_window<op::avg_pool2d, 300, 300> == rule::holds);

// ---- parameters --------------------------------------------------------------------------------------------------
enum class slip {
  none,
  kernel_out,
  kernel_in,
  kernel_width,
  bias,
  bias_rank,
  no_bias,
  nothing,
  three,
  order,
  norm,
  output,
  flat
};

template <slip S>
struct pointwise {  // 4 -> 6 channels
  static constexpr value lower(builder& b, value in) {
    if (S == slip::order) row(b, role::bias, 6);
    if (S == slip::nothing) return b.append({.kind = op::conv2d}, in, {6, 8, 8});
    kernel(b, S == slip::kernel_out ? 4 : 6, S == slip::kernel_in ? 6 : 4, 1, S == slip::kernel_width ? 3 : 1);
    if (S == slip::bias_rank)
      b.parameter({.role = role::bias, .dims = {6, 2, 1, 1}});
    else if (S != slip::no_bias && S != slip::order)
      row(b, role::bias, S == slip::bias ? 4 : 6);
    if (S == slip::three) row(b, role::gamma, 6);
    return b.append({.kind = op::conv2d}, in, {S == slip::output ? 5 : 6, 8, 8});
  }
};
template <slip S>
inline constexpr verdict pointwise_with = on_picture<pointwise<S>>;
constexpr rule misfit = rule::parameters_fit_their_node;
static_assert(pointwise_with<slip::none>.holds());
static_assert(pointwise_with<slip::kernel_out>.broken == misfit && pointwise_with<slip::kernel_out>.wanted == 6);
static_assert(pointwise_with<slip::kernel_in>.broken == misfit && pointwise_with<slip::kernel_in>.first.channels == 1);
static_assert(pointwise_with<slip::kernel_width>.broken == misfit && pointwise_with<slip::kernel_width>.found == 3);
static_assert(pointwise_with<slip::bias>.broken == misfit && pointwise_with<slip::bias>.parameter == role::bias);
static_assert(pointwise_with<slip::bias_rank>.broken == misfit && pointwise_with<slip::bias_rank>.found == 2);
static_assert(pointwise_with<slip::output>.broken == misfit);
static_assert(pointwise_with<slip::no_bias>.broken == rule::holds);  // it is optional
static_assert(pointwise_with<slip::nothing>.broken == rule::nodes_own_their_parameters);
static_assert(pointwise_with<slip::three>.broken == rule::nodes_own_their_parameters &&
              pointwise_with<slip::three>.found == 3);
static_assert(pointwise_with<slip::order>.broken == rule::parameters_come_in_order);

template <int Groups, int KernelIn>
struct grouped {  // 4 -> 6 channels
  static constexpr value lower(builder& b, value in) {
    kernel(b, 6, KernelIn);
    row(b, role::bias, 6);
    return b.append({.kind = op::conv2d, .groups = Groups}, in, {6, 8, 8});
  }
};
static_assert(on_picture<grouped<2, 2>>.holds() && on_picture<grouped<1, 4>>.holds());
static_assert(on_picture<grouped<2, 4>>.broken == misfit && on_picture<grouped<2, 4>>.wanted == 2);
constexpr rule indivisible = rule::groups_divide_the_channels;
static_assert(on_picture<grouped<3, 1>>.broken == indivisible && on_picture<grouped<4, 1>>.broken == indivisible);
static_assert(on_picture<grouped<0, 4>>.broken == indivisible && on_picture<grouped<-2, 2>>.broken == indivisible);

template <slip S>
struct scores {  // 4 -> 3
  static constexpr value lower(builder& b, value in) {
    kernel(b, 3, S == slip::kernel_in ? 3 : 4, S == slip::kernel_width ? 2 : 1);
    row(b, role::bias, 3);
    return b.append({.kind = op::dense}, in, {3, 1, S == slip::output ? 2 : 1});
  }
};
static_assert(on_flat<scores<slip::none>>.holds());
static_assert(on_flat<scores<slip::kernel_in>>.broken == misfit &&
              on_flat<scores<slip::kernel_width>>.broken == misfit);
static_assert(on_flat<scores<slip::output>>.broken == rule::shapes_follow_from_operands);
static_assert(on_picture<scores<slip::none>>.broken == rule::dense_takes_a_flat_input);

template <slip S>
struct norm {
  static constexpr value lower(builder& b, value in) {
    for (role r : {role::gamma, role::beta, role::moving_mean, role::moving_variance})
      row(b, S == slip::order && r == role::moving_variance ? role::gamma : r,
          S == slip::norm && r == role::moving_mean ? 1 : in.shape.channels);
    return b.append({.kind = op::batch_norm, .epsilon = S == slip::none ? 1e-3 : 0, .momentum = 0.9}, in, in.shape);
  }
};
static_assert(on_picture<norm<slip::none>>.holds());
static_assert(on_picture<norm<slip::output>>.broken == rule::epsilon_is_positive);
static_assert(on_picture<dsl::identity, dsl::batch_norm<>, norm<slip::none>>.holds());

// ---- operands and shapes -----------------------------------------------------------------------------------------
template <op Kind, int Operands, int Channels, int Height, int Width>
struct node_of {
  static constexpr value lower(builder& b, value in) {
    value const all[] = {in, in, in};
    return b.append({.kind = Kind, .rate = 0.5}, all, Operands, {Channels, Height, Width});
  }
};
template <op Kind, int Operands, int Channels, int Height = 8, int Width = 8>
inline constexpr rule given = on_picture<node_of<Kind, Operands, Channels, Height, Width>>.broken;
constexpr rule astray = rule::shapes_follow_from_operands;
constexpr rule miscounted = rule::nodes_take_their_operands;
static_assert(given<op::activation, 1, 4> == rule::holds && given<op::activation, 1, 8> == astray);
static_assert(given<op::activation, 0, 4> == miscounted && given<op::activation, 2, 4> == miscounted);
static_assert(given<op::activation, -1, 4> == miscounted);
static_assert(given<op::multiply, 2, 4> == rule::holds && given<op::multiply, 2, 4, 1, 1> == astray);
static_assert(given<op::multiply, 1, 4> == miscounted && given<op::multiply, 3, 4> == miscounted);
static_assert(given<op::dropout, 1, 4> == rule::holds && given<op::dropout, 1, 4, 8, 9> == astray);
static_assert(given<op::upsample_nearest, 1, 4, 16, 24> == rule::holds &&
              given<op::upsample_bilinear, 1, 4> == rule::holds);
static_assert(given<op::upsample_nearest, 1, 4, 12, 8> == astray &&
              given<op::upsample_nearest, 1, 8, 16, 16> == astray);
static_assert(given<op::upsample_bilinear, 1, 4, 4, 8> == astray &&
              given<op::upsample_bilinear, 1, 4, 8, 15> == astray);
static_assert(given<op::zero_pad2d, 1, 4> == rule::holds && given<op::zero_pad2d, 1, 4, 9, 12> == rule::holds);
static_assert(given<op::zero_pad2d, 1, 4, 7, 8> == astray && given<op::zero_pad2d, 1, 4, 8, 7> == astray);
static_assert(given<op::zero_pad2d, 1, 8, 9, 9> == astray && given<op::zero_pad2d, 2, 4> == miscounted);
static_assert(on_picture<dsl::zero_pad2d<1, 2>>.broken == rule::holds);
static_assert(on_picture<dsl::zero_pad2d<1, -2>>.broken == rule::padding_is_not_negative);
static_assert(on_picture<dsl::zero_pad2d<2'000'000'000>>.broken == rule::tensor_fits_32_bits);
static_assert(on_picture<dsl::upsample2d<500'000'000>>.broken == rule::tensor_fits_32_bits);
static_assert(on_picture<dsl::upsample2d<-2>>.broken == rule::factor_is_positive);
static_assert(given<op::channel_slice, 1, 4> == rule::holds && given<op::channel_slice, 1, 3> == rule::holds);
static_assert(given<op::channel_slice, 1, 5> == rule::slice_is_in_the_channels);
static_assert(given<op::channel_slice, 1, 4, 8, 7> == astray && given<op::channel_shuffle, 1, 3> == astray);
template <int First, int Count, int Groups>
struct sliced_and_shuffled {
  static constexpr value lower(builder& b, value in) {
    value const some = b.append({.kind = op::channel_slice, .first_channel = First}, in, {Count, 8, 8});
    return b.append({.kind = op::channel_shuffle, .groups = Groups}, some, some.shape);
  }
};
static_assert(on_picture<sliced_and_shuffled<2, 2, 2>>.broken == rule::holds);
static_assert(on_picture<sliced_and_shuffled<3, 2, 2>>.broken == rule::slice_is_in_the_channels);
static_assert(on_picture<sliced_and_shuffled<-1, 2, 2>>.broken == rule::slice_is_in_the_channels);
static_assert(on_picture<sliced_and_shuffled<0, 4, 3>>.broken == rule::shuffle_divides_the_channels);
static_assert(on_picture<sliced_and_shuffled<0, 4, 0>>.broken == rule::shuffle_divides_the_channels);

template <dsl::node Node>
struct normed {
  static constexpr value lower(builder& b, value in) {
    if (Node.kind == op::group_norm) row(b, role::gamma, 4), row(b, role::beta, 4);
    return b.append(Node, in, in.shape);
  }
};
constexpr dsl::node group_normed(int groups) { return {.kind = op::group_norm, .epsilon = 1, .groups = groups}; }
constexpr dsl::node response(int size, double alpha, double beta, double k) {
  return {.kind = op::local_response_norm, .rate = alpha, .epsilon = k, .groups = size, .power = beta};
}
static_assert(on_picture<normed<group_normed(2)>>.broken == rule::holds);
static_assert(on_picture<normed<group_normed(3)>>.broken == rule::norm_groups_divide_the_channels);
static_assert(on_picture<normed<group_normed(0)>>.broken == rule::norm_groups_divide_the_channels);
static_assert(on_picture<normed<response(3, 1, 1, 1)>>.broken == rule::holds);
static_assert(on_picture<normed<response(4, 1, 1, 1)>>.broken == rule::response_size_is_odd);
static_assert(on_picture<normed<response(-1, 1, 1, 1)>>.broken == rule::response_size_is_odd);
static_assert(on_picture<normed<response(3, 0, 1, 1)>>.broken == rule::response_numbers_are_positive);
static_assert(on_picture<normed<response(3, 1, -1, 1)>>.broken == rule::response_numbers_are_positive);
static_assert(on_picture<normed<response(3, 1, 1, 0)>>.broken == rule::response_numbers_are_positive);
template <op Kind, int First, int Height, int Width, int Tokens = 1, int Channels = 4>
struct tokens {
  static constexpr value lower(builder& b, value in) {
    if (Kind != op::token_slice)
      b.parameter({.role = role::kernel, .dims = {1, Tokens, Channels, 1}, .fan_in = 1, .fan_out = 1});
    return b.append({.kind = Kind, .first_channel = First}, in, {4, Height, Width});
  }
};
static_assert(on_picture<tokens<op::token_slice, 1, 1, 63>>.broken == rule::holds);
static_assert(on_picture<tokens<op::token_slice, 2, 1, 63>>.broken == rule::slice_is_in_the_tokens);
static_assert(on_picture<tokens<op::token_slice, -1, 1, 2>>.broken == rule::slice_is_in_the_tokens);
static_assert(on_picture<tokens<op::token_slice, 0, 2, 2>>.broken == astray);
static_assert(on_picture<tokens<op::class_token, 0, 1, 65>>.broken == rule::holds);
static_assert(on_picture<tokens<op::class_token, 0, 1, 64>>.broken == astray);
static_assert(on_picture<tokens<op::class_token, 0, 1, 65, 2>>.broken == rule::parameters_fit_their_node);
static_assert(on_picture<tokens<op::position_embedding, 0, 8, 8, 64>>.broken == rule::holds);
static_assert(on_picture<tokens<op::position_embedding, 0, 8, 8, 63>>.broken == rule::parameters_fit_their_node);
static_assert(on_picture<tokens<op::position_embedding, 0, 8, 8, 64, 3>>.broken == rule::parameters_fit_their_node);
static_assert(on_picture<tokens<op::position_embedding, 0, 8, 7, 56>>.broken == astray);
template <op Kind, int Rows, int Width, int Columns = 2, int Biases = Rows, bool Swaps = false>
struct recurs {
  static constexpr value lower(builder& b, value in) {
    auto const add = [&](role r, int rows, int columns) {
      b.parameter({.role = r, .dims = {rows, columns, 1, 1}, .fan_in = 1, .fan_out = 1});
    };
    add(Swaps ? role::recurrent_kernel : role::kernel, Rows, 1), add(role::recurrent_kernel, Rows, Columns);
    add(role::bias, Biases, 1), add(role::recurrent_bias, Rows, 1);
    return b.append({.kind = Kind}, in, {2, 1, Width});
  }
};
template <class Layer>
inline constexpr rule along_9 = dsl::detail::checked<dsl::sequence<1, 9>, Layer>::why.broken;
static_assert(along_9<recurs<op::lstm, 8, 9>> == rule::holds && along_9<recurs<op::lstm, 8, 1>> == rule::holds);
static_assert(along_9<recurs<op::gru, 6, 9>> == rule::holds && along_9<recurs<op::gru, 6, 1>> == rule::holds);
static_assert(along_9<recurs<op::gru, 6, 5>> == astray && along_9<recurs<op::lstm, 8, 10>> == astray);
static_assert(along_9<recurs<op::gru, 8, 9>> == rule::parameters_fit_their_node);
static_assert(along_9<recurs<op::lstm, 8, 9, 3>> == rule::parameters_fit_their_node);
static_assert(along_9<recurs<op::lstm, 8, 9, 2, 4>> == rule::parameters_fit_their_node);
static_assert(along_9<recurs<op::lstm, 8, 9, 2, 8, true>> == rule::parameters_come_in_order);
static_assert(on_picture<recurs<op::lstm, 8, 8>>.broken == rule::sequences_have_one_row);
template <int Vocabulary, int Rows, int Features, int Height = 1, int Width = 9>
struct looks_up {
  static constexpr value lower(builder& b, value in) {
    kernel(b, Rows, Features);
    return b.append({.kind = op::embedding, .groups = Vocabulary}, in, {5, Height, Width});
  }
};
template <class... Layers>
inline constexpr verdict on_tokens = dsl::detail::checked<dsl::token_numbers<9>, Layers...>::why;
static_assert(on_tokens<looks_up<6, 6, 5>>.broken == rule::holds);
static_assert(on_tokens<looks_up<6, 7, 5>>.broken == rule::parameters_fit_their_node);
static_assert(on_tokens<looks_up<6, 6, 4>>.broken == rule::parameters_fit_their_node);
static_assert(on_tokens<looks_up<6, 6, 5, 9, 1>>.broken == astray &&
              on_tokens<looks_up<6, 6, 5, 1, 8>>.broken == astray);
static_assert(on_tokens<looks_up<0, 6, 5>>.broken == rule::embedding_has_a_vocabulary);
static_assert(on_tokens<looks_up<16'777'217, 6, 5>>.broken == rule::embedding_has_a_vocabulary);
static_assert(on_tokens<dsl::embedding<-1, 5>>.broken == rule::embedding_has_a_vocabulary);
static_assert(on_tokens<dsl::embedding<6, 0>>.broken == rule::embedding_has_a_vocabulary);
static_assert(on_tokens<dsl::relu, dsl::embedding<6, 5>>.broken == rule::embedding_reads_token_numbers);
static_assert(on_picture<dsl::embedding<6, 5>>.broken == rule::embedding_reads_token_numbers);
static_assert(dsl::detail::checked<dsl::features<2>, dsl::embedding<6, 5>>::why.broken ==
              rule::embedding_reads_token_numbers);
template <int Offsets, int Heads, window Window, int Channels = 4>
struct in_windows {
  static constexpr value lower(builder& b, value in) {
    value const all = dsl::pointwise_dense<12>::lower(b, in);
    b.parameter({.role = role::kernel, .dims = {Offsets, Heads, 1, 1}, .fan_in = 1, .fan_out = 1});
    return b.append({.kind = op::window_attention, .window = Window, .groups = 2}, all, {Channels, 8, 8});
  }
};
constexpr rule unfilled = rule::windows_fill_the_image;
static_assert(on_picture<in_windows<9, 2, window{2, 2}>>.broken == rule::holds);
static_assert(on_picture<in_windows<21, 2, window{4, 2, 1, 3, 1}>>.broken == rule::holds);
static_assert(on_picture<in_windows<21, 2, window{4, 2, 1, 0, 1, 0, 2, 1}>>.broken == rule::holds);
static_assert(on_picture<in_windows<8, 2, window{2, 2}>>.broken == rule::parameters_fit_their_node);
static_assert(on_picture<in_windows<9, 1, window{2, 2}>>.broken == rule::parameters_fit_their_node);
static_assert(on_picture<in_windows<9, 2, window{2, 2}, 3>>.broken == astray);
static_assert(on_picture<in_windows<15, 2, window{2, 3}>>.broken == unfilled);
static_assert(on_picture<in_windows<9, 2, window{2, 2, 1, 2, 0}>>.broken == unfilled);
static_assert(on_picture<in_windows<9, 2, window{2, 2, 1, 0, -1}>>.broken == unfilled);
static_assert(on_picture<in_windows<9, 2, window{2, 2, 1, 0, 0, 0, 3, 1}>>.broken == unfilled);
static_assert(on_picture<in_windows<9, 2, window{2, 2, 1, 1, 0, 0, 4, 1}>>.broken == unfilled);
static_assert(on_picture<in_windows<1, 2, window{0, 1}>>.broken == unfilled);
static_assert(on_picture<dsl::pointwise_dense<12>, dsl::window_attention<2, 3>>.broken == unfilled);
static_assert(on_picture<dsl::pointwise_dense<12>, dsl::window_attention<2, 0>>.broken == unfilled);
static_assert(on_picture<dsl::pointwise_dense<12>, dsl::window_attention<2, 4, 4>>.broken == unfilled);
static_assert(on_picture<dsl::pointwise_dense<12>, dsl::window_attention<2, 4, -1>>.broken == unfilled);
static_assert(on_picture<dsl::pointwise_dense<12>, dsl::grid_attention<2, 16>>.broken == unfilled);
static_assert(on_picture<dsl::window_attention<2, 2>>.broken == rule::attention_has_whole_heads);
template <int Heads, int Rows, int Columns, window Window = window{2, 2}>
struct in_bounded_windows {
  static constexpr value lower(builder& b, value in) {
    value const all = dsl::pointwise_dense<12>::lower(b, in);
    value const operands[]{all, b.append({.kind = op::window_offsets}, all, {2, Rows, Columns})};
    return b.append({.kind = op::bounded_window_attention, .window = Window, .groups = Heads}, operands, 2, {4, 8, 8});
  }
};
static_assert(on_picture<in_bounded_windows<2, 3, 3>>.broken == rule::holds);
static_assert(on_picture<in_bounded_windows<4, 3, 3>>.broken == astray);
static_assert(on_picture<in_bounded_windows<2, 3, 5>>.broken == astray);
static_assert(on_picture<in_bounded_windows<2, 3, 2>>.broken == astray);
static_assert(on_picture<in_bounded_windows<2, 5, 5, window{3, 3}>>.broken == unfilled);
static_assert(on_picture<dsl::pointwise_dense<12>, dsl::bounded_window_attention<2, 3, 0, dsl::conv2d<2, 1>>>.broken ==
              unfilled);
static_assert(on_picture<dsl::pointwise_dense<12>, dsl::bounded_window_attention<2, 2, 0, dsl::conv2d<3, 1>>>.broken ==
              astray);
static_assert(on_picture<dsl::token_slice<63, 2>>.broken == rule::slice_is_in_the_tokens);
static_assert(on_picture<dsl::token_slice<0, 0>>.broken == rule::slice_is_in_the_tokens);
static_assert(on_picture<dsl::pointwise_dense<0>>.broken == rule::units_are_positive);
static_assert(given<op::flatten, 1, 256, 1, 1> == rule::holds && given<op::flatten, 1, 255, 1, 1> == astray);
static_assert(given<op::flatten, 1, 4, 64, 1> == astray && given<op::flatten, 1, 1, 256, 1> == astray);
static_assert(given<op::softmax, 1, 4> == rule::softmax_takes_logits);
template <class... Layers>
inline constexpr bool takes_logits = on_picture<Layers..., dsl::softmax2d>.broken != rule::softmax_takes_logits;
static_assert(!takes_logits<dsl::stochastic_depth<0.5>> && !takes_logits<dsl::dropout<0.5>>);
static_assert(!takes_logits<dsl::relu, dsl::channel_shuffle<2>> && takes_logits<dsl::tanh, dsl::channel_shuffle<2>>);
static_assert(!takes_logits<dsl::relu, dsl::channel_slice<0, 2>, dsl::flatten>);
static_assert(takes_logits<dsl::dropout<0.5>, dsl::upsample2d<2>, dsl::tanh, dsl::channel_slice<0, 2>, dsl::flatten>);
static_assert(given<op::concat, 2, 8> == rule::holds && given<op::concat, 3, 12> == rule::holds);
static_assert(given<op::concat, 3, 8> == astray && given<op::concat, 2, 8, 8, 7> == astray);
static_assert(given<op::concat, 1, 4> == miscounted && given<op::concat, 0, 4> == miscounted);
static_assert(given<op::add, 3, 4> == rule::holds && given<op::add, 2, 8> == astray);
static_assert(given<op::add, 1, 4> == miscounted);
static_assert(given<op::custom, 1, 4> == rule::custom_operations_are_complete);
template <class T>
constexpr void computes_nothing(dsl::custom_call<T> const&) {}
template <int Change>
inline constexpr dsl::custom_op own{
    "own", computes_nothing<float>, computes_nothing<float>, computes_nothing<double>, computes_nothing<double>, [] {
      dsl::operations::row r = dsl::operations::custom;
      if (Change == 1) r.inputs = 2;
      if (Change == 2) r.parameters = 1;
      if (Change == 3) r.reads[0] = dsl::operations::values::second_input;
      if (Change == 4) r.kept = dsl::operations::kept::argmax;
      return r;
    }()};
template <int Change>
struct own_operation {
  static constexpr value lower(builder& b, value in) {
    return b.append({.kind = op::custom, .custom = &own<Change>}, in, in.shape);
  }
};
template <int Change>
inline constexpr rule own_with = on_picture<own_operation<Change>>.broken;
static_assert(own_with<0> == rule::holds && own_with<1> == rule::custom_operations_are_complete);
static_assert(own_with<2> == rule::custom_operations_are_complete && own_with<3> == own_with<1>);
static_assert(own_with<4> == own_with<1>);
static_assert(given<op::input, 0, 4> == rule::inputs_come_first && given<op::input, 1, 4> == rule::inputs_come_first);
static_assert(given<op::activation, 1, 0> == rule::outputs_have_a_size);
static_assert(given<op::add, 2, 4, -8, -8> == rule::outputs_have_a_size);
static_assert(given<op::batch_norm, 1, 4> == rule::nodes_own_their_parameters);

template <op Kind, int Stride>
struct joins_unequals {
  static constexpr value lower(builder& b, value in) {
    value const both[] = {in, dsl::conv2d<4, 3, 3, Stride>::lower(b, in)};
    return b.append({.kind = Kind}, both, {Kind == op::concat ? 8 : 4, 8, 8});
  }
};
static_assert(on_picture<joins_unequals<op::add, 1>>.holds() && on_picture<joins_unequals<op::concat, 1>>.holds());
static_assert(on_picture<joins_unequals<op::add, 2>>.broken == rule::branches_share_their_shape);
static_assert(on_picture<joins_unequals<op::concat, 2>>.broken == rule::branches_share_height_and_width);
static_assert(on_picture<joins_unequals<op::concat, 2>>.found == 1);

template <int Channels>
struct adds_channels {
  static constexpr value lower(builder& b, value in) {
    value const both[] = {in, dsl::conv2d<Channels, 1>::lower(b, in)};
    return b.append({.kind = op::add}, both, in.shape);
  }
};
static_assert(on_picture<adds_channels<4>>.holds());
static_assert(on_picture<adds_channels<8>>.broken == rule::branches_share_their_shape);

// ---- values ------------------------------------------------------------------------------------------------------
template <int Tensor>
struct returns_tensor {
  static constexpr value lower(builder& b, value in) {
    dsl::relu::lower(b, in);
    return {Tensor, in.shape};
  }
};
static_assert(on_picture<returns_tensor<2>>.holds());  // input, relu, and its own
static_assert(on_picture<returns_tensor<3>>.broken == rule::values_are_in_the_graph);
static_assert(on_picture<returns_tensor<-1>>.broken == rule::values_are_in_the_graph);

template <int Tensor>
struct reads_tensor {
  static constexpr value lower(builder& b, value in) {
    return b.append({.kind = op::activation}, value{Tensor, in.shape}, in.shape);
  }
};
static_assert(on_picture<reads_tensor<1>>.holds());
static_assert(on_picture<reads_tensor<2>>.broken == rule::values_are_in_the_graph);  // its own output
static_assert(on_picture<returns_tensor<1>>.broken == rule::values_are_read);        // its own is dead
static_assert(on_picture<returns_tensor<1>, dsl::relu>.broken == rule::values_are_read);
static_assert(on_picture<dsl::relu, returns_tensor<0>>.broken == rule::values_are_read);  // so is what it was given

struct leaves_one_out {  // the first of its two nodes
  static constexpr value lower(builder& b, value in) {
    dsl::relu::lower(b, in);
    return dsl::relu::lower(b, in);
  }
};
static_assert(on_picture<leaves_one_out>.broken == rule::values_are_read);

struct claims_more {  // takes the value for another than it is
  static constexpr value lower(builder& b, value in) {
    in.shape.channels *= 2;
    return dsl::conv2d<4, 1>::lower(b, in);
  }
};
static_assert(on_picture<claims_more>.broken == misfit && on_picture<claims_more>.found == 8);

struct starts_empty {  // an input that is none
  static constexpr shape value_shape{4, 8, 8};
  static constexpr value lower(builder& b) { return b.append({.kind = op::activation}, nullptr, 0, value_shape); }
};
static_assert(dsl::detail::checked<starts_empty, dsl::relu>::why.broken == rule::inputs_come_first);

struct starts_normalised {  // one that does more than begin
  static constexpr shape value_shape{4, 8, 8};
  static constexpr value lower(builder& b) { return norm<slip::none>::lower(b, dsl::image<4, 8, 8>::lower(b)); }
};
static_assert(dsl::network<starts_normalised, dsl::relu>::output == starts_normalised::value_shape);

// ---- the first fault, and its place ------------------------------------------------------------------------------
struct deep : dsl::sequential<dsl::relu, dsl::concat<dsl::relu, dsl::sequential<dsl::relu, pointwise<slip::bias>>>> {};
constexpr verdict there = on_picture<dsl::relu, deep, dsl::dense<0>>;
static_assert(there.broken == misfit && there.depth == 4);
static_assert(there.path[0] == 2 && there.path[1] == 1 && there.path[2] == 1 && there.path[3] == 1);
// A wrong node is reported before what later layers reported, which follows from it; what an earlier layer reported
// comes before the node.
using taller = node_of<op::activation, 1, 4, 9, 8>;
static_assert(on_picture<dsl::concat<dsl::relu, taller>>.broken == astray);
static_assert(on_picture<dsl::dropout<1.0>, taller>.broken == rule::dropout_rate_is_a_probability);

// A broken network is planned all the same, for programs that ask for its bytes after the error.
template <class... Layers>
inline constexpr long long bytes_of =
    dsl::make_plan(dsl::detail::checked<dsl::image<4, 8, 8>, dsl::relu, Layers...>::result.graph.view(), {4}).bytes();
static_assert(bytes_of<pointwise<slip::nothing>> > 0 && bytes_of<returns_tensor<-1>, taller> > 0);
static_assert(bytes_of<dsl::dropout<1.0>, pointwise<slip::nothing>, node_of<op::input, 1, 4, 8, 8>> > 0);
static_assert(bytes_of<node_of<op::activation, 0, 4, 8, 8>, node_of<op::batch_norm, 1, 4, 8, 8>> > 0);
static_assert(bytes_of<dsl::conv2d<0, 3>, dsl::concat<>, claims_more> >= 0);

template <int Depth>
struct nested : dsl::sequential<nested<Depth - 1>> {};
template <>
struct nested<0> : taller {};
static_assert(on_picture<nested<40>>.broken == astray && on_picture<nested<40>>.depth == dsl::deepest_layer);

}  // namespace
