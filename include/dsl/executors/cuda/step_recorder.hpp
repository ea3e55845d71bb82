// SPDX-License-Identifier: MIT
#pragma once

#include <dsl/executors/cuda/program.hpp>
#include <dsl/view.hpp>

namespace dsl::cu {

/// bf16: tensors in 16 bits, tensor cores. tf32: tensors in float, factors rounded to 10 bits of mantissa.
/// fp32_strict: float throughout. Sums, statistics, parameters, gradients and losses are in float in all three.
enum class precision : unsigned char { bf16, tf32, fp32_strict };

constexpr storage storage_of(precision p) { return p == precision::bf16 ? storage::bf16 : storage::f32; }
constexpr convolution_precision factors_of(precision p) {
  return p == precision::bf16   ? convolution_precision::bf16
         : p == precision::tf32 ? convolution_precision::tf32
                                : convolution_precision::fp32_strict;
}

/// What all programs of an engine share.
struct engine_parts {
  api const& calls;
  graph_view const& graph;
  engine_options const& options;
  cu::precision precision;
  bool deterministic;
  cudaStream_t stream;
  cu::arena& arena;
  kernel_library& library;
  cudnn_handle& cudnn;
  plan_target const& target;
  plan_cache const& plans;
  step_state* state;  // on the device
};

/// Turns a plan's steps into what a run enqueues.
class step_recorder {
 public:
  step_recorder(engine_parts const& e, program& p, device_memory const& bench)
      : e_(e), p_(p), at_(e.graph, p), type_(storage_of(e.precision)), bench_(bench) {}

  [[gnu::cold]] void record() {
    for (int s = 0; s < steps().size();) s += record(s);
  }
  /// Where the gradient of a parameter is made in the storage type, by parameter.
  std::vector<bool> const& staged() const { return staged_; }

 private:
  detail::list<step> const& steps() const { return p_.plan.steps; }
  int batch() const { return p_.plan.options.batch; }
  bool training() const { return p_.plan.options.mode == mode::training; }

  /// Adds a kernel's launch; arguments are kept by value.
  template <class... A>
  void launch(kernel_spec spec, A... arguments) {
    bool const meets = spec.counters > 0;
    int const k = e_.library.add(std::move(spec));
    if (meets)
      p_.launches.push_back([&e = e_, &p = p_, k, ... a = arguments] {
        e.library.launch(k, e.stream, a..., pointer(p.scratch->data()), pointer(p.counters->data()));
      });
    else
      p_.launches.push_back([&e = e_, k, ... a = arguments] { e.library.launch(k, e.stream, a...); });
  }
  static void* pointer(void* p) { return p; }

  /// Records a step, or several that share a launch; returns how many.
  int record(int s) {
    step const& x = steps()[s];
    switch (x.what) {
      case action::load: load(x); return 1;
      case action::forward:
        if (x.kind == op::batch_norm && training()) return batch_norms(s);
        if (x.kind == op::softmax && s + 1 < steps().size() && steps()[s + 1].what == action::loss) {
          softmax_loss(x, steps()[s + 1]);
          return 2;
        }
        forward(x);
        return 1;
      case action::copy_forward: copy(x, content::activation); return 1;
      case action::copy_backward: copy(x, content::gradient); return 1;
      case action::loss: loss(x); return 1;
      case action::backward:
        if (x.kind == op::batch_norm) return batch_norms(s);
        backward(x);
        return 1;
      case action::backward_weights: backward_weights(x); return 1;
      case action::backward_data: backward_data(x); return 1;
      case action::update: update(); return 1;
      case action::all_reduce: break;  // no plan for one device has it
    }
    unknown();
  }
  [[noreturn]] static void unknown() {
    throw executor_error("plan: a step of an operation this executor doesn't know");
  }

