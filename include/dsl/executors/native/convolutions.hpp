// SPDX-License-Identifier: MIT
#pragma once

#include <dsl/detail/chain.hpp>
#include <dsl/detail/math.hpp>
#include <dsl/detail/mode.hpp>
#include <dsl/detail/owner.hpp>
#include <dsl/detail/zeros.hpp>
#include <dsl/executors/host/batch_norm_step.hpp>
#include <dsl/executors/host/bound_step.hpp>
#include <dsl/executors/native/blocked_copy.hpp>
#include <dsl/executors/native/depthwise.hpp>
#include <dsl/executors/native/direct_weights.hpp>
#include <dsl/executors/native/group_slices.hpp>
#include <dsl/executors/native/winograd.hpp>
#include <dsl/executors/native/winograd_small.hpp>

#include <cstdint>
#include <string>

namespace dsl::native_cpu::TYPENET_MODE {

/// Counters of an engine: how often any parameter has changed, and how often frozen parameters have.
struct parameter_versions {
  std::uint64_t const* all = nullptr;
  std::uint64_t const* frozen = nullptr;
};

/// The packed kernel that the passes of a node read, for all batch sizes with the same algorithms. If only inference
/// reads it, or if it is frozen, it is kept until its parameters change. Otherwise it belongs to one pass, and each
/// step packs it again.
struct packed_kernel {
  node const* of = nullptr;
  int batch_norm = -1;                         // node that is folded into it; -1: none
  bool data = false;                           // for the data gradient
  int form = 0;                                // the algorithms and vectors that it was packed for
  detail::owner<host::memory_block> memory{};  // where it is kept; zeros<float> isn't aligned
  detail::zeros<float> bias{};                 // in whole blocks
  std::uint64_t const* newest = nullptr;       // current version of the parameters
  std::uint64_t version = 0;                   // version that it was packed from
};

/// The convolutions of one device. Chooses the algorithm of each pass, keeps its packed kernel, and builds its task.
class convolutions {
 public:
  /// Engines that share their weights pass the same `kernels`.
  convolutions(graph_view const& g, cpu_device& at, bool winograd, parameter_versions const& versions,
               detail::chain<packed_kernel>& kernels)
      : graph_(g), at_(at), winograd_(winograd), versions_(versions), kernels_(kernels) {}

  /// Returns the task of a step of conv2d or conv2d_transpose: forward, backward_data or backward_weights. The passes
  /// of a conv2d_transpose are those of a conv2d whose input is its output: the forward pass computes a data gradient,
  /// and the data gradient is computed as a forward pass.
  host::task build(host::bound_step<float> const& s, bool training) {
    bool const weights = s.step->what == action::backward_weights, back = s.step->what == action::backward_data;
    view<float const> const in = back ? plain::read_only(s.to) : s.x;
    view<float const> const out = weights || back ? s.dy : plain::read_only(s.to);
    bool const turned = is_transposed(s);
    convolution const c{in.batch, turned ? out.shape : in.shape, turned ? in.shape : out.shape, s.node->window,
                        s.node->groups};
    return weights ? build_weights(s, c) : build_pass(s, c, back != turned, training);
  }

  /// Makes the convolution that wrote a batch_norm's input in this program also compute the moments of its output.
  /// Returns empty moments if the input comes from another operation, or if the convolution cannot compute them because
  /// it has a fused activation, several slices of channels, or a result that is copied out of channel blocks.
  host::summed_moments sum_moments(host::bound_step<float> const& norm) {
    pass* made = nullptr;
    for (pass& p : passes_) {
      host::bound_step<float> const& of = *p.step;
      if (!p.data && of.step->what == action::forward && of.node->output == graph_.input(*norm.node) &&
          of.step->micro == norm.step->micro && of.to.data == norm.x.data && of.to.channel == norm.x.channel &&
          of.to.batch == norm.x.batch)
        made = &p;
    }
    if (!made || made->to || made->step->step->activation >= 0) return {};
    part const& only = *made->parts.begin();
    if (only.slices.out < made->shape.out.channels) return {};  // each slice would have sums of its own
    if (made->moments.size() == 0)                              // of several norms
      made->moments.allocate(static_cast<std::size_t>(only.algorithm->moments()));
    return {made->moments.data(), only.algorithm->records()};
  }

