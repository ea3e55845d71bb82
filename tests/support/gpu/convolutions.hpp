// SPDX-License-Identifier: MIT
#pragma once

#include <chrono>
#include <cstring>
#include <initializer_list>
#include <map>
#include <optional>
#include <utility>

#include "support/gpu/comparing.hpp"
#include "support/gpu/posed_convolutions.hpp"

// Compares every convolution that a network asks of cuDNN with typenet's own direct kernels, bit by bit.

namespace dsl::test {

struct convolution_checks {
  precision with = precision::bf16;
  int batch = 1;
  dsl::mode mode = dsl::mode::training;
  int more_plans = 0;  // of each, beside the chosen one: those that need no compiler, any of which timing could choose
};
struct convolution_limits {
  int images = 64;       // that our kernels take at once: a batch of 1,024 needs none of its own
  double seconds = 1e9;  // afterwards nothing is begun
};

namespace detail {

/// Random -1, 0 and 1, which have exact products; sums of fewer than 2^24 of them are exact in float, in any order and
/// with factors rounded to bf16 or tf32. Most sums are also below 256, and need no rounding to be stored in bf16.
class drawn_signs {
 public:
  /// Of `among` numbers about 1,024 are not 0. Each `kind` has a period of its own, a prime, so that no two tensors
  /// coincide.
  std::vector<float> const& draw(int kind, long long among) {
    constexpr int periods[] = {65537, 65539, 65543, 65551, 65557};
    auto const [at, fresh] = drawn_.try_emplace({kind, among});
    if (!fresh) return at->second;
    dsl::detail::random_stream random(5, dsl::detail::purpose::user,
                                      static_cast<std::uint64_t>(kind) << 32 | static_cast<std::uint64_t>(among));
    for (int i = 0; i < periods[kind]; ++i) {
      bool const zero = among > 1024 && random.below(static_cast<std::uint32_t>(among)) >= 1024;
      at->second.push_back(zero ? 0.0F : static_cast<float>(random.below(3)) - 1);
    }
    return at->second;
  }

 private:
  std::map<std::pair<int, long long>, std::vector<float>> drawn_;
};

/// Two results, row by row: a row is a pixel's channels, or those of a kernel's element.
struct compared_rows {
  long long values = 0, different = 0, beside = 0;  // beside: written where nothing should be
  long long first = -1;                             // in a packed tensor
  float found = 0, wanted = 0;
};

class convolution_bench {
 public:
  explicit convolution_bench(gpu const& on)
      : on_(on),
        a_(on.calls),
        facts_(cu::select_device(a_, on.device)),
        stream_(a_),
        cudnn_(a_),
        target_(cudnn_),
        plans_(on.cache),
        library_(a_, on.cache),
        workspace_(a_, on.workspace_limit, stream_.get()),
        theirs_(a_, chunk_bytes),
        ours_(a_, chunk_bytes) {
    cudnn_.set_stream(stream_.get());
  }

  /// The kernel of a convolution's pass; only one is set.
  struct own_kernel {
    template <class... A>
    using number = cu::kernel_library::number<A...>;
    number<cu::element const*, cu::element const*, cu::element*> data{};
    number<cu::element const*, cu::element const*, float*> weights{};
    number<cu::element const*, cu::element const*, float const*, cu::element*> forward{};
  };
  /// Adds the kernel for a convolution, which build() compiles with all others.
  own_kernel add(graph_view const& g, posed_convolution const& c, int images) {
    node const& n = g.nodes[c.node];
    bool const transposed = n.kind == op::conv2d_transpose;
    shape const& in = transposed ? g.output_shape(n) : g.input_shape(n);
    shape const& out = transposed ? g.input_shape(n) : g.output_shape(n);
    cu::storage const t = storage_of(c);
    switch (c.how.pass) {
      case cu::convolution_pass::backward_data:
        return {.data = library_.add(
                    cu::kernels::convolution_backward_data(t, images, in, out, n.window, c.how.accumulate, n.groups))};
      case cu::convolution_pass::backward_weights:
        return {.weights =
                    library_.add(cu::kernels::convolution_backward_weights(t, images, in, out, n.window, n.groups))};
      default:
        return {.forward = library_.add(cu::kernels::convolution_forward(t, images, in, out, n.window, c.how.relu,
                                                                         n.groups, c.how.accumulate))};
    }
  }
  void build() { library_.build(facts_.architecture); }

