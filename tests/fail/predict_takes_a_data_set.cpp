// SPDX-License-Identifier: MIT
// EXPECT: predict: it takes a data set and, if needed, batch_size as a number; for numbers without a data set, write predict_on_batch(samples, outputs)
// EXPECT-RE: predict_takes_a_data_set<.*std::vector<float
#include <dsl/dsl.hpp>

#include <vector>

#ifdef FIXED
std::vector<float> look(dsl::trainer& t, dsl::dataset const& test) { return t.predict(test); }
#else
std::vector<float> look(dsl::trainer& t, std::vector<float> const& image) { return t.predict(image); }
#endif
