// SPDX-License-Identifier: MIT
// Compares networks with the operations that have a fixture on the simulated device with the reference in double.
#include "cuda/agreement.hpp"
#include "operations/all.hpp"
#include "support/catch.hpp"
#include "support/gpu/operations.hpp"

using namespace dsl;
using dsl::test::keras_rules;
using dsl::test::torch_rules;

namespace {

template <int C>
void agree_on_all() {
  dsl::test::for_each_body<C>([]<op Kind, class Body>(int number) {
    INFO(operations::table[static_cast<int>(Kind)].name << ", body " << number << ", " << C << " channels");
    [number]<class... Layers>(types<Layers...>) {
      using net = network<image<3, 4, 3>, conv2d<C, 3>, silu, Layers..., silu, flatten, dense<4>, softmax>;
      for (precision p : {precision::fp32_strict, precision::bf16})
        dsl_test::agree(net::view(), number % 2 == 0 ? keras_rules : torch_rules, 3 + number % 2, 3, p, 0.005);
    }(Body{});
  });
}

}  // namespace

TEST_CASE("cuda agrees with reference: operations with a fixture, and full lanes", "[cuda]") { agree_on_all<16>(); }
TEST_CASE("cuda agrees with reference: operations with a fixture, and odd channels", "[cuda]") { agree_on_all<5>(); }

TEST_CASE("gpu checks: a good executor passes those of operations with a fixture", "[gpu]") {
  dsl_test::add_all_kernels();
  dsl_test::simulated_device device({.seed = 9});
  dsl::test::ledger l;
  dsl::test::gpu const on{.calls = device.api(), .workspace_limit = 1 << 18};
  dsl::test::check_operations(on, l);
  CHECK(device.report() == "");
  CHECK(l.findings().size() > 3 * 7 * 10);
  for (dsl::test::finding const& f : l.findings()) {
    INFO(f.what << ": measured " << f.measured << ", bound " << f.bound << " " << f.note);
    CHECK(f.is != dsl::test::finding::verdict::bad);
    CHECK(f.values > 0);
  }
}
