// SPDX-License-Identifier: MIT
// Compares the native executor's depthwise convolutions with plain loops in double, with every instruction set of this
// processor, and tests how groups are cut into slices. All memory ends at a page that cannot be accessed.
#include "support/native_convolutions.hpp"

#include <dsl/executors/native/depthwise.hpp>
#include <dsl/executors/native/group_slices.hpp>

using namespace dsl;
using namespace dsl::test;

namespace {

struct layer {
  int batch;
  shape in;
  int multiplier;  // filters per channel
  dsl::window window;
  int filters() const { return in.channels * multiplier; }
  shape out() const {
    auto const size = [](int from, window_side const& s) { return (from + 2 * s.before - s.span()) / s.stride + 1; };
    return {filters(), size(in.height, window.rows()), size(in.width, window.columns())};
  }
  native_cpu::convolution convolution() const { return {batch, in, out(), window, in.channels}; }
  double taps() const { return window.height * window.width; }
};

// {height, width, stride, top, left, column stride or 0, row dilation, column dilation}
layer const layers[] = {
    {2, {16, 9, 9}, 1, {3, 3, 1, 1, 1}},         {3, {20, 7, 7}, 1, {5, 5, 1, 2, 2}},
    {2, {33, 8, 9}, 1, {3, 3, 2, 1, 1}},         {1, {5, 14, 3}, 1, {5, 5, 2, 2, 2}},
    {2, {16, 31, 40}, 1, {3, 3, 1, 1, 1}},       {1, {2, 9, 60}, 1, {7, 7, 1, 3, 3}},
    {2, {6, 8, 8}, 2, {3, 3, 1, 1, 1}},          {2, {7, 5, 6}, 5, {3, 2, 2, 0, 1}},
    {5, {24, 4, 4}, 3, {1, 1, 1, 0, 0}},         {1, {17, 2, 2}, 1, {1, 1, 3, 0, 0}},
    {1, {9, 15, 29}, 1, {5, 5, 2, 2, 2}},        {2, {21, 7, 7}, 1, {3, 3, 1, 1, 1}},
    {33, {40, 1, 1}, 1, {3, 3, 1, 1, 1}},        {1, {4, 3, 11}, 4, {2, 5, 3, 0, 2}},
    {2, {17, 9, 12}, 1, {3, 3, 2, 1, 1, 1}},     {1, {20, 9, 31}, 1, {3, 3, 1, 2, 4, 0, 2, 4}},
    {2, {5, 8, 9}, 2, {3, 3, 2, 3, 3, 0, 3, 3}}, {1, {33, 12, 40}, 1, {5, 3, 3, 6, 2, 2, 3, 2}},
    {1, {7, 5, 5}, 1, {3, 3, 1, 6, 6, 0, 6, 6}},
};

/// Returns the bound: a sum of n rounded products is off by at most about n roundings of the sum of their magnitudes.
double roundings(double terms) { return (terms + 2) * 0x1p-24; }

struct data {
  block_tensor x, dy;
  numbers kernel, bias;
  std::vector<float> kernel_floats;

