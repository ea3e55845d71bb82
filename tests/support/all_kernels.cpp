// SPDX-License-Identifier: MIT
// All kernels for a host, compiled once for all tests.
#include "support/all_kernels.hpp"

#include "support/kernels_as_host.hpp"
#include "support/simulated_device/kernels.hpp"

void dsl_test::add_all_kernels() {
#define TYPENET_ADD(name)                                           \
  add_kernel(#name, "bf16", &dsl_kernels::name<dsl_kernels::bf16>); \
  add_kernel(#name, "float", &dsl_kernels::name<float>);
  TYPENET_ADD(sum)
  TYPENET_ADD(reshape)
  TYPENET_ADD(activation_forward)
  TYPENET_ADD(activation_backward)
  TYPENET_ADD(dropout)
  TYPENET_ADD(stochastic_depth)
  TYPENET_ADD(add_bias)
  TYPENET_ADD(narrow)
  TYPENET_ADD(widen)
  TYPENET_ADD(channel_sums)
  TYPENET_ADD(batch_norm_statistics)
  TYPENET_ADD(batch_norm_apply)
  TYPENET_ADD(batch_norm_gradients)
  TYPENET_ADD(batch_norm_backward)
  TYPENET_ADD(frozen_batch_norm_backward)
  TYPENET_ADD(group_norm_forward)
  TYPENET_ADD(group_norm_means)
  TYPENET_ADD(group_norm_backward)
  TYPENET_ADD(head_norm_forward)
  TYPENET_ADD(head_norm_backward)
  TYPENET_ADD(local_response_norm_forward)
  TYPENET_ADD(local_response_norm_backward)
  TYPENET_ADD(multiply)
  TYPENET_ADD(multiply_backward_channels)
  TYPENET_ADD(multiply_backward_pixels)
  TYPENET_ADD(channel_scale)
  TYPENET_ADD(channel_scale_backward)
  TYPENET_ADD(max_pool2d_forward)
  TYPENET_ADD(max_pool2d_backward)
  TYPENET_ADD(avg_pool2d_forward)
  TYPENET_ADD(avg_pool2d_backward)
  TYPENET_ADD(shifted_copy)
  TYPENET_ADD(channel_shuffle)
  TYPENET_ADD(dense_forward)
  TYPENET_ADD(dense_backward_weights)
  TYPENET_ADD(dense_backward_data)
  TYPENET_ADD(softmax_forward)
  TYPENET_ADD(softmax_backward)
  TYPENET_ADD(loss)
  TYPENET_ADD(softmax_loss)
  TYPENET_ADD(convolution_forward)
  TYPENET_ADD(convolution_backward_data)
  TYPENET_ADD(convolution_backward_weights)
  TYPENET_ADD(measure)
  TYPENET_ADD(update)
  TYPENET_ADD(update_by_parts)
  TYPENET_ADD(fold_batch_norm)
  TYPENET_ADD(widen_staged)
  TYPENET_ADD(move_moments)
  TYPENET_ADD(join_moments)
  TYPENET_ADD(load_pictures)
  TYPENET_ADD(gather_pictures)
#undef TYPENET_ADD
}
