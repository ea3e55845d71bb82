// SPDX-License-Identifier: MIT
#pragma once

#include <dsl/detail/mode.hpp>
#include <dsl/detail/owner.hpp>
#include <dsl/executors/host/vector_task.hpp>
#include <dsl/executors/host/plain_loops.hpp>
#include <dsl/executors/host/weights.hpp>
#include <dsl/executors/native/attention.hpp>
#include <dsl/executors/native/convolutions.hpp>
#include <dsl/executors/native/dense.hpp>
#include <dsl/executors/native/processors.hpp>
#include <dsl/executors/native/recurrent.hpp>
#include <dsl/executors/native/split_task.hpp>
#include <dsl/executors/reference/steps.hpp>

#include <cstdint>
#include <mutex>
#include <string>

namespace dsl::native_cpu::TYPENET_MODE {

struct engine_settings {
  instructions set = instructions::automatic;
  int threads = 0;  // 0: one for each available processor; divided among the devices of a network
  bool winograd = true;

  int all_threads() const { return threads > 0 ? threads : available_processors(); }
  /// Returns the threads of each device, at least one.
  int threads_a_device(int devices) const {
    int const all = all_threads();
    return all > devices ? all / devices : 1;
  }
};

inline void require_threads(int threads) {
  constexpr int most = 1024;
  if (threads < 0 || threads > most)
    detail::throw_error<option_error>({"native: threads must be 0 (all) to ", most, "; found ", threads});
}
/// Returns the requested instruction set, or the widest one of this processor for `automatic`. Throws option_error if
/// the processor lacks it.
inline instructions resolve(instructions set) {
  if (set == instructions::automatic) return host::widest();
  if (!host::has(set))
    detail::throw_error<option_error>(
        {"native: this processor has no ", host::name_of(set), "; use instructions::automatic"});
  return set;
}

/// The version of the order and the rounding of all sums. Any change to the bits of a result must increment it.
inline constexpr int algorithm_version = 1;

/// The packed kernels of all engines that share their weights.
struct packed_kernels final : host::packed_weights {
  long long bytes() const override {
    long long sum = 0;
    for (packed_kernel const& k : all)
      sum += (k.memory ? k.memory->bytes() : 0) + static_cast<long long>(4 * k.bias.size());
    return sum;
  }
  detail::chain<packed_kernel> all{};
};

/// Runs all steps with typenet's own kernels and threads, without a library. Activations are in blocks of as many
/// channels as a vector has lanes. Rare operations run through the plain loops of `reference`.
class engine final : public plain::steps<float> {
 public:
  /// The code for the operations of a set.
  struct code {
    native_cpu::kernels const& (*kernels)(instructions);
    host::vector_kernels const& (*vectors)(instructions);
    loop_table loops;
    host::task (engine::*select)(program&, bound_step const&);
  };
  template <operation_set Only = all_operations>
  static code code_of() {
    return {&kernels_of<Only>, &host::vector_kernels_of<Only>, &plain::loops_of<float, Only>,
            &engine::select_for<Only>};
  }

  engine(graph_view const& g, engine_options const& o, target const& to, engine_settings const& s,
         code const& with = code_of())
      : plain::steps<float>(g, o, to, s.threads_a_device(g.size.devices), with.loops),
        select_(with.select),
        set_(s.set),
        winograd_(s.winograd),
        threads_(s.threads_a_device(g.size.devices)) {
    for (int d = 0; d < g.size.devices; ++d)
      devices_.emplace(g, s, with, threads_, parameter_versions{parameters_version(), written_version()},
                       kernels().all);
  }

  int prepare(mode m, batch_part part, per_output<target_kind> targets = target_kind::classes) override {
    std::scoped_lock const lock(kept().guard);  // other engines may add kernels, too
    int which = 0;
    try {
      which = plain::steps<float>::prepare(m, part, targets);
    } catch (...) {
      for (unit& d : devices_) d.convolutions.forget();
      throw;
    }
    if (which < looked_at_) return which;
    looked_at_ = which + 1;
    for (unit& d : devices_) d.convolutions.keep();
    if (part.size > 0 && slow_.add(graph_, prepared(which))) slow_.warn("native", "docs/native.md", options_);
    return which;
  }

  void run(int which, batch_view const& batch) override {
    if (shares_weights()) {  // others only read what is packed before the steps run
      std::scoped_lock const lock(kept().guard);
      for (unit& d : devices_) d.convolutions.refresh();
    }
    plain::steps<float>::run(which, batch);
  }

  long long executor_bytes() const override {
    std::scoped_lock const lock(kept().guard);
    long long all = kept().packed->bytes();
    for (unit const& d : devices_) all += d.at.bytes() + d.convolutions.bytes();
    return all;
  }
  std::string description() const override {
    return detail::message({arithmetic(), ", ", threads_, threads_ == 1 ? " thread" : " threads",
                            graph_.size.devices > 1 ? " a device" : "", slow_.described()});
  }
  std::string arithmetic() const override {
    return detail::message({"native ", algorithm_version, ", ", host::name_of(set_), winograd_ ? "" : ", direct"});
  }
  /// Returns the algorithm of each convolution's passes, one per line, device by device.
  std::string algorithms() const {
    std::string all;
    for (unit const& d : devices_) all += d.convolutions.algorithms();
    return all;
  }

