// SPDX-License-Identifier: MIT
#pragma once

#include <dsl/detail/message.hpp>
#include <dsl/error.hpp>
#include <dsl/graph/facts.hpp>
#include <dsl/graph/graph.hpp>

namespace dsl::cu {

/// Whether there are kernels for a node's operation.
[[gnu::cold]] constexpr bool has_kernels(node const& n) {
  switch (n.kind) {
    case op::input:
    case op::batch_norm:
    case op::activation:
    case op::max_pool2d:
    case op::avg_pool2d:
    case op::dropout:
    case op::flatten:
    case op::dense:
    case op::softmax:
    case op::concat:
    case op::add:
    case op::transfer: return true;
    case op::conv2d: return n.groups == 1;
    default: return false;
  }
}

/// Throws executor_error for an operation without kernels.
[[gnu::cold]] inline void require_kernels(graph_view const& g) {
  for (int n = 0; n < g.size.nodes; ++n)
    if (g.nodes[n].frozen && g.nodes[n].parameters > 0)
      throw executor_error(detail::message({"cuda: frozen<...> has no kernels for this device; found it around ",
                                            detail::word_of(g.nodes[n]), "; use another executor"}));
    else if (!has_kernels(g.nodes[n]))
      throw executor_error(detail::message(
          {"cuda: ", detail::kernel_word_of(g.nodes[n]), " has no kernel for this device; use another executor"}));
}

}  // namespace dsl::cu
