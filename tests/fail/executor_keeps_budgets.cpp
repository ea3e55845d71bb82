// SPDX-License-Identifier: MIT
// LINES: 8
// EXPECT: compile: a memory_budget needs an executor that can compute values again, and this one can't; use native{}, onednn{} or reference{}
// EXPECT-RE: executor_keeps_budgets<.*(Executor=)?my_executor, (ComputesAgain=)?false
#include <dsl/dsl.hpp>

struct my_executor {
  std::unique_ptr<dsl::engine> make_engine(dsl::graph_view const& g, dsl::engine_options const& o) const {
    return dsl::reference{}.make_engine(g, o);
  }
};

using namespace dsl::literals;
using model = dsl::memory_budget<
    8, 1_MiB,
    dsl::network<dsl::image<3, 9, 9>, dsl::conv_module<16, 3, 3>, dsl::flatten, dsl::dense<10>, dsl::softmax>>;
#ifdef FIXED
dsl::trainer make() { return dsl::compile<model>(dsl::native{}, dsl::sgd{.learning_rate = 5e-3}); }
#else
dsl::trainer make() { return dsl::compile<model>(my_executor{}, dsl::sgd{.learning_rate = 5e-3}); }
#endif
