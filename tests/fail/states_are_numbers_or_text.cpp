// SPDX-License-Identifier: MIT
// EXPECT: state: a variable must be a number, an enumeration, an array of them, a std::string, or a std::vector of float or double; save each member under its own key, or save the whole as text
// EXPECT-RE: states_are_numbers_or_text<.*(string_view|word).*(false|\(bool\)0|0)
// A view restored in another process would point to an address of this one.
#include <dsl/callbacks.hpp>

#include <string>
#include <string_view>

#ifdef FIXED
using word = std::string;
#else
using word = std::string_view;
#endif
struct keeps_a_word : dsl::callback {
  word kept;
  void state(dsl::callback_state& s) override { s("word", kept); }
};
