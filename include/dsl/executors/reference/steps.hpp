// SPDX-License-Identifier: MIT
#pragma once

#include <dsl/executors/host/engine.hpp>
#include <dsl/executors/host/loss.hpp>
#include <dsl/executors/host/squares.hpp>
#include <dsl/executors/host/update.hpp>
#include <dsl/executors/host/value_loss.hpp>
#include <dsl/executors/reference/batch_norm.hpp>
#include <dsl/executors/reference/elementwise.hpp>
#include <dsl/executors/reference/loops.hpp>
#include <dsl/executors/reference/pool2d.hpp>
#include <dsl/operations/conv2d/loops.hpp>
#include <dsl/operations/dense/loops.hpp>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <type_traits>

namespace dsl::plain {

/// Plain loops, in one thread, for every step. Executors in host memory inherit the ones they have nothing faster for;
/// only those of conv2d, batch_norm and pool2d are slow in channel blocks, all are right.
template <class T>
class steps : public host::engine<T> {
 public:
  using host::engine<T>::engine;

 protected:
  using program = host::program<T>;
  using bound_step = host::bound_step<T>;

  [[gnu::cold]] void execute(program& p, bound_step const& b) override {
    switch (b.step->what) {
      case action::load: return load(p, b);
      case action::forward: return forward(p, b);
      case action::loss: return loss(p, b);
      case action::copy_forward:
      case action::copy_backward: return copy(b.x, b.to, b.accumulate);
      case action::backward: return backward(p, b);
      case action::backward_weights:
      case action::backward_data: return b.node->kind == op::conv2d ? plain_conv2d(b) : plain_dense(b);
      case action::measure: return measure(p, *b.step);
      case action::update: return update(p, *b.step);
      default: unknown();
    }
  }

  /// Whether batch_norm takes the moments of the whole batch, of which this engine has a part.
  bool synchronizes() const { return this->tower() && !this->tower()->moments(); }
  batch_norm_parameters<T> batch_norm_operands(bound_step const& b) const {
    return {b.parameter(role::gamma), b.parameter(role::beta), b.parameter(role::moving_mean),
            b.parameter(role::moving_variance), b.parameter(role::bias)};
  }
  [[noreturn, gnu::cold]] static void unknown() {
    detail::refuse<executor_error>({"plan: a step of an operation this executor doesn't know"});
  }

 private:
  [[gnu::cold]] void load(program& p, bound_step const& b) {
    sample_range const part = p.plan.samples_of(*b.step);
    if (float const* from = p.batch.images; from && b.to.data) {
      from += part.first * b.to.shape.size();
      for_each_channel(b.to, [&](int n, int c) {
        auto const to = b.to.pixels(n, c);
        for (long long i = 0; i < b.to.shape.area(); ++i) to[i] = static_cast<T>(*from++);
      });
    }
    if (b.labels)
      for (int n = 0; n < part.size; ++n) b.labels[n] = p.batch.labels[part.first + n];
    if (b.values) {
      long long const outputs = this->graph_.shape_of(this->graph_.result()).size();
      std::memcpy(b.values, p.batch.values + part.first * outputs,
                  static_cast<std::size_t>(part.size * outputs) * sizeof(float));
    }
  }

  [[gnu::cold]] void loss(program const& p, bound_step const& b) const {
    dsl::loss const kind = p.plan.options.loss;
    node const& last = this->graph_.nodes[this->graph_.size.nodes - 1];
    bool const adds = b.step->micro > 0;
    if (b.values)
      host::compute_value_loss<T>(kind, last.kind == op::activation && last.function == function::sigmoid, b.x,
                                  b.values, b.metrics, b.to, p.part.whole, adds);
    else
      host::compute_loss<T>(kind, last.kind == op::softmax, b.x, b.labels, b.metrics, b.to, p.part.whole, adds,
                            this->options_.label_smoothing);
  }

  [[gnu::cold]] void measure(program const& p, step const& s) {
    auto const [first, count] = this->numbers_of(p, s);
    *this->squares(p, s) = host::sum_of_squares(this->flat(region::gradients) + first, count);
  }
  [[gnu::cold]] void update(program const& p, step const& s) {
    host::update_call<T> const c = this->update_of(p, s);
    c.rule->method == update_method::sgd ? host::update_by_sgd(c) : host::update(c);
  }

  [[gnu::cold]] void forward(program& p, bound_step const& b) {
    node const& x = *b.node;
    view<T> const& y = b.to;
    bool const relu = b.step->activation >= 0;
    switch (x.kind) {
      case op::batch_norm:
        if (b.statistics && synchronizes())
          return this->tower()->batch_norm_forward(b.x, batch_norm_operands(b), b.statistics, y, x.epsilon,
                                                   this->batch_norm_momentum(b),
                                                   this->options_.unbiased_running_variance, relu);
        return batch_norm_forward(b.x, batch_norm_operands(b), b.statistics, y, x.epsilon, this->batch_norm_momentum(b),
                                  this->options_.unbiased_running_variance, relu);
      case op::conv2d: return plain_conv2d(b);
      case op::dense: return plain_dense(b);
      case op::activation: return activation_forward(b.x, y, x.function, static_cast<T>(x.rate));
      case op::max_pool2d:
      case op::avg_pool2d: return pool2d_forward(b.x, y, b.argmax, x.window, x.kind == op::avg_pool2d);
      case op::dropout: return dropout(b.x, y, draw(p, b), false);
      case op::flatten: return reshape(b.x, y, false);
      case op::transfer: return copy(b.x, y, false);
      case op::softmax: return softmax_forward(b.x, y);
      case op::add: return sum(p, b);
      case op::custom: return call(*x.custom, true, {.x = b.x, .y = y});
      default: return compute(loops_of<T>(x.kind).forward, b);
    }
  }