  /// Keeps what has been built for a program, now that the program is complete.
  void keep() {
    for_each_list([](auto const& all, int& kept) { kept = all.size(); });
  }
  /// Forgets what has been built since keep(), for a program that could not be completed and whose steps are gone.
  void forget() {
    for_each_list([](auto& all, int kept) {
      while (all.size() > kept) all.drop_last();
    });
  }

  /// Packs the kernels that are kept and whose parameters have changed.
  void refresh() {
    for (pass const& p : passes_)
      if (p.kernel->memory) refresh(p);
  }

  /// Returns the bytes of the sums for batch_norm and of biases in whole blocks. Kernels that are kept do not count.
  long long bytes() const {
    long long all = 0;
    for (pass const& p : passes_) all += static_cast<long long>(8 * p.moments.size() + 4 * p.own.bias.size());
    return all;
  }
  /// Returns the algorithm of each step, one per line: "3 forward: F(4x4, 3x3)".
  std::string algorithms() const {
    std::string all;
    for (choice const& c : choices_) {
      all = detail::message({all, c.node, " ", c.pass, ": ", c.algorithm});
      if (c.together > 1) all = detail::message({all, ", ", c.together, " groups together"});
      all += "\n";
    }
    return all;
  }

 private:
  /// Consecutive slices, and the algorithm that computes each of them.
  struct part {
    group_slices slices;
    convolution_pass const* algorithm;
  };
  struct pass {
    host::bound_step<float> const* step = nullptr;
    convolution shape{};
    bool data = false;   // computes a data gradient, or the forward pass of a conv2d_transpose
    bool small = false;  // it has parts that are winograd_small
    detail::chain<part> parts{};
    blocked_copy from{}, to{};
    packed_kernel own{};  // of training, where each step packs it
    packed_kernel* kernel = nullptr;
    long long folded = 0, dense = 0;  // in shared memory: the folded kernel, a slice's dense kernel
    detail::zeros<double> moments{};  // empty unless a batch_norm needs them
  };
  struct weights_part {
    group_slices slices;
    convolution_weights const* algorithm;
  };
  struct weights_pass {
    host::bound_step<float> const* step = nullptr;
    convolution shape{};
    detail::chain<weights_part> parts{};
    blocked_copy x{}, dy{};
    long long dense = 0;  // in shared memory: the gradient of a slice's dense kernel
  };

  /// Calls f for each list that building adds to, and the number of what complete programs have in it. Passes come
  /// before what they point to.
  template <class F>
  void for_each_list(F f) {
    f(passes_, kept_[0]), f(weights_, kept_[1]), f(choices_, kept_[2]);
    f(direct_, kept_[3]), f(winograd_passes_, kept_[4]), f(depthwise_, kept_[5]), f(winograd_small_, kept_[9]);
    f(direct_weights_, kept_[6]), f(winograd_weights_, kept_[7]), f(depthwise_weights_, kept_[8]);
  }

  static bool is_transposed(host::bound_step<float> const& s) { return s.node->kind == op::conv2d_transpose; }
  /// Returns the tensor that a forward pass or a data gradient reads.
  static view<float const> const& source(host::bound_step<float> const& s) {
    return s.step->what == action::forward ? s.x : s.dy;
  }
  /// Whether Winograd transforms pay: they must at least halve the number of products, and inputs and outputs must have
  /// at least one whole channel block.
  bool suits_winograd(convolution const& c, bool unrolled) const {
    window const& w = c.window;
    if (!winograd_ || unrolled || w.height != 3 || w.width != 3 || w.pad_top > 2 || w.pad_left > 2) return false;
    if (!w.strides_by(1) || w.is_dilated()) return false;
    long long const tiles = 1LL * ((c.out.height + 3) / 4) * ((c.out.width + 3) / 4);
    return 2 * 36 * tiles <= 9 * c.out.area() && c.in.channels >= at_.lanes() && c.out.channels >= at_.lanes();
  }
  /// Whether each filter reads only one of several channels.
  static bool is_depthwise(convolution const& c) { return c.groups > 1 && c.groups == c.in.channels; }
  static group_slices whole(convolution const& c) { return {0, 0, 1, 1, c.in.channels, c.out.channels}; }
  static int area(convolution const& c) { return c.window.height * c.window.width; }
  static long long kernel_numbers(convolution const& c) {
    return 1LL * c.in.channels / c.groups * c.out.channels * area(c);
  }
  static convolution3x3 small(convolution const& c) {
    return {c.batch, c.in, c.out, c.window.pad_top, c.window.pad_left};
  }
  /// The algorithm of a pass, for algorithms().
  struct choice {
    int node;
    char const* pass;
    char const* algorithm;
    int together;  // groups
  };
  void note(host::bound_step<float> const& s, char const* what, char const* algorithm, int together = 1) {
    choices_.emplace(choice{s.step->node, what, algorithm, together});
  }

