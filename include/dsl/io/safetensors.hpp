// SPDX-License-Identifier: MIT
#pragma once

// Reads and writes weights as .safetensors files, and any such files. Needs nlohmann_json: link typenet::safetensors.
#include <dsl/io/safetensors/contents.hpp>
#include <dsl/io/safetensors/read.hpp>
#include <dsl/io/safetensors/write.hpp>
#include <dsl/io/safetensors/weights.hpp>
