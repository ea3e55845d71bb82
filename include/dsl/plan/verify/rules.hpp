// SPDX-License-Identifier: MIT
#pragma once

namespace dsl {

/// The rules that every plan must follow. explain() has a sentence for each rule.
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
  what_runs_again_repeats_the_first_time,
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

/// The first rule that a plan breaks, the step that breaks it (or -1), and the number of the tensor, node, parameter or
/// buffer concerned.
struct plan_verdict {
  plan_rule broken = plan_rule::holds;
  int step = -1;
  int index = -1;

  /// Whether no rule is broken.
  constexpr bool holds() const { return broken == plan_rule::holds; }
};

/// Returns the sentence of a rule, for messages at run time.
constexpr char const* explain(plan_rule r) {
  switch (r) {
    case plan_rule::holds: return "the plan satisfies every rule";
    case plan_rule::tables_cover_the_graph:
      return "a plan's options must be positive, and its tables must have one entry per tensor and parameter of the "
             "graph";
    case plan_rule::buffers_fit_what_they_hold:
      return "a buffer must have the shape, channel block, element size and bytes of its contents";
    case plan_rule::buffers_lie_aligned_in_their_region:
      return "a buffer's offset must be a multiple of the target's alignment, and its end must be inside its region";
    case plan_rule::parameters_do_not_overlap: return "parameters must not overlap";
    case plan_rule::gradients_and_slots_mirror_the_parameters:
      return "a parameter's gradient and optimizer slots must have the same offset in their regions";
    case plan_rule::devices_share_out_the_regions:
      return "every region must consist of the devices' pieces, one after the other";
    case plan_rule::slices_are_whole_channel_blocks:
      return "a tensor inside another tensor's buffer must begin and end at a channel block";
    case plan_rule::copies_fill_blocks_from_the_front:
      return "a copy that ends inside a channel block must come before those that write the rest of the block, because "
             "it may write zeros there";
    case plan_rule::the_batch_is_loaded_first:
      return "the samples and labels of each micro-batch must be loaded once, before its other steps";
    case plan_rule::steps_fit_their_node: return "a step must do what its node and the plan's mode require";
    case plan_rule::fused_values_have_one_reader:
      return "a step may compute two nodes at once only if nothing else reads the value between them";
    case plan_rule::every_node_runs_once: return "every node's forward and backward pass must run exactly once";
    case plan_rule::what_runs_again_repeats_the_first_time:
      return "in training, a step may run a second time, to compute its node's value again, only if it is the same "
             "step, with the same fused operations, reads the moments that the first run saved, and leaves the running "
             "statistics unchanged";
    case plan_rule::operands_are_what_the_step_needs:
      return "a step's operands must be what its node reads and writes, in order and where the plan's tables place "
             "them";
    case plan_rule::every_read_has_its_write: return "a value must be written before it is read";
    case plan_rule::values_live_to_their_last_use: return "a value must not be overwritten before its last use";
    case plan_rule::only_elementwise_steps_overwrite_their_input:
      return "only an elementwise step may write where it reads, and only the same elements";
    case plan_rule::gradient_contributions_are_summed_once:
      return "the first contribution to a gradient must write it, and each other one must be added once";
    case plan_rule::gradients_are_complete_when_read: return "a gradient must be read after its last contribution";
    case plan_rule::micro_batches_come_in_order:
      return "running statistics, losses and parameter gradients must take the micro-batches one after the other";
    case plan_rule::the_loss_is_computed_once:
      return "training and evaluation must compute the loss once, inference never";
    case plan_rule::gradients_are_reduced_once_when_they_are_whole:
      return "each gradient must be summed over the devices once, when it is complete, in buckets of contiguous memory";
    case plan_rule::gradients_are_measured_when_they_are_whole:
      return "if the update needs the norm of the gradients, each device must measure its gradients once, when all of "
             "them are complete";
    case plan_rule::parameters_are_updated_once_after_their_gradients:
      return "each trainable parameter's gradient must be written once, and the last step of each device must update "
             "its parameters";
    case plan_rule::groups_are_independent: return "a step must not access what another step of its group writes";
    case plan_rule::live_buffers_do_not_overlap: return "two buffers in use at the same time must not overlap";
    case plan_rule::steps_use_their_devices_memory:
      return "a step must use the memory of its own device; only a transfer and an update that clips may read that of "
             "another";
    case plan_rule::steps_wait_for_earlier_ones: return "a step may wait only for earlier steps of other devices";
    case plan_rule::devices_do_not_race:
      return "if one device reads what another one writes, the later of the two steps must wait for the earlier one";
  }
  return "unknown rule";
}

}  // namespace dsl
