// SPDX-License-Identifier: MIT
#pragma once

#include <dsl/detail/message.hpp>
#include <dsl/detail/mode.hpp>
#include <dsl/error.hpp>
#include <dsl/graph/facts.hpp>
#include <dsl/graph/graph.hpp>
#include <dsl/graph/place.hpp>

namespace dsl::cu::TYPENET_MODE {

/// Whether there are kernels for a node's operation.
[[gnu::cold]] constexpr bool has_kernels(node const& n) {
  switch (n.kind) {
    case op::input:
    case op::batch_norm:
    case op::layer_norm:
    case op::group_norm:
    case op::local_response_norm:
    case op::head_norm:
    case op::dropout:
    case op::flatten:
    case op::conv2d:
    case op::conv2d_transpose:
    case op::dense:
    case op::concat:
    case op::add:
    case op::transfer:
    case op::activation:
    case op::zero_pad2d:
    case op::channel_slice:
    case op::channel_shuffle:
    case op::upsample_nearest:
    case op::upsample_bilinear:
    case op::merge_pixels:
    case op::token_slice:
    case op::transpose_tokens:
    case op::class_token:
    case op::position_embedding:
    case op::softmax:
    case op::multiply:
    case op::channel_scale:
    case op::stochastic_depth: return true;
    case op::max_pool2d:
    case op::avg_pool2d: return !n.window.is_dilated();
    default: return false;
  }
}

/// Throws executor_error for an operation without kernels.
[[gnu::cold]] inline void require_kernels(graph_view const& g) {
  if (further_inputs(g, g.size.nodes) > 0)
    throw executor_error("cuda: named_input is not supported; use another executor");
  if (output_count(g) > 1) throw executor_error("cuda: named_output is not supported; use another executor");
  for (int n = 0; n < g.size.nodes; ++n)
    if (node const& x = g.nodes[n]; !has_kernels(x))
      throw executor_error(
          detail::message({"cuda: ", detail::kernel_word_of(x), " has no kernel for this device; found it as ",
                           detail::layer_place(g, x.scope), "; use another executor"}));
}

}  // namespace dsl::cu::TYPENET_MODE
