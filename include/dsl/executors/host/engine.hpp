// SPDX-License-Identifier: MIT
#pragma once

#include <dsl/detail/message.hpp>
#include <dsl/executors/engine.hpp>
#include <dsl/executors/host/memory.hpp>
#include <dsl/executors/host/task.hpp>
#include <dsl/plan/make_plan.hpp>
#include <dsl/plan/verify.hpp>
#include <dsl/view.hpp>

#include <vector>

namespace dsl::host {

/// A plan with its memory and, for each step, what to call.
struct program {
  dsl::plan plan{};
  std::shared_ptr<memory_block> activations{};
  std::vector<task> steps{};
  batch_view batch{};  // of the run in progress
};

/// What every executor in host memory shares: regions, operands as views, parameters in and out. T is the number it
/// computes in; an executor adds its target and one builder per step.
template <class T>
class engine : public dsl::engine {
 public:
  int prepare(mode m, int batch) override {
    for (std::size_t i = 0; i < programs_.size(); ++i)
      if (programs_[i]->plan.options.mode == m && programs_[i]->plan.options.batch == batch) return static_cast<int>(i);
    auto p = std::make_unique<program>();
    p->plan = make_plan(graph_, plan_options_for(m, batch));
    if (plan_verdict const v = verify(graph_, p->plan); !v.holds())
      throw executor_error(detail::message({"plan: ", explain(v.broken), " (step ", v.step, ")"}));
    allocate(*p);
    for (step const& s : p->plan.steps) p->steps.push_back(build(*p, s));
    programs_.push_back(std::move(p));
    return static_cast<int>(programs_.size()) - 1;
  }

  void run(int which, batch_view const& batch) override {
    program& p = *programs_[static_cast<std::size_t>(which)];
    if (batch.size != p.plan.options.batch)
      throw option_error(
          detail::message({"batch: this program takes ", p.plan.options.batch, " samples, not ", batch.size}));
    p.batch = batch;
    before_run(p);
    for (auto const& s : p.steps) s();
  }

  batch_metrics metrics(int which) override {
    program const& p = *programs_[static_cast<std::size_t>(which)];
    auto const* m = reinterpret_cast<double const*>(address(p, p.plan.metrics));
    return {m[0], m[1]};
  }

  void read_result(int which, float* out) override {
    program const& p = *programs_[static_cast<std::size_t>(which)];
    view<T> const y = view_of<T>(p, content::activation, graph_.result(), p.plan.activations[graph_.result()]);
    for (int n = 0; n < y.batch; ++n)
      for (int c = 0; c < y.shape.channels; ++c)
        for (long long i = 0; i < y.shape.area(); ++i) *out++ = static_cast<float>(y(n, c, i));
  }

  void read_parameter(int k, float* out) override { copy(parameter_data(k), out, k); }
  void write_parameter(int k, float const* in) override {
    copy(in, parameter_data(k), k);
    ++parameters_version_;
  }
  void read_slot(int s, int k, float* out) override { copy(slot_data(s, k), out, k); }
  void write_slot(int s, int k, float const* in) override { copy(in, slot_data(s, k), k); }

  /// The same numbers without rounding to float; tests of gradients in double need them.
  T* parameter_data(int k) { return at<T>(state_, region_of(k), offset_of(k)); }
  T* parameter_gradient_data(int k) { return at<T>(training_state_, region::gradients, offset_of(k)); }
  T* slot_data(int s, int k) {
    require_training_state();
    return at<T>(training_state_, region::slots,
                 s * layout_.region_bytes[static_cast<int>(region::parameters)] + offset_of(k));
  }
  /// Where a program's pictures go: (batch, channels, height, width), in the target's channel blocks from 16 channels
  /// on. Whatever is there is used up by a run.
  T* input_data(int which) {
    program const& p = *programs_[static_cast<std::size_t>(which)];
    return reinterpret_cast<T*>(address(p, p.plan.activations[graph_.nodes[0].output].buffer));
  }
  program const& prepared(int which) const { return *programs_[static_cast<std::size_t>(which)]; }

  long long arena_bytes() const override {
    long long bytes = state_.bytes() + (training_state_ ? training_state_->bytes() : 0);
    std::vector<memory_block const*> seen;
    for (auto const& p : programs_) {
      bool known = false;
      for (memory_block const* s : seen) known = known || s == p->activations.get();
      if (!known) bytes += p->activations->bytes(), seen.push_back(p->activations.get());
    }
    return bytes;
  }

 protected:
  engine(graph_view const& g, engine_options const& o, target const& to)
      : dsl::engine(g, o),
        target_(to),
        layout_(make_plan(g, {1, mode::training, to, o.update.slots(), o.loss})),
        state_(bytes_of(region::parameters) + bytes_of(region::statistics)) {}

  virtual task build(program& p, step const& s) = 0;
  virtual void before_run(program&) {}

  plan_options plan_options_for(mode m, int batch) const {
    return {batch, m, target_, options_.update.slots(), options_.loss};
  }

