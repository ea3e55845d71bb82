// SPDX-License-Identifier: MIT
// Compares networks with products and all activations on the simulated device with the reference in double.
#include "cuda/agreement.hpp"
#include "support/catch.hpp"
#include "support/gpu/products.hpp"
#include "support/product_networks.hpp"

using namespace dsl;
using dsl::test::keras_rules;
using dsl::test::torch_rules;
using dsl_test::agree;

TEST_CASE("cuda agrees with reference: multiply, channel_scale, stochastic_depth, activations", "[cuda]") {
  for (precision p : {precision::fp32_strict, precision::bf16}) {
    agree(dsl::test::multiplied_network::view(), keras_rules, 4, 4, p);
    agree(dsl::test::multiplied_network::view(), torch_rules, 3, 4, p);
  }
}

TEST_CASE("cuda agrees with reference: softmax2d within a network, and at its end in inference", "[cuda]") {
  for (precision p : {precision::fp32_strict, precision::bf16})
    agree(dsl::test::softmax_of_pixels::view(), keras_rules, 4, 4, p);
  using segmented = network<image<3, 6, 5>, conv2d<4, 3>, softmax2d>;
  dsl_test::add_all_kernels();
  dsl_test::simulated_device device({.seed = 3});
  {
    cu::engine fast(device.api(), segmented::view(), keras_rules, dsl_test::settings(precision::fp32_strict));
    auto const plain = reference<double>{}.make_engine(segmented::view(), keras_rules);
    initialize(fast, 5);
    initialize(*plain, 5);
    dsl::test::drawn_batch const data(segmented::view(), 3, 77);
    int const c = fast.prepare(mode::inference, 3), d = plain->prepare(mode::inference, 3);
    fast.run(c, data.view(0, 0));
    plain->run(d, data.view(0, 0));
    CHECK(dsl_test::difference(dsl::test::result_of(fast, c, 3), dsl::test::result_of(*plain, d, 3)) < 1e-5);
  }
  CHECK(device.report() == "");
}

TEST_CASE("gpu checks: a good executor passes those of products", "[gpu]") {
  dsl_test::add_all_kernels();
  dsl_test::simulated_device device({.seed = 9});
  dsl::test::ledger l;
  dsl::test::gpu const on{.calls = device.api(), .workspace_limit = 1 << 18};
  dsl::test::check_products(on, l);
  CHECK(device.report() == "");
  CHECK(l.findings().size() > 20);
  for (dsl::test::finding const& f : l.findings()) {
    INFO(f.what << ": measured " << f.measured << ", bound " << f.bound << " " << f.note);
    CHECK(f.is != dsl::test::finding::verdict::bad);
    CHECK(f.values > 0);
  }
}
