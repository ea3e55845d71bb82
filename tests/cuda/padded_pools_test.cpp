// SPDX-License-Identifier: MIT
// Pools with padding, ceil_mode and different strides for rows and columns: the kernels, compiled as C++, against the
// plain loops in double; whole networks on the simulated device; NVRTC.
#include <dsl/executors/cuda/nvrtc.hpp>
#include <dsl/executors/host/operations.hpp>

#include <limits>

#include "support/catch.hpp"
#include "support/gpu/pools.hpp"
#include "support/kernels_of_plan.hpp"
#include "support/run_kernel.hpp"
#include "support/simulated_device/simulated_device.hpp"

using namespace dsl_test;
namespace kernels = dsl::cu::kernels;
using dsl::cu::slice;

namespace {

/// A pool of a batch: the windows, the shapes of a sample before and after it, and the places in the buffers.
struct pool {
  int batch;
  dsl::shape in, out;
  dsl::window w;
  slice x, y;
};
// In each pool at least one window leaves the image, at another side.
pool const pools[] = {
    {2, {16, 9, 8}, {16, 5, 4}, {3, 3, 2, 1, 1}, {16}, {48, 16}},    // all sides but the right one
    {1, {3, 5, 7}, {3, 3, 4}, {2, 2, 2}, {8, 5}, {4, 1}},            // ceil_mode
    {3, {8, 6, 9}, {8, 6, 5}, {3, 2, 1, 1, 1, 2}, {8}, {8}},         // strides 1 and 2
    {2, {12, 7, 5}, {12, 3, 6}, {3, 2, 3, 2, 1, 1}, {24, 4}, {12}},  // strides 3 and 1; only one row of the first
    {1, {5, 4, 4}, {5, 2, 2}, {4, 4, 3, 1, 2}, {5}, {7, 1}},         // windows as large as the image
    {1, {8, 18, 17}, {8, 3, 3}, {17, 16, 2, 2, 1}, {8}, {16, 8}},    // positions of two bytes
    {2, {1, 1, 9}, {1, 1, 5}, {1, 3, 1, 0, 1, 2}, {2, 1}, {1}},      // a sequence
    {1, {8, 8, 8}, {8, 3, 4}, {2, 2, 3, 0, 0, 2}, {8}, {8}},         // only strides differ; nothing is padded
};

dsl::host::bound_step<double> plain(dsl::node const& n, dsl::host::argmax_view const& places,
                                    dsl::view<double> const& to, bool accumulate = false) {
  dsl::host::bound_step<double> b;
  b.node = &n, b.argmax = places, b.to = to, b.accumulate = accumulate;
  return b;
}
void plain_forward(dsl::node const& n, dsl::view<double const> const& x, dsl::host::argmax_view const& places,
                   dsl::view<double> const& y) {
  auto b = plain(n, places, y);
  b.x = x;
  dsl::plain::loops_of<double>(n.kind).forward(b, {});
}
void plain_backward(dsl::node const& n, dsl::view<double const> const& dy, dsl::host::argmax_view const& places,
                    dsl::view<double> const& dx, bool accumulate) {
  auto b = plain(n, places, dx, accumulate);
  b.dy = dy;
  dsl::plain::loops_of<double>(n.kind).backward(b, {});
}

}  // namespace

TEMPLATE_TEST_CASE("max pools with padding and their gradients", "[kernels]", float, bf16) {
  constexpr auto storage = storage_of<TestType>;
  // Padding would be found if it were 0, since all values are negative.
  for (double const high : {-0.5, 2.0})
    for (auto const& [batch, in, out, w, x_place, y_place] : pools) {
      INFO(w.height << "x" << w.width << " on " << in.channels << "x" << in.height << "x" << in.width);
      dsl::node const n{.kind = dsl::op::max_pool2d, .window = w};
      tensor<TestType> x(batch, in, x_place, -2, high), y(batch, out, y_place), again(batch, out, y_place);
      auto const windows = static_cast<std::size_t>(batch * out.size());
      std::vector<std::uint16_t> places(windows + 8), found(windows + 8);
      dsl::host::argmax_view wanted;
      if (kernels::argmax_bytes(w) == 1)
        wanted.narrow = {reinterpret_cast<std::uint8_t*>(places.data()), out, batch, out.channels, out.channels, 0};
      else
        wanted.wide = {places.data(), out, batch, out.channels, out.channels, 0};
      run(kernels::max_pool2d_forward(storage, batch, in, out, w, x_place, y_place, true), x.data(), y.data(),
          static_cast<void*>(found.data()));
      plain_forward(n, x.read(), wanted, y.wanted());
      y.check(0);
      CHECK(found == places);
      run(kernels::max_pool2d_forward(storage, batch, in, out, w, x_place, y_place, false), x.data(), again.data(),
          static_cast<void*>(nullptr));
      plain_forward(n, x.read(), {}, again.wanted());
      again.check(0);
      for (bool const accumulate : {false, true}) {
        tensor<TestType> dy(batch, out, y_place), dx(batch, in, x_place);
        run(kernels::max_pool2d_backward(storage, batch, in, out, w, x_place, y_place, accumulate), dy.data(),
            static_cast<void const*>(found.data()), dx.data());
        plain_backward(n, dy.read(), wanted, dx.wanted(), accumulate);
        dx.check();
      }
    }
}

