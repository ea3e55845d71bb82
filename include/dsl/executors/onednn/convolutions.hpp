// SPDX-License-Identifier: MIT
#pragma once

#include <dsl/detail/chain.hpp>
#include <dsl/detail/mode.hpp>
#include <dsl/detail/owner.hpp>
#include <dsl/executors/onednn/packed_kernel.hpp>
#include <dsl/executors/host/elementwise.hpp>

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

namespace dsl::dnn::TYPENET_MODE {

/// Runs the convolutions of a network, with one or more calls of the library for each pass, and keeps their packed
/// kernels.
class convolutions {
 public:
  /// Prepares for the network g. `version` points to a counter of changes to the parameters.
  convolutions(graph_view const& g, bool winograd, std::uint64_t const* version)
      : graph_(g), winograd_(winograd), version_(version) {}

  /// Returns a task that calls the library for a step of a conv2d: forward (without a fused relu), backward_data or
  /// backward_weights.
  host::task build(host::bound_step<float> const& s, bool training) {
    pass_call& c = calls_.emplace();
    c.step = &s;
    request r = ask(s, training, false);
    if (is_slow(r.found)) {
      request other = ask(s, training, true);
      if (!is_slow(other.found)) r = std::move(other);
    }
    bool const weights = s.step->what == action::backward_weights;
    bool const data = s.step->what == action::backward_data;
    implementations_ = detail::message({implementations_, s.step->node,
                                        weights ? " backward weights"
                                        : data  ? " backward data"
                                                : " forward",
                                        r.pieces > 1 ? detail::message({" in ", r.pieces, " pieces: "}) : ": ",
                                        implementation(r.found), "\n"});

    parameter const& p = graph_.parameters[s.node->first_parameter];
    if (!weights) {
      bool const folded = s.step->batch_norm >= 0;
      kernel_form const form = r.turned ? kernel_form::transposed : folded ? kernel_form::folded : kernel_form::plain;
      c.kernel = &kernel(p, s.parameter(role::kernel), form, query(r.found, dnnl_query_weights_md));
      if (folded) c.epsilon = graph_.nodes[s.step->batch_norm].epsilon;
    }
    layout const scratch = query(r.found, dnnl_query_scratchpad_md);
    for (int i = 0; i < r.pieces; ++i) {
      primitive_call& run = c.pieces.emplace(r.found);
      if (scratch.bytes() > 0) run.argument(DNNL_ARG_SCRATCHPAD, device_.scratch(scratch));
      void *at_x = begin_of(r.x), *at_y = begin_of(r.y);
      r.x.data += 1LL * r.x.batch * r.x.buffer_channels * r.x.shape.area();
      r.y.data += 1LL * r.y.batch * r.y.buffer_channels * r.y.shape.area();
      if (data && s.accumulate && !r.turned) {  // computed in separate memory, then added
        c.own = memory(r.lx);
        at_x = c.own->data();
        c.add = plain::read_only(s.to);
        c.add.data = reinterpret_cast<float const*>(c.own->data());
        c.add.channel = 0;
        if (r.copied) c.add.block = 1, c.add.buffer_channels = c.add.shape.channels;
      } else if (r.copied) {
        at_x = data ? copied_out(c, r.x, r.lx, at_x) : copied_in(c, r.x, r.lx, at_x);
      }
      if (r.copied) at_y = data || weights ? copied_in(c, r.y, r.ly, at_y) : copied_out(c, r.y, r.ly, at_y);
      if (weights)
        bind_kernel_gradient(c, s, query(r.found, dnnl_query_diff_weights_md), p);
      else
        run.shared_argument(DNNL_ARG_WEIGHTS, c.kernel->memory());
      if (r.bias || c.epsilon >= 0)
        run.argument(weights ? DNNL_ARG_DIFF_BIAS : DNNL_ARG_BIAS, device_, r.lb,
                     c.epsilon >= 0 ? c.kernel->bias() : r.bias);
      bool const forward_like = !weights && (!data || r.turned);
      run.argument(r.turned || !data ? (r.turned ? DNNL_ARG_DST : DNNL_ARG_SRC) : DNNL_ARG_DIFF_SRC, device_, r.lx,
                   at_x);
      run.argument(r.turned ? DNNL_ARG_SRC : forward_like ? DNNL_ARG_DST : DNNL_ARG_DIFF_DST, device_, r.ly, at_y);
    }
    return [this, &c] { run(c); };
  }

  /// Returns the bytes that the library uses in addition to the plan's memory.
  long long bytes() const {
    long long all = bytes_ + device_.bytes();
    for (packed_kernel const& k : kernels_) all += k.bytes();
    return all;
  }
  /// Returns the library's choices, a line per step: "3 forward: jit:avx512_core", or "3 forward in 2 pieces: ..." if
  /// the batch is split. It is for tests.
  std::string const& implementations() const { return implementations_; }
  /// Whether the library chose its own plain loop, "ref:any", for a step.
  bool has_plain_loops() const { return implementations_.find(": ref") != std::string::npos; }

