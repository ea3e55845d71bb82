// SPDX-License-Identifier: MIT
// EXPECT: save_weights: it takes a trainer, then the path of the file; write save_weights(trainer, "a.weights")
// EXPECT-RE: save_weights_takes_a_trainer<.*char.*trainer
#include <dsl/dsl.hpp>
#include <dsl/io/checkpoint.hpp>

#ifdef FIXED
void keep(dsl::trainer& t, std::string const& path) { dsl::save_weights(t, path); }
#else
void keep(dsl::trainer& t) { dsl::save_weights("a.weights", t); }
#endif
