// SPDX-License-Identifier: MIT
#pragma once

#include <dsl/dsl.hpp>
#include <dsl/executors/cuda/fused_softmax_loss.hpp>
#include <dsl/executors/cuda/kernels/batch_norm.hpp>
#include <dsl/executors/cuda/kernel_table.hpp>
#include <dsl/executors/cuda/operations.hpp>
#include <dsl/executors/cuda/target.hpp>
#include <dsl/plan/streams.hpp>

#include <string>
#include <vector>

namespace dsl::bench {

/// A tensor or arena that a launch reads or writes completely.
struct traffic {
  int memory = -1;  // number of the memory: first the plan's buffers, then its other regions
  long long bytes = 0;
  bool writes = false;
};

/// A unit of work that a step of the GPU executor enqueues: one of typenet's kernels, one of cuDNN's plans, or a copy
/// to or from the host.
struct gpu_launch {
  enum class maker : unsigned char { ours, cudnn, copy };
  maker by = maker::ours;
  std::string what{};   // "batch_norm_apply", "convolution"
  std::string of{};     // "2.inception_module"; empty if it belongs to no layer
  int step = -1;        // the first step of the plan that it computes
  int last_step = -1;   // the last step that it computes
  double flops = 0;     // multiplications and additions of convolutions and dense layers
  long long tiles = 0;  // cudnn: number of blocks of `tile` outputs, before cuDNN splits sums
  double fill = 1;      // cudnn: the share of these tiles that contains output
  std::vector<traffic> moves{};

  long long bytes() const {
    long long all = 0;
    for (traffic const& t : moves) all += t.bytes;
    return all;
  }
};

/// Determines the launches of one step of one device, in the plan's order. The rules are those of cu::step_recorder if
/// cuDNN has a plan for every convolution. Training takes its batches from a data set on the device. Throws
/// executor_error for operations that the GPU executor does not support.
class gpu_launches {
 public:
  gpu_launches(graph_view const& g, plan const& p, cu::storage t) : g_(g), p_(p), t_(t) {
    add({.by = gpu_launch::maker::copy, .what = "step_state", .moves = {{-1, sizeof(cu::step_state), true}}}, -1, 0);
    for (int s = 0, count = 0; s < p.steps.size(); s += count) {
      count = together(s);
      record(s, count);
    }
    if (p.metrics >= 0) add({.by = gpu_launch::maker::copy, .what = "metrics", .moves = {{p.metrics, 16}}}, -1, 0);
  }
  std::vector<gpu_launch> const& all() const { return all_; }

 private:
  using maker = gpu_launch::maker;

  int together(int s) const {
    step const& x = p_.steps[s];
    if (cu::joins_loss(g_, p_, s)) return 2;
    int count = 1;
    if (x.kind != op::batch_norm || p_.options.mode != mode::training || x.group < 0) return 1;
    while (count < cu::kernels::batch_norm_group && s + count < p_.steps.size() &&
           p_.steps[s + count].group == x.group && p_.steps[s + count].what == x.what)
      ++count;
    return count;
  }

