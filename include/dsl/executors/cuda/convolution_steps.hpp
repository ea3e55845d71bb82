// SPDX-License-Identifier: MIT
#pragma once

#include <dsl/detail/mode.hpp>
#include <dsl/detail/philox.hpp>
#include <dsl/executors/cuda/recording.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

namespace dsl::cu::TYPENET_MODE {

// A slice in a plan is aligned as cuDNN's graphs require.
static_assert(dsl::detail::library_bytes % tensor_alignment == 0);

/// Records convolutions: through cuDNN if it has a plan, else through typenet's own kernels.
class convolution_steps {
 public:
  /// `bench` is the memory that a convolution may use as workspace, including while its plans are timed.
  convolution_steps(recording& r, device_memory const& bench) : r_(r), bench_(bench) {}

  void forward(step const& x) {
    node const& n = r_.parts.graph.nodes[x.node];
    if (n.kind == op::conv2d_transpose) return forward_transposed(x);
    tensor_at const in = r_.at.read(x, content::activation), out = r_.at.written(x, content::activation);
    convolution const c = convolution_of(r_.parts.graph, n, r_.batch());
    int const b = r_.at.parameter(x, role::bias);
    factors f{.kernel = r_.parts.arena.working_copy(n.first_parameter),
              .bias = b < 0 ? nullptr : r_.parts.arena.parameter(b),
              .relu = x.activation >= 0};
    if (x.batch_norm >= 0) {
      folded_kernel& folded = fold(x, c);
      f.kernel = folded.kernel.as<element>(), f.bias = folded.bias.as<float>();
    }
    if (through_library(c, f, in, out)) return;
    bool const slice = is_slice(out);
    tensor_at const packed = slice ? beside(out) : out;
    if (!slice || !through_library(c, f, in, packed))
      r_.launch(kernels::convolution_forward(r_.type, r_.batch(), in.shape, out.shape, n.window, f.relu, n.groups),
                in.data, f.kernel, f.bias, packed.data);
    if (slice) copy(packed, out);
  }
  void backward_weights(step const& x) {
    node const& n = r_.parts.graph.nodes[x.node];
    bool const transposed = n.kind == op::conv2d_transpose;
    tensor_at const in = r_.at.read(x, content::activation), dy = packed_gradient(x);
    tensor_at const &from = transposed ? dy : in, &to = transposed ? in : dy;
    int const k = n.first_parameter, b = r_.at.parameter(x, role::bias, content::parameter_gradient);
    convolution const c = convolution_of(r_.parts.graph, n, r_.batch());
    element* const stage = r_.parts.arena.staged_gradient(k);
    if (convolve(c, {.pass = convolution_pass::backward_weights}, {from.data, stage, nullptr, to.data}))
      stage_gradient(k);
    else
      r_.launch(kernels::convolution_backward_weights(r_.type, r_.batch(), from.shape, to.shape, n.window, n.groups),
                from.data, to.data, r_.parts.arena.gradient(k));
    if (b >= 0)
      r_.launch(kernels::channel_sums(r_.type, dy.pixels, dy.shape.channels, dy.at), dy.data,
                r_.parts.arena.gradient(b));
  }
  void backward_data(step const& x) {
    node const& n = r_.parts.graph.nodes[x.node];
    tensor_at const dy = packed_gradient(x), dx = r_.at.written(x, content::gradient);
    bool const accumulate = r_.at.accumulates(x);
    if (n.kind != op::conv2d_transpose) return data_gradient(n, dy, dx, accumulate);
    element* const kernel = r_.parts.arena.working_copy(n.first_parameter);
    convolution const c = convolution_of(r_.parts.graph, n, r_.batch());
    if (convolve(c, {.pass = convolution_pass::forward, .accumulate = accumulate}, {dy.data, kernel, nullptr, dx.data}))
      return;
    r_.launch(
        kernels::convolution_forward(r_.type, r_.batch(), dy.shape, dx.shape, n.window, false, n.groups, accumulate),
        dy.data, kernel, nullptr, dx.data);
  }
  /// Stores which gradients are in the storage type, as one byte for every 16 numbers of the arena. Call it after the
  /// last step.
  void finish() const {
    if (!r_.made.stage_map) return;
    std::vector<unsigned char> map(static_cast<std::size_t>(r_.made.stage_map->bytes()));
    for (int k = 0; k < r_.parts.graph.size.parameters; ++k) {
      if (!staged_[static_cast<std::size_t>(k)]) continue;
      long long const begin = r_.parts.arena.offset_of(k), end = begin + r_.parts.graph.parameters[k].count();
      for (long long i = begin / 16; 16 * i < end; ++i) map[static_cast<std::size_t>(i)] = 1;
    }
    r_.parts.calls(r_.parts.calls.cudaMemcpyAsync, r_.made.stage_map->data(), map.data(), map.size(),
                   cudaMemcpyHostToDevice, r_.parts.stream);
    r_.parts.calls(r_.parts.calls.cudaStreamSynchronize, r_.parts.stream);
  }

