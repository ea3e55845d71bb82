// SPDX-License-Identifier: MIT
#pragma once

#include <dsl/detail/chain.hpp>
#include <dsl/detail/owner.hpp>
#include <dsl/executors/onednn/packed_kernel.hpp>
#include <dsl/executors/reference/elementwise.hpp>

#include <cstdint>
#include <string>

namespace dsl::dnn {

/// The convolutions of one network, each pass a call of the library, and the kernels they share.
class convolutions {
 public:
  /// version counts the changes of the parameters.
  convolutions(graph_view const& g, bool winograd, std::uint64_t const* version)
      : graph_(g), winograd_(winograd), version_(version) {}

  /// The library's call for a step of a conv2d: forward (training or not), backward_data or backward_weights.
  [[gnu::cold]] host::task build(host::bound_step<float> const& s, bool training) {
    pass_call& c = calls_.emplace();
    c.step = &s;
    convolution asked;
    bool const weights = s.step->what == action::backward_weights;
    bool const data = s.step->what == action::backward_data;
    view<float const> const to = plain::read_only(s.to);
    view<float const> x = data ? to : s.x;
    view<float const> y = data || weights ? s.dy : to;
    set_geometry(asked, s.node->window, x.shape, y.shape);
    asked.which = weights    ? pass::backward_weights
                  : data     ? pass::backward_data
                  : training ? pass::forward_training
                             : pass::forward_inference;
    asked.post.relu = !weights && !data && s.step->activation >= 0;
    float* const bias = weights ? s.gradient(role::bias) : data ? nullptr : s.parameter(role::bias);
    // The library's data gradients can't add to what is there; a forward convolution of stride 1 can.
    bool const turned = data && s.accumulate && s.node->window.stride == 1 && s.to.block > 1;
    parameter const& p = graph_.parameters[s.node->first_parameter];
    int const* const d = p.dims;
    int const pieces = data || (weights && bias) ? 1 : pieces_of(x, s.node->window, weights);
    x.batch = y.batch = x.batch / pieces;
    if (turned) {
      asked.which = pass::forward_training;
      asked.post.add_to_result = true;
      for (int i : {0, 1}) {
        asked.before[i] = d[2 + i] - 1 - asked.before[i];
        asked.behind[i] = d[2 + i] - 1 - asked.behind[i];
      }
    }
    layout const lx = layout_of(x), ly = layout_of(y), lb({{y.shape.channels}, 1}, dnnl_a);
    require_room(x, lx), require_room(y, ly);
    layout const lk(turned ? dims{{d[1], d[0], d[2], d[3]}} : dims{{d[0], d[1], d[2], d[3]}}, dnnl_format_tag_any);
    asked.x = turned ? &ly : &lx, asked.y = turned ? &lx : &ly, asked.kernel = &lk, asked.bias = bias ? &lb : nullptr;
    description_handle const found = describe(device_.engine(), asked, algorithm(y, weights));
    implementations_ = detail::message({implementations_, s.step->node,
                                        weights ? " backward weights"
                                        : data  ? " backward data"
                                                : " forward",
                                        pieces > 1 ? detail::message({" in ", pieces, " pieces: "}) : ": ",
                                        implementation(found), "\n"});

    if (!weights) {
      bool const folded = s.step->batch_norm >= 0;
      kernel_form const form = turned ? kernel_form::transposed : folded ? kernel_form::folded : kernel_form::plain;
      c.kernel = &kernel(p, s.parameter(role::kernel), form, query(found, dnnl_query_weights_md));
      if (folded) c.epsilon = graph_.nodes[s.step->batch_norm].epsilon;
    }
    layout const scratch = query(found, dnnl_query_scratchpad_md);
    for (int i = 0; i < pieces; ++i) {
      primitive_call& run = c.pieces.emplace(found);
      if (scratch.bytes() > 0) run.argument(DNNL_ARG_SCRATCHPAD, device_.scratch(scratch));
      void *at_x = begin_of(x), *at_y = begin_of(y);
      x.data += 1LL * x.batch * x.buffer_channels * x.shape.area();
      y.data += 1LL * y.batch * y.buffer_channels * y.shape.area();
      if (data && s.accumulate && !turned) {  // into memory of its own, and added from there
        c.own = memory(lx);
        at_x = c.own->data();
        c.add = to;
        c.add.data = reinterpret_cast<float const*>(c.own->data());
        c.add.channel = 0;
      }
      if (weights)
        bind_kernel_gradient(c, s, query(found, dnnl_query_diff_weights_md), p);
      else
        run.shared_argument(DNNL_ARG_WEIGHTS, c.kernel->memory());
      if (bias)
        run.argument(weights ? DNNL_ARG_DIFF_BIAS : DNNL_ARG_BIAS, device_, lb,
                     c.epsilon >= 0 ? c.kernel->bias() : bias);
      bool const forward_like = !weights && (!data || turned);
      run.argument(turned || !data ? (turned ? DNNL_ARG_DST : DNNL_ARG_SRC) : DNNL_ARG_DIFF_SRC, device_, lx, at_x);
      run.argument(turned ? DNNL_ARG_SRC : forward_like ? DNNL_ARG_DST : DNNL_ARG_DIFF_DST, device_, ly, at_y);
    }
    return [this, &c] { run(c); };
  }

