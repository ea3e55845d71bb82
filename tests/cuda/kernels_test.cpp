// SPDX-License-Identifier: MIT
// Compares every kernel, compiled as C++ from the text that NVRTC gets, with the plain loops in double: odd channels,
// slices, accumulation, batch 1, both storages. Batch_norm is in batch_norm_kernels_test.cpp; input and update, whose
// bits are fixed, are in exact_kernels_test.cpp.
#include <dsl/executors/cuda/kernels/source.hpp>
#include <dsl/executors/host/loss.hpp>
#include <dsl/executors/host/operations.hpp>

#include <set>
#include <string_view>

#include "support/all_functions.hpp"
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
// The first two allow 16-byte accesses in both storages; one does for float only.
geometry const geometries[] = {
    {2, {16, 4, 5}, {16}, {48, 16}, {16}},   {3, {40, 1, 1}, {40}, {40}, {64, 24}},
    {2, {12, 3, 3}, {24, 4}, {12}, {20, 8}}, {1, {3, 5, 7}, {3}, {8, 5}, {4, 1}},
    {2, {16, 2, 2}, {20, 4}, {17, 1}, {16}}, {5, {1, 1, 1}, {1}, {3, 2}, {2, 1}},
};

/// Computes a pool's output and gradient with the plain loops.
void plain_pool(dsl::op kind, dsl::window const& w, dsl::view<double const> const& x,
                dsl::host::argmax_view const& places, dsl::view<double> const& y) {
  dsl::node const n{.kind = kind, .window = w};
  dsl::host::bound_step<double> b;
  b.node = &n, b.x = x, b.argmax = places, b.to = y;
  dsl::plain::loops_of<double>(kind).forward(b, {});
}
void plain_pool_backward(dsl::op kind, dsl::window const& w, dsl::view<double const> const& dy,
                         dsl::host::argmax_view const& places, dsl::view<double> const& dx, bool accumulate) {
  dsl::node const n{.kind = kind, .window = w};
  dsl::host::bound_step<double> b;
  b.node = &n, b.dy = dy, b.argmax = places, b.to = dx, b.accumulate = accumulate;
  dsl::plain::loops_of<double>(kind).backward(b, {});
}

}  // namespace

TEST_CASE("every kernel of the text is known on the host, in both storages", "[kernels]") {
  add_all_kernels();
  std::set<std::string> found;
  for (auto const& file : dsl::cu::kernel_sources()) {
    std::string_view text = file.text;
    for (std::size_t at; (at = text.find("\nKERNEL void ")) != std::string_view::npos;) {
      text.remove_prefix(at + 13);
      found.emplace(text.substr(0, text.find('(')));
    }
  }
  CHECK(found.size() > 30);
  for (auto const& name : found)
    for (char const* storage : {"bf16", "float"}) {
      INFO(name << "<" << storage << ">");
      CHECK(simulated::all_kernels().count({name, storage}) == 1);
    }
  CHECK_THROWS_AS(dsl::cu::signature_of("nothing"), dsl::executor_error);
}

TEST_CASE("bf16 rounds to nearest, ties to even", "[kernels]") {
  auto const rounded = [](float x) { return value_of(stored<bf16>(static_cast<double>(x))); };
  CHECK(rounded(1.0F) == 1.0F);
  CHECK(rounded(1.0F + 0x1p-8F) == 1.0F);
  CHECK(rounded(1.0F + 0x1.8p-7F) == 1.0F + 0x1p-6F);
  CHECK(rounded(1.0F + 0x1.02p-8F) == 1.0F + 0x1p-7F);
  CHECK(rounded(-3.4e38F) == -std::numeric_limits<float>::infinity());
  CHECK(rounded(0x1p-133F) == 0x1p-133F);
  CHECK(std::isnan(rounded(std::nanf(""))));
}

