// SPDX-License-Identifier: MIT
#pragma once

#include <dsl/detail/mode.hpp>
#include <dsl/graph/graph.hpp>
#include <dsl/io/onnx/import.hpp>
#include <dsl/training/forward.hpp>

#include <string>
#include <vector>

namespace dsl::detail::TYPENET_MODE {

/// Returns the nodes of a graph that ONNX files contain. These are all nodes except those that do nothing in inference
/// or only change a shape.
std::vector<int> onnx_nodes_in_files(graph_view const& g);

/// Requires that a file's network has the same structure as `g`. Otherwise throws an onnx_error that names the first
/// difference.
void require_same_structure(graph_view const& g, imported_network const& net, std::string const& file);

}  // namespace dsl::detail::TYPENET_MODE

namespace dsl::TYPENET_MODE {

/// Loads the weights of an ONNX file into a network with the same structure: the same layers, connected in the same
/// way, with branches in the same order. Names do not matter. The file may lack the network's dropout layers and a
/// softmax at its end. If the structure differs, throws an onnx_error that names the first node and layer that differ,
/// and leaves the weights unchanged. If save_onnx wrote the file with .normalize, the normalisation of its inputs
/// becomes that of the network; other files do not change the normalisation.
void load_onnx(engine& e, std::string const& path, onnx_import_options const& o = {});
void load_onnx(trainer& t, std::string const& path, onnx_import_options const& o = {});
void load_onnx(predictor& p, std::string const& path, onnx_import_options const& o = {});

}  // namespace dsl::TYPENET_MODE

#ifdef TYPENET_DEFINITIONS
#include <dsl/io/onnx/load_inl.hpp>
#endif
