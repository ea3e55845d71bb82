// SPDX-License-Identifier: MIT
// A network that compiles has a plan without use-after-free: the independent checker proves it at compile time, and
// finds what is wrong with a damaged plan.
#include <dsl/dsl.hpp>

namespace {

using namespace dsl;

using model = network<image<3, 32, 32>, minigooglenet<10>>;

static_assert(verified<model>);
static_assert(verified<model, 64, mode::evaluation>);
static_assert(verified<model, 64, mode::inference>);
static_assert(verified<model, 1>);
static_assert(verify(model::view(), make_plan(model::view(), {.batch = 256, .target = {.channel_block = 16}})).holds());
static_assert(verified<model, 64, mode::training, target{.channel_block = channels_last, .element_bytes = 2}>);

static_assert(verified<network<image<1, 8, 8>, relu>>);  // no parameters: nvcc allocates no array of none

// Backward passes that read a slice of a concat, and two batch_norms of one input.
using branches = concat<sequential<conv2d<4, 1>, relu>, sequential<conv2d<4, 3>, sigmoid>, batch_norm<>, batch_norm<>>;
static_assert(verified<network<image<4, 4, 4>, conv2d<4, 1>, branches, dropout<0.5>, flatten, dense<3>, softmax>>);
static_assert(verified<network<image<4, 4, 4>, conv2d<4, 1>, branches, batch_norm<>, flatten, dense<3>, softmax>>);

constexpr plan_rule without_its_second_step() {
  plan p = make_plan(model::view(), {.batch = 64});
  p.steps.erase(1);
  return verify(model::view(), p).broken;
}
static_assert(without_its_second_step() == plan_rule::every_read_has_its_write);

constexpr plan_rule with_an_overlap() {
  plan p = make_plan(model::view(), {.batch = 64});
  p.buffers[p.metrics].offset = p.buffers[p.activations[0].buffer].offset;
  return verify(model::view(), p).broken;
}
static_assert(with_an_overlap() == plan_rule::live_buffers_do_not_overlap);

}  // namespace
