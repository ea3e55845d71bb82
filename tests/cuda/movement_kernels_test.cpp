// SPDX-License-Identifier: MIT
// Compares the kernels of the operations that move numbers, compiled as C++, with the plain loops in double: odd
// channels, slices, accumulation, batch 1, NaN, both storages.
#include <dsl/executors/reference/loops.hpp>

#include "support/catch.hpp"
#include "support/run_kernel.hpp"

using namespace dsl_test;
namespace kernels = dsl::cu::kernels;
using dsl::cu::kernel_spec;
using dsl::cu::slice;

namespace {

/// A tensor's batch, shape and places: of the input, of the output, and of the input's gradient.
struct geometry {
  int batch;
  dsl::shape shape;
  slice x, y, dx;
};

/// Runs the plain loops of a node on the numbers that a kernel gets, and compares.
template <class T>
void check_forward(dsl::node const& n, kernel_spec const& spec, tensor<T>& x, tensor<T>& y, double precision = 0) {
  run(spec, x.data(), y.data());
  dsl::host::bound_step<double> b;
  b.node = &n, b.x = x.read(), b.to = y.wanted();
  dsl::plain::loops_of<double>(n.kind).forward(b, {});
  y.check(precision);
}
template <class T>
void check_backward(dsl::node const& n, kernel_spec const& spec, tensor<T>& dy, tensor<T>& dx, bool accumulate,
                    double precision = 0) {
  run(spec, dy.data(), dx.data());
  dsl::host::bound_step<double> b;
  b.node = &n, b.dy = dy.read(), b.to = dx.wanted(), b.accumulate = accumulate;
  dsl::plain::loops_of<double>(n.kind).backward(b, {});
  dx.check(accumulate ? 1e-7 : precision);
}

/// Returns how many of a tensor's numbers are NaN.
template <class T>
long nans_of(tensor<T> const& t) {
  long all = 0;
  for (T const& v : t.values) all += std::isnan(value_of(v));
  return all;
}

}  // namespace

TEMPLATE_TEST_CASE("zero_pad2d and its gradient", "[kernels]", float, bf16) {
  constexpr auto storage = storage_of<TestType>;
  struct pad {
    geometry g;
    int top, left, bottom, right;
  };
  pad const pads[] = {
      {{2, {16, 3, 4}, {16}, {48, 16}, {32, 8}}, 1, 1, 1, 1}, {{1, {3, 4, 3}, {8, 5}, {4, 1}, {3}}, 0, 2, 3, 0},
      {{2, {12, 2, 2}, {12}, {12}, {24, 8}}, 2, 0, 0, 1},     {{3, {5, 1, 6}, {5}, {6, 1}, {5}}, 0, 0, 0, 0},
      {{2, {24, 3, 2}, {40, 8}, {24}, {24}}, 0, 0, 1, 1},
  };
  for (auto const& [g, top, left, bottom, right] : pads)
    for (bool const accumulate : {false, true}) {
      INFO(g.shape.channels << " channels, " << top << ", " << left << ", " << bottom << ", " << right);
      dsl::node const n{.kind = dsl::op::zero_pad2d, .window = {1, 1, 1, top, left}};
      dsl::shape const out{g.shape.channels, g.shape.height + top + bottom, g.shape.width + left + right};
      tensor<TestType> x(g.batch, g.shape, g.x), y(g.batch, out, g.y), dy(g.batch, out, g.y),
          dx(g.batch, g.shape, g.dx);
      check_forward(
          n, kernels::shifted_copy(storage, g.batch, g.shape, out, {.top = top, .left = left}, g.x, g.y, false), x, y);
      check_backward(
          n, kernels::shifted_copy(storage, g.batch, out, g.shape, {.top = -top, .left = -left}, g.y, g.dx, accumulate),
          dy, dx, accumulate);
    }
}

