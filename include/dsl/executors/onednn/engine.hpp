// SPDX-License-Identifier: MIT
#pragma once

#include <dsl/detail/mode.hpp>
#include <dsl/executors/host/vector_task.hpp>
#include <dsl/executors/host/plain_loops.hpp>
#include <dsl/executors/onednn/convolutions.hpp>
#include <dsl/executors/onednn/cpu_device.hpp>
#include <dsl/executors/reference/steps.hpp>

#include <cstdint>
#include <string>
#include <utility>

namespace dsl::dnn::TYPENET_MODE {

/// Returns the maximum number of threads of an engine. If threads that spin share a core, they slow each other down.
/// And oneDNN would wait forever for a thread that OpenMP does not provide because of OMP_THREAD_LIMIT.
inline int most_threads() {
  int const limit = omp_get_thread_limit(), cores = 8 * omp_get_num_procs();
  return limit < cores ? limit : cores;
}
/// Returns the number of threads that OpenMP provides, at most most_threads(), whatever OMP_NUM_THREADS says.
inline int all_threads() {
  int const found = omp_get_max_threads(), most = most_threads();
  return found < most ? found : most;
}

struct engine_settings {
  int threads = 0;  // for all devices of a network together; 0: as many as OpenMP provides
  bool winograd = true;

  /// Returns the number of threads of each device, at least one.
  [[gnu::cold, gnu::noinline]] int threads_a_device(int devices) const {
    if (threads < 0) return threads;
    int const all = threads > 0 ? threads : all_threads();
    return all > devices ? all / devices : 1;
  }
};

inline void require_threads(int threads) {
  int const most = most_threads();
  if (threads < 0 || threads > most)
    detail::throw_error<option_error>(
        {"onednn: threads must be 0 (all) to ", most,
         most == omp_get_thread_limit() ? ", the limit that OMP_THREAD_LIMIT sets" : ", 8 for each available processor",
         "; found ", threads});
}

/// Runs convolutions and dense layers through oneDNN, memory-bound operations through typenet's shared kernels, and the
/// rest through the plain loops of `reference`. Activations are in channel blocks, as the plan's target says.
class engine final : public plain::steps<float> {
 public:
  /// The code for the operations of a set.
  struct code {
    host::vector_kernels const& (*memory)(host::instructions);
    loop_table loops;
    host::task (engine::*select)(program&, bound_step const&);
  };
  template <operation_set Only = all_operations>
  static code code_of() {
    return {&host::vector_kernels_of<Only>, &plain::loops_of<float, Only>, &engine::select_for<Only>};
  }

  engine(graph_view const& g, engine_options const& o, target const& to, engine_settings const& settings,
         code const& with = code_of())
      : plain::steps<float>(g, o, to, settings.threads_a_device(g.size.devices), with.loops),
        select_(with.select),
        settings_(settings),
        block_(to.channel_block),
        has_kernels_(cpu_device::has_kernels_for(to.channel_block)) {
    require_threads(settings.threads);
    for (int d = 0; d < g.size.devices; ++d) devices_.emplace(g, settings.winograd, block_, with, parameters_version());
    settings_.threads = settings.threads_a_device(g.size.devices);
    thread_count const scope(settings_.threads);
    threads_ = omp_get_max_threads();
    if (team()) team()->on_each([](void* threads) { thread_count::set(*static_cast<int const*>(threads)); }, &threads_);
  }

  int prepare(mode m, batch_part part, per_output<target_kind> targets = target_kind::classes) override {
    require_threads_here();
    thread_count const scope(settings_.threads);
    int const which = plain::steps<float>::prepare(m, part, targets);
    if (which >= looked_at_) look_for_plain_loops(prepared(which)), looked_at_ = which + 1;
    return which;
  }
  void run(int which, batch_view const& batch) override {
    require_threads_here();
    thread_count const scope(settings_.threads);
    plain::steps<float>::run(which, batch);
  }

  long long executor_bytes() const override {
    long long all = 0;
    for (unit const& d : devices_) all += d.convolutions.bytes() + d.at.bytes();
    return all;
  }
  std::string description() const override {
    dnnl_version_t const* v = dnnl_version();
    return detail::message({"onednn ", v->major, ".", v->minor, ".", v->patch, ", ", threads_,
                            threads_ == 1 ? " thread" : " threads", graph_.size.devices > 1 ? " a device" : "",
                            ", blocks of ", block_, slow_.described()});
  }
  std::string arithmetic() const override { return "onednn"; }
  /// Returns the library's choice for each convolution, one line per step, for one device after the other: "3 forward:
  /// jit:avx512_core", or "3 forward in 2 pieces: ..." if the batch is split. It is for tests.
  std::string implementations() const {
    std::string all;
    for (unit const& d : devices_) all += d.convolutions.implementations();
    return all;
  }

