// SPDX-License-Identifier: MIT
#pragma once

#include <dsl/data/dataset.hpp>
#include <dsl/data/tokens.hpp>
#include <dsl/detail/message.hpp>
#include <dsl/detail/mode.hpp>
#include <dsl/detail/option_check.hpp>
#include <dsl/error.hpp>
#include <dsl/graph/node.hpp>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace dsl::detail::TYPENET_MODE {

/// Throws option_error if the length or the vocabulary's size is out of range, and data_error for a token outside of
/// the vocabulary.
inline void require_vocabulary(char const* what, int length, int vocabulary, std::vector<std::int32_t> const& tokens) {
  option_check const check{what};
  check.need(length >= 1, "the length must be 1 or more", length);
  check.need(is_vocabulary(vocabulary), "the vocabulary must have 1 to 16,777,216 tokens", vocabulary);
  for (std::size_t i = 0; i < tokens.size(); ++i)
    if (tokens[i] < 0 || tokens[i] >= vocabulary)
      throw_error<data_error>({what, ": tokens must be 0 to ", vocabulary - 1, ", the numbers of a vocabulary of ",
                               vocabulary, "; found ", tokens[i], " as token ", i,
                               "; correct it, or use a larger vocabulary"});
}

/// Returns the number of whole sequences in `tokens` tokens.
inline std::int64_t count_sequences(char const* what, int length, std::size_t tokens) {
  auto const found = static_cast<std::int64_t>(tokens);
  if (found % length != 0)
    throw_error<data_error>({what, ": each sequence must have ", length, " tokens; found ", found,
                             " in all, which is not a whole number of sequences; check the length"});
  return found / length;
}

/// Returns storage for samples of `length` tokens that begin `step` tokens apart.
inline dataset_storage storage_of_tokens(std::vector<std::int32_t> const& tokens, int vocabulary, int step,
                                         std::int64_t samples) {
  dataset_storage s;
  if (vocabulary <= 256) {
    auto const owner = std::make_shared<std::vector<std::uint8_t> const>(tokens.begin(), tokens.end());
    s.segments = {{owner->data(), step, samples}};
    s.owners = {owner};
    return s;
  }
  auto const owner = std::make_shared<std::vector<float> const>(tokens.begin(), tokens.end());
  s.elements = element::real;
  s.segments = {
      {reinterpret_cast<std::uint8_t const*>(owner->data()), step * static_cast<std::int64_t>(sizeof(float)), samples}};
  s.owners = {owner};
  return s;
}

inline dataset dataset_of_tokens(int length, int classes, bool each, std::int64_t samples, dataset_storage storage) {
  return {.sample = {1, 1, length},
          .size = samples,
          .classes = classes,
          .mean = nullptr,
          .storage = std::make_shared<dataset_storage const>(std::move(storage)),
          .pixel_classes = each};
}

}  // namespace dsl::detail::TYPENET_MODE

namespace dsl::TYPENET_MODE {

TYPENET_INLINE dataset in_memory_tokens(int length, int vocabulary, std::vector<std::int32_t> const& tokens,
                                        int classes, std::vector<std::int32_t> labels,
                                        std::vector<std::string> class_names) {
  char const* const what = "in_memory_tokens";
  detail::option_check{what}.need(classes >= 1, "classes must be 1 or more", classes);
  detail::require_vocabulary(what, length, vocabulary, tokens);
  std::int64_t const samples = detail::count_sequences(what, length, tokens.size());
  if (static_cast<std::int64_t>(labels.size()) != samples)
    detail::throw_error<data_error>(
        {what, ": each sequence must have a label; found ", detail::counted(samples, "sequence"), " and ",
         detail::counted(static_cast<long long>(labels.size()), "label"), "; check the length and the labels"});
  detail::require_labels(labels, classes);
  dataset_storage s = detail::storage_of_tokens(tokens, vocabulary, length, samples);
  s.labels = std::move(labels);
  s.class_names = std::move(class_names);
  return detail::dataset_of_tokens(length, classes, false, samples, std::move(s));
}

TYPENET_INLINE dataset in_memory_token_classes(int length, int vocabulary, std::vector<std::int32_t> const& tokens,
                                               int classes, std::vector<std::int32_t> labels, int ignored,
                                               std::vector<std::string> class_names) {
  char const* const what = "in_memory_token_classes";
  detail::option_check{what}.need(classes >= 2, "classes must be 2 or more", classes);
  detail::require_vocabulary(what, length, vocabulary, tokens);
  std::int64_t const samples = detail::count_sequences(what, length, tokens.size());
  if (labels.size() != tokens.size())
    detail::throw_error<data_error>({what, ": each token must have a label; found ",
                                     detail::counted(static_cast<long long>(tokens.size()), "token"), " and ",
                                     detail::counted(static_cast<long long>(labels.size()), "label"),
                                     "; give tokens without a class the label ", ignored});
  std::size_t none = 0;
  for (std::size_t i = 0; i < labels.size(); ++i) {
    std::int32_t const found = labels[i];
    if (found == ignored || found == -1)
      labels[i] = -1, ++none;
    else if (found < 0 || found >= classes)
      detail::throw_error<data_error>({what, ": a token's label must be 0 to ", classes - 1, ", or ", ignored,
                                       " for none; found ", found, " for token ", i,
                                       "; correct the label, the number of classes, or the ignored value"});
  }
  if (none == labels.size())
    detail::throw_error<data_error>({what, ": at least one token must have a class; found ", labels.size(),
                                     " tokens and no label; check the labels and the ignored value"});
  dataset_storage s = detail::storage_of_tokens(tokens, vocabulary, length, samples);
  s.labels = std::move(labels);
  s.class_names = std::move(class_names);
  return detail::dataset_of_tokens(length, classes, true, samples, std::move(s));
}

TYPENET_INLINE dataset next_tokens(std::vector<std::int32_t> const& text, int vocabulary,
                                   token_windows const& windows) {
  char const* const what = "next_tokens";
  detail::option_check const check{what};
  check.need(vocabulary >= 2, "the vocabulary must have at least two tokens to choose from", vocabulary);
  check.need(windows.step >= 0, "step must be 1 or more, or 0 for samples that do not overlap", windows.step);
  detail::require_vocabulary(what, windows.length, vocabulary, text);
  auto const found = static_cast<std::int64_t>(text.size());
  int const length = windows.length, step = windows.step > 0 ? windows.step : length;
  if (found <= length)
    detail::throw_error<data_error>({what, ": the text must have at least ", length + 1LL,
                                     " tokens, those of a sample and the one after it; found ", found,
                                     "; use a longer text or shorter samples"});
  std::int64_t const samples = (found - 1 - length) / step + 1;
  dataset_storage s = detail::storage_of_tokens(text, vocabulary, step, samples);
  s.labels.reserve(static_cast<std::size_t>(samples * length));
  for (std::int64_t i = 0; i < samples; ++i) {
    auto const first = text.begin() + (i * step + 1);
    s.labels.insert(s.labels.end(), first, first + length);
  }
  return detail::dataset_of_tokens(length, vocabulary, true, samples, std::move(s));
}

}  // namespace dsl::TYPENET_MODE
