// SPDX-License-Identifier: MIT
#pragma once

#include <dsl/detail/mode.hpp>
#include <dsl/io/onnx/import_reader.hpp>

#ifdef TYPENET_DEFINITIONS
#include <dsl/io/onnx/import_tokens_inl.hpp>
#endif
