// SPDX-License-Identifier: MIT
#pragma once

namespace dsl::detail {

/// A piece of text with static storage, like string_view but without its header.
struct name {
  char const* data = "";
  int size = 0;
};

template <class T>
constexpr name signature() {
  return {__PRETTY_FUNCTION__, static_cast<int>(sizeof(__PRETTY_FUNCTION__)) - 1};
}

/// Returns where the template arguments of the type named by text[begin] to text[end - 1] begin, or `end` if it has
/// none. It searches from the end, because only there is it certain whose brackets they are: net<small>::block<64>.
/// Brackets in quotes and the arrow of a lambda are skipped.
constexpr int arguments_of(char const* text, int begin, int end) {
  if (end == begin || text[end - 1] != '>') return end;
  int open = 0;
  for (int i = end - 1; i > begin; --i) {
    char const c = text[i];
    if (c == '>' && text[i - 1] != '-') ++open;
    if (c == '<' && --open == 0) return i;
    if (c == '\'' || c == '"')  // EDG also prints '''
      for (i -= c == '"' ? 1 : 2; i > begin && (text[i] != c || text[i - 1] == '\\');) --i;
  }
  return end;
}

/// Returns the identifier that ends before text[end].
constexpr name identifier_before(char const* text, int begin, int end) {
  int first = end;
  for (; first > begin; --first) {
    char const c = text[first - 1];
    if (c == ':' || c == ' ' || c == ')' || c == '}' || c == '>') break;
  }
  return {text + first, end - first};
}

constexpr bool is_identifier(name n) {
  constexpr name none{"operator", 8};  // an operator's bracket was taken for that of arguments: operator<
  bool same = n.size == none.size;
  for (int i = 0; i < n.size; ++i) {
    if (n.data[i] == '<' || n.data[i] == '=') return false;
    same = same && n.data[i] == none.data[i];
  }
  return n.size > 0 && !same;
}

/// Returns the identifier of the type named by text[begin] to text[last - 1].
constexpr name identifier_of(char const* text, int begin, int last) {
  name const found = identifier_before(text, begin, arguments_of(text, begin, last));
  if (is_identifier(found)) return found;
  int first = begin;
  while (first < last && text[first] != '<') ++first;
  return identifier_before(text, begin, first);
}

/// Returns the identifier of a type, without namespaces and template arguments, the same on every compiler:
/// name_of<dsl::inception_module<32, 48>>() -> inception_module
template <class T>
constexpr name name_of() {
  name const all = signature<T>();
  char const* const text = all.data;
  int begin = 0;  // after "T = ", which GCC, Clang and EDG all print
  for (int i = 0; i + 4 <= all.size; ++i)
    if (text[i] == 'T' && text[i + 1] == ' ' && text[i + 2] == '=' && text[i + 3] == ' ') {
      begin = i + 4;
      break;
    }
  return identifier_of(text, begin, all.size - 1);  // without the ] after the type
}

}  // namespace dsl::detail
