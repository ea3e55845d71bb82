// SPDX-License-Identifier: MIT
// EXPECT: fit: it takes a data set and options; write fit(train, {.epochs = 3}); functions such as in_memory_classes() of <dsl/data/in_memory.hpp> make a data set from numbers
// EXPECT-RE: fit_takes_data_and_options<.*std::vector<float
// Numbers become a data set through <dsl/data/in_memory.hpp>.
#include <dsl/dsl.hpp>

#ifdef FIXED
void train(dsl::trainer& t, dsl::dataset const& data) { t.fit(data, {.epochs = 3}); }
#else
void train(dsl::trainer& t, std::vector<float> const& data) { t.fit(data, {.epochs = 3}); }
#endif
