// SPDX-License-Identifier: MIT
#pragma once

#include <dsl/executors/onednn/batch_norm.hpp>
#include <dsl/executors/onednn/device.hpp>
#include <dsl/executors/onednn/elementwise.hpp>
#include <dsl/executors/onednn/pool2d.hpp>
#include <dsl/executors/reference/steps.hpp>

namespace dsl::dnn {

struct engine_settings {
  int threads = 0;  // 0: all that OpenMP finds
  bool winograd = true;
};

/// Convolutions and dense layers through oneDNN, everything that walks memory once through our own kernels, the rest
/// through reference's. Activations in channel blocks, as the plan's target says.
class engine : public plain::engine<float> {
 public:
  engine(graph_view const& g, engine_options const& o, target const& to, engine_settings const& settings)
      : plain::engine<float>(g, o, to), settings_(settings), block_(to.channel_block) {
    if (settings.threads < 0)
      throw option_error(detail::message({"onednn: threads must be 0 (all) or more; found ", settings.threads}));
    thread_count const scope(settings_.threads);
    threads_ = omp_get_max_threads();
  }

  int prepare(mode m, int batch) override {
    thread_count const scope(settings_.threads);
    return plain::engine<float>::prepare(m, batch);
  }
  void run(int which, batch_view const& batch) override {
    thread_count const scope(settings_.threads);
    plain::engine<float>::run(which, batch);
  }

  long long executor_bytes() const override {
    long long packed = 0;
    for (auto const& k : kernels_)
      packed += k->data->bytes() + (k->staging ? k->staging->bytes() : 0) + static_cast<long long>(k->bias.size()) * 4;
    return device_.bytes() + packed + static_cast<long long>(partial_.size()) * 4;
  }
  std::string description() const override {
    dnnl_version_t const* v = dnnl_version();
    return detail::message({"onednn ", v->major, ".", v->minor, ".", v->patch, ", ", threads_,
                            threads_ == 1 ? " thread" : " threads", ", blocks of ", block_});
  }
  /// What the library chose for each convolution: "3.inception_module... forward: jit:avx512_core"; tests read it.
  std::vector<std::string> const& implementations() const { return implementations_; }

 protected:
  using base = plain::engine<float>;

  [[gnu::cold]] host::task build(program& p, step const& s) override {
    node const* const x = s.node >= 0 ? &graph_.nodes[s.node] : nullptr;
    bool const conv = x && x->kind == op::conv2d;
    bool const dense = x && x->kind == op::dense;
    if (conv && s.what == action::forward) return convolve(p, s);
    if (conv && s.what == action::backward_weights) return convolve_backward_weights(p, s);
    if (conv && s.what == action::backward_data) return convolve_backward_data(p, s);
    if (dense && s.what != action::loss) return multiply(p, s);
    if (host::task fast = build_kernel(p, s)) return fast;
    return with_padding(base::build(p, s), result(p, s, is_forward(s) ? content::activation : content::gradient));
  }

 private:
  // ---- convolutions ----------------------------------------------------------------------------------------------
  template <class U>
  static dims dims_of(view<U> const& v) {
    return {v.batch, v.shape.channels, v.shape.height, v.shape.width};
  }
  /// The library sees whole buffers, and at batch 1 slices, which are contiguous too.
  template <class U>
  static layout layout_of(view<U> const& v) {
    return {dims_of(v), v.block == 1 ? dnnl_abcd : v.block == 8 ? dnnl_aBcd8b : dnnl_aBcd16b};
  }
  template <class U>
  static void* begin_of(view<U> const& v) {
    return const_cast<void*>(static_cast<void const*>(v.data + 1LL * v.channel * v.shape.area()));
  }
  static dims kernel_dims(parameter const& k) { return {k.dims[0], k.dims[1], k.dims[2], k.dims[3]}; }
  static layout any_kernel(dims const& d) { return {d, dnnl_format_tag_any}; }
  static layout bias_layout(int channels) { return {dims{channels}, dnnl_a}; }

  static convolution geometry(window const& w, shape const& in, shape const& out) {
    auto const behind = [&](int size, int kernel, int before, int from) {
      int const missing = (size - 1) * w.stride + kernel - from - before;
      return missing > 0 ? missing : 0;
    };
    return {.stride = {w.stride, w.stride},
            .before = {w.pad_top, w.pad_left},
            .behind = {behind(out.height, w.height, w.pad_top, in.height),
                       behind(out.width, w.width, w.pad_left, in.width)}};
  }

