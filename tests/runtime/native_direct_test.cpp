// SPDX-License-Identifier: MIT
// Compares the native executor's direct convolutions with plain loops in double, with every instruction set of this
// processor. All memory ends at a page that cannot be accessed.
#include "support/native_convolutions.hpp"

using namespace dsl;
using namespace dsl::test;

namespace {

struct layer {
  int batch;
  shape in;
  int filters;
  dsl::window window;
  shape out() const {
    auto const size = [](int from, window_side const& s) { return (from + 2 * s.before - s.span()) / s.stride + 1; };
    return {filters, size(in.height, window.rows()), size(in.width, window.columns())};
  }
  native_cpu::convolution convolution() const { return {batch, in, out(), window}; }
};

// {height, width, stride, top, left, column stride or 0, row dilation, column dilation}
layer const layers[] = {
    {2, {16, 5, 7}, 32, {1, 1, 1, 0, 0}},
    {1, {20, 7, 7}, 24, {1, 1, 1, 0, 0}},
    {3, {8, 6, 5}, 5, {3, 3, 1, 1, 1}},
    {2, {33, 9, 8}, 17, {3, 3, 2, 0, 0}},
    {2, {16, 8, 8}, 48, {3, 3, 2, 1, 1}},
    {1, {5, 11, 6}, 16, {5, 4, 3, 2, 0}},
    {2, {16, 4, 4}, 16, {1, 1, 2, 0, 0}},
    {5, {4, 3, 3}, 3, {3, 3, 1, 2, 2}},
    {1, {64, 32, 31}, 80, {1, 1, 1, 0, 0}},
    {2, {18, 2, 9}, 33, {1, 7, 1, 0, 3}},
    {1, {3, 40, 3}, 7, {7, 1, 4, 3, 0}},
    {9, {16, 1, 1}, 10, {1, 1, 1, 0, 0}},
    {1, {2, 70, 70}, 112, {3, 3, 1, 1, 1}},
    {2, {7, 3, 4}, 20, {2, 2, 3, 0, 0}},
    {2, {16, 9, 8}, 17, {3, 3, 2, 1, 1, 1}},
    {1, {5, 7, 11}, 16, {2, 3, 1, 0, 1, 3}},
    {2, {9, 9, 8}, 20, {3, 3, 1, 2, 2, 0, 2, 2}},
    {1, {16, 7, 7}, 33, {3, 3, 1, 9, 9, 0, 9, 9}},
    {2, {3, 11, 10}, 7, {3, 2, 2, 3, 0, 0, 3, 1}},
    {1, {17, 12, 13}, 5, {2, 3, 3, 0, 2, 2, 4, 6}},
    {2, {8, 12, 9}, 6, {3, 3, 2, 4, 0, 1, 2, 4}},
    {1, {600, 9, 8}, 18, {3, 3, 1, 4, 4, 0, 4, 4}},
    {1, {300, 23, 9}, 4, {3, 3, 3, 6, 2, 1, 8, 2}},
    {2, {16, 3, 1}, 20, {2, 2, 2, 0, 1, 1, 1, 2}},  // no element of the kernel meets a pixel
};

/// Returns the bound: a sum of n rounded products is off by at most about n roundings of the sum of their magnitudes.
double roundings(double terms) { return (terms + 2) * 0x1p-24; }

struct data {
  block_tensor x, dy;
  numbers kernel, bias;
  std::vector<float> kernel_floats;

