// SPDX-License-Identifier: MIT
#pragma once

#include <dsl/detail/list.hpp>
#include <dsl/graph/graph.hpp>

namespace dsl {

/// The purpose of a plan. training: forward, loss, backward, update. evaluation: forward with running statistics, loss.
/// inference: forward.
enum class mode : unsigned char { training, evaluation, inference };

/// The distance between a network's outputs y and their targets t. Each formula is averaged over samples and outputs,
/// except that categorical_crossentropy is averaged over samples. A class number stands for a vector that is 1 at this
/// number and 0 elsewhere.
enum class loss : unsigned char {
  categorical_crossentropy,  // -log y[label]; after a softmax its gradient is that of the logits
  mean_squared_error,        // (y - t)^2
  mean_absolute_error,       // |y - t|; its derivative at 0 is 0
  huber,                     // (y - t)^2 / 2 up to a distance of 1, |y - t| - 1/2 beyond (Huber 1964)
  binary_crossentropy,       // -t log y - (1 - t) log(1 - y); after a sigmoid its gradient is that of the logits
  custom,                    // a custom_loss, defined outside the library
};

namespace detail {
/// Returns what messages call a loss.
constexpr char const* name_of_loss(loss l) {
  constexpr char const* names[] = {"categorical_crossentropy", "mean_squared_error", "mean_absolute_error", "huber",
                                   "binary_crossentropy",      "a loss of your own"};
  return names[static_cast<int>(l)];
}
}  // namespace detail

/// The kind of targets with which a sample's outputs are compared: a class number, one value per output, or a class
/// number per pixel of the output. In the last case, the channels of the output are the classes, and the mean is over
/// all labelled pixels of the batch.
enum class target_kind : unsigned char { classes, values, pixel_classes };

/// Whether a loss accepts targets of this kind.
constexpr bool takes(loss l, target_kind targets) {
  if (targets == target_kind::pixel_classes) return l == loss::categorical_crossentropy;
  return targets == target_kind::classes ? l == loss::categorical_crossentropy || l == loss::mean_squared_error
                                         : l != loss::categorical_crossentropy;
}

/// The largest number of outputs that may have separate losses or targets.
inline constexpr int most_own_outputs = 16;

/// A setting of the outputs of a network: one that all outputs share, or one for each output.
///   per_output<loss>(loss::huber)[3] == loss::huber
template <class T>
struct per_output {
  T all{};                     // of each output if they share it, otherwise of output 0
  int count = 0;               // number of outputs with separate settings; 0: all share one
  unsigned long long own = 0;  // four bits for each of these outputs