  // ---- the batch ---------------------------------------------------------------------------------------------------
  void load(step const& x) {
    tensor_at const to = at_.written(x, content::activation);
    if (resident_data* const d = p_.data)
      return launch(
          kernels::gather_pictures(type_, batch(), to.shape, p_.augment.as<shift_and_flip>(), e_.options.seed),
          d->pictures(), d->labels(), d->mean(), d->order(), e_.state, to.data, at_.buffer(p_.plan.labels));
    long long const bytes = 4 * batch() * to.shape.size();
    p_.images.emplace(e_.calls, bytes);
    p_.pictures.emplace(e_.calls, bytes, e_.stream);
    copy_in(p_.pictures->data(), p_.images->as<void>(), bytes);
    if (void* const labels = at_.buffer(p_.plan.labels)) {
      p_.labels.emplace(e_.calls, 4LL * batch());
      copy_in(labels, p_.labels->as<void>(), 4LL * batch());
    }
    launch(kernels::load_pictures(type_, batch(), to.shape), pointer(p_.pictures->data()), to.data);
  }
  void copy_in(void* to, void const* from, long long bytes) {
    p_.launches.push_back([&e = e_, to, from, bytes] {
      e.calls(e.calls.cudaMemcpyAsync, to, from, static_cast<std::size_t>(bytes), cudaMemcpyHostToDevice, e.stream);
    });
  }

  // ---- convolutions ------------------------------------------------------------------------------------------------
  /// The library's pass, or, where it has no plan for it, false.
  bool convolve(convolution const& c, convolution_options o, convolution_tensors const& t) {
    o.precision = factors_of(e_.precision);
    o.deterministic = e_.deterministic;
    o.workspace_limit = bench_.bytes();
    plan_bench const bench{e_.cudnn, e_.stream, t, bench_.data()};
    std::optional<convolution_plan> found = try_choose(c, o, bench);
    if (!found) return false;
    bound_convolution& b = p_.convolutions.emplace(bound_convolution{std::move(*found), t});
    p_.launches.push_back([&e = e_, &b] { execute(e.cudnn, b.plan, *b.pack); });
    return true;
  }
  std::optional<convolution_plan> try_choose(convolution const& c, convolution_options const& o,
                                             plan_bench const& bench) const {
    try {
      return choose_plan(e_.target, c, o, e_.plans, &bench);
    } catch (no_plan_error const&) {
      return std::nullopt;
    }
  }

  void convolve_forward(step const& x) {
    node const& n = e_.graph.nodes[x.node];
    tensor_at const in = at_.read(x, content::activation), out = at_.written(x, content::activation);
    convolution const c = convolution_of(e_.graph, n, batch());
    bool const relu = x.activation >= 0;
    int const k = n.first_parameter, b = at_.parameter(x, role::bias);
    void* kernel = e_.arena.working_copy(k);
    void* bias = b < 0 ? nullptr : e_.arena.parameter(b);
    if (x.batch_norm >= 0) {
      folded_kernel& f = fold(x, c);
      kernel = f.kernel.data(), bias = f.bias.data();
    }
    if (bias &&
        convolve(c, {.pass = convolution_pass::forward_inference, .relu = relu}, {in.data, kernel, bias, out.data}))
      return;
    if (convolve(c, {.pass = convolution_pass::forward}, {in.data, kernel, nullptr, out.data})) {
      if (bias || relu) launch(kernels::add_bias(type_, out.pixels, out.shape.channels, out.at, relu), bias, out.data);
      return;
    }
    launch(kernels::convolution_forward(type_, batch(), in.shape, out.shape, n.window, relu), in.data, kernel, bias,
           out.data);
  }
  folded_kernel& fold(step const& x, convolution const& c) {
    node const& n = e_.graph.nodes[x.node];
    node const& norm = e_.graph.nodes[x.batch_norm];
    folded_kernel& f = p_.folded.emplace(e_.calls, c.kernel_count() * bytes_of(type_), 4LL * c.out_channels, e_.stream);
    int const inner = static_cast<int>(c.kernel_count() / c.out_channels);
    int const k = e_.library.add(kernels::fold_batch_norm(type_, c.out_channels, inner, norm.epsilon));
    p_.refreshes.push_back([&e = e_, &f, k, p = n.first_parameter, q = norm.first_parameter] {
      cu::arena const& a = e.arena;
      e.library.launch(k, e.stream, a.parameter(p), a.parameter(p + 1), a.parameter(q), a.parameter(q + 1),
                       a.parameter(q + 2), a.parameter(q + 3), pointer(f.kernel.data()), pointer(f.bias.data()));
    });
    return f;
  }