  /// A plan's result and its comparison; or that there is no plan, or one that the device does not run.
  struct outcome {
    std::string plan{}, none{}, refused{};
    compared_rows rows{};
  };
  std::vector<outcome> run(posed_convolution c, own_kernel const& kernel, int images, int more_plans) {
    cu::storage const t = storage_of(c);
    long long const each = cu::bytes_of(t);
    auto const pass = c.how.pass;
    bool const back = pass == cu::convolution_pass::backward_data,
               weights = pass == cu::convolution_pass::backward_weights;
    long long const written = back ? c.what.input_count() : weights ? c.what.kernel_count() : c.what.output_count();
    long long const channels = back || weights ? c.what.in_channels : c.what.out_channels;
    long long const rows = written / channels, widest = std::max<long long>(channels, c.what.output_pitch);

    cudaStream_t const s = stream_.get();
    auto const in = memory(back ? 0 : c.what.input_count() * each);
    auto const w = memory(weights ? 0 : c.what.kernel_count() * each);
    auto const out = memory(back || weights ? c.what.output_count() * each : 0);
    auto const bias = memory(4LL * c.what.out_channels);
    auto const got = memory(rows * widest * each + guard_bytes);
    // Weights are floats: a sum for each part of the batch.
    long long const parts = weights ? c.what.batch / images : 1;
    auto const wanted = memory(weights ? 4 * parts * written : written * each);
    if (!back) fill(*in, t, c.what.input_count(), signs_.draw(0, 0));
    if (!weights) fill(*w, t, c.what.kernel_count(), signs_.draw(1, 0));
    if (back) fill(*out, t, c.what.output_count(), signs_.draw(2, 0));
    // Sums over a million pixels would exceed what bf16 holds exactly.
    if (weights) fill(*out, t, c.what.output_count(), signs_.draw(3, c.what.output_count() / c.what.out_channels));
    std::vector<float> biases(static_cast<std::size_t>(c.what.out_channels));
    for (std::size_t i = 0; i < biases.size(); ++i) biases[i] = static_cast<float>(i % 7) - 3;
    fill(*bias, cu::storage::f32, c.what.out_channels, biases);
    if (c.how.accumulate) fill(*wanted, t, written, signs_.draw(4, 0));
    bool const biased = pass == cu::convolution_pass::forward_inference;
    for (int first = 0; first < c.what.batch; first += images) {
      long long const x = each * first * (c.what.input_count() / c.what.batch);
      long long const y = each * first * (c.what.output_count() / c.what.batch);
      if (back)
        library_.launch(kernel.data, s, tensor(*out, y), tensor(*w), tensor(*wanted, x));
      else if (weights)
        library_.launch(kernel.weights, s, tensor(*in, x), tensor(*out, y),
                        wanted->as<float>() + first / images * written);
      else
        library_.launch(kernel.forward, s, tensor(*in, x), tensor(*w), biased ? bias->as<float>() : nullptr,
                        tensor(*wanted, y));
    }
    stream_.wait();

    std::vector<outcome> all;
    auto const compare = [&](cu::convolution_plan const& plan, bool slice) {
      long long const pitch = slice ? c.what.output_pitch : channels, offset = slice ? c.channel : 0;
      poison(*got);  // NaN, so that unwritten or stray values show
      if (c.how.accumulate) fill(*got, t, written, signs_.draw(4, 0));
      void* const to = pointer(*got, each * offset);
      cu::convolution_tensors const tensors{back ? to : pointer(*in), weights ? to : pointer(*w), pointer(*bias),
                                            back || weights ? pointer(*out) : to};
      if (!cu::try_execute(cudnn_, plan, cu::bind_tensors(plan, tensors, workspace_.data()))) return false;
      try {
        stream_.wait();
      } catch (error const& e) {
        throw executor_error(plan.facts.tag() + ": " + e.what());
      }
      bool const rounds =
          (plan.facts.numerical_notes & near_notes) != 0 || cu::backend::transforms_silently(c.how.pass, plan.facts);
      outcome& o = all.emplace_back(outcome{.plan = plan.facts.tag()});
      if (weights)
        o.rows = compare_weights(*got, t, *wanted, written, parts, rounds);
      else
        o.rows = compare_pixels(*got, *wanted, t, {rows, channels, pitch, offset}, rounds);
      o.rows.beside += beside_end(*got, each * rows * pitch);
      return true;
    };
    // As the executor chooses: for a slice if there is such a plan.
    bool slice = c.what.output_pitch > 0;
    std::optional<cu::convolution_plan> chosen = choose(c, *in, *w, *bias, *out, *got, all);
    if (!chosen && slice) {
      all.clear(), slice = false, c.what.output_pitch = 0;
      chosen = choose(c, *in, *w, *bias, *out, *got, all);
    }
    if (!chosen) return all;
    if (!compare(*chosen, slice)) all.push_back({.refused = "the device refuses to run " + chosen->facts.tag()});
    if (more_plans > 0) {
      c.how.deterministic = false, c.how.most_compiled = 0;
      c.how.most_plans = more_plans;
      for (cu::convolution_plan const& p : cu::find_plans(target_, c.what, c.how).plans)
        if (p.facts.tag() != chosen->facts.tag()) compare(p, slice);
    }
    return all;
  }

