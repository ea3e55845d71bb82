// SPDX-License-Identifier: MIT
// Headers of data sets have functions with the names of layers; the order of includes does not matter.
#include <dsl/data/crop_and_cutout.hpp>
#include <dsl/language.hpp>

using model =
    dsl::network<dsl::features<4>, dsl::scaled<dsl::factor::learning_rate<0.5>, dsl::dense<4>, dsl::dense<2>>>;
static_assert(model::gives<dsl::shape{2}>);
