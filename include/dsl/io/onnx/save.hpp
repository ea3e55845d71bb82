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

/// What every runtime of onnx 1.12 and later reads, and what Debian 12 can check.
inline constexpr int onnx_ir_version = 8;
inline constexpr int onnx_opset = 17;
/// The largest file of protobuf's.
inline constexpr long long onnx_most_bytes = 0x7fffffff;

}  // namespace dsl::TYPENET_MODE

namespace dsl::detail::TYPENET_MODE {

[[gnu::cold]] void require_onnx_size(long long bytes, char const* what);

[[gnu::cold]] void write_onnx_weights(engine& e, std::vector<std::string> const& names, onnx_messages::GraphProto& to);

/// A network that is one type has that type's name: "minigooglenet".
[[gnu::cold]] std::string onnx_graph_name(graph_view const& g);

[[gnu::cold]] std::string onnx_text(shape const& s);

[[gnu::cold]] void write_onnx_metadata(onnx_options const& o, onnx_messages::ModelProto& to);

}  // namespace dsl::detail::TYPENET_MODE

namespace dsl::TYPENET_MODE {

/// A file's bytes: the network in inference, with an open batch dimension, and every weight in float as it is. Pictures
/// are (batch, channels, height, width); features, and what flatten, dense and softmax make, (batch, units). What was
/// placed on several devices is one network there. Throws onnx_error where there is no such file, option_error for
/// names that clash and for text that is none.
[[gnu::cold]] std::string serialize_onnx(engine& e, onnx_options const& o = {});

[[gnu::cold]] std::string serialize_onnx(trainer& t, onnx_options const& o = {});

/// Writes a file that is whole when it gets its name; one that was there is as it was until then. Of processes that
/// train together one saves. Throws the same, and file_error where it can't be written.
template <class Trained>  // a trainer or its engine
[[gnu::cold]] void save_onnx(Trained& t, std::string const& path, onnx_options const& o = {}) {
  std::string const bytes = serialize_onnx(t, o);
  atomic_file to(path, "onnx");
  to.write(bytes);
  to.commit();
}

}  // namespace dsl::TYPENET_MODE

#ifndef TYPENET_COMPILED
#include <dsl/io/onnx/save_inl.hpp>
#endif