  /// Begin of a buffer in memory.
  std::byte* address(program const& p, int b) const {
    buffer const& x = p.plan.buffers[b];
    switch (x.where) {
      case region::activations: return p.activations->data() + x.offset;
      case region::parameters: return state_.data() + x.offset;
      case region::statistics: return state_.data() + bytes_of(region::parameters) + x.offset;
      case region::gradients: return training_state_->data() + x.offset;
      default: return training_state_->data() + bytes_of(region::gradients) + x.offset;
    }
  }

  template <class U>
  view<U> view_of(program const& p, content what, int index, placement where) const {
    buffer const& b = p.plan.buffers[where.buffer];
    bool const is_tensor = what == content::activation || what == content::gradient;
    shape const& s = is_tensor ? graph_.shape_of(index) : b.shape;
    return {reinterpret_cast<U*>(address(p, where.buffer)),
            s,
            p.plan.options.batch,
            b.block,
            static_cast<int>(padded_channels(b) * b.shape.area() / s.area()),  // flatten: 2x3x3 as 18 of one pixel
            where.channel};
  }

  /// The i-th operand of a step that holds `what`; all of a step's operands are found this way, once.
  operand const* find(program const& p, step const& s, content what, int skip = 0) const {
    for (int i = 0; i < s.operands; ++i) {
      operand const& o = p.plan.operands[s.first_operand + i];
      if (o.what == what && skip-- == 0) return &o;
    }
    return nullptr;
  }
  template <class U>
  view<U> tensor(program const& p, step const& s, content what, int skip = 0) const {
    operand const* o = find(p, s, what, skip);
    return o ? view_of<U>(p, what, o->index, {o->buffer, o->channel}) : view<U>{};
  }
  T* data(program const& p, step const& s, content what, int skip = 0) const {
    operand const* o = find(p, s, what, skip);
    return o ? reinterpret_cast<T*>(address(p, o->buffer)) : nullptr;
  }
  /// The parameter of one role that a step reads: the first, or the last where two nodes have one (a bias skipped).
  T* role_data(program const& p, step const& s, role r) const {
    T* found = nullptr;
    for (int i = 0; i < s.operands; ++i) {
      operand const& o = p.plan.operands[s.first_operand + i];
      if (o.what == content::parameter && graph_.parameters[o.index].role == r)
        found = reinterpret_cast<T*>(address(p, o.buffer));
    }
    return found;
  }
  T* gradient_of_role(program const& p, step const& s, role r) const {
    for (int i = 0; i < s.operands; ++i) {
      operand const& o = p.plan.operands[s.first_operand + i];
      if (o.what == content::parameter_gradient && graph_.parameters[o.index].role == r)
        return reinterpret_cast<T*>(address(p, o.buffer));
    }
    return nullptr;
  }

  double batch_norm_momentum(node const& n) const {
    return options_.batch_norm_momentum >= 0 ? options_.batch_norm_momentum : n.momentum;
  }

  /// Flat arrays for the update step: parameters, gradients, slots have the same offsets.
  long long trainable_numbers() const { return bytes_of(region::parameters) / static_cast<long long>(sizeof(T)); }
  T* flat(region r) { return r == region::parameters ? at<T>(state_, r, 0) : at<T>(training_state_, r, 0); }
  void parameters_changed() { ++parameters_version_; }
  std::uint64_t parameters_version() const { return parameters_version_; }

 private:
  long long bytes_of(region r) const { return layout_.region_bytes[static_cast<int>(r)]; }
  region region_of(int k) const { return layout_.buffers[layout_.parameter_buffers[k]].where; }
  long long offset_of(int k) const { return layout_.buffers[layout_.parameter_buffers[k]].offset; }

  template <class U>
  U* at(memory_block const& block, region r, long long offset) const {
    long long const base = r == region::statistics ? bytes_of(region::parameters)
                           : r == region::slots    ? bytes_of(region::gradients)
                                                   : 0;
    return reinterpret_cast<U*>(block.data() + base + offset);
  }
  template <class U>
  U* at(std::unique_ptr<memory_block> const& block, region r, long long offset) const {
    return at<U>(*block, r, offset);
  }

  template <class From, class To>
  void copy(From const* from, To* to, int k) const {
    for (long long i = 0; i < graph_.parameters[k].count(); ++i) to[i] = static_cast<To>(from[i]);
  }

  void require_training_state() {
    if (!training_state_)
      training_state_ = std::make_unique<memory_block>(bytes_of(region::gradients) + bytes_of(region::slots));
  }

  /// Programs never run at the same time, so they share one block of activations where it is large enough.
  void allocate(program& p) {
    if (p.plan.options.mode == mode::training) require_training_state();
    long long const needed = p.plan.region_bytes[static_cast<int>(region::activations)];
    for (auto const& other : programs_)
      if (other->activations->bytes() >= needed) p.activations = other->activations;
    if (!p.activations) p.activations = std::make_shared<memory_block>(needed);
  }

  target target_;
  plan layout_;  // where parameters are; the same in every plan of this network
  memory_block state_;
  std::unique_ptr<memory_block> training_state_;
  std::vector<std::unique_ptr<program>> programs_;
  std::uint64_t parameters_version_ = 1;
};

}  // namespace dsl::host