  [[gnu::cold]] void backward(program& p, bound_step const& b) {
    node const& x = *b.node;
    view<T> const& dx = b.to;
    switch (x.kind) {
      case op::batch_norm: return backward_batch_norm(p, b);
      case op::activation: return activation_backward(b.x, b.dy, dx, x.function, static_cast<T>(x.rate), b.accumulate);
      case op::max_pool2d:
      case op::avg_pool2d: return pool2d_backward(b.dy, b.argmax, dx, x.window, x.kind == op::avg_pool2d, b.accumulate);
      case op::dropout: return dropout(b.dy, dx, draw(p, b), b.accumulate);
      case op::flatten: return reshape(b.dy, dx, b.accumulate);
      case op::transfer: return copy(b.dy, dx, b.accumulate);
      case op::softmax: return softmax_backward(b.x, b.dy, dx, b.accumulate);
      case op::custom:
        return call(
            *x.custom, false,
            {.x = b.x,
             .y = {const_cast<T*>(b.x2.data), b.x2.shape, b.x2.batch, b.x2.block, b.x2.buffer_channels, b.x2.channel},
             .dy = b.dy,
             .dx = dx,
             .accumulate = b.accumulate});
      default: return compute(loops_of<T>(x.kind).backward, b);
    }
  }
  static void compute(void (*loop)(bound_step const&), bound_step const& b) { loop ? loop(b) : unknown(); }

  [[gnu::cold]] void plain_conv2d(bound_step const& b) const {
    window const& w = b.node->window;
    T const* const kernel = b.parameter(role::kernel);
    if (b.step->what == action::backward_weights)
      return conv2d_backward_weights<T>(b.x, b.dy, b.gradient(role::kernel), b.gradient(role::bias), w, b.node->groups);
    if (b.step->what == action::backward_data)
      return conv2d_backward_data<T>(b.dy, kernel, b.to, w, b.accumulate, b.node->groups);
    conv2d_forward<T>(b.x, kernel, b.parameter(role::bias), b.to, w, b.node->groups);
    bool const relu = b.step->activation >= 0;
    if (b.step->batch_norm >= 0)
      batch_norm_forward<T>(read_only(b.to), this->batch_norm_operands(b), nullptr, b.to,
                            this->graph_.nodes[b.step->batch_norm].epsilon, 0, false, relu);
    else if (relu)
      activation_forward(read_only(b.to), b.to, function::relu, T(0));
  }

  [[gnu::cold]] void plain_dense(bound_step const& b) const {
    T const* const kernel = b.parameter(role::kernel);
    if (b.step->what == action::backward_weights)
      dense_backward_weights<T>(b.x, b.dy, b.gradient(role::kernel), b.gradient(role::bias));
    else if (b.step->what == action::backward_data)
      dense_backward_data<T>(b.dy, kernel, b.to, b.accumulate);
    else
      dense_forward<T>(b.x, kernel, b.parameter(role::bias), b.to);
  }

  [[gnu::cold]] void backward_batch_norm(program const& p, bound_step const& b) {
    batch_norm_gradient<T> const d{b.x, b.dy, b.statistics, b.parameter(role::gamma), b.parameter(role::beta)};
    T *const dgamma = b.gradient(role::gamma), *const dbeta = b.gradient(role::beta);
    if (synchronizes()) return this->tower()->batch_norm_backward(d, dgamma, dbeta, b.to, p.part.whole, b.accumulate);
    batch_norm_sums(d, dgamma, dbeta);
    T const count = static_cast<T>(b.x.batch) * static_cast<T>(b.x.shape.area());
    if (b.to.data) batch_norm_backward_data<T>(d, dgamma, dbeta, count, b.to, b.accumulate);
  }

  dropout_draw draw(program const& p, bound_step const& b) const {
    return {this->options_.seed, p.batch.step, static_cast<std::uint32_t>(number_of(this->graph_, b.step->node)),
            static_cast<float>(b.node->rate),
            static_cast<std::uint32_t>(p.part.first + p.plan.samples_of(*b.step).first)};
  }

  [[gnu::cold]] void sum(program const& p, bound_step const& b) const {
    for (int k = 0; k < b.node->inputs; ++k)
      copy(this->template tensor<T const>(p, *b.step, content::activation, k), b.to, k > 0);
  }

  static void call(custom_op const& op, bool forward, custom_call<T> const& c) {
    if constexpr (std::is_same_v<T, float>)
      (forward ? op.forward_float : op.backward_float)(c);
    else
      (forward ? op.forward_double : op.backward_double)(c);
  }
};

}  // namespace dsl::plain