  /// What the library was given beside the plan's memory.
  long long bytes() const {
    long long all = bytes_ + device_.bytes();
    for (packed_kernel const& k : kernels_) all += k.bytes();
    return all;
  }
  /// What the library chose, a line a step: "3 forward: jit:avx512_core", or "3 forward in 2 pieces: ..." where the
  /// batch is cut; tests read it.
  std::string const& implementations() const { return implementations_; }

 private:
  struct pass_call {
    host::bound_step<float> const* step = nullptr;
    packed_kernel* kernel = nullptr;
    double epsilon = -1;  // of the batch_norm folded in
    detail::chain<primitive_call> pieces{};
    primitive_call unpack{};                   // kernel gradients from the library's layout
    detail::owner<host::memory_block> own{};   // where those, or a gradient to be added, are made
    detail::owner<host::memory_block> part{};  // of a kernel's gradient, by all pieces but the first
    float* sum = nullptr;                      // what it is added to
    view<float const> add{};
  };

  [[gnu::cold]] void run(pass_call const& c) const {
    if (c.kernel) c.kernel->refresh(device_, *version_, *c.step, c.epsilon);
    for (int i = 0; i < c.pieces.size(); ++i) {
      c.pieces[i](device_);
      if (c.part && i > 0) add_up(reinterpret_cast<float const*>(c.part->data()), c.sum, c.part->bytes() / 4);
    }
    if (c.unpack) c.unpack(device_);
    if (c.add.data) plain::copy(c.add, c.step->to, true);
  }
  [[gnu::noinline]] static void add_up(float const* more, float* sum, long long count) {
    for (long long i = 0; i < count; ++i) sum[i] += more[i];
  }

  /// The library goes by the batch and takes Winograd from 16 samples on. For a kernel's gradient that is too careful:
  /// it pays from 16 tiles of 4x4 on, by up to 30 % of the call.
  dnnl_alg_kind_t algorithm(view<float const> const& y, bool weights) const {
    long long const tiles = 1LL * y.batch * ((y.shape.height + 3) / 4) * ((y.shape.width + 3) / 4);
    return !winograd_               ? dnnl_convolution_direct
           : weights && tiles >= 16 ? dnnl_convolution_winograd
                                    : dnnl_convolution_auto;
  }

  /// Into how many calls a batch is cut. Two kinds of call walk their pictures several times, and are faster (up to 30
  /// % on a batch of 64) where a piece of the batch stays in the cache: direct convolutions once for each few filters,
  /// and Winograd's kernel gradients, since their tiles take 36 numbers for 16 and are written before they are used.
  [[gnu::cold]] int pieces_of(view<float const> const& x, window const& w, bool weights) const {
    constexpr long long most = 8LL << 20;
    bool const winograd = winograd_ && w.stride == 1;
    if (w.height * w.width == 1 || weights != winograd) return 1;
    long long const all = 4LL * x.batch * x.buffer_channels * x.shape.area();
    int pieces = 1;
    while (pieces < x.batch && (x.batch % pieces != 0 || all > pieces * most)) ++pieces;
    return all < pieces * (most / 4) ? 1 : pieces;  // a batch that only goes into crumbs stays whole
  }
  [[gnu::cold]] static void set_geometry(convolution& c, window const& w, shape const& in, shape const& out) {
    auto const behind = [&](int size, int kernel, int before, int from) {
      int const missing = (size - 1) * w.stride + kernel - from - before;
      return missing > 0 ? missing : 0;
    };
    c.stride[0] = c.stride[1] = w.stride;
    c.before[0] = w.pad_top, c.before[1] = w.pad_left;
    c.behind[0] = behind(out.height, w.height, w.pad_top, in.height);
    c.behind[1] = behind(out.width, w.width, w.pad_left, in.width);
  }

