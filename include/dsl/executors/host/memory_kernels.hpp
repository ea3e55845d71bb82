// SPDX-License-Identifier: MIT
#pragma once

#include <dsl/detail/mode.hpp>
#include <dsl/executors/host/activations.hpp>
#include <dsl/executors/host/channel_softmax.hpp>
#include <dsl/executors/host/layer_norm.hpp>
#include <dsl/executors/host/local_response.hpp>
#include <dsl/executors/host/multiply.hpp>
#include <dsl/executors/host/normalization.hpp>
#include <dsl/executors/host/pool2d.hpp>
#include <dsl/executors/host/resize.hpp>
#include <dsl/executors/host/rows.hpp>
#include <dsl/executors/host/update_rows.hpp>
#include <dsl/executors/host/widths.hpp>

namespace dsl::host::TYPENET_MODE {

/// The kernels of one instruction set for steps whose speed is limited by memory.
struct memory_kernels {
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

template <class Width>
constexpr memory_kernels make_memory_kernels() {
  constexpr int L = Width::lanes;
  return {.lanes = L,
          .normalize = &Width::template run<normalize<L>>,
          .normalize_sums = &Width::template run<normalize_sums<L>>,
          .normalize_gradient = &Width::template run<normalize_gradient<L>>,
          .max_pool = &Width::template run<max_pool<L>>,
          .max_pool_gradient = &Width::template run<max_pool_gradient<L>>,
          .average_pool = &Width::template run<average_pool<L>>,
          .average_pool_gradient = &Width::template run<average_pool_gradient<L>>,
          .row = &Width::template run<row<L>>,
          .activation = &Width::template run<activation<L>>,
          .multiply = &Width::template run<multiply_rows<L>>,
          .product_sums = &Width::template run<product_sums<L>>,
          .layer_norm = &Width::template run<layer_norm_rows<L>>,
          .update_rows = &Width::template run<update_rows<L>>,
          .enlarge = &Width::template run<enlarge<L>>,
          .reduce = &Width::template run<reduce<L>>,
          .channel_softmax = &Width::template run<channel_softmax<L>>,
          .local_response = &Width::template run<local_response<L>>};
}

template <class Width>
inline constexpr memory_kernels memory_kernels_for = make_memory_kernels<Width>();

/// Returns the kernels of an instruction set. The processor must have this set.
inline memory_kernels const& memory_kernels_of([[maybe_unused]] instructions set) {
#ifdef __x86_64__
  if (set == instructions::avx512) return memory_kernels_for<widths::avx512>;
  if (set == instructions::avx2) return memory_kernels_for<widths::avx2>;
#endif
  return memory_kernels_for<widths::baseline>;
}

}  // namespace dsl::host::TYPENET_MODE
