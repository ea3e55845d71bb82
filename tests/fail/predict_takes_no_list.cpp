// SPDX-License-Identifier: MIT
// EXPECT: predict: it takes a data set and, if needed, batch_size as a number; for numbers without a data set, write predict_on_batch(samples, outputs)
// EXPECT-RE: predict_takes_a_data_set<.*initializer_list<float>
#include <dsl/dsl.hpp>

#include <vector>

#ifdef FIXED
void look(dsl::trainer& t, std::vector<float>& y) { t.predict_on_batch(std::vector<float>{120, 4, 30, 5, 2}, y); }
#else
std::vector<float> look(dsl::trainer& t) { return t.predict({120, 4, 30, 5, 2}); }
#endif
