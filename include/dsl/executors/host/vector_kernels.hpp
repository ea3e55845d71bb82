// SPDX-License-Identifier: MIT
#pragma once

#include <dsl/detail/mode.hpp>
#include <dsl/operations/activation/vector.hpp>
#include <dsl/executors/host/softmax.hpp>
#include <dsl/executors/host/layer_norm.hpp>
#include <dsl/executors/host/local_response_norm.hpp>
#include <dsl/executors/host/multiply.hpp>
#include <dsl/executors/host/batch_norm_kernels.hpp>
#include <dsl/executors/host/pool2d.hpp>
#include <dsl/executors/host/upsample2d.hpp>
#include <dsl/executors/host/rows.hpp>
#include <dsl/executors/host/update_rows.hpp>
#include <dsl/executors/host/widths.hpp>
#include <dsl/graph/operation_set.hpp>

namespace dsl::host::TYPENET_MODE {

/// The kernels of one instruction set for steps whose speed is limited by memory.
struct vector_kernels {
  int lanes;
  void (*normalize)(normalize_call const&);
  void (*normalize_sums)(normalize_sums_call const&);
  void (*normalize_gradient)(normalize_gradient_call const&);
  void (*max_pool)(pool_call const&);
  void (*max_pool_gradient)(pool_call const&);
  void (*average_pool)(pool_call const&);
  void (*average_pool_gradient)(pool_call const&);
  void (*row)(row_call const&);
  void (*activation)(activation_call const&);
  void (*multiply)(multiply_call const&);
  void (*product_sums)(product_sums_call const&);
  void (*layer_norm)(layer_norm_call const&);
  void (*update_rows)(update_rows_call const&);
  void (*enlarge)(resize_call const&);
  void (*reduce)(resize_call const&);
  void (*channel_softmax)(channel_softmax_call const&);
  void (*local_response)(local_response_call const&);
};

/// Returns the kernels that the operations of a set need. The others are null.
template <class Width, operation_set Only>
constexpr vector_kernels make_vector_kernels() {
  constexpr int L = Width::lanes;
  vector_kernels k{};
  k.lanes = L;
  k.row = &Width::template run<row<L>>;
  k.update_rows = &Width::template run<update_rows<L>>;
  if constexpr (detail::has(Only, op::batch_norm, op::group_norm, op::layer_norm)) {
    k.normalize = &Width::template run<normalize<L>>;
    k.normalize_sums = &Width::template run<normalize_sums<L>>;
    k.normalize_gradient = &Width::template run<normalize_gradient<L>>;
  }
  if constexpr (detail::has(Only, op::max_pool2d)) {
    k.max_pool = &Width::template run<max_pool<L>>;
    k.max_pool_gradient = &Width::template run<max_pool_gradient<L>>;
  }
  if constexpr (detail::has(Only, op::avg_pool2d)) {
    k.average_pool = &Width::template run<average_pool<L>>;
    k.average_pool_gradient = &Width::template run<average_pool_gradient<L>>;
  }
  if constexpr ((Only & detail::functions_but_relu) != 0) k.activation = &Width::template run<activation<L>>;
  if constexpr (detail::has(Only, op::multiply, op::channel_scale, op::stochastic_depth)) {
    k.multiply = &Width::template run<multiply_rows<L>>;
    k.product_sums = &Width::template run<product_sums<L>>;
  }
  if constexpr (detail::has(Only, op::layer_norm, op::rms_norm))
    k.layer_norm = &Width::template run<layer_norm_rows<L>>;
  if constexpr (detail::has(Only, op::upsample_nearest, op::upsample_bilinear)) {
    k.enlarge = &Width::template run<enlarge<L>>;
    k.reduce = &Width::template run<reduce<L>>;
  }
  if constexpr (detail::has(Only, op::softmax)) k.channel_softmax = &Width::template run<channel_softmax<L>>;
  if constexpr (detail::has(Only, op::local_response_norm)) k.local_response = &Width::template run<local_response<L>>;
  return k;
}

template <class Width, operation_set Only = all_operations>
inline constexpr vector_kernels vector_kernels_for = make_vector_kernels<Width, Only>();

/// Returns the kernels of an instruction set for a set of operations. The processor must have the instructions.
template <operation_set Only = all_operations>
vector_kernels const& vector_kernels_of([[maybe_unused]] instructions set) {
#ifdef __x86_64__
  if (set == instructions::avx512) return vector_kernels_for<widths::avx512, Only>;
  if (set == instructions::avx2) return vector_kernels_for<widths::avx2, Only>;
#endif
  return vector_kernels_for<widths::baseline, Only>;
}

}  // namespace dsl::host::TYPENET_MODE
