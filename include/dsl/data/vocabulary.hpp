// SPDX-License-Identifier: MIT
#pragma once

#include <dsl/detail/mode.hpp>

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace dsl::TYPENET_MODE {

/// The characters of a text, each of which is a token. Tokens are numbered in the order of the characters' code points,
/// so that the same set of characters always has the same numbers.
///   dsl::character_vocabulary const letters(text);
///   letters.decode(letters.encode("to be"))  // "to be"
class character_vocabulary {
 public:
  /// Makes a vocabulary of all characters that occur in a UTF-8 text. Throws data_error if the text is empty or not
  /// UTF-8; for any other bytes use byte_tokens.
  explicit character_vocabulary(std::string_view text);

  /// Returns the number of tokens, for embedding<...>.
  int size() const { return static_cast<int>(characters_.size()); }
  /// Returns all characters in the order of their tokens. Another program can make the same vocabulary from a file of
  /// them.
  std::string characters() const;

  /// Returns the tokens of a text. Throws data_error if a character is not in the vocabulary, or if the text is not
  /// UTF-8.
  std::vector<std::int32_t> encode(std::string_view text) const;
  /// Returns the text that these tokens stand for. Throws data_error for a number outside the vocabulary.
  std::string decode(std::span<std::int32_t const> tokens) const;

 private:
  std::vector<std::string> characters_;  // sorted
};

/// Returns the bytes of a text, or of any other data, as tokens. The vocabulary has 256 tokens.
std::vector<std::int32_t> byte_tokens(std::string_view text);
/// Returns the bytes that these tokens stand for. Throws data_error for a number that is not from 0 to 255.
std::string bytes_of_tokens(std::span<std::int32_t const> tokens);

/// Reads a whole file. Throws data_error if it is missing, unreadable or empty.
///   std::string const text = dsl::read_text("book.txt");
std::string read_text(std::string const& path);

}  // namespace dsl::TYPENET_MODE

#ifdef TYPENET_DEFINITIONS
#include <dsl/data/vocabulary_inl.hpp>
#endif
