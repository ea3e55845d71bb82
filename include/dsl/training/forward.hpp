// SPDX-License-Identifier: MIT
#pragma once

#include <dsl/detail/mode.hpp>

namespace dsl::TYPENET_MODE {

// What holds a network's weights, for headers that only name it.
class engine;
class predictor;
class trainer;

}  // namespace dsl::TYPENET_MODE
