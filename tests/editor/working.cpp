// SPDX-License-Identifier: MIT
// Opened by clangd: nothing to mark.
#include <dsl/dsl.hpp>

using model = dsl::network<dsl::image<3, 32, 32>, dsl::minigooglenet<10>>;
static_assert(model::gives<dsl::shape{10}>);
static_assert(dsl::verified<model>);

int main() { auto trainer = dsl::compile<model>(dsl::reference{}, dsl::sgd{.learning_rate = 5e-3, .momentum = 0.9}); }
