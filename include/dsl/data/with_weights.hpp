// SPDX-License-Identifier: MIT
#pragma once

#include <dsl/data/dataset.hpp>
#include <dsl/detail/mode.hpp>

#include <vector>

namespace dsl::TYPENET_MODE {

/// Returns the data set with a weight for each sample, by which the sample's loss is multiplied, as with Keras's
/// sample_weight. For the mean loss, the sum is divided by the number of samples of the whole batch or, with a
/// class per pixel, of its labelled pixels, whatever their weights; also with towers. Accuracies and confusion matrices
/// count samples. Throws data_error for a wrong count and for a weight that is below 0, infinite or NaN.
dataset with_weights(dataset data, std::vector<float> weights);

}  // namespace dsl::TYPENET_MODE

#ifdef TYPENET_DEFINITIONS
#include <dsl/data/with_weights_inl.hpp>
#endif
