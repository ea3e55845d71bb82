// SPDX-License-Identifier: MIT
#pragma once

#include <dsl/detail/chain.hpp>
#include <dsl/detail/math.hpp>
#include <dsl/detail/zeros.hpp>
#include <dsl/executors/host/batch_norm_step.hpp>
#include <dsl/executors/host/bound_step.hpp>
#include <dsl/executors/native/direct_weights.hpp>
#include <dsl/executors/native/winograd.hpp>
#include <dsl/executors/native/workplace.hpp>
#include <dsl/executors/reference/elementwise.hpp>

#include <cstdint>
#include <string>

namespace dsl::cpu {

/// The convolutions of one device: which algorithm each pass takes, where its packed kernel is, and what runs.
class convolutions {
 public:
  /// version counts the changes of the parameters.
  convolutions(graph_view const& g, workplace& at, bool winograd, std::uint64_t const* version)
      : graph_(g), at_(at), winograd_(winograd), version_(version) {}

  /// The task of a conv2d's step: forward, backward_data or backward_weights.
  [[gnu::cold]] host::task build(host::bound_step<float> const& s, bool training) {
    bool const weights = s.step->what == action::backward_weights, data = s.step->what == action::backward_data;
    view<float const> const x = data ? plain::read_only(s.to) : s.x;
    view<float const> const y = weights || data ? s.dy : plain::read_only(s.to);
    convolution const c{x.batch, x.shape, y.shape, s.node->window};
    bool const unrolled = !data && is_plain(x), tiles = suits_winograd(c, unrolled);
    note(s, weights ? "backward weights" : data ? "backward data" : "forward", tiles);
    return weights ? build_weights(s, c, unrolled, tiles) : build_pass(s, c, unrolled, tiles, data, training);
  }

  /// Lets the convolution that has made a batch_norm's input in this program sum the moments of what it writes. Returns
  /// none where that was something else, or there are others between the two.
  [[gnu::cold]] host::summed_moments sum_moments(host::bound_step<float> const& norm) {
    pass* made = nullptr;
    for (pass& p : passes_) {
      host::bound_step<float> const& of = *p.step;
      if (!p.data && of.node->output == graph_.input(*norm.node) && of.step->micro == norm.step->micro &&
          of.to.data == norm.x.data && of.to.channel == norm.x.channel && of.to.batch == norm.x.batch)
        made = &p;
    }
    if (!made || made->to || made->step->step->activation >= 0) return {};
    auto const of = [&](auto const& a) {
      if (made->moments.size() == 0) made->moments.allocate(static_cast<std::size_t>(a.moments()));  // of several norms
      return host::summed_moments{made->moments.data(), a.records()};
    };
    return made->winograd ? of(*made->winograd) : of(*made->direct.begin());
  }

  /// Packed kernels of inference; those of training are made in the workplace's memory.
  long long bytes() const {
    long long all = 0;
    for (pass const& p : passes_)
      all += 4 * static_cast<long long>(p.own.size() + p.bias.size()) + 8 * static_cast<long long>(p.moments.size());
    return all;
  }
  /// Which algorithm each step has, a line each: "3 forward: F(4x4, 3x3)".
  std::string const& algorithms() const { return algorithms_; }

 private:
  /// A copy in channel blocks, for one pass, of a tensor that the plan keeps without, such as one of a single pixel.
  struct blocked_copy {
    long long at = -1;  // in the workplace; below 0: the tensor has blocks
    explicit operator bool() const { return at >= 0; }
  };
  struct pass {
    host::bound_step<float> const* step = nullptr;
    convolution shape{};
    bool data = false;
    detail::owner<winograd_forward> winograd{};
    detail::chain<direct_pass> direct{};
    blocked_copy from{}, to{};
    detail::zeros<float> own{};       // the packed kernel, where it is kept
    detail::zeros<float> bias{};      // in whole blocks
    detail::zeros<double> moments{};  // where a batch_norm wants them
    std::uint64_t version = 0;        // of the parameters that it was packed from
  };

