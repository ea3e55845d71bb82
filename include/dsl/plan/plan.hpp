// SPDX-License-Identifier: MIT
#pragma once

#include <dsl/detail/list.hpp>
#include <dsl/graph/graph.hpp>

namespace dsl {

/// training: forward, loss, backward, update. evaluation: forward with running statistics, loss. inference: forward.
enum class mode : unsigned char { training, evaluation, inference };

/// How far a network's outputs y are from their targets t: the mean over samples and outputs of what is given here, but
/// for categorical_crossentropy, which is the mean over samples. A class number stands for its one-hot row.
enum class loss : unsigned char {
  categorical_crossentropy,  // -log y[label]; after a softmax its gradient is that of the logits
  mean_squared_error,        // (y - t)^2
  mean_absolute_error,       // |y - t|; its derivative at 0 is 0
  huber,                     // (y - t)^2 / 2 up to a distance of 1, |y - t| - 1/2 beyond (Huber 1964)
  binary_crossentropy,       // -t log y - (1 - t) log(1 - y); after a sigmoid its gradient is that of the logits
};

/// What the loss compares a sample's outputs with: a class number, or as many values as there are outputs.
enum class target_kind : unsigned char { classes, values };

/// Whether a loss can compare outputs with such targets.
constexpr bool takes(loss l, target_kind targets) {
  return targets == target_kind::classes ? l == loss::categorical_crossentropy || l == loss::mean_squared_error
                                         : l != loss::categorical_crossentropy;
}

/// A target's channel_block where all channels of a buffer lie together: NHWC, as GPUs want it.
inline constexpr int channels_last = 0;

/// Whether a loss takes the place of its network's last operation in the backward pass: its gradient is then that of
/// the logits, which go into that softmax or sigmoid.
constexpr bool is_of_logits(loss l, node const& last) {
  return l == loss::binary_crossentropy ? last.kind == op::activation && last.function == function::sigmoid
                                        : l == loss::categorical_crossentropy && last.kind == op::softmax;
}

/// How a machine wants its tensors; fixes every size and offset of a plan. Element (n, c, pixel) of a tensor with
/// channel block b is at ((n * blocks + c / b) * area + pixel) * b + c % b: b = 1 is NCHW, 16 is oneDNN's nChw16c, and
/// channels_last stands for as many as the buffer has. Flat tensors always have b = 1, inputs of less than 16 channels
/// too unless the target is channels_last.
struct target {
  int channel_block = 1;
  int alignment = 64;     // bytes, of every buffer
  int element_bytes = 4;  // activations and their gradients
  int state_bytes = 4;    // parameters, their gradients, optimizer slots, statistics
  // A library's convolutions may write into a concat's buffer: at batch 1, where a slice of whole blocks is contiguous;
  // with channels last in a forward pass of any batch.
  bool library_writes_slices = false;
};

/// What fixes a plan beside its graph. batch: samples of a step on this device.
struct plan_options {
  int batch = 1;
  dsl::mode mode = dsl::mode::training;
  dsl::target target{};
  int optimizer_slots = 1;
  dsl::loss loss = dsl::loss::categorical_crossentropy;
  int all_reduce_buckets = 0;  // training by several towers: parts in which gradients are summed over all of them
  int micro_batches = 1;       // parts of the batch that go through the network one after the other
  bool gradient_norm = false;  // the update needs the length of all gradients together, to clip it
  target_kind targets = target_kind::classes;
};

/// Micro-batch m of `count`: equal parts, and the last takes the rest. Of a batch with fewer samples than parts the
/// others would be empty: it stays whole, micro_batches_of() is 1. 10 samples in 4 parts are 2, 2, 2, 4.
struct sample_range {
  int first = 0;
  int size = 0;
};
constexpr int micro_batches_of(plan_options const& o) {
  return o.micro_batches < 1 || o.micro_batches > o.batch ? 1 : o.micro_batches;
}
constexpr sample_range micro_batch(int batch, int count, int m) {
  int const each = batch / count;
  return {m * each, m == count - 1 ? batch - m * each : each};
}

/// Where a buffer lives. Offsets count from the region's begin. All plans of a network share those of parameters: the
/// trainable ones, batch_norm's running statistics, and the frozen ones, statistics among them.
enum class region : unsigned char { parameters, statistics, gradients, slots, activations, frozen };
inline constexpr int regions = 6;

/// What a step does. Each graph node has at most one step of each kind a micro-batch; a copy has one per edge.
enum class action : unsigned char {
  load,  // the batch arrives: input pictures and labels
  forward,
  copy_forward,      // one input of a concat into its slice, where its producer could not write there
  loss,              // metrics, and in training the first gradient
  backward,          // all gradients of an operation at once
  backward_weights,  // conv2d and dense: gradients of kernel and bias
  backward_data,     // conv2d and dense: gradient of the input
  copy_backward,     // one input's share of a concat's or add's gradient
  add_gradients,     // a later micro-batch's gradient of a parameter, to the sum of those before
  all_reduce,        // gradients of neighbouring parameters, as soon as they are whole: summed over all devices
  measure,           // a device's gradients, as soon as all are whole and summed: their squares' sum
  update,            // the optimizer, over every trainable parameter
};

/// What an operand holds; `index` counts tensors, nodes or parameters.
enum class content : unsigned char {
  activation,          // tensor
  gradient,            // tensor: of the loss with respect to it
  statistics,          // node: a batch_norm's mean and 1 / sqrt(variance + epsilon) of this batch
  argmax,              // node: which value of each window was the maximum
  parameter,           // parameter
  parameter_gradient,  // parameter
  labels,              // class numbers, or values as target_kind says
  metrics,             // two doubles: sum of the samples' losses, number of right answers
  squares,             // device: a double, of its gradients
};

/// accumulate: reads and writes, adding to what others have written.
enum class access : unsigned char { read, write, accumulate };

/// One thing a step reads or writes: `what` number `index`, in channels [channel, channel + its own) of a buffer.
struct operand {
  content what = content::activation;
  access how = access::read;
  int index = 0;
  int buffer = -1;
  int channel = 0;
};

/// One thing an executor does. Its operands are plan.operands[first_operand ... first_operand + operands).
struct step {
  action what = action::forward;
  op kind = op::input;
  int node = -1;
  int batch_norm = -1;  // fused after a conv2d in inference
  int activation = -1;  // a relu fused after batch_norm or conv2d
  int edge = 0;         // copies: which input
  int group = -1;       // neighbours of one group do not depend on each other and may share a launch
  int first_operand = 0;
  int operands = 0;
  int device = 0;
  int micro = 0;       // which micro-batch; all_reduce and update belong to the last
  int first_wait = 0;  // in plan.waits: the steps of other devices that must be done before this one begins
  int waits = 0;
};

/// A piece of a region: batch x shape in channel blocks. Live from step `first` to step `last`.
struct buffer {
  region where = region::activations;
  dsl::shape shape{};
  int block = 1;
  int element_bytes = 4;
  int device = 0;
  long long bytes = 0;
  long long offset = -1;
  int first = -1;
  int last = -1;
};

/// How much of every region is a device's. The devices' pieces lie one after the other, the last device's first: its
/// gradients are whole first. The slots' piece is like the parameters', once per slot.
struct device_bytes {
  long long bytes[regions] = {};
};

/// Where a tensor's activation or gradient is: channel `channel` on of a buffer.
struct placement {
  int buffer = -1;
  int channel = 0;
};

/// Everything an executor replays: the steps in order and where each of their operands is. One thread may run all
/// steps in this order. Or each device runs its own, in this order too and at the same time as the others, if it waits
/// for what its steps name.
struct plan {
  plan_options options{};
  detail::list<step> steps{};
  detail::list<operand> operands{};
  detail::list<buffer> buffers{};
  detail::list<placement> activations{};           // per micro-batch and tensor: [micro * tensors + tensor]
  detail::list<placement> gradients{};             // the same; buffer -1 where no gradient is needed
  detail::list<int> parameter_buffers{};           // per parameter
  detail::list<int> parameter_gradient_buffers{};  // per parameter; -1 for running statistics, and outside training
  int labels = -1;                                 // buffers; of the first micro-batch
  int metrics = -1;
  long long region_bytes[regions] = {};
  detail::list<int> waits{};             // steps
  detail::list<device_bytes> devices{};  // what each has of the regions
  int micro_batches = 1;

  constexpr long long bytes() const {
    long long all = 0;
    for (long long b : region_bytes) all += b;
    return all;
  }
  [[gnu::cold]] constexpr sample_range samples_of(step const& s) const {
    return micro_batch(options.batch, micro_batches, s.micro);
  }
  /// Where a device's piece of a region begins; of the slots, that of the first slot.
  [[gnu::cold]] constexpr long long begin_of(region r, int device) const {
    long long begin = 0;
    for (int d = devices.size() - 1; d > device; --d)
      begin += devices[d].bytes[static_cast<int>(r == region::slots ? region::parameters : r)];
    return begin;
  }
  constexpr buffer const& buffer_of(operand const& o) const { return buffers[o.buffer]; }
};

constexpr long long round_up(long long n, long long to) { return (n + to - 1) / to * to; }

/// Channels of a buffer with its last block filled up.
constexpr long long padded_channels(buffer const& b) { return round_up(b.shape.channels, b.block); }

}  // namespace dsl