  void convolve_backward_weights(step const& x) {
    node const& n = e_.graph.nodes[x.node];
    tensor_at const in = at_.read(x, content::activation), dy = at_.read(x, content::gradient);
    int const k = n.first_parameter, b = at_.parameter(x, role::bias, content::parameter_gradient);
    convolution const c = convolution_of(e_.graph, n, batch());
    void* const stage = e_.arena.staged_gradient(k);
    if (convolve(c, {.pass = convolution_pass::backward_weights}, {in.data, stage, nullptr, dy.data}))
      stage_gradient(k);
    else
      launch(kernels::convolution_backward_weights(type_, batch(), in.shape, dy.shape, n.window), in.data, dy.data,
             e_.arena.gradient(k));
    if (b >= 0)
      launch(kernels::channel_sums(type_, dy.pixels, dy.shape.channels, dy.at), dy.data, e_.arena.gradient(b));
  }
  void stage_gradient(int k) {
    if (type_ == storage::f32) return;
    if (staged_.empty()) staged_.resize(static_cast<std::size_t>(e_.graph.size.parameters));
    staged_[static_cast<std::size_t>(k)] = true;
  }

  void convolve_backward_data(step const& x) {
    node const& n = e_.graph.nodes[x.node];
    tensor_at const dy = at_.read(x, content::gradient), dx = at_.written(x, content::gradient);
    void* const kernel = e_.arena.working_copy(n.first_parameter);
    convolution const c = convolution_of(e_.graph, n, batch());
    bool const accumulate = at_.accumulates(x);
    if (convolve(c, {.pass = convolution_pass::backward_data, .accumulate = accumulate},
                 {dx.data, kernel, nullptr, dy.data}))
      return;
    launch(kernels::convolution_backward_data(type_, batch(), dx.shape, dy.shape, n.window, accumulate), dy.data,
           kernel, dx.data);
  }

  // ---- batch_norm: neighbours of one group share a launch ----------------------------------------------------------
  int batch_norms(int first) {
    step const& x = steps()[first];
    bool const forward = x.what == action::forward;
    std::vector<kernels::batch_norm_layer> layers;
    kernels::batch_norm_forwards to{};
    kernels::batch_norm_gradients_of back{};
    tensor_at const in = at_.read(x, content::activation);
    int count = 0;
    for (; count < kernels::batch_norm_group && first + count < steps().size(); ++count) {
      step const& s = steps()[first + count];
      if (count > 0 && (x.group < 0 || s.group != x.group || s.what != x.what)) break;
      layers.push_back(forward ? layer_forward(s, to.layer[count]) : layer_backward(s, back.layer[count]));
    }
    if (forward) {
      launch(kernels::batch_norm_statistics(type_, in.pixels, layers, e_.options.unbiased_running_variance), to);
      launch(kernels::batch_norm_apply(type_, in.pixels, layers), to);
      return count;
    }
    launch(kernels::batch_norm_gradients(type_, in.pixels, layers), back);
    bool wanted = false;
    for (int i = 0; i < count; ++i) wanted = wanted || back.layer[i].dx;
    if (wanted) launch(kernels::batch_norm_backward(type_, in.pixels, layers), back);
    return count;
  }
  kernels::batch_norm_layer layer_of(step const& s, tensor_at const& x) const {
    node const& n = e_.graph.nodes[s.node];
    double const momentum = e_.options.batch_norm_momentum >= 0 ? e_.options.batch_norm_momentum : n.momentum;
    return {
        .channels = x.shape.channels, .x = x.at, .relu = s.activation >= 0, .epsilon = n.epsilon, .momentum = momentum};
  }
  kernels::batch_norm_layer layer_forward(step const& s, kernels::batch_norm_forward& to) const {
    int const first = e_.graph.nodes[s.node].first_parameter, bias = at_.parameter(s, role::bias);
    tensor_at const x = at_.read(s, content::activation), y = at_.written(s, content::activation);
    to = {x.data,
          y.data,
          e_.arena.parameter(first),
          e_.arena.parameter(first + 1),
          e_.arena.parameter(first + 2),
          e_.arena.parameter(first + 3),
          bias < 0 ? nullptr : e_.arena.parameter(bias),
          static_cast<float*>(at_.buffer(s, content::statistics))};
    kernels::batch_norm_layer l = layer_of(s, x);
    l.y = y.at;
    return l;
  }
  kernels::batch_norm_layer layer_backward(step const& s, kernels::batch_norm_gradient& to) const {
    int const first = e_.graph.nodes[s.node].first_parameter;
    tensor_at const x = at_.read(s, content::activation), dy = at_.read(s, content::gradient);
    tensor_at const dx = at_.written(s, content::gradient);
    to = {x.data,
          dy.data,
          dx.data,
          e_.arena.parameter(first),
          e_.arena.parameter(first + 1),
          static_cast<float const*>(at_.buffer(s, content::statistics)),
          e_.arena.gradient(first),
          e_.arena.gradient(first + 1)};
    kernels::batch_norm_layer l = layer_of(s, x);
    l.y = dy.at, l.dx = dx ? dx.at : x.at, l.accumulate = at_.accumulates(s);
    return l;
  }

