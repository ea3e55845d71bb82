// SPDX-License-Identifier: MIT
#pragma once

#include <dsl/detail/mode.hpp>
#include <dsl/detail/printable.hpp>

#include <string>

namespace dsl::detail::TYPENET_MODE {

/// Returns the text quoted as one word of a shell command, for advice that can be pasted: it's here -> 'it'\''s here'.
/// Text with characters that printable() would escape is quoted as $'a\012b' in ASCII, which bash, zsh and ksh
/// understand and which a terminal and a log leave unchanged.
inline std::string shell_word(std::string const& text) {
  constexpr char const* plain = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-./+:";
  if (!text.empty() && text.find_first_not_of(plain) == text.npos) return text;
  bool const controls = printable(text) != text;
  std::string word = controls ? "$'" : "'";
  for (char const c : text) {
    auto const code = static_cast<unsigned char>(c);
    constexpr char const* octal = "01234567";
    if (controls && (code < 0x20 || code >= 0x7f))
      ((word += '\\') += octal[code >> 6]) += std::string{octal[code >> 3 & 7], octal[code & 7]};
    else if (c == '\'')
      word += controls ? "\\'" : "'\\''";
    else if (c == '\\' && controls)
      word += "\\\\";
    else
      word += c;
  }
  return word + "'";
}

/// Returns a path as one shell word that no command mistakes for an option: -x -> ./-x
inline std::string shell_path(std::string const& path) {
  return shell_word(path.starts_with('-') ? "./" + path : path);
}

}  // namespace dsl::detail::TYPENET_MODE
