// SPDX-License-Identifier: MIT
#include "train.hpp"

outcome train_header_only() { return train_all(); }
double learning_rate_of(dsl::trainer const& trainer) { return trainer.learning_rate(); }
