// SPDX-License-Identifier: MIT
#pragma once

#include <dsl/detail/mode.hpp>
#include <dsl/detail/printable.hpp>

#include <string>

namespace dsl::detail::TYPENET_MODE {

/// Returns the text as one word of a shell's command, so that advice can be pasted: it's here -> 'it'\''s here'. With
/// what printable() would write otherwise in it, the word is one of bash, zsh and ksh, in ASCII alone, which stays
/// itself on a terminal and in a log: $'a\012b'.
[[gnu::cold]] inline std::string shell_word(std::string const& text) {
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

/// Returns a path as one shell word that no command takes for an option: -x -> ./-x
[[gnu::cold]] inline std::string shell_path(std::string const& path) {
  return shell_word(path.starts_with('-') ? "./" + path : path);
}

}  // namespace dsl::detail::TYPENET_MODE