  /// Chooses the algorithms of a forward pass or a data gradient. A data gradient with a stride has a part for each
  /// phase.
  void choose(pass& p, bool unrolled) {
    char const* const what = p.step->step->what == action::forward ? "forward" : "backward data";
    convolution const& c = p.shape;
    int const phases = p.data ? c.window.rows().stride * c.window.columns().stride : 1;
    if (is_depthwise(c)) {
      note(*p.step, what, "depthwise");
      p.parts.emplace(part{whole(c), &depthwise_.emplace(at_.kernels(), c, p.data)});
      return;
    }
    for (group_slices const& s : slices_of(c, at_.lanes())) {
      convolution const one = slice(c, s);
      bool const tiles = suits_winograd(one, unrolled);
      note(*p.step, what, tiles ? "F(4x4, 3x3)" : "direct", s.groups);
      bool const few = tiles && winograd_small::suits(c.batch, p.data ? c.in : c.out);
      p.small |= few;
      if (few)
        p.parts.emplace(part{s, &winograd_small_.emplace(at_.kernels(), small(one), p.data, at_.threads())});
      else if (tiles)
        p.parts.emplace(part{s, &winograd_passes_.emplace(at_.kernels(), small(one), p.data, at_.threads())});
      for (int i = 0; !tiles && i < phases; ++i)
        p.parts.emplace(part{
            s, &direct_.emplace(at_.kernels(), one, grid(one, p.data, i, unrolled), p.data, unrolled, at_.threads())});
    }
  }
  static gathering grid(convolution const& c, bool data, int phase, bool unrolled) {
    int const stride = c.window.columns().stride;
    return data ? data_gathering(c, phase / stride, phase % stride) : forward_gathering(c, unrolled);
  }

  host::task build_pass(host::bound_step<float> const& s, convolution const& c, bool data, bool training) {
    pass& p = passes_.emplace();
    p.step = &s, p.shape = c, p.data = data;
    bool const unrolled = !data && !is_transposed(s) && is_plain(s.x) && c.groups == 1;
    choose(p, unrolled);
    long long packed = 0, scratch = 0, dense = 0;
    for (part const& q : p.parts) {
      packed += q.slices.count * q.algorithm->packed();
      scratch = q.algorithm->scratch() > scratch ? q.algorithm->scratch() : scratch;
      if (q.slices.groups > 1) dense = most(dense, dense_kernel(q.slices, area(c)));
    }
    bool const folds = s.step->batch_norm >= 0;
    p.kernel = training ? &p.own : &kernel_of(p, unrolled);
    bool const has_bias = s.step->what == action::forward && (folds || s.parameter(role::bias));
    if (has_bias && p.kernel->bias.size() == 0)
      p.kernel->bias.allocate(
          static_cast<std::size_t>(1LL * blocks_of(s.to.shape.channels, at_.lanes()) * at_.lanes()));
    if (!training && !p.kernel->memory) p.kernel->memory = detail::make_owner<host::memory_block>(4 * packed);
    p.folded = cpu_device::rounded(training ? packed : 0);
    p.dense = p.folded + cpu_device::rounded(folds ? kernel_numbers(c) : 0);
    long long shared = p.dense + cpu_device::rounded(dense);
    if (!unrolled) p.from = blocked_copy(at_, source(s), shared);
    p.to = blocked_copy(at_, plain::read_only(s.to), shared);
    at_.need(scratch, shared);
    return [this, &p] { run(p); };
  }
  /// Returns the kernel that a step's pass reads and that is kept. Programs whose inputs have the same layout share it.
  /// Layouts may differ: after a dropout, only inference may read the image itself.
  packed_kernel& kernel_of(pass const& p, bool unrolled) {
    host::bound_step<float> const& s = *p.step;
    int const norm = p.data ? -1 : s.step->batch_norm;
    int const form = 8 * at_.lanes() + 4 * p.small + 2 * unrolled + winograd_;
    for (packed_kernel& k : kernels_)
      if (k.of == s.node && k.batch_norm == norm && k.data == p.data && k.form == form) return k;
    packed_kernel& made = kernels_.emplace();
    made.of = s.node, made.batch_norm = norm, made.data = p.data, made.form = form;
    bool const frozen = s.node->frozen && (norm < 0 || graph_.nodes[norm].frozen);
    made.newest = frozen ? versions_.frozen : versions_.all;
    return made;
  }
  static long long most(long long a, long long b) { return a > b ? a : b; }

