// SPDX-License-Identifier: MIT
#pragma once

#include <dsl/detail/mode.hpp>
#include <dsl/executors/host/batch_norm_step.hpp>
#include <dsl/executors/host/custom_loss.hpp>
#include <dsl/executors/host/engine.hpp>
#include <dsl/executors/host/loss.hpp>
#include <dsl/executors/host/pixel_loss.hpp>
#include <dsl/executors/host/squares.hpp>
#include <dsl/executors/host/update.hpp>
#include <dsl/executors/host/value_loss.hpp>
#include <dsl/executors/host/plain_batch_norm.hpp>
#include <dsl/executors/host/operations.hpp>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <type_traits>
#include <vector>

namespace dsl::plain::TYPENET_MODE {

/// Runs every step in plain loops on one thread. Executors in host memory derive from this class and use its loops for
/// operations without a kernel. All loops also work on channel blocks; only those of conv2d, batch_norm and pool2d are
/// slow there.
template <class T>
class steps : public host::engine<T> {
 public:
  /// A function that returns the loops of the network's operations: loops_of<T, ...>.
  using loop_table = loops<T> (*)(op);

  steps(graph_view const& g, engine_options const& o, target const& to, int cores_a_device = 1,
        loop_table table = &loops_of<T>)
      : host::engine<T>(g, o, to, cores_a_device), loops_(table) {}

 protected:
  using program = host::program<T>;
  using bound_step = host::bound_step<T>;

  void execute(program& p, bound_step const& b) override {
    switch (b.step->what) {
      case action::load: return load(p, b);
      case action::forward: return forward(p, b);
      case action::loss: return loss(p, b);
      case action::copy_forward:
      case action::copy_backward: return copy(b.x, b.to, b.accumulate);
      case action::backward: return backward(p, b);
      case action::backward_weights: return compute(p, b, loops_(b.node->kind).backward_weights);
      case action::backward_data: return compute(p, b, loops_(b.node->kind).backward_data);
      case action::measure: return measure(p, *b.step);
      case action::update: return update(p, *b.step);
      default: unknown(b);
    }
  }

