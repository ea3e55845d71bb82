// SPDX-License-Identifier: MIT
// Compares networks with grouped, depthwise, dilated and transposed convolutions, and with different strides for rows
// and columns, on the simulated device with the reference in double.
#include "cuda/agreement.hpp"
#include "support/catch.hpp"
#include "support/gpu/further_convolutions.hpp"

using namespace dsl;
using dsl::test::keras_rules;
using dsl::test::torch_rules;
using dsl_test::agree;

namespace {

cu::api real{};

/// Removes all plans of cuDNN.
cudnnStatus_t no_candidates(cudnnBackendDescriptor_t const d, cudnnBackendAttributeName_t name,
                            cudnnBackendAttributeType_t type, std::int64_t room, std::int64_t* count, void* values) {
  if (name != CUDNN_ATTR_ENGINEHEUR_RESULTS)
    return real.cudnnBackendGetAttribute.function(d, name, type, room, count, values);
  *count = 0;
  return CUDNN_STATUS_SUCCESS;
}

}  // namespace

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

TEST_CASE("cuda agrees with reference: transposed convolutions", "[cuda]") {
  for (precision p : {precision::fp32_strict, precision::tf32, precision::bf16})
    agree(dsl::test::transposed_network::view(), torch_rules, 4, 3, p);
}

TEST_CASE("cuda: without any plan of cuDNN, typenet's kernels compute these convolutions", "[cuda]") {
  dsl_test::add_all_kernels();
  dsl_test::simulated_device device({.seed = 9});
  real = device.api();
  cu::api broken = real;
  broken.cudnnBackendGetAttribute.function = &no_candidates;
  dsl::test::gpu const on{.calls = broken, .workspace_limit = 1 << 18, .deterministic = true};
  dsl::test::ledger l;
  for (precision p : {precision::fp32_strict, precision::bf16}) {
    double const most = dsl::test::bounds_of(p).gradient;
    check_gradients(on, l, "groups", dsl::test::grouped_network::view(), 4, {{p, most}});
    check_gradients(on, l, "dilation and strides", dsl::test::spread_network::view(), 4, {{p, most}});
    check_gradients(on, l, "transposed", dsl::test::transposed_network::view(), 4, {{p, most}});
  }
  CHECK(l.values() > 0);
  for (dsl::test::finding const& f : l.findings()) {
    INFO(f.what << ": measured " << f.measured << ", bound " << f.bound << " " << f.note);
    CHECK(f.is != dsl::test::finding::verdict::bad);
  }
  CHECK(device.report() == "");
}

TEST_CASE("gpu checks: a good executor passes those of further convolutions", "[gpu]") {
  dsl_test::add_all_kernels();
  dsl_test::simulated_device device({.seed = 9});
  dsl::test::ledger l;
  dsl::test::gpu const on{.calls = device.api(), .workspace_limit = 1 << 18};
  dsl::test::check_further_convolutions(on, l);
  CHECK(device.report() == "");
  CHECK(l.findings().size() > 80);
  for (dsl::test::finding const& f : l.findings()) {
    INFO(f.what << ": measured " << f.measured << ", bound " << f.bound << " " << f.note);
    CHECK(f.is != dsl::test::finding::verdict::bad);
  }
}
