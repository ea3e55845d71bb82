// SPDX-License-Identifier: MIT
#pragma once

// The operators of a node: elementwise ones and those that join values.
#include <dsl/detail/mode.hpp>
#include <dsl/io/onnx/import_reader.hpp>

#ifdef TYPENET_DEFINITIONS
#include <dsl/io/onnx/import_operators_inl.hpp>
#endif