 private:
  struct layout {
    long long rows, channels, pitch, offset;
  };
  static constexpr long long chunk_bytes = 16LL << 20, guard_bytes = 1024;
  // Plans whose sums only come near whole numbers; the nearest one must be right. If the order of a sum changes from
  // run to run, a real device's sums are exact, too, but a simulated one's are not.
  static constexpr unsigned near_notes =
      1U << CUDNN_NUMERICAL_NOTE_NONDETERMINISTIC | 1U << CUDNN_NUMERICAL_NOTE_FFT |
      1U << CUDNN_NUMERICAL_NOTE_WINOGRAD | 1U << CUDNN_NUMERICAL_NOTE_WINOGRAD_TILE_4x4 |
      1U << CUDNN_NUMERICAL_NOTE_WINOGRAD_TILE_6x6 | 1U << CUDNN_NUMERICAL_NOTE_WINOGRAD_TILE_13x13;

  static cu::storage storage_of(posed_convolution const& c) {
    return c.how.precision == cu::convolution_precision::bf16 ? cu::storage::bf16 : cu::storage::f32;
  }
  std::unique_ptr<cu::device_memory> memory(long long bytes) const {
    return std::make_unique<cu::device_memory>(a_, bytes, stream_.get());
  }
  static void* pointer(cu::device_memory const& m, long long at = 0) { return m.data() ? m.data() + at : nullptr; }
  static cu::element* tensor(cu::device_memory const& m, long long at = 0) {
    return static_cast<cu::element*>(pointer(m, at));
  }

