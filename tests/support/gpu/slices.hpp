// SPDX-License-Identifier: MIT
#pragma once

#include "support/gpu/comparing.hpp"

// Checks convolutions that write their slices of a concat's buffer, one by one; a whole network's results would hide
// much.

namespace dsl::test {

/// A convolution of a plan for inference in bf16 whose output is a slice, and the slice's first channel.
struct sliced_convolution {
  cu::convolution what{};
  int channel = 0;
};
inline std::vector<sliced_convolution> slices_of(graph_view const& g, int batch) {
  plan const p = make_plan(g, {.batch = batch, .mode = mode::inference, .target = cu::target_for(cu::storage::bf16)});
  std::vector<sliced_convolution> all;
  for (step const& s : p.steps) {
    if (s.kind != op::conv2d) continue;
    sliced_convolution c{cu::convolution_of(g, g.nodes[s.node], batch)};
    for (int i = s.first_operand; i < s.first_operand + s.operands; ++i)
      if (operand const& o = p.operands[i]; o.what == content::activation && o.how == access::write)
        c.what.output_pitch = p.buffers[o.buffer].shape.channels, c.channel = o.channel;
    if (c.what.output_pitch > c.what.out_channels) all.push_back(c);
  }
  return all;
}

namespace detail {

/// Returns random sixteenths, which bf16 holds exactly: its numbers are the upper halves of floats.
inline std::vector<std::uint16_t> drawn_bf16(long long count, std::uint32_t seed) {
  std::vector<std::uint16_t> all(static_cast<std::size_t>(count));
  for (std::uint16_t& x : all) {
    seed = seed * 1664525U + 1013904223U;
    float const value = static_cast<float>(static_cast<int>(seed >> 27) - 15) / 16;
    x = static_cast<std::uint16_t>(std::bit_cast<std::uint32_t>(value) >> 16);
  }
  return all;
}

/// Runs a convolution's plans, the first or all of them, on the same numbers.
class slice_bench {
 public:
  explicit slice_bench(gpu const& on) : on_(on), a_(on.calls), stream_(selected(on)), cudnn_(a_), target_(cudnn_) {
    cudnn_.set_stream(stream_.get());
  }
  /// Returns the output's whole buffer after each plan.
  std::vector<std::vector<std::uint16_t>> run(cu::convolution const& c, int channel, int most_plans) {
    cu::convolution_options const o{.pass = cu::convolution_pass::forward_inference,
                                    .relu = true,
                                    .workspace_limit = on_.workspace_limit,
                                    .most_plans = most_plans};
    cudaStream_t const s = stream_.get();
    long long const pitch = c.output_pitch > 0 ? c.output_pitch : c.out_channels;
    auto const before = drawn_bf16(c.output_count() / c.out_channels * pitch, 3);
    auto const input = drawn_bf16(c.input_count(), 1), kernel = drawn_bf16(c.kernel_count(), 2);
    std::vector<float> bias(static_cast<std::size_t>(c.out_channels));
    for (std::size_t i = 0; i < bias.size(); ++i) bias[i] = static_cast<float>(i % 7) - 3;
    cu::device_memory const x(a_, 2 * c.input_count(), s), w(a_, 2 * c.kernel_count(), s),
        b(a_, 4LL * c.out_channels, s), y(a_, 2 * static_cast<long long>(before.size()), s),
        workspace(a_, on_.workspace_limit, s);
    write(x, input), write(w, kernel), write(b, bias);
    std::vector<std::vector<std::uint16_t>> results;
    for (cu::convolution_plan const& plan : cu::find_plans(target_, c, o).plans) {
      write(y, before);
      cu::backend_descriptor const pack =
          cu::bind_tensors(plan, {x.data(), w.data(), b.data(), y.data() + 2LL * channel}, workspace.data());
      if (!cu::try_execute(cudnn_, plan, pack)) continue;  // as when plans are timed
      std::vector<std::uint16_t>& found = results.emplace_back(before.size());
      a_(a_.cudaMemcpyAsync, found.data(), y.data(), 2 * found.size(), cudaMemcpyDeviceToHost, s);
      stream_.wait();
    }
    return results;
  }

 private:
  static cu::api const& selected(gpu const& on) {
    on.calls(on.calls.cudaSetDevice, on.device);
    return on.calls;
  }
  template <class T>
  void write(cu::device_memory const& to, std::vector<T> const& from) const {
    a_(a_.cudaMemcpyAsync, to.data(), from.data(), sizeof(T) * from.size(), cudaMemcpyHostToDevice, stream_.get());
    stream_.wait();
  }

  gpu const& on_;
  cu::api const& a_;
  cu::stream stream_;
  cu::cudnn_handle cudnn_;
  cu::plan_target target_;
};

}  // namespace detail

/// Checks that each convolution writes into its slice what it writes into a separate buffer, and nothing beside it: the
/// first `most_plans` plans of each, in bf16 with bias and relu.
inline void check_slices(gpu const& on, ledger& l, graph_view const& g, int batch, int most_plans) {
  detail::slice_bench bench(on);
  comparison apart, beside;
  int plans = 0, without = 0;
  for (sliced_convolution const& c : slices_of(g, batch)) {
    cu::convolution whole = c.what;
    whole.output_pitch = 0;
    auto const wanted = bench.run(whole, 0, 1);
    auto const before = detail::drawn_bf16(c.what.output_count() / c.what.out_channels * c.what.output_pitch, 3);
    auto const found = bench.run(c.what, c.channel, most_plans);
    without += found.empty() || wanted.empty() ? 1 : 0;
    for (std::size_t k = 0; !wanted.empty() && k < found.size(); ++k, ++plans) {
      std::vector<float> here, there, left, around;
      auto const number = [](std::uint16_t bits) { return std::bit_cast<float>(std::uint32_t{bits} << 16); };
      for (std::size_t i = 0; i < before.size(); ++i) {
        int const channel = static_cast<int>(i % static_cast<std::size_t>(c.what.output_pitch)) - c.channel;
        bool const inside = channel >= 0 && channel < c.what.out_channels;
        (inside ? here : left).push_back(number(found[k][i]));
        if (inside)
          there.push_back(number(wanted[0][there.size()]));
        else
          around.push_back(number(before[i]));
      }
      apart.add(difference(here, there));
      beside.add(different_bits(left, around));
    }
  }
  std::string const what = "convolutions into slices, batch " + std::to_string(batch) + ", ";
  l.within(what + std::to_string(plans) + " plans: the one that differs most", apart, 0.01);
  l.within(what + "numbers written beside a slice", beside, 1);
  l.holds(what + "each has a plan", plans > 0 && without == 0, std::to_string(without) + " have none");
}

}  // namespace dsl::test
