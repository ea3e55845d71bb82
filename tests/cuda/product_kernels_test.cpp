// SPDX-License-Identifier: MIT
// Compares the kernels of multiply, channel_scale, stochastic_depth and softmax over the channels of each pixel with
// the plain loops in double: broadcast operands, odd channels, slices, accumulation, both storages.
#include <dsl/executors/host/operations.hpp>

#include <cmath>
#include <cstdint>
#include <vector>

#include "support/catch.hpp"
#include "support/run_kernel.hpp"

using namespace dsl_test;
namespace kernels = dsl::cu::kernels;
using dsl::cu::slice;

namespace {

struct geometry {
  int batch;
  dsl::shape shape;
  slice x, y, z;
};
// With and without vectors; several tiles of channels; more pixels than a block has threads, and fewer; teams of 1 to
// 256 threads, with several rounds.
geometry const geometries[] = {
    {2, {16, 4, 5}, {16}, {48, 16}, {16}},    {3, {40, 1, 1}, {40}, {40}, {64, 24}},
    {2, {12, 3, 3}, {24, 4}, {12}, {20, 8}},  {1, {3, 5, 7}, {3}, {8, 5}, {4, 1}},
    {2, {300, 9, 7}, {300}, {303, 2}, {300}}, {1, {520, 2, 2}, {520}, {520}, {528, 8}},
    {2, {8, 33, 31}, {8}, {8}, {16, 8}},      {5, {1, 1, 1}, {1}, {3, 2}, {2, 1}},
};

/// The shape of an operand that is broadcast to `s`.
dsl::shape broadcast_of(dsl::shape s, bool one_channel, bool one_pixel) {
  if (one_channel) s.channels = 1;
  if (one_pixel) s.height = s.width = 1;
  return s;
}

/// Calls f(tensor) with an operand of each shape that is broadcast to that of `g`, once in a slice.
template <class T, class F>
void for_each_operand(geometry const& g, F f) {
  for (bool const one_channel : {false, true})
    for (bool const one_pixel : {false, true}) {
      dsl::shape const s = broadcast_of(g.shape, one_channel, one_pixel);
      INFO("an operand of " << s.channels << "x" << s.height << "x" << s.width);
      f(tensor<T>(g.batch, s, one_channel ? slice{5, 3} : g.x));
    }
}

template <class T>
kernels::factor factor_of(tensor<T> const& t, dsl::shape const& out) {
  return kernels::factor_of(t.shape, t.place, out);
}

/// The plain loops' gradient of the operand `to`.
template <class T>
void plain_multiply_backward(tensor<T> const& dy, tensor<T> const& other, tensor<T>& to, bool accumulate) {
  dsl::host::bound_step<double> b;
  b.x = other.read(), b.dy = dy.read(), b.to = to.wanted(), b.accumulate = accumulate;
  dsl::plain::loops_of<double>(dsl::op::multiply).backward(b, {});
}

}  // namespace

TEMPLATE_TEST_CASE("multiply with every broadcast", "[kernels]", float, bf16) {
  for (auto const& g : geometries)
    for_each_operand<TestType>(g, [&](tensor<TestType> a) {
      for_each_operand<TestType>(g, [&](tensor<TestType> b) {
        tensor<TestType> y(g.batch, g.shape, g.y);
        run(kernels::multiply(storage_of<TestType>, g.batch, g.shape, factor_of(a, g.shape), factor_of(b, g.shape), g.y,
                              false),
            a.data(), b.data(), y.data());
        dsl::host::bound_step<double> plain;
        plain.x = a.read(), plain.x2 = b.read(), plain.to = y.wanted();
        dsl::plain::loops_of<double>(dsl::op::multiply).forward(plain, {});
        y.check();
      });
    });
}

TEMPLATE_TEST_CASE("the gradients of multiply with every broadcast", "[kernels]", float, bf16) {
  for (auto const& g : geometries)
    for_each_operand<TestType>(g, [&](tensor<TestType> other) {
      for_each_operand<TestType>(g, [&](tensor<TestType> const& to) {
        for (bool const accumulate : {false, true}) {
          tensor<TestType> dy(g.batch, g.shape, g.y), dx(g.batch, to.shape, to.place);
          kernels::factor const b = factor_of(other, g.shape);
          bool const one_channel = to.shape.channels < g.shape.channels, one_pixel = to.shape.area() < g.shape.area();
          auto const t = storage_of<TestType>;
          auto const spec =
              one_channel
                  ? kernels::multiply_backward_channels(t, g.batch, g.shape, one_pixel, g.y, b, dx.place, accumulate)
              : one_pixel ? kernels::multiply_backward_pixels(t, g.batch, g.shape, g.y, b, dx.place, accumulate)
                          : kernels::multiply(t, g.batch, g.shape, {g.y}, b, dx.place, accumulate);
          run(spec, dy.data(), other.data(), dx.data());
          plain_multiply_backward(dy, other, dx, accumulate);
          dx.check();
        }
      });
    });
}

