// SPDX-License-Identifier: MIT
#pragma once

#if defined(TYPENET_TARGETS) && !defined(TYPENET_HAS_ONNX)
#error "onnx: <dsl/io/onnx.hpp> needs onnx and protobuf; link typenet::onnx or typenet::compiled_onnx"
#endif

// Writes a trained network as an .onnx file for other runtimes. Needs onnx and protobuf: link typenet::onnx.
#include <dsl/io/onnx/options.hpp>
#include <dsl/io/onnx/save.hpp>
