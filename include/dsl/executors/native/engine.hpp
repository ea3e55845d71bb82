// SPDX-License-Identifier: MIT
#pragma once

#include <dsl/executors/host/plain_loops.hpp>
#include <dsl/executors/native/batch_norm.hpp>
#include <dsl/executors/native/convolutions.hpp>
#include <dsl/executors/native/dense.hpp>
#include <dsl/executors/native/processors.hpp>
#include <dsl/executors/reference/steps.hpp>

#include <cstdint>
#include <string>

namespace dsl::cpu {

struct engine_settings {
  instructions set = instructions::automatic;
  int threads = 0;  // 0: as many as there are processors for; the devices of a network share them out
  bool winograd = true;

  [[gnu::cold]] int all_threads() const { return threads > 0 ? threads : available_processors(); }
  /// Each device has at least one.
  [[gnu::cold]] int threads_a_device(int devices) const {
    int const all = all_threads();
    return all > devices ? all / devices : 1;
  }
};

[[gnu::cold]] inline void require_threads(int threads) {
  constexpr int most = 1024;
  if (threads < 0 || threads > most)
    detail::refuse<option_error>({"native: threads must be 0 (all) to ", most, "; found ", threads});
}
/// Returns the instruction set that was asked for, or the widest here. Throws option_error where the processor lacks
/// it.
[[gnu::cold]] inline instructions resolve(instructions set) {
  if (set == instructions::automatic) return host::widest();
  if (!host::has(set))
    detail::refuse<option_error>(
        {"native: this processor has no ", host::name_of(set), "; use instructions::automatic"});
  return set;
}

/// Everything through our own kernels, on threads of our own, without a library. Activations in blocks of as many
/// channels as a vector has lanes. Whatever is rare runs through reference's plain loops.
class engine final : public plain::steps<float> {
 public:
  [[gnu::cold]] engine(graph_view const& g, engine_options const& o, target const& to, engine_settings const& s)
      : plain::steps<float>(g, o, to, s.threads_a_device(g.size.devices)),
        set_(s.set),
        threads_(s.threads_a_device(g.size.devices)) {
    for (int d = 0; d < g.size.devices; ++d) devices_.emplace(g, s, threads_, parameters_version());
  }

  int prepare(mode m, batch_part part, target_kind targets = target_kind::classes) override {
    int const which = plain::steps<float>::prepare(m, part, targets);
    if (which < looked_at_) return which;
    looked_at_ = which + 1;
    if (part.size > 0 && slow_.add(graph_, prepared(which))) slow_.warn("native", options_);
    return which;
  }

  long long executor_bytes() const override {
    long long all = 0;
    for (unit const& d : devices_) all += d.at.bytes() + d.convolutions.bytes();
    return all;
  }
  [[gnu::cold]] std::string description() const override {
    return detail::message({arithmetic(), ", ", threads_, threads_ == 1 ? " thread" : " threads",
                            graph_.size.devices > 1 ? " a device" : "",
                            slow_.words().empty() ? "" : ", plain loops for ", slow_.words()});
  }
  std::string arithmetic() const override { return detail::message({"native, ", host::name_of(set_)}); }
  /// Which algorithm each convolution's pass has, a line each, one device's after the other's.
  [[gnu::cold]] std::string algorithms() const {
    std::string all;
    for (unit const& d : devices_) all += d.convolutions.algorithms();
    return all;
  }

 private:
  /// What our kernels need on a device: nothing that another device's thread would touch.
  struct unit {
    workplace at;
    cpu::convolutions convolutions;
    unit(graph_view const& g, engine_settings const& s, int threads, std::uint64_t const* version)
        : at(s.set, threads), convolutions(g, at, s.winograd, version) {}
  };

  /// Empty where only the plain loops fit: tensors without channel blocks, rare operations.
  [[gnu::cold]] host::task accelerate(program& p, bound_step const& b) override {
    action const what = b.step->what;
    bool const forward = what == action::forward;
    unit& on = devices_[b.step->device];
    if (what == action::update) return build_update(on.at, p, *b.step);
    if (what == action::copy_forward || what == action::copy_backward || b.step->kind == op::transfer)
      return build_rows(on.at, b, row_function::copy, b.x, b.x);
    if (!b.node || what == action::loss || what == action::add_gradients) return {};
    switch (b.node->kind) {
      case op::conv2d:
        if (b.node->groups > 1) return {};
        return on.convolutions.build(b, p.plan.options.mode == mode::training);
      case op::dense: return [d = dense(on.at, b)] { d(); };
      case op::batch_norm: return build_batch_norm(on.at, p, b, forward);
      case op::activation:
        if (b.node->function != function::relu) return {};
        return forward ? build_rows(on.at, b, row_function::relu, b.x, b.x)
                       : build_rows(on.at, b, row_function::relu_backward, b.x, b.dy);
      case op::add: return b.node->inputs == 2 ? build_rows(on.at, b, row_function::sum, b.x, b.x2) : host::task{};
      case op::max_pool2d:
      case op::avg_pool2d: return build_pool(on.at, b, forward);
      default: return {};
    }
  }

