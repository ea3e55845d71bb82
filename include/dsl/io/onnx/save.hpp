// SPDX-License-Identifier: MIT
#pragma once

#include <dsl/detail/atomic_file.hpp>
#include <dsl/detail/mode.hpp>
#include <dsl/io/onnx/library.hpp>
#include <dsl/io/onnx/options.hpp>
#include <dsl/training/trainer.hpp>

#include <string>
#include <vector>

namespace dsl::TYPENET_MODE {

/// The versions of the format that are written. All runtimes of onnx 1.12 and later read them, and Debian 12 can check
/// them.
inline constexpr int onnx_ir_version = 8;
inline constexpr int onnx_opset = 17;

}  // namespace dsl::TYPENET_MODE

namespace dsl::detail::TYPENET_MODE {

void require_onnx_size(long long bytes, char const* what);

void write_onnx_weights(engine& e, std::vector<std::string> const& names, onnx_messages::GraphProto& to);

/// Returns the name of the graph. If a network consists of a single type, it is the name of this type: "minigooglenet".
std::string onnx_graph_name(graph_view const& g);

std::string onnx_text(shape const& s);

void write_onnx_metadata(onnx_options const& o, onnx_messages::ModelProto& to);

/// Warns that a file does not contain the normalisation of its inputs, and writes this into the file.
void tell_of_normalization(onnx_messages::ModelProto& to);

}  // namespace dsl::detail::TYPENET_MODE

namespace dsl::TYPENET_MODE {

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
