// SPDX-License-Identifier: MIT
#pragma once

#include <dsl/executors/reference/conv2d.hpp>
#include <dsl/executors/reference/dense.hpp>
#include <dsl/executors/reference/steps.hpp>

#include <string>

namespace dsl::plain {

/// Plain loops for every step, in one thread, in NCHW: the oracle, and the executor that is always there.
template <class T>
class engine final : public steps<T> {
 public:
  using steps<T>::steps;

  long long executor_bytes() const override { return 0; }
  std::string description() const override { return arithmetic() + ", 1 thread"; }
  std::string arithmetic() const override {
    return std::string("reference, plain loops in ") + (sizeof(T) == 8 ? "double" : "float");
  }

 private:
  using program = host::program<T>;
  using bound_step = host::bound_step<T>;

  void execute(program& p, bound_step const& b) override {
    op const kind = b.node ? b.node->kind : op::input;
    bool const multiplies = b.step->what == action::forward || b.step->what == action::backward_weights ||
                            b.step->what == action::backward_data;
    if (multiplies && kind == op::conv2d) return conv2d(b);
    if (multiplies && kind == op::dense) return dense(b);
    steps<T>::execute(p, b);
  }

  void conv2d(bound_step const& b) const {
    window const& w = b.node->window;
    T const* const kernel = b.parameter(role::kernel);
    if (b.step->what == action::backward_weights)
      return conv2d_backward_weights<T>(b.x, b.dy, b.gradient(role::kernel), b.gradient(role::bias), w);
    if (b.step->what == action::backward_data) return conv2d_backward_data<T>(b.dy, kernel, b.to, w, b.accumulate);
    conv2d_forward<T>(b.x, kernel, b.parameter(role::bias), b.to, w);
    bool const relu = b.step->activation >= 0;
    if (b.step->batch_norm >= 0)
      batch_norm_forward<T>(read_only(b.to), this->batch_norm_operands(b), nullptr, b.to,
                            this->graph_.nodes[b.step->batch_norm].epsilon, 0, false, relu);
    else if (relu)
      activation_forward(read_only(b.to), b.to, function::relu, T(0));
  }

  void dense(bound_step const& b) const {
    T const* const kernel = b.parameter(role::kernel);
    if (b.step->what == action::backward_weights)
      dense_backward_weights<T>(b.x, b.dy, b.gradient(role::kernel), b.gradient(role::bias));
    else if (b.step->what == action::backward_data)
      dense_backward_data<T>(b.dy, kernel, b.to, b.accumulate);
    else
      dense_forward<T>(b.x, kernel, b.parameter(role::bias), b.to);
  }
};

}  // namespace dsl::plain