  constexpr per_output() = default;
  constexpr per_output(T one) : all(one) {}  // NOLINT(google-explicit-constructor): one setting is that of all outputs
  constexpr bool is_shared() const { return count == 0; }
  constexpr T operator[](int k) const { return is_shared() ? all : static_cast<T>(own >> 4 * k & 15U); }
  /// Adds the setting of the next output. Every output must get one.
  constexpr void push(T one) {
    if (count == 0) all = one;
    own |= static_cast<unsigned long long>(one) << 4 * count++;
  }
  friend constexpr bool operator==(per_output const&, per_output const&) = default;
};

/// The channel_block of a target that stores all channels of a pixel side by side: NHWC, which GPUs prefer.
inline constexpr int channels_last = 0;

/// Whether a loss replaces the backward step of the network's last operation, if that is a softmax or sigmoid. The
/// gradient of the loss is then with respect to the logits.
constexpr bool is_of_logits(loss l, node const& last) {
  return l == loss::binary_crossentropy ? last.kind == op::activation && last.function == function::sigmoid
                                        : l == loss::categorical_crossentropy && last.kind == op::softmax;
}

/// Whether a loss replaces the backward step of node n, whose output it uses. No other node may read that output.
constexpr bool is_of_logits(graph_view const& g, loss l, int n) {
  return is_of_logits(l, g.nodes[n]) && g.tensors[g.nodes[n].output].readers == 0;
}

/// The memory layout of a machine, which determines every size and offset of a plan. Element (n, c, pixel) of a tensor
/// with channel block b is at ((n * blocks + c / b) * area + pixel) * b + c % b: b = 1 is NCHW, 16 is oneDNN's nChw16c,
/// and channels_last stands for all channels of the buffer. Flat tensors always have b = 1, and so have inputs of fewer
/// than 16 channels unless the target is channels_last.
struct target {
  int channel_block = 1;
  int alignment = 64;     // bytes, of every buffer
  int element_bytes = 4;  // activations and their gradients
  int state_bytes = 4;    // parameters, their gradients, optimizer slots, statistics
  // Whether a library's convolutions may write into a concat's buffer: at batch 1, where a slice of whole blocks is
  // contiguous, and with channels last in a forward pass of any batch.
  bool library_writes_slices = false;
};

/// The options that, together with the graph, determine a plan. `batch` is the number of samples of a step on this
/// device.
struct plan_options {
  int batch = 1;
  dsl::mode mode = dsl::mode::training;
  dsl::target target{};
  int optimizer_slots = 1;
  per_output<dsl::loss> loss = dsl::loss::categorical_crossentropy;
  int all_reduce_buckets = 0;  // several towers: parts in which gradients are summed over the towers
  int micro_batches = 1;       // parts of the batch that pass through the network one after the other
  bool gradient_norm = false;  // whether the update needs the norm of all gradients, to clip them
  /// The kind of the targets that all outputs share, or the kind of each output's separate targets.
  per_output<target_kind> targets = target_kind::classes;
};

/// The memory that a training step may use. Its plan may take at most `bytes` bytes in total, with batches of up to
/// `batch` samples. If `batch` is 0, there is no limit.
struct memory_limit {
  long long bytes = 0;
  int batch = 0;
};

/// The samples of a micro-batch. All micro-batches have the same size, except that the last one also has the remaining
/// samples: 10 samples in 4 micro-batches are 2, 2, 2, 4. A batch with fewer samples than micro-batches is not split:
/// micro_batches_of() is 1.
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

/// The memory region that contains a buffer. Offsets are counted from the beginning of the region. All plans of a
/// network share the parameter regions: `parameters` for trainable ones, `statistics` for batch_norm's running
/// statistics, and `frozen` for all of frozen layers.
enum class region : unsigned char { parameters, statistics, gradients, slots, activations, frozen };
inline constexpr int regions = 6;

/// The action of a step. In each micro-batch a graph node has at most one step of each kind, except that copies, and
/// backward steps of operations with several inputs, have one per input.
enum class action : unsigned char {
  load,  // input images and labels
  forward,
  copy_forward,      // copies one input of a concat into its slice, if its producer could not write there
  loss,              // metrics, and in training the first gradient
  backward,          // gradients of an operation's input and parameters
  backward_weights,  // conv2d and dense: gradients of kernel and bias
  backward_data,     // conv2d and dense: gradient of the input
  copy_backward,     // one input's share of a concat's or add's gradient
  add_gradients,     // adds a later micro-batch's gradient of a parameter to the sum of those before
  all_reduce,        // sums complete gradients, of parameters neighbouring in memory, over all towers
  measure,           // sums the squares of a device's gradients once all are complete
  update,            // applies the optimizer to a device's trainable parameters
};

/// The content of an operand. operand::index is the number of an object of the kind that the comment begins with.
enum class content : unsigned char {
  activation,          // tensor
  gradient,            // tensor: its gradient, of the loss
  statistics,          // node: a batch_norm's mean and 1 / sqrt(variance + epsilon) over this batch; if its output is
                       // computed again, also the scale and shift that the executor multiplied with and added
  argmax,              // node: the position of each window's maximum
  parameter,           // parameter
  parameter_gradient,  // parameter
  labels,              // class numbers or values, see target_kind; the targets of several outputs, if each has its
                       // own, are one after another in one buffer, and `channel` is targets_before()
  metrics,             // output: two doubles, sum of the samples' losses and number of correct predictions
  squares,             // device: a double, the sum of its squared gradients
  states,              // node: the gates of a recurrent layer at all positions
};

/// The ways in which a step uses an operand. `accumulate` means that the step adds to the operand.
enum class access : unsigned char { read, write, accumulate };

/// An operand of a step: object number `index` of the kind `what`, in a buffer, starting at channel `channel` of the
/// buffer.
struct operand {
  content what = content::activation;
  access how = access::read;
  int index = 0;
  int buffer = -1;
  int channel = 0;
};

/// A step, which an executor runs. Its operands are plan.operands[first_operand ... first_operand + operands).
struct step {
  action what = action::forward;
  op kind = op::input;
  int node = -1;
  int batch_norm = -1;  // fused into a conv2d in inference
  int activation = -1;  // a relu fused into batch_norm or conv2d
  int edge = 0;         // copies and backward: which input
  int group = -1;       // consecutive steps of one group are independent and may share a launch
  int first_operand = 0;
  int operands = 0;
  int device = 0;
  int micro = 0;       // the micro-batch; all_reduce and update belong to the last
  int first_wait = 0;  // in plan.waits: steps of other devices that must be finished before this one begins
  int waits = 0;
  bool again = false;  // a forward step or copy that the backward pass repeats, because its result was not kept
};

/// A part of a region, for a batch of tensors of one shape in channel blocks. It is in use from step `first` to step
/// `last`.
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

/// The bytes that a device has in each region. In a region, the devices' bytes follow each other; those of the last
/// device come first, because its gradients are complete first. The bytes of slots are those of the parameters, once
/// for each optimizer slot.
struct device_bytes {
  long long bytes[regions] = {};
};

/// The buffer in which the activation or the gradient of a tensor is stored, and the first of its channels there.
struct placement {
  int buffer = -1;
  int channel = 0;
};

/// The steps of a batch in order, and the places of their operands, for an executor to replay. One thread may run all
/// steps in this order. Alternatively, all devices run at the same time, each its own steps in this order, if every
/// step waits for the steps that it names.
struct plan {
  plan_options options{};
  detail::list<step> steps{};
  detail::list<operand> operands{};
  detail::list<buffer> buffers{};
  detail::list<placement> activations{};           // per micro-batch and tensor: [micro * tensors + tensor]
  detail::list<placement> gradients{};             // per micro-batch and tensor; buffer -1 if no gradient is needed
  detail::list<int> parameter_buffers{};           // per parameter
  detail::list<int> parameter_gradient_buffers{};  // per parameter; -1 for running statistics, and outside training
  int labels = -1;                                 // buffers of the first micro-batch
  int metrics = -1;                                // of the network's result; steps name those of further outputs
  long long region_bytes[regions] = {};
  detail::list<int> waits{};             // steps
  detail::list<device_bytes> devices{};  // each device's share of the regions
  int micro_batches = 1;
  // Per buffer: the buffer into which the backward pass computes its values again, or -1; empty if it computes none.
  detail::list<int> again{};

