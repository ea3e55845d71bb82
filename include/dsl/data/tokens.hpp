// SPDX-License-Identifier: MIT
#pragma once

#include <dsl/data/dataset.hpp>
#include <dsl/detail/mode.hpp>

#include <cstdint>
#include <string>
#include <vector>

namespace dsl::TYPENET_MODE {

// Samples of token numbers, for a network that begins with token_numbers<Length> and embedding<Vocabulary, ...>. A data
// set keeps a token in a byte if the vocabulary has up to 256 tokens, otherwise in a float. All of these throw
// data_error for a token outside of the vocabulary and for wrong counts, and option_error for a length below 1 and for
// a vocabulary that does not have 1 to 16,777,216 tokens.

/// Makes a data set of token sequences, each of which has one class. `tokens` has labels.size() sequences of `length`
/// tokens, one after another. in_memory_tokens(3, 10, {1, 2, 3, 9, 8, 7}, 2, {0, 1})
dataset in_memory_tokens(int length, int vocabulary, std::vector<std::int32_t> const& tokens, int classes,
                         std::vector<std::int32_t> labels, std::vector<std::string> class_names = {});

/// Makes a data set of token sequences with a class for each token, from 0 to classes - 1, so there are as many labels
/// as tokens. A token whose label is -1 or `ignored` has no class: losses and accuracies omit it, as with PyTorch's
/// ignore_index.
dataset in_memory_token_classes(int length, int vocabulary, std::vector<std::int32_t> const& tokens, int classes,
                                std::vector<std::int32_t> labels, int ignored = -1,
                                std::vector<std::string> class_names = {});

/// The options of next_tokens: how samples are taken from a text.
struct token_windows {
  int length = 64;  // tokens of a sample
  int step = 0;     // tokens from the first of a sample to the first of the next one; 0: length, so that none overlap
};

/// Makes a data set for a language model from one long text. Each sample consists of `length` consecutive tokens, and
/// the class of each token is the token that follows it. Samples that overlap share their tokens in memory. Tokens at
/// the end of the text that do not fill a sample are not used. Throws data_error for a text of fewer than length + 1
/// tokens.
///   auto const train = dsl::next_tokens(vocabulary.encode(text), vocabulary.size(), {.length = 64});
dataset next_tokens(std::vector<std::int32_t> const& text, int vocabulary, token_windows const& windows = {});

}  // namespace dsl::TYPENET_MODE

#ifdef TYPENET_DEFINITIONS
#include <dsl/data/tokens_inl.hpp>
#endif