 private:
  struct pass_call {
    host::bound_step<float> const* step = nullptr;
    packed_kernel* kernel = nullptr;
    double epsilon = -1;                      // of the batch_norm that is folded into the convolution
    detail::chain<primitive_call> inwards{};  // copy operands into tensors without channel blocks
    detail::chain<primitive_call> pieces{};
    detail::chain<primitive_call> outwards{};  // copy the result back into channel blocks
    detail::chain<host::memory_block> copies{};
    primitive_call unpack{};                   // converts kernel gradients from the library's layout
    detail::owner<host::memory_block> own{};   // for these gradients, or for a gradient that is then added
    detail::owner<host::memory_block> part{};  // for a kernel's gradient of the second and later pieces
    float* sum = nullptr;                      // where these pieces are added
    view<float const> add{};
  };

  void run(pass_call const& c) const {
    if (c.kernel) c.kernel->refresh(device_, *version_, *c.step, c.epsilon);
    for (primitive_call const& copy : c.inwards) copy(device_);
    for (int i = 0; i < c.pieces.size(); ++i) {
      c.pieces[i](device_);
      if (c.part && i > 0) add_up(reinterpret_cast<float const*>(c.part->data()), c.sum, c.part->bytes() / 4);
    }
    for (primitive_call const& copy : c.outwards) copy(device_);
    if (c.unpack) c.unpack(device_);
    if (c.add.data) plain::copy(c.add, c.step->to, true);
  }
  [[gnu::noinline]] static void add_up(float const* more, float* sum, long long count) {
    for (long long i = 0; i < count; ++i) sum[i] += more[i];
  }

  /// A pass of a convolution as it is requested from the library.
  struct request {
    view<float const> x, y;
    layout lx, ly, lb;
    float* bias = nullptr;
    int pieces = 1;
    bool turned = false;  // computes a data gradient as a forward convolution with the turned kernel
    bool copied = false;  // copies tensors in channel blocks to tensors without
    description_handle found;
  };

  /// Requests a step's pass with the plan's layouts or, if `copied`, with tensors without channel blocks.
  request ask(host::bound_step<float> const& s, bool training, bool copied) {
    request r;
    r.copied = copied;
    bool const weights = s.step->what == action::backward_weights;
    bool const data = s.step->what == action::backward_data;
    view<float const> const to = plain::read_only(s.to);
    r.x = data ? to : s.x;
    r.y = data || weights ? s.dy : to;
    r.bias = weights ? s.gradient(role::bias) : data ? nullptr : s.parameter(role::bias);
    window const& w = s.node->window;
    r.pieces = copied || data || (weights && r.bias) ? 1 : pieces_of(r.x, w, weights);
    r.x.batch = r.y.batch = r.x.batch / r.pieces;
    r.lx = layout_of(r.x), r.ly = layout_of(r.y);
    require_room(r.x, r.lx), require_room(r.y, r.ly);
    if (copied) r.lx = without_blocks(r.x), r.ly = without_blocks(r.y);
    // The library's data gradients cannot accumulate; a forward convolution of stride 1 can.
    r.turned = !copied && data && s.accumulate && w.strides_by(1) && s.to.block > 1;
    int const* const d = graph_.parameters[s.node->first_parameter].dims;

    convolution asked;
    set_geometry(asked, w, r.x.shape, r.y.shape);
    asked.which = weights                ? pass::backward_weights
                  : data && !r.turned    ? pass::backward_data
                  : training || r.turned ? pass::forward_training
                                         : pass::forward_inference;
    if (r.turned) {
      asked.adds = true;
      for (int i : {0, 1}) {
        dnnl_dim_t const span = (i == 0 ? w.rows() : w.columns()).span();
        asked.before[i] = span - 1 - asked.before[i];
        asked.behind[i] = span - 1 - asked.behind[i];
      }
    }
    r.lb = layout({{r.y.shape.channels}, 1}, dnnl_a);
    layout const kernel(r.turned ? dims{{d[1], d[0], d[2], d[3]}} : dims{{d[0], d[1], d[2], d[3]}},
                        dnnl_format_tag_any);
    asked.x = r.turned ? &r.ly : &r.lx, asked.y = r.turned ? &r.lx : &r.ly;
    asked.kernel = &kernel, asked.bias = r.bias || (!weights && !data && s.step->batch_norm >= 0) ? &r.lb : nullptr;
    r.found = describe(device_.engine(), asked, algorithm(r.y, weights));
    return r;
  }
  /// Whether the library found nothing but its slow reference loops.
  static bool is_slow(description_handle const& found) {
    return std::string_view(implementation(found)).substr(0, 3) == "ref";
  }
  /// Returns the address of a tensor's copy without channel blocks, which is made before each call. If the tensor has
  /// no blocks, returns the tensor's own address.
  void* copied_in(pass_call& c, view<float const> const& v, layout const& l, void* at) {
    return v.block == 1 ? at : copied(c, c.inwards, layout_of(v), at, l, nullptr);
  }
  /// Returns the address to which a call writes its result, which is then copied into the tensor's channel blocks. If
  /// the tensor has no blocks, returns the tensor's own address.
  void* copied_out(pass_call& c, view<float const> const& v, layout const& l, void* at) {
    return v.block == 1 ? at : copied(c, c.outwards, l, nullptr, layout_of(v), at);
  }
  /// Adds a copy to `calls`. One of the two addresses is null; the function allocates memory in its place, and returns
  /// the address of this memory.
  void* copied(pass_call& c, detail::chain<primitive_call>& calls, layout const& from, void* at_from, layout const& to,
               void* at_to) {
    layout const& own = at_from ? to : from;
    bytes_ += static_cast<long long>(own.bytes());
    void* const made = c.copies.emplace(static_cast<long long>(own.bytes())).data();
    primitive_call& copy = calls.emplace(make_reorder(device_.engine(), from, to));
    copy.argument(DNNL_ARG_FROM, device_, from, at_from ? at_from : made);
    copy.argument(DNNL_ARG_TO, device_, to, at_to ? at_to : made);
    return made;
  }