 private:
  /// The objects that the kernels need on one device. The threads of other devices do not touch them.
  struct unit {
    cpu_device at;
    native_cpu::convolutions convolutions;
    unit(graph_view const& g, engine_settings const& s, code const& with, int threads,
         parameter_versions const& versions, detail::chain<packed_kernel>& kernels)
        : at(with.kernels(s.set), with.vectors(s.set), threads), convolutions(g, at, s.winograd, versions, kernels) {}
  };
  /// Returns the kernels that were packed from the weights.
  packed_kernels& kernels() const {
    std::scoped_lock const lock(kept().guard);
    if (!kept().packed) kept().packed = detail::owner<host::packed_weights>(detail::make<packed_kernels>());
    return static_cast<packed_kernels&>(*kept().packed);
  }

  host::task select_kernel(program& p, bound_step const& b) override { return (this->*select_)(p, b); }
  /// Returns an empty task if only the plain loops fit, on one thread.
  template <operation_set Only>
  host::task select_for(program& p, bound_step const& b) {
    action const what = b.step->what;
    bool const multiplies =
        what == action::forward || what == action::backward_weights || what == action::backward_data;
    unit& on = devices_[b.step->device];
    if (b.node && multiplies && (b.node->kind == op::conv2d || b.node->kind == op::conv2d_transpose))
      return on.convolutions.build(b, p.plan.options.mode == mode::training && !b.node->frozen);
    if (b.node && multiplies && b.node->kind == op::dense) return [d = dense(on.at, b)] { d(); };
    if constexpr (widths::attends(Only))
      if (host::task attends = attention_task(on.at, b)) return attends;
    if constexpr (detail::has(Only, op::lstm, op::gru))
      if (host::task recurs = recurrent_task(on.at, b)) return recurs;
    if (host::task reads = whole_batch_task(p, b)) return reads;
    if constexpr (detail::has(Only, op::stochastic_depth))
      if (b.node && b.node->kind == op::stochastic_depth)
        if (host::task drops = host::stochastic_depth_task(on.at, b, [this, &p, &b] { return draw(p, b); }))
          return drops;
    if (host::task moves = host::vector_task<Only>(
            on.at, b, [this, &p, &b](auto f) { this->for_each_update(p, *b.step, f); },
            [&] {
              host::batch_norm_step<float> s = batch_norm_step(p, b);
              if (s.statistics && !s.tower && !s.dy.data && !s.again) s.made = on.convolutions.sum_moments(b);
              return s;
            }))
      return moves;
    return split_task(on.at, b, parts_of_loops(b),
                      [this, &p](bound_step const& part, int n, int c) { run_part(p, part, n, c); });
  }

  /// Returns the task of a step that reads or writes the batch, or that measures gradients. Sums do not depend on the
  /// number of threads: those of a loss are over parts of a sample, and those of gradients are in a fixed order.
  host::task whole_batch_task(program& p, bound_step const& b) {
    cpu_device& at = devices_[b.step->device].at;
    if (b.step->what == action::load)
      return [this, &at, &p, &b] {
        at.run(b.to.batch, [&](int n) {
          load_sample(p, b, n);
          if (b.ends_block) host::zero_rest_of_block(part_of(b.to, n, 0, 0));
        });
        load_targets(p, b);
      };
    if (b.step->what == action::measure) {
      long long const chunks = host::square_chunks(numbers_of(p, *b.step).count);
      at.need_shared(2 * chunks);
      return [this, &at, &p, &b, chunks] {
        auto const [first, count] = numbers_of(p, *b.step);
        float const* const gradients = flat(region::gradients) + first;
        auto* const sums = reinterpret_cast<double*>(at.shared());
        at.run(static_cast<int>(chunks),
               [&, all = count](int k) { sums[k] = host::squares_of_chunk(gradients, all, k); });
        *squares(p, *b.step) = host::sum_of_chunks(count, [&](long long k) { return sums[k]; });
      };
    }
    if (b.step->what != action::loss || !has_pixel_loss(p, b)) return {};
    constexpr int most_pixels = 1024;
    long long const area = b.x.shape.area();
    int const pieces = static_cast<int>((area + most_pixels - 1) / most_pixels);
    at.need_shared(4LL * b.x.batch * pieces);
    return [this, &at, &p, &b, area, pieces] {
      auto* const sums = reinterpret_cast<double*>(at.shared());
      host::pixel_loss<float> const loss = pixel_loss_of(p, b);
      at.run(b.x.batch * pieces, [&](int i) {
        long long const first = 1LL * i % pieces * most_pixels, left = area - first;
        sums[2 * i] = sums[2 * i + 1] = 0;
        loss.add(i / pieces, first, first + (left < most_pixels ? left : most_pixels), sums + 2LL * i);
      });
      if (b.step->micro == 0) b.metrics[0] = b.metrics[1] = 0;
      for (int i = 0; i < 2 * b.x.batch * pieces; ++i) b.metrics[i % 2] += sums[i];
      if (b.ends_block && b.to.data) host::zero_rest_of_block(b.to);
    };
  }

  host::task (engine::*select_)(program&, bound_step const&);
  instructions set_;
  bool winograd_;
  int threads_;
  detail::chain<unit> devices_;
  host::plain_loops slow_;
  int looked_at_ = 0;  // number of programs searched for slow steps
};

}  // namespace dsl::native_cpu::TYPENET_MODE