  std::optional<cu::convolution_plan> choose(posed_convolution const& c, cu::device_memory const& in,
                                             cu::device_memory const& w, cu::device_memory const& bias,
                                             cu::device_memory const& out, cu::device_memory const& got,
                                             std::vector<outcome>& all) {
    bool const back = c.how.pass == cu::convolution_pass::backward_data;
    bool const weights = c.how.pass == cu::convolution_pass::backward_weights;
    void* const to = pointer(got, c.what.output_pitch > 0 ? cu::bytes_of(storage_of(c)) * c.channel : 0);
    cu::plan_bench const bench{
        cudnn_,
        stream_.get(),
        {back ? to : pointer(in), weights ? to : pointer(w), pointer(bias), back || weights ? pointer(out) : to},
        workspace_.data()};
    try {
      return cu::choose_plan(target_, c.what, c.how, plans_, &bench);
    } catch (cu::no_plan_error const& e) {
      all.push_back({.none = e.what()});
      return std::nullopt;
    }
  }

  /// Fills memory by copying one period from the host.
  void fill(cu::device_memory const& to, cu::storage t, long long count, std::vector<float> const& period) {
    long long const each = cu::bytes_of(t);
    long long have = std::min<long long>(count, static_cast<long long>(period.size()));
    std::vector<std::uint16_t> upper;
    if (t == cu::storage::bf16)
      for (long long i = 0; i < have; ++i)
        upper.push_back(
            static_cast<std::uint16_t>(std::bit_cast<std::uint32_t>(period[static_cast<std::size_t>(i)]) >> 16));
    void const* const from = t == cu::storage::bf16 ? static_cast<void const*>(upper.data()) : period.data();
    copy(to.data(), from, have * each, cudaMemcpyHostToDevice);
    stream_.wait();
    for (long long more = 0; have < count; have += more) {
      more = std::min(have, count - have);
      copy(to.data() + have * each, to.data(), more * each, cudaMemcpyDeviceToDevice);
    }
  }
  void poison(cu::device_memory const& m) {
    a_(a_.cudaMemsetAsync, static_cast<void*>(m.data()), 0xff, static_cast<std::size_t>(m.bytes()), stream_.get());
  }
  void copy(void* to, void const* from, long long bytes, cudaMemcpyKind kind) const {
    a_(a_.cudaMemcpyAsync, to, from, static_cast<std::size_t>(bytes), kind, stream_.get());
  }

  static bool same(float found, float wanted, bool rounds) {
    return rounds ? std::abs(found - wanted) < 0.5F : found == wanted;  // never where found is no number
  }
  static float rounded(float x) {  // to bf16; ties to even
    auto bits = std::bit_cast<std::uint32_t>(x);
    bits += 0x7fffU + (bits >> 16 & 1U);
    return std::bit_cast<float>(bits & 0xffff0000U);
  }
  static void note(compared_rows& r, long long at, float found, float wanted) {
    if (r.different++ == 0) r.first = at, r.found = found, r.wanted = wanted;
  }