  /// The library sees whole buffers, and at batch 1 slices, which are contiguous too.
  [[gnu::cold]] static layout layout_of(view<float const> const& v) {
    return {dims{{v.batch, v.shape.channels, v.shape.height, v.shape.width}}, v.block == 1   ? dnnl_abcd
                                                                              : v.block == 8 ? dnnl_aBcd8b
                                                                                             : dnnl_aBcd16b};
  }
  [[gnu::cold]] static void* begin_of(view<float const> const& v) {
    return const_cast<float*>(v.data + 1LL * v.channel * v.shape.area());
  }
  /// What the library takes for a tensor must be what the plan has for it: with more it would write over its end.
  [[gnu::cold]] static void require_room(view<float const> const& v, layout const& l) {
    int const whole_blocks = (v.shape.channels + v.block - 1) / v.block * v.block, left = v.buffer_channels - v.channel;
    bool const slice = v.batch == 1 && whole_blocks < left;
    long long const channels = slice ? whole_blocks : 1LL * v.batch * v.buffer_channels - v.channel;
    if (long long const room = 4 * channels * v.shape.area(); static_cast<long long>(l.bytes()) != room)
      detail::refuse<executor_error>({"onednn: ", v.batch, " samples of ", v.shape.channels, "x", v.shape.height, "x",
                                      v.shape.width, " in blocks of ", v.block, " must take the plan's ", room,
                                      " bytes; found that the library takes ", static_cast<long long>(l.bytes()),
                                      "; please report the network"});
  }

  [[gnu::cold]] void bind_kernel_gradient(pass_call& c, host::bound_step<float> const& s, layout const& packed,
                                          parameter const& p) {
    primitive_call& run = c.pieces[c.pieces.size() - 1];
    if (c.pieces.size() > 1) {
      if (!c.part) c.part = memory(packed);
      return run.argument(DNNL_ARG_DIFF_WEIGHTS, device_, packed, c.part->data());
    }
    layout const plain(dims{{p.dims[0], p.dims[1], p.dims[2], p.dims[3]}}, dnnl_abcd);
    c.sum = s.gradient(role::kernel);
    if (!(packed == plain)) {
      c.own = memory(packed);
      c.unpack = primitive_call(make_reorder(device_.engine(), packed, plain));
      c.unpack.argument(DNNL_ARG_FROM, device_, packed, c.own->data());
      c.unpack.argument(DNNL_ARG_TO, device_, plain, c.sum);
      c.sum = reinterpret_cast<float*>(c.own->data());
    }
    run.argument(DNNL_ARG_DIFF_WEIGHTS, device_, packed, c.sum);
  }
  [[gnu::cold]] detail::owner<host::memory_block> memory(layout const& l) {
    bytes_ += static_cast<long long>(l.bytes());
    return detail::make_owner<host::memory_block>(static_cast<long long>(l.bytes()));
  }

  [[gnu::cold]] packed_kernel& kernel(parameter const& p, float const* numbers, kernel_form form,
                                      layout const& wanted) {
    for (packed_kernel& k : kernels_)
      if (k.is(p, form, wanted)) return k;
    return kernels_.emplace(device_, p, numbers, form, wanted);
  }

  graph_view graph_;
  bool winograd_;
  std::uint64_t const* version_;
  device device_;
  detail::chain<packed_kernel> kernels_;
  detail::chain<pass_call> calls_;
  std::string implementations_;
  long long bytes_ = 0;
};

}  // namespace dsl::dnn
