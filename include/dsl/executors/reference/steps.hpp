// SPDX-License-Identifier: MIT
#pragma once

#include <dsl/executors/host/engine.hpp>
#include <dsl/executors/host/loss.hpp>
#include <dsl/executors/host/update.hpp>
#include <dsl/executors/reference/batch_norm.hpp>
#include <dsl/executors/reference/conv2d.hpp>
#include <dsl/executors/reference/elementwise.hpp>
#include <dsl/executors/reference/pool2d.hpp>

#include <algorithm>
#include <type_traits>

namespace dsl::plain {

template <class T>
void relu_in_place(view<T> y) {
  for_each(y, [&](int n, int c, long long i) { y(n, c, i) = apply(function::relu, y(n, c, i), T(0)); });
}

template <class T>
void call(custom_op const& op, bool forward, custom_call<T> const& c) {
  if constexpr (std::is_same_v<T, float>)
    (forward ? op.forward_float : op.backward_float)(c);
  else
    (forward ? op.forward_double : op.backward_double)(c);
}

/// Plain loops for every step, in one thread, in NCHW: the oracle, and the executor that is always there. Other
/// executors in host memory inherit the steps they have nothing faster for, except that those in reference/conv2d,
/// batch_norm and pool2d work on whole planes and so need channel block 1.
template <class T>
class engine : public host::engine<T> {
 public:
  engine(graph_view const& g, engine_options const& o, target const& to) : host::engine<T>(g, o, to) {}

  long long executor_bytes() const override { return 0; }
  std::string description() const override {
    return std::string("reference, plain loops in ") + (sizeof(T) == 8 ? "double" : "float") + ", 1 thread";
  }

 protected:
  using program = host::program;

  [[gnu::cold]] host::task build(program& p, step const& s) override {
    switch (s.what) {
      case action::load: return load(p, s);
      case action::forward: return forward(p, s);
      case action::loss: return loss(p, s);
      case action::copy_forward:
      case action::copy_backward: return copy(p, s);
      case action::backward_weights: return backward_weights(p, s);
      case action::backward_data: return backward_data(p, s);
      case action::backward: return backward(p, s);
      case action::update: return update(p);
    }
    throw executor_error("plan: a step of a kind this executor doesn't know");
  }

  node const& node_of(step const& s) const { return this->graph_.nodes[s.node]; }
  /// The tensor a step writes its result to, and whether it adds to what is there.
  view<T> result(program const& p, step const& s, content what) const {
    for (int i = s.operands - 1; i >= 0; --i) {
      operand const& o = p.plan.operands[s.first_operand + i];
      if (o.what == what && o.how != access::read)
        return this->template view_of<T>(p, what, o.index, {o.buffer, o.channel});
    }
    return {};
  }
  static bool accumulates(program const& p, step const& s) {
    for (int i = 0; i < s.operands; ++i) {
      operand const& o = p.plan.operands[s.first_operand + i];
      if (o.what == content::gradient && o.how == access::accumulate) return true;
    }
    return false;
  }
  view<T const> activation(program const& p, step const& s, int skip = 0) const {
    return this->template tensor<T const>(p, s, content::activation, skip);
  }
  view<T const> gradient(program const& p, step const& s) const {
    return this->template tensor<T const>(p, s, content::gradient);
  }
  dropout_draw draw(program const& p, step const& s) const {
    return {this->options_.seed, p.batch.step, static_cast<std::uint32_t>(s.node), static_cast<float>(node_of(s).rate)};
  }

  /// Where a max pool remembers its maxima: one byte a window, or two for windows of more than 256 values.
  template <class Index>
  view<Index> argmax(program const& p, step const& s) const {
    return this->template tensor<Index>(p, s, content::argmax);
  }
  int argmax_bytes(program const& p, step const& s) const {
    operand const* const o = this->find(p, s, content::argmax);
    return o ? p.plan.buffers[o->buffer].element_bytes : 0;
  }

  [[gnu::cold]] host::task load(program& p, step const& s) {
    view<T> const x = result(p, s, content::activation);
    auto* const labels = p.plan.labels < 0 ? nullptr : reinterpret_cast<std::int32_t*>(this->address(p, p.plan.labels));
    return [=, &p] {
      if (p.batch.images && x.block == 1) std::copy_n(p.batch.images, x.batch * x.shape.size(), x.data);
      if (p.batch.images && x.block > 1) {
        float const* from = p.batch.images;
        for_each(x, [&](int n, int c, long long i) { x(n, c, i) = static_cast<T>(*from++); });
        zero_padding(x);
      }
      if (labels) std::copy_n(p.batch.labels, x.batch, labels);
    };
  }