  /// Whether a view is of whole channel blocks, or fills the last one's rest up itself. A tensor that isn't there is no
  /// obstacle.
  template <class V>
  static bool in_blocks(V const& v, int lanes) {
    int const end = v.channel + blocks_of(v.shape.channels, lanes) * lanes;
    return !v.data ||
           (v.block == lanes && v.channel % lanes == 0 && (v.shape.channels % lanes == 0 || end == v.buffer_channels));
  }
  /// Whether each sample's numbers are whole vectors that follow each other.
  template <class V>
  static bool in_rows(V const& v, int lanes) {
    bool const blocks = v.block == lanes && v.channel % lanes == 0 && v.shape.channels % lanes == 0;
    return blocks || (v.block == 1 && v.shape.size() % lanes == 0);
  }

  [[gnu::cold]] static host::task build_rows(workplace& at, bound_step const& b, row_function f,
                                             view<float const> const& x, view<float const> const& second) {
    int const L = at.lanes();
    if (!in_rows(x, L) || !in_rows(second, L) || !in_rows(b.to, L) || x.block != b.to.block ||
        second.block != b.to.block)
      return {};
    return [&at, f, x, second, to = b.to, accumulate = b.accumulate, count = b.to.shape.size() / L] {
      at.pool().run(to.batch, [&](int n, int) {
        at.kernels().row({f, sample_of(x, n), sample_of(second, n), sample_of(to, n), count, accumulate});
      });
    };
  }

  [[gnu::cold]] static host::task build_pool(workplace& at, bound_step const& b, bool forward) {
    view<float const> const& from = forward ? b.x : b.dy;
    int const L = at.lanes();
    if (b.argmax.wide.data || !from.data || from.block != L || b.to.block != L || !in_blocks(from, L) ||
        !in_blocks(b.to, L))
      return {};
    bool const mean = b.node->kind == op::avg_pool2d;
    auto const run = mean ? (forward ? at.kernels().average_pool : at.kernels().average_pool_gradient)
                          : (forward ? at.kernels().max_pool : at.kernels().max_pool_gradient);
    pool_call const c{.argmax = b.argmax.narrow.data,
                      .in = forward ? from.shape : b.to.shape,
                      .out = forward ? b.to.shape : from.shape,
                      .window = b.node->window,
                      .accumulate = b.accumulate};
    return [&at, run, c, from, to = b.to, L] {
      int const blocks = blocks_of(to.shape.channels, L);
      at.pool().run(to.batch * blocks, [&](int i, int) {
        pool_call one = c;
        one.from = sample_of(from, i / blocks) + i % blocks * L * from.shape.area();
        one.to = sample_of(to, i / blocks) + i % blocks * L * to.shape.area();
        if (one.argmax) one.argmax += i * L * c.out.area();
        run(one);
      });
    };
  }

  [[gnu::cold]] host::task build_batch_norm(workplace& at, program const& p, bound_step const& b, bool forward) {
    int const L = at.lanes();
    if (b.x.block != L || !in_blocks(b.x, L) || !in_blocks(b.to, L) || !in_blocks(b.dy, L)) return {};
    batch_norm const c{.at = &at,
                       .tower = b.statistics && synchronizes() ? tower() : nullptr,
                       .x = b.x,
                       .dy = b.dy,
                       .to = b.to,
                       .parameters = batch_norm_operands(b),
                       .statistics = b.statistics,
                       .dgamma = b.gradient(role::gamma),
                       .dbeta = b.gradient(role::beta),
                       .epsilon = b.node->epsilon,
                       .momentum = batch_norm_momentum(b),
                       .whole = p.part.whole,
                       .unbiased = options_.unbiased_running_variance,
                       .relu = b.step->activation >= 0,
                       .accumulate = b.accumulate};
    at.need(0, c.floats());
    if (forward) return [c] { c.forward(); };
    return [c] { c.backward(); };
  }

  /// Momentum as Keras has it through our kernel, other optimizers in plain loops that the threads share.
  [[gnu::cold]] host::task build_update(workplace& at, program& p, step const& s) {
    update_rule const& u = options_.update;
    bool const usual = u.method == update_method::sgd && u.momentum != 0 && u.rate_in_velocity && u.clip.value == 0;
    return [this, &at, &p, &s, usual] {
      host::update_call<float> const c = update_of(p, s);
      constexpr int items = 64;
      long long const lines = c.n / 16;  // regions are padded to whole ones
      at.pool().run(items, [&](int i, int) {
        long long const begin = 16 * (lines * i / items), end = 16 * (lines * (i + 1) / items);
        if (usual) {
          at.kernels().momentum_step({&c, begin, end});
        } else {
          host::update_call<float> part = c;
          part.p += begin, part.gradient += begin, part.slots += begin;
          part.n = end - begin;
          host::update(part);
        }
      });
    };
  }

  instructions set_;
  int threads_;
  detail::chain<unit> devices_;
  host::plain_loops slow_;
  int looked_at_ = 0;  // programs
};

}  // namespace dsl::cpu
