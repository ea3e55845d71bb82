// SPDX-License-Identifier: MIT
// Gradients summed over several devices: in buckets, each as soon as it is complete, and each gradient once.
#include <dsl/dsl.hpp>

namespace {

using namespace dsl;

using model = network<image<3, 32, 32>, minigooglenet<10>>;
using small = network<image<3, 8, 8>, conv_module<4, 3>, inception_module<4, 4>, flatten, dense<3>, softmax>;

template <class Network>
constexpr plan plan_with(int buckets) {
  return make_plan(Network::view(), {.batch = 8, .all_reduce_buckets = buckets});
}
constexpr int count(plan const& p, action what) {
  int n = 0;
  for (step const& s : p.steps) n += s.what == what;
  return n;
}
constexpr bool sound(plan const& p, graph_view const& g) { return verify(g, p).holds(); }

static_assert(count(plan_with<model>(0), action::all_reduce) == 0);
static_assert(count(plan_with<model>(1), action::all_reduce) == 1);
static_assert(count(plan_with<model>(2), action::all_reduce) == 2);
static_assert(sound(plan_with<model>(2), model::view()));
static_assert(sound(plan_with<small>(3), small::view()));
static_assert(sound(plan_with<small>(1000), small::view()), "more buckets than parameters");
static_assert(count(make_plan(model::view(), {.mode = mode::inference, .all_reduce_buckets = 2}), action::all_reduce) ==
              0);

// The first of two buckets begins with the dense layer, has half of the numbers, and starts early.
struct two_buckets {
  int begin[2] = {};  // the steps that sum them
  long long offset[2] = {};
  long long bytes[2] = {};
  int backward = 0;  // the first step of the backward pass
  int steps = 0;
  long long all = 0;
};
constexpr int find(plan const& p, action what) {
  int s = 0;
  while (p.steps[s].what != what) ++s;
  return s;
}
constexpr two_buckets buckets_of_model() {
  plan const p = plan_with<model>(2);
  two_buckets found{.backward = find(p, action::backward_weights),
                    .steps = p.steps.size(),
                    .all = p.region_bytes[static_cast<int>(region::gradients)]};
  int n = 0;
  for (int s = 0; s < p.steps.size(); ++s) {
    step const& x = p.steps[s];
    if (x.what != action::all_reduce) continue;
    found.begin[n] = s;
    found.offset[n] = p.buffer_of(p.operands[x.first_operand]).offset;
    for (int i = 0; i < x.operands; ++i) found.bytes[n] += p.buffer_of(p.operands[x.first_operand + i]).bytes;
    ++n;
  }
  return found;
}
constexpr two_buckets two = buckets_of_model();
static_assert(two.offset[0] == 0 && two.offset[1] == two.bytes[0] && two.bytes[0] + two.bytes[1] == two.all);
static_assert(two.bytes[0] > two.bytes[1] && 10 * two.bytes[0] < 6 * two.all);
static_assert(4 * (two.begin[0] - two.backward) < two.steps - two.backward);
static_assert(two.begin[1] == two.steps - 2, "the update follows");

// Returns what the checker says about wrong buckets.
template <class Change>
constexpr plan_rule broken_by(Change change) {
  plan p = plan_with<small>(2);
  change(p);
  return verify(small::view(), p).broken;
}
constexpr plan_rule rule = plan_rule::gradients_are_reduced_once_when_they_are_whole;
static_assert(broken_by([](plan& p) { p.steps.erase(find(p, action::all_reduce)); }) == rule, "one left out");
static_assert(broken_by([](plan& p) { p.steps.insert(p.steps.size() - 1, p.steps[p.steps.size() - 2]); }) == rule,
              "one summed twice");
static_assert(broken_by([](plan& p) { --p.steps[p.steps.size() - 2].operands; }) == rule, "not all of one");
static_assert(broken_by([](plan& p) {
                step const s = p.steps[find(p, action::all_reduce)];
                p.steps.erase(find(p, action::all_reduce));
                p.steps.insert(find(p, action::backward_weights), s);
              }) == rule,
              "before its gradients");
static_assert(broken_by([](plan& p) { p.options.all_reduce_buckets = 0; }) == rule, "on one device");
static_assert(broken_by([](plan& p) {
                operand& first = p.operands[p.steps[find(p, action::all_reduce)].first_operand];
                operand const kept = first;
                first = *(&first + 1);
                *(&first + 1) = kept;
              }) == rule,
              "not one piece of memory");

}  // namespace
