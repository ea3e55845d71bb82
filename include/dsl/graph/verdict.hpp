// SPDX-License-Identifier: MIT
#pragma once

#include <dsl/graph/node.hpp>

namespace dsl {

/// Every rule that a network can break; each has a sentence in rules/broken.hpp.
enum class rule : unsigned char {
  holds,
  network_starts_with_an_input,
  network_has_a_layer,
  children_are_layers,
  modules_end,
  lower_is_constant,
  image_has_positive_size,
  channels_come_first,
  tensor_fits_32_bits,
  parameter_fits_32_bits,
  filters_are_positive,
  kernel_is_positive,
  groups_divide_the_channels,
  stride_is_positive,
  dilation_is_positive,
  kernel_fits_padded_input,
  pad_is_less_than_the_window,
  options_belong_to_the_layer,
  kernel_meets_its_input,
  filters_come_first,
  convolutions_see_images,
  pool_window_is_positive,
  pool_window_fits_input,
  pool_window_fits_16_bits,
  sequences_have_one_row,
  window_has_a_length,
  window_fits_the_sequence,
  kernel_meets_its_sequence,
  padding_is_not_negative,
  factor_is_positive,
  slice_is_in_the_channels,
  shuffle_divides_the_channels,
  norm_groups_divide_the_channels,
  response_size_is_odd,
  response_numbers_are_positive,
  attention_has_whole_heads,
  windows_fill_the_image,
  slice_is_in_the_tokens,
  embedding_has_a_vocabulary,
  embedding_reads_token_numbers,
  split_divides_the_channels,
  epsilon_is_positive,
  epsilon_is_small,
  momentum_keeps_less_than_all,
  dropout_rate_is_a_probability,
  dense_takes_a_flat_input,
  units_are_positive,
  activations_are_layers,
  settings_come_first,
  softmax_takes_a_flat_input,
  softmax_has_classes,
  softmax_takes_logits,
  concat_joins_two_or_more,
  branches_share_height_and_width,
  add_joins_two_or_more,
  branches_share_their_shape,
  multiply_joins_two,
  branches_broadcast,
  slope_is_not_negative,
  on_names_a_device,
  on_needs_placement,
  devices_are_not_negative,
  devices_have_layers,
  outputs_have_layers,
  outputs_have_names_of_their_own,
  output_names_are_not_reserved,
  outputs_come_before_the_last_layer,
  outputs_share_a_device,
  taps_are_read_before_their_name_is_used_again,
  from_reads_an_earlier_tap,
  own_rule,
  // rules for a lower() that appends nodes by itself
  inputs_come_first,
  inputs_have_names_of_their_own,
  values_are_in_the_graph,
  values_keep_their_shape,
  values_are_read,
  nodes_take_their_operands,
  nodes_own_their_parameters,
  parameters_come_in_order,
  parameters_fit_their_node,
  parameters_have_a_node,
  kernels_have_fans,
  outputs_have_a_size,
  shapes_follow_from_operands,
  windows_lead_to_their_output,
  pools_are_not_dilated,
  custom_operations_are_complete,
  operations_in_place_keep_their_shape,
  functions_have_a_derivative,
  children_are_left,
  is_reported,  // an error in a type of the network; the compiler has said so
};

/// A broken rule and the numbers for its message, as a layer's lower() passes them to require(). A fault is small,
/// because compiling one network constructs hundreds of faults, almost all of which are not used.
struct fault {
  rule broken = rule::holds;
  shape first{};
  shape second{};
  long long wanted = 0;
  long long found = 0;
  double number = 0;

  /// Whether no rule is broken.
  constexpr bool holds() const { return broken == rule::holds; }
};

/// The largest number of child indices in the place of a verdict.
inline constexpr int deepest_layer = 24;

/// The first broken rule of a network: the fault, its place as child indices from the network down, and the kind, the
/// window and the parameter of the node concerned.
struct verdict : fault {
  int depth = 0;
  int path[deepest_layer] = {};
  op kind = op::input;
  dsl::window window{};
  role parameter = role::kernel;
};

}  // namespace dsl
