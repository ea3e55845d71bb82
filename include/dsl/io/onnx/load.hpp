// SPDX-License-Identifier: MIT
#pragma once

#include <dsl/detail/mode.hpp>
#include <dsl/executors/engine.hpp>
#include <dsl/io/onnx/import.hpp>
#include <dsl/training/trainer.hpp>

#include <string>
#include <vector>

namespace dsl::detail::TYPENET_MODE {

/// Returns the nodes of a graph that files have: without what does nothing in inference, and without what only gives a
/// shape another name.
[[gnu::cold]] std::vector<int> onnx_nodes_in_files(graph_view const& g);

/// Throws onnx_error, which says where they part, unless a file's network has the structure of `g`.
[[gnu::cold]] void require_same_structure(graph_view const& g, imported_network const& net, std::string const& file);

}  // namespace dsl::detail::TYPENET_MODE

namespace dsl::TYPENET_MODE {

/// Takes the weights of an ONNX file for a network with the same structure: the same layers, connected in the same way,
/// in the same order of branches. Names do not matter. Dropout, and a softmax behind the file's last layer, may be the
/// network's alone. Throws onnx_error, which names the first node and the layer that differ, and then changes nothing.
[[gnu::cold]] void load_onnx(engine& e, std::string const& path, onnx_import_options const& o = {});
[[gnu::cold]] void load_onnx(trainer& t, std::string const& path, onnx_import_options const& o = {});

}  // namespace dsl::TYPENET_MODE

#ifndef TYPENET_COMPILED
#include <dsl/io/onnx/load_inl.hpp>
#endif
