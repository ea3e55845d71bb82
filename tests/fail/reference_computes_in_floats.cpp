// SPDX-License-Identifier: MIT
// EXPECT: reference: it computes in float or double; write reference{} or reference<double>{}
// EXPECT-RE: reference_computes_in_floats<(.*Number=)?int
#include <dsl/dsl.hpp>

using model = dsl::network<dsl::features<4>, dsl::dense<3>, dsl::softmax>;
#ifdef FIXED
using executor = dsl::reference<double>;
#else
using executor = dsl::reference<int>;
#endif
void run() { auto t = dsl::compile<model>(executor{}, dsl::sgd{}); }
