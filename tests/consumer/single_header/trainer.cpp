// SPDX-License-Identifier: MIT
#include "typenet.hpp"

#include "model.hpp"

dsl::trainer make_trainer() { return dsl::compile<model>(dsl::sgd{.learning_rate = 5e-3, .momentum = 0.9}); }
