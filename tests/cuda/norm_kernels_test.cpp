// SPDX-License-Identifier: MIT
// Compares the kernels of normalisations within a sample, compiled as C++, with the plain loops in double: odd
// channels, slices, accumulation, in place, both storages, far means, NaN, and the same bits in any order of threads.
#include <dsl/executors/host/operations.hpp>

#include <cmath>
#include <cstdint>
#include <cstdlib>

#include "support/catch.hpp"
#include "support/run_kernel.hpp"

using namespace dsl_test;
namespace kernels = dsl::cu::kernels;
using dsl::cu::slice;

namespace {

/// A layer_norm or group_norm with its memory.
template <class T>
struct normalisation {
  static constexpr auto storage = storage_of<T>;
  dsl::node node;
  kernels::normalised_groups groups;
  tensor<T> x, y, dy, dx;
  numbers gamma, beta, dgamma, dbeta;
  std::vector<float> means;

  /// `count` is the number of groups of a group_norm, or 0 for a layer_norm.
  normalisation(int batch, dsl::shape const& s, int count, double epsilon, slice x_at, slice y_at, slice dx_at)
      : node{.kind = count ? dsl::op::group_norm : dsl::op::layer_norm,
             .epsilon = epsilon,
             .groups = count ? count : 1},
        groups(count ? kernels::groups_of_samples(batch, s, count) : kernels::groups_of_pixels(batch, s)),
        x(batch, s, x_at),
        y(batch, s, y_at),
        dy(batch, s, y_at),
        dx(batch, s, dx_at),
        gamma(s.channels, 0.5, 1.5),
        beta(s.channels, -1, 1),
        dgamma(s.channels, 0, 1),
        dbeta(s.channels, 0, 1),
        means(static_cast<std::size_t>(kernels::count_of_means(groups)), std::nanf("")) {}

  void forward(tensor<T>& to) {
    run(kernels::group_norm_forward(storage, groups, node.epsilon, x.place, to.place), x.data(), gamma.data(),
        beta.data(), to.data());
  }
  /// Computes the gradients; dx is written to `to`, if it is not null.
  void backward(tensor<T>* to, bool accumulate, bool of_parameters = true) {
    auto const scale = gamma.data();
    run(kernels::group_norm_means(storage, groups, node.epsilon, x.place, dy.place), x.data(), dy.data(), scale,
        means.data());
    auto const spec =
        kernels::group_norm_backward(storage, groups, x.place, dy.place, to ? to->place : x.place, accumulate);
    meeting_place m(spec);
    run(spec, x.data(), dy.data(), scale, means.data(), to ? to->data() : nullptr,
        of_parameters ? dgamma.data() : nullptr, of_parameters ? dbeta.data() : nullptr, m.floats(),
        of_parameters ? m.counters() : nullptr);
  }
  void plain_forward(tensor<T>& to) {
    dsl::host::bound_step<double> b = bound();
    b.to = to.wanted();
    dsl::plain::loops_of<double>(node.kind).forward(b, {});
  }
  void plain_backward(tensor<T>* to, bool accumulate) {
    dsl::host::bound_step<double> b = bound();
    b.dy = dy.read(), b.accumulate = accumulate;
    b.gradients[static_cast<int>(dsl::role::gamma)] = dgamma.wanted();
    b.gradients[static_cast<int>(dsl::role::beta)] = dbeta.wanted();
    if (to) b.to = to->wanted();
    dsl::plain::loops_of<double>(node.kind).backward(b, {});
  }