  compared_rows compare_pixels(cu::device_memory const& got, cu::device_memory const& wanted, cu::storage t,
                               layout const& at, bool rounds) const {
    compared_rows r;
    long long const each = cu::bytes_of(t), most = chunk_bytes / (each * at.pitch);
    for (long long row = 0; row < at.rows; row += most) {
      long long const count = std::min(most, at.rows - row);
      copy(theirs_.as<void>(), pointer(got, each * row * at.pitch), each * count * at.pitch, cudaMemcpyDeviceToHost);
      copy(ours_.as<void>(), pointer(wanted, each * row * at.channels), each * count * at.channels,
           cudaMemcpyDeviceToHost);
      stream_.wait();
      r.values += count * at.channels;
      auto const *x = theirs_.as<std::byte>(), *y = ours_.as<std::byte>();
      if (at.pitch == at.channels && std::memcmp(x, y, static_cast<std::size_t>(each * count * at.channels)) == 0)
        continue;
      for (long long i = 0; i < count; ++i)
        for (long long j = 0; j < at.pitch; ++j) {
          long long const c = j - at.offset;
          if (c < 0 || c >= at.channels) {
            r.beside += poisoned(x + each * (i * at.pitch + j), each) ? 0 : 1;
            continue;
          }
          float const a = cu::number_at(t, x, i * at.pitch + j), b = cu::number_at(t, y, i * at.channels + c);
          if (!same(a, b, rounds)) note(r, (row + i) * at.channels + c, a, b);
        }
    }
    return r;
  }
  compared_rows compare_weights(cu::device_memory const& got, cu::storage t, cu::device_memory const& wanted,
                                long long count, long long parts, bool rounds) const {
    compared_rows r;
    r.values = count;
    std::vector<std::byte> theirs(static_cast<std::size_t>(cu::bytes_of(t) * count));
    std::vector<float> part(static_cast<std::size_t>(count)), sum(part.size());
    copy(theirs.data(), got.data(), cu::bytes_of(t) * count, cudaMemcpyDeviceToHost);
    for (long long p = 0; p < parts; ++p) {
      copy(part.data(), pointer(wanted, 4 * p * count), 4 * count, cudaMemcpyDeviceToHost);
      stream_.wait();
      for (std::size_t i = 0; i < sum.size(); ++i) sum[i] += part[i];
    }
    for (long long i = 0; i < count; ++i) {
      float const exact = sum[static_cast<std::size_t>(i)];
      float const a = cu::number_at(t, theirs.data(), i), b = t == cu::storage::bf16 ? rounded(exact) : exact;
      if (!same(a, b, rounds)) note(r, i, a, b);
    }
    return r;
  }
  static bool poisoned(std::byte const* at, long long bytes) {
    return std::all_of(at, at + bytes, [](std::byte b) { return b == std::byte{0xff}; });
  }
  /// Returns the number of bytes written after the result.
  long long beside_end(cu::device_memory const& got, long long end) const {
    std::vector<std::byte> rest(static_cast<std::size_t>(std::min(got.bytes() - end, guard_bytes)));
    copy(rest.data(), pointer(got, end), static_cast<long long>(rest.size()), cudaMemcpyDeviceToHost);
    stream_.wait();
    return std::count_if(rest.begin(), rest.end(), [](std::byte b) { return b != std::byte{0xff}; });
  }