  /// Fewer than half of the products, and whole channel blocks on both sides: only then do transforms pay.
  bool suits_winograd(convolution const& c, bool unrolled) const {
    window const& w = c.window;
    if (!winograd_ || unrolled || w.height != 3 || w.width != 3 || w.stride != 1 || w.pad_top > 2 || w.pad_left > 2)
      return false;
    long long const tiles = 1LL * ((c.out.height + 3) / 4) * ((c.out.width + 3) / 4);
    return 2 * 36 * tiles <= 9 * c.out.area() && c.in.channels >= at_.lanes() && c.out.channels >= at_.lanes();
  }
  [[gnu::cold]] void note(host::bound_step<float> const& s, char const* what, bool tiles) {
    algorithms_ = detail::message({algorithms_, s.step->node, " ", what, tiles ? ": F(4x4, 3x3)\n" : ": direct\n"});
  }
  static convolution3x3 small(convolution const& c) {
    return {c.batch, c.in, c.out, c.window.pad_top, c.window.pad_left};
  }

  [[gnu::cold]] host::task build_pass(host::bound_step<float> const& s, convolution const& c, bool unrolled, bool tiles,
                                      bool data, bool training) {
    pass& p = passes_.emplace();
    p.step = &s, p.shape = c, p.data = data;
    long long packed = 0, scratch = 0;
    if (tiles) {
      p.winograd = detail::make_owner<winograd_forward>(at_.kernels(), small(c), data);
      packed = p.winograd->packed(), scratch = p.winograd->scratch();
    } else {
      int const phases = data ? c.window.stride : 1;
      for (int i = 0; i < phases * phases; ++i) {
        direct_pass const& d =
            data ? p.direct.emplace(at_.kernels(), c, data_gathering(c, i / phases, i % phases), true, false)
                 : p.direct.emplace(at_.kernels(), c, forward_gathering(c, unrolled), false, unrolled);
        packed += d.packed();
        scratch = d.scratch() > scratch ? d.scratch() : scratch;
      }
    }
    bool const folds = s.step->batch_norm >= 0;
    if (!data && (folds || s.parameter(role::bias)))
      p.bias.allocate(static_cast<std::size_t>(blocks_of(c.out.channels, at_.lanes()) * at_.lanes()));
    if (!training) p.own.allocate(static_cast<std::size_t>(packed));
    long long shared = workplace::rounded(training ? packed : folds ? kernel_numbers(c) : 0);
    if (data) p.from = place(s.dy, shared);
    p.to = place(plain::read_only(s.to), shared);
    at_.need(scratch, shared);
    return [this, &p, training] { run(p, training); };
  }
  /// Makes room for a copy of a tensor that needs one, at `end` of the workplace's memory.
  blocked_copy place(view<float const> const& v, long long& end) const {
    if (v.block == at_.lanes()) return {};
    blocked_copy const made{end};
    long long const channels = 1LL * blocks_of(v.shape.channels, at_.lanes()) * at_.lanes();
    end += workplace::rounded(v.batch * channels * v.shape.area());
    return made;
  }
  view<float> blocks(blocked_copy const& c, view<float const> const& v) const {
    int const padded = blocks_of(v.shape.channels, at_.lanes()) * at_.lanes();
    return {at_.shared() + c.at, v.shape, v.batch, at_.lanes(), padded, 0};
  }
  /// The tensor itself, or its copy.
  view<float const> in_blocks(blocked_copy const& c, view<float const> const& v) const {
    if (!c) return v;
    view<float> const to = blocks(c, v);
    for (int n = 0; n < v.batch; ++n)
      for (int k = 0; k < to.buffer_channels; ++k)
        for (long long i = 0; i < v.shape.area(); ++i) to(n, k, i) = k < v.shape.channels ? v(n, k, i) : 0.0F;
    return plain::read_only(to);
  }
  void copy_back(blocked_copy const& c, view<float> const& v, bool accumulate) const {
    plain::copy(plain::read_only(blocks(c, plain::read_only(v))), v, accumulate);
  }
  static long long kernel_numbers(convolution const& c) {
    return 1LL * c.in.channels * c.out.channels * c.window.height * c.window.width;
  }

