// SPDX-License-Identifier: MIT
// Compares networks with the operations that have a fixture on the simulated device with the reference in double.
#include "cuda/agreement.hpp"
#include "operations/all.hpp"
#include "support/catch.hpp"

#include <dsl/executors/cuda/kernel_table.hpp>

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
