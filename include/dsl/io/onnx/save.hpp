// SPDX-License-Identifier: MIT
#pragma once

#include <dsl/files/atomic_file.hpp>
#include <dsl/detail/mode.hpp>
#include <dsl/io/onnx/options.hpp>
#include <dsl/training/forward.hpp>

#include <string>

namespace dsl::TYPENET_MODE {

/// The versions of the format that are written. All runtimes of onnx 1.12 and later read them, and Debian 12 can check
/// them.
inline constexpr int onnx_ir_version = 8;
inline constexpr int onnx_opset = 17;

/// Returns the bytes of an ONNX file: the network in inference mode, with a batch dimension of any size, and all
/// weights as floats, unchanged. Images are (batch, channels, height, width); features, and outputs of flatten, dense
/// and softmax, are (batch, units). A network on several devices becomes one graph. Throws onnx_error if the network
/// cannot be written, and option_error for names that clash and for text that is not UTF-8.
std::string serialize_onnx(engine& e, onnx_options const& o = {});

/// Returns the bytes of an ONNX file for a trainer's network.
std::string serialize_onnx(trainer& t, onnx_options const& o = {});

/// Writes serialize_onnx() to a file atomically: an existing file is replaced only when the new one is complete. If
/// several processes train together, only one of them should save. Throws the errors of serialize_onnx(), and
/// file_error if the file cannot be written.
template <class Trained>  // a trainer or its engine
void save_onnx(Trained& t, std::string const& path, onnx_options const& o = {}) {
  std::string const bytes = serialize_onnx(t, o);
  atomic_file to(path, "onnx");
  to.write(bytes);
  to.commit();
}

}  // namespace dsl::TYPENET_MODE

#ifdef TYPENET_DEFINITIONS
#include <dsl/io/onnx/save_inl.hpp>
#endif