 private:
  dsl::host::bound_step<double> bound() {
    dsl::host::bound_step<double> b;
    b.node = &node, b.x = x.read();
    b.parameters[static_cast<int>(dsl::role::gamma)] = gamma.wanted();
    b.parameters[static_cast<int>(dsl::role::beta)] = beta.wanted();
    return b;
  }
};

struct geometry {
  int batch;
  dsl::shape shape;
  int groups;  // 0: a layer_norm
  slice x, y, dx;
};
// With and without vectors; a group smaller than a vector; one number, one pixel and one channel in a group; teams of 1
// to 256 threads, with several rounds; several tiles of channels; several chunks of pixels.
geometry const geometries[] = {
    {2, {16, 4, 5}, 0, {16}, {48, 16}, {16}},     {3, {40, 1, 1}, 0, {40}, {40}, {64, 24}},
    {2, {12, 3, 3}, 0, {24, 4}, {12}, {20, 8}},   {1, {3, 5, 7}, 0, {3}, {8, 5}, {4, 1}},
    {5, {1, 1, 1}, 0, {1}, {3, 2}, {2, 1}},       {3, {301, 2, 1}, 0, {303, 2}, {301}, {301}},
    {2, {768, 3, 2}, 0, {768}, {768}, {768}},     {1, {8, 70, 65}, 0, {8}, {8}, {8}},
    {2, {5000, 1, 1}, 0, {5000}, {5000}, {5000}}, {2, {16, 4, 5}, 1, {16}, {48, 16}, {16}},
    {2, {16, 4, 5}, 2, {32, 8}, {16}, {24, 8}},   {2, {16, 4, 5}, 8, {16}, {48, 16}, {16}},
    {3, {6, 3, 3}, 6, {6}, {8, 1}, {7, 1}},       {2, {15, 7, 5}, 3, {15}, {16, 1}, {18, 2}},
    {4, {24, 1, 1}, 4, {24}, {24}, {24}},         {2, {4, 1, 1}, 4, {4}, {5, 1}, {4}},
    {1, {64, 33, 31}, 2, {64}, {64}, {80, 16}},   {3, {640, 2, 2}, 32, {640}, {640}, {640}},
};

std::vector<std::uint32_t> bits(std::vector<float> const& v) {
  std::vector<std::uint32_t> all;
  for (float const f : v) all.push_back(dsl_kernels::bits_of(f));
  return all;
}

}  // namespace

TEMPLATE_TEST_CASE("layer_norm and group_norm, and their gradients", "[kernels]", float, bf16) {
  for (auto const& g : geometries) {
    INFO(g.batch << " of " << g.shape.channels << "x" << g.shape.height << "x" << g.shape.width << ", " << g.groups
                 << " groups");
    normalisation<TestType> n(g.batch, g.shape, g.groups, 1e-3, g.x, g.y, g.dx);
    n.forward(n.y);
    n.plain_forward(n.y);
    n.y.check();
    for (bool const accumulate : {false, true}) {
      n.backward(&n.dx, accumulate);
      n.plain_backward(&n.dx, accumulate);
      n.dx.check(1e-5);  // dx is the small rest of two large terms where the variance is small
      n.dgamma.check();
      n.dbeta.check();
      n.dx = tensor<TestType>(g.batch, g.shape, g.dx);
    }
  }
}

TEMPLATE_TEST_CASE("layer_norm and group_norm in place, and without one of the gradients", "[kernels]", float, bf16) {
  for (auto const& g : geometries) {
    INFO(g.shape.channels << "x" << g.shape.height << "x" << g.shape.width << ", " << g.groups << " groups");
    normalisation<TestType> n(g.batch, g.shape, g.groups, 0.1, g.x, g.y, g.dx);
    n.backward(nullptr, false);
    n.plain_backward(nullptr, false);
    n.dgamma.check();
    n.dbeta.check();

    numbers const before = n.dgamma;
    n.backward(&n.dx, false, false);
    CHECK(n.dgamma.values == before.values);
    n.plain_backward(&n.dx, false);
    n.dx.check(1e-5);

    auto over_x = n, over_dy = n;
    over_x.backward(&over_x.x, false);
    over_x.plain_backward(&over_x.dx, false);
    dsl::plain::copy<double>(over_x.dx.read(), over_x.x.wanted(), false);
    over_x.x.check(1e-5);
    over_x.dgamma.check();

    over_dy.backward(&over_dy.dy, false);
    over_dy.plain_backward(&over_dy.dx, false);
    dsl::plain::copy<double>(over_dy.dx.read(), over_dy.dy.wanted(), false);
    over_dy.dy.check(1e-5);
    over_dy.dbeta.check();

    n.forward(n.x);
    auto y = n.x;
    n.plain_forward(y);
    y.check();
  }
}

