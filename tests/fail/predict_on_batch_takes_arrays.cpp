// SPDX-License-Identifier: MIT
// EXPECT: predict_on_batch: it takes samples of float and the memory for the outputs, which it fills; write predict_on_batch(samples, outputs)
// EXPECT-RE: predict_on_batch_takes_arrays<.*std::vector<float
#include <dsl/dsl.hpp>

#include <vector>

#ifdef FIXED
void look(dsl::trainer& t, std::vector<float> const& images, std::vector<float>& outputs) {
  t.predict_on_batch(images, outputs);
}
#else
void look(dsl::trainer& t, std::vector<float> const& images) { t.predict_on_batch(images); }
#endif