  void run(pass const& p) {
    packed_kernel& k = *p.kernel;
    float* const packed = k.memory ? reinterpret_cast<float*>(k.memory->data()) : at_.shared();
    if (k.memory)
      refresh(p);
    else
      pack(p, packed);
    host::bound_step<float> const& s = *p.step;
    view<float const> const from = p.from.read(at_, source(s));
    view<float> const to = p.to ? p.to.memory(at_, plain::read_only(s.to)) : s.to;
    bool const backward = s.step->what == action::backward_data, adds = backward && s.accumulate;
    float const* const bias = k.bias.size() > 0 ? k.bias.data() : nullptr;
    bool const relu = !backward && s.step->activation >= 0;
    float const* kernel = packed;
    for (part const& q : p.parts) {
      group_slices const& l = q.slices;
      convolution_pass const& a = *q.algorithm;
      int const read = p.data ? l.out : l.in, written = p.data ? l.in : l.out;
      int const first_read = p.data ? l.first_out : l.first_in, first_written = p.data ? l.first_in : l.first_out;
      int const items = a.items();
      at_.pool().run(l.count * items, [&](int i, int thread) {
        int const j = i / items, written_first = first_written + j * written;
        a.run(i % items, channels_of(from, first_read + j * read, read), kernel + j * a.packed(),
              bias ? bias + written_first : nullptr, channels_of(to, written_first, written), adds && !p.to, relu,
              at_.scratch(thread), p.moments.data());
      });
      kernel += l.count * a.packed();
    }
    if (p.to) p.to.write(at_, s.to, adds);
  }

  void refresh(pass const& p) {
    packed_kernel& k = *p.kernel;
    if (k.version == *k.newest) return;
    pack(p, reinterpret_cast<float*>(k.memory->data()));
    k.version = *k.newest;
  }
  void pack(pass const& p, float* packed) {
    host::bound_step<float> const& s = *p.step;
    float const* kernel = s.parameter(role::kernel);
    float const* const bias = s.parameter(role::bias);
    detail::zeros<float>& whole_bias = p.kernel->bias;
    if (whole_bias.size() > 0 && bias)
      for (int o = 0; o < s.to.shape.channels; ++o) whole_bias[static_cast<std::size_t>(o)] = bias[o];
    if (s.step->batch_norm >= 0) kernel = fold(p, at_.shared() + p.folded);
    for (part const& q : p.parts)
      for (int k = 0; k < q.slices.count; ++k, packed += q.algorithm->packed()) {
        float const* dense = kernel + parameter_offset(q.slices, k, area(p.shape));
        if (q.slices.groups > 1) {
          spread_kernel(q.slices, area(p.shape), dense, at_.shared() + p.dense);
          dense = at_.shared() + p.dense;
        }
        at_.pool().run(q.algorithm->pack_items(), [&](int item, int) { q.algorithm->pack(item, dense, packed); });
      }
  }
  /// Folds a batch_norm with running moments into a copy of the kernel, at `to`, and into the bias. Returns `to`.
  float const* fold(pass const& p, float* to) const {
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
      p.kernel->bias[static_cast<std::size_t>(o)] =
          static_cast<float>(product_of(middle, scale) + static_cast<double>(s.parameter(role::beta)[o]));
    }
    return to;
  }