  [[gnu::cold]] host::task loss(program& p, step const& s) {
    bool const from_logits = this->graph_.nodes[this->graph_.size.nodes - 1].kind == op::softmax;
    view<T const> const y = activation(p, s);
    view<T> const gradient = result(p, s, content::gradient);
    auto const* labels = reinterpret_cast<std::int32_t const*>(this->address(p, p.plan.labels));
    auto* metrics = reinterpret_cast<double*>(this->address(p, p.plan.metrics));
    return [=, kind = p.plan.options.loss] { host::compute_loss<T>(kind, from_logits, y, labels, metrics, gradient); };
  }

  [[gnu::cold]] host::task update(program& p) {
    T* const slots = this->options_.update.slots() > 0 ? this->flat(region::slots) : nullptr;
    return [=, this, &p] {
      host::update(this->options_.update, p.batch.learning_rate, this->flat(region::parameters),
                   this->flat(region::gradients), slots, this->trainable_numbers());
      this->parameters_changed();
    };
  }

  /// Between a concat's or add's tensor and one of its inputs; the wider one has its channels counted off already.
  [[gnu::cold]] host::task copy(program& p, step const& s) {
    content const what = s.what == action::copy_forward ? content::activation : content::gradient;
    view<T const> from = this->template tensor<T const>(p, s, what);
    view<T> to = result(p, s, what);
    int const channels = std::min(from.shape.channels, to.shape.channels);
    from.shape.channels = to.shape.channels = channels;
    bool const accumulate = accumulates(p, s);
    return [=] {
      for_each(to, [&](int n, int c, long long i) { add_to(to(n, c, i), from(n, c, i), accumulate); });
      if (to.channel + channels > to.buffer_channels - to.block) zero_padding(to);
    };
  }
  /// A channel block's unused places hold zeros: whoever writes the last channel writes them.
  static void zero_padding(view<T> to) {
    view<T> padding = to;
    padding.channel = to.channel + to.shape.channels;
    padding.shape.channels = to.buffer_channels - padding.channel;
    if (padding.shape.channels < to.block) for_each(padding, [&](int n, int c, long long i) { padding(n, c, i) = 0; });
  }

  batch_norm_parameters<T> batch_norm_operands(program const& p, step const& s) const {
    return {this->role_data(p, s, role::gamma), this->role_data(p, s, role::beta),
            this->role_data(p, s, role::moving_mean), this->role_data(p, s, role::moving_variance),
            this->role_data(p, s, role::bias)};
  }

  [[gnu::cold]] host::task forward(program& p, step const& s) {
    node const& x = node_of(s);
    view<T const> const in = activation(p, s);
    view<T> const out = result(p, s, content::activation);
    bool const training = p.plan.options.mode == mode::training;
    switch (x.kind) {
      case op::conv2d: return forward_conv2d(p, s, in, out);
      case op::batch_norm: {
        auto const q = batch_norm_operands(p, s);
        bool const relu = s.activation >= 0;
        if (!training) return [=, e = x.epsilon] { batch_norm_inference(in, q, out, e, relu); };
        T* const statistics = this->data(p, s, content::statistics);
        return [=, e = x.epsilon, m = this->batch_norm_momentum(x), u = this->options_.unbiased_running_variance] {
          batch_norm_forward(in, q, statistics, out, e, m, u, relu);
        };
      }
      case op::activation:
        return [=, f = x.function, alpha = static_cast<T>(x.rate)] {
          for_each(out, [&](int n, int c, long long i) { out(n, c, i) = apply(f, in(n, c, i), alpha); });
        };
      case op::max_pool2d: {
        if (argmax_bytes(p, s) == 2)
          return [=, w = x.window, a = argmax<std::uint16_t>(p, s)] { max_pool2d_forward(in, out, a, w); };
        return [=, w = x.window, a = argmax<std::uint8_t>(p, s)] { max_pool2d_forward(in, out, a, w); };
      }
      case op::avg_pool2d: return [=, w = x.window] { avg_pool2d_forward(in, out, w); };
      case op::dropout: return [=, this, &p] { dropout(in, out, draw(p, s), false); };
      case op::flatten: return [=] { reshape(in, out, false); };
      case op::dense:
        return [=, k = this->role_data(p, s, role::kernel), b = this->role_data(p, s, role::bias)] {
          dense_forward<T>(in, k, b, out);
        };
      case op::softmax: return [=] { softmax_forward(in, out); };
      case op::add: return sum(p, s, out);
      case op::custom: return [=, o = x.custom] { call<T>(*o, true, {.x = in, .y = out}); };
      default: throw executor_error("plan: a forward step of an operation this executor doesn't know");
    }
  }