  void record(int s, int count) {
    step const& x = p_.steps[s];
    bool const training = p_.options.mode == mode::training;
    long long const batch = p_.options.batch;
    switch (x.what) {
      case action::load: {
        shape const& picture = g_.output_shape(g_.nodes[0]);
        if (training) return add({.what = "gather_pictures", .moves = {{-1, batch * picture.size()}}}, s, 1);
        add({.by = maker::copy, .what = "pictures", .moves = {{-1, 4 * batch * picture.size(), true}}}, -1, 0);
        if (p_.labels >= 0) add({.by = maker::copy, .what = "labels", .moves = {{-1, 4 * batch, true}}}, -1, 0);
        return add({.what = "load_pictures", .moves = {{-1, 4 * batch * picture.size()}}}, s, 1);
      }
      case action::copy_forward:
      case action::copy_backward: return add({.what = "copy"}, s, 1);
      case action::loss: return add({.what = "loss"}, s, 1);
      case action::measure:
        return add({.what = "measure",
                    .moves = {{memory_of(region::gradients), p_.region_bytes[static_cast<int>(region::gradients)]}}},
                   s, 1);
      case action::update: return update(s);
      case action::backward_weights:
      case action::backward_data:
        if (x.kind != op::dense) return convolution(s);
        return add({.what = x.what == action::backward_data ? "dense_backward_data" : "dense_backward_weights",
                    .flops = 2.0 * static_cast<double>(batch * forward_macs(g_, g_.nodes[x.node]))},
                   s, 1);
      case action::forward:
      case action::backward: return operation(s, count);
      case action::all_reduce: return;  // does not exist on one device
      case action::add_gradients: break;
    }
    throw executor_error("gpu_launches: the plan has a step that the GPU executor does not support");
  }
  void operation(int s, int count) {
    step const& x = p_.steps[s];
    bool const forward = x.what == action::forward;
    char const* const end = forward ? "_forward" : "_backward";
    switch (x.kind) {
      case op::conv2d:
      case op::conv2d_transpose: return convolution(s);
      case op::batch_norm: return batch_norm(s, count);
      case op::local_response_norm: return add({.what = std::string("local_response_norm") + end}, s, 1);
      case op::head_norm:
        add({.what = std::string("head_norm") + end}, s, 1);
        if (!forward && !g_.nodes[x.node].frozen) all_.push_back({.what = "channel_sums", .step = s, .last_step = s});
        return;
      case op::max_pool2d: return add({.what = std::string("max_pool2d") + end}, s, 1);
      case op::avg_pool2d: return add({.what = std::string("avg_pool2d") + end}, s, 1);
      case op::activation: return add({.what = std::string("activation") + end}, s, 1);
      case op::softmax: return add({.what = count == 2 ? "softmax_loss" : std::string("softmax") + end}, s, count);
      case op::dropout: return add({.what = "dropout"}, s, 1);
      case op::stochastic_depth: return add({.what = "stochastic_depth"}, s, 1);
      case op::multiply: return multiply(s, forward);
      case op::channel_scale: return add({.what = std::string("channel_scale") + (forward ? "" : "_backward")}, s, 1);
      case op::flatten: return add({.what = "reshape"}, s, 1);
      case op::dense:
        return add({.what = "dense_forward",
                    .flops = 2.0 * static_cast<double>(p_.options.batch * forward_macs(g_, g_.nodes[x.node]))},
                   s, 1);
      case op::add:
        for (int i = 0; i < g_.nodes[x.node].inputs; i += 8) add({.what = "sum"}, s, 1);
        return;
      case op::zero_pad2d:
      case op::token_slice: return add({.what = "shifted_copy"}, s, 1);
      case op::channel_slice: return add({.what = forward || accumulates(x) ? "copy" : "shifted_copy"}, s, 1);
      case op::channel_shuffle: return add({.what = "channel_shuffle"}, s, 1);
      case op::upsample_nearest:
      case op::upsample_bilinear: return add({.what = std::string("upsample2d") + end}, s, 1);
      case op::class_token:
      case op::position_embedding: return learnt_tokens(s);
      default: {
        if (cu::recorder_of(g_.nodes[x.node]) == cu::recorder::sample_norms) {
          if (forward) return add({.what = "group_norm_forward"}, s, 1);
          add({.what = "group_norm_means"}, s, 1, false);  // writes a few numbers per group
          return add({.what = "group_norm_backward"}, s, 1);
        }
        cu::kernel_row const& own = cu::kernel_row_of(x.kind);
        if (!own.text)
          throw executor_error("gpu_launches: the plan has an operation without a kernel in the GPU executor");
        return add({.what = forward ? own.forward : own.backward}, s, 1);
      }
    }
  }

  /// Adds the launch of a multiply or of the gradient of one operand.
  void multiply(int s, bool forward) {
    step const& x = p_.steps[s];
    shape const *dx = nullptr, &out = g_.output_shape(g_.nodes[x.node]);
    for (int i = 0; i < x.operands; ++i)
      if (operand const& o = p_.operands[x.first_operand + i]; o.what == content::gradient && o.how != access::read)
        dx = &g_.shape_of(o.index);
    bool const one_channel = !forward && dx && dx->channels < out.channels;
    bool const one_pixel = !forward && dx && dx->area() < out.area();
    add({.what = one_channel ? "multiply_backward_channels"
                 : one_pixel ? "multiply_backward_pixels"
                             : "multiply"},
        s, 1);
  }
  /// Adds the launch of a forward step, or those for the gradients of the parameter and of the input.
  void learnt_tokens(int s) {
    step const& x = p_.steps[s];
    bool const one_token = x.kind == op::class_token;
    if (x.what == action::forward) return add({.what = one_token ? "class_token" : "position_embedding"}, s, 1);
    operand dy, dx;
    for (int i = 0; i < x.operands; ++i) {
      operand const& o = p_.operands[x.first_operand + i];
      if (o.what == content::gradient) (o.how == access::read ? dy : dx) = o;
    }
    if (!g_.nodes[x.node].frozen) add({.what = one_token ? "channel_sums" : "sample_sums"}, s, 1, false);
    bool const in_place = dx.buffer == dy.buffer && dx.channel == dy.channel;
    if (writes_a_tensor(x) && (one_token || !in_place)) add({.what = one_token ? "shifted_copy" : "copy"}, s, 1);
  }
  bool accumulates(step const& x) const {
    for (int i = 0; i < x.operands; ++i)
      if (operand const& o = p_.operands[x.first_operand + i]; is_tensor(o) && o.how == access::accumulate) return true;
    return false;
  }

