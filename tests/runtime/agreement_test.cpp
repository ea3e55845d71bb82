// SPDX-License-Identifier: MIT
// Tests the descriptions of an executor's arithmetic that processes compare.
#include "support/catch.hpp"

#include <dsl/dsl.hpp>
#include <dsl/executors/onednn.hpp>
#include <dsl/towers.hpp>

#include <string>

namespace {

using small = dsl::network<dsl::image<1, 4, 4>, dsl::flatten, dsl::dense<2>, dsl::softmax>;

template <class Executor>
std::string arithmetic(Executor const& on, int towers) {
  dsl::trainer t = dsl::compile<small>(on, dsl::sgd{.learning_rate = 0.1}, dsl::towers{.count = towers});
  return t.engine().arithmetic();
}

}  // namespace

TEST_CASE("agreement: an executor's name and precision, without its numbers and devices", "[towers]") {
  for (int towers : {1, 2}) {
    CHECK(arithmetic(dsl::reference{}, towers) == "reference, plain loops in float");
    CHECK(arithmetic(dsl::reference<double>{}, towers) == "reference, plain loops in double");
    CHECK(arithmetic(dsl::onednn{.threads = 2}, towers) == "onednn");
  }
  CHECK(dsl::compile<small>(dsl::reference{}, dsl::sgd{.learning_rate = 0.1}).engine().description() ==
        "reference, plain loops in float, 1 thread");
}

TEST_CASE("agreement: the channels of a block are the target's", "[towers]") {
  for (int towers : {1, 2}) {
    dsl::towers const t{.count = towers};
    dsl::sgd const optimizer{.learning_rate = 0.1};
    CHECK(dsl::compile<small>(dsl::reference{}, optimizer, t).engine().channel_block() == 1);
    CHECK(dsl::compile<small>(dsl::onednn{}, optimizer, t).engine().channel_block() ==
          dsl::onednn::target().channel_block);
  }
}