 private:
  /// Throws option_error inside a parallel region of the caller, where OpenMP provides one thread, and oneDNN's kernels
  /// would wait forever for the others.
  void require_threads_here() const {
    if (threads_ > 1 && omp_get_active_level() >= omp_get_max_active_levels()) refuse_region();
  }
  [[gnu::cold, noreturn]] void refuse_region() const {
    detail::throw_error<option_error>({"onednn: it needs its ", threads_, " threads; found an OpenMP parallel region ",
                                       "around the call, which provides only one; call it outside of the region, or "
                                       "give compile() onednn{.threads = 1}"});
  }
  /// Warns of operations without a fast kernel, once for each operation.
  void look_for_plain_loops(program const& p) {
    bool found = p.part.size > 0 && slow_.add(graph_, p);
    for (unit const& d : devices_)
      if (d.convolutions.has_plain_loops()) found |= slow_.add("conv2d");
    if (found) slow_.warn("onednn", "docs/executors.md", options_);
  }
  /// The objects that the library and the shared kernels need on one device. The threads of other devices do not touch
  /// them.
  struct unit {
    dnn::convolutions convolutions;
    cpu_device at;
    unit(graph_view const& g, bool winograd, int block, code const& with, std::uint64_t const* version)
        : convolutions(g, winograd, version), at(block, with.memory) {}
  };
  host::task select_kernel(program& p, bound_step const& b) override { return (this->*select_)(p, b); }
  /// Returns the task that runs a step through the library or a shared kernel. It is empty if only the plain loops can
  /// run the step: for tensors without channel blocks and for rare operations.
  template <operation_set Only>
  host::task select_for(program& p, bound_step const& b) {
    action const what = b.step->what;
    bool const multiplies =
        what == action::forward || what == action::backward_weights || what == action::backward_data;
    if (b.node && multiplies && b.node->kind == op::conv2d && b.node->groups == 1)
      return build_convolution(b, p.plan.options.mode == mode::training);
    if (b.node && multiplies && b.node->kind == op::dense) return [this, &b] { multiply(b); };
    if (!has_kernels_) return {};
    cpu_device& at = devices_[b.step->device].at;
    if constexpr (detail::has(Only, op::stochastic_depth))
      if (b.node && b.node->kind == op::stochastic_depth)
        if (host::task drops = host::stochastic_depth_task(at, b, [this, &p, &b] { return draw(p, b); })) return drops;
    return host::vector_task<Only>(
        at, b, [this, &p, &b](auto f) { this->for_each_update(p, *b.step, f); }, [&] { return batch_norm_step(p, b); });
  }

  /// Returns a task for a convolution. A fused relu runs as a separate pass, since on some processors the library's
  /// fused relu turns a NaN into 0.
  host::task build_convolution(bound_step const& b, bool training) {
    unit& on = devices_[b.step->device];
    host::task convolve = on.convolutions.build(b, training);
    if (b.step->what != action::forward || b.step->activation < 0) return convolve;
    view<float> y = b.to;
    if (b.ends_block) y.shape.channels = y.buffer_channels - y.channel;  // the library has zeroed the block's rest
    view<float const> const x = plain::read_only(y);
    host::task relu;
    if (has_kernels_) relu = host::rows_task(on.at, y, false, host::row_function::relu, x, x);
    if (!relu) relu = [x, y] { plain::activation_forward(x, y, function::relu, 0.0F); };
    return [convolve = std::move(convolve), relu = std::move(relu)] { convolve(), relu(); };
  }

  // ---- dense layers ----------------------------------------------------------------------------------------------
  /// Computes a dense layer. x is (B, features) with buffer_channels numbers per row, the kernel (units, features).
  void multiply(bound_step const& b) const {
    float* const kernel = b.parameter(role::kernel);
    view<float const> const &x = b.x, &dy = b.dy;
    view<float> const& to = b.to;
    if (b.step->what == action::forward) {
      float const* const bias = b.parameter(role::bias);
      for (int n = 0; n < to.batch; ++n)
        for (int u = 0; u < to.shape.channels; ++u) to.plane(n, 0)[u] = bias[u];
      check(dnnl_sgemm('N', 'T', to.batch, to.shape.channels, x.shape.channels, 1.0F, x.plane(0, 0), x.buffer_channels,
                       kernel, x.shape.channels, 1.0F, to.plane(0, 0), to.buffer_channels),
            "dnnl_sgemm");
    } else if (b.step->what == action::backward_data) {
      check(
          dnnl_sgemm('N', 'N', to.batch, to.shape.channels, dy.shape.channels, 1.0F, dy.plane(0, 0), dy.buffer_channels,
                     kernel, to.shape.channels, b.accumulate ? 1.0F : 0.0F, to.plane(0, 0), to.buffer_channels),
          "dnnl_sgemm");
    } else {
      check(dnnl_sgemm('T', 'N', dy.shape.channels, x.shape.channels, x.batch, 1.0F, dy.plane(0, 0), dy.buffer_channels,
                       x.plane(0, 0), x.buffer_channels, 0.0F, b.gradient(role::kernel), x.shape.channels),
            "dnnl_sgemm");
      float* const dbias = b.gradient(role::bias);
      for (int u = 0; u < dy.shape.channels; ++u) {
        dbias[u] = 0;
        for (int n = 0; n < dy.batch; ++n) dbias[u] += dy.plane(n, 0)[u];
      }
    }
  }

  host::task (engine::*select_)(program&, bound_step const&);
  engine_settings settings_;
  int block_;
  bool has_kernels_;  // whether there are shared kernels for blocks of this size
  int threads_ = 1;
  detail::chain<unit> devices_;
  host::plain_loops slow_;
  int looked_at_ = 0;  // number of programs that look_for_plain_loops() has seen
};

}  // namespace dsl::dnn::TYPENET_MODE