  host::task build_weights(host::bound_step<float> const& s, convolution const& c) {
    weights_pass& p = weights_.emplace();
    p.step = &s, p.shape = c;
    bool const unrolled = !is_transposed(s) && is_plain(s.x) && c.groups == 1;
    int const threads = at_.pool().threads();
    if (is_depthwise(c)) {
      note(s, "backward weights", "depthwise");
      p.parts.emplace(weights_part{whole(c), &depthwise_weights_.emplace(at_.kernels(), c)});
    } else {
      for (group_slices const& l : slices_of(c, at_.lanes())) {
        convolution const one = slice(c, l);
        bool const tiles = suits_winograd(one, unrolled);
        note(s, "backward weights", tiles ? "F(4x4, 3x3)" : "direct", l.groups);
        if (tiles)
          p.parts.emplace(weights_part{l, &winograd_weights_.emplace(at_.kernels(), small(one), threads)});
        else
          p.parts.emplace(weights_part{l, &direct_weights_.emplace(at_.kernels(), one, unrolled, threads)});
      }
    }
    long long sums = 0, dense = 0, scratch = 0;
    for (weights_part const& q : p.parts) {
      sums = most(sums, q.algorithm->sums());
      scratch = most(scratch, q.algorithm->scratch());
      if (q.slices.groups > 1) dense = most(dense, dense_kernel(q.slices, area(c)));
    }
    p.dense = cpu_device::rounded(sums);
    long long shared = p.dense + cpu_device::rounded(dense);
    if (!unrolled) p.x = blocked_copy(at_, is_transposed(s) ? s.dy : s.x, shared);
    p.dy = blocked_copy(at_, is_transposed(s) ? s.x : s.dy, shared);
    at_.need(scratch, shared);
    return [this, &p] { run(p); };
  }

  void run(weights_pass const& p) {
    host::bound_step<float> const& s = *p.step;
    bool const turned = is_transposed(s);
    view<float const> const x = p.x.read(at_, turned ? s.dy : s.x), dy = p.dy.read(at_, turned ? s.x : s.dy);
    float* const parameter = s.gradient(role::kernel);
    for (weights_part const& q : p.parts)
      for (int k = 0; k < q.slices.count; ++k) {
        group_slices const& l = q.slices;
        convolution_weights const& a = *q.algorithm;
        view<float const> const xs = channels_of(x, l.first_in + k * l.in, l.in);
        view<float const> const dys = channels_of(dy, l.first_out + k * l.out, l.out);
        at_.pool().run(a.items(),
                       [&](int item, int thread) { a.run(item, xs, dys, at_.shared(), at_.scratch(thread)); });
        float* const own = parameter + parameter_offset(l, k, area(p.shape));
        float* const gradient = l.groups > 1 ? at_.shared() + p.dense : own;
        at_.pool().run(a.finish_items(), [&](int item, int) { a.finish(item, at_.shared(), gradient); });
        if (l.groups > 1) collect_kernel(l, area(p.shape), gradient, own);
      }
    view<float const> const& result = turned ? x : dy;
    if (float* const bias = s.gradient(role::bias))
      at_.pool().run(blocks_of(result.shape.channels, at_.lanes()),
                     [&](int item, int) { bias_gradient(item, result, bias); });
  }

  graph_view graph_;
  cpu_device& at_;
  bool winograd_;
  parameter_versions versions_;
  detail::chain<packed_kernel>& kernels_;
  detail::chain<pass> passes_;
  detail::chain<weights_pass> weights_;
  detail::chain<direct_pass> direct_;
  detail::chain<winograd_forward> winograd_passes_;
  detail::chain<winograd_small> winograd_small_;
  detail::chain<depthwise_pass> depthwise_;
  detail::chain<direct_weights> direct_weights_;
  detail::chain<winograd_weights> winograd_weights_;
  detail::chain<depthwise_weights> depthwise_weights_;
  detail::chain<choice> choices_;
  int kept_[10] = {};  // the numbers of what complete programs have, in the order of for_each_list
};

}  // namespace dsl::native_cpu::TYPENET_MODE