  [[gnu::cold]] call make_call(step const& s, char const* what, description_handle const& d) {
    implementations_.push_back(detail::message({s.node, " ", what, ": ", implementation(d)}));
    call c(make_primitive(d));
    layout const scratchpad = query(d, dnnl_query_scratchpad_md);
    if (scratchpad.bytes() > 0) c.argument(DNNL_ARG_SCRATCHPAD, device_.scratch(scratchpad));
    return c;
  }
  memory_handle memory_of(layout const& l, void const* data) {
    return make_memory(device_.engine(), l, const_cast<void*>(data));
  }

  [[gnu::cold]] host::task convolve(program& p, step const& s) {
    node const& x = graph_.nodes[s.node];
    view<float const> const in = activation(p, s);
    view<float> const out = result(p, s, content::activation);
    bool const training = p.plan.options.mode == mode::training;
    bool const folded = s.batch_norm >= 0;
    float const* const bias = role_data(p, s, role::bias);
    convolution c = geometry(x.window, in.shape, out.shape);
    c.which = training ? pass::forward_training : pass::forward_inference;
    c.post.relu = s.activation >= 0;
    layout const lx = layout_of(in), ly = layout_of(out), lb = bias_layout(out.shape.channels);
    layout const lk = any_kernel(kernel_dims(graph_.parameters[x.first_parameter]));
    c.x = &lx, c.y = &ly, c.kernel = &lk, c.bias = bias ? &lb : nullptr;
    description_handle const d = describe(device_.engine(), c, settings_.winograd);
    packed_kernel& k =
        kernel(s.node, folded ? kernel_form::folded : kernel_form::plain, query(d, dnnl_query_weights_md));
    call run = make_call(s, "forward", d);
    run.argument(DNNL_ARG_SRC, memory_of(lx, begin_of(in)));
    run.shared_argument(DNNL_ARG_WEIGHTS, k.memory.get());
    if (bias) run.argument(DNNL_ARG_BIAS, memory_of(lb, folded ? k.bias.data() : bias));
    run.argument(DNNL_ARG_DST, memory_of(ly, begin_of(out)));
    return [this, run = std::move(run), &k, bn = s.batch_norm] {
      refresh(k, bn);
      run(device_);
    };
  }

  [[gnu::cold]] host::task convolve_backward_weights(program& p, step const& s) {
    node const& x = graph_.nodes[s.node];
    view<float const> const in = activation(p, s);
    view<float const> const dy = gradient(p, s);
    float* const dkernel = gradient_of_role(p, s, role::kernel);
    float* const dbias = gradient_of_role(p, s, role::bias);
    convolution c = geometry(x.window, in.shape, dy.shape);
    c.which = pass::backward_weights;
    dims const kd = kernel_dims(graph_.parameters[x.first_parameter]);
    layout const lx = layout_of(in), ly = layout_of(dy), lb = bias_layout(dy.shape.channels), lk = any_kernel(kd);
    c.x = &lx, c.y = &ly, c.kernel = &lk, c.bias = dbias ? &lb : nullptr;
    description_handle const d = describe(device_.engine(), c, settings_.winograd);
    call run = make_call(s, "backward weights", d);
    run.argument(DNNL_ARG_SRC, memory_of(lx, begin_of(in)));
    run.argument(DNNL_ARG_DIFF_DST, memory_of(ly, begin_of(dy)));
    if (dbias) run.argument(DNNL_ARG_DIFF_BIAS, memory_of(lb, dbias));
    layout const packed = query(d, dnnl_query_diff_weights_md), plain(kd, dnnl_abcd);
    if (packed == plain) {
      run.argument(DNNL_ARG_DIFF_WEIGHTS, memory_of(plain, dkernel));
      return [this, run = std::move(run)] { run(device_); };
    }
    auto block = std::make_unique<host::memory_block>(static_cast<long long>(packed.bytes()));
    device_.count(block->bytes());
    call unpack(make_reorder(device_.engine(), packed, plain));
    run.argument(DNNL_ARG_DIFF_WEIGHTS, memory_of(packed, block->data()));
    unpack.argument(DNNL_ARG_FROM, memory_of(packed, block->data()));
    unpack.argument(DNNL_ARG_TO, memory_of(plain, dkernel));
    return [this, run = std::move(run), unpack = std::move(unpack), block = std::move(block)] {
      run(device_);
      unpack(device_);
    };
  }

