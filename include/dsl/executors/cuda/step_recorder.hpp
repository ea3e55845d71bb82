// SPDX-License-Identifier: MIT
#pragma once

#include <dsl/detail/mode.hpp>
#include <dsl/executors/cuda/convolution_steps.hpp>
#include <dsl/executors/cuda/dense_steps.hpp>
#include <dsl/executors/cuda/fused_softmax_loss.hpp>
#include <dsl/executors/cuda/kernel_table.hpp>
#include <dsl/executors/cuda/norm_steps.hpp>
#include <dsl/executors/cuda/product_steps.hpp>
#include <dsl/executors/cuda/movement_steps.hpp>
#include <dsl/executors/cuda/single_steps.hpp>
#include <dsl/executors/cuda/stream_schedule.hpp>
#include <dsl/executors/cuda/token_steps.hpp>
#include <dsl/executors/cuda/tower_steps.hpp>
#include <dsl/view.hpp>

#include <cstddef>
#include <utility>

namespace dsl::cu::TYPENET_MODE {

/// Records the work that a run enqueues for a plan's steps.
class step_recorder {
 public:
  /// `bench` is memory that convolutions may use while they are timed.
  step_recorder(engine_parts const& e, program& p, device_memory const& bench)
      : e_(e),
        p_(p),
        r_(e, p),
        at_(r_.at),
        type_(r_.type),
        queues_(r_),
        convolutions_(r_, bench),
        dense_(r_, bench.bytes()),
        sample_norms_(r_),
        single_(r_),
        movement_(r_),
        products_(r_),
        tokens_(r_),
        meetings_(r_),
        moments_(place_for_moments()),
        norms_(r_, meetings_, moments_),
        towers_(r_, meetings_, moments_) {}

  void record() {
    r_.copy(e_.state, e_.host_state, e_.state_bytes(), cudaMemcpyHostToDevice);
    if (p_.idle())
      r_.clear(e_.arena.gradients(), 4 * e_.arena.count());  // a tower without samples adds nothing to the sums
    for (int s = 0, count = 0; s < steps().size(); s += count) {
      count = together(s);
      if (p_.idle() && !meets_others(steps()[s])) continue;
      queues_.turn(s, count);
      record(s);
      queues_.note(s, count);
    }
    r_.join();
    convolutions_.finish();
    if (double* const from = at_.metrics(); from && !p_.idle())
      r_.copy(p_.metrics->as<void>(), from, 16, cudaMemcpyDeviceToHost);
  }

 private:
  detail::list<step> const& steps() const { return r_.steps(); }
  int batch() const { return r_.batch(); }
  bool training() const { return r_.training(); }
  [[noreturn]] static void unknown() { recording::unknown(); }

  /// Returns the memory in which batch_norms store this tower's moments, so that the update changes the running
  /// moments; null if batch_norms change them.
  float* place_for_moments() {
    bool const own = e_.options.moments != tower_moments::synchronized;
    if (!training() || !meetings_.any() || !own || e_.arena.statistics_count() == 0) return nullptr;
    float* const place = r_.numbers(e_.arena.statistics_count() + 1);
    if (!p_.idle()) r_.write(place + e_.arena.statistics_count(), 1);
    return place;
  }
  /// Whether a step is that of a batch_norm which normalises with the moments of the batch, and updates the running
  /// ones. Its backward step also computes the gradients of its parameters.
  bool takes_moments(step const& x) const {
    return x.kind == op::batch_norm && training() && !e_.graph.nodes[x.node].frozen;
  }
  /// Whether a tower without samples takes part in a step.
  bool meets_others(step const& x) const {
    bool const synchronized = takes_moments(x) && e_.options.moments == tower_moments::synchronized;
    bool const takes_gradients = x.what == action::measure || x.what == action::update;
    return synchronized || takes_gradients || x.what == action::all_reduce;
  }

  // ---- steps -------------------------------------------------------------------------------------------------------
  bool ends_in_loss(int s) const { return joins_loss(e_.graph, p_.plan, s); }
  /// Returns how many steps share a launch, starting with step s.
  int together(int s) const {
    step const& x = steps()[s];
    if (takes_moments(x)) return norms_.together(s);
    return ends_in_loss(s) && !p_.idle() ? 2 : 1;
  }
  void record(int s) {
    step const& x = steps()[s];
    switch (x.what) {
      case action::load: return load(x);
      case action::forward:
        if (takes_moments(x)) return norms_.record(s);
        return ends_in_loss(s) ? softmax_loss(x, steps()[s + 1]) : forward(x);
      case action::copy_forward: return single_.copy(x, content::activation);
      case action::copy_backward: return single_.copy(x, content::gradient);
      case action::loss: return loss(x);
      case action::backward: return takes_moments(x) ? norms_.record(s) : backward(x);
      case action::backward_weights:
        return x.kind == op::dense ? dense_.backward_weights(x) : convolutions_.backward_weights(x);
      case action::backward_data: return x.kind == op::dense ? dense_.backward_data(x) : convolutions_.backward_data(x);
      case action::all_reduce:
        if (meetings_.any()) towers_.all_reduce(x);
        return;
      case action::measure:
        if (meetings_.any()) towers_.before_update();
        return measure(x);
      case action::update:
        if (meetings_.any() && x.operands == 0) towers_.before_update();  // otherwise action::measure has done so
        return update(x);
      case action::add_gradients: break;  // only with micro-batches, which the engine refuses
    }
    unknown();
  }

