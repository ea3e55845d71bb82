// SPDX-License-Identifier: MIT
// The two streams of a device: which steps run on the second one, and that none runs too early.
#include <dsl/dsl.hpp>
#include <dsl/plan/verify/streams.hpp>

namespace {

using namespace dsl;

using model = network<image<3, 32, 32>, minigooglenet<10>>;
using branches = network<image<3, 8, 8>, conv2d<4, 3>, concat<conv2d<4, 1>, sequential<conv2d<4, 3>, relu>, identity>,
                         flatten, dense<3>, softmax>;

constexpr target last{.channel_block = channels_last, .alignment = 256, .element_bytes = 2};

template <class Network>
constexpr plan plan_for(mode m, target const& to = last) {
  return make_plan(Network::view(), {.batch = 8, .mode = m, .target = to});
}
struct tally {
  int steps = 0;
  int beside = 0;  // on the second stream
  int gradients_of_kernels = 0;
  int waits = 0;
  int race = -1;
  int unnoticed = 0;  // waits that could be removed without first_race() noticing
  bool operator==(tally const&) const = default;
};
template <class Network>
constexpr tally tally_of(mode m, bool drop = true, target const& to = last) {
  plan const p = plan_for<Network>(m, to);
  plan_streams q = find_streams(Network::view(), p);
  tally t{.steps = p.steps.size(), .race = first_race(Network::view(), p, q)};
  for (int s = 0; s < p.steps.size(); ++s) {
    t.beside += q.stream[s];
    t.gradients_of_kernels += p.steps[s].what == action::backward_weights && q.stream[s] == 1;
    if (q.wait[s] < 0) continue;
    ++t.waits;
    if (!drop) continue;
    int const was = q.wait[s];
    q.wait[s] = -1;
    t.unnoticed += first_race(Network::view(), p, q) != s;
    q.wait[s] = was;
  }
  return t;
}

// The second branch, with its relu fused into the convolution, is on the second stream; the branches meet in the first
// copy.
constexpr tally inference = tally_of<branches>(mode::inference);
static_assert(inference.beside == 1 && inference.race == -1 && inference.unnoticed == 0);
static_assert(inference.waits == 2, "the second branch for the convolution in front, the concat for that branch");

constexpr tally training = tally_of<branches>(mode::training);
static_assert(training.race == -1 && training.unnoticed == 0);
static_assert(training.gradients_of_kernels == 4 && training.beside == 4);

// 19 convolutions and a dense layer. On the second stream is every kernel's gradient, and nothing of the forward pass.
constexpr tally whole = tally_of<model>(mode::training, false);  // Clang's limit of steps
static_assert(whole.race == -1);
static_assert(whole.gradients_of_kernels == 20 && whole.beside == 20);

// Convolutions that write their slices of one buffer do not wait for each other: an inception's second one is on the
// second stream, like a downsample's pool. Once per module each stream waits for the other; after the last inception
// one of them does.
constexpr target slices{
    .channel_block = channels_last, .alignment = 256, .element_bytes = 2, .library_writes_slices = true};
constexpr tally in_place = tally_of<model>(mode::inference, false, slices);
static_assert(in_place.race == -1 && in_place.beside == 8 + 2 && in_place.waits == 2 * (8 + 2));

// Invalid streams.
constexpr int broken(auto change) {
  plan const p = plan_for<branches>(mode::training);
  plan_streams q = find_streams(branches::view(), p);
  change(q);
  return first_race(branches::view(), p, q);
}
static_assert(broken([](plan_streams&) {}) == -1);
static_assert(broken([](plan_streams& q) { q.stream[1] = 1; }) >= 0);
static_assert(broken([](plan_streams& q) { q.stream[2] = 2; }) == 2);
static_assert(broken([](plan_streams& q) { q.wait[1] = 1; }) == 1);
static_assert(broken([](plan_streams& q) { q.wait[1] = 0; }) == 1, "both are on one queue");
static_assert(broken([](plan_streams& q) { q.wait.erase(0); }) == 0);

}  // namespace