TEST_CASE("a gradient that multiply sums has the same bits in every run", "[kernels]") {
  geometry const g{2, {40, 17, 13}, {40}, {40}, {40}};
  tensor<float> dy(g.batch, g.shape), other(g.batch, g.shape);
  std::vector<float> first;
  for (int i = 0; i < 2; ++i) {
    tensor<float> dx(g.batch, {40, 1, 1});
    run(kernels::multiply_backward_pixels(dsl::cu::storage::f32, g.batch, g.shape, {40}, {{40}}, {40}, false),
        dy.data(), other.data(), dx.data());
    if (i == 0) first = dx.values;
    CHECK(first == dx.values);
  }
}

TEMPLATE_TEST_CASE("channel_scale and its gradients", "[kernels]", float, bf16) {
  for (auto const& g : geometries)
    for (bool const accumulate : {false, true})
      for (bool const with_dx : {true, false}) {
        int const channels = g.shape.channels;
        auto const t = storage_of<TestType>;
        tensor<TestType> x(g.batch, g.shape, g.x), y(g.batch, g.shape, g.y), dy(g.batch, g.shape, g.y),
            dx(g.batch, g.shape, g.z);
        numbers gamma(channels, -2, 2), dgamma(channels, -1, 1);
        run(kernels::channel_scale(t, x.pixels(), channels, g.x, g.y, false), x.data(), gamma.data(), y.data());
        dsl::host::bound_step<double> b;
        b.x = x.read(), b.to = y.wanted();
        b.parameters[static_cast<int>(dsl::role::gamma)] = gamma.wanted();
        auto const& plain = dsl::plain::loops_of<double>(dsl::op::channel_scale);
        plain.forward(b, {});
        y.check();
        auto const s =
            kernels::channel_scale_backward(t, x.pixels(), channels, g.x, g.y, with_dx ? g.z : g.x, accumulate);
        meeting_place m(s);
        run(s, x.data(), dy.data(), gamma.data(), with_dx ? dx.data() : nullptr, dgamma.data(), m.floats(),
            m.counters());
        b.dy = dy.read(), b.to = with_dx ? dx.wanted() : dsl::view<double>{}, b.accumulate = accumulate;
        b.gradients[static_cast<int>(dsl::role::gamma)] = dgamma.wanted();
        plain.backward(b, {});
        dx.check();
        dgamma.check();
        // In place, with a gamma that needs no gradient.
        run(kernels::channel_scale_backward(t, x.pixels(), channels, g.x, g.y, g.y, false), x.data(), dy.data(),
            gamma.data(), dy.data(), nullptr, m.floats(), m.counters());
        b.to = dy.wanted(), b.accumulate = false;
        b.gradients[static_cast<int>(dsl::role::gamma)] = nullptr;
        plain.backward(b, {});
        dy.check();
      }
}

TEMPLATE_TEST_CASE("stochastic_depth drops the samples that the CPU drops", "[kernels]", float, bf16) {
  for (auto const& g : geometries)
    for (bool const accumulate : {false, true}) {
      dsl::cu::step_state state{.step = 0x300000005u, .seed = 0x9999888877776666u, .first_sample = 7};
      tensor<TestType> x(9, g.shape, g.x, 1, 2), y(9, g.shape, g.y);
      run(kernels::stochastic_depth(storage_of<TestType>, 9, g.shape, 0.375, 21, g.x, g.y, accumulate), x.data(),
          y.data(), &state);
      dsl::dropout_draw const draw{state.seed, state.step, 21, 0.375F, 7};
      dsl::plain::stochastic_depth<double>(x.read(), y.wanted(), draw, accumulate);
      y.check();
    }
}

TEMPLATE_TEST_CASE("softmax over the channels of each pixel", "[kernels]", float, bf16) {
  for (auto const& g : geometries) {
    auto const t = storage_of<TestType>;
    tensor<TestType> x(g.batch, g.shape, g.x), y(g.batch, g.shape, g.y);
    run(kernels::softmax_forward(t, x.pixels(), g.shape.channels, g.x, g.y), x.data(), y.data());
    dsl::plain::softmax_forward<double>(x.read(), y.wanted());
    y.check();
    for (bool const accumulate : {false, true}) {
      tensor<TestType> from(g.batch, g.shape, g.y), dy(g.batch, g.shape, g.x), dx(g.batch, g.shape, g.z);
      run(kernels::softmax_backward(t, x.pixels(), g.shape.channels, g.y, g.x, g.z, accumulate), from.data(), dy.data(),
          dx.data());
      dsl::plain::softmax_backward<double>(from.read(), dy.read(), dx.wanted(), accumulate);
      dx.check();
    }
  }
}
