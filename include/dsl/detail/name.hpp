// SPDX-License-Identifier: MIT
#pragma once

namespace dsl::detail {

/// A piece of text with static storage; string_view without its header.
struct name {
  char const* data = "";
  int size = 0;
};

template <class T>
constexpr name signature() {
  return {__PRETTY_FUNCTION__, static_cast<int>(sizeof(__PRETTY_FUNCTION__)) - 1};
}

/// Where the template arguments of the type that text[begin] to text[end - 1] name begin. From the end, since only
/// there it is certain whose brackets they are: net<small>::block<64>. Those in quotes, and the arrow of a lambda, are
/// none.
constexpr int arguments_of(char const* text, int begin, int end) {
  if (end == begin || text[end - 1] != '>') return end;
  int open = 0;
  for (int i = end - 1; i > begin; --i) {
    char const c = text[i];
    if (c == '>' && text[i - 1] != '-') ++open;
    if (c == '<' && --open == 0) return i;
    if (c == '\'' || c == '"')  // EDG: ''' is a character, too
      for (i -= c == '"' ? 1 : 2; i > begin && (text[i] != c || text[i - 1] == '\\');) --i;
  }
  return end;
}

/// The identifier before text[end].
constexpr name identifier_before(char const* text, int begin, int end) {
  int first = end;
  for (; first > begin; --first) {
    char const c = text[first - 1];
    if (c == ':' || c == ' ' || c == ')' || c == '}' || c == '>') break;
  }
  return {text + first, end - first};
}

constexpr bool is_identifier(name n) {
  constexpr name none{"operator", 8};  // one whose bracket was taken for that of arguments: operator<
  bool same = n.size == none.size;
  for (int i = 0; i < n.size; ++i) {
    if (n.data[i] == '<' || n.data[i] == '=') return false;
    same = same && n.data[i] == none.data[i];
  }
  return n.size > 0 && !same;
}

/// The identifier of the type that text[begin] to text[last - 1] name.
constexpr name identifier_of(char const* text, int begin, int last) {
  name const found = identifier_before(text, begin, arguments_of(text, begin, last));
  if (is_identifier(found)) return found;
  int first = begin;
  while (first < last && text[first] != '<') ++first;
  return identifier_before(text, begin, first);
}

/// The identifier of a type, without namespaces and template arguments and the same on every compiler:
/// name_of<dsl::inception_module<32, 48>>() -> inception_module
template <class T>
constexpr name name_of() {
  name const all = signature<T>();
  char const* const text = all.data;
  int begin = 0;  // after "T = " (GCC, Clang, EDG all print it)
  for (int i = 0; i + 4 <= all.size; ++i)
    if (text[i] == 'T' && text[i + 1] == ' ' && text[i + 2] == '=' && text[i + 3] == ' ') {
      begin = i + 4;
      break;
    }
  return identifier_of(text, begin, all.size - 1);  // without the ] after the type
}

}  // namespace dsl::detail
