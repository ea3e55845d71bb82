// SPDX-License-Identifier: MIT
// Compares the native executor's F(4x4, 3x3) with plain loops in double, with every instruction set of this processor.
// The bound of each result is computed by the same algorithm from magnitudes.
#include "support/larger.hpp"
#include "support/native_convolutions.hpp"

using namespace dsl;
using namespace dsl::test;

namespace {

struct layer {
  int batch;
  shape in;
  int filters;
  int pad;  // on all sides
  shape out() const { return {filters, in.height + 2 * pad - 2, in.width + 2 * pad - 2}; }
  dsl::window window() const { return {3, 3, 1, pad, pad}; }
  native_cpu::convolution3x3 convolution() const { return {batch, in, out(), pad, pad}; }
};

layer const layers[] = {{3, {16, 15, 15}, 32, 1}, {2, {20, 7, 7}, 17, 1},  {1, {64, 32, 32}, 48, 1},
                        {1, {5, 1, 1}, 80, 1},    {2, {33, 6, 9}, 112, 0}, {7, {16, 7, 7}, 160, 1},
                        {2, {8, 5, 4}, 16, 2},    {1, {3, 3, 3}, 1, 0},    {30, {9, 13, 16}, 24, 1}};

constexpr auto& f = native_cpu::f43::matrices;
using tile = std::vector<double>;

/// Returns |M| x |M|^T.
template <int Rows, int Columns>
tile sandwich(double const (&m)[Rows][Columns], tile const& x) {
  tile y(Rows * Rows);
  for (int i = 0; i < Rows; ++i)
    for (int j = 0; j < Rows; ++j)
      for (int k = 0; k < Columns; ++k)
        for (int l = 0; l < Columns; ++l)
          y[static_cast<std::size_t>(i * Rows + j)] +=
              std::fabs(m[i][k] * m[j][l]) * x[static_cast<std::size_t>(k * Columns + l)];
  return y;
}

/// Returns the magnitudes of a tile of a picture, 0 outside.
tile cut(numbers const& x, shape const& s, int picture, int channel, int row, int column, int size) {
  tile t(static_cast<std::size_t>(size * size));
  for (int i = 0; i < size; ++i)
    for (int j = 0; j < size; ++j)
      if (row + i >= 0 && row + i < s.height && column + j >= 0 && column + j < s.width)
        t[static_cast<std::size_t>(i * size + j)] = std::fabs(x[static_cast<std::size_t>(
            ((picture * s.channels + channel) * s.height + row + i) * s.width + column + j)]);
  return t;
}

tile kernel_of(numbers const& w, int in, int out, int c, int o, bool turned) {
  tile t(9);
  int const at = turned ? (c * out + o) * 9 : (o * in + c) * 9;
  for (int i = 0; i < 9; ++i)
    t[static_cast<std::size_t>(i)] = std::fabs(w[static_cast<std::size_t>(at + (turned ? 8 - i : i))]);
  return t;
}

/// Checks a pass from x to y; for the data gradient, from dy to dx with rotated kernels and the opposite padding.
numbers forward_bound(int batch, numbers const& x, shape const& in, numbers const& w, shape const& out, int pad,
                      bool turned) {
  numbers bound(static_cast<std::size_t>(batch * out.size()));
  std::vector<tile> u;
  for (int o = 0; o < out.channels; ++o)
    for (int c = 0; c < in.channels; ++c)
      u.push_back(sandwich(f.g, kernel_of(w, in.channels, out.channels, c, o, turned)));
  for (int n = 0; n < batch; ++n)
    for (int i = 0; i < out.height; i += 4)
      for (int j = 0; j < out.width; j += 4) {
        std::vector<tile> v;
        for (int c = 0; c < in.channels; ++c) v.push_back(sandwich(f.bt, cut(x, in, n, c, i - pad, j - pad, 6)));
        for (int o = 0; o < out.channels; ++o) {
          tile m(36);
          for (int c = 0; c < in.channels; ++c)
            for (std::size_t p = 0; p < 36; ++p)
              m[p] += v[static_cast<std::size_t>(c)][p] * u[static_cast<std::size_t>(o * in.channels + c)][p];
          tile const y = sandwich(f.at, m);
          for (int a = 0; a < 4 && i + a < out.height; ++a)
            for (int b = 0; b < 4 && j + b < out.width; ++b)
              bound[static_cast<std::size_t>(((n * out.channels + o) * out.height + i + a) * out.width + j + b)] =
                  y[static_cast<std::size_t>(4 * a + b)];
        }
      }
  return bound;
}

numbers weights_bound(layer const& l, numbers const& x, numbers const& dy) {
  native_cpu::transposed<4, 6> const a(f.at);
  native_cpu::transposed<6, 3> const g(f.g);
  shape const out = l.out();
  numbers bound(static_cast<std::size_t>(l.filters * l.in.channels * 9));
  std::vector<tile> sums(static_cast<std::size_t>(l.filters * l.in.channels), tile(36));
  for (int n = 0; n < l.batch; ++n)
    for (int i = 0; i < out.height; i += 4)
      for (int j = 0; j < out.width; j += 4) {
        std::vector<tile> v;
        for (int c = 0; c < l.in.channels; ++c)
          v.push_back(sandwich(f.bt, cut(x, l.in, n, c, i - l.pad, j - l.pad, 6)));
        for (int o = 0; o < l.filters; ++o) {
          tile const d = sandwich(a.at, cut(dy, out, n, o, i, j, 4));
          for (int c = 0; c < l.in.channels; ++c)
            for (std::size_t p = 0; p < 36; ++p)
              sums[static_cast<std::size_t>(o * l.in.channels + c)][p] += v[static_cast<std::size_t>(c)][p] * d[p];
        }
      }
  for (std::size_t k = 0; k < sums.size(); ++k) {
    tile const w = sandwich(g.at, sums[k]);
    for (std::size_t i = 0; i < 9; ++i) bound[9 * k + i] = w[i];
  }
  return bound;
}

/// Returns the bound: sums of n products, and at most 40 roundings of the transforms and of their constants.
double roundings(double terms) { return (terms + 40) * 0x1p-24; }

struct data {
  block_tensor x, dy;
  numbers kernel;
  std::vector<float> kernel_floats;
  data(layer const& l, int lanes) : x(l.batch, l.in, lanes), dy(l.batch, l.out(), lanes, lanes, lanes) {
    x.draw(1), dy.draw(2);
    block_tensor k(1, {l.filters * l.in.channels, 3, 3}, 1);
    k.draw(3);
    kernel = k.values, kernel_floats = k.found();
  }
};

void run(native_cpu::convolution_pass const& pass, data const& d, view<float const> const& from, float const* bias,
         view<float> const& to, bool accumulate, bool relu, double* moments = nullptr) {
  guarded_floats packed(pass.packed()), scratch(pass.scratch());
  for (int i = pass.pack_items(); i-- > 0;) pass.pack(i, d.kernel_floats.data(), packed.data());
  for (int i = pass.items(); i-- > 0;)
    pass.run(i, from, packed.data(), bias, to, accumulate, relu, scratch.data(), moments);
}

bool same_bits(std::vector<float> const& a, std::vector<float> const& b) {
  return a.size() == b.size() && std::memcmp(a.data(), b.data(), a.size() * sizeof(float)) == 0;
}

void check_forward(layer const& l, native_cpu::kernels const& k, bool relu) {
  data d(l, k.lanes);
  guarded_floats bias(native_cpu::blocks_of(l.filters, k.lanes) * k.lanes);
  numbers exact_bias(static_cast<std::size_t>(l.filters));
  for (int o = 0; o < bias.size(); ++o) bias[o] = o < l.filters ? static_cast<float>(o % 5) - 2 : 0;
  for (int o = 0; o < l.filters; ++o) exact_bias[static_cast<std::size_t>(o)] = o % 5 - 2;
  block_tensor y(l.batch, l.out(), k.lanes, k.lanes, k.lanes);
  run(native_cpu::winograd_forward(k, l.convolution(), false, 1), d, d.x.read(), bias.data(), y.floats(), false, relu);
  plain::conv2d_forward<double>(d.x.exact(), d.kernel.data(), exact_bias.data(), y.result(), l.window());
  if (relu)
    for (double& v : y.values) v = v < 0 ? 0 : v;
  numbers bound = forward_bound(l.batch, d.x.values, l.in, d.kernel, l.out(), l.pad, false);
  for (double& b : bound) b += 2;
  check_within(y.found(), y.values, bound, roundings(l.in.channels));
  CHECK(y.others_are_untouched());
  for (int threads : {1, 3}) {
    block_tensor same(l.batch, l.out(), k.lanes, k.lanes, k.lanes);
    run(native_cpu::winograd_small(k, l.convolution(), false, threads), d, d.x.read(), bias.data(), same.floats(),
        false, relu);
    CHECK(same_bits(same.found(), y.found()));
    CHECK(same.others_are_untouched());
  }
}

/// Compares the moments that the pass for few tiles computes with those of the other one, for several threads.
void check_moments(layer const& l, native_cpu::kernels const& k) {
  if (!native_cpu::winograd_small::suits(l.batch, l.out())) return;
  data const d(l, k.lanes);
  block_tensor const y(l.batch, l.out(), k.lanes);
  std::vector<std::vector<double>> all;
  for (int threads : {1, 4}) {
    native_cpu::winograd_forward const larger(k, l.convolution(), false, threads);
    native_cpu::winograd_small const small(k, l.convolution(), false, threads);
    for (native_cpu::convolution_pass const* pass : {static_cast<native_cpu::convolution_pass const*>(&larger),
                                                     static_cast<native_cpu::convolution_pass const*>(&small)}) {
      CHECK(pass->records() == 1);
      std::vector<double> moments(static_cast<std::size_t>(pass->moments()), -1.0);
      run(*pass, d, d.x.read(), nullptr, y.floats(), false, false, moments.data());
      all.push_back(std::move(moments));
    }
  }
  for (std::vector<double> const& moments : all) CHECK(moments == all.front());
}

void check_data(layer const& l, native_cpu::kernels const& k, bool accumulate) {
  data d(l, k.lanes);
  block_tensor dx(l.batch, l.in, k.lanes, 0, k.lanes);
  if (accumulate) dx.draw(9);
  run(native_cpu::winograd_forward(k, l.convolution(), true, 2), d, d.dy.read(), nullptr, dx.floats(), accumulate,
      false);
  plain::conv2d_backward_data<double>(d.dy.exact(), d.kernel.data(), dx.result(), l.window(), accumulate);
  numbers bound = forward_bound(l.batch, d.dy.values, l.out(), d.kernel, l.in, 2 - l.pad, true);
  for (double& b : bound) b += accumulate ? 2 : 0;
  check_within(dx.found(), dx.values, bound, roundings(l.filters));
  CHECK(dx.others_are_untouched());
  block_tensor same(l.batch, l.in, k.lanes, 0, k.lanes);
  if (accumulate) same.draw(9);
  run(native_cpu::winograd_small(k, l.convolution(), true, 2), d, d.dy.read(), nullptr, same.floats(), accumulate,
      false);
  CHECK(same_bits(same.found(), dx.found()));
  CHECK(same.others_are_untouched());
}

std::vector<float> weights(layer const& l, native_cpu::kernels const& k, int threads, data const& d) {
  native_cpu::winograd_weights const pass(k, l.convolution(), threads);
  guarded_floats sums(pass.sums()), scratch(pass.scratch()), gradient(static_cast<long long>(d.kernel.size()));
  for (int i = pass.items(); i-- > 0;) pass.run(i, d.x.read(), d.dy.read(), sums.data(), scratch.data());
  for (int i = pass.finish_items(); i-- > 0;) pass.finish(i, sums.data(), gradient.data());
  return {gradient.data(), gradient.data() + gradient.size()};
}

}  // namespace