  /// Describes a pass as a matrix product. It has one row per output pixel in `forward`, per input pixel in
  /// `backward_data`, and per number of a filter in `backward_weights`, and one column per channel of the result.
  void convolution(int s) {
    step const& x = p_.steps[s];
    node const& n = g_.nodes[x.node];
    bool const transposed = x.kind == op::conv2d_transpose;
    shape const& in = transposed ? g_.output_shape(n) : g_.input_shape(n);
    shape const& out = transposed ? g_.input_shape(n) : g_.output_shape(n);
    bool const weights = x.what == action::backward_weights;
    bool const data = x.what == (transposed ? action::forward : action::backward_data);
    if (transposed && x.what != action::forward) copy_slice(s, access::read);
    long long const inner = 1LL * in.channels / n.groups * n.window.height * n.window.width;
    long long const rows = weights ? inner : p_.options.batch * (data ? in : out).area();
    long long const columns = data ? in.channels : out.channels;
    long long const tile = columns > 64 ? 128 : columns > 32 ? 64 : 32;
    auto const tiles_of = [](long long count, long long each) { return (count + each - 1) / each; };
    gpu_launch l{.by = maker::cudnn,
                 .what = weights ? "convolution_weights"
                         : data  ? "convolution_data"
                                 : "convolution",
                 .flops = 2.0 * static_cast<double>(p_.options.batch * forward_macs(g_, n)),
                 .tiles = tiles_of(rows, 128) * tiles_of(columns, tile)};
    l.fill = static_cast<double>(rows * columns) / static_cast<double>(l.tiles * 128 * tile);
    add(std::move(l), s, 1);
    if (weights && writes_a_bias(x)) add({.what = "channel_sums"}, s, 1);
    if (x.what != action::forward) return;
    bool const adds_bias = transposed ? n.parameters > 1 : reads_a_bias(x) && !fuses_bias(n);
    if (adds_bias) all_.push_back({.what = "add_bias", .step = s, .last_step = s});
    if (transposed || adds_bias) copy_slice(s, access::write);
  }
  /// Whether cuDNN has a plan that computes a convolution and adds its bias: in 16 bits only if the numbers of channels
  /// in a group are even.
  bool fuses_bias(node const& n) const {
    int const in = g_.input_shape(n).channels / n.groups, out = g_.output_shape(n).channels / n.groups;
    return n.groups == 1 || t_ == cu::storage::f32 || (in % 2 == 0 && out % 2 == 0);
  }
  bool reads_a_bias(step const& x) const {
    if (x.batch_norm >= 0) return true;
    for (int i = 0; i < x.operands; ++i)
      if (operand const& o = p_.operands[x.first_operand + i];
          o.what == content::parameter && g_.parameters[o.index].role == role::bias)
        return true;
    return false;
  }
  /// Adds the copy of a convolution's output into its slice of a buffer, or of the output's gradient from it.
  void copy_slice(int s, access how) {
    step const& x = p_.steps[s];
    for (int i = 0; i < x.operands; ++i) {
      operand const& o = p_.operands[x.first_operand + i];
      bool const wanted = is_tensor(o) && (o.what == content::gradient) == (how == access::read) && o.how == how;
      if (wanted && p_.buffers[o.buffer].shape.channels > g_.shape_of(o.index).channels)
        all_.push_back({.what = "copy", .step = s, .last_step = s});
    }
  }
  bool writes_a_bias(step const& x) const {
    for (int i = 0; i < x.operands; ++i)
      if (operand const& o = p_.operands[x.first_operand + i];
          o.what == content::parameter_gradient && g_.parameters[o.index].role == role::bias)
        return true;
    return false;
  }

