// SPDX-License-Identifier: MIT
#pragma once

#include <dsl/data/vocabulary.hpp>
#include <dsl/files/input_file.hpp>
#include <dsl/detail/message.hpp>
#include <dsl/detail/mode.hpp>
#include <dsl/detail/utf8.hpp>
#include <dsl/error.hpp>

#include <cstddef>
#include <cstdint>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace dsl::detail::TYPENET_MODE {

/// Calls f(character, index of its first byte) for each character of a text.
template <class F>
void for_each_character(std::string_view text, F f) {
  for (std::size_t at = 0; at < text.size();) {
    std::size_t const size = utf8_size(text.substr(at));
    if (size == 0)
      throw_error<data_error>({"character_vocabulary: a text must be UTF-8; found no valid character at byte ", at,
                               "; convert the text, or take its bytes with byte_tokens()"});
    f(text.substr(at, size), at);
    at += size;
  }
}

/// Throws data_error unless `token` is a token of a vocabulary of this size.
inline void require_token(char const* what, std::int32_t token, std::size_t place, int size) {
  if (token < 0 || token >= size)
    throw_error<data_error>({what, ": tokens must be 0 to ", size - 1, "; found ", token, " at position ", place,
                             "; use the vocabulary that made the tokens"});
}

}  // namespace dsl::detail::TYPENET_MODE

namespace dsl::TYPENET_MODE {

TYPENET_INLINE character_vocabulary::character_vocabulary(std::string_view text) {
  std::set<std::string_view> all;
  detail::for_each_character(text, [&](std::string_view one, std::size_t) { all.insert(one); });
  if (all.empty())
    detail::throw_error<data_error>(
        {"character_vocabulary: the text must have at least one character; found none; give it the training text"});
  characters_.assign(all.begin(), all.end());  // UTF-8 sorts as code points do
}

TYPENET_INLINE std::string character_vocabulary::characters() const {
  std::string all;
  for (std::string const& one : characters_) all += one;
  return all;
}

TYPENET_INLINE std::vector<std::int32_t> character_vocabulary::encode(std::string_view text) const {
  std::vector<std::int32_t> tokens;
  tokens.reserve(text.size());
  detail::for_each_character(text, [&](std::string_view one, std::size_t at) {
    std::size_t first = 0;
    for (std::size_t end = characters_.size(); first < end;) {
      std::size_t const middle = first + (end - first) / 2;
      if (characters_[middle] < one)
        first = middle + 1;
      else
        end = middle;
    }
    if (first == characters_.size() || characters_[first] != one)
      detail::throw_error<data_error>({"character_vocabulary: each character must be one of its ", size(), "; found \"",
                                       std::string(one), "\" at byte ", at,
                                       "; remove it, or make the vocabulary from a text that contains it"});
    tokens.push_back(static_cast<std::int32_t>(first));
  });
  return tokens;
}

TYPENET_INLINE std::string character_vocabulary::decode(std::span<std::int32_t const> tokens) const {
  std::string text;
  for (std::size_t i = 0; i < tokens.size(); ++i) {
    detail::require_token("character_vocabulary", tokens[i], i, size());
    text += characters_[static_cast<std::size_t>(tokens[i])];
  }
  return text;
}

TYPENET_INLINE std::vector<std::int32_t> byte_tokens(std::string_view text) {
  std::vector<std::int32_t> tokens;
  tokens.reserve(text.size());
  for (char const c : text) tokens.push_back(static_cast<unsigned char>(c));
  return tokens;
}

TYPENET_INLINE std::string bytes_of_tokens(std::span<std::int32_t const> tokens) {
  std::string text;
  for (std::size_t i = 0; i < tokens.size(); ++i) {
    detail::require_token("bytes_of_tokens", tokens[i], i, 256);
    text += static_cast<char>(static_cast<unsigned char>(tokens[i]));
  }
  return text;
}

TYPENET_INLINE std::string read_text(std::string const& path) {
  detail::input_file file(path, "text", "name a readable file");
  std::string text;
  file.append(text, file.size());
  if (text.empty()) file.fail("it is empty");
  return text;
}

}  // namespace dsl::TYPENET_MODE
