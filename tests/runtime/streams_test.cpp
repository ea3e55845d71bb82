// SPDX-License-Identifier: MIT
#include "support/catch.hpp"

#include <dsl/dsl.hpp>
#include <dsl/plan/verify/streams.hpp>
#include "support/random_graph.hpp"
#include "support/symbolic_executor.hpp"
#include "support/symbolic_interpreter.hpp"

// Tests the two queues of a device on random networks.

using namespace dsl;
using namespace dsl::test;

namespace {

/// Returns the steps in an order in which two queues may run them, alternating at random.
plan in_some_order(plan const& p, plan_streams const& q, dice& d) {
  plan mixed = p;
  mixed.steps = {};
  int next[2] = {0, 0};
  std::vector<bool> done(static_cast<std::size_t>(p.steps.size()));
  int const favourite = d.between(0, 1);  // otherwise no queue gets far ahead
  while (mixed.steps.size() < p.steps.size()) {
    int const first = d.between(0, 3) > 0 ? favourite : 1 - favourite;
    for (int const which : {first, 1 - first}) {
      int& s = next[which];
      while (s < p.steps.size() && q.stream[s] != which) ++s;
      if (s == p.steps.size() || (q.wait[s] >= 0 && !done[static_cast<std::size_t>(q.wait[s])])) continue;
      done[static_cast<std::size_t>(s)] = true;
      mixed.steps.push(p.steps[s++]);
      break;
    }
  }
  return mixed;
}

int convolutions_in_slices(graph_view const& g, plan const& p) {
  int count = 0;
  for (step const& s : p.steps)
    for (int i = s.first_operand; i < s.first_operand + s.operands; ++i) {
      operand const& o = p.operands[i];
      bool const result = s.what == action::forward && s.kind == op::conv2d && o.what == content::activation &&
                          o.how == dsl::access::write;
      count += result && g.shape_of(o.index).channels < p.buffers[o.buffer].shape.channels;
    }
  return count;
}

bool same_order(plan const& a, plan const& b) {
  for (int s = 0; s < a.steps.size(); ++s)
    if (a.steps[s].first_operand != b.steps[s].first_operand) return false;
  return true;
}

}  // namespace

TEST_CASE("whatever two queues do first, a plan does what the graph says") {
  int beside = 0, changed = 0, waits = 0, in_slices = 0;
  for (std::uint64_t seed = 0; seed < 400; ++seed) {
    dice d(seed);
    random_graph const graph(d, channels_last);
    for (mode m : {mode::training, mode::evaluation, mode::inference}) {
      // In half of the networks, convolutions write slices with an even number of channels.
      target const to{.channel_block = channels_last, .element_bytes = 8, .library_writes_slices = seed % 2 == 0};
      plan const p = make_plan(graph.view(), {.batch = 2, .mode = m, .target = to});
      plan_streams q = find_streams(graph.view(), p);
      in_slices += convolutions_in_slices(graph.view(), p);
      INFO("graph " << seed);
      CHECK(first_race(graph.view(), p, q) == -1);
      symbolic::outcome const wanted = symbolic::interpret(graph.view(), p.options);
      for (int i = 0; i < 3; ++i) {
        plan const mixed = in_some_order(p, q, d);
        changed += !same_order(p, mixed);
        symbolic::outcome executed;
        REQUIRE(symbolic::execute(graph.view(), mixed, executed));
        CHECK(executed == wanted);
      }
      for (int s = 0; s < p.steps.size(); ++s) {
        beside += q.stream[s];
        if (q.wait[s] < 0) continue;
        ++waits;
        int const was = std::exchange(q.wait[s], -1);
        CHECK(first_race(graph.view(), p, q) == s);
        q.wait[s] = was;
      }
    }
  }
  CHECK(beside > 1000);
  CHECK(changed > 1000);
  CHECK(waits > 1000);
  CHECK(in_slices > 50);
}
