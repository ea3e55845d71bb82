// SPDX-License-Identifier: MIT
// Compares networks with normalisations within a sample on the simulated device with the reference in double.
#include "cuda/agreement.hpp"
#include "support/catch.hpp"
#include "support/gpu/norms.hpp"
#include "support/normed_networks.hpp"

using namespace dsl;
using dsl::test::keras_rules;
using dsl::test::torch_rules;
using dsl_test::agree;

TEST_CASE("cuda agrees with reference: layer_norm and group_norm", "[cuda]") {
  for (precision p : {precision::fp32_strict, precision::bf16}) {
    agree(dsl::test::normed_network::view(), keras_rules, 4, 4, p, 0.005);
    agree(dsl::test::normed_network::view(), torch_rules, 3, 4, p);
  }
}

TEST_CASE("cuda agrees with reference: local_response_norm", "[cuda]") {
  for (precision p : {precision::fp32_strict, precision::bf16}) {
    agree(dsl::test::responding_network::view(), keras_rules, 4, 4, p);
    agree(dsl::test::responding_network::view(), torch_rules, 3, 4, p);
  }
}

TEST_CASE("gpu checks: a good executor passes those of normalisations within a sample", "[gpu]") {
  dsl_test::add_all_kernels();
  dsl_test::simulated_device device({.seed = 9});
  dsl::test::ledger l;
  dsl::test::gpu const on{.calls = device.api(), .workspace_limit = 1 << 18};
  dsl::test::check_norms(on, l);
  CHECK(device.report() == "");
  CHECK(l.findings().size() == 3 * (2 * (5 + 2) + 5));
  for (dsl::test::finding const& f : l.findings()) {
    INFO(f.what << ": measured " << f.measured << ", bound " << f.bound << " " << f.note);
    CHECK(f.is != dsl::test::finding::verdict::bad);
    CHECK(f.values > 0);
  }
}

TEST_CASE("cuda: what the steps of a normalisation pass on is in one piece of memory for each queue", "[cuda]") {
  dsl_test::add_all_kernels();
  dsl_test::simulated_device device({.seed = 3});
  long long bytes[2] = {0, 0};
  using one = network<image<4, 6, 5>, conv2d<4, 1>, layer_norm<>, conv2d<4, 1>, flatten, dense<2>, softmax>;
  using three = network<image<4, 6, 5>, conv2d<4, 1>, layer_norm<>, conv2d<4, 1>, group_norm<2>, layer_norm<>, flatten,
                        dense<2>, softmax>;
  for (bool const more : {false, true}) {
    dsl::cu::engine e(device.api(), more ? three::view() : one::view(), keras_rules,
                      dsl_test::settings(precision::fp32_strict, true));
    e.prepare(mode::inference, 7);
    long long const inference = e.executor_bytes();
    e.prepare(mode::training, 7);
    bytes[more] = e.executor_bytes() - inference;
  }
  CHECK(bytes[true] - bytes[false] < 5 * 4 * 7 * 6 * 5);
}