 private:
  /// The parameters of a forward pass; bias is null if there is none.
  struct factors {
    element* kernel;
    float* bias;
    bool relu;
  };
  static bool is_slice(tensor_at const& t) { return t.at.channels != t.shape.channels; }
  void copy(tensor_at const& from, tensor_at const& to) {
    r_.launch(kernels::copy(r_.type, to.pixels, to.shape.channels, from.at, to.at, false),
              kernels::sum_inputs{{from.data}}, to.data);
  }
  /// Returns the gradient that a step reads, after copying it if it is a slice: only the output of a conv2d_transpose
  /// can be a slice in training.
  tensor_at packed_gradient(step const& x) {
    tensor_at const dy = r_.at.read(x, content::gradient);
    if (!is_slice(dy)) return dy;
    tensor_at const packed = beside(dy);
    copy(dy, packed);
    return packed;
  }
  /// Computes a conv2d_transpose as the data gradient of a convolution.
  void forward_transposed(step const& x) {
    node const& n = r_.parts.graph.nodes[x.node];
    tensor_at const in = r_.at.read(x, content::activation), out = r_.at.written(x, content::activation);
    tensor_at const packed = is_slice(out) ? beside(out) : out;
    data_gradient(n, in, packed, false);
    if (int const b = r_.at.parameter(x, role::bias); b >= 0)
      r_.launch(kernels::add_bias(r_.type, out.pixels, out.shape.channels, packed.at, false),
                r_.parts.arena.parameter(b), packed.data);
    if (is_slice(out)) copy(packed, out);
  }
  /// Records the gradient of a node's convolution with respect to its input.
  void data_gradient(node const& n, tensor_at const& dy, tensor_at const& dx, bool accumulate) {
    element* const kernel = r_.parts.arena.working_copy(n.first_parameter);
    convolution const c = convolution_of(r_.parts.graph, n, r_.batch());
    if (convolve(c, {.pass = convolution_pass::backward_data, .accumulate = accumulate},
                 {dx.data, kernel, nullptr, dy.data}))
      return;
    r_.launch(
        kernels::convolution_backward_data(r_.type, r_.batch(), dx.shape, dy.shape, n.window, accumulate, n.groups),
        dy.data, kernel, dx.data);
  }
  /// Records a forward pass through the library, which writes directly to the output's place; this may be a slice of a
  /// concat's buffer. Returns false if the library has no plan for that.
  bool through_library(convolution c, factors const& f, tensor_at const& in, tensor_at const& out) {
    bool const slice = is_slice(out);
    if (slice) c.output_pitch = out.at.channels;
    element* const to = behind(out.data, r_.type, out.at.offset);
    if (f.bias &&
        convolve(c, {.pass = convolution_pass::forward_inference, .relu = f.relu}, {in.data, f.kernel, f.bias, to}))
      return true;
    if (slice && f.bias) return false;  // a fused plan followed by a copy is better than three launches
    if (!convolve(c, {.pass = convolution_pass::forward}, {in.data, f.kernel, nullptr, to})) return false;
    if (f.bias || f.relu)
      r_.launch(kernels::add_bias(r_.type, out.pixels, out.shape.channels, out.at, f.relu), f.bias, out.data);
    return true;
  }
  /// Returns separate memory for a tensor that is copied into its slice, or from it. Only one step reads and writes it,
  /// so all tensors of a queue can share this memory.
  tensor_at beside(tensor_at const& slice) {
    tensor_at packed = slice;
    packed.at = {slice.shape.channels, 0};
    long long const bytes = slice.pixels * slice.shape.channels * bytes_of(r_.type);
    detail::chain<device_memory>& all = r_.made.packed[r_.queue()];
    device_memory* found = nullptr;
    for (device_memory& m : all)
      if (m.bytes() >= bytes) found = &m;
    packed.data = (found ? found : &all.emplace(r_.parts.calls, bytes, r_.parts.stream))->as<element>();
    return packed;
  }
  /// Records the library's pass; returns false if it has no plan.
  bool convolve(convolution const& c, convolution_options o, convolution_tensors const& t) {
    o.precision = factors_of(r_.parts.precision);
    o.deterministic = r_.parts.deterministic;
    o.workspace_limit = bench_.bytes();
    // cuDNN compiles all its plans with bias and relu in 16 bits at run time; with only one such plan there would be no
    // choice.
    if (o.pass == convolution_pass::forward_inference && r_.type == storage::bf16) o.most_compiled = 2;
    plan_bench const bench{r_.parts.cudnn, r_.parts.stream, t, bench_.data()};
    if (!o.deterministic) fill_factors(c, o, t);
    std::optional<convolution_plan> found = try_choose(c, o, bench);
    if (!found) return false;
    bound_convolution& b = r_.made.convolutions.emplace(bound_convolution{std::move(*found), t, r_.queue()});
    r_.enqueue([&h = r_.cudnn(), &b] { execute(h, b.plan, *b.pack); });
    return true;
  }
  /// Fills tensors with random numbers for timing plans, because multiplying zeros or equal numbers takes less power,
  /// and so perhaps less time. Kernels in float are the parameters themselves and are not filled. Activations are
  /// zeroed after recording, and 16-bit copies are made again before the next run.
  void fill_factors(convolution const& c, convolution_options const& o, convolution_tensors const& t) {
    auto const fill = [&](void* data, long long count) { set_factors(data, count * bytes_of(o.precision)); };
    if (o.pass != convolution_pass::backward_data) fill(t.input, c.input_count());
    if (o.pass == convolution_pass::backward_data || o.pass == convolution_pass::backward_weights)
      fill(t.output, c.output_count());
    if (o.pass == convolution_pass::backward_weights || r_.type == storage::f32) return;
    fill(t.kernel, c.kernel_count());
    r_.parts.arena.note_copies(true);
  }
  /// Fills memory with random numbers: a period of them is copied from the host and then doubled on the device.
  void set_factors(void* data, long long bytes) const {
    static std::vector<std::uint32_t> const drawn = draw_factors();
    auto* const to = static_cast<std::byte*>(data);
    long long have = std::min<long long>(bytes, 4 * static_cast<long long>(drawn.size()));
    copy(to, drawn.data(), have, cudaMemcpyHostToDevice);
    for (long long more = 0; have < bytes; have += more) {
      more = std::min(have, bytes - have);
      copy(to + have, to, more, cudaMemcpyDeviceToDevice);
    }
  }
  void copy(void* to, void const* from, long long bytes, cudaMemcpyKind kind) const {
    r_.parts.calls(r_.parts.calls.cudaMemcpyAsync, to, from, static_cast<std::size_t>(bytes), kind, r_.parts.stream);
  }
  /// Returns words that are each a float, and two bf16, of either sign, with a magnitude of 1/8 to 1/2.
  static std::vector<std::uint32_t> draw_factors() {
    std::vector<std::uint32_t> drawn(1 << 14);
    dsl::detail::random_stream random{0, dsl::detail::purpose::user, 0};
    for (std::uint32_t& x : drawn) x = (random.next_u32() & 0x80ff80ffU) | 0x3e003e00U;
    return drawn;
  }
  std::optional<convolution_plan> try_choose(convolution const& c, convolution_options const& o,
                                             plan_bench const& bench) const {
    try {
      return choose_plan(r_.parts.target, c, o, r_.parts.plans, &bench);
    } catch (no_plan_error const&) {
      return std::nullopt;
    }
  }

