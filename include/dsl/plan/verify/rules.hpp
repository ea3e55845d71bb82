// SPDX-License-Identifier: MIT
#pragma once

namespace dsl {

/// The rules that every plan must keep; explain() has a sentence for each.
enum class plan_rule : unsigned char {
  holds,
  tables_cover_the_graph,
  buffers_fit_what_they_hold,
  buffers_lie_aligned_in_their_region,
  parameters_do_not_overlap,
  gradients_and_slots_mirror_the_parameters,
  devices_share_out_the_regions,
  slices_are_whole_channel_blocks,
  copies_fill_blocks_from_the_front,
  the_batch_is_loaded_first,
  steps_fit_their_node,
  fused_values_have_one_reader,
  every_node_runs_once,
  operands_are_what_the_step_needs,
  every_read_has_its_write,
  values_live_to_their_last_use,
  only_elementwise_steps_overwrite_their_input,
  gradient_contributions_are_summed_once,
  gradients_are_complete_when_read,
  micro_batches_come_in_order,
  the_loss_is_computed_once,
  gradients_are_reduced_once_when_they_are_whole,
  gradients_are_measured_when_they_are_whole,
  parameters_are_updated_once_after_their_gradients,
  groups_are_independent,
  live_buffers_do_not_overlap,
  steps_use_their_devices_memory,
  steps_wait_for_earlier_ones,
  devices_do_not_race,
};

/// The first broken rule of a plan, its step (-1: none), and the tensor, node, parameter or buffer concerned.
struct plan_verdict {
  plan_rule broken = plan_rule::holds;
  int step = -1;
  int index = -1;

  constexpr bool holds() const { return broken == plan_rule::holds; }
};

/// Returns the sentence of a rule, for messages at run time.
[[gnu::cold]] constexpr char const* explain(plan_rule r) {
  switch (r) {
    case plan_rule::holds: return "the plan keeps every rule";
    case plan_rule::tables_cover_the_graph:
      return "a plan's options are positive and its tables have one entry per tensor and parameter of the graph";
    case plan_rule::buffers_fit_what_they_hold:
      return "a buffer has the shape, channel block, element size and bytes of what it holds";
    case plan_rule::buffers_lie_aligned_in_their_region:
      return "a buffer's offset is a multiple of the target's alignment and its end lies inside its region";
    case plan_rule::parameters_do_not_overlap: return "every parameter has memory of its own";
    case plan_rule::gradients_and_slots_mirror_the_parameters:
      return "a parameter's gradient and optimizer slots have its offset in their regions";
    case plan_rule::devices_share_out_the_regions:
      return "every region is the devices' pieces of it, one after the other";
    case plan_rule::slices_are_whole_channel_blocks:
      return "a tensor inside another one's buffer begins and ends at a channel block";
    case plan_rule::copies_fill_blocks_from_the_front:
      return "a copy that ends inside a channel block comes before those that write the rest of it: it may write zeros "
             "there";
    case plan_rule::the_batch_is_loaded_first:
      return "the pictures and labels of each micro-batch are loaded once, before anything else happens to it";
    case plan_rule::steps_fit_their_node: return "a step does something that its node and the plan's mode ask for";
    case plan_rule::fused_values_have_one_reader:
      return "a step computes two nodes at once only where nobody else reads the value between them";
    case plan_rule::every_node_runs_once: return "every node's forward and backward pass run exactly once";
    case plan_rule::operands_are_what_the_step_needs:
      return "a step's operands are what its node reads and writes, in order and where the plan's tables say";
    case plan_rule::every_read_has_its_write: return "a value is written before it is read";
    case plan_rule::values_live_to_their_last_use: return "a value is not overwritten before its last use";
    case plan_rule::only_elementwise_steps_overwrite_their_input:
      return "only an elementwise step writes where it reads, and then the same elements";
    case plan_rule::gradient_contributions_are_summed_once:
      return "the first contribution to a gradient writes it and every other one is added once";
    case plan_rule::gradients_are_complete_when_read: return "a gradient is read after its last contribution";
    case plan_rule::micro_batches_come_in_order:
      return "running statistics, losses and gradients of parameters take the micro-batches one after the other";
    case plan_rule::the_loss_is_computed_once: return "training and evaluation compute the loss once, inference never";
    case plan_rule::gradients_are_reduced_once_when_they_are_whole:
      return "each gradient is summed over the devices once, when it is whole, in buckets that are one piece of memory";
    case plan_rule::gradients_are_measured_when_they_are_whole:
      return "where the update needs their length, each device's gradients are measured once, when all of them are "
             "whole";
    case plan_rule::parameters_are_updated_once_after_their_gradients:
      return "each trainable parameter's gradient is written once, and the last step of each device updates its own";
    case plan_rule::groups_are_independent: return "steps of one group do not touch what another one of them writes";
    case plan_rule::live_buffers_do_not_overlap: return "two buffers in use at the same time share no byte";
    case plan_rule::steps_use_their_devices_memory:
      return "a step uses memory of its own device; only a transfer and an update that clips read another's";
    case plan_rule::steps_wait_for_earlier_ones: return "a step waits for earlier steps of other devices";
    case plan_rule::devices_do_not_race:
      return "where one device reads what another one writes, the later of the two waits for the earlier";
  }
  return "unknown rule";
}

}  // namespace dsl
