// SPDX-License-Identifier: MIT
#pragma once

// Weights as .safetensors files, and such files themselves. Needs nlohmann's json: link typenet::safetensors.
#include <dsl/io/safetensors/contents.hpp>
#include <dsl/io/safetensors/read.hpp>
#include <dsl/io/safetensors/write.hpp>
#include <dsl/io/safetensors/weights.hpp>
