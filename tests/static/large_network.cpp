// SPDX-License-Identifier: MIT
// Large networks are planned and checked, in parts, within the compilers' default limits, and the parts agree with a
// single evaluation. all_nodes.cpp has 1,000 nodes.
#include <dsl/language.hpp>
#include <dsl/placement.hpp>

#include <utility>

namespace {

using namespace dsl;

template <std::size_t I>
using layer = conv2d<8 + static_cast<int>(I), 3>;
template <class>
struct chain_of;
template <std::size_t... I>
struct chain_of<std::index_sequence<I...>> {
  using type = network<image<3, 32, 32>, layer<I>..., flatten, dense<10>, softmax>;
};
using large = chain_of<std::make_index_sequence<246>>::type;
static_assert(large::view().size.nodes == 250);
static_assert(verified<large>);

template <class Network, plan_options O>
constexpr bool parts_agree() {
  plan const whole = make_plan(Network::view(), O);
  plan const stored = detail::planned<Network, O>::value.view();
  bool same = whole.steps.size() == stored.steps.size() && whole.buffers.size() == stored.buffers.size() &&
              whole.operands.size() == stored.operands.size() && whole.waits.size() == stored.waits.size() &&
              whole.bytes() == stored.bytes() && whole.metrics == stored.metrics && whole.labels == stored.labels;
  for (int b = 0; same && b < whole.buffers.size(); ++b)
    same = whole.buffers[b].offset == stored.buffers[b].offset && whole.buffers[b].last == stored.buffers[b].last;
  using checked = detail::checking::checked_plan<Network, O, 20>;
  static_assert(checked::parts > 1);
  return same && checked::verdict.holds() && checked::last.step == whole.steps.size() - 1;
}

using model = network<image<3, 32, 32>, minigooglenet<10>>;
static_assert(parts_agree<model, plan_options{.batch = 64}>());
static_assert(parts_agree<model, plan_options{.batch = 64, .mode = mode::inference}>());

// Two devices that wait for each other.
using halves =
    network<image<3, 8, 8>, conv_module<8, 3>, on<device<1>, inception_module<8, 8>>, flatten, dense<10>, softmax>;
static_assert(parts_agree<halves, plan_options{.batch = 8, .micro_batches = 4}>());

// A guess that is too small still gives the sizes.
constexpr detail::plan_sizes too_small{
    .tensors = model::view().size.tensors, .parameters = model::view().size.parameters, .devices = 1};
using guessed = detail::emitted_exactly<model, plan_options{.batch = 64}, too_small>;
static_assert(!detail::emitted<model, plan_options{.batch = 64}, too_small>::value.fits());
static_assert(guessed::value.fits() && guessed::value.view().steps.size() > 0);

}  // namespace