  [[gnu::cold]] host::task convolve_backward_data(program& p, step const& s) {
    node const& x = graph_.nodes[s.node];
    view<float const> const dy = gradient(p, s);
    view<float> const dx = result(p, s, content::gradient);
    bool const accumulate = accumulates(p, s);
    dims const kd = kernel_dims(graph_.parameters[x.first_parameter]);
    layout const lx = layout_of(dx), ly = layout_of(dy);
    convolution c = geometry(x.window, dx.shape, dy.shape);
    if (accumulate && x.window.stride == 1 && dx.block > 1) {
      // The library's data gradients can't add to what is there; a forward convolution can.
      c.which = pass::forward_training;
      c.post.add_to_result = true;
      for (int i : {0, 1}) {
        c.before[i] = kd[2 + static_cast<unsigned>(i)] - 1 - c.before[i];
        c.behind[i] = kd[2 + static_cast<unsigned>(i)] - 1 - c.behind[i];
      }
      layout const lk = any_kernel({kd[1], kd[0], kd[2], kd[3]});
      c.x = &ly, c.y = &lx, c.kernel = &lk;
      description_handle const d = describe(device_.engine(), c, settings_.winograd);
      packed_kernel& k = kernel(s.node, kernel_form::transposed, query(d, dnnl_query_weights_md));
      call run = make_call(s, "backward data", d);
      run.argument(DNNL_ARG_SRC, memory_of(ly, begin_of(dy)));
      run.shared_argument(DNNL_ARG_WEIGHTS, k.memory.get());
      run.argument(DNNL_ARG_DST, memory_of(lx, begin_of(dx)));
      return [this, run = std::move(run), &k] {
        refresh(k, -1);
        run(device_);
      };
    }
    c.which = pass::backward_data;
    layout const lk = any_kernel(kd);
    c.x = &lx, c.y = &ly, c.kernel = &lk;
    description_handle const d = describe(device_.engine(), c, settings_.winograd);
    packed_kernel& k = kernel(s.node, kernel_form::plain, query(d, dnnl_query_weights_md));
    call run = make_call(s, "backward data", d);
    run.argument(DNNL_ARG_DIFF_DST, memory_of(ly, begin_of(dy)));
    run.shared_argument(DNNL_ARG_WEIGHTS, k.memory.get());
    if (!accumulate) {
      run.argument(DNNL_ARG_DIFF_SRC, memory_of(lx, begin_of(dx)));
      return [this, run = std::move(run), &k] {
        refresh(k, -1);
        run(device_);
      };
    }
    auto own = std::make_unique<host::memory_block>(static_cast<long long>(lx.bytes()));
    device_.count(own->bytes());
    run.argument(DNNL_ARG_DIFF_SRC, memory_of(lx, own->data()));
    view<float const> from{
        reinterpret_cast<float const*>(own->data()), dx.shape, dx.batch, dx.block, dx.buffer_channels, 0};
    return [this, run = std::move(run), own = std::move(own), from, dx, &k] {
      refresh(k, -1);
      run(device_);
      plain::for_each(dx, [&](int n, int ch, long long i) { dx(n, ch, i) += from(n, ch, i); });
    };
  }

