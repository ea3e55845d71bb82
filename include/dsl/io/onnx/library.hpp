// SPDX-License-Identifier: MIT
#pragma once

#include <dsl/detail/mode.hpp>

// onnx's messages exist in two sizes; if the larger one is installed, only that one is.
#if !defined(ONNX_ML) && __has_include(<onnx/onnx-ml.pb.h>)
#define ONNX_ML 1
#endif
#include <onnx/onnx_pb.h>

namespace dsl::detail::TYPENET_MODE {

#ifdef ONNX_NAMESPACE
namespace onnx_messages = ::ONNX_NAMESPACE;
#else
namespace onnx_messages = ::onnx;
#endif

}  // namespace dsl::detail::TYPENET_MODE
