// SPDX-License-Identifier: MIT
#include <dsl/language.hpp>
#include <dsl/placement/share.hpp>

using model = dsl::network<dsl::image<3, 8, 8>, dsl::conv2d<4, 3>, dsl::relu>;

long long bytes_by_the_language_alone(int batch) { return model::training_bytes(batch); }
long long share_by_the_language_alone(int batch) { return dsl::share_of<model>(0, batch).bytes; }