  void run(pass& p, bool training) {
    float* const packed = training ? at_.shared() : p.own.data();
    if (training || p.version != *version_) {
      pack(p, packed);
      p.version = *version_;
    }
    host::bound_step<float> const& s = *p.step;
    view<float const> const from = p.data ? in_blocks(p.from, s.dy) : s.x;
    view<float> const to = p.to ? blocks(p.to, plain::read_only(s.to)) : s.to;
    bool const adds = p.data && s.accumulate;
    float const* const bias = p.bias.size() > 0 ? p.bias.data() : nullptr;
    bool const relu = !p.data && s.step->activation >= 0;
    if (p.winograd)
      return at_.pool().run(p.winograd->items(), [&](int item, int thread) {
        p.winograd->run(item, from, packed, bias, to, adds, relu, at_.scratch(thread), p.moments.data());
      });
    float const* kernel = packed;
    for (direct_pass const& d : p.direct) {
      at_.pool().run(d.items(), [&](int item, int thread) {
        d.run(item, from, kernel, bias, to, adds && !p.to, relu, at_.scratch(thread), p.moments.data());
      });
      kernel += d.packed();
    }
    if (p.to) copy_back(p.to, s.to, adds);
  }

  void pack(pass& p, float* packed) {
    host::bound_step<float> const& s = *p.step;
    float const* kernel = s.parameter(role::kernel);
    float const* const bias = s.parameter(role::bias);
    if (p.bias.size() > 0 && bias)
      for (int o = 0; o < p.shape.out.channels; ++o) p.bias[static_cast<std::size_t>(o)] = bias[o];
    if (s.step->batch_norm >= 0) kernel = fold(p, at_.shared());
    if (p.winograd)
      return at_.pool().run(p.winograd->pack_items(), [&](int item, int) { p.winograd->pack(item, kernel, packed); });
    for (direct_pass const& d : p.direct) {
      at_.pool().run(d.pack_items(), [&](int item, int) { d.pack(item, kernel, packed); });
      packed += d.packed();
    }
  }
  /// Multiplies a batch_norm with running moments into the kernel and the bias.
  [[gnu::cold]] float const* fold(pass& p, float* to) const {
    host::bound_step<float> const& s = *p.step;
    double const epsilon = graph_.nodes[s.step->batch_norm].epsilon;
    float const* const bias = s.parameter(role::bias);
    long long const each = kernel_numbers(p.shape) / p.shape.out.channels;
    for (int o = 0; o < p.shape.out.channels; ++o) {
      double const root = detail::sqrt(static_cast<double>(s.parameter(role::moving_variance)[o]) + epsilon);
      double const scale = static_cast<double>(s.parameter(role::gamma)[o]) / root;
      for (long long i = 0; i < each; ++i)
        to[o * each + i] = static_cast<float>(static_cast<double>(s.parameter(role::kernel)[o * each + i]) * scale);
      double const middle =
          (bias ? static_cast<double>(bias[o]) : 0) - static_cast<double>(s.parameter(role::moving_mean)[o]);
      p.bias[static_cast<std::size_t>(o)] =
          static_cast<float>(product_of(middle, scale) + static_cast<double>(s.parameter(role::beta)[o]));
    }
    return to;
  }

  [[gnu::cold]] host::task build_weights(host::bound_step<float> const& s, convolution const& c, bool unrolled,
                                         bool tiles) {
    int const threads = at_.pool().threads();
    auto const task = [&](auto const& p) {
      long long shared = workplace::rounded(p.sums());
      blocked_copy const copy = place(s.dy, shared);
      at_.need(p.scratch(), shared);
      return host::task([this, &s, p, copy] {
        view<float const> const dy = in_blocks(copy, s.dy);
        at_.pool().run(p.items(),
                       [&](int item, int thread) { p.run(item, s.x, dy, at_.shared(), at_.scratch(thread)); });
        at_.pool().run(p.finish_items(),
                       [&](int item, int) { p.finish(item, at_.shared(), s.gradient(role::kernel)); });
        if (float* const bias = s.gradient(role::bias))
          at_.pool().run(blocks_of(dy.shape.channels, at_.lanes()),
                         [&](int item, int) { bias_gradient(item, dy, bias); });
      });
    };
    if (tiles) return task(winograd_weights(at_.kernels(), small(c), threads));
    return task(direct_weights(at_.kernels(), c, unrolled, threads));
  }

  graph_view graph_;
  workplace& at_;
  bool winograd_;
  std::uint64_t const* version_;
  detail::chain<pass> passes_;
  std::string algorithms_;
};

}  // namespace dsl::cpu
