// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

#include "support/simulated_device/cudnn_engines.hpp"
#include "support/simulated_device/numbers.hpp"

#if defined(__clang__)
#define DSL_TEST_FAST
#else
#define DSL_TEST_FAST [[gnu::optimize("O3")]]  // GCC 12 doesn't vectorise at -O2
#endif

namespace dsl_test::simulated {

/// A tensor as packed floats, channels last.
struct values {
  std::array<std::int64_t, 4> size{};
  std::vector<float> v;
  float* row(std::int64_t n, std::int64_t h, std::int64_t w) {
    return v.data() + ((n * size[2] + h) * size[3] + w) * size[1];
  }
  float const* row(std::int64_t n, std::int64_t h, std::int64_t w) const {
    return v.data() + ((n * size[2] + h) * size[3] + w) * size[1];
  }
};
inline values make_values(std::array<std::int64_t, 4> const& size) {
  return {size, std::vector<float>(static_cast<std::size_t>(size[0] * size[1] * size[2] * size[3]))};
}

/// Calls f(float&, index in memory) for every element.
template <class F>
void for_each_element(tensor_info const& t, values& x, F f) {
  std::size_t i = 0;
  for (std::int64_t n = 0; n < t.size[0]; ++n)
    for (std::int64_t h = 0; h < t.size[2]; ++h)
      for (std::int64_t w = 0; w < t.size[3]; ++w)
        for (std::int64_t c = 0; c < t.size[1]; ++c)
          f(x.v[i++], n * t.stride[0] + c * t.stride[1] + h * t.stride[2] + w * t.stride[3]);
}
inline values load_values(tensor_info const& t, void const* data, factors how) {
  values x = make_values(t.size);
  for_each_element(t, x, [&](float& to, std::int64_t at) { to = factor_of(load(data, at, t.type), how); });
  return x;
}

DSL_TEST_FAST inline void add_scaled(float* to, float const* from, float by, std::int64_t count) {
  for (std::int64_t i = 0; i < count; ++i) to[i] += by * from[i];
}

/// Calls f(n, y row, y column, x row, x column, kernel row, kernel column) for every pair of pixels that a kernel
/// element connects.
template <class F>
void for_each_pair(operation const& o, values const& x, values const& y, std::int64_t kh, std::int64_t kw, F f) {
  for (std::int64_t n = 0; n < y.size[0]; ++n)
    for (std::int64_t p = 0; p < y.size[2]; ++p)
      for (std::int64_t r = 0; r < kh; ++r) {
        std::int64_t const h = p * o.stride[0] + r * o.dilation[0] - o.before[0];
        if (h < 0 || h >= x.size[2]) continue;
        for (std::int64_t q = 0; q < y.size[3]; ++q)
          for (std::int64_t s = 0; s < kw; ++s) {
            std::int64_t const w = q * o.stride[1] + s * o.dilation[1] - o.before[1];
            if (w >= 0 && w < x.size[3]) f(n, p, q, h, w, r, s);
          }
      }
}

/// The channels of x and y in one group: cuDNN derives the groups from the channels of the kernel.
struct channel_group {
  std::int64_t count, in, out;
};
inline channel_group groups_of(values const& x, values const& w) {
  std::int64_t const count = x.size[1] / w.size[1];
  return {count, w.size[1], w.size[0] / count};
}

/// Convolves with the inner loop over neighbouring channels.
inline void convolve_forward(operation const& o, values const& x, values const& w, values& y) {
  std::int64_t const kh = w.size[2], kw = w.size[3];
  channel_group const g = groups_of(x, w);
  std::vector<float> turned(w.v.size());  // (group, row, column, in, out)
  for (std::int64_t k = 0; k < w.size[0]; ++k)
    for (std::int64_t i = 0; i < kh * kw * g.in; ++i)
      turned[static_cast<std::size_t>((k / g.out * kh * kw * g.in + i) * g.out + k % g.out)] =
          w.v[static_cast<std::size_t>(k * kh * kw * g.in + i)];
  for_each_pair(o, x, y, kh, kw, [&](auto n, auto p, auto q, auto h, auto c, auto r, auto s) {
    for (std::int64_t group = 0; group < g.count; ++group) {
      float const* const from = x.row(n, h, c) + group * g.in;
      float const* const kernel = turned.data() + ((group * kh + r) * kw + s) * g.in * g.out;
      for (std::int64_t i = 0; i < g.in; ++i)
        add_scaled(y.row(n, p, q) + group * g.out, kernel + i * g.out, from[i], g.out);
    }
  });
}
inline void convolve_backward_data(operation const& o, values const& dy, values const& w, values& dx) {
  channel_group const g = groups_of(dx, w);
  for_each_pair(o, dx, dy, w.size[2], w.size[3], [&](auto n, auto p, auto q, auto h, auto c, auto r, auto s) {
    float const* const from = dy.row(n, p, q);
    for (std::int64_t k = 0; k < w.size[0]; ++k)
      add_scaled(dx.row(n, h, c) + k / g.out * g.in, w.row(k, r, s), from[k], g.in);
  });
}
inline void convolve_backward_filter(operation const& o, values const& x, values const& dy, values& dw) {
  channel_group const g = groups_of(x, dw);
  for_each_pair(o, x, dy, dw.size[2], dw.size[3], [&](auto n, auto p, auto q, auto h, auto c, auto r, auto s) {
    float const* const from = dy.row(n, p, q);
    for (std::int64_t k = 0; k < dw.size[0]; ++k)
      add_scaled(dw.row(k, r, s), x.row(n, h, c) + k / g.out * g.in, from[k], g.in);
  });
}

/// Computes one operation on values; `old` is the output's previous content (for beta).
inline values compute(operation const& o, values const& a, values const* b, std::array<std::int64_t, 4> const& size) {
  values out = make_values(size);
  switch (o.kind) {
    case operation_kind::forward: convolve_forward(o, a, *b, out); break;
    case operation_kind::backward_data: convolve_backward_data(o, a, *b, out); break;
    case operation_kind::backward_filter: convolve_backward_filter(o, a, *b, out); break;
    case operation_kind::identity: out.v = a.v; break;
    case operation_kind::relu:
      for (std::size_t i = 0; i < a.v.size(); ++i) out.v[i] = a.v[i] < 0 ? 0 : a.v[i];  // a NaN stays one
      break;
    case operation_kind::add: {
      auto const place = [&](std::int64_t i, std::size_t d) { return b->size[d] == 1 ? 0 : i; };
      for (std::int64_t n = 0; n < size[0]; ++n)
        for (std::int64_t h = 0; h < size[2]; ++h)
          for (std::int64_t w = 0; w < size[3]; ++w)
            for (std::int64_t c = 0; c < size[1]; ++c)
              out.row(n, h, w)[c] = a.row(n, h, w)[c] + b->row(place(n, 0), place(h, 2), place(w, 3))[place(c, 1)];
      break;
    }
  }
  return out;
}

/// Runs a plan's operations on the memory at the pointers, one per tensor, null for virtual ones.
inline void run_program(conv_program const& p, std::vector<void*> const& memory, std::uint64_t& random,
                        bool truncates_tf32) {
  engine_info const& e = *find_engine(p.engine);
  factors const in_convolutions = factors_in(has_note(e, CUDNN_NUMERICAL_NOTE_TENSOR_CORE), truncates_tf32);
  std::vector<values> held(p.tensors.size());
  auto const get = [&](int i, bool factor) -> values const& {
    auto const at = static_cast<std::size_t>(i);
    if (p.tensors[at].kept && held[at].v.empty())
      held[at] = load_values(p.tensors[at], memory[at], factor ? in_convolutions : factors::whole);
    return held[at];
  };
  for (operation const& o : p.operations) {
    bool const convolution = p.is_convolution(o);
    auto const out_at = static_cast<std::size_t>(o.out);
    tensor_info const& t = p.tensors[out_at];
    values const& a = get(o.a, convolution);
    values result = compute(o, a, o.b < 0 ? nullptr : &get(o.b, convolution), t.size);
    for_each_element(t, result, [&](float& f, std::int64_t at) {
      if (convolution) {
        f *= o.alpha;
        if (o.beta != 0) f += o.beta * load(memory[out_at], at, t.type);
        // Adding in another order each time changes the last bits.
        if (has_note(e, CUDNN_NUMERICAL_NOTE_NONDETERMINISTIC))
          f *= 1 + 1e-6f * (static_cast<float>(random_below(random, 3)) - 1);
      }
      f = rounded_to(f, t.type);
      if (t.kept) store(memory[out_at], at, t.type, f);
    });
    held[out_at] = std::move(result);
  }
}
/// Overwrites the first quarter of a plan's result with its engine's index.
inline void spoil_result(conv_program const& p, std::vector<void*> const& memory) {
  auto const at = static_cast<std::size_t>(p.operations.back().out);
  values x = make_values(p.tensors[at].size);
  std::size_t left = (x.v.size() + 3) / 4;
  for_each_element(p.tensors[at], x, [&](float&, std::int64_t i) {
    if (left > 0) store(memory[at], i, p.tensors[at].type, static_cast<float>(p.engine)), --left;
  });
}
inline void fill_with_nan(conv_program const& p, std::vector<void*> const& memory) {
  auto const at = static_cast<std::size_t>(p.operations.back().out);
  values x = make_values(p.tensors[at].size);
  for_each_element(p.tensors[at], x, [&](float&, std::int64_t i) {
    store(memory[at], i, p.tensors[at].type, std::numeric_limits<float>::quiet_NaN());
  });
}

}  // namespace dsl_test::simulated