  data(layer const& l, int lanes, bool plain)
      : x(l.batch, l.in, plain ? 1 : lanes), dy(l.batch, l.out(), lanes, lanes, lanes) {
    x.draw(1), dy.draw(2);
    block_tensor k(1, {l.filters * l.in.channels, l.window.height, l.window.width}, 1), b(1, {l.filters, 1, 1}, 1);
    k.draw(3), b.draw(4);
    kernel = k.values, bias = b.values;
    kernel_floats = k.found();
  }
};

void check_forward(layer const& l, native_cpu::kernels const& k, bool plain, bool relu, int threads) {
  data d(l, k.lanes, plain);
  native_cpu::convolution const c = l.convolution();
  native_cpu::direct_pass const pass(k, c, native_cpu::forward_gathering(c, plain), false, plain, threads);
  guarded_floats packed(pass.packed()), scratch(pass.scratch()),
      bias(native_cpu::blocks_of(l.filters, k.lanes) * k.lanes);
  for (int i = 0; i < pass.pack_items(); ++i) pass.pack(i, d.kernel_floats.data(), packed.data());
  for (int o = 0; o < bias.size(); ++o)
    bias[o] = o < l.filters ? static_cast<float>(d.bias[static_cast<std::size_t>(o)]) : 0;
  block_tensor y(l.batch, l.out(), k.lanes, k.lanes, k.lanes), size(l.batch, l.out(), k.lanes);
  for (int i = 0; i < pass.items(); ++i)
    pass.run(i, d.x.read(), packed.data(), bias.data(), y.floats(), false, relu, scratch.data(), nullptr);
  plain::conv2d_forward<double>(d.x.exact(), d.kernel.data(), d.bias.data(), y.result(), l.window);
  if (relu)
    for (double& v : y.values) v = v < 0 ? 0 : v;
  numbers const kernel = absolute(d.kernel), b = absolute(d.bias), x = absolute(d.x.values);
  d.x.values = x;
  plain::conv2d_forward<double>(d.x.exact(), kernel.data(), b.data(), size.result(), l.window);
  check_within(y.found(), y.values, size.values, roundings(l.in.channels * l.window.height * l.window.width + 1));
  CHECK(y.others_are_untouched());
}

void check_data(layer const& l, native_cpu::kernels const& k, bool accumulate, int threads) {
  data d(l, k.lanes, false);
  native_cpu::convolution const c = l.convolution();
  block_tensor dx(l.batch, l.in, k.lanes, 0, k.lanes), size(l.batch, l.in, k.lanes);
  if (accumulate) dx.draw(9);
  for (int a = 0; a < l.window.rows().stride; ++a)
    for (int b = 0; b < l.window.columns().stride; ++b) {
      native_cpu::direct_pass const pass(k, c, native_cpu::data_gathering(c, a, b), true, false, threads);
      guarded_floats packed(pass.packed()), scratch(pass.scratch());
      for (int i = 0; i < pass.pack_items(); ++i) pass.pack(i, d.kernel_floats.data(), packed.data());
      for (int i = 0; i < pass.items(); ++i)
        pass.run(i, d.dy.read(), packed.data(), nullptr, dx.floats(), accumulate, false, scratch.data(), nullptr);
    }
  if (accumulate) size.values = absolute(dx.values);
  plain::conv2d_backward_data<double>(d.dy.exact(), d.kernel.data(), dx.result(), l.window, accumulate);
  numbers const kernel = absolute(d.kernel);
  d.dy.values = absolute(d.dy.values);
  plain::conv2d_backward_data<double>(d.dy.exact(), kernel.data(), size.result(), l.window, accumulate);
  check_within(dx.found(), dx.values, size.values, roundings(l.filters * l.window.height * l.window.width + 1));
  CHECK(dx.others_are_untouched());
}

std::vector<float> weights(layer const& l, native_cpu::kernels const& k, bool plain, int threads, data const& d) {
  native_cpu::direct_weights const pass(k, l.convolution(), plain, threads);
  guarded_floats sums(pass.sums()), scratch(pass.scratch()), gradient(static_cast<long long>(d.kernel.size()));
  for (int i = pass.items(); i-- > 0;) pass.run(i, d.x.read(), d.dy.read(), sums.data(), scratch.data());
  for (int i = pass.finish_items(); i-- > 0;) pass.finish(i, sums.data(), gradient.data());
  return {gradient.data(), gradient.data() + gradient.size()};
}

void check_weights(layer const& l, native_cpu::kernels const& k, bool plain) {
  data d(l, k.lanes, plain);
  numbers wanted(d.kernel.size()), size(d.kernel.size()), bias(d.bias.size()), bias_size(d.bias.size());
  auto const found = weights(l, k, plain, 1, d);
  std::vector<float> found_bias(d.bias.size());
  for (int i = 0; i < native_cpu::blocks_of(l.filters, k.lanes); ++i)
    native_cpu::bias_gradient(i, d.dy.read(), found_bias.data());
  plain::conv2d_backward_weights<double>(d.x.exact(), d.dy.exact(), wanted.data(), bias.data(), l.window);
  for (int threads : {2, 3, 4, 7, 16}) {
    auto const again = weights(l, k, plain, threads, d);
    CHECK(std::memcmp(found.data(), again.data(), found.size() * sizeof(float)) == 0);
  }
  d.x.values = absolute(d.x.values), d.dy.values = absolute(d.dy.values);
  plain::conv2d_backward_weights<double>(d.x.exact(), d.dy.exact(), size.data(), bias_size.data(), l.window);
  check_within(found, wanted, size, roundings(static_cast<double>(l.batch * l.out().area()) + 4));
  check_within(found_bias, bias, bias_size, 0x1.01p-24);
}

}  // namespace

