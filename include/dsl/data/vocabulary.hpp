// SPDX-License-Identifier: MIT
#pragma once

#include <dsl/detail/mode.hpp>

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace dsl::TYPENET_MODE {

/// The characters of a text, each of which is a token. Their numbers are in the order of the code points, so that the
/// same characters always have the same numbers.
///   dsl::character_vocabulary const letters(text);
///   letters.decode(letters.encode("to be"))  // "to be"
class character_vocabulary {
 public:
  /// Makes one of all characters of a text in UTF-8. Throws data_error if it is empty or not UTF-8; byte_tokens takes
  /// any bytes.
  [[gnu::cold]] explicit character_vocabulary(std::string_view text);

  /// Returns the number of tokens, for embedding<...>.
  int size() const { return static_cast<int>(characters_.size()); }
  /// Returns all characters, the first token's first: a file with them is the vocabulary for another program.
  [[gnu::cold]] std::string characters() const;

  /// Returns the tokens of a text. Throws data_error for a character that is not in the vocabulary, and for what is
  /// not UTF-8.
  [[gnu::cold]] std::vector<std::int32_t> encode(std::string_view text) const;
  /// Returns the text of tokens. Throws data_error for a number outside of the vocabulary.
  [[gnu::cold]] std::string decode(std::span<std::int32_t const> tokens) const;

 private:
  std::vector<std::string> characters_;  // sorted
};

/// Returns the bytes of a text or of any other data as tokens of a vocabulary of 256.
std::vector<std::int32_t> byte_tokens(std::string_view text);
/// Returns the bytes with these numbers. Throws data_error for a number outside of 0 to 255.
std::string bytes_of_tokens(std::span<std::int32_t const> tokens);

/// Reads a whole file. Throws data_error if it is missing, unreadable or empty.
///   std::string const text = dsl::read_text("book.txt");
std::string read_text(std::string const& path);

}  // namespace dsl::TYPENET_MODE

#ifndef TYPENET_COMPILED
#include <dsl/data/vocabulary_inl.hpp>
#endif