  // ---- the rest, a launch each -------------------------------------------------------------------------------------
  void forward(step const& x) {
    node const& n = e_.graph.nodes[x.node];
    tensor_at const in = at_.read(x, content::activation), out = at_.written(x, content::activation);
    int const channels = out.shape.channels;
    switch (n.kind) {
      case op::conv2d: return convolve_forward(x);
      case op::batch_norm: {  // with running moments
        kernels::batch_norm_forwards to{};
        std::vector<kernels::batch_norm_layer> const layers{layer_forward(x, to.layer[0])};
        return launch(kernels::batch_norm_inference(type_, in.pixels, layers), to);
      }
      case op::activation:
        return launch(kernels::activation_forward(type_, out.pixels, channels, n.function, n.rate, in.at, out.at),
                      in.data, out.data);
      case op::max_pool2d: {
        void* const argmax = at_.buffer(x, content::argmax);
        return launch(kernels::max_pool2d_forward(type_, batch(), in.shape, out.shape, n.window, in.at, out.at, argmax),
                      in.data, out.data, argmax);
      }
      case op::avg_pool2d:
        return launch(kernels::avg_pool2d_forward(type_, batch(), in.shape, out.shape, n.window, in.at, out.at),
                      in.data, out.data);
      case op::dropout: return dropout(x, in, out, false);
      case op::flatten:
        return launch(kernels::reshape(type_, batch(), in.shape, out.shape, in.at, out.at, false), in.data, out.data);
      case op::dense:
        return launch(kernels::dense_forward(type_, batch(), in.shape.channels, channels, in.at, out.at), in.data,
                      e_.arena.working_copy(n.first_parameter), e_.arena.parameter(n.first_parameter + 1), out.data);
      case op::softmax:
        return launch(kernels::softmax_forward(type_, batch(), channels, in.at, out.at), in.data, out.data);
      case op::add: return sum(x, out);
      case op::custom: refuse_custom(x);
      default: unknown();
    }
  }
  void dropout(step const& x, tensor_at const& in, tensor_at const& out, bool accumulate) {
    launch(kernels::dropout(type_, batch(), out.shape, e_.graph.nodes[x.node].rate, x.node, e_.options.seed, in.at,
                            out.at, accumulate),
           in.data, out.data, e_.state);
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
  [[noreturn]] void refuse_custom(step const& x) const {
    throw executor_error(detail::message(
        {"cuda: layer ", e_.graph.nodes[x.node].custom->name, " has no kernel for this device; use another executor"}));
  }
  /// Between a concat's or add's tensor and one of its inputs: the wider one has its channels counted off already.
  void copy(step const& x, content what) {
    tensor_at const from = at_.read(x, what), to = at_.written(x, what);
    int const channels = std::min(from.shape.channels, to.shape.channels);
    kernels::sum_inputs const in{{from.data}};
    launch(kernels::copy(type_, to.pixels, channels, from.at, to.at, at_.accumulates(x)), in, to.data);
  }

  void loss(step const& x) {
    tensor_at const y = at_.read(x, content::activation), gradient = at_.written(x, content::gradient);
    bool const from_logits = e_.graph.nodes[e_.graph.size.nodes - 1].kind == op::softmax;
    launch(kernels::loss(type_, p_.plan.options.loss, from_logits, batch(), y.shape, y.at, gradient.at, !!gradient),
           y.data, at_.buffer(p_.plan.labels), at_.buffer(p_.plan.metrics), gradient.data);
  }
  void softmax_loss(step const& softmax, step const& x) {
    tensor_at const logits = at_.read(softmax, content::activation), y = at_.written(softmax, content::activation);
    tensor_at const gradient = at_.written(x, content::gradient);
    launch(kernels::softmax_loss(type_, p_.plan.options.loss, batch(), y.shape.channels, logits.at, y.at, gradient.at,
                                 !!gradient),
           logits.data, y.data, at_.buffer(p_.plan.labels), at_.buffer(p_.plan.metrics), gradient.data);
  }

  void backward(step const& x) {
    node const& n = e_.graph.nodes[x.node];
    tensor_at const dy = at_.read(x, content::gradient), dx = at_.written(x, content::gradient);
    tensor_at const from = at_.read(x, content::activation);
    bool const more = at_.accumulates(x);
    int const channels = dx.shape.channels;
    switch (n.kind) {
      case op::activation:
        return launch(
            kernels::activation_backward(type_, dx.pixels, channels, n.function, n.rate, from.at, dy.at, dx.at, more),
            from.data, dy.data, dx.data);
      case op::max_pool2d:
        return launch(kernels::max_pool2d_backward(type_, batch(), dx.shape, dy.shape, n.window, dx.at, dy.at, more),
                      dy.data, at_.buffer(x, content::argmax), dx.data);
      case op::avg_pool2d:
        return launch(kernels::avg_pool2d_backward(type_, batch(), dx.shape, dy.shape, n.window, dx.at, dy.at, more),
                      dy.data, dx.data);
      case op::dropout: return dropout(x, dy, dx, more);
      case op::flatten:
        return launch(kernels::reshape(type_, batch(), dy.shape, dx.shape, dy.at, dx.at, more), dy.data, dx.data);
      case op::softmax:
        return launch(kernels::softmax_backward(type_, batch(), channels, from.at, dy.at, dx.at, more), from.data,
                      dy.data, dx.data);
      case op::custom: refuse_custom(x);
      default: unknown();
    }
  }

  void backward_weights(step const& x) {
    if (x.kind == op::conv2d) return convolve_backward_weights(x);
    tensor_at const in = at_.read(x, content::activation), dy = at_.read(x, content::gradient);
    int const k = e_.graph.nodes[x.node].first_parameter;
    launch(kernels::dense_backward_weights(type_, batch(), in.shape.channels, dy.shape.channels, in.at, dy.at), in.data,
           dy.data, e_.arena.gradient(k), e_.arena.gradient(k + 1));
  }
  void backward_data(step const& x) {
    if (x.kind == op::conv2d) return convolve_backward_data(x);
    tensor_at const dy = at_.read(x, content::gradient), dx = at_.written(x, content::gradient);
    launch(kernels::dense_backward_data(type_, batch(), dx.shape.channels, dy.shape.channels, dx.at, dy.at,
                                        at_.accumulates(x)),
           dy.data, e_.arena.working_copy(e_.graph.nodes[x.node].first_parameter), dx.data);
  }

  void update() {
    cu::arena const& a = e_.arena;
    bool const staged = !staged_.empty();
    if (staged) make_stage_map();
    float* const velocities = e_.options.update.slots() > 0 ? a.slots() : nullptr;
    void* const map = staged ? p_.stage_map->data() : nullptr;
    launch(kernels::update(type_, e_.options.update, a.count(), {.copies = a.copies() != nullptr, .staged = staged}),
           a.parameters(), a.gradients(), velocities, a.copies(), staged ? a.stage() : nullptr, map, e_.state);
  }
  /// A byte for every 16 numbers of the arena.
  void make_stage_map() {
    std::vector<unsigned char> map(static_cast<std::size_t>((e_.arena.count() + 15) / 16));
    for (int k = 0; k < e_.graph.size.parameters; ++k) {
      if (!staged_[static_cast<std::size_t>(k)]) continue;
      long long const begin = e_.arena.offset_of(k), end = begin + e_.graph.parameters[k].count();
      for (long long i = begin / 16; 16 * i < end; ++i) map[static_cast<std::size_t>(i)] = 1;
    }
    p_.stage_map.emplace(e_.calls, static_cast<long long>(map.size()), e_.stream);
    e_.calls(e_.calls.cudaMemcpyAsync, p_.stage_map->data(), map.data(), map.size(), cudaMemcpyHostToDevice, e_.stream);
    e_.calls(e_.calls.cudaStreamSynchronize, e_.stream);
  }

  engine_parts const& e_;
  program& p_;
  bound_operands at_;
  storage type_;
  device_memory const& bench_;
  std::vector<bool> staged_;
};

}  // namespace dsl::cu
