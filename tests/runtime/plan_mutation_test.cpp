// SPDX-License-Identifier: MIT
#include "support/catch.hpp"

#include <cstdio>
#include <cstdlib>
#include <string>

#include <dsl/plan/verify.hpp>
#include "support/extent.hpp"
#include "support/plan_mutations.hpp"
#include "support/random_plan.hpp"
#include "support/sanitized.hpp"
#include "support/symbolic_executor.hpp"
#include "support/symbolic_interpreter.hpp"

// Compares verify() with an oracle that executes plans with hashes instead of numbers. On random networks, both must
// accept the planner's plan. Of random mistakes in a plan, verify() must find each one that the oracle notices.

namespace {

using namespace dsl;
using namespace dsl::test;

constexpr bool slow = DSL_TEST_ASAN || DSL_TEST_TSAN;
/// The number of mutants, enough for each kind of mistake to occur hundreds of times, in the stage long thousands;
/// TYPENET_PLAN_MUTANTS sets another.
int mutants_in_all() {
  char const* const asked = std::getenv("TYPENET_PLAN_MUTANTS");
  return asked ? std::atoi(asked) : everything() && !slow ? 100'000 : 10'000;
}
constexpr int mutants_per_plan = 25;

struct tally {
  int mutants = 0;
  int breaks = 0;
  int caught = 0;
  int refused = 0;  // refused by verify(), unnoticed by the oracle
};

std::string table(tally const* all, tally const& sum) {
  std::string text = "mistake                   mutants   broken   caught  others refused\n";
  auto const line = [&](char const* name, tally const& t) {
    char row[120];
    std::snprintf(row, sizeof row, "%-24s %8d %8d %8d %8d of %d\n", name, t.mutants, t.breaks, t.caught, t.refused,
                  t.mutants - t.breaks);
    text += row;
  };
  for (int m = 0; m < static_cast<int>(mutation::count); ++m) line(name_of(static_cast<mutation>(m)), all[m]);
  line("together", sum);
  return text;
}

}  // namespace

TEST_CASE("plans of random networks do what the network says, and the checker accepts them") {
  int wrong = 0;
  int refused = 0;
  for (int i = 0; i < mutants_in_all() / 10; ++i) {
    random_plan const c(i);
    plan const p = c.make();
    symbolic::outcome executed;
    bool const right = symbolic::execute(c.g, p, executed) && executed == symbolic::interpret(c.g, c.options);
    plan_verdict const v = verify(c.g, p);
    wrong += !right;
    refused += !v.holds();
    if (right && v.holds()) continue;
    INFO("seed " << seed_of_plans << ", plan " << i << ": " << (right ? "right" : "wrong") << "; step " << v.step
                 << ", index " << v.index << ": " << explain(v.broken));
    CHECK(right);
    CHECK(v.holds());
    if (wrong + refused > 10) break;
  }
}

TEST_CASE("the checker finds every mistake in a plan that changes what it computes") {
  tally all[static_cast<int>(mutation::count)];
  tally sum;
  int missed = 0;
  for (int index = 0; sum.mutants < mutants_in_all() && missed < 10; ++index) {
    random_plan c(index);
    plan const right = c.make();
    symbolic::outcome expected;
    INFO("seed " << seed_of_plans << ", plan " << index);
    REQUIRE(verify(c.g, right).holds());
    REQUIRE(symbolic::execute(c.g, right, expected));
    for (int i = 0; i < mutants_per_plan; ++i) {
      plan p = right;
      auto const kind = static_cast<mutation>(c.d.below(static_cast<int>(mutation::count)));
      bool changed = mutator(c.g, p, c.d).apply(kind);
      if (changed && c.d.percent(5))  // two mistakes may hide each other
        mutator(c.g, p, c.d).apply(static_cast<mutation>(c.d.below(static_cast<int>(mutation::slice_tensor))));
      if (!changed) continue;
      symbolic::outcome found;
      bool const breaks = !symbolic::execute(c.g, p, found) || !(found == expected);
      plan_verdict const v = verify(c.g, p);
      for (tally* t : {&all[static_cast<int>(kind)], &sum}) {
        ++t->mutants;
        t->breaks += breaks;
        t->caught += breaks && !v.holds();
        t->refused += !breaks && !v.holds();
      }
      if (!breaks || !v.holds()) continue;
      ++missed;
      INFO("mutant " << i << ", " << name_of(kind) << ", mode " << static_cast<int>(c.options.mode));
      CHECK_FALSE(v.holds());
    }
  }
  WARN(table(all, sum));
  CHECK(sum.caught == sum.breaks);
  CHECK(2 * sum.breaks > sum.mutants);
}