  // ---- the batch ---------------------------------------------------------------------------------------------------
  void load(step const& x) {
    tensor_at const to = at_.written(x, content::activation);
    if (resident_data* const d = p_.data)
      return r_.launch(kernels::gather_pictures(type_, batch(), to.shape, p_.augment), d->pictures(), d->labels(),
                       d->mean(), d->order(), e_.state, to.data, at_.labels());
    bool const ahead = e_.copies && !e_.group;
    std::int32_t* const labels = at_.labels();
    for (int i = 0; i < (ahead ? 2 : 1); ++i) {
      host_batch& b = p_.batches.emplace(e_.calls, 4 * batch() * to.shape.size(), e_.stream);
      if (labels) b.labels.emplace(e_.calls, 4LL * batch());
      if (ahead) b.copied.emplace(e_.calls);
    }
    auto const k = e_.library.add(kernels::load_pictures(type_, batch(), to.shape));
    r_.enqueue([&e = e_, &p = p_, labels, k, s = r_.stream(), to = to.data] {
      host_batch const& b = p.batches[p.turn];
      auto const copy = [&](void* data, pinned_memory const& from) {
        e.calls(e.calls.cudaMemcpyAsync, data, from.as<void>(), static_cast<std::size_t>(from.bytes()),
                cudaMemcpyHostToDevice, s);
      };
      if (!b.copied) copy(b.pictures.data(), b.images);
      if (labels) copy(labels, *b.labels);
      e.library.launch(k, s, b.pictures.as<float>(), to);
    });
  }

  // ---- operations --------------------------------------------------------------------------------------------------
  void forward(step const& x) {
    switch (recorder_of(e_.graph.nodes[x.node])) {
      case recorder::convolutions: return convolutions_.forward(x);
      case recorder::dense: return dense_.forward(x);
      case recorder::batch_norm: return norms_.infer(x);
      case recorder::sample_norms: return sample_norms_.forward(x);
      case recorder::single: return single_.forward(x);
      case recorder::movement: return movement_.forward(x);
      case recorder::products: return products_.forward(x);
      case recorder::tokens: return tokens_.forward(x);
      case recorder::own: return record_row_of(x.kind).forward(r_, x);
      default: unknown();
    }
  }
  void backward(step const& x) {
    switch (recorder_of(e_.graph.nodes[x.node])) {
      case recorder::batch_norm: return norms_.back_frozen(x);
      case recorder::sample_norms: return sample_norms_.backward(x);
      case recorder::single: return single_.backward(x);
      case recorder::movement: return movement_.backward(x);
      case recorder::products: return products_.backward(x);
      case recorder::tokens: return tokens_.backward(x);
      case recorder::own: return record_row_of(x.kind).backward(r_, x);
      default: unknown();
    }
  }

  // ---- the loss and the update -------------------------------------------------------------------------------------
  void loss(step const& x) {
    tensor_at const y = at_.read(x, content::activation), gradient = at_.written(x, content::gradient);
    bool const from_logits = e_.graph.nodes[e_.graph.size.nodes - 1].kind == op::softmax;
    r_.launch(kernels::loss(type_, p_.plan.options.loss.all, from_logits, batch(), p_.part.whole, y.shape, y.at,
                            gradient.at, !!gradient, e_.options.label_smoothing),
              y.data, at_.labels(), at_.metrics(), gradient.data);
  }
  void softmax_loss(step const& softmax, step const& x) {
    tensor_at const logits = at_.read(softmax, content::activation), y = at_.written(softmax, content::activation);
    tensor_at const gradient = at_.written(x, content::gradient);
    r_.launch(kernels::softmax_loss(type_, p_.plan.options.loss.all, batch(), p_.part.whole, y.shape.channels,
                                    logits.at, y.at, gradient.at, !!gradient, e_.options.label_smoothing),
              logits.data, y.data, at_.labels(), at_.metrics(), gradient.data);
  }

  bool staged() const { return p_.stage_map && !meetings_.any(); }  // towers sum in float
  /// Computes the factor by which the update scales gradients, as the first number of the step's buffer.
  void measure(step const& x) {
    cu::arena const& a = e_.arena;
    r_.launch(kernels::measure(type_, e_.options.update, a.count(), staged()), a.gradients(),
              staged() ? a.stage() : nullptr, map(), at_.squares(x));
  }
  unsigned char const* map() const { return staged() ? p_.stage_map->as<unsigned char>() : nullptr; }
  void update(step const& x) {
    cu::arena const& a = e_.arena;
    float* const slots = e_.options.update.slots() > 0 ? a.slots() : nullptr;
    kernels::update_options const how{.copies = a.copies() != nullptr, .staged = staged()};
    element* const stage = staged() ? a.stage() : nullptr;
    if (e_.parts.count() > 0)
      return r_.launch(kernels::update_by_parts(type_, e_.options.update, a.count(), how), a.parameters(),
                       a.gradients(), slots, a.copies(), stage, map(), at_.squares(x), e_.state, e_.parts.map(),
                       e_.rates());
    r_.launch(kernels::update(type_, e_.options.update, a.count(), how), a.parameters(), a.gradients(), slots,
              a.copies(), stage, map(), at_.squares(x), e_.state);
  }

  engine_parts const& e_;
  program& p_;
  recording r_;
  bound_operands const& at_;
  storage type_;
  stream_schedule queues_;
  convolution_steps convolutions_;
  dense_steps dense_;
  norm_steps sample_norms_;
  single_steps single_;
  movement_steps movement_;
  product_steps products_;
  token_steps tokens_;
  tower_meetings meetings_;
  float* moments_;
  batch_norm_steps norms_;
  tower_steps towers_;
};

}  // namespace dsl::cu::TYPENET_MODE