  /// Whether batch_norm uses moments of the whole batch, of which this engine has a part.
  bool synchronizes() const { return this->tower() && !this->tower()->moments(); }
  batch_norm_parameters<T> batch_norm_operands(bound_step const& b) const {
    return {b.parameter(role::gamma), b.parameter(role::beta), b.parameter(role::moving_mean),
            b.parameter(role::moving_variance), b.parameter(role::bias)};
  }
  host::batch_norm_step<T> batch_norm_step(program const& p, bound_step const& b) const {
    return {.tower = b.statistics && synchronizes() ? this->tower() : nullptr,
            .x = b.x.data ? b.x : b.dy,  // a frozen batch_norm's backward step reads nothing else
            .dy = b.dy,
            .to = b.to,
            .parameters = batch_norm_operands(b),
            .statistics = b.statistics,
            .scale_and_shift = b.scale_and_shift,
            .dgamma = b.gradient(role::gamma),
            .dbeta = b.gradient(role::beta),
            .epsilon = b.node->epsilon,
            .momentum = this->batch_norm_momentum(b),
            .whole = p.part.whole,
            .unbiased = this->options_.unbiased_running_variance,
            .relu = b.step->activation >= 0,
            .again = b.step->again,
            .accumulate = b.accumulate};
  }
  /// Returns how the plain loops of a step's operation can be divided.
  parts_of parts_of_loops(bound_step const& b) const { return b.node ? loops_(b.node->kind).parts : parts_of::none; }
  /// Runs the plain loops of a part of a step: samples and channels that begin with these numbers in the whole step.
  void run_part(program const& p, bound_step const& part, int sample, int channel) {
    switch (part.step->what) {
      case action::copy_forward:
      case action::copy_backward: return copy(part.x, part.to, part.accumulate);
      case action::forward: return compute(p, part, loops_(part.node->kind).forward, sample, channel);
      case action::backward: return compute(p, part, loops_(part.node->kind).backward, sample, channel);
      default: unknown(part);
    }
  }
  /// Copies sample n of the batch into the tensor of a load step.
  void load_sample(program const& p, bound_step const& b, int n) const {
    bool const is_first = !b.node;
    int const input = is_first ? 0 : 1 + further_inputs(this->graph_, b.step->node);
    float const* from = p.batch.input(static_cast<std::size_t>(input));
    if (!from || !b.to.data) return;
    from += (first_of(p, b) + n) * b.to.shape.size();
    for (int c = 0; c < b.to.shape.channels; ++c) {
      auto const to = b.to.pixels(n, c);
      for (long long i = 0; i < b.to.shape.area(); ++i) to[i] = static_cast<T>(*from++);
    }
  }
  /// Copies the targets that all outputs share, or those of one output after the other, in a load step.
  void load_targets(program const& p, bound_step const& b) const {
    std::byte* to = b.targets;
    if (!to) return;
    per_output<target_kind> const& kinds = p.plan.options.targets;
    for (int k = 0; k < (kinds.is_shared() ? 1 : kinds.count); ++k) {
      long long const each = targets_each(this->graph_, kinds, k), before = first_of(p, b) * each;
      target_view const own = p.batch.target(k);
      void const* const from = kinds[k] == target_kind::values ? static_cast<void const*>(own.values + before)
                                                               : static_cast<void const*>(own.labels + before);
      std::size_t const bytes = static_cast<std::size_t>(p.plan.samples_of(*b.step).size * each) * 4;
      std::memcpy(to, from, bytes);
      to += bytes;
    }
  }
  /// Returns the loss of a step whose targets are a class for each pixel.
  host::pixel_loss<T> pixel_loss_of(program const& p, bound_step const& b) const {
    int const output = output_number(this->graph_, b.step->node);
    target_view const target = target_of(p, b);
    return {is_of_logits(this->graph_, p.plan.options.loss[output], b.step->node),
            b.x,
            target.labels,
            b.to,
            target.labelled,
            smoothing_of(p, output),
            target.weights,
            this->loss_weight(output),
            b.accumulate};
  }
  bool has_pixel_loss(program const& p, bound_step const& b) const {
    return p.plan.options.targets[output_number(this->graph_, b.step->node)] == target_kind::pixel_classes;
  }
  dropout_draw draw(program const& p, bound_step const& b) const {
    return {this->options_.seed, p.batch.step, static_cast<std::uint32_t>(number_of(this->graph_, b.step->node)),
            static_cast<float>(b.node->rate),
            static_cast<std::uint32_t>(p.part.first + p.plan.samples_of(*b.step).first)};
  }
  [[noreturn, gnu::cold]] static void unknown(bound_step const& b) {
    detail::throw_error<executor_error>({"plan: it has a step of ", b.node ? detail::word_of(*b.node) : "the network",
                                         " that this executor does not support; use another executor"});
  }

 private:
  void load(program const& p, bound_step const& b) const {
    for (int n = 0; n < b.to.batch; ++n) load_sample(p, b, n);
    load_targets(p, b);
  }

  /// Returns the number of a step's first sample in the arrays of the batch.
  static long long first_of(program const& p, bound_step const& b) {
    return p.batch.first + p.plan.samples_of(*b.step).first;
  }

  double smoothing_of(program const& p, int output) const {
    return p.plan.options.loss[output] == dsl::loss::categorical_crossentropy ? this->options_.label_smoothing : 0;
  }
  /// Returns the targets of a loss step's samples or pixels.
  target_view target_of(program const& p, bound_step const& b) const {
    target_view target = p.batch.target(output_number(this->graph_, b.step->node));
    if (target.weights) target.weights += first_of(p, b) * (has_pixel_loss(p, b) ? b.x.shape.area() : 1);
    target.labels = b.target.labels, target.values = b.target.values;
    return target;
  }