  void batch_norm(int s, int count) {
    bool const forward = p_.steps[s].what == action::forward, frozen = g_.nodes[p_.steps[s].node].frozen;
    if (p_.options.mode != mode::training || frozen)
      return add({.what = forward ? "batch_norm_apply" : "frozen_batch_norm_backward"}, s, count);
    // The first of the two launches reads everything that both launches read, and writes only a few numbers per
    // channel.
    add({.what = forward ? "batch_norm_statistics" : "batch_norm_gradients"}, s, count, false);
    bool wanted = forward;
    for (int i = s; i < s + count; ++i) wanted = wanted || writes_a_tensor(p_.steps[i]);
    if (wanted) add({.what = forward ? "batch_norm_apply" : "batch_norm_backward"}, s, count);
  }
  bool writes_a_tensor(step const& x) const {
    for (int i = 0; i < x.operands; ++i)
      if (operand const& o = p_.operands[x.first_operand + i]; is_tensor(o) && o.how != access::read) return true;
    return false;
  }
  static bool is_tensor(operand const& o) {
    return o.what == content::activation || o.what == content::gradient || o.what == content::argmax;
  }

  /// Adds parameters, gradients and slots, each read and written once, and the working copy if tensors have 16 bits.
  void update(int s) {
    gpu_launch l{.what = "update"};
    auto const arena = [&](region r, bool writes) {
      l.moves.push_back({memory_of(r), p_.region_bytes[static_cast<int>(r)], writes});
    };
    arena(region::parameters, false);
    arena(region::gradients, false);
    arena(region::parameters, true);
    if (p_.options.optimizer_slots > 0) arena(region::slots, false), arena(region::slots, true);
    if (t_ == cu::storage::bf16)
      l.moves.push_back(
          {memory_of(region::parameters), p_.region_bytes[static_cast<int>(region::parameters)] / 2, true});
    add(std::move(l), s, 1);
  }
  int memory_of(region r) const { return p_.buffers.size() + static_cast<int>(r); }

  /// Adds the tensors that `count` steps read and, with `writes`, those that they write.
  void add(gpu_launch l, int s, int count, bool writes = true) {
    l.step = s, l.last_step = s + count - 1;
    for (int i = s; s >= 0 && i < s + count; ++i) {
      step const& x = p_.steps[i];
      if (l.of.empty() && x.node >= 0) l.of = name_of(x.node);
      for (int k = 0; k < x.operands; ++k) move(p_.operands[x.first_operand + k], writes, l);
    }
    all_.push_back(std::move(l));
  }
  void move(operand const& o, bool writes, gpu_launch& l) const {
    if (o.what == content::parameter || o.what == content::parameter_gradient) {
      // The convolution's kernels are in the storage type; a layer's other parameters are a few numbers per channel.
      parameter const& w = g_.parameters[o.index];
      if (w.role == role::kernel)
        l.moves.push_back({memory_of(o.what == content::parameter ? region::parameters : region::gradients),
                           w.count() * cu::bytes_of(t_), o.how != access::read});
      return;
    }
    if (!is_tensor(o)) return;
    buffer const& b = p_.buffers[o.buffer];
    long long const numbers = o.what == content::argmax ? p_.options.batch * g_.output_shape(g_.nodes[o.index]).size()
                                                        : p_.options.batch * g_.shape_of(o.index).size();
    long long const bytes = numbers * b.element_bytes;
    if (o.how != access::write) l.moves.push_back({o.buffer, bytes, false});
    if (o.how != access::read && writes) l.moves.push_back({o.buffer, bytes, true});
  }
  std::string name_of(int n) const {
    int scope = g_.nodes[n].scope;
    std::string text;
    for (; scope > 0; scope = g_.scopes[scope].parent)
      text = std::to_string(g_.scopes[scope].index) + "." +
             std::string(g_.scopes[scope].name.data, static_cast<std::size_t>(g_.scopes[scope].name.size)) +
             (text.empty() ? "" : "/") + text;
    return text;
  }

  graph_view const& g_;
  plan const& p_;
  cu::storage t_;
  std::vector<gpu_launch> all_{};
};

}  // namespace dsl::bench