TEMPLATE_TEST_CASE("average pools with padding and their gradients, with both divisors", "[kernels]", float, bf16) {
  constexpr auto storage = storage_of<TestType>;
  for (bool const counts : {true, false})
    for (auto const& [batch, in, out, w, x_place, y_place] : pools) {
      INFO(w.height << "x" << w.width << " on " << in.channels << "x" << in.height << "x" << in.width << ", padding "
                    << (counts ? "counts" : "does not count"));
      dsl::node const n{.kind = dsl::op::avg_pool2d, .window = w, .counts_padding = counts};
      tensor<TestType> x(batch, in, x_place), y(batch, out, y_place);
      run(kernels::avg_pool2d_forward(storage, batch, in, out, w, counts, x_place, y_place), x.data(), y.data());
      plain_forward(n, x.read(), {}, y.wanted());
      y.check();
      for (bool const accumulate : {false, true}) {
        tensor<TestType> dy(batch, out, y_place), dx(batch, in, x_place);
        run(kernels::avg_pool2d_backward(storage, batch, in, out, w, counts, x_place, y_place, accumulate), dy.data(),
            dx.data());
        plain_backward(n, dy.read(), {}, dx.wanted(), accumulate);
        dx.check();
      }
    }
}

TEMPLATE_TEST_CASE("the maximum of equal values is the first on the image, and a NaN in a padded window is found",
                   "[kernels]", float, bf16) {
  dsl::window const w{3, 3, 2, 1, 1};
  dsl::shape const in{8, 3, 3}, out{8, 2, 2};
  double const low = -std::numeric_limits<double>::infinity();
  for (double const value : {0.25, low, std::nan("")}) {
    INFO("value " << value);
    tensor<TestType> x(1, in, {8}), y(1, out, {8});
    x.fill([&](int, int, long long) { return value; });
    std::uint8_t found[4 * 8] = {}, places[4 * 8] = {};
    run(kernels::max_pool2d_forward(storage_of<TestType>, 1, in, out, w, {8}, {8}, true), x.data(), y.data(),
        static_cast<void*>(found));
    dsl::host::argmax_view wanted;
    wanted.narrow = {places, out, 1, 8, 8, 0};
    plain_forward({.kind = dsl::op::max_pool2d, .window = w}, x.read(), wanted, y.wanted());
    CHECK(std::equal(found, found + 4 * 8, places));
    for (auto const v : y.values) {
      double const maximum = static_cast<double>(value_of(v));
      CHECK((std::isnan(value) ? std::isnan(maximum) : maximum == value));
    }
  }
}

TEST_CASE("only pools that leave the image have windows that do not", "[kernels]") {
  auto const padded = [](dsl::shape const& in, dsl::shape const& out, dsl::window const& w) {
    return kernels::detail::leaves_image(w, in, out);
  };
  CHECK_FALSE(padded({8, 9, 9}, {8, 4, 4}, {3, 3, 2}));
  CHECK_FALSE(padded({8, 8, 8}, {8, 3, 4}, {2, 2, 3, 0, 0, 2}));
  CHECK(padded({8, 9, 9}, {8, 5, 5}, {3, 3, 2, 1, 1}));
  CHECK(padded({8, 8, 9}, {8, 4, 4}, {3, 3, 2}));           // below
  CHECK(padded({8, 9, 8}, {8, 4, 4}, {3, 3, 2}));           // right
  CHECK(padded({8, 9, 8}, {8, 4, 8}, {3, 3, 2, 0, 0, 1}));  // right, with strides 2 and 1
  CHECK(padded({8, 9, 9}, {8, 4, 4}, {3, 3, 2, 0, 1}));     // left
}

TEST_CASE("cuda agrees with reference: pools with padding, ceil_mode and different strides", "[cuda]") {
  add_all_kernels();
  simulated_device device({.seed = 4});
  dsl::test::ledger l;
  dsl::test::check_pools({.calls = device.api(), .workspace_limit = 1 << 18}, l);
  CHECK(l.findings().size() == 2 * 2 * 5);
  for (auto const& f : l.findings()) {
    INFO(f.what << ": measured " << f.measured << ", bound " << f.bound << " " << f.note);
    CHECK(f.is == dsl::test::finding::verdict::good);
  }
  CHECK(device.report() == "");
}

TEST_CASE("NVRTC compiles pools with padding", "[nvrtc]") {
  using enum dsl::cu::storage;
  for (auto const& [t, architecture] :
       {std::pair{bf16, "sm_80"}, std::pair{bf16, "sm_90a"}, std::pair{f32, "sm_100"}}) {
    std::vector<dsl::cu::any_kernel> specs;
    for (auto const& view : {dsl::test::padded_pools::view(), dsl::test::odd_padded_pools::view()}) {
      kernels_of_plan all(view, t);
      for (dsl::mode m : {dsl::mode::training, dsl::mode::inference}) all.add_plan(m, 4, false);
      for (auto const& s : all.all())
        if (s.function.find("_pool2d_") != std::string_view::npos) specs.push_back(s);
    }
    CHECK(specs.size() > 20);
    std::string const code = dsl::cu::compile({}, dsl::cu::program_text(specs), architecture);
    for (std::size_t k = 0; k < specs.size(); ++k)
      CHECK(code.find("\0.text.k" + std::to_string(k) + '\0') != std::string::npos);
  }
}
