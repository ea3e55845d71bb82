// SPDX-License-Identifier: MIT
#include <dsl/io/onnx_import.hpp>

#include <dsl/dsl.hpp>

#include <stdexcept>
#include <string>

#include "fuzz/targets.hpp"

// Also prints the header, and checks that the graph is one that the planner takes and that each parameter has its
// numbers.
bool dsl::fuzz::onnx(std::string_view bytes) {
  try {
    imported_network const net(bytes, "a file", "");
    graph_view const g = net.view();
    if (net.header("imported").find("using model") == std::string::npos)
      throw std::logic_error("onnx: the header of an accepted file has no model");
    for (int k = 0; k < g.size.parameters; ++k)
      if (static_cast<long long>(net.weights(k).size()) != g.parameters[k].count())
        throw std::logic_error("onnx: a parameter has another number of weights");
    if (g.size.nodes < 200 && make_plan(g, {.batch = 1, .mode = mode::inference}).bytes() < 0)
      throw std::logic_error("onnx: the plan of an accepted file has no size");
    return true;
  } catch (dsl::error const&) {
    return false;
  }
}
