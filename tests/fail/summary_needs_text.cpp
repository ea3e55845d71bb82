// SPDX-License-Identifier: MIT
// EXPECT: summary: <dsl/text.hpp> prints it; include that header
// The language itself prints nothing.
#include <dsl/language.hpp>

#ifdef FIXED
struct dsl::summary_printer {  // as <dsl/text.hpp> has it
  static void print(graph_view const&, int, memory_limit) {}
};
#endif

using model = dsl::network<dsl::image<3, 9, 9>, dsl::conv2d<4, 3>>;
void print() { model::summary(); }
