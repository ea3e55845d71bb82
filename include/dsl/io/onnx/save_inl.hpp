// SPDX-License-Identifier: MIT
#pragma once

#include <dsl/data/normalization.hpp>
#include <dsl/files/atomic_file.hpp>
#include <dsl/detail/mode.hpp>
#include <dsl/executors/engine.hpp>
#include <dsl/io/onnx/library.hpp>
#include <dsl/io/onnx/save.hpp>
#include <dsl/io/onnx/writer.hpp>
#include <dsl/io/weight_text.hpp>
#include <dsl/training/trainer.hpp>
#include <dsl/version.hpp>
#include <dsl/warning.hpp>

#include <cstddef>
#include <memory>
#include <string>
#include <vector>

namespace dsl::detail::TYPENET_MODE {

inline void require_onnx_size(long long bytes, char const* what) {
  if (bytes > onnx_most_bytes)
    throw onnx_error(onnx_fault::too_large,
                     message({"onnx: a file must have at most 2,147,483,647 bytes, protobuf's limit; found ", bytes,
                              " bytes of ", what, "; save the weights in another format"}));
}

inline void write_onnx_weights(engine& e, std::vector<std::string> const& names, onnx_messages::GraphProto& to) {
  static_assert(std::endian::native == std::endian::little,
                "onnx: files are little-endian, so the machine must be little-endian, too");
  std::vector<float> values;
  for (int k = 0; k < e.graph().size.parameters; ++k) {
    parameter const& p = e.graph().parameters[k];
    values.resize(static_cast<std::size_t>(p.count()));
    e.read_parameter(k, values.data());
    onnx_messages::TensorProto& t = *to.add_initializer();
    t.set_name(names[static_cast<std::size_t>(k)]);
    t.set_data_type(onnx_messages::TensorProto::FLOAT);
    // The kernels of pointwise_dense and conv1d have fewer axes than a Conv over images takes.
    bool const is_convolution = p.role == role::kernel && e.graph().nodes[p.node].kind == op::conv2d;
    for (int d = 0; d < (is_convolution ? 4 : p.rank); ++d) t.add_dims(p.dims[d]);
    t.set_raw_data(values.data(), values.size() * sizeof(float));
  }
}

/// Returns the name of the graph. If a network consists of a single type, it is the name of this type: "minigooglenet".
inline std::string onnx_graph_name(graph_view const& g) {
  int only = 0, children = 0;
  for (int s = 1; s < g.size.scopes; ++s)
    if (g.scopes[s].parent == 0) only = s, ++children;
  name const& n = g.scopes[children == 1 ? only : 0].name;
  return n.size > 0 ? std::string(n.data, static_cast<std::size_t>(n.size)) : "network";
}

inline std::string onnx_text(shape const& s) {
  return s.is_flat() ? message({s.channels}) : message({s.channels, "x", s.height, "x", s.width});
}

inline void write_onnx_metadata(onnx_options const& o, onnx_messages::ModelProto& to) {
  for (auto const& [name, text] : o.metadata) {
    for (auto const& before : to.metadata_props())
      if (before.key() == name)
        throw option_error("onnx: .metadata must have each name once; found two " + shown(name));
    require_onnx_text(name, "the name " + shown(name) + " in .metadata");
    require_onnx_text(text, "the entry " + shown(name) + " of .metadata");
    auto& entry = *to.add_metadata_props();
    entry.set_key(name);
    entry.set_value(text);
  }
}

/// Warns that a file does not contain the normalisation of its inputs, and writes this into the file.
inline void tell_of_normalization(onnx_messages::ModelProto& to) {
  auto& entry = *to.add_metadata_props();
  entry.set_key("typenet.normalization");
  entry.set_value("not in this file: inputs must be (number - mean) / deviation of the training data");
  on_warning(
      "onnx: the weights were trained on normalised data, and the file does not contain the mean and the deviation; "
      "set "
      ".normalize = true to put them in front of the network, or pass inputs that are normalised");
}

}  // namespace dsl::detail::TYPENET_MODE

namespace dsl::TYPENET_MODE {

TYPENET_INLINE std::string serialize_onnx(engine& e, onnx_options const& o) {
  using detail::message;
  graph_view const& g = e.graph();
  long long const parameters = parameter_count(g);
  detail::require_onnx_size(4 * parameters, "weights");
  detail::onnx_messages::ModelProto model;
  model.set_ir_version(onnx_ir_version);
  model.add_opset_import()->set_version(onnx_opset);
  model.set_producer_name("typenet");
  model.set_producer_version(version);
  model.set_model_version(o.model_version);
  if (!o.domain.empty()) model.set_domain(o.domain);
  std::string const what = message({detail::onnx_text(g.output_shape(g.nodes[0])), " -> ",
                                    detail::onnx_text(g.shape_of(g.result())), ", ", parameters, " parameters"});
  model.set_doc_string(o.doc.empty() ? what : o.doc);
  detail::require_onnx_text(o.batch, ".batch");
  detail::require_onnx_text(o.domain, ".domain");
  detail::require_onnx_text(o.doc, ".doc");
  detail::write_onnx_metadata(o, model);
  std::shared_ptr<normalization const> const by = e.normalization();
  bool const has_moments = by && !by->empty();
  if (has_moments && !o.normalize) detail::tell_of_normalization(model);
  if (!has_moments && o.normalize)
    on_warning(
        "onnx: .normalize = true, but the network knows no normalisation, and the file contains none; "
        "call set_normalization() first, or leave .normalize out");

  detail::onnx_messages::GraphProto& graph = *model.mutable_graph();
  graph.set_name(detail::onnx_graph_name(g));
  graph.set_doc_string(what);
  detail::onnx_writer writer(g, o, e.options().batch_norm_momentum, graph,
                             has_moments && o.normalize ? by.get() : nullptr);
  writer.write();
  detail::write_onnx_weights(e, writer.weights(), graph);

  detail::require_onnx_size(static_cast<long long>(model.ByteSizeLong()), "network");
  std::string bytes;
  if (!model.SerializeToString(&bytes))
    throw error(
        "onnx: protobuf could not serialise the network, although its size is allowed; free memory, or write the "
        "weights with save_safetensors");
  return bytes;
}

TYPENET_INLINE std::string serialize_onnx(trainer& t, onnx_options const& o) {
  onnx_options all = o;
  all.metadata.emplace_back("typenet.steps", std::to_string(t.steps()));
  return serialize_onnx(t.engine(), all);
}

}  // namespace dsl::TYPENET_MODE
