// SPDX-License-Identifier: MIT
#pragma once

#include <dsl/detail/mode.hpp>
#include <dsl/executors/cuda/convolution_steps.hpp>
#include <dsl/executors/cuda/dense_steps.hpp>
#include <dsl/executors/cuda/fused_softmax_loss.hpp>
#include <dsl/executors/cuda/norm_steps.hpp>
#include <dsl/executors/cuda/product_steps.hpp>
#include <dsl/executors/cuda/movement_steps.hpp>
#include <dsl/executors/cuda/stream_schedule.hpp>
#include <dsl/executors/cuda/token_steps.hpp>
#include <dsl/executors/cuda/tower_steps.hpp>
#include <dsl/view.hpp>

#include <algorithm>
#include <cstddef>
#include <utility>
#include <vector>

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
        movement_(r_),
        products_(r_),
        tokens_(r_),
        meetings_(r_),
        moments_(place_for_moments()),
        norms_(r_, meetings_, moments_),
        towers_(r_, meetings_, moments_) {}

  [[gnu::cold]] void record() {
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
    if (void* const from = at_.buffer(p_.plan.metrics); from && !p_.idle())
      r_.copy(p_.metrics->as<void>(), from, 16, cudaMemcpyDeviceToHost);
  }

 private:
  detail::list<step> const& steps() const { return r_.steps(); }
  int batch() const { return r_.batch(); }
  bool training() const { return r_.training(); }
  template <class... A>
  void launch(kernel_spec spec, A... arguments) {
    r_.launch(std::move(spec), arguments...);
  }
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
      case action::copy_forward: return copy(x, content::activation);
      case action::copy_backward: return copy(x, content::gradient);
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
      return launch(kernels::gather_pictures(type_, batch(), to.shape, p_.augment), d->pictures(), d->labels(),
                    d->mean(), d->order(), e_.state, to.data, at_.buffer(p_.plan.labels));
    bool const ahead = e_.copies && !e_.group;
    void* const labels = at_.buffer(p_.plan.labels);
    for (int i = 0; i < (ahead ? 2 : 1); ++i) {
      host_batch& b = p_.batches.emplace(e_.calls, 4 * batch() * to.shape.size(), e_.stream);
      if (labels) b.labels.emplace(e_.calls, 4LL * batch());
      if (ahead) b.copied.emplace(e_.calls);
    }
    int const k = e_.library.add(kernels::load_pictures(type_, batch(), to.shape));
    r_.enqueue([&e = e_, &p = p_, labels, k, s = r_.stream(), to = to.data] {
      host_batch const& b = p.batches[p.turn];
      auto const copy = [&](void* data, pinned_memory const& from) {
        e.calls(e.calls.cudaMemcpyAsync, data, from.as<void>(), static_cast<std::size_t>(from.bytes()),
                cudaMemcpyHostToDevice, s);
      };
      if (!b.copied) copy(b.pictures.data(), b.images);
      if (labels) copy(labels, *b.labels);
      e.library.launch(k, s, recording::pointer(b.pictures.data()), to);
    });
  }

  // ---- the rest, a launch each -------------------------------------------------------------------------------------
  void forward(step const& x) {
    node const& n = e_.graph.nodes[x.node];
    tensor_at const in = at_.read(x, content::activation), out = at_.written(x, content::activation);
    int const channels = out.shape.channels;
    switch (n.kind) {
      case op::conv2d:
      case op::conv2d_transpose: return convolutions_.forward(x);
      case op::batch_norm: return norms_.infer(x);
      case op::layer_norm:
      case op::group_norm:
      case op::local_response_norm:
      case op::head_norm: return sample_norms_.forward(x);
      case op::activation:
        return launch(kernels::activation_forward(type_, out.pixels, channels, n.function, n.rate, in.at, out.at),
                      in.data, out.data);
      case op::max_pool2d: {
        void* const argmax = at_.buffer(x, content::argmax);
        return launch(kernels::max_pool2d_forward(type_, batch(), in.shape, out.shape, n.window, in.at, out.at, argmax),
                      in.data, out.data, argmax);
      }
      case op::avg_pool2d:
        return launch(
            kernels::avg_pool2d_forward(type_, batch(), in.shape, out.shape, n.window, n.counts_padding, in.at, out.at),
            in.data, out.data);
      case op::dropout:
      case op::stochastic_depth: return dropout(x, in, out, false);
      case op::flatten:
        return launch(kernels::reshape(type_, batch(), in.shape, out.shape, in.at, out.at, false), in.data, out.data);
      case op::dense: return dense_.forward(x);
      case op::softmax:
        return launch(kernels::softmax_forward(type_, out.pixels, channels, in.at, out.at), in.data, out.data);
      case op::add: return sum(x, out);
      case op::multiply: return products_.multiply(x);
      case op::channel_scale: return products_.scale(x);
      case op::zero_pad2d:
      case op::channel_slice:
      case op::channel_shuffle:
      case op::upsample_nearest:
      case op::upsample_bilinear:
      case op::merge_pixels:
      case op::token_slice:
      case op::transpose_tokens: return movement_.forward(x);
      case op::class_token:
      case op::position_embedding: return tokens_.forward(x);
      default: unknown();
    }
  }
  void dropout(step const& x, tensor_at const& in, tensor_at const& out, bool accumulate) {
    node const& n = e_.graph.nodes[x.node];
    auto const spec = n.kind == op::stochastic_depth ? kernels::stochastic_depth : kernels::dropout;
    launch(spec(type_, batch(), out.shape, n.rate, x.node, in.at, out.at, accumulate), in.data, out.data, e_.state);
  }
  void sum(step const& x, tensor_at const& out) {
    int const inputs = e_.graph.nodes[x.node].inputs;
    for (int first = 0; first < inputs; first += 8) {
      kernels::sum_inputs in{};
      std::vector<slice> slices;
      for (int i = first; i < inputs && i < first + 8; ++i) {
        tensor_at const t = at_.read(x, content::activation, i);
        in.x[i - first] = t.data;
        slices.push_back(t.at);
      }
      launch(kernels::sum(type_, out.pixels, out.shape.channels, slices, out.at, first > 0), in, out.data);
    }
  }
  /// Copies between the tensor of a concat or add and one of its inputs. The view of the wider tensor already begins at
  /// the input's channels.
  void copy(step const& x, content what) {
    tensor_at const from = at_.read(x, what), to = at_.written(x, what);
    int const channels = std::min(from.shape.channels, to.shape.channels);
    kernels::sum_inputs const in{{from.data}};
    launch(kernels::copy(type_, to.pixels, channels, from.at, to.at, at_.accumulates(x)), in, to.data);
  }

  void loss(step const& x) {
    tensor_at const y = at_.read(x, content::activation), gradient = at_.written(x, content::gradient);
    bool const from_logits = e_.graph.nodes[e_.graph.size.nodes - 1].kind == op::softmax;
    launch(kernels::loss(type_, p_.plan.options.loss.all, from_logits, batch(), p_.part.whole, y.shape, y.at,
                         gradient.at, !!gradient, e_.options.label_smoothing),
           y.data, at_.buffer(p_.plan.labels), at_.buffer(p_.plan.metrics), gradient.data);
  }
  void softmax_loss(step const& softmax, step const& x) {
    tensor_at const logits = at_.read(softmax, content::activation), y = at_.written(softmax, content::activation);
    tensor_at const gradient = at_.written(x, content::gradient);
    launch(kernels::softmax_loss(type_, p_.plan.options.loss.all, batch(), p_.part.whole, y.shape.channels, logits.at,
                                 y.at, gradient.at, !!gradient, e_.options.label_smoothing),
           logits.data, y.data, at_.buffer(p_.plan.labels), at_.buffer(p_.plan.metrics), gradient.data);
  }

  void backward(step const& x) {
    node const& n = e_.graph.nodes[x.node];
    tensor_at const dy = at_.read(x, content::gradient), dx = at_.written(x, content::gradient);
    tensor_at const from = at_.read(x, content::activation);
    bool const more = at_.accumulates(x);
    int const channels = dx.shape.channels;
    switch (n.kind) {
      case op::batch_norm: return norms_.back_frozen(x);
      case op::activation:
        return launch(
            kernels::activation_backward(type_, dx.pixels, channels, n.function, n.rate, from.at, dy.at, dx.at, more),
            from.data, dy.data, dx.data);
      case op::max_pool2d:
        return launch(kernels::max_pool2d_backward(type_, batch(), dx.shape, dy.shape, n.window, dx.at, dy.at, more),
                      dy.data, at_.buffer(x, content::argmax), dx.data);
      case op::avg_pool2d:
        return launch(kernels::avg_pool2d_backward(type_, batch(), dx.shape, dy.shape, n.window, n.counts_padding,
                                                   dx.at, dy.at, more),
                      dy.data, dx.data);
      case op::dropout:
      case op::stochastic_depth: return dropout(x, dy, dx, more);
      case op::flatten:
        return launch(kernels::reshape(type_, batch(), dy.shape, dx.shape, dy.at, dx.at, more), dy.data, dx.data);
      case op::layer_norm:
      case op::group_norm:
      case op::local_response_norm:
      case op::head_norm: return sample_norms_.backward(x);
      case op::softmax:
        return launch(kernels::softmax_backward(type_, dx.pixels, channels, from.at, dy.at, dx.at, more), from.data,
                      dy.data, dx.data);
      case op::zero_pad2d:
      case op::channel_slice:
      case op::channel_shuffle:
      case op::upsample_nearest:
      case op::upsample_bilinear:
      case op::merge_pixels:
      case op::token_slice:
      case op::transpose_tokens: return movement_.backward(x);
      case op::class_token:
      case op::position_embedding: return tokens_.backward(x);
      case op::multiply: return products_.multiply_backward(x);
      case op::channel_scale: return products_.scale_backward(x);
      default: unknown();
    }
  }

  bool staged() const { return p_.stage_map && !meetings_.any(); }  // towers sum in float
  /// Computes the factor by which the update scales gradients, as the first number of the step's buffer.
  void measure(step const& x) {
    cu::arena const& a = e_.arena;
    launch(kernels::measure(type_, e_.options.update, a.count(), staged()), a.gradients(),
           staged() ? a.stage() : nullptr, map(), at_.buffer(x, content::squares));
  }
  void* map() const { return staged() ? recording::pointer(p_.stage_map->data()) : nullptr; }
  void update(step const& x) {
    cu::arena const& a = e_.arena;
    float* const slots = e_.options.update.slots() > 0 ? a.slots() : nullptr;
    kernels::update_options const how{.copies = a.copies() != nullptr, .staged = staged()};
    void* const stage = staged() ? a.stage() : nullptr;
    if (e_.parts.count() > 0)
      return launch(kernels::update_by_parts(type_, e_.options.update, a.count(), how), a.parameters(), a.gradients(),
                    slots, a.copies(), stage, map(), at_.buffer(x, content::squares), e_.state, e_.parts.map(),
                    e_.rates());
    launch(kernels::update(type_, e_.options.update, a.count(), how), a.parameters(), a.gradients(), slots, a.copies(),
           stage, map(), at_.buffer(x, content::squares), e_.state);
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
  movement_steps movement_;
  product_steps products_;
  token_steps tokens_;
  tower_meetings meetings_;
  float* moments_;
  batch_norm_steps norms_;
  tower_steps towers_;
};

}  // namespace dsl::cu::TYPENET_MODE