  data(layer const& l, int lanes) : x(l.batch, l.in, lanes), dy(l.batch, l.out(), lanes, lanes, lanes) {
    x.draw(1), dy.draw(2);
    block_tensor k(1, {l.filters(), l.window.height, l.window.width}, 1), b(1, {l.filters(), 1, 1}, 1);
    k.draw(3), b.draw(4);
    kernel = k.values, bias = b.values;
    kernel_floats = k.found();
  }
};

void run(native_cpu::depthwise_pass const& pass, data const& d, view<float const> const& from, float const* bias,
         view<float> const& to, bool accumulate, bool relu, double* moments = nullptr) {
  guarded_floats packed(pass.packed()), scratch(pass.scratch());
  for (int i = 0; i < pass.pack_items(); ++i) pass.pack(i, d.kernel_floats.data(), packed.data());
  for (int i = pass.items(); i-- > 0;)
    pass.run(i, from, packed.data(), bias, to, accumulate, relu, scratch.data(), moments);
}

void check_forward(layer const& l, native_cpu::kernels const& k, bool relu) {
  data d(l, k.lanes);
  native_cpu::convolution const c = l.convolution();
  native_cpu::depthwise_pass const pass(k, c, false);
  int const padded = native_cpu::blocks_of(l.filters(), k.lanes) * k.lanes;
  guarded_floats bias(padded);
  for (int o = 0; o < padded; ++o)
    bias[o] = o < l.filters() ? static_cast<float>(d.bias[static_cast<std::size_t>(o)]) : 0;
  block_tensor y(l.batch, l.out(), k.lanes, k.lanes, k.lanes), size(l.batch, l.out(), k.lanes);
  numbers moments(static_cast<std::size_t>(pass.moments()), NAN), sums(static_cast<std::size_t>(padded));
  run(pass, d, d.x.read(), bias.data(), y.floats(), false, relu, moments.data());
  plain::conv2d_forward<double>(d.x.exact(), d.kernel.data(), d.bias.data(), y.result(), l.window, c.groups);
  if (relu)
    for (double& v : y.values) v = v < 0 ? 0 : v;
  numbers const kernel = absolute(d.kernel), b = absolute(d.bias);
  d.x.values = absolute(d.x.values);
  plain::conv2d_forward<double>(d.x.exact(), kernel.data(), b.data(), size.result(), l.window, c.groups);
  check_within(y.found(), y.values, size.values, roundings(l.taps() + 1));
  CHECK(y.others_are_untouched());
  // the moments are those of the written values, summed in double
  std::vector<float> const found = y.found();
  for (int o = 0; o < l.filters(); ++o) {
    double sum = 0, squares = 0, wanted = 0, wanted_squares = 0;
    for (int r = 0; r < pass.records(); ++r) {
      auto const at = static_cast<std::size_t>(2 * (r * padded + o / k.lanes * k.lanes) + o % k.lanes);
      sum += moments[at], squares += moments[at + static_cast<std::size_t>(k.lanes)];
    }
    for (int n = 0; n < l.batch; ++n)
      for (long long i = 0; i < l.out().area(); ++i) {
        double const v = static_cast<double>(found[y.index(n, o, i)]);
        wanted += v, wanted_squares += v * v;
      }
    CHECK(std::fabs(sum - wanted) <= 1e-12 * (wanted_squares + static_cast<double>(found.size())));
    CHECK(std::fabs(squares - wanted_squares) <= 1e-12 * wanted_squares);
  }
}

void check_data(layer const& l, native_cpu::kernels const& k, bool accumulate) {
  data d(l, k.lanes);
  native_cpu::convolution const c = l.convolution();
  block_tensor dx(l.batch, l.in, k.lanes, 0, k.lanes), size(l.batch, l.in, k.lanes);
  if (accumulate) dx.draw(9);
  run(native_cpu::depthwise_pass(k, c, true), d, d.dy.read(), nullptr, dx.floats(), accumulate, false);
  if (accumulate) size.values = absolute(dx.values);
  plain::conv2d_backward_data<double>(d.dy.exact(), d.kernel.data(), dx.result(), l.window, accumulate, c.groups);
  numbers const kernel = absolute(d.kernel);
  d.dy.values = absolute(d.dy.values);
  plain::conv2d_backward_data<double>(d.dy.exact(), kernel.data(), size.result(), l.window, accumulate, c.groups);
  check_within(dx.found(), dx.values, size.values, roundings(l.multiplier * l.taps() + 1));
  CHECK(dx.others_are_untouched());
}

void check_weights(layer const& l, native_cpu::kernels const& k) {
  data d(l, k.lanes);
  native_cpu::convolution const c = l.convolution();
  native_cpu::depthwise_weights const pass(k, c);
  guarded_floats sums(pass.sums()), scratch(pass.scratch()), gradient(static_cast<long long>(d.kernel.size()));
  for (int i = pass.items(); i-- > 0;) pass.run(i, d.x.read(), d.dy.read(), sums.data(), scratch.data());
  for (int i = pass.finish_items(); i-- > 0;) pass.finish(i, sums.data(), gradient.data());
  numbers wanted(d.kernel.size()), size(d.kernel.size());
  plain::conv2d_backward_weights<double>(d.x.exact(), d.dy.exact(), wanted.data(), nullptr, l.window, c.groups);
  d.x.values = absolute(d.x.values), d.dy.values = absolute(d.dy.values);
  plain::conv2d_backward_weights<double>(d.x.exact(), d.dy.exact(), size.data(), nullptr, l.window, c.groups);
  check_within({gradient.data(), gradient.data() + gradient.size()}, wanted, size,
               roundings(static_cast<double>(l.batch * l.out().area())));
}

}  // namespace

TEST_CASE("depthwise convolutions against double, with every instruction set", "[native]") {
  for (auto set : instruction_sets()) {
    native_cpu::kernels const& k = native_cpu::kernels_of(set);
    for (layer const& l : layers) {
      INFO(host::name_of(set) << ", " << l.batch << " pictures of " << l.in.channels << "x" << l.in.height << "x"
                              << l.in.width << ", " << l.multiplier << " filters each, " << l.window.height << "x"
                              << l.window.width << ", stride " << l.window.stride << "x" << l.window.columns().stride
                              << ", dilation " << l.window.row_dilation << "x" << l.window.column_dilation);
      for (bool relu : {false, true}) check_forward(l, k, relu);
      for (bool accumulate : {false, true}) check_data(l, k, accumulate);
      check_weights(l, k);
    }
  }
}

TEST_CASE("groups are cut into slices of whole channel blocks, and a rest", "[native]") {
  auto const slices = [](int in, int out, int groups, int lanes) {
    std::vector<std::vector<int>> all;
    for (native_cpu::group_slices const& s : native_cpu::slices_of({1, {in, 4, 4}, {out, 4, 4}, {}, groups}, lanes))
      all.push_back({s.first_in, s.first_out, s.count, s.groups, s.in, s.out});
    return all;
  };
  using table = std::vector<std::vector<int>>;
  CHECK(slices(20, 30, 1, 16) == table{{0, 0, 1, 1, 20, 30}});
  CHECK(slices(64, 128, 2, 16) == table{{0, 0, 2, 1, 32, 64}});
  CHECK(slices(128, 128, 32, 16) == table{{0, 0, 8, 4, 16, 16}});
  CHECK(slices(120, 120, 5, 16) == table{{0, 0, 2, 2, 48, 48}, {96, 96, 1, 1, 24, 24}});
  CHECK(slices(6, 9, 3, 8) == table{{0, 0, 1, 3, 6, 9}});

  native_cpu::group_slices const s{8, 6, 1, 2, 4, 6};  // 2 groups of 2 channels and 3 filters
  CHECK(native_cpu::parameter_offset(s, 0, 1) == 12);
  std::vector<float> part(12), dense(24, -1.0F), back(12);
  for (std::size_t i = 0; i < part.size(); ++i) part[i] = static_cast<float>(i + 1);
  native_cpu::spread_kernel(s, 1, part.data(), dense.data());
  CHECK(dense == std::vector<float>{1, 2, 0, 0, 3, 4, 0, 0, 5, 6, 0, 0, 0, 0, 7, 8, 0, 0, 9, 10, 0, 0, 11, 12});
  native_cpu::collect_kernel(s, 1, dense.data(), back.data());
  CHECK(back == part);
}