  gpu const& on_;
  cu::api const& a_;
  cu::device_facts facts_;
  cu::stream stream_;
  cu::cudnn_handle cudnn_;
  cu::plan_target target_;
  cu::plan_cache plans_;
  cu::kernel_library library_;
  cu::device_memory workspace_;
  cu::pinned_memory theirs_, ours_;
  drawn_signs signs_;
};

/// Returns "image 3, row 0, column 17, channel 5".
inline std::string place_in(posed_convolution const& c, long long at) {
  bool const back = c.how.pass == cu::convolution_pass::backward_data;
  bool const weights = c.how.pass == cu::convolution_pass::backward_weights;
  long long const channels = back || weights ? c.what.in_channels : c.what.out_channels;
  long long const width = back ? c.what.in_width : weights ? c.what.kernel_width : c.what.out_width;
  long long const height = back ? c.what.in_height : weights ? c.what.kernel_height : c.what.out_height;
  long long const pixel = at / channels;
  return dsl::detail::message({weights ? "kernel " : "image ", pixel / width / height, ", row ", pixel / width % height,
                               ", column ", pixel % width, ", channel ", at % channels});
}

}  // namespace detail

/// Runs every pass that a plan of the network asks for, with the plan that the executor chooses, on numbers whose sums
/// are exact: it must write what typenet's kernels write, and nothing else.
inline void check_convolutions(gpu const& on, ledger& l, graph_view const& g,
                               std::initializer_list<convolution_checks> checks,
                               convolution_limits const& limits = {}) {
  using clock = std::chrono::steady_clock;
  clock::time_point const begin = clock::now();
  auto const late = [&] { return std::chrono::duration<double>(clock::now() - begin).count() > limits.seconds; };
  detail::convolution_bench bench(on);
  for (convolution_checks const& k : checks) {
    std::string const what = name_of(k.with) + ", batch " + std::to_string(k.batch);
    std::vector<posed_convolution> all = convolutions_of(g, k.batch, k.mode, k.with);
    for (posed_convolution& c : all) c.how.workspace_limit = on.workspace_limit, c.how.deterministic = on.deterministic;
    int const images = k.batch % limits.images == 0 ? limits.images : k.batch;
    std::vector<detail::convolution_bench::own_kernel> kernels;
    if (!late())
      for (posed_convolution const& c : all) kernels.push_back(bench.add(g, c, images));
    bench.build();
    struct of_a_pass {
      int convolutions = 0, plans = 0;
      comparison different{}, beside{};
      std::string first{}, others{}, none{}, refused{};
    };
    std::map<std::string, of_a_pass> passes;
    std::string broke;  // a device that has failed runs nothing any more, and what was found so far counts
    for (std::size_t i = 0; i < kernels.size() && !late() && broke.empty(); ++i) {
      posed_convolution const& c = all[i];
      of_a_pass& p = passes[cu::name_of(c.how.pass) + std::string(c.how.accumulate ? ", accumulating" : "")];
      ++p.convolutions;
      std::vector<detail::convolution_bench::outcome> outcomes;
      try {
        outcomes = bench.run(c, kernels[i], images, k.more_plans);
      } catch (error const& e) {
        broke = describe(c.what, c.how) + ": " + e.what();
      }
      for (auto const& o : outcomes) {
        if (p.none.empty()) p.none = o.none;
        if (p.refused.empty()) p.refused = o.refused;
        if (o.plan.empty()) continue;
        ++p.plans;
        auto const add = [&](comparison& to, long long count) {
          to.apart += static_cast<double>(count), to.values += o.rows.values;
        };
        add(p.different, o.rows.different), add(p.beside, o.rows.beside);
        if (o.rows.different + o.rows.beside == 0) continue;
        if (!p.first.empty()) {
          p.others += p.others.empty() ? "; also " : "; ";
          p.others += o.plan + " of convolution " + std::to_string(i);
          continue;
        }
        p.first = "first " + describe(c.what, c.how) + ", " + o.plan + ": ";
        p.first += o.rows.different == 0
                       ? "only beside it"
                       : std::to_string(o.rows.different) + " of " + std::to_string(o.rows.values) + ", the first at " +
                             detail::place_in(c, o.rows.first) + ": " + std::to_string(o.rows.found) + " instead of " +
                             std::to_string(o.rows.wanted);
      }
    }
    int done = 0;
    for (auto const& [pass, p] : passes) {
      done += p.convolutions;
      std::string const of = what + ", " + pass + ", " + std::to_string(p.convolutions) + " convolutions, " +
                             std::to_string(p.plans) + " plans: ";
      // Without a fused plan the executor adds the bias itself: slower, but not wrong.
      bool const has_some = k.with == precision::bf16 && !on.deterministic;
      bool const can_do_without =
          pass == cu::name_of(cu::convolution_pass::forward_inference) && (p.plans > 0 || !has_some);
      if (!p.none.empty() && can_do_without) l.tell(of + "not all have a plan", p.none);
      bool const waits = p.plans == 0 && !broke.empty();
      if (!waits && (p.plans > 0 || !can_do_without)) {
        l.within(of + "numbers that differ from our kernels'", p.different, 1, p.first + p.others);
        l.within(of + "numbers written beside the result", p.beside, 1, p.first);
      }
      if (!p.none.empty() && !can_do_without) l.holds(of + "each has a plan", false, p.none);
      if (!p.refused.empty()) l.holds(of + "each is run", false, p.refused);
    }
    if (!broke.empty()) {
      l.holds(what + ": all came to their end", false, broke);
      return;
    }
    if (done < static_cast<int>(all.size()))
      l.tell(what, "left out for lack of time: " + std::to_string(static_cast<int>(all.size()) - done) + " of " +
                       std::to_string(all.size()));
  }
}

}  // namespace dsl::test