  // ---- kernels in the library's layouts --------------------------------------------------------------------------
  [[gnu::cold]] packed_kernel& kernel(int n, kernel_form form, layout const& wanted) {
    for (auto const& k : kernels_)
      if (k->node == n && k->form == form && k->layout == wanted) return *k;
    node const& x = graph_.nodes[n];
    parameter const& q = graph_.parameters[x.first_parameter];
    auto k = std::make_unique<packed_kernel>();
    k->node = n, k->form = form, k->layout = wanted;
    k->data = std::make_unique<host::memory_block>(static_cast<long long>(wanted.bytes()));
    k->memory = memory_of(wanted, k->data->data());
    float const* from = parameter_data(x.first_parameter);
    if (form != kernel_form::plain) {
      k->staging = std::make_unique<host::memory_block>(q.count() * 4);
      from = reinterpret_cast<float const*>(k->staging->data());
    }
    if (form == kernel_form::folded) k->bias.resize(static_cast<std::size_t>(q.dims[0]));
    dims const d = form == kernel_form::transposed ? dims{q.dims[1], q.dims[0], q.dims[2], q.dims[3]} : kernel_dims(q);
    layout const plain(d, dnnl_abcd);
    k->pack = call(make_reorder(device_.engine(), plain, wanted));
    k->pack.argument(DNNL_ARG_FROM, memory_of(plain, from));
    k->pack.argument(DNNL_ARG_TO, memory_of(wanted, k->data->data()));
    kernels_.push_back(std::move(k));
    return *kernels_.back();
  }

  void refresh(packed_kernel& k, int batch_norm) {
    if (k.version == parameters_version()) return;
    node const& x = graph_.nodes[k.node];
    parameter const& q = graph_.parameters[x.first_parameter];
    float const* const from = parameter_data(x.first_parameter);
    if (k.form == kernel_form::transposed) {
      int const area = q.dims[2] * q.dims[3];
      auto* to = reinterpret_cast<float*>(k.staging->data());
      for (int i = 0; i < q.dims[1]; ++i)
        for (int o = 0; o < q.dims[0]; ++o)
          for (int a = area - 1; a >= 0; --a) *to++ = from[(1LL * o * q.dims[1] + i) * area + a];
    } else if (k.form == kernel_form::folded) {
      fold(k, q, from, parameter_data(x.first_parameter + 1), graph_.nodes[batch_norm]);
    }
    k.pack(device_);
    k.version = parameters_version();
  }

  /// Multiplies a batch_norm with running statistics into the convolution in front of it.
  void fold(packed_kernel& k, parameter const& q, float const* kernel, float const* bias, node const& norm) {
    float const* const gamma = parameter_data(norm.first_parameter);
    float const* const beta = parameter_data(norm.first_parameter + 1);
    float const* const mean = parameter_data(norm.first_parameter + 2);
    float const* const variance = parameter_data(norm.first_parameter + 3);
    auto* to = reinterpret_cast<float*>(k.staging->data());
    long long const each = q.count() / q.dims[0];
    for (int o = 0; o < q.dims[0]; ++o) {
      float const scale = gamma[o] / std::sqrt(variance[o] + static_cast<float>(norm.epsilon));
      for (long long i = 0; i < each; ++i) *to++ = *kernel++ * scale;
      k.bias[static_cast<std::size_t>(o)] = (bias[o] - mean[o]) * scale + beta[o];
    }
  }

  // ---- dense layers ----------------------------------------------------------------------------------------------
  static void gemm(char a_form, char b_form, long long m, long long n, long long k, float const* a, long long lda,
                   float const* b, long long ldb, float beta, float* c, long long ldc) {
    check(dnnl_sgemm(a_form, b_form, m, n, k, 1.0F, a, lda, b, ldb, beta, c, ldc), "dnnl_sgemm");
  }

  /// x is (B, features) with buffer_channels numbers a row, kernel (units, features).
  [[gnu::cold]] host::task multiply(program& p, step const& s) {
    float* const kernel = role_data(p, s, role::kernel);
    if (s.what == action::forward) {
      view<float const> const x = activation(p, s);
      view<float> const y = result(p, s, content::activation);
      return [=, bias = role_data(p, s, role::bias)] {
        for (int n = 0; n < y.batch; ++n) std::copy_n(bias, y.shape.channels, y.plane(n, 0));
        gemm('N', 'T', y.batch, y.shape.channels, x.shape.channels, x.plane(0, 0), x.buffer_channels, kernel,
             x.shape.channels, 1.0F, y.plane(0, 0), y.buffer_channels);
      };
    }
    view<float const> const dy = gradient(p, s);
    if (s.what == action::backward_weights) {
      view<float const> const x = activation(p, s);
      return [=, dkernel = gradient_of_role(p, s, role::kernel), dbias = gradient_of_role(p, s, role::bias)] {
        gemm('T', 'N', dy.shape.channels, x.shape.channels, x.batch, dy.plane(0, 0), dy.buffer_channels, x.plane(0, 0),
             x.buffer_channels, 0.0F, dkernel, x.shape.channels);
        std::fill_n(dbias, dy.shape.channels, 0.0F);
        for (int n = 0; n < dy.batch; ++n)
          for (int u = 0; u < dy.shape.channels; ++u) dbias[u] += dy.plane(n, 0)[u];
      };
    }
    view<float> const dx = result(p, s, content::gradient);
    return [=, beta = accumulates(p, s) ? 1.0F : 0.0F] {
      gemm('N', 'N', dx.batch, dx.shape.channels, dy.shape.channels, dy.plane(0, 0), dy.buffer_channels, kernel,
           dx.shape.channels, beta, dx.plane(0, 0), dx.buffer_channels);
    };
  }

