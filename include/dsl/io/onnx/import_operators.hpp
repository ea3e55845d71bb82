// SPDX-License-Identifier: MIT
#pragma once

// The operators of a node, and those that work on each number by itself or join values.
#include <dsl/detail/mode.hpp>
#include <dsl/io/onnx/import_reader.hpp>

#ifndef TYPENET_COMPILED
#include <dsl/io/onnx/import_operators_inl.hpp>
#endif
