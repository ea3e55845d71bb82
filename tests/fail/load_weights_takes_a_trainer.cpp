// SPDX-License-Identifier: MIT
// EXPECT: load_weights: it takes a trainer, predictor or engine, then the path of the file; write load_weights(trainer, "a.weights")
// EXPECT-RE: load_weights_takes_a_trainer<.*char
#include <dsl/dsl.hpp>
#include <dsl/io/checkpoint.hpp>

#ifdef FIXED
void read(dsl::trainer& t, dsl::predictor& p) {
  dsl::load_weights(t, "a.weights");
  dsl::load_weights(p, "a.weights");
  dsl::load_weights(t.engine(), "a.weights");
}
#else
void read() { dsl::load_weights("a.weights"); }
#endif