  // ---- plain loops -----------------------------------------------------------------------------------------------
  static bool is_forward(step const& s) { return s.what == action::forward || s.what == action::copy_forward; }

  /// Plain loops write real channels alone; oneDNN wants zeros in the unused places of a buffer's last block.
  static host::task with_padding(host::task t, view<float> out) {
    int const end = out.channel + out.shape.channels;
    if (!out.data || out.block == 1 || end % out.block == 0 || end + out.block <= out.buffer_channels) return t;
    return [t = std::move(t), out] {
      t();
      zero_padding(out);
    };
  }

  // ---- our own kernels -------------------------------------------------------------------------------------------
  template <class Kernel, class Call>
  host::task on_all_threads(Call const& c) const {
    return [c, block = block_] {
      parallel([&](int thread, int threads) { dispatch<Kernel>(block, c, thread, threads); });
    };
  }
  template <class... V>
  bool all_blocked(V const&... v) const {
    return can_dispatch(block_) && ((v.block == block_ && v.channel % block_ == 0) && ...);
  }

  /// Whether a kernel over channel blocks can walk a tensor: it has them, or it is flat and each sample's row begins at
  /// a whole block and fills whole ones.
  template <class V>
  bool walks_blocks(V const& v) const {
    bool const whole = (v.channel | v.shape.channels | v.buffer_channels) % block_ == 0;  // block_ is a power of two
    return all_blocked(v) || (can_dispatch(block_) && v.block == 1 && v.shape.area() == 1 && whole);
  }

  /// Whether a sample's values are one row of whole blocks.
  template <class V>
  bool fills_blocks(V const& v) const {
    return walks_blocks(v) && v.shape.channels % block_ == 0;
  }

  /// Empty where only reference's plain loops fit: tensors without channel blocks, rare operations.
  [[gnu::cold]] host::task build_kernel(program& p, step const& s) {
    if (s.what == action::update) return build_update(p);
    if (s.what == action::copy_forward || s.what == action::copy_backward) return build_copy(p, s);
    if (s.node < 0 || (s.what != action::forward && s.what != action::backward)) return {};
    node const& x = graph_.nodes[s.node];
    bool const forward = s.what == action::forward;
    if (x.kind == op::batch_norm && p.plan.options.mode == mode::training) return build_batch_norm(p, s, forward);
    if (x.kind == op::activation && x.function == function::relu) return build_relu(p, s, forward);
    if (x.kind == op::add && forward) return build_sum(p, s);
    if (x.kind == op::max_pool2d || x.kind == op::avg_pool2d) return build_pool(p, s, forward);
    return {};
  }

  [[gnu::cold]] host::task build_pool(program& p, step const& s, bool forward) {
    node const& x = graph_.nodes[s.node];
    pool_call c{.window = x.window};
    c.in = forward ? activation(p, s) : gradient(p, s);
    c.out = forward ? result(p, s, content::activation) : result(p, s, content::gradient);
    if (argmax_bytes(p, s) == 2 || !(walks_blocks(c.in) && walks_blocks(c.out))) return {};
    if (argmax_bytes(p, s) == 1) c.argmax = argmax<unsigned char>(p, s).data;
    c.accumulate = !forward && accumulates(p, s);
    if (x.kind == op::avg_pool2d)
      return forward ? on_all_threads<avg_pool2d_forward>(c) : on_all_threads<avg_pool2d_backward>(c);
    // a flat tensor's argmax has no blocks either, and no padding
    return forward ? on_all_threads<max_pool2d_forward>(c) : on_all_threads<max_pool2d_backward>(c);
  }

