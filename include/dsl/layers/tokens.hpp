// SPDX-License-Identifier: MIT
#pragma once

#include <dsl/graph/initializer.hpp>
#include <dsl/layer.hpp>

namespace dsl {

// A token is a pixel: its channels are the token's numbers. Sequences are images of one row.

namespace detail {

/// Declares a kernel of learnt constants, which is (1, tokens, channels) as in PyTorch and has its own initializer.
constexpr void learnt_constants(builder& b, long long tokens, int channels, initializer const& how) {
  initializer const outside = b.initialize_with(how);
  int const count = tokens > 0x7fffffffLL ? 0x7fffffff : static_cast<int>(tokens);
  b.parameter(
      {.role = role::kernel, .dims = {1, count, channels, 1}, .rank = 3, .fan_in = channels, .fan_out = channels});
  b.initialize_with(outside);
}

constexpr value lower_embedding(builder& b, value in, int vocabulary, int features) {
  b.require(is_vocabulary(vocabulary) && features > 0,
            {.broken = rule::embedding_has_a_vocabulary, .wanted = features, .found = vocabulary});
  initializer const outside = b.initialize_with({distribution::truncated_normal, 0.02});
  b.parameter({.role = role::kernel,
               .dims = {vocabulary, features, 1, 1},
               .rank = 2,
               .fan_in = vocabulary,
               .fan_out = features});
  b.initialize_with(outside);
  return b.append({.kind = op::embedding, .groups = vocabulary}, in, {features, in.shape.height, in.shape.width});
}

}  // namespace detail

/// Replaces each token by Features numbers that are learnt for it. Its input has the numbers of the tokens, 0 to
/// Vocabulary - 1, and must be an input of the network. The learnt numbers are the weights of an nn.Embedding, and are
/// initialised like those of position_embedding.
template <int Vocabulary, int Features>
struct embedding {
  static constexpr value lower(builder& b, value in) { return detail::lower_embedding(b, in, Vocabulary, Features); }
};
// embedding<96, 128> on 1x1x64 -> 128x1x64, with 96 * 128 numbers

/// Puts a learnt token, the class token of vision transformers (Dosovitskiy et al. 2021), before the pixels of the
/// input. Together they become one row of tokens. The token is initialised with 0. In PyTorch's files, it has the name
/// that named<> gives to this layer.
struct class_token {
  static constexpr value lower(builder& b, value in) {
    detail::learnt_constants(b, 1, in.shape.channels, {distribution::constant, 0});
    long long const tokens = in.shape.area() + 1;
    return b.append({.kind = op::class_token}, in,
                    {in.shape.channels, 1, tokens > 0x7fffffffLL ? 0x7fffffff : static_cast<int>(tokens)});
  }
};
// class_token on 768x14x14 -> 768x1x197, with 768 numbers

/// Adds a learnt number to each channel of each pixel. The numbers are initialised from a normal distribution with
/// standard deviation 0.02, truncated at 0.04. In PyTorch's files, they have the name that named<> gives to this layer.
struct position_embedding {
  static constexpr value lower(builder& b, value in) {
    detail::learnt_constants(b, in.shape.area(), in.shape.channels, {distribution::truncated_normal, 0.02});
    return b.append({.kind = op::position_embedding}, in, in.shape);
  }
};
// position_embedding on 768x1x197 -> 768x1x197, with 768 * 197 numbers

/// Selects Count consecutive pixels of the input, in row order and starting with pixel First. The result is one row of
/// tokens.
template <int First, int Count = 1>
struct token_slice {
  static constexpr value lower(builder& b, value in) {
    b.require(First >= 0 && Count > 0 && Count <= in.shape.area() && First <= in.shape.area() - Count,
              {.broken = rule::slice_is_in_the_tokens, .first = in.shape, .wanted = Count, .found = First});
    return b.append({.kind = op::token_slice, .first_channel = First}, in,
                    {in.shape.channels, 1, Count > 0 ? Count : 1});
  }
};
// token_slice<0> on 768x1x197 -> 768x1x1, the class token

/// Exchanges channels and pixels: channel c of pixel p becomes channel p of pixel c. The result is one row. Dense
/// layers between two of these layers mix the tokens instead of their channels, as in MLP-Mixer.
struct transpose_tokens {
  static constexpr value lower(builder& b, value in) {
    long long const pixels = in.shape.area();
    return b.append({.kind = op::transpose_tokens}, in,
                    {pixels > 0x7fffffffLL ? 0x7fffffff : static_cast<int>(pixels), 1, in.shape.channels});
  }
};
// transpose_tokens on 512x7x7 -> 49x1x512

}  // namespace dsl
