// SPDX-License-Identifier: MIT
// What processes compare of their executors, and what they don't.
#include "support/catch.hpp"

#include <dsl/dsl.hpp>
#include <dsl/towers.hpp>
#include <dsl/towers/agreement.hpp>

using dsl::detail::arithmetic_of;

TEST_CASE("agreement: an executor's name and precision, without its numbers and devices", "[towers]") {
  CHECK(arithmetic_of("onednn 2.6.3, 2 threads, blocks of 16") == "onednn");
  CHECK(arithmetic_of("4 towers, each onednn 3.1.0, 1 thread, blocks of 8") == "onednn");
  CHECK(arithmetic_of("1 tower, each onednn 2.6.3, 2 threads a device, blocks of 16") == "onednn");
  CHECK(arithmetic_of("reference, plain loops in double, 1 thread") == "reference, plain loops in double");
  CHECK(arithmetic_of("cuda on NVIDIA H100 80GB HBM3 (sm_90), cudnn 9.11.0, bf16") == "cuda, bf16");
  CHECK(arithmetic_of("2 towers, each cuda on A100 (sm_80), cudnn 9.12.1, fp32_strict, deterministic") ==
        "cuda, fp32_strict, deterministic");
  CHECK(arithmetic_of("mine") == "mine");
  CHECK(arithmetic_of("") == "");
}

TEST_CASE("agreement: the blocks of a description", "[towers]") {
  using dsl::detail::blocks_of;
  CHECK(blocks_of("onednn 2.6.3, 2 threads, blocks of 16") == "blocks of 16");
  CHECK(blocks_of("4 towers, each onednn 3.1.0, 1 thread, blocks of 8, winograd") == "blocks of 8");
  CHECK(blocks_of("reference, plain loops in double, 1 thread") == "");
}

TEST_CASE("agreement: what the executors say of themselves is read so", "[towers]") {
  using small = dsl::network<dsl::image<1, 4, 4>, dsl::flatten, dsl::dense<2>, dsl::softmax>;
  dsl::sgd const optimizer{.learning_rate = 0.1};
  dsl::trainer one = dsl::compile<small>(dsl::reference{}, optimizer);
  dsl::trainer two = dsl::compile<small>(dsl::reference{}, optimizer, dsl::towers{.count = 2});
  dsl::trainer exact = dsl::compile<small>(dsl::reference<double>{}, optimizer, dsl::towers{.count = 2});
  CHECK(arithmetic_of(one.engine().description()) == "reference, plain loops in float");
  CHECK(arithmetic_of(two.engine().description()) == "reference, plain loops in float");
  CHECK(arithmetic_of(exact.engine().description()) == "reference, plain loops in double");
}