TEST_CASE("direct convolutions against double, with every instruction set", "[native]") {
  for (auto set : instruction_sets()) {
    native_cpu::kernels const& k = native_cpu::kernels_of(set);
    for (layer const& l : layers) {
      INFO(host::name_of(set) << ", " << l.batch << " pictures of " << l.in.channels << "x" << l.in.height << "x"
                              << l.in.width << ", " << l.filters << " filters " << l.window.height << "x"
                              << l.window.width << ", stride " << l.window.stride << "x" << l.window.columns().stride
                              << ", dilation " << l.window.row_dilation << "x" << l.window.column_dilation);
      for (bool relu : {false, true}) {
        check_forward(l, k, false, relu, relu ? 1 : 4);
        if (l.in.channels < 16) check_forward(l, k, true, relu, relu ? 1 : 4);
      }
      for (bool accumulate : {false, true}) check_data(l, k, accumulate, accumulate ? 1 : 4);
      check_weights(l, k, false);
      if (l.in.channels < 16) check_weights(l, k, true);
    }
  }
}

TEST_CASE("blocks of pixels are divided into groups of output channels if there are few", "[native]") {
  using native_cpu::output_groups;
  CHECK(output_groups(1, 5, 1, true) == 1);  // one thread copies the input once
  CHECK(output_groups(1, 5, 2, true) == 2);
  CHECK(output_groups(1, 3, 16, true) == 3);  // there are no more tiles of columns
  CHECK(output_groups(3, 8, 2, true) == 2);   // 6 items for 2 threads
  CHECK(output_groups(4, 8, 2, true) == 1);
  CHECK(output_groups(9, 8, 2, true) == 1);  // 9 items: at most a ninth is lost
  CHECK(output_groups(4, 8, 16, true) == 4);
  CHECK(output_groups(1, 20, 4, false) == 16);  // groups cost nothing, and balance the threads
  CHECK(output_groups(100, 8, 4, false) == 1);
}

TEST_CASE("a sample's result does not depend on its neighbours in the batch", "[native]") {
  for (auto set : instruction_sets()) {
    native_cpu::kernels const& k = native_cpu::kernels_of(set);
    layer const many{5, {20, 9, 9}, 40, {3, 3, 2, 1, 1}};
    layer const one{1, many.in, many.filters, many.window};
    data const d(many, k.lanes, false);
    auto const run = [&](layer const& l, view<float const> const& x, block_tensor const& y) {
      native_cpu::convolution const c = l.convolution();
      native_cpu::direct_pass const pass(k, c, native_cpu::forward_gathering(c, false), false, false,
                                         l.batch == 1 ? 7 : 1);
      guarded_floats packed(pass.packed()), scratch(pass.scratch());
      for (int i = 0; i < pass.pack_items(); ++i) pass.pack(i, d.kernel_floats.data(), packed.data());
      for (int i = pass.items(); i-- > 0;)
        pass.run(i, x, packed.data(), nullptr, y.floats(), false, false, scratch.data(), nullptr);
      return y.found();
    };
    auto const all = run(many, d.x.read(), block_tensor(many.batch, many.out(), k.lanes));
    for (int n = 0; n < many.batch; ++n) {
      view<float const> x = d.x.read();
      x.data += 1LL * n * x.buffer_channels * x.shape.area(), x.batch = 1;
      auto const alone = run(one, x, block_tensor(1, one.out(), k.lanes));
      CHECK(std::memcmp(alone.data(), all.data() + static_cast<std::size_t>(n) * alone.size(),
                        alone.size() * sizeof(float)) == 0);
    }
  }
}
