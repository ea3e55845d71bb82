// SPDX-License-Identifier: MIT
#pragma once

// The operators of a node: elementwise ones and those that join values.
#include <dsl/detail/mode.hpp>
#include <dsl/io/onnx/import_reader.hpp>

#ifndef TYPENET_COMPILED
#include <dsl/io/onnx/import_operators_inl.hpp>
#endif
