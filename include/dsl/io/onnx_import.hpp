// SPDX-License-Identifier: MIT
#pragma once

// Reads an .onnx file of another framework as a network's type and its weights. Needs onnx and protobuf: link
// typenet::onnx.
#include <dsl/io/onnx/options.hpp>
#include <dsl/io/onnx/import.hpp>
#include <dsl/io/onnx/load.hpp>
