// SPDX-License-Identifier: MIT
#include <dsl/dsl.hpp>
#include <dsl/executors/native.hpp>
#include <dsl/executors/native/engine.hpp>

#include <stdexcept>
#include <string>

#include "fuzz/targets.hpp"
#include "support/compare_engines.hpp"
#include "support/plan_mutations.hpp"
#include "support/random_network.hpp"
#include "support/symbolic_executor.hpp"
#include "support/symbolic_interpreter.hpp"

namespace dsl::test {

std::unique_ptr<dsl::engine> make_checked(graph_view const& g, engine_options const& o, setup const& c) {
  instructions const set = c.block == 16  ? instructions::avx512
                           : c.block == 8 ? instructions::avx2
                                          : instructions::baseline;
  return native{.threads = c.threads, .instructions = set, .winograd = c.winograd}.make_engine(g, o);
}

namespace {

[[noreturn]] void found(std::string const& what) { throw std::logic_error("graphs: " + what); }

/// The plan of a random network, perhaps on several devices and in micro-batches, must be accepted by verify() and do
/// what the network says; with a mistake in it, it must not be accepted unless it still does.
void check_plan(dice& d) {
  int const block = d.of({channels_last, 1, 4, 16});
  random_graph const net(d, block, d.percent(40));
  placed_graph const placed(net.view(), d, d.percent(60) ? 1 : d.between(2, 3));
  graph_view const g = placed.view();
  plan_options o = random_options(d, block);
  if (d.percent(40)) o.batch += d.between(0, 3), o.micro_batches = d.between(2, 4);
  detail::list<bool> again{};
  if (int const chance = d.of({0, 20, 50, 100}); chance > 0)
    for (int t = 0; t < g.size.tensors; ++t) again.push(d.percent(chance));

  plan const right = make_plan(g, o, again);
  symbolic::outcome expected;
  if (!verify(g, right).holds()) found("verify refuses a plan");
  if (!symbolic::execute(g, right, expected) || !(expected == symbolic::interpret(g, o)))
    found("a plan does not do what the network says");
  for (int i = d.below(4); i > 0; --i) {
    plan p = right;
    auto const kind = static_cast<mutation>(d.below(static_cast<int>(mutation::count)));
    if (!mutator(g, p, d).apply(kind) || !verify(g, p).holds()) continue;
    symbolic::outcome changed;
    if (!symbolic::execute(g, p, changed) || !(changed == expected))
      found(std::string("verify accepts a mistake in a plan: ") + name_of(kind));
  }
}

/// reference in double and native must compute the same numbers. A ReLU whose input is zero up to rounding may have the
/// other sign, and two equal numbers another maximum; with other numbers that is rare.
void check_numbers(dice& d) {
  int const block = d.of({16, 8, 4});
  if (!host::has(block == 16 ? instructions::avx512 : block == 8 ? instructions::avx2 : instructions::baseline)) return;
  random_network const net(d, block, d.percent(50));
  engine_options o{.seed = 11, .verify = &verify};
  if (d.percent(50)) o.update.momentum = 0.9;
  o.loss = net.ends_in_softmax() ? loss::categorical_crossentropy : loss::mean_squared_error;
  int const batch = d.between(1, 4);
  setup const how{block, d.percent(50), d.percent(20) ? 2 : 1};
  double const bound = tolerance(net.view(), batch, how);
  difference last;
  for (std::uint64_t seed = 1; seed <= 5; ++seed) {
    last = compare(net.view(), batch, o, how, seed);
    if (last.size < bound) return;
  }
  found("native and reference differ by " + std::to_string(last.size) + ": " + last.where);
}

}  // namespace

}  // namespace dsl::test

bool dsl::fuzz::graphs(std::string_view bytes) {
  test::dice d(bytes);
  if (d.percent(70))
    test::check_plan(d);
  else
    test::check_numbers(d);
  return true;
}