TEMPLATE_TEST_CASE("sum and copy", "[kernels]", float, bf16) {
  for (auto const& g : geometries)
    for (bool const accumulate : {false, true}) {
      tensor<TestType> a(g.batch, g.shape, g.x), b(g.batch, g.shape, g.z), y(g.batch, g.shape, g.y);
      kernels::sum_inputs const in{{elements(a.data()), elements(b.data())}};
      slice const places[] = {g.x, g.z};
      run(kernels::sum(storage_of<TestType>, a.pixels(), g.shape.channels, places, g.y, accumulate), in, y.data());
      dsl::plain::copy<double>(a.read(), y.wanted(), accumulate);
      dsl::plain::copy<double>(b.read(), y.wanted(), true);
      y.check();
      tensor<TestType> z(g.batch, g.shape, g.z);
      run(kernels::copy(storage_of<TestType>, a.pixels(), g.shape.channels, g.x, g.z, accumulate), in, z.data());
      dsl::plain::copy<double>(a.read(), z.wanted(), accumulate);
      z.check();
    }
}

TEST_CASE("a sum takes 1 to 8 inputs and no more values than an int counts", "[kernels]") {
  std::vector<slice> const many(9, slice{4});
  CHECK_THROWS_AS(kernels::sum(dsl::cu::storage::f32, 1, 4, many, {4}, false), dsl::executor_error);
  CHECK_THROWS_AS(kernels::sum(dsl::cu::storage::f32, 1, 4, {}, {4}, false), dsl::executor_error);
  CHECK_THROWS_AS(kernels::copy(dsl::cu::storage::f32, 1'000'000'000, 12, {12}, {12}, false), dsl::executor_error);
  tensor<float> a(2, {4, 2, 2}), y(2, {4, 2, 2});
  kernels::sum_inputs in{};
  for (auto& x : in.x) x = elements(a.data());
  std::vector<slice> const eight(8, slice{4});
  run(kernels::sum(dsl::cu::storage::f32, 8, 4, eight, {4}, false), in, y.data());
  for (std::size_t i = 0; i < y.values.size(); ++i) CHECK(y.values[i] == approx(8 * a.values[i]));
}

TEMPLATE_TEST_CASE("reshape keeps the order (channel, row, column)", "[kernels]", float, bf16) {
  for (auto const& g : geometries)
    for (bool const accumulate : {false, true}) {
      int const all = static_cast<int>(g.shape.size());
      tensor<TestType> x(g.batch, g.shape, g.x), y(g.batch, {all, 1, 1}, {all + 3, 2});
      run(kernels::reshape(storage_of<TestType>, g.batch, x.shape, y.shape, x.place, y.place, accumulate), x.data(),
          y.data());
      dsl::plain::reshape<double>(x.read(), y.wanted(), accumulate);
      y.check();
      tensor<TestType> flat(g.batch, y.shape, y.place);
      run(kernels::reshape(storage_of<TestType>, g.batch, y.shape, x.shape, y.place, x.place, accumulate), flat.data(),
          x.data());
      dsl::plain::reshape<double>(flat.read(), x.wanted(), accumulate);
      x.check();
    }
}

TEMPLATE_TEST_CASE("activations and their gradients", "[kernels]", float, bf16) {
  for (dsl::function const f : dsl::test::all_functions())
    for (auto const& g : geometries) {
      INFO("function " << static_cast<int>(f) << ", " << g.shape.channels << " channels");
      double const alpha = f == dsl::function::leaky_relu ? 0.25 : 1.5;
      tensor<TestType> x(g.batch, g.shape, g.x), y(g.batch, g.shape, g.y), dy(g.batch, g.shape, g.y);
      run(kernels::activation_forward(storage_of<TestType>, x.pixels(), g.shape.channels, f, alpha, g.x, g.y), x.data(),
          y.data());
      dsl::plain::activation_forward<double>(x.read(), y.wanted(), f, alpha);
      y.check();
      for (bool const accumulate : {false, true}) {
        tensor<TestType> from(g.batch, g.shape, g.x), dx(g.batch, g.shape, g.z);
        run(kernels::activation_backward(storage_of<TestType>, x.pixels(), g.shape.channels, f, alpha, g.x, g.y, g.z,
                                         accumulate),
            from.data(), dy.data(), dx.data());
        dsl::plain::activation_backward<double>(from.read(), dy.read(), dx.wanted(), f, alpha, accumulate);
        dx.check();
      }
      // In place, as in plans.
      run(kernels::activation_forward(storage_of<TestType>, x.pixels(), g.shape.channels, f, alpha, g.x, g.x), x.data(),
          x.data());
      dsl::plain::activation_forward<double>(x.read(), x.wanted(), f, alpha);
      x.check();
    }
}

TEST_CASE("activations of large numbers, infinity and NaN are the CPU's", "[kernels]") {
  float const inputs[] = {-1e30F, -200, -88, -20, -6,  -3,    -1e-8F,    0,          1e-8F,
                          3,      6,    20,  88,  200, 1e30F, HUGE_VALF, -HUGE_VALF, std::nanf("")};
  int const count = static_cast<int>(std::size(inputs));
  for (dsl::function const f : dsl::test::all_functions()) {
    std::vector<float> y(std::size(inputs)), dx(std::size(inputs)), one(std::size(inputs), 1.0F);
    run(kernels::activation_forward(dsl::cu::storage::f32, count, 1, f, 0.5, {1}, {1}), inputs, y.data());
    bool const from_output =
        contains(dsl::operations::activations[static_cast<int>(f)].reads[0], dsl::operations::values::output);
    float const* const from = from_output ? y.data() : inputs;
    run(kernels::activation_backward(dsl::cu::storage::f32, count, 1, f, 0.5, {1}, {1}, {1}, false), from, one.data(),
        dx.data());
    for (std::size_t i = 0; i < y.size(); ++i) {
      INFO("function " << static_cast<int>(f) << " of " << inputs[i]);
      double const wanted = dsl::plain::apply(f, static_cast<float>(inputs[i]), 0.5F);
      double const slope = dsl::plain::derivative(f, from[i], from[i], 0.5F);
      if (std::isnan(wanted))
        CHECK(std::isnan(y[i]));
      else
        CHECK(static_cast<double>(y[i]) == approx(wanted));
      if (std::isnan(slope))
        CHECK(std::isnan(dx[i]));
      else
        CHECK(static_cast<double>(dx[i]) == approx(slope));
    }
  }
}

TEMPLATE_TEST_CASE("dropout draws what the CPU draws", "[kernels]", float, bf16) {
  for (auto const& g : geometries)
    for (bool const accumulate : {false, true}) {
      dsl::cu::step_state state{.step = 0x300000005u, .seed = 0x9999888877776666u};
      tensor<TestType> x(g.batch, g.shape, g.x, 1, 2), y(g.batch, g.shape, g.y);
      run(kernels::dropout(storage_of<TestType>, g.batch, g.shape, 0.375, 21, g.x, g.y, accumulate), x.data(), y.data(),
          &state);
      dsl::dropout_draw const draw{state.seed, state.step, 21, 0.375F};
      dsl::plain::dropout<double>(x.read(), y.wanted(), draw, 0, accumulate);
      y.check();
    }
  // The second half of a batch, drawn on another device.
  tensor<TestType> x(4, {6, 2, 2}), whole(4, {6, 2, 2}), half(2, {6, 2, 2});
  dsl::cu::step_state state{.step = 7, .seed = 1};
  run(kernels::dropout(storage_of<TestType>, 4, {6, 2, 2}, 0.5, 3, {6}, {6}, false), x.data(), whole.data(), &state);
  state.first_sample = 2;
  run(kernels::dropout(storage_of<TestType>, 2, {6, 2, 2}, 0.5, 3, {6}, {6}, false), x.data() + 48, half.data(),
      &state);
  for (std::size_t i = 0; i < 48; ++i) CHECK(value_of(half.values[i]) == value_of(whole.values[48 + i]));
}

TEMPLATE_TEST_CASE("bias and casts", "[kernels]", float, bf16) {
  for (auto const& g : geometries)
    for (bool const relu : {false, true}) {
      tensor<TestType> y(g.batch, g.shape, g.y);
      numbers bias(g.shape.channels, -1, 1);
      run(kernels::add_bias(storage_of<TestType>, y.pixels(), g.shape.channels, g.y, relu), bias.data(), y.data());
      dsl::plain::for_each_channel(y.wanted(), [&](int n, int c) {
        for (long long i = 0; i < g.shape.area(); ++i) {
          double& v = y.wanted()(n, c, i);
          v += bias.expected[static_cast<std::size_t>(c)];
          if (relu && v < 0) v = 0;
        }
      });
      y.check();
    }
  for (int const count : {1, 7, 8, 333, 1024}) {
    numbers from(count, -5, 5), back(count, 0, 1);
    std::vector<TestType> to(static_cast<std::size_t>(count));
    run(kernels::narrow(storage_of<TestType>, count), from.data(), to.data());
    run(kernels::widen(storage_of<TestType>, count), to.data(), back.data());
    for (std::size_t i = 0; i < to.size(); ++i) {
      CHECK(value_of(to[i]) == value_of(stored<TestType>(from.expected[i])));
      CHECK(back.values[i] == value_of(to[i]));
    }
  }
}

TEMPLATE_TEST_CASE("pools and their gradients", "[kernels]", float, bf16) {
  struct pool {
    geometry g;
    dsl::window w;
  };
  pool const pools[] = {
      {{2, {16, 9, 8}, {16}, {48, 16}, {}}, {3, 3, 2}}, {{1, {3, 5, 7}, {8, 5}, {4, 1}, {}}, {2, 2, 2}},
      {{2, {8, 7, 7}, {8}, {8}, {}}, {7, 7, 1}},        {{2, {12, 6, 6}, {12}, {12}, {}}, {2, 3, 1}},
      {{1, {5, 8, 9}, {5}, {5}, {}}, {2, 2, 3}},        {{1, {8, 20, 18}, {8}, {8}, {}}, {17, 16, 1}},
      {{1, {1, 18, 17}, {2, 1}, {1}, {}}, {17, 17, 1}},
  };
  constexpr auto storage = storage_of<TestType>;
  for (auto const& [g, w] : pools) {
    dsl::shape const out{g.shape.channels, (g.shape.height - w.height) / w.stride + 1,
                         (g.shape.width - w.width) / w.stride + 1};
    INFO(w.height << "x" << w.width << " on " << g.shape.channels << "x" << g.shape.height << "x" << g.shape.width);
    tensor<TestType> x(g.batch, g.shape, g.x), y(g.batch, out, g.y), again(g.batch, out, g.y), mean(g.batch, out, g.y);
    int const bytes = kernels::argmax_bytes(w);
    auto const windows = static_cast<std::size_t>(g.batch * out.size());
    std::vector<std::uint16_t> places(windows + 8), found(windows + 8);
    dsl::host::argmax_view wanted;
    if (bytes == 1)
      wanted.narrow = {reinterpret_cast<std::uint8_t*>(places.data()), out, g.batch, out.channels, out.channels, 0};
    else
      wanted.wide = {places.data(), out, g.batch, out.channels, out.channels, 0};

    run(kernels::max_pool2d_forward(storage, g.batch, g.shape, out, w, g.x, g.y, true), x.data(), y.data(),
        static_cast<void*>(found.data()));
    plain_pool(dsl::op::max_pool2d, w, x.read(), wanted, y.wanted());
    y.check(0);
    CHECK(found == places);
    run(kernels::max_pool2d_forward(storage, g.batch, g.shape, out, w, g.x, g.y, false), x.data(), again.data(),
        nullptr);
    plain_pool(dsl::op::max_pool2d, w, x.read(), {}, again.wanted());
    again.check(0);
    run(kernels::avg_pool2d_forward(storage, g.batch, g.shape, out, w, true, g.x, g.y), x.data(), mean.data());
    plain_pool(dsl::op::avg_pool2d, w, x.read(), {}, mean.wanted());
    mean.check();
    for (bool const accumulate : {false, true}) {
      tensor<TestType> dy(g.batch, out, g.y), dx(g.batch, g.shape, g.x), dm(g.batch, g.shape, g.x);
      run(kernels::max_pool2d_backward(storage, g.batch, g.shape, out, w, g.x, g.y, accumulate), dy.data(),
          found.data(), dx.data());
      plain_pool_backward(dsl::op::max_pool2d, w, dy.read(), wanted, dx.wanted(), accumulate);
      dx.check();
      run(kernels::avg_pool2d_backward(storage, g.batch, g.shape, out, w, true, g.x, g.y, accumulate), dy.data(),
          dm.data());
      plain_pool_backward(dsl::op::avg_pool2d, w, dy.read(), {}, dm.wanted(), accumulate);
      dm.check();
    }
  }
}

TEMPLATE_TEST_CASE("a NaN anywhere in a window is what a max pool finds", "[kernels]", float, bf16) {
  for (std::size_t place = 0; place < 4; ++place) {
    INFO("place " << place);
    tensor<TestType> x(1, {8, 2, 2}, {8}), y(1, {8, 1, 1}, {8});
    for (std::size_t c = 0; c < 8; c += 2) x.values[8 * place + c] = stored<TestType>(std::nan(""));
    std::uint8_t places[8] = {};
    run(kernels::max_pool2d_forward(storage_of<TestType>, 1, {8, 2, 2}, {8, 1, 1}, {2, 2, 1}, {8}, {8}, true), x.data(),
        y.data(), static_cast<void*>(places));
    for (std::size_t c = 0; c < 8; ++c) CHECK(std::isnan(value_of(y.values[c])) == (c % 2 == 0));
    for (std::size_t c = 0; c < 8; c += 2) CHECK(places[c] == place);
  }
}

TEMPLATE_TEST_CASE("dense layers", "[kernels]", float, bf16) {
  struct layer {
    int batch, features, units;
    slice x, y;
  };
  layer const layers[] = {
      {3, 48, 10, {48}, {10}}, {1, 7, 3, {9, 1}, {5, 2}}, {2, 336, 40, {336}, {48, 8}}, {5, 1, 1, {1}, {1}}};
  constexpr auto storage = storage_of<TestType>;
  for (auto const& l : layers) {
    tensor<TestType> x(l.batch, {l.features, 1, 1}, l.x), y(l.batch, {l.units, 1, 1}, l.y);
    tensor<TestType> kernel(1, {l.units * l.features, 1, 1});
    numbers bias(l.units, -1, 1);
    run(kernels::dense_forward(storage, l.batch, l.features, l.units, l.x, l.y), x.data(), kernel.data(), bias.data(),
        y.data());
    dsl::plain::dense_forward<double>(x.read(), kernel.expected.data(), bias.wanted(), y.wanted());
    y.check();
    tensor<TestType> dy(l.batch, {l.units, 1, 1}, l.y);
    numbers dkernel(l.units * l.features, 0, 1), dbias(l.units, 0, 1);
    run(kernels::dense_backward_weights(storage, l.batch, l.features, l.units, l.x, l.y), x.data(), dy.data(),
        dkernel.data(), dbias.data());
    dsl::plain::dense_backward_weights<double>(x.read(), dy.read(), dkernel.wanted(), dbias.wanted());
    dkernel.check();
    dbias.check();
    for (bool const accumulate : {false, true}) {
      tensor<TestType> dx(l.batch, {l.features, 1, 1}, l.x);
      run(kernels::dense_backward_data(storage, l.batch, l.features, l.units, l.x, l.y, accumulate), dy.data(),
          kernel.data(), dx.data());
      dsl::plain::dense_backward_data<double>(dy.read(), kernel.expected.data(), dx.wanted(), accumulate);
      dx.check();
    }
  }
}

TEMPLATE_TEST_CASE("softmax and its gradient", "[kernels]", float, bf16) {
  for (int const channels : {1, 3, 10, 33, 300}) {
    slice const here{channels + 2, 1};
    tensor<TestType> x(3, {channels, 1, 1}, here, -60, 60), y(3, {channels, 1, 1}, here);
    run(kernels::softmax_forward(storage_of<TestType>, 3, channels, here, here), x.data(), y.data());
    dsl::plain::softmax_forward<double>(x.read(), y.wanted());
    y.check();
    for (bool const accumulate : {false, true}) {
      tensor<TestType> p(3, {channels, 1, 1}, here, 0, 1), dy(3, {channels, 1, 1}),
          dx(3, {channels, 1, 1}, {channels + 1});
      run(kernels::softmax_backward(storage_of<TestType>, 3, channels, here, dy.place, dx.place, accumulate), p.data(),
          dy.data(), dx.data());
      dsl::plain::softmax_backward<double>(p.read(), dy.read(), dx.wanted(), accumulate);
      dx.check();
    }
  }
}

TEMPLATE_TEST_CASE("losses, their metrics and gradients", "[kernels]", float, bf16) {
  constexpr auto storage = storage_of<TestType>;
  struct sizes {
    int batch;
    dsl::shape shape;
  };
  for (auto const& [batch, shape] :
       {sizes{5, {10, 1, 1}}, sizes{1, {2, 1, 1}}, sizes{70, {300, 1, 1}}, sizes{4, {3, 2, 5}}})
    for (auto const kind : {dsl::loss::categorical_crossentropy, dsl::loss::mean_squared_error})
      for (bool const from_logits : {false, true}) {
        INFO(batch << " of " << shape.size() << ", kind " << static_cast<int>(kind) << ", logits " << from_logits);
        int const outputs = static_cast<int>(shape.size());
        int const whole = batch == 5 ? 13 : batch;  // the rest is on other devices
        slice const here{shape.channels + 3, 2};
        tensor<TestType> y(batch, shape, here, 0, 1), gradient(batch, shape, {shape.channels});
        std::vector<int> labels;
        for (int n = 0; n < batch; ++n)
          labels.push_back(static_cast<int>(generator()() % static_cast<unsigned>(outputs)));
        double found[2] = {-1, -1}, wanted[2] = {};
        auto const spec = kernels::loss(storage, kind, from_logits, batch, whole, shape, here, gradient.place, true);
        meeting_place m(spec);
        for (int again = 0; again < 2; ++again)
          run(spec, y.data(), labels.data(), +found, gradient.data(), m.doubles(), m.counters());
        dsl::host::compute_loss<double>(kind, from_logits, y.read(), labels.data(), wanted, gradient.wanted(), whole);
        CHECK(found[0] == approx(wanted[0]).epsilon(1e-6));
        CHECK(found[1] == wanted[1]);
        gradient.check(1e-6);
        auto const evaluation = kernels::loss(storage, kind, from_logits, batch, batch, shape, here, {}, false);
        found[0] = 0;
        run(evaluation, y.data(), labels.data(), +found, nullptr, m.doubles(), m.counters());
        CHECK(found[0] == approx(wanted[0]).epsilon(1e-6));
        if (kind == dsl::loss::categorical_crossentropy) {
          auto const smooth =
              kernels::loss(storage, kind, from_logits, batch, whole, shape, here, gradient.place, true, 0.1);
          run(smooth, y.data(), labels.data(), +found, gradient.data(), m.doubles(), m.counters());
          double smoothed[2] = {};
          dsl::host::compute_loss<double>(kind, from_logits, y.read(), labels.data(), smoothed, gradient.wanted(),
                                          whole, false, 0.1);
          CHECK(found[0] == approx(smoothed[0]).epsilon(1e-6));
          CHECK(smoothed[0] != wanted[0]);
          CHECK(found[1] == smoothed[1]);
          gradient.check(1e-6);
        }

        if (shape.area() > 1 || !from_logits) continue;
        tensor<TestType> x(batch, shape, here, -8, 8), p(batch, shape, {outputs}), d(batch, shape, {outputs});
        auto const fused = kernels::softmax_loss(storage, kind, batch, whole, outputs, here, p.place, d.place, true);
        run(fused, x.data(), p.data(), labels.data(), +found, d.data(), m.doubles(), m.counters());
        dsl::plain::softmax_forward<double>(x.read(), p.wanted());
        dsl::host::compute_loss<double>(kind, true, p.read(), labels.data(), wanted, d.wanted(), whole);
        p.check();
        d.check(2e-5);  // p - 1 where p is close to 1
        // Such a p is rounded by 2^-24: so is its logarithm, and the square of 1 - p by 2 (1 - p) times as much.
        double const rounded = batch * 0x1p-23 * (kind == dsl::loss::mean_squared_error ? std::sqrt(wanted[0]) : 1);
        CHECK(found[0] == approx(wanted[0]).epsilon(1e-5).margin(rounded));
        CHECK(found[1] == wanted[1]);
        if (kind != dsl::loss::categorical_crossentropy) continue;
        auto const smooth =
            kernels::softmax_loss(storage, kind, batch, whole, outputs, here, p.place, d.place, true, 0.1);
        run(smooth, x.data(), p.data(), labels.data(), +found, d.data(), m.doubles(), m.counters());
        dsl::host::compute_loss<double>(kind, true, p.read(), labels.data(), wanted, d.wanted(), whole, false, 0.1);
        d.check(2e-5);
        CHECK(found[0] == approx(wanted[0]).epsilon(1e-5));
      }
}

TEST_CASE("the first of equally large outputs is the answer", "[kernels]") {
  tensor<float> y(3, {300, 1, 1}), gradient(3, {300, 1, 1});
  y.fill([](int n, int c, long long) { return c % 97 == 40 + n ? 0.25 : 0.125; });
  auto const spec = kernels::loss(dsl::cu::storage::f32, dsl::loss::categorical_crossentropy, true, 3, 3, {300, 1, 1},
                                  {300}, {300}, true);
  meeting_place m(spec);
  for (auto const& [labels, right] :
       {std::pair{std::vector{40, 41, 42}, 3.0}, std::pair{std::vector{137, 41, 236}, 1.0}}) {
    double found[2];
    run(spec, y.data(), labels.data(), +found, gradient.data(), m.doubles(), m.counters());
    CHECK(found[1] == right);
  }
}

TEST_CASE("a probability of 0 or NaN, and a label that is no output", "[kernels]") {
  tensor<float> y(2, {4, 1, 1}), gradient(2, {4, 1, 1});
  y.fill([](int, int c, long long) { return c == 1 ? 1.0 : 0.0; });
  int const labels[] = {0, 1};
  double found[2];
  auto const spec =
      kernels::loss(dsl::cu::storage::f32, dsl::loss::categorical_crossentropy, false, 2, 2, {4, 1, 1}, {4}, {4}, true);
  meeting_place m(spec);
  auto const measure = [&](int const* of) {
    run(spec, y.data(), of, +found, gradient.data(), m.doubles(), m.counters());
  };
  measure(labels);
  CHECK(found[0] == approx(-std::log(1e-7)));
  CHECK(found[1] == 1);
  CHECK(gradient.values[0] == approx(-0.5F / 1e-7F));
  int const wrong[] = {0, 4};
  measure(wrong);
  CHECK(std::isnan(found[0]));
  y.values[0] = std::nanf("");
  measure(labels);
  CHECK(std::isnan(found[0]));
}

TEMPLATE_TEST_CASE("direct convolutions", "[kernels]", float, bf16) {
  struct layer {
    int batch;
    dsl::shape in, out;
    dsl::window w;
    int groups = 1;
  };
  layer const layers[] = {
      {2, {8, 5, 6}, {16, 5, 6}, {3, 3, 1, 1, 1}},
      {1, {3, 7, 7}, {5, 3, 3}, {3, 3, 2, 0, 0}},
      {2, {16, 4, 4}, {3, 4, 4}, {1, 1, 1, 0, 0}},
      {1, {4, 6, 5}, {2, 3, 3}, {5, 3, 2, 1, 1}},
      {1, {2, 5, 5}, {3, 2, 2}, {2, 2, 3, 0, 0}},
      // Groups with whole and with partial accesses of 16 bytes, and of single channels.
      {2, {16, 5, 6}, {6, 5, 6}, {3, 3, 1, 1, 1}, 2},
      {2, {12, 5, 4}, {9, 3, 2}, {3, 3, 2, 1, 1}, 3},
      {2, {16, 5, 6}, {16, 5, 6}, {3, 3, 1, 1, 1}, 16},
      {1, {5, 6, 7}, {15, 3, 4}, {3, 3, 2, 1, 1}, 5},
      // Different strides for rows and columns, and dilations.
      {2, {8, 7, 9}, {5, 4, 9}, {3, 3, 2, 1, 1, 1}},
      {1, {3, 9, 6}, {8, 9, 3}, {2, 3, 1, 0, 1, 2}},
      {2, {8, 8, 9}, {4, 8, 9}, {3, 3, 1, 2, 3, 0, 2, 3}},
      {1, {4, 11, 10}, {3, 4, 8}, {3, 2, 2, 0, 0, 1, 2, 2}},
      {2, {6, 9, 9}, {6, 5, 3}, {3, 3, 2, 2, 3, 3, 2, 3}, 6},
      {1, {16, 9, 8}, {8, 3, 4}, {3, 2, 3, 1, 1, 2, 2, 2}, 2},
  };
  constexpr auto storage = storage_of<TestType>;
  for (auto const& [batch, in, out, w, groups] : layers) {
    INFO(in.channels << " -> " << out.channels << " in " << groups << " groups, " << w.height << "x" << w.width << " / "
                     << w.stride << " " << w.columns().stride << ", dilation " << w.row_dilation << " "
                     << w.column_dilation);
    // The plain loops take (sample, channel, pixel), and kernels take (out, in, height, width).
    int const places = w.height * w.width, each = in.channels / groups;
    tensor<TestType> x(batch, in), y(batch, out), dy(batch, out), kernel(1, {each, out.channels * places, 1});
    numbers bias(out.channels, -1, 1), dkernel(static_cast<int>(kernel.values.size()), 0, 1), dbias(out.channels, 0, 1);
    auto const planes = [](tensor<TestType> const& t) {
      std::vector<double> all;
      for (int n = 0; n < t.batch; ++n)
        for (int c = 0; c < t.shape.channels; ++c)
          for (long long i = 0; i < t.shape.area(); ++i) all.push_back(t.read()(n, c, i));
      return all;
    };
    auto const each_weight = [&](auto f) {
      std::size_t plain = 0;
      for (int o = 0; o < out.channels; ++o)
        for (int c = 0; c < each; ++c)
          for (int p = 0; p < places; ++p) f(plain++, static_cast<std::size_t>((o * places + p) * each + c));
    };
    std::vector<double> px = planes(x), py(planes(y).size()), pdy = planes(dy), pk(kernel.values.size()),
                        pdk(pk.size());
    each_weight([&](std::size_t plain, std::size_t krsc) { pk[plain] = kernel.expected[krsc]; });
    auto const as_planes = [&](std::vector<double>& v, dsl::shape const& s) {
      return dsl::view<double>{v.data(), s, batch, 1, s.channels, 0};
    };
    auto const back = [&](std::vector<double> const& v, tensor<TestType>& t) {
      dsl::view<double const> const from{v.data(), t.shape, batch, 1, t.shape.channels, 0};
      dsl::plain::copy<double>(from, t.wanted(), false);
    };
    auto const read_only = [](dsl::view<double> const& v) { return dsl::plain::read_only(v); };

    for (bool const with_bias : {false, true}) {
      run(kernels::convolution_forward(storage, batch, in, out, w, with_bias, groups), x.data(), kernel.data(),
          with_bias ? bias.data() : nullptr, y.data());
      dsl::plain::conv2d_forward<double>(read_only(as_planes(px, in)), pk.data(), with_bias ? bias.wanted() : nullptr,
                                         as_planes(py, out), w, groups);
      if (with_bias)
        for (double& v : py) v = v < 0 ? 0 : v;
      back(py, y);
      y.check();
    }
    tensor<TestType> more(batch, out);
    std::vector<double> sum = planes(more);
    run(kernels::convolution_forward(storage, batch, in, out, w, false, groups, true), x.data(), kernel.data(), nullptr,
        more.data());
    dsl::plain::conv2d_forward<double>(read_only(as_planes(px, in)), pk.data(), nullptr, as_planes(py, out), w, groups);
    for (std::size_t i = 0; i < sum.size(); ++i) sum[i] += py[i];
    back(sum, more);
    more.check();
    for (bool const accumulate : {false, true}) {
      tensor<TestType> dx(batch, in);
      std::vector<double> pdx = planes(dx);
      run(kernels::convolution_backward_data(storage, batch, in, out, w, accumulate, groups), dy.data(), kernel.data(),
          dx.data());
      dsl::plain::conv2d_backward_data<double>(read_only(as_planes(pdy, out)), pk.data(), as_planes(pdx, in), w,
                                               accumulate, groups);
      back(pdx, dx);
      dx.check();
    }
    run(kernels::convolution_backward_weights(storage, batch, in, out, w, groups), x.data(), dy.data(), dkernel.data());
    auto const sums = kernels::channel_sums(storage, dy.pixels(), out.channels, dy.place);
    meeting_place m(sums);
    run(sums, dy.data(), dbias.data(), m.floats(), m.counters());
    dsl::plain::conv2d_backward_weights<double>(read_only(as_planes(px, in)), read_only(as_planes(pdy, out)),
                                                pdk.data(), dbias.wanted(), w, groups);
    each_weight([&](std::size_t plain, std::size_t krsc) { dkernel.expected[krsc] = pdk[plain]; });
    dkernel.check();
    dbias.check();
  }
}
