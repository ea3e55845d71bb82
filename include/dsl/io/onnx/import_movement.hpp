// SPDX-License-Identifier: MIT
#pragma once

// The operators that only move numbers: reshapes, transposes, slices.
#include <dsl/detail/mode.hpp>
#include <dsl/io/onnx/import_reader.hpp>

#ifdef TYPENET_DEFINITIONS
#include <dsl/io/onnx/import_movement_inl.hpp>
#endif
