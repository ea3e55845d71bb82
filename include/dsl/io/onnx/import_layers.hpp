// SPDX-License-Identifier: MIT
#pragma once

// The operators that are layers: convolutions, pools, norms, matrices.
#include <dsl/detail/mode.hpp>
#include <dsl/io/onnx/import_reader.hpp>

#ifdef TYPENET_DEFINITIONS
#include <dsl/io/onnx/import_layers_inl.hpp>
#endif