TEST_CASE("a far mean costs layer_norm and group_norm no precision", "[kernels]") {
  for (int const groups : {0, 1, 4, 32}) {
    INFO(groups << " groups");
    normalisation<float> n(2, {32, 9, 10}, groups, 1e-9, {32}, {40, 4}, {32});
    // Channels 0 to 7: mean 10,000. 8 to 15: -1e6. 16 to 23: 10,000 with a deviation of 0.05. 24 to 31: the first value
    // is an outlier.
    n.x.fill([&](int, int c, long long i) {
      double const r = uniform(-1, 1);
      if (groups < 4) return 10'000 + (c == 0 && i == 0 ? -2000 : 1) * r;
      return c < 8 ? 10'000 + r : c < 16 ? -1e6 + 100 * r : c < 24 ? 10'000 + 0.05 * r : c == 24 && i == 0 ? 3000 : r;
    });
    n.forward(n.y);
    n.plain_forward(n.y);
    n.y.check();
    n.backward(&n.dx, false);
    n.plain_backward(&n.dx, false);
    n.dx.check(1e-5);
    n.dgamma.check();
    n.dbeta.check();
  }
}

TEST_CASE("equal values become beta", "[kernels]") {
  for (int const groups : {0, 4}) {
    normalisation<float> n(2, {16, 3, 3}, groups, 1e-5, {16}, {16}, {16});
    n.x.fill([](int, int, long long) { return 12'345.678; });
    n.forward(n.y);
    for (std::size_t i = 0; i < n.y.values.size(); ++i) CHECK(n.y.values[i] == n.beta.values[i % 16]);
  }
}

TEMPLATE_TEST_CASE("a NaN makes its group NaN, and no other", "[kernels]", float, bf16) {
  for (int const groups : {0, 2}) {
    normalisation<TestType> n(2, {16, 3, 3}, groups, 1e-3, {16}, {16}, {16});
    // sample 1, pixel 4, channel 11
    n.x.values[16 * (9 + 4) + 11] = stored<TestType>(std::nan(""));
    n.forward(n.y);
    n.backward(&n.dx, false);
    for (std::size_t i = 0; i < n.y.values.size(); ++i) {
      bool const hit = groups ? i >= std::size_t{16 * 9} && i % 16 >= 8 : i / 16 == 9 + 4;
      CHECK(std::isnan(value_of(n.y.values[i])) == hit);
      CHECK(std::isnan(value_of(n.dx.values[i])) == hit);
    }
    for (std::size_t c = 0; c < 16; ++c) {
      CHECK(std::isnan(n.dgamma.values[c]) == (groups == 0 || c >= 8));
      CHECK(!std::isnan(n.dbeta.values[c]));
    }
  }
}

TEST_CASE("the order of blocks and threads changes no bit of layer_norm and group_norm", "[kernels]") {
  for (int const groups : {0, 3}) {
    normalisation<float> n(2, {48, 41, 40}, groups, 1e-3, {48}, {48}, {48});
    auto const spec = kernels::group_norm_backward(dsl::cu::storage::f32, n.groups, {48}, {48}, {48}, false);
    CHECK(spec.blocks_x > 3);
    std::vector<std::vector<std::uint32_t>> first;
    for (int again = 0; again < 3; ++again) {
      n.forward(n.y);
      n.backward(&n.dx, false);
      std::vector<std::vector<std::uint32_t>> const now = {bits(n.y.values), bits(n.means), bits(n.dx.values),
                                                           bits(n.dgamma.values), bits(n.dbeta.values)};
      if (again == 0) first = now;
      CHECK(now == first);
    }
  }
}

namespace {

/// A head_norm with its memory.
template <class T>
struct heads_of {
  static constexpr auto storage = storage_of<T>;
  dsl::node node;
  tensor<T> x, y, dy, dx;
  numbers gamma, dgamma;
  std::vector<float> products;

  heads_of(int batch, dsl::shape const& s, int heads, slice x_at, slice y_at, slice dx_at)
      : node{.kind = dsl::op::head_norm, .groups = heads},
        x(batch, s, x_at),
        y(batch, s, y_at),
        dy(batch, s, y_at),
        dx(batch, s, dx_at),
        gamma(heads, 0, 4.5),
        dgamma(heads, 0, 1),
        products(static_cast<std::size_t>(batch * s.area() * heads), std::nanf("")) {}

  void forward() {
    run(kernels::head_norm_forward(storage, x.pixels(), x.shape.channels, node.groups, x.place, y.place), x.data(),
        gamma.data(), y.data());
  }
  void backward(bool accumulate, bool of_x = true) {
    run(kernels::head_norm_backward(storage, x.pixels(), x.shape.channels, node.groups, x.place, dy.place, dx.place,
                                    accumulate),
        x.data(), dy.data(), gamma.data(), of_x ? dx.data() : nullptr, products.data());
    auto const spec = kernels::channel_sums(dsl::cu::storage::f32, x.pixels(), node.groups, {node.groups});
    meeting_place m(spec);
    run(spec, products.data(), dgamma.data(), m.floats(), m.counters());
  }
  void plain(bool back, bool accumulate = false) {
    dsl::host::bound_step<double> b;
    b.node = &node, b.x = x.read(), b.accumulate = accumulate;
    b.parameters[static_cast<int>(dsl::role::gamma)] = gamma.wanted();
    b.gradients[static_cast<int>(dsl::role::gamma)] = dgamma.wanted();
    b.to = back ? dx.wanted() : y.wanted();
    if (back) b.dy = dy.read();
    auto const loops = dsl::plain::loops_of<double>(node.kind);
    (back ? loops.backward : loops.forward)(b, {});
  }
};

}  // namespace

TEMPLATE_TEST_CASE("head_norm and its gradients", "[kernels]", float, bf16) {
  struct sizes {
    int batch;
    dsl::shape shape;
    int heads;
    slice x, y, dx;
  };
  for (auto const& s : {sizes{2, {48, 3, 5}, 2, {48}, {64, 16}, {48}}, sizes{3, {18, 2, 2}, 2, {18}, {20, 1}, {19, 1}},
                        sizes{1, {18, 7, 7}, 3, {18}, {18}, {21, 2}}, sizes{2, {1536, 1, 2}, 1, {1536}, {1536}, {1536}},
                        sizes{2, {768, 9, 9}, 8, {768}, {768}, {768}}, sizes{1, {6, 1, 1}, 1, {6}, {6}, {6}}}) {
    INFO(s.shape.channels << " channels, " << s.heads << " heads");
    heads_of<TestType> n(s.batch, s.shape, s.heads, s.x, s.y, s.dx);
    n.gamma.values.back() = 5, n.gamma.expected.back() = 5;  // beyond the limit
    n.forward();
    n.plain(false);
    n.y.check();
    for (bool const accumulate : {false, true}) {
      n.dx = tensor<TestType>(s.batch, s.shape, s.dx);
      n.backward(accumulate);
      n.plain(true, accumulate);
      n.dx.check(1e-5);
      n.dgamma.check(1e-5);
    }
    CHECK(n.dgamma.values.back() == 0);
    std::vector<float> const sums = n.dgamma.values;
    n.backward(false, false);
    CHECK(bits(n.dgamma.values) == bits(sums));
    n.dx.check(1e-5);
  }
}

TEST_CASE("head_norm of single numbers has a gradient of 0, up to rounding", "[kernels]") {
  heads_of<float> n(2, {9, 3, 3}, 3, {9}, {10, 1}, {9});
  n.forward();
  n.plain(false);
  n.y.check();
  n.backward(false);
  n.plain(true);
  n.dgamma.check(1e-5);
  for (std::size_t i = 0; i < n.dx.values.size(); ++i) {
    // dy and the product of it with a number of length 1 are rounded a few times each before they are subtracted.
    std::size_t const c = i % 9;
    double const factor = c < 3 ? std::exp(n.gamma.expected[c]) : 1;
    double const dy = n.dy.expected[i / 9 * 10 + 1 + c], values = c < 6 ? 0 : dy;
    CHECK(std::fabs(static_cast<double>(n.dx.values[i]) - values) <=
          8 * 0x1p-24 * factor * std::fabs(dy / n.x.expected[i]));
  }
}

TEMPLATE_TEST_CASE("head_norm of short vectors, and of NaN", "[kernels]", float, bf16) {
  heads_of<TestType> n(1, {24, 2, 2}, 2, {24}, {24}, {24});
  // Pixel 0: the queries of head 0 are 0, and the keys of head 1 are shorter than the least length. Pixel 2: a NaN is
  // in the queries of head 1.
  n.x.fill([](int, int c, long long i) {
    return i == 0 && c < 4 ? 0.0 : i == 0 && c >= 12 && c < 16 ? 1e-13 : uniform(-1, 1);
  });
  n.forward();
  n.plain(false);
  n.y.check();
  n.x.values[2 * 24 + 5] = stored<TestType>(std::nan(""));
  n.forward();
  n.backward(false);
  for (std::size_t i = 0; i < n.y.values.size(); ++i) {
    bool const hit = i / 24 == 2 && i % 24 >= 4 && i % 24 < 8;
    CHECK(std::isnan(value_of(n.y.values[i])) == hit);
    CHECK(std::isnan(value_of(n.dx.values[i])) == hit);
  }
  CHECK(std::isfinite(n.dgamma.values[0]));
  CHECK(std::isnan(n.dgamma.values[1]));
}

TEMPLATE_TEST_CASE("local_response_norm and its gradient", "[kernels]", float, bf16) {
  constexpr auto storage = storage_of<TestType>;
  for (auto const& g : geometries)
    for (auto const& how : {kernels::local_response{5, 1e-4, 0.75, 1}, kernels::local_response{3, 2, 0.5, 0.5},
                            kernels::local_response{1, 1, 1, 2}, kernels::local_response{63, 9, 0.75, 1}}) {
      if (g.shape.channels > 400 && how.size > 5) continue;
      INFO(g.shape.channels << "x" << g.shape.height << "x" << g.shape.width << ", size " << how.size);
      dsl::node const node{.kind = dsl::op::local_response_norm,
                           .rate = how.alpha,
                           .epsilon = how.k,
                           .groups = how.size,
                           .power = how.beta};
      tensor<TestType> x(g.batch, g.shape, g.x), y(g.batch, g.shape, g.y), dy(g.batch, g.shape, g.y);
      dsl::host::bound_step<double> b;
      b.node = &node, b.x = x.read(), b.to = y.wanted();
      run(kernels::local_response_norm_forward(storage, x.pixels(), g.shape.channels, how, g.x, g.y), x.data(),
          y.data());
      dsl::plain::loops_of<double>(node.kind).forward(b, {});
      y.check();
      for (bool const accumulate : {false, true}) {
        tensor<TestType> dx(g.batch, g.shape, g.dx);
        b.dy = dy.read(), b.to = dx.wanted(), b.accumulate = accumulate;
        run(kernels::local_response_norm_backward(storage, x.pixels(), g.shape.channels, how, g.x, g.y, g.dx,
                                                  accumulate),
            x.data(), dy.data(), dx.data());
        dsl::plain::loops_of<double>(node.kind).backward(b, {});
        dx.check();
      }
    }
}

TEMPLATE_TEST_CASE("a NaN reaches the channels that local_response_norm's sums include", "[kernels]", float, bf16) {
  constexpr auto storage = storage_of<TestType>;
  for (int const channels : {16, 15}) {
    slice const all{channels};
    kernels::local_response const how{5, 1, 0.75, 1};
    tensor<TestType> x(1, {channels, 2, 2}), y(1, {channels, 2, 2}), dy(1, {channels, 2, 2}), dx(1, {channels, 2, 2});
    x.values[static_cast<std::size_t>(channels + 7)] = stored<TestType>(std::nan(""));
    run(kernels::local_response_norm_forward(storage, 4, channels, how, all, all), x.data(), y.data());
    run(kernels::local_response_norm_backward(storage, 4, channels, how, all, all, all, false), x.data(), dy.data(),
        dx.data());
    for (int i = 0; i < 4 * channels; ++i) {
      int const apart = std::abs(i % channels - 7);
      CHECK(std::isnan(value_of(y.values[static_cast<std::size_t>(i)])) == (i / channels == 1 && apart <= 2));
      CHECK(std::isnan(value_of(dx.values[static_cast<std::size_t>(i)])) == (i / channels == 1 && apart <= 4));
    }
  }
}

TEST_CASE("normalisations have no more values than an int counts", "[kernels]") {
  kernels::normalised_groups const many{3'000'000'000, 8};
  CHECK_THROWS_AS(kernels::group_norm_forward(dsl::cu::storage::f32, many, 1e-3, {8}, {8}), dsl::executor_error);
  kernels::normalised_groups const large{100'000'000, 64, 1, 100'000'000};
  CHECK_THROWS_AS(kernels::group_norm_means(dsl::cu::storage::f32, large, 1e-3, {64}, {64}), dsl::executor_error);
}
