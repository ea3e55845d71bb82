// SPDX-License-Identifier: MIT
#pragma once

#if defined(TYPENET_TARGETS) && !defined(TYPENET_HAS_SAFETENSORS)
#error \
    "safetensors: <dsl/io/safetensors.hpp> needs nlohmann_json; link typenet::safetensors or typenet::compiled_safetensors"
#endif

// Reads and writes weights as .safetensors files, and any such files. Needs nlohmann_json: link typenet::safetensors.
#include <dsl/io/safetensors/contents.hpp>
#include <dsl/io/safetensors/read.hpp>
#include <dsl/io/safetensors/write.hpp>
#include <dsl/io/safetensors/normalization.hpp>
#include <dsl/io/safetensors/weights.hpp>