  void loss(program const& p, bound_step const& b) {
    int const output = output_number(this->graph_, b.step->node);
    dsl::loss const kind = p.plan.options.loss[output];
    bool const from_logits = is_of_logits(this->graph_, kind, b.step->node);
    double const factor = this->loss_weight(output);
    double const smoothing = smoothing_of(p, output);
    bool const adds = b.step->micro > 0;
    target_view const target = target_of(p, b);
    if (kind == dsl::loss::custom)
      host::compute_custom_loss<T>(*this->custom_loss_of(output), b.x, target.values, b.metrics, b.to, sample_,
                                   p.part.whole, adds, target.weights, factor, b.accumulate);
    else if (target.values)
      host::compute_value_loss<T>(kind, from_logits, b.x, target.values, b.metrics, b.to, p.part.whole, adds,
                                  target.weights, factor, b.accumulate);
    else if (has_pixel_loss(p, b))
      host::compute_pixel_loss<T>(from_logits, b.x, target.labels, b.metrics, b.to, target.labelled, adds, smoothing,
                                  target.weights, factor, b.accumulate);
    else
      host::compute_loss<T>(kind, from_logits, b.x, target.labels, b.metrics, b.to, p.part.whole, adds, smoothing,
                            target.weights, factor, b.accumulate);
  }

  void measure(program const& p, step const& s) {
    auto const [first, count] = this->numbers_of(p, s);
    *this->squares(p, s) = host::sum_of_squares(this->flat(region::gradients) + first, count);
  }
  void update(program const& p, step const& s) {
    this->for_each_update(p, s, [](host::update_call<T> const& c) {
      c.rule->method == update_method::sgd ? host::update_by_sgd(c) : host::update(c);
    });
  }

  void forward(program& p, bound_step const& b) {
    node const& x = *b.node;
    if (x.kind == op::custom) return call(*x.custom, true, {.x = b.x, .y = b.to});
    if (x.kind == op::batch_norm && b.statistics && synchronizes())
      return this->tower()->batch_norm_forward(b.x, batch_norm_operands(b), b.statistics, b.to, x.epsilon,
                                               this->batch_norm_momentum(b), this->options_.unbiased_running_variance,
                                               b.step->activation >= 0);
    compute(p, b, loops_(x.kind).forward);
  }

  void backward(program& p, bound_step const& b) {
    node const& x = *b.node;
    if (x.kind == op::custom) return call_backward(*x.custom, b);
    if (x.kind == op::batch_norm && b.statistics && synchronizes()) {
      batch_norm_gradient<T> const d{b.x, b.dy, b.statistics, b.parameter(role::gamma), b.parameter(role::beta)};
      return this->tower()->batch_norm_backward(d, b.gradient(role::gamma), b.gradient(role::beta), b.to, p.part.whole,
                                                b.accumulate);
    }
    compute(p, b, loops_(x.kind).backward);
  }

  void compute(program const& p, bound_step const& b, typename loops<T>::loop loop, int sample = 0, int channel = 0) {
    if (!loop) unknown(b);
    step const& s = *b.step;
    dropout_draw drawn = draw(p, b);
    drawn.first += static_cast<std::uint32_t>(sample);
    loop(b, {.draw = drawn,
             .momentum = this->batch_norm_momentum(b),
             .unbiased = this->options_.unbiased_running_variance,
             .fused_epsilon = s.batch_norm >= 0 ? this->graph_.nodes[s.batch_norm].epsilon : 0,
             .first_channel = channel});
  }

  /// Runs the backward step of a custom operation. The step's activations are the input and the output, or the one of
  /// them that the operation reads according to its facts.
  static void call_backward(custom_op const& op, bound_step const& b) {
    using operations::values;
    bool const reads_input = contains(op.facts.reads[0], values::first_input);
    bool const reads_output = contains(op.facts.reads[0], values::output);
    custom_call<T> c{.dy = b.dy, .dx = b.to, .accumulate = b.accumulate};
    if (reads_input) c.x = b.x;
    if (view<T const> const& y = reads_input ? b.x2 : b.x; reads_output)
      c.y = {const_cast<T*>(y.data), y.shape, y.batch, y.block, y.buffer_channels, y.channel};
    call(op, false, c);
  }
  static void call(custom_op const& op, bool forward, custom_call<T> const& c) {
    if constexpr (std::is_same_v<T, float>)
      (forward ? op.forward_float : op.backward_float)(c);
    else
      (forward ? op.forward_double : op.backward_double)(c);
  }

  loop_table loops_;
  std::vector<double> sample_;  // memory for one sample's values in a custom loss
};

}  // namespace dsl::plain::TYPENET_MODE