  /// Returns the algorithm to request. If the choice is left to the library, it uses Winograd for batches of 16 or more
  /// samples. For gradients of kernels, Winograd takes up to 30 % less time as soon as there are 16 tiles of 4x4
  /// outputs.
  dnnl_alg_kind_t algorithm(view<float const> const& y, bool weights) const {
    long long const tiles = 1LL * y.batch * ((y.shape.height + 3) / 4) * ((y.shape.width + 3) / 4);
    return !winograd_               ? dnnl_convolution_direct
           : weights && tiles >= 16 ? dnnl_convolution_winograd
                                    : dnnl_convolution_auto;
  }

  /// Returns the number of calls into which a batch is split. Two kinds of call read their input several times, and are
  /// up to 30 % faster (at batch 64) on pieces that fit the cache: direct convolutions, which read the input once for
  /// every few filters, and Winograd's gradients of kernels, whose tiles turn 16 numbers into 36, which are written to
  /// memory before they are used.
  int pieces_of(view<float const> const& x, window const& w, bool weights) const {
    constexpr long long most = 8LL << 20;
    bool const winograd = winograd_ && w.strides_by(1) && !w.is_dilated();
    if (w.height * w.width == 1 || weights != winograd) return 1;
    long long const all = 4LL * x.batch * x.buffer_channels * x.shape.area();
    int pieces = 1;
    while (pieces < x.batch && (x.batch % pieces != 0 || all > pieces * most)) ++pieces;
    return all < pieces * (most / 4) ? 1 : pieces;  // a batch that would be split too finely stays whole
  }
  static void set_geometry(convolution& c, window const& w, shape const& in, shape const& out) {
    auto const set = [&c](int i, window_side const& s, int from, int to) {
      long long const missing = s.behind(from, to);
      c.stride[i] = s.stride, c.between[i] = s.dilation - 1;
      c.before[i] = s.before, c.behind[i] = missing > 0 ? missing : 0;
    };
    set(0, w.rows(), in.height, out.height);
    set(1, w.columns(), in.width, out.width);
  }

  /// Returns the layout that describes a tensor to oneDNN. The tensor is contiguous: a whole buffer or, at batch 1, a
  /// range of a buffer's channels.
  static layout layout_of(view<float const> const& v) {
    return {dims{{v.batch, v.shape.channels, v.shape.height, v.shape.width}}, v.block == 1   ? dnnl_abcd
                                                                              : v.block == 8 ? dnnl_aBcd8b
                                                                                             : dnnl_aBcd16b};
  }
  static layout without_blocks(view<float const> const& v) {
    return {dims{{v.batch, v.shape.channels, v.shape.height, v.shape.width}}, dnnl_abcd};
  }
  static void* begin_of(view<float const> const& v) {
    return const_cast<float*>(v.data + 1LL * v.channel * v.shape.area());
  }
  /// Throws if the size that the library expects for a tensor differs from the plan's, since the library might then
  /// write beyond the tensor's end.
  static void require_room(view<float const> const& v, layout const& l) {
    int const whole_blocks = (v.shape.channels + v.block - 1) / v.block * v.block, left = v.buffer_channels - v.channel;
    bool const slice = v.batch == 1 && whole_blocks < left;
    long long const channels = slice ? whole_blocks : 1LL * v.batch * v.buffer_channels - v.channel;
    if (long long const room = 4 * channels * v.shape.area(); static_cast<long long>(l.bytes()) != room)
      detail::throw_error<executor_error>({"onednn: ", v.batch, " samples of ", v.shape.channels, "x", v.shape.height,
                                           "x", v.shape.width, " in blocks of ", v.block, " must take the plan's ",
                                           room, " bytes; found that the library takes ",
                                           static_cast<long long>(l.bytes()), "; please report the network"});
  }

  void bind_kernel_gradient(pass_call& c, host::bound_step<float> const& s, layout const& packed, parameter const& p) {
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
  detail::owner<host::memory_block> memory(layout const& l) {
    bytes_ += static_cast<long long>(l.bytes());
    return detail::make_owner<host::memory_block>(static_cast<long long>(l.bytes()));
  }

  packed_kernel& kernel(parameter const& p, float const* numbers, kernel_form form, layout const& wanted) {
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

}  // namespace dsl::dnn::TYPENET_MODE