  [[gnu::cold]] host::task build_batch_norm(program& p, step const& s, bool forward) {
    node const& x = graph_.nodes[s.node];
    batch_norm_call c{.x = activation(p, s), .parameters = batch_norm_operands(p, s), .epsilon = x.epsilon};
    c.y = result(p, s, forward ? content::activation : content::gradient);
    if (!forward) c.dy = gradient(p, s);
    if (!all_blocked(c.x) || (c.y.data && !all_blocked(c.y)) || (!forward && !all_blocked(c.dy))) return {};
    c.statistics = data(p, s, content::statistics);
    c.dgamma = gradient_of_role(p, s, role::gamma);
    c.dbeta = gradient_of_role(p, s, role::beta);
    c.momentum = batch_norm_momentum(x);
    c.unbiased = options_.unbiased_running_variance;
    c.relu = s.activation >= 0;
    c.accumulate = !forward && accumulates(p, s);
    std::size_t const needed = 2U * static_cast<unsigned>(c.x.batch) * static_cast<unsigned>(c.x.buffer_channels);
    if (partial_.size() < needed) partial_.resize(needed);
    auto const run = [this, c](auto kernel) {
      batch_norm_call now = c;
      now.partial = partial_.data();
      parallel([&](int thread, int threads) { dispatch<decltype(kernel)>(block_, now, thread, threads); });
    };
    if (forward) return [run] { run(batch_norm_forward{}); };
    return [run] { run(batch_norm_backward{}); };
  }

  [[gnu::cold]] host::task build_relu(program& p, step const& s, bool forward) {
    view<float const> const from = activation(p, s);  // x, or y, whose sign is the same
    view<float const> const dy = forward ? from : gradient(p, s);
    view<float> const to = result(p, s, forward ? content::activation : content::gradient);
    if (!fills_blocks(from) || !fills_blocks(dy) || !fills_blocks(to)) return {};
    return on_all_threads<relu_step>(relu_step::call{row<float const>(from), row<float const>(dy), row<float>(to),
                                                     to.batch, to.shape.size(), !forward,
                                                     !forward && accumulates(p, s)});
  }

  [[gnu::cold]] host::task build_sum(program& p, step const& s) {
    view<float const> const a = activation(p, s, 0), b = activation(p, s, 1);
    view<float> const to = result(p, s, content::activation);
    if (node_of(s).inputs != 2 || !fills_blocks(a) || !fills_blocks(b) || !fills_blocks(to)) return {};
    return on_all_threads<sum_step>(
        sum_step::call{row<float const>(a), row<float const>(b), row<float>(to), to.batch, to.shape.size()});
  }

  [[gnu::cold]] host::task build_update(program& p) {
    update_rule const& u = options_.update;
    if (!can_dispatch(block_) || u.slots() != 1 || u.nesterov || u.weight_decay != 0 || !u.rate_in_velocity) return {};
    return [this, &p] {
      momentum_step::call const c{flat(region::parameters),
                                  flat(region::gradients),
                                  flat(region::slots),
                                  trainable_numbers(),
                                  static_cast<float>(options_.update.momentum),
                                  static_cast<float>(p.batch.learning_rate)};
      parallel([&](int thread, int threads) { dispatch<momentum_step>(block_, c, thread, threads); });
      parameters_changed();
    };
  }

  [[gnu::cold]] host::task build_copy(program& p, step const& s) {
    content const what = s.what == action::copy_forward ? content::activation : content::gradient;
    copy_blocks::call c{tensor<float const>(p, s, what), result(p, s, what), accumulates(p, s)};
    if (!all_blocked(c.from, c.to)) return {};
    int const channels = std::min(c.from.shape.channels, c.to.shape.channels);
    if (channels % block_ != 0) return {};
    c.from.shape.channels = c.to.shape.channels = channels;
    return on_all_threads<copy_blocks>(c);
  }

  engine_settings settings_;
  int block_;
  int threads_ = 1;
  device device_;
  std::vector<std::unique_ptr<packed_kernel>> kernels_;
  std::vector<float> partial_;
  std::vector<std::string> implementations_;
};

}  // namespace dsl::dnn