TEMPLATE_TEST_CASE("channel_slice and its gradient", "[kernels]", float, bf16) {
  constexpr auto storage = storage_of<TestType>;
  struct part {
    geometry g;
    int first, count;
  };
  part const parts[] = {
      {{2, {48, 3, 3}, {48}, {16}, {64, 16}}, 16, 24}, {{2, {48, 3, 3}, {48}, {32, 8}, {48}}, 0, 16},
      {{1, {7, 2, 5}, {9, 1}, {5, 1}, {8, 1}}, 3, 4},  {{2, {16, 2, 2}, {16}, {8}, {16}}, 4, 8},
      {{2, {16, 2, 2}, {16}, {8}, {16}}, 5, 8},        {{3, {8, 1, 1}, {8}, {1}, {8}}, 7, 1},
  };
  for (auto const& [g, first, count] : parts) {
    INFO(count << " of " << g.shape.channels << " channels from " << first << " on");
    dsl::node const n{.kind = dsl::op::channel_slice, .first_channel = first};
    dsl::shape const out{count, g.shape.height, g.shape.width};
    slice const of_y{g.y.channels + count, g.y.offset};
    tensor<TestType> x(g.batch, g.shape, g.x), y(g.batch, out, of_y), dy(g.batch, out, of_y),
        dx(g.batch, g.shape, g.dx), more(g.batch, g.shape, g.dx);
    slice const from{g.x.channels, g.x.offset + first}, to{g.dx.channels, g.dx.offset + first};
    kernels::sum_inputs const in{{x.data()}}, back{{dy.data()}};
    run(kernels::copy(storage, x.pixels(), count, from, of_y, false), in, y.data());
    dsl::host::bound_step<double> b;
    b.node = &n, b.x = x.read(), b.to = y.wanted();
    dsl::plain::loops_of<double>(n.kind).forward(b, {});
    y.check(0);
    check_backward(n, kernels::shifted_copy(storage, g.batch, out, g.shape, {.front = first}, of_y, g.dx, false), dy,
                   dx, false);
    check_backward(n, kernels::shifted_copy(storage, g.batch, out, g.shape, {.front = first}, of_y, g.dx, true), dy, dx,
                   true);
    run(kernels::copy(storage, dy.pixels(), count, of_y, to, true), back, more.data());
    b.dy = dy.read(), b.to = more.wanted(), b.accumulate = true;
    dsl::plain::loops_of<double>(n.kind).backward(b, {});
    more.check(1e-7);
  }
}

TEMPLATE_TEST_CASE("channel_shuffle and its gradient", "[kernels]", float, bf16) {
  constexpr auto storage = storage_of<TestType>;
  struct shuffle {
    geometry g;
    int groups;
  };
  shuffle const shuffles[] = {
      {{2, {48, 3, 2}, {48}, {64, 16}, {48}}, 2}, {{1, {6, 2, 5}, {9, 1}, {6}, {8, 2}}, 3},
      {{2, {16, 2, 2}, {17, 1}, {16}, {32}}, 8},  {{2, {12, 1, 3}, {12}, {24, 8}, {12}}, 4},
      {{3, {5, 1, 1}, {5}, {7, 2}, {5}}, 5},      {{1, {8, 2, 2}, {8}, {8}, {8}}, 1},
  };
  for (auto const& [g, groups] : shuffles)
    for (bool const accumulate : {false, true}) {
      INFO(g.shape.channels << " channels, " << groups << " groups");
      int const channels = g.shape.channels;
      dsl::node const n{.kind = dsl::op::channel_shuffle, .groups = groups};
      tensor<TestType> x(g.batch, g.shape, g.x), y(g.batch, g.shape, g.y), dy(g.batch, g.shape, g.y),
          dx(g.batch, g.shape, g.dx);
      check_forward(n, kernels::channel_shuffle(storage, x.pixels(), channels, groups, g.x, g.y, false), x, y);
      check_backward(n,
                     kernels::channel_shuffle(storage, x.pixels(), channels, channels / groups, g.y, g.dx, accumulate),
                     dy, dx, accumulate);
    }
}

TEMPLATE_TEST_CASE("NaN moves with the numbers, and nothing else becomes NaN", "[kernels]", float, bf16) {
  constexpr auto storage = storage_of<TestType>;
  auto const nan = stored<TestType>(std::nan(""));
  tensor<TestType> x(1, {8, 2, 2}), y(1, {8, 4, 3}), z(1, {8, 2, 2}), wide(1, {16, 2, 2});
  x.values[8 * 3 + 5] = nan;  // channel 5 of the last pixel
  run(kernels::shifted_copy(storage, 1, {8, 2, 2}, {8, 4, 3}, {.top = 1, .left = 1}, {8}, {8}, false), x.data(),
      y.data());
  CHECK(std::isnan(value_of(y.values[8 * (2 * 3 + 2) + 5])));
  CHECK(nans_of(y) == 1);
  for (auto& v : wide.values) v = nan;  // the kernel overwrites what was there, also where it has nothing to copy
  run(kernels::shifted_copy(storage, 1, {8, 2, 2}, {16, 2, 2}, {.front = 8}, {8}, {16}, false), x.data(), wide.data());
  CHECK(std::isnan(value_of(wide.values[16 * 3 + 8 + 5])));
  CHECK(nans_of(wide) == 1);
  run(kernels::channel_shuffle(storage, 4, 8, 2, {8}, {8}, false), x.data(), z.data());
  CHECK(std::isnan(value_of(z.values[8 * 3 + 3])));  // the second channel of the second group
  CHECK(nans_of(z) == 1);
}

TEST_CASE("copies count no more numbers than an int does", "[kernels]") {
  using dsl::cu::storage;
  dsl::shape const large{8, 20'000, 20'000}, small{8, 2, 2};
  CHECK_THROWS_AS(kernels::shifted_copy(storage::f32, 8, small, large, {}, {8}, {8}, false), dsl::executor_error);
  CHECK_THROWS_AS(kernels::shifted_copy(storage::f32, 8, large, small, {}, {8}, {8}, false), dsl::executor_error);
  CHECK_THROWS_AS(kernels::channel_shuffle(storage::f32, 3'000'000'000, 8, 2, {8}, {8}, false), dsl::executor_error);
}
