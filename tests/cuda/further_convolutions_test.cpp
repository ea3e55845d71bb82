// SPDX-License-Identifier: MIT
// Compares networks with grouped, depthwise and dilated convolutions, and with different strides for rows and columns,
// on the simulated device with the reference in double.
#include "cuda/agreement.hpp"
#include "support/catch.hpp"
#include "support/gpu/further_convolutions.hpp"

using namespace dsl;
using dsl::test::keras_rules;
using dsl::test::torch_rules;
using dsl_test::agree;

TEST_CASE("cuda agrees with reference: grouped and depthwise convolutions", "[cuda]") {
  for (precision p : {precision::fp32_strict, precision::tf32, precision::bf16}) {
    agree(dsl::test::grouped_network::view(), keras_rules, 8, 3, p);
    agree(dsl::test::odd_grouped_network::view(), torch_rules, 3, 4, p);
  }
}

TEST_CASE("cuda agrees with reference: dilation, and different strides for rows and columns", "[cuda]") {
  for (precision p : {precision::fp32_strict, precision::tf32, precision::bf16})
    agree(dsl::test::spread_network::view(), torch_rules, 4, 4, p);
}

TEST_CASE("gpu checks: a good executor passes those of further convolutions", "[gpu]") {
  dsl_test::add_all_kernels();
  dsl_test::simulated_device device({.seed = 9});
  dsl::test::ledger l;
  dsl::test::gpu const on{.calls = device.api(), .workspace_limit = 1 << 18};
  dsl::test::check_further_convolutions(on, l);
  CHECK(device.report() == "");
  CHECK(l.findings().size() > 60);
  for (dsl::test::finding const& f : l.findings()) {
    INFO(f.what << ": measured " << f.measured << ", bound " << f.bound << " " << f.note);
    CHECK(f.is != dsl::test::finding::verdict::bad);
  }
}
