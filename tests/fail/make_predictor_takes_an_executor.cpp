// SPDX-License-Identifier: MIT
// EXPECT: make_predictor: it takes a network in angle brackets, an executor and, if needed, a trainer, whose weights it copies, or p.weights() of a predictor or an engine p, whose weights it shares; write make_predictor<model>(native{})
// EXPECT-RE: make_predictor_takes_an_executor<.*trainer
#include <dsl/dsl.hpp>
#include <dsl/training/predictor.hpp>

using model = dsl::network<dsl::features<4>, dsl::dense<3>, dsl::softmax>;
#ifdef FIXED
dsl::predictor copy(dsl::trainer& t) { return dsl::make_predictor<model>(dsl::native{}, t); }
dsl::predictor share(dsl::predictor& p) { return dsl::make_predictor<model>(dsl::native{.threads = 1}, p.weights()); }
#else
dsl::predictor copy(dsl::trainer& t) { return dsl::make_predictor<model>(t); }
#endif