TEST_CASE("F(4x4, 3x3) against double, with every instruction set", "[native]") {
  for (auto set : instruction_sets()) {
    native_cpu::kernels const& k = native_cpu::kernels_of(set);
    for (layer const& l : layers) {
      INFO(host::name_of(set) << ", " << l.batch << " pictures of " << l.in.channels << "x" << l.in.height << "x"
                              << l.in.width << ", " << l.filters << " filters, padding " << l.pad);
      check_forward(l, k, false);
      check_forward(l, k, true);
      check_data(l, k, false);
      check_data(l, k, true);
      check_moments(l, k);
      data const d(l, k.lanes);
      auto const found = weights(l, k, 1, d);
      for (int threads : {2, 3, 4, 7, 16}) {
        auto const again = weights(l, k, threads, d);
        CHECK(same_bits(found, again));
      }
      numbers wanted(d.kernel.size());
      plain::conv2d_backward_weights<double>(d.x.exact(), d.dy.exact(), wanted.data(), nullptr, l.window());
      double const tiles = l.batch * ((l.out().height + 3) / 4) * ((l.out().width + 3) / 4);
      check_within(found, wanted, weights_bound(l, d.x.values, d.dy.values), roundings(tiles + 4));
    }
  }
}

TEST_CASE("a tile's numbers do not depend on the other samples of the batch", "[native]") {
  for (auto set : instruction_sets()) {
    native_cpu::kernels const& k = native_cpu::kernels_of(set);
    layer const many{9, {24, 7, 9}, 80, 1}, one{1, many.in, many.filters, many.pad};
    data const d(many, k.lanes);
    block_tensor const y(many.batch, many.out(), k.lanes);
    run(native_cpu::winograd_forward(k, many.convolution(), false, 1), d, d.x.read(), nullptr, y.floats(), false,
        false);
    auto const all = y.found();
    for (int n = 0; n < many.batch; ++n) {
      view<float const> x = d.x.read();
      x.data += 1LL * n * x.buffer_channels * x.shape.area(), x.batch = 1;
      block_tensor const alone(1, one.out(), k.lanes);
      run(native_cpu::winograd_small(k, one.convolution(), false, 1), d, x, nullptr, alone.floats(), false, false);
      auto const found = alone.found();
      CHECK(std::memcmp(found.data(), all.data() + static_cast<std::size_t>(n) * found.size(),
                        found.size() * sizeof(float)) == 0);
    }
  }
}