  folded_kernel& fold(step const& x, convolution const& c) {
    node const& n = r_.parts.graph.nodes[x.node];
    node const& norm = r_.parts.graph.nodes[x.batch_norm];
    folded_kernel& f = r_.made.folded.emplace(r_.parts.calls, c.kernel_count() * bytes_of(r_.type),
                                              4LL * c.out_channels, r_.parts.stream);
    if (!r_.parts.deterministic) set_factors(f.kernel.data(), f.kernel.bytes());  // for timing; then overwritten
    int const inner = static_cast<int>(c.kernel_count() / c.out_channels);
    auto const k = r_.parts.library.add(kernels::fold_batch_norm(r_.type, c.out_channels, inner, norm.epsilon));
    r_.made.refreshes.push_back(
        [&e = r_.parts, &f, k, p = n.first_parameter, q = norm.first_parameter, biased = n.parameters > 1] {
          cu::arena const& a = e.arena;
          float* const bias = biased ? a.parameter(p + 1) : nullptr;
          e.library.launch(k, e.stream, a.parameter(p), bias, a.parameter(q), a.parameter(q + 1), a.parameter(q + 2),
                           a.parameter(q + 3), f.kernel.as<element>(), f.bias.as<float>());
        });
    return f;
  }

  void stage_gradient(int k) {
    if (r_.type == storage::f32) return;
    if (!r_.made.stage_map) {
      staged_.resize(static_cast<std::size_t>(r_.parts.graph.size.parameters));
      r_.made.stage_map.emplace(r_.parts.calls, (r_.parts.arena.count() + 15) / 16, r_.parts.stream);
    }
    staged_[static_cast<std::size_t>(k)] = true;
  }

  recording& r_;
  device_memory const& bench_;
  std::vector<bool> staged_{};  // for each parameter, whether its gradient is computed in the storage type
};

}  // namespace dsl::cu::TYPENET_MODE
