// SPDX-License-Identifier: MIT
#pragma once

#include <dsl/detail/message.hpp>
#include <dsl/detail/mode.hpp>
#include <dsl/error.hpp>
#include <dsl/executors/cuda/operations.hpp>
#include <dsl/executors/cuda/recording.hpp>
#include <dsl/graph/facts.hpp>
#include <dsl/graph/graph.hpp>
#include <dsl/graph/place.hpp>

namespace dsl::cu::TYPENET_MODE {

/// The functions that record the steps of an operation with its own kernels, or null.
struct record_row {
  void (*forward)(recording&, step const&) = nullptr;
  void (*backward)(recording&, step const&) = nullptr;
};
template <op Kind>
constexpr record_row record_row_for() {
  if constexpr (requires { own_kernels<Kind>::text; })
    return {&own_kernels<Kind>::template forward<recording>, &own_kernels<Kind>::template backward<recording>};
  else
    return {};
}
template <int... Kinds>
record_row const& record_row_in(std::integer_sequence<int, Kinds...>, op kind) {
  static constexpr record_row rows[] = {record_row_for<static_cast<op>(Kinds)>()...};
  return rows[static_cast<int>(kind)];
}
inline record_row const& record_row_of(op kind) {
  return record_row_in(std::make_integer_sequence<int, operations::count>{}, kind);
}

/// The class that records an operation's steps, one of those in *_steps.hpp; `own` if operations/<name>/cuda.hpp does
/// so, and `none` if there are no kernels.
enum class recorder {
  none,
  own,
  input,
  convolutions,
  dense,
  batch_norm,
  sample_norms,
  single,
  movement,
  products,
  tokens
};

/// Returns which class records the steps of a node.
inline recorder recorder_of(node const& n) {
  switch (n.kind) {
    case op::input: return recorder::input;
    case op::conv2d:
    case op::conv2d_transpose: return recorder::convolutions;
    case op::dense: return recorder::dense;
    case op::batch_norm: return recorder::batch_norm;
    case op::layer_norm:
    case op::rms_norm:
    case op::group_norm:
    case op::local_response_norm:
    case op::head_norm: return recorder::sample_norms;
    case op::max_pool2d:
    case op::avg_pool2d: return n.window.is_dilated() ? recorder::none : recorder::single;
    case op::activation:
    case op::dropout:
    case op::stochastic_depth:
    case op::flatten:
    case op::softmax:
    case op::add:
    case op::concat:
    case op::transfer: return recorder::single;
    case op::zero_pad2d:
    case op::channel_slice:
    case op::channel_shuffle:
    case op::upsample_nearest:
    case op::upsample_bilinear:
    case op::token_slice: return recorder::movement;
    case op::multiply:
    case op::channel_scale: return recorder::products;
    case op::class_token:
    case op::position_embedding: return recorder::tokens;
    default: return kernel_row_of(n.kind).text ? recorder::own : recorder::none;
  }
}

/// Throws executor_error for an operation without kernels.
inline void require_kernels(graph_view const& g) {
  if (further_inputs(g, g.size.nodes) > 0)
    throw executor_error("cuda: named_input is not supported; use another executor");
  if (output_count(g) > 1) throw executor_error("cuda: named_output is not supported; use another executor");
  for (int n = 0; n < g.size.nodes; ++n)
    if (node const& x = g.nodes[n]; recorder_of(x) == recorder::none)
      throw executor_error(detail::message({"cuda: ", detail::kernel_word_of(x), " is not supported; found it as ",
                                            detail::layer_place(g, x.scope), "; use another executor"}));
}

}  // namespace dsl::cu::TYPENET_MODE
