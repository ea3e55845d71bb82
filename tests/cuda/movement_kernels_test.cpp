// SPDX-License-Identifier: MIT
// Compares the kernels of the operations that move numbers and of learnt tokens, compiled as C++, with the plain loops
// in double: odd channels, slices, accumulation, batch 1, NaN, both storages.
#include <dsl/executors/host/operations.hpp>

#include "support/catch.hpp"
#include "support/run_kernel.hpp"

using namespace dsl_test;
namespace kernels = dsl::cu::kernels;
using dsl::cu::element;
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
void check_forward(dsl::node const& n, dsl::cu::kernel_spec<element const*, element*> const& spec, tensor<T>& x,
                   tensor<T>& y, double precision = 0) {
  run(spec, x.data(), y.data());
  dsl::host::bound_step<double> b;
  b.node = &n, b.x = x.read(), b.to = y.wanted();
  dsl::plain::loops_of<double>(n.kind).forward(b, {});
  y.check(precision);
}
template <class T>
void check_backward(dsl::node const& n, dsl::cu::kernel_spec<element const*, element*> const& spec, tensor<T>& dy,
                    tensor<T>& dx, bool accumulate, double precision = 0) {
  run(spec, dy.data(), dx.data());
  dsl::host::bound_step<double> b;
  b.node = &n, b.dy = dy.read(), b.to = dx.wanted(), b.accumulate = accumulate;
  dsl::plain::loops_of<double>(n.kind).backward(b, {});
  dx.check(accumulate ? std::fmax(precision, 1e-7) : precision);
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
    kernels::sum_inputs const in{{elements(x.data())}}, back{{elements(dy.data())}};
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

TEMPLATE_TEST_CASE("upsample2d and its gradient", "[kernels]", float, bf16) {
  constexpr auto storage = storage_of<TestType>;
  struct enlargement {
    geometry g;
    int rows, columns;
  };
  enlargement const all[] = {
      {{2, {16, 3, 4}, {16}, {48, 16}, {32, 8}}, 2, 2}, {{1, {3, 4, 3}, {8, 5}, {4, 1}, {3}}, 3, 3},
      {{2, {12, 2, 5}, {12}, {24, 8}, {12}}, 4, 1},     {{3, {5, 1, 1}, {5}, {6, 1}, {5}}, 5, 5},
      {{1, {8, 1, 6}, {8}, {8}, {16, 8}}, 3, 8},        {{2, {24, 3, 2}, {40, 8}, {24}, {24}}, 1, 1},
  };
  for (auto const& [g, rows, columns] : all)
    for (bool const bilinear : {false, true}) {
      INFO(g.shape.channels << " channels of " << g.shape.height << "x" << g.shape.width << " times " << rows << "x"
                            << columns << (bilinear ? ", bilinear" : ""));
      dsl::node const n{.kind = bilinear ? dsl::op::upsample_bilinear : dsl::op::upsample_nearest};
      dsl::shape const out{g.shape.channels, rows * g.shape.height, columns * g.shape.width};
      tensor<TestType> x(g.batch, g.shape, g.x), y(g.batch, out, g.y), dy(g.batch, out, g.y);
      check_forward(n, kernels::upsample2d_forward(storage, g.batch, g.shape, out, bilinear, g.x, g.y), x, y,
                    bilinear ? 4e-7 : 0);
      for (bool const accumulate : {false, true}) {
        tensor<TestType> dx(g.batch, g.shape, g.dx);
        check_backward(n, kernels::upsample2d_backward(storage, g.batch, g.shape, out, bilinear, g.dx, g.y, accumulate),
                       dy, dx, accumulate, 1e-6);
      }
    }
}

TEMPLATE_TEST_CASE("upsample2d spreads NaN to the pixels that read it", "[kernels]", float, bf16) {
  constexpr auto storage = storage_of<TestType>;
  dsl::shape const in{8, 4, 3}, out{8, 12, 6};
  for (bool const bilinear : {false, true})
    for (std::size_t pixel = 0; pixel < 12; ++pixel) {
      INFO((bilinear ? "bilinear, pixel " : "pixel ") << pixel);
      dsl::node const n{.kind = bilinear ? dsl::op::upsample_bilinear : dsl::op::upsample_nearest};
      tensor<TestType> x(1, in), y(1, out), dy(1, out), dx(1, in);
      auto const spoil = [](tensor<TestType>& t, std::size_t i) {
        t.values[i] = stored<TestType>(std::nan(""));
        t.expected[i] = std::nan("");
      };
      spoil(x, 8 * pixel + 2);
      spoil(dy, 8 * (4 * pixel + 1) + 7);
      run(kernels::upsample2d_forward(storage, 1, in, out, bilinear, {8}, {8}), x.data(), y.data());
      run(kernels::upsample2d_backward(storage, 1, in, out, bilinear, {8}, {8}, false), dy.data(), dx.data());
      dsl::host::bound_step<double> b;
      b.node = &n, b.x = x.read(), b.dy = dy.read(), b.to = y.wanted();
      dsl::plain::loops_of<double>(n.kind).forward(b, {});
      b.to = dx.wanted();
      dsl::plain::loops_of<double>(n.kind).backward(b, {});
      for (auto const* t : {&y, &dx}) {
        CHECK(nans_of(*t) > 0);
        for (std::size_t i = 0; i < t->values.size(); ++i)
          CHECK(std::isnan(value_of(t->values[i])) == std::isnan(t->expected[i]));
      }
    }
}

TEMPLATE_TEST_CASE("token_slice and its gradient", "[kernels]", float, bf16) {
  constexpr auto storage = storage_of<TestType>;
  struct part {
    geometry g;
    int first, count;
  };
  part const parts[] = {
      {{2, {16, 3, 4}, {16}, {48, 16}, {32, 8}}, 0, 1},
      {{1, {3, 1, 9}, {8, 5}, {4, 1}, {3}}, 2, 7},
      {{2, {12, 5, 1}, {12}, {24, 8}, {12}}, 3, 2},
      {{3, {5, 1, 1}, {5}, {6, 1}, {5}}, 0, 1},
  };
  for (auto const& [g, first, count] : parts)
    for (bool const accumulate : {false, true}) {
      INFO(count << " of " << g.shape.area() << " tokens from " << first << " on");
      dsl::node const n{.kind = dsl::op::token_slice, .first_channel = first};
      dsl::shape const out{g.shape.channels, 1, count};
      tensor<TestType> x(g.batch, g.shape, g.x), y(g.batch, out, g.y), dy(g.batch, out, g.y),
          dx(g.batch, g.shape, g.dx);
      dsl::shape const row = kernels::row_of(g.shape);
      check_forward(n, kernels::shifted_copy(storage, g.batch, row, out, {.left = -first}, g.x, g.y, false), x, y);
      check_backward(n, kernels::shifted_copy(storage, g.batch, out, row, {.left = first}, g.y, g.dx, accumulate), dy,
                     dx, accumulate);
    }
}

TEMPLATE_TEST_CASE("merge_pixels and its gradient", "[kernels]", float, bf16) {
  constexpr auto storage = storage_of<TestType>;
  struct square {
    geometry g;
    int side;
  };
  square const squares[] = {
      {{2, {16, 4, 6}, {16}, {112, 16}, {32, 8}}, 2}, {{1, {3, 6, 3}, {8, 5}, {28, 1}, {3}}, 3},
      {{2, {12, 2, 2}, {12}, {48}, {24, 8}}, 2},      {{2, {5, 4, 4}, {5}, {81}, {6, 1}}, 4},
      {{2, {8, 3, 2}, {24, 8}, {8}, {8}}, 1},
  };
  for (auto const& [g, side] : squares)
    for (bool const accumulate : {false, true}) {
      INFO(g.shape.channels << " channels of squares of " << side);
      dsl::node const n{.kind = dsl::op::merge_pixels};
      dsl::shape const out{g.shape.channels * side * side, g.shape.height / side, g.shape.width / side};
      tensor<TestType> x(g.batch, g.shape, g.x), y(g.batch, out, g.y), dy(g.batch, out, g.y),
          dx(g.batch, g.shape, g.dx);
      check_forward(n, kernels::merge_pixels(storage, g.batch, g.shape, side, g.x, g.y), x, y);
      check_backward(n, kernels::merge_pixels_backward(storage, g.batch, g.shape, side, g.dx, g.y, accumulate), dy, dx,
                     accumulate);
    }
}

TEMPLATE_TEST_CASE("transpose_tokens and its gradient", "[kernels]", float, bf16) {
  constexpr auto storage = storage_of<TestType>;
  geometry const all[] = {
      {2, {16, 3, 4}, {16}, {28, 16}, {32, 8}}, {1, {3, 1, 70}, {8, 5}, {71, 1}, {3}},
      {2, {65, 5, 7}, {65}, {35}, {65}},        {1, {32, 8, 8}, {32}, {64}, {32}},
      {3, {1, 1, 1}, {2, 1}, {1}, {1}},
  };
  for (auto const& g : all)
    for (bool const accumulate : {false, true}) {
      INFO(g.shape.channels << " channels of " << g.shape.area() << " tokens");
      dsl::node const n{.kind = dsl::op::transpose_tokens};
      dsl::shape const out{static_cast<int>(g.shape.area()), 1, g.shape.channels};
      tensor<TestType> x(g.batch, g.shape, g.x), y(g.batch, out, g.y), dy(g.batch, out, g.y),
          dx(g.batch, g.shape, g.dx);
      check_forward(n, kernels::transpose_tokens(storage, g.batch, g.shape, out, g.x, g.y, false), x, y);
      check_backward(n, kernels::transpose_tokens(storage, g.batch, out, g.shape, g.y, g.dx, accumulate), dy, dx,
                     accumulate);
    }
}

TEMPLATE_TEST_CASE("class_token and its gradients", "[kernels]", float, bf16) {
  constexpr auto storage = storage_of<TestType>;
  geometry const all[] = {
      {2, {16, 3, 4}, {16}, {48, 16}, {32, 8}}, {1, {3, 4, 3}, {8, 5}, {4, 1}, {3}},
      {5, {72, 1, 2}, {72}, {80, 8}, {72}},     {300, {12, 2, 2}, {12}, {12}, {12}},
      {3, {5, 1, 1}, {5}, {6, 1}, {5}},
  };
  for (auto const& g : all) {
    INFO(g.batch << " times " << g.shape.channels << " channels of " << g.shape.area() << " tokens");
    dsl::node const n{.kind = dsl::op::class_token};
    dsl::shape const row = kernels::row_of(g.shape), out{g.shape.channels, 1, row.width + 1};
    tensor<TestType> x(g.batch, g.shape, g.x), y(g.batch, out, g.y), dy(g.batch, out, g.y);
    numbers token(g.shape.channels, -2, 2), found(g.shape.channels, 0, 1);
    run(kernels::class_token(storage, g.batch, g.shape, g.x, g.y), x.data(), token.data(), y.data());
    dsl::host::bound_step<double> b;
    b.node = &n, b.x = x.read(), b.dy = dy.read(), b.to = y.wanted();
    b.parameters[static_cast<int>(dsl::role::kernel)] = token.wanted();
    dsl::plain::loops_of<double>(n.kind).forward(b, {});
    y.check(0);
    b.gradients[static_cast<int>(dsl::role::kernel)] = found.wanted();
    for (bool const accumulate : {false, true}) {
      tensor<TestType> dx(g.batch, g.shape, g.dx);
      run(kernels::shifted_copy(storage, g.batch, out, row, {.left = -1}, g.y, g.dx, accumulate), dy.data(), dx.data());
      b.to = dx.wanted(), b.accumulate = accumulate;
      dsl::plain::loops_of<double>(n.kind).backward(b, {});
      dx.check(accumulate ? 1e-7 : 0);
    }
    auto const sums = kernels::class_token_gradient(storage, g.batch, out.area(), out.channels, g.y);
    meeting_place m(sums);
    run(sums, dy.data(), found.data(), m.floats(), m.counters());
    found.check();
  }
}

TEMPLATE_TEST_CASE("position_embedding and its gradient", "[kernels]", float, bf16) {
  constexpr auto storage = storage_of<TestType>;
  geometry const all[] = {
      {2, {16, 3, 4}, {16}, {48, 16}, {}}, {1, {3, 4, 3}, {8, 5}, {4, 1}, {}}, {5, {72, 1, 2}, {80, 8}, {72}, {}},
      {300, {12, 1, 1}, {12}, {12}, {}},   {3, {5, 1, 1}, {5}, {6, 1}, {}},
  };
  for (auto const& g : all) {
    INFO(g.batch << " times " << g.shape.channels << " channels of " << g.shape.area() << " tokens");
    dsl::node const n{.kind = dsl::op::position_embedding};
    tensor<TestType> x(g.batch, g.shape, g.x), y(g.batch, g.shape, g.y), dy(g.batch, g.shape, g.y);
    auto const count = static_cast<int>(g.shape.size());
    numbers added(count, -2, 2), found(count, 0, 1);
    dsl::host::bound_step<double> b;
    b.node = &n, b.dy = dy.read();
    b.parameters[static_cast<int>(dsl::role::kernel)] = added.wanted();
    b.gradients[static_cast<int>(dsl::role::kernel)] = found.wanted();
    for (bool const in_place : {false, true}) {
      tensor<TestType>& to = in_place ? x : y;
      run(kernels::position_embedding(storage, g.batch, g.shape, g.x, to.place), x.data(), added.data(), to.data());
      b.x = x.read(), b.to = to.wanted();
      dsl::plain::loops_of<double>(n.kind).forward(b, {});
      to.check(1e-7);
    }
    run(kernels::sample_sums(storage, g.batch, g.shape, g.y), dy.data(), found.data());
    b.to = {};
    dsl::plain::loops_of<double>(n.kind).backward(b, {});
    found.check();
  }
}

TEMPLATE_TEST_CASE("sums over samples and learnt numbers propagate NaN", "[kernels]", float, bf16) {
  constexpr auto storage = storage_of<TestType>;
  tensor<TestType> x(3, {8, 1, 2}), y(3, {8, 1, 3});
  numbers token(8, -1, 1), embedding(16, -1, 1), sums(16, 0, 1), first(8, 0, 1);
  x.values[16 + 8 + 5] = stored<TestType>(std::nan(""));  // channel 5 of the second pixel of the second sample
  token.values[3] = std::nanf("");
  run(kernels::sample_sums(storage, 3, {8, 1, 2}, {8}), x.data(), sums.data());
  for (std::size_t i = 0; i < 16; ++i) CHECK(std::isnan(sums.values[i]) == (i == 8 + 5));
  run(kernels::class_token(storage, 3, {8, 1, 2}, {8}, {8}), x.data(), token.data(), y.data());
  CHECK(nans_of(y) == 3 + 1);
  for (std::size_t n = 0; n < 3; ++n) CHECK(std::isnan(value_of(y.values[n * 24 + 3])));
  auto const spec = kernels::class_token_gradient(storage, 3, 3, 8, {8});
  meeting_place m(spec);
  run(spec, y.data(), first.data(), m.floats(), m.counters());
  for (std::size_t i = 0; i < 8; ++i) CHECK(std::isnan(first.values[i]) == (i == 3));
  embedding.values[9] = std::nanf("");
  run(kernels::position_embedding(storage, 3, {8, 1, 2}, {8}, {8}), x.data(), embedding.data(), x.data());
  CHECK(nans_of(x) == 3 + 1);
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
  tensor<TestType> merged(1, {32, 1, 1}), turned(1, {4, 1, 8});
  run(kernels::merge_pixels(storage, 1, {8, 2, 2}, 2, {8}, {32}), x.data(), merged.data());
  CHECK(std::isnan(value_of(merged.values[8 * 3 + 5])));
  CHECK(nans_of(merged) == 1);
  run(kernels::transpose_tokens(storage, 1, {8, 2, 2}, {4, 1, 8}, {8}, {4}, false), x.data(), turned.data());
  CHECK(std::isnan(value_of(turned.values[4 * 5 + 3])));
  CHECK(nans_of(turned) == 1);
}

TEST_CASE("copies count no more numbers than an int does", "[kernels]") {
  using dsl::cu::storage;
  dsl::shape const large{8, 20'000, 20'000}, small{8, 2, 2};
  CHECK_THROWS_AS(kernels::shifted_copy(storage::f32, 8, small, large, {}, {8}, {8}, false), dsl::executor_error);
  CHECK_THROWS_AS(kernels::shifted_copy(storage::f32, 8, large, small, {}, {8}, {8}, false), dsl::executor_error);
  CHECK_THROWS_AS(kernels::upsample2d_backward(storage::f32, 8, small, large, true, {8}, {8}, false),
                  dsl::executor_error);
  CHECK_THROWS_AS(kernels::merge_pixels(storage::f32, 8, large, 2, {8}, {32}), dsl::executor_error);
  CHECK_THROWS_AS(kernels::transpose_tokens(storage::f32, 8, large, {400'000'000, 1, 8}, {8}, {400'000'000}, false),
                  dsl::executor_error);
  CHECK_THROWS_AS(kernels::class_token(storage::f32, 8, large, {8}, {8}), dsl::executor_error);
  CHECK_THROWS_AS(kernels::position_embedding(storage::f32, 8, large, {8}, {8}), dsl::executor_error);
  CHECK_THROWS_AS(kernels::sample_sums(storage::f32, 8, large, {8}), dsl::executor_error);
  CHECK_THROWS_AS(kernels::channel_shuffle(storage::f32, 3'000'000'000, 8, 2, {8}, {8}, false), dsl::executor_error);
}
