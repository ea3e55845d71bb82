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

/// The identifier of the type that text[begin] to text[last - 1] name.
constexpr name identifier_of(char const* text, int begin, int last) {
  int end = begin;
  for (; end < last; ++end) {
    char const c = text[end];
    if (c == '<' && end == begin) continue;        // EDG: <unnamed>::layer
    if (c == '<' && text[last - 1] == '>') break;  // no need to read the arguments, which may be long
    if (c == '<') {                                // outer<int>::layer: what stands behind the last colon
      end = begin = last;
      while (text[begin - 1] != ':') --begin;
      break;
    }
    if (c == ':' || c == ' ' || c == ')' || c == '}' || c == '>') begin = end + 1;
  }
  return {text + begin, end - begin};
}

/// The identifier of a type, without namespaces and template arguments and the same on every compiler:
/// name_of<dsl::inception_module<32, 48>>() -> inception_module
template <class T>
constexpr name name_of() {
  name const all = signature<T>();
  char const* const text = all.data;
  int begin = 0;  // behind "T = " (GCC, Clang, EDG all print it)
  for (int i = 0; i + 4 <= all.size; ++i)
    if (text[i] == 'T' && text[i + 1] == ' ' && text[i + 2] == '=' && text[i + 3] == ' ') {
      begin = i + 4;
      break;
    }
  return identifier_of(text, begin, all.size - 1);  // without the ] behind the type
}

}  // namespace dsl::detail