  [[gnu::cold]] host::task forward_conv2d(program& p, step const& s, view<T const> in, view<T> out) {
    window const w = node_of(s).window;
    T const* const kernel = this->role_data(p, s, role::kernel);
    T const* const bias = this->role_data(p, s, role::bias);
    bool const relu = s.activation >= 0;
    if (s.batch_norm < 0)
      return [=] {
        conv2d_forward(in, kernel, bias, out, w);
        if (relu) relu_in_place(out);
      };
    return [=, q = batch_norm_operands(p, s), e = this->graph_.nodes[s.batch_norm].epsilon] {
      conv2d_forward(in, kernel, bias, out, w);
      batch_norm_inference(view<T const>{out.data, out.shape, out.batch, out.block, out.buffer_channels, out.channel},
                           q, out, e, relu);
    };
  }

  [[gnu::cold]] host::task sum(program& p, step const& s, view<T> out) {
    std::vector<view<T const>> in;
    for (int i = 0; i < node_of(s).inputs; ++i) in.push_back(activation(p, s, i));
    return [=] {
      for_each(out, [&](int n, int c, long long i) {
        T value = 0;
        for (view<T const> const& x : in) value += x(n, c, i);
        out(n, c, i) = value;
      });
    };
  }

  /// Flatten where the layouts differ: the i-th value in (channel, row, column) order stays the i-th.
  static void reshape(view<T const> from, view<T> to, bool accumulate) {
    long long const from_area = from.shape.area();
    long long const to_area = to.shape.area();
    for (int n = 0; n < to.batch; ++n)
      for (long long i = 0; i < to.shape.size(); ++i)
        add_to(to(n, static_cast<int>(i / to_area), i % to_area),
               from(n, static_cast<int>(i / from_area), i % from_area), accumulate);
  }

  [[gnu::cold]] host::task backward_weights(program& p, step const& s) {
    node const& x = node_of(s);
    view<T const> const in = activation(p, s);
    view<T const> const dy = gradient(p, s);
    T* const dkernel = this->gradient_of_role(p, s, role::kernel);
    T* const dbias = this->gradient_of_role(p, s, role::bias);
    if (x.kind == op::dense) return [=] { dense_backward_weights<T>(in, dy, dkernel, dbias); };
    return [=, w = x.window] { conv2d_backward_weights<T>(in, dy, dkernel, dbias, w); };
  }

  [[gnu::cold]] host::task backward_data(program& p, step const& s) {
    node const& x = node_of(s);
    view<T const> const dy = gradient(p, s);
    view<T> const dx = result(p, s, content::gradient);
    bool const accumulate = accumulates(p, s);
    T const* const kernel = this->role_data(p, s, role::kernel);
    if (x.kind == op::dense) return [=] { dense_backward_data<T>(dy, kernel, dx, accumulate); };
    return [=, w = x.window] { conv2d_backward_data<T>(dy, kernel, dx, w, accumulate); };
  }

  [[gnu::cold]] host::task backward(program& p, step const& s) {
    node const& x = node_of(s);
    view<T const> const dy = gradient(p, s);
    view<T> const dx = result(p, s, content::gradient);
    bool const accumulate = accumulates(p, s);
    switch (x.kind) {
      case op::batch_norm:
        return [=, in = activation(p, s), statistics = this->data(p, s, content::statistics),
                q = batch_norm_operands(p, s), dgamma = this->gradient_of_role(p, s, role::gamma),
                dbeta = this->gradient_of_role(p, s, role::beta)] {
          batch_norm_backward<T>(in, statistics, q.gamma, q.beta, dy, dx, dgamma, dbeta, accumulate);
        };
      case op::activation:
        return [=, from = activation(p, s), f = x.function, alpha = static_cast<T>(x.rate)] {
          for_each(dx, [&](int n, int c, long long i) {
            T const v = from(n, c, i);
            add_to(dx(n, c, i), dy(n, c, i) * derivative(f, v, v, alpha), accumulate);
          });
        };
      case op::max_pool2d: {
        if (argmax_bytes(p, s) == 2)
          return [=, w = x.window, a = argmax<std::uint16_t>(p, s)] { max_pool2d_backward(dy, a, dx, w, accumulate); };
        return [=, w = x.window, a = argmax<std::uint8_t>(p, s)] { max_pool2d_backward(dy, a, dx, w, accumulate); };
      }
      case op::avg_pool2d: return [=, w = x.window] { avg_pool2d_backward(dy, dx, w, accumulate); };
      case op::dropout: return [=, this, &p] { dropout(dy, dx, draw(p, s), accumulate); };
      case op::flatten: return [=] { reshape(dy, dx, accumulate); };
      case op::softmax: return [=, y = activation(p, s)] { softmax_backward(y, dy, dx, accumulate); };
      case op::custom:
        return [=, o = x.custom, in = activation(p, s), y = this->template tensor<T>(p, s, content::activation, 1)] {
          call<T>(*o, false, {.x = in, .y = y, .dy = dy, .dx = dx, .accumulate = accumulate});
        };
      default: throw executor_error("plan: a backward step of an operation this executor doesn't know");
    }
  }
};

}  // namespace dsl::plain
