// SPDX-License-Identifier: MIT
#pragma once

// The operators on shapes and weights, which are computed while the file is read.
#include <dsl/detail/mode.hpp>
#include <dsl/io/onnx/import_reader.hpp>

#ifdef TYPENET_DEFINITIONS
#include <dsl/io/onnx/import_fold_inl.hpp>
#endif