  /// Returns the buffer that has the values of buffer b in the backward pass. This is another buffer if the values are
  /// computed a second time.
  constexpr int in_backward_pass(int b) const { return b >= 0 && b < again.size() && again[b] >= 0 ? again[b] : b; }

  /// Returns the bytes of all regions.
  constexpr long long bytes() const {
    long long all = 0;
    for (long long b : region_bytes) all += b;
    return all;
  }
  /// Returns which samples of the batch a step computes.
  constexpr sample_range samples_of(step const& s) const { return micro_batch(options.batch, micro_batches, s.micro); }
  /// Returns the offset of a device's bytes in a region. For slots, it is the offset of its bytes in the first slot.
  constexpr long long begin_of(region r, int device) const {
    long long begin = 0;
    for (int d = devices.size() - 1; d > device; --d)
      begin += devices[d].bytes[static_cast<int>(r == region::slots ? region::parameters : r)];
    return begin;
  }
  constexpr buffer const& buffer_of(operand const& o) const { return buffers[o.buffer]; }
};

/// Returns the number of targets of a sample that output k is compared with.
constexpr int targets_each(graph_view const& g, per_output<target_kind> const& targets, int k) {
  shape const& output = g.output_shape(g.nodes[output_node(g, k)]);
  switch (targets[k]) {
    case target_kind::values: return static_cast<int>(output.size());
    case target_kind::pixel_classes: return static_cast<int>(output.area());
    case target_kind::classes: break;
  }
  return 1;
}
/// Returns the number of targets of a sample that come before those of output k. It is 0 if all outputs share theirs.
constexpr int targets_before(graph_view const& g, per_output<target_kind> const& targets, int k) {
  int before = 0;
  for (int i = 0; i < k && !targets.is_shared(); ++i) before += targets_each(g, targets, i);
  return before;
}

/// Returns the smallest multiple of `to` that is at least n.
constexpr long long round_up(long long n, long long to) { return (n + to - 1) / to * to; }

/// Returns the number of channels of a buffer, rounded up to whole blocks.
constexpr long long padded_channels(buffer const& b) { return round_up(b.shape.channels, b.block); }

}  // namespace dsl
