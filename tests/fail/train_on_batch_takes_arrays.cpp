// SPDX-License-Identifier: MIT
// EXPECT: train_on_batch: it takes samples of float, and std::int32_t labels or float values, in arrays, std::vectors or std::spans; pointers need the number of samples as third argument
// EXPECT-RE: train_on_batch_takes_arrays<.*std::vector<float.*std::vector<(long|label)
#include <dsl/dsl.hpp>

#include <cstdint>
#include <vector>

#ifdef FIXED
using label = std::int32_t;
#else
using label = std::int64_t;
#endif
void step(dsl::trainer& t, std::vector<float> const& images, std::vector<label> const& labels) {
  t.train_on_batch(images, labels);
}