namespace {

/// Returns the distance of an algorithm's result from the convolution of 1, 2, 3 ... with 1, -2, 4 ....
template <int M, int R>
double worst_of(native_cpu::bilinear_algorithm<M, R> const& a) {
  constexpr int n = M + R - 1;
  double x[n], w[R], products[n], worst = 0;
  for (int i = 0; i < n; ++i) x[i] = i + 1;
  for (int i = 0; i < R; ++i) w[i] = std::pow(-2, i);
  for (int p = 0; p < n; ++p) {
    double g = 0, b = 0;
    for (int i = 0; i < R; ++i) g += a.g[p][i] * w[i];
    for (int i = 0; i < n; ++i) b += a.bt[p][i] * x[i];
    products[p] = g * b;
  }
  for (int i = 0; i < M; ++i) {
    double y = 0, wanted = 0;
    for (int p = 0; p < n; ++p) y += a.at[i][p] * products[p];
    for (int k = 0; k < R; ++k) wanted += x[i + k] * w[k];
    worst = larger(worst, std::fabs(y - wanted));
  }
  return worst;
}

}  // namespace

TEST_CASE("Toom and Cook's matrices convolve", "[native]") {
  constexpr auto small = native_cpu::toom_cook<2, 3>({{0, 1, -1}});
  constexpr native_cpu::bilinear_algorithm<2, 3> known{{{1, 0, -1, 0}, {0, 1, 1, 0}, {0, -1, 1, 0}, {0, -1, 0, 1}},
                                                       {{1, 0, 0}, {.5, .5, .5}, {.5, -.5, .5}, {0, 0, 1}},
                                                       {{1, 1, 1, 0}, {0, 1, -1, 1}}};
  for (int i = 0; i < 4; ++i) {
    for (int j = 0; j < 4; ++j) CHECK(small.bt[i][j] == known.bt[i][j]);
    for (int j = 0; j < 3; ++j) CHECK(small.g[i][j] == known.g[i][j]);
    for (int j = 0; j < 2; ++j) CHECK(small.at[j][i] == known.at[j][i]);
  }
  CHECK(worst_of(small) == 0);
  CHECK(worst_of(f) < 1e-12);
  CHECK(worst_of(native_cpu::toom_cook<5, 3>({{0, 1, -1, .5, -.5, 2}})) < 1e-12);
  CHECK(worst_of(native_cpu::toom_cook<3, 5>({{0, 1, -1, .5, -.5, 2}})) < 1e-12);
  CHECK(worst_of(native_cpu::toom_cook<4, 1>({{0, 1, -1}})) < 1e-12);
}
