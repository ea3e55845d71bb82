// SPDX-License-Identifier: MIT
// Compares networks with layers that move numbers, and with learnt tokens, on the simulated device with the reference
// in double.
#include "cuda/agreement.hpp"
#include "support/catch.hpp"
#include "support/gpu/movement.hpp"
#include "support/moving_networks.hpp"

using namespace dsl;
using dsl::test::keras_rules;
using dsl::test::torch_rules;
using dsl_test::agree;

TEST_CASE("cuda agrees with reference: zero_pad2d, channel_slice, channel_shuffle", "[cuda]") {
  for (precision p : {precision::fp32_strict, precision::bf16}) {
    agree(dsl::test::moving_network::view(), keras_rules, 4, 4, p);
    agree(dsl::test::moving_network::view(), torch_rules, 3, 4, p);
  }
}

TEST_CASE("cuda agrees with reference: upsample2d", "[cuda]") {
  for (precision p : {precision::fp32_strict, precision::bf16}) {
    agree(dsl::test::enlarging_network::view(), keras_rules, 4, 4, p);
    agree(dsl::test::enlarging_network::view(), torch_rules, 3, 4, p);
  }
}

TEST_CASE("cuda agrees with reference: tokens", "[cuda]") {
  for (precision p : {precision::fp32_strict, precision::bf16})
    for (graph_view const& g : {dsl::test::token_network::view(), dsl::test::odd_token_network::view()}) {
      agree(g, keras_rules, 4, 4, p);
      agree(g, torch_rules, 3, 4, p);
    }
}

TEST_CASE("cuda agrees with reference: learnt tokens that are frozen", "[cuda]") {
  for (precision p : {precision::fp32_strict, precision::bf16})
    agree(dsl::test::frozen_tokens_network::view(), keras_rules, 4, 4, p);
}

TEST_CASE("gpu checks: a good executor passes those of layers that move numbers", "[gpu]") {
  dsl_test::add_all_kernels();
  dsl_test::simulated_device device({.seed = 9});
  dsl::test::ledger l;
  dsl::test::gpu const on{.calls = device.api(), .workspace_limit = 1 << 18};
  dsl::test::check_movement(on, l);
  CHECK(device.report() == "");
  CHECK(l.findings().size() == 3 * (3 * (5 + 2) + 5));
  for (dsl::test::finding const& f : l.findings()) {
    INFO(f.what << ": measured " << f.measured << ", bound " << f.bound << " " << f.note);
    CHECK(f.is != dsl::test::finding::verdict::bad);
    CHECK(f.values > 0);
  }
}
