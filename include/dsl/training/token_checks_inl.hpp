// SPDX-License-Identifier: MIT
#pragma once

#include <dsl/data/dataset.hpp>
#include <dsl/data/pipeline.hpp>
#include <dsl/detail/message.hpp>
#include <dsl/detail/mode.hpp>
#include <dsl/error.hpp>
#include <dsl/graph/graph.hpp>
#include <dsl/training/checks.hpp>
#include <dsl/training/fit_options.hpp>
#include <dsl/training/token_checks.hpp>

#include <string>

namespace dsl::detail::TYPENET_MODE {

/// Returns "the network's tokens" or "the tokens of input "question"".
inline std::string tokens_of(graph_view const& g, int input) {
  return input == 0 ? "the network's tokens" : "the tokens of input \"" + name_of_input(g, input) + "\"";
}

/// Throws data_error for a number that is not a token.
[[noreturn, gnu::cold]] inline void refuse_token(graph_view const& g, int input, double found, long long place,
                                                 char const* what) {
  long long const each = g.output_shape(g.nodes[input]).size();
  int const vocabulary = vocabulary_of(g, input);
  throw_error<data_error>({what, ": ", tokens_of(g, input), " must be whole numbers from 0 to ", vocabulary - 1,
                           "; found ", found, " as token ", place % each, " of sample ", place / each,
                           "; correct the data, or give embedding<...> a larger vocabulary"});
}

TYPENET_INLINE void require_tokens(graph_view const& g, int input, float const* numbers, long long samples,
                                   long long first, char const* what) {
  int const vocabulary = vocabulary_of(g, input);
  if (vocabulary == 0) return;
  long long const each = g.output_shape(g.nodes[input]).size();
  auto const most = static_cast<float>(vocabulary - 1);
  for (long long i = 0; i < samples * each; ++i) {
    float const x = numbers[i];
    if (bool const inside = x >= 0 && x <= most; inside && x == static_cast<float>(static_cast<int>(x))) continue;
    refuse_token(g, input, static_cast<double>(x), first * each + i, what);
  }
}

TYPENET_INLINE void require_tokens(graph_view const& g, std::span<float const* const> inputs, int samples,
                                   char const* what) {
  int n = 0;
  for (float const* const numbers : inputs) {
    while (g.nodes[n].kind != op::input) ++n;
    require_tokens(g, n++, numbers, samples, 0, what);
  }
}

TYPENET_INLINE void require_tokens(graph_view const& g, dataset const& data, batch const& b, int samples,
                                   char const* what) {
  if (data.storage && (data.storage->source || data.storage->stream))
    require_tokens(g, 0, b.inputs[0], samples, b.first, what);
}

TYPENET_INLINE void require_tokens(graph_view const& g, dataset const& data, char const* what) {
  auto const require_plain = [&](int input, bool is_normalised) {
    if (is_normalised)
      throw_error<option_error>({what, ": ", tokens_of(g, input),
                                 " must not be normalised; found a mean or a deviation of them in the data set; leave "
                                 "normalize() out"});
  };
  if (int const vocabulary = vocabulary_of(g, 0); vocabulary > 0) {
    require_plain(0, data.mean || data.deviation);
    for (long long i = 0; data.storage && !data.storage->source && !data.storage->stream && i < data.size; ++i) {
      if (!data.has_bytes()) {
        require_tokens(g, 0, data.reals(i), 1, i, what);
        continue;
      }
      long long const each = data.sample.size();
      for (long long k = 0; k < each; ++k)
        if (int const token = data.pixels(i)[k]; token >= vocabulary) refuse_token(g, 0, token, i * each + k, what);
    }
  }
  for (int n = 1; data.further && n < g.size.nodes; ++n) {
    if (!is_further_input(g, n) || vocabulary_of(g, n) == 0) continue;
    for (int k = 0; k < data.further_inputs(); ++k) {
      further_input const& f = (*data.further)[static_cast<std::size_t>(k)];
      if (f.name != name_of_input(g, n)) continue;
      require_plain(n, f.mean || f.deviation);
      require_tokens(g, n, data.further_numbers(k, 0), data.size, 0, what);
    }
  }
}

TYPENET_INLINE void require_tokens_stay(graph_view const& g, fit_options const& o) {
  if (o.augment && vocabulary_of(g, 0) > 0)
    throw_error<option_error>(
        {"fit: token numbers cannot be augmented; found an .augment, which moves or flips samples; leave it out"});
}

}  // namespace dsl::detail::TYPENET_MODE
