// SPDX-License-Identifier: MIT
#include "support/catch.hpp"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include <dsl/dsl.hpp>
#include <dsl/placement/on.hpp>
#include "support/random_graph.hpp"
#include "support/symbolic_executor.hpp"
#include "support/symbolic_interpreter.hpp"

// Tests the planner's passes as values, network by network, and one mistake for each of the checker's rules.

namespace {

using namespace dsl;
using namespace dsl::test;

using model = network<image<3, 32, 32>, minigooglenet<10>>;

plan plan_of(graph_view const& g, plan_options const& o) {
  plan p = make_plan(g, o);
  plan_verdict const v = verify(g, p);
  INFO("step " << v.step << ", index " << v.index << ": " << explain(v.broken));
  CHECK(v.holds());
  return p;
}

/// Returns whether the plan, executed with hashes instead of numbers, does what the graph says. For small networks
/// only.
bool does_what_the_graph_says(graph_view const& g, plan const& p) {
  symbolic::outcome executed;
  return symbolic::execute(g, p, executed) && executed == symbolic::interpret(g, p.options);
}

template <class Predicate>
int count_steps(plan const& p, Predicate wanted) {
  return static_cast<int>(std::count_if(p.steps.begin(), p.steps.end(), wanted));
}
int copies(plan const& p) {
  return count_steps(p,
                     [](step const& s) { return s.what == action::copy_forward || s.what == action::copy_backward; });
}
int steps_of(plan const& p, action what, op kind) {
  return count_steps(p, [&](step const& s) { return s.what == what && s.kind == kind; });
}
/// Counts launches: neighbouring steps of one group share one.
int launches(plan const& p, action what, op kind) {
  int n = 0;
  for (int s = 0; s < p.steps.size(); ++s) {
    step const& x = p.steps[s];
    bool const joins = s > 0 && x.group >= 0 && p.steps[s - 1].group == x.group && p.steps[s - 1].what == x.what;
    n += x.what == what && x.kind == kind && !joins;
  }
  return n;
}
operand const& operand_of(plan const& p, step const& s, int i) { return p.operands[s.first_operand + i]; }

template <class Layer, int... I>
sequential<std::enable_if_t<(I >= 0), Layer>...> repeat(std::integer_sequence<int, I...>);
template <int N, class Layer>
struct times : decltype(repeat<Layer>(std::make_integer_sequence<int, N>{})) {};

constexpr mode all_modes[] = {mode::training, mode::evaluation, mode::inference};

}  // namespace

TEST_CASE("MiniGoogLeNet: 19 batch_norms run as 11 groups") {
  plan const p = plan_of(model::view(), {.batch = 64});
  for (action what : {action::forward, action::backward}) {
    CHECK(steps_of(p, what, op::batch_norm) == 19);
    CHECK(launches(p, what, op::batch_norm) == 11);
  }
}

TEST_CASE("MiniGoogLeNet: concat costs no copy") {
  CHECK(copies(plan_of(model::view(), {.batch = 64, .target = {.channel_block = channels_last}})) == 0);
  for (int block : {1, 8, 16}) {
    CHECK(copies(plan_of(model::view(), {.batch = 64, .target = {.channel_block = block}})) == 0);
    // in inference the convolution writes last, and it can write into a slice only at batch 1
    CHECK(copies(plan_of(model::view(), {.batch = 1,
                                         .mode = mode::inference,
                                         .target = {.channel_block = block, .library_writes_slices = true}})) == 0);
  }
}

TEST_CASE("MiniGoogLeNet: with channels last a library's convolutions write their slices in inference") {
  target gpu{.channel_block = channels_last, .element_bytes = 2, .library_writes_slices = true};
  for (int batch : {1, 64})
    for (mode m : all_modes) CHECK(copies(plan_of(model::view(), {.batch = batch, .mode = m, .target = gpu})) == 0);
  gpu.library_writes_slices = false;
  CHECK(copies(plan_of(model::view(), {.batch = 64, .mode = mode::inference, .target = gpu})) == 18);

  // Every slice of the buffer must be a multiple of 16 bytes: 8 channels of 2 bytes.
  gpu.library_writes_slices = true;
  auto const copied = [&](graph_view const& g, mode m) { return copies(plan_of(g, {.mode = m, .target = gpu})); };
  using even = network<image<3, 8, 8>, concat<conv2d<8, 1>, conv2d<16, 3>, identity, conv2d<8, 3>>, flatten, dense<2>>;
  using good = network<image<8, 8, 8>, concat<conv2d<8, 1>, conv2d<16, 3>, identity, conv2d<8, 3>>, flatten, dense<2>>;
  using late = network<image<8, 8, 8>, concat<conv2d<8, 1>, conv2d<12, 3>, conv2d<12, 1>>, flatten, dense<2>>;
  CHECK(copied(even::view(), mode::inference) == 4);  // the picture's 3 channels
  CHECK(copied(good::view(), mode::inference) == 1);  // the picture itself
  CHECK(copied(late::view(), mode::inference) == 2);
  CHECK(copied(good::view(), mode::training) == 4 + 3);  // no convolution reads its gradient in a slice
}

TEST_CASE("MiniGoogLeNet: 19 biases in front of a batch_norm are skipped, and read for its running mean") {
  graph_view const g = model::view();
  plan const p = plan_of(g, {.batch = 64});
  std::vector<int> forward_reads(static_cast<std::size_t>(g.size.parameters));
  std::vector<int> norm_reads(forward_reads), gradients(forward_reads);
  for (step const& s : p.steps)
    for (int i = 0; i < s.operands; ++i) {
      operand const& o = operand_of(p, s, i);
      auto const k = static_cast<std::size_t>(o.index);
      if (o.what == content::parameter && s.what == action::forward)
        ++(s.kind == op::batch_norm ? norm_reads : forward_reads)[k];
      if (o.what == content::parameter_gradient) ++gradients[k];
    }
  int skipped = 0;
  for (int k = 0; k < g.size.parameters; ++k) {
    auto const i = static_cast<std::size_t>(k);
    if (g.parameters[k].role != role::bias) continue;
    bool const of_conv = g.nodes[g.parameters[k].node].kind == op::conv2d;
    skipped += of_conv;
    CHECK(forward_reads[i] == (of_conv ? 0 : 1));
    CHECK(norm_reads[i] == (of_conv ? 1 : 0));
    CHECK(gradients[i] == (of_conv ? 0 : 1));
  }
  CHECK(skipped == 19);
  plan const inference = plan_of(g, {.batch = 64, .mode = mode::inference});
  CHECK(steps_of(inference, action::forward, op::batch_norm) == 0);
  CHECK(steps_of(inference, action::forward, op::activation) == 0);
}

TEST_CASE("a step that computes gradients of parameters has those of its own node, each once") {
  using net = network<image<3, 8, 8>, conv2d<4, 3, bias<false>>, relu, conv2d<4, 3, bias<false>>, batch_norm<>, relu,
                      conv2d<4, 3>, flatten, dense<3>, softmax>;
  graph_view const g = net::view();
  plan const p = plan_of(g, {.batch = 4});
  std::vector<int> gradients(static_cast<std::size_t>(g.size.parameters));
  for (step const& s : p.steps)
    for (int i = 0; i < s.operands; ++i) {
      operand const& o = operand_of(p, s, i);
      if (o.what != content::parameter_gradient || o.how != access::write) continue;
      ++gradients.at(static_cast<std::size_t>(o.index));
      CHECK(g.parameters[o.index].node == s.node);
    }
  for (int k = 0; k < g.size.parameters; ++k)
    CHECK(gradients[static_cast<std::size_t>(k)] == (g.parameters[k].trainable() ? 1 : 0));
}
TEST_CASE("branches of one input: the first data gradient writes, the second adds") {
  graph_view const g = model::view();
  plan const p = plan_of(g, {.batch = 64});
  std::vector<dsl::access> into(static_cast<std::size_t>(g.size.tensors), dsl::access::read);
  int added = 0;
  for (step const& s : p.steps) {
    if (s.what == action::update || s.operands == 0) continue;
    operand const& o = operand_of(p, s, s.operands - 1);
    if (o.what != content::gradient || o.how == dsl::access::read) continue;
    dsl::access& first = into[static_cast<std::size_t>(o.index)];
    CHECK(o.how == (first == dsl::access::read ? dsl::access::write : dsl::access::accumulate));
    first = o.how;
    added += o.how == dsl::access::accumulate;
  }
  CHECK(added == 10);  // eight inceptions and two downsamplings have two branches
}

TEST_CASE("dropout works in place, and in inference it is another name") {
  graph_view const g = model::view();
  for (mode m : all_modes) {
    plan const p = plan_of(g, {.batch = 64, .mode = m});
    for (int n = 0; n < g.size.nodes; ++n) {
      node const& x = g.nodes[n];
      if (x.kind != op::dropout) continue;
      CHECK(p.activations[x.output].buffer == p.activations[g.input(x)].buffer);
      CHECK(steps_of(p, action::forward, op::dropout) == (m == mode::training ? 1 : 0));
      if (m == mode::training) CHECK(p.gradients[x.output].buffer == p.gradients[g.input(x)].buffer);
    }
  }
}

TEST_CASE("an identity branch of a concat is copied, and so is its gradient") {
  using dense_block = concat<identity, conv_module<4, 3, 3>>;
  using net = network<image<3, 6, 6>, conv_module<4, 3, 3>, dense_block, dense_block, flatten, dense<3>, softmax>;
  for (int block : {channels_last, 1, 4}) {
    plan const p = plan_of(net::view(), {.batch = 2, .target = {.channel_block = block}});
    CHECK(steps_of(p, action::copy_forward, op::concat) == 2);
    CHECK(steps_of(p, action::copy_backward, op::concat) == 2);
    CHECK(does_what_the_graph_says(net::view(), p));
  }
}

TEST_CASE("activations inside a concat keep the outputs that their backward pass reads") {
  using branches =
      concat<sequential<conv2d<4, 1>, relu>, sequential<conv2d<4, 3>, sigmoid>, sequential<conv2d<4, 1>, silu>>;
  using dropped = network<image<4, 4, 4>, branches, dropout<0.5>, flatten, dense<3>, softmax>;
  using normalised = network<image<4, 4, 4>, branches, batch_norm<>, relu, flatten, dense<3>, softmax>;
  using activated = network<image<4, 4, 4>, branches, dsl::tanh, flatten, dense<3>, softmax>;
  for (graph_view const& g : {dropped::view(), normalised::view(), activated::view()})
    for (mode m : all_modes)
      for (int block : {channels_last, 1, 4}) {
        plan const p = plan_of(g, {.batch = 2, .mode = m, .target = {.channel_block = block}});
        CHECK(does_what_the_graph_says(g, p));
        if (m == mode::training) CHECK(copies(p) == 0);
      }
}

TEST_CASE("two batch_norms on one input add to one gradient, one after the other") {
  using net = network<image<3, 4, 4>, conv2d<4, 3>, concat<batch_norm<>, sequential<batch_norm<>, relu>>, flatten,
                      dense<3>, softmax>;
  plan const p = plan_of(net::view(), {.batch = 2});
  CHECK(launches(p, action::backward, op::batch_norm) == 2);
  CHECK(does_what_the_graph_says(net::view(), p));
}

TEST_CASE("flatten costs a step only where channels are in blocks, or last") {
  using net = network<image<3, 4, 4>, conv_module<16, 3, 3>, flatten, dense<3>, softmax>;
  using one_pixel = network<image<3, 4, 4>, conv_module<16, 3, 3>, global_avg_pool2d, flatten, dense<3>, softmax>;
  for (mode m : all_modes) {
    plan const packed = plan_of(net::view(), {.batch = 2, .mode = m});
    CHECK(steps_of(packed, action::forward, op::flatten) == 0);
    CHECK(steps_of(packed, action::backward, op::flatten) == 0);
    CHECK(does_what_the_graph_says(net::view(), packed));
    for (int block : {channels_last, 16}) {
      plan const blocked = plan_of(net::view(), {.batch = 2, .mode = m, .target = {.channel_block = block}});
      CHECK(steps_of(blocked, action::forward, op::flatten) == 1);
      CHECK(steps_of(blocked, action::backward, op::flatten) == (m == mode::training ? 1 : 0));
      CHECK(does_what_the_graph_says(net::view(), blocked));
      plan const one = plan_of(one_pixel::view(), {.batch = 2, .mode = m, .target = {.channel_block = block}});
      CHECK(steps_of(one, action::forward, op::flatten) == 0);
    }
  }
}

TEST_CASE("channels last: no channel is padded, and a slice may begin anywhere") {
  using net = network<image<3, 5, 5>, concat<conv_module<5, 3, 3>, conv_module<7, 3, 3>>, conv_module<6, 1, 1>, flatten,
                      dense<3>, softmax>;
  target const to{.channel_block = channels_last, .alignment = 256, .element_bytes = 2};
  plan const p = plan_of(net::view(), {.batch = 2, .target = to});
  CHECK(copies(p) == 0);
  CHECK(does_what_the_graph_says(net::view(), p));
  for (buffer const& b : p.buffers) {
    if (b.where == region::activations && b.shape.area() > 1) CHECK(b.block == b.shape.channels);
    CHECK(padded_channels(b) == b.shape.channels);
  }
}

TEST_CASE("a plan is the same at compile time and at run time") {
  constexpr long long at_compile_time = model::training_bytes(64);
  constexpr int steps = make_plan(model::view(), {.batch = 64}).steps.size();
  int volatile batch = 64;
  plan const p = plan_of(model::view(), {.batch = batch});
  CHECK(p.bytes() == at_compile_time);
  CHECK(p.steps.size() == steps);
  constexpr long long inference = model::inference_bytes(8, {.channel_block = 16});
  CHECK(make_plan(model::view(), {batch / 8, mode::inference, {.channel_block = 16}, 0}).bytes() == inference);
}

TEST_CASE("the arena is hardly larger than what lives at its fullest step") {
  for (mode m : all_modes) {
    plan const p = plan_of(model::view(), {.batch = 64, .mode = m});
    long long peak = 0;
    for (int s = 0; s < p.steps.size(); ++s) {
      long long live = 0;
      for (buffer const& b : p.buffers)
        if (b.where == region::activations && b.first >= 0 && b.first <= s && s <= b.last) live += b.bytes;
      peak = std::max(peak, live);
    }
    long long const arena = p.region_bytes[static_cast<int>(region::activations)];
    INFO("mode " << static_cast<int>(m) << ": arena " << arena << ", peak " << peak);
    CHECK(arena >= peak);
    // in order of first use, the short lifetimes of inference leave holes of up to two fifths
    CHECK(100 * arena <= (m == mode::training ? 105 : 150) * peak);
  }
}

TEST_CASE("100 layers at compile time, 1,000 and 10,000 at run time") {
  using deep = network<image<3, 8, 8>, times<33, conv_module<8, 3, 3>>, global_avg_pool2d, flatten, dense<10>, softmax>;
  static_assert(deep::graph.view().size.nodes == 104);
  static_assert(verified<deep>);
  for (int layers : {1'000, 10'000}) {
    graph_values chain;
    int t = chain.image({3, 8, 8});
    for (int i = 0; i < layers / 3; ++i) t = chain.act(chain.norm(chain.conv(t, 8, 3)));
    chain.softmax(chain.dense(chain.flatten(chain.pool(op::avg_pool2d, t, 8, 1)), 10));
    for (mode m : all_modes) {
      plan const p = plan_of(chain.view(), {.batch = 8, .mode = m});
      // outside training, a chain of any length needs two activations at a time
      if (m != mode::training) CHECK(p.region_bytes[static_cast<int>(region::activations)] <= 3 * 8 * 8 * 8 * 8 * 4);
    }
  }
}

TEST_CASE("batches, losses and targets") {
  for (int batch : {1, 7, 64, 1024})
    for (mode m : all_modes)
      for (loss l : {loss::categorical_crossentropy, loss::mean_squared_error})
        for (int block : {channels_last, 1, 8, 16}) {
          plan const p =
              plan_of(model::view(), {.batch = batch, .mode = m, .target = {.channel_block = block}, .loss = l});
          bool const softmax_has_a_backward_pass = m == mode::training && l == loss::mean_squared_error;
          CHECK(steps_of(p, action::backward, op::softmax) == (softmax_has_a_backward_pass ? 1 : 0));
        }
}

TEST_CASE("values to be learnt are as many as the outputs, and a sigmoid's loss is that of its logits") {
  using masks = network<image<3, 4, 6>, conv2d<2, 3>, sigmoid>;
  for (mode m : {mode::training, mode::evaluation})
    for (loss l : {loss::mean_squared_error, loss::mean_absolute_error, loss::huber, loss::binary_crossentropy}) {
      plan const p = plan_of(masks::view(), {.batch = 3, .mode = m, .loss = l, .targets = target_kind::values});
      CHECK(p.buffers[p.labels].shape == shape{2, 4, 6});
      bool const goes_back = m == mode::training && l != loss::binary_crossentropy;
      CHECK(steps_of(p, action::backward, op::activation) == (goes_back ? 1 : 0));
    }
  plan classes = plan_of(masks::view(), {.batch = 3, .loss = loss::mean_squared_error});
  CHECK(classes.buffers[classes.labels].shape == shape{});
  classes.options.targets = target_kind::values;
  CHECK(verify(masks::view(), classes).broken == plan_rule::buffers_fit_what_they_hold);
}

// ---- the checker's rules, one by one ----

namespace {

using small = network<image<3, 4, 4>, concat<conv_module<4, 1, 1>, conv_module<4, 3, 3>, identity>, dropout<0.5>,
                      max_pool2d<2>, flatten, dense<3>, softmax>;

int find(plan const& p, action what, op kind) {
  for (int s = 0; s < p.steps.size(); ++s)
    if (p.steps[s].what == what && (p.steps[s].kind == kind || kind == op::input)) return s;
  FAIL("no such step");
  return -1;
}

/// Makes one mistake in a good plan, and returns the rule that the checker finds broken.
template <class Mistake>
std::string broken_by(Mistake mistake, plan_options const& o = {.batch = 2}) {
  plan p = plan_of(small::view(), o);
  mistake(p);
  return explain(verify(small::view(), p).broken);
}

}  // namespace

TEST_CASE("each rule of the checker has a mistake that breaks it") {
  auto const says = [](plan_rule r) { return std::string(explain(r)); };
  CHECK(broken_by([](plan&) {}) == says(plan_rule::holds));
  CHECK(broken_by([](plan& p) { p.gradients.erase(0); }) == says(plan_rule::tables_cover_the_graph));
  CHECK(broken_by([](plan& p) { p.buffers[p.activations[0].buffer].bytes -= 64; }) ==
        says(plan_rule::buffers_fit_what_they_hold));
  CHECK(broken_by([](plan& p) { p.buffers[p.activations[0].buffer].offset += 4; }) ==
        says(plan_rule::buffers_lie_aligned_in_their_region));
  CHECK(broken_by([](plan& p) {
          p.buffers[p.parameter_buffers[0]].offset = p.buffers[p.parameter_buffers[1]].offset;
        }) == says(plan_rule::parameters_do_not_overlap));
  CHECK(broken_by([](plan& p) { p.region_bytes[static_cast<int>(region::slots)] -= 64; }) ==
        says(plan_rule::devices_share_out_the_regions));
  CHECK(broken_by([](plan& p) {
          std::swap(p.buffers[p.parameter_gradient_buffers[0]].offset,
                    p.buffers[p.parameter_gradient_buffers[1]].offset);
        }) == says(plan_rule::gradients_and_slots_mirror_the_parameters));
  CHECK(broken_by([](plan& p) { p.steps.insert(1, p.steps[0]); }) == says(plan_rule::the_batch_is_loaded_first));
  CHECK(broken_by([](plan& p) { p.steps[find(p, action::forward, op::conv2d)].kind = op::dense; }) ==
        says(plan_rule::steps_fit_their_node));
  CHECK(broken_by([](plan& p) {
          step& s = p.steps[find(p, action::forward, op::batch_norm)];
          ++s.activation;
        }) == says(plan_rule::fused_values_have_one_reader));
  CHECK(broken_by([](plan& p) { p.steps.insert(1, p.steps[1]); }) == says(plan_rule::every_node_runs_once));
  CHECK(broken_by([](plan& p) { --p.steps[find(p, action::forward, op::conv2d)].operands; }) ==
        says(plan_rule::operands_are_what_the_step_needs));
  CHECK(broken_by([](plan& p) { p.steps.erase(find(p, action::copy_forward, op::concat)); }) ==
        says(plan_rule::every_read_has_its_write));
  CHECK(broken_by([](plan& p) {
          operand& o = p.operands[p.steps[find(p, action::loss, op::input)].first_operand + 3];
          o.how = dsl::access::accumulate;
        }) == says(plan_rule::gradient_contributions_are_summed_once));
  CHECK(broken_by([](plan& p) { p.steps[find(p, action::loss, op::input)].node = 1; }) ==
        says(plan_rule::the_loss_is_computed_once));
  CHECK(broken_by([](plan& p) { p.steps.erase(p.steps.size() - 1); }) ==
        says(plan_rule::parameters_are_updated_once_after_their_gradients));
  CHECK(broken_by([](plan& p) {
          p.options.gradient_norm = true;  // no step measures them
        }) == says(plan_rule::gradients_are_measured_when_they_are_whole));
  CHECK(broken_by([](plan& p) {
          int const s = find(p, action::forward, op::dropout);  // max_pool2d reads the buffer that it writes
          p.steps[s].group = p.steps[s + 1].group = 99;
        }) == says(plan_rule::groups_are_independent));
  CHECK(broken_by([](plan& p) { p.buffers[p.activations[0].buffer].offset = p.buffers[p.labels].offset; }) ==
        says(plan_rule::live_buffers_do_not_overlap));
}

TEST_CASE("each rule about devices and micro-batches has a mistake that breaks it") {
  using placed =
      network<image<3, 4, 4>, conv2d<4, 3>, add<on<device<0>, conv2d<4, 1>>, on<device<1>, conv2d<4, 3>, batch_norm<>>>,
              on<device<2>, flatten, dense<3>, softmax>>;
  graph_view const g = placed::view();
  auto const broken_by = [&](auto mistake) {
    plan p = plan_of(g, {.batch = 5, .micro_batches = 2});
    CHECK(does_what_the_graph_says(g, p));
    mistake(p);
    return std::string(explain(verify(g, p).broken));
  };
  auto const says = [](plan_rule r) { return std::string(explain(r)); };
  CHECK(broken_by([](plan& p) { p.steps[find(p, action::forward, op::batch_norm)].device = 0; }) ==
        says(plan_rule::steps_use_their_devices_memory));
  CHECK(broken_by([](plan& p) {  // it may read another device's memory, but write only its own
          step& s = p.steps[find(p, action::forward, op::transfer)];
          s.device = 1 - s.device;
        }) == says(plan_rule::steps_use_their_devices_memory));
  CHECK(broken_by([](plan& p) { p.waits[0] = p.steps.size(); }) == says(plan_rule::steps_wait_for_earlier_ones));
  CHECK(broken_by([](plan& p) { p.steps[find(p, action::forward, op::transfer)].waits = 0; }) ==
        says(plan_rule::devices_do_not_race));
  CHECK(broken_by([](plan& p) { p.steps[find(p, action::backward, op::transfer)].waits = 0; }) ==
        says(plan_rule::devices_do_not_race));
  CHECK(broken_by([](plan& p) { p.devices[1].bytes[static_cast<int>(region::parameters)] -= 64; }) ==
        says(plan_rule::devices_share_out_the_regions));
  CHECK(broken_by([](plan& p) { p.steps.erase(find(p, action::add_gradients, op::dense)); }) ==
        says(plan_rule::parameters_are_updated_once_after_their_gradients));
  CHECK(broken_by([](plan& p) {  // the loss of the second micro-batch comes first
          int const first = find(p, action::loss, op::input);
          int second = first + 1;
          while (p.steps[second].what != action::loss) ++second;
          step const s = p.steps[first];
          p.steps.erase(first);
          p.steps.insert(second, s);
        }) == says(plan_rule::micro_batches_come_in_order));
}

TEST_CASE("the update of a plan that clips gradients waits for the length of all of them") {
  using placed = network<image<3, 4, 4>, conv2d<4, 3>, on<device<1>, flatten, dense<3>, softmax>>;
  for (plan_options o : {plan_options{.batch = 5}, {.batch = 5, .all_reduce_buckets = 2, .micro_batches = 2}}) {
    o.gradient_norm = true;
    graph_view const g = placed::view();
    plan const right = plan_of(g, o);
    CHECK(does_what_the_graph_says(g, right));
    CHECK(verify(g, right).holds());
    CHECK(steps_of(right, action::measure, op::input) == 2);
    int const end = right.steps.size();
    REQUIRE(right.steps[end - 1].what == action::update);
    CHECK(right.steps[end - 1].operands == 2);  // one of each device
    CHECK(right.steps[end - 2].waits + right.steps[end - 1].waits >= 1);

    int const measured = find(right, action::measure, op::input);
    plan early = right;  // before the last gradient is there
    std::swap(early.steps[measured - 1], early.steps[measured]);
    CHECK_FALSE(verify(g, early).holds());
    plan twice = right;
    twice.steps.insert(measured, twice.steps[measured]);
    CHECK(verify(g, twice).broken == plan_rule::gradients_are_measured_when_they_are_whole);
    plan alone = right;  // each update with that of its own device only
    for (int s = end - 2; s < end; ++s) {
      alone.steps[s].operands = 1;
      alone.steps[s].first_operand += alone.steps[s].device;
    }
    CHECK_FALSE(does_what_the_graph_says(g, alone));
    CHECK(verify(g, alone).broken == plan_rule::operands_are_what_the_step_needs);
    plan racing = right;
    for (int s = end - 2; s < end; ++s) racing.steps[s].waits = 0;
    CHECK(verify(g, racing).broken == plan_rule::devices_do_not_race);
  }
  // inference and evaluation have no gradients
  for (mode m : {mode::evaluation, mode::inference}) {
    plan const p = plan_of(small::view(), {.batch = 2, .mode = m, .gradient_norm = true});
    CHECK(steps_of(p, action::measure, op::input) == 0);
    CHECK(verify(small::view(), p).holds());
  }
}

TEST_CASE("a transfer for each device that reads a tensor, and gradients come back in the end") {
  using placed = network<image<3, 4, 4>, on<device<0>, conv2d<4, 3>>,
                         concat<on<device<1>, conv2d<4, 1>, relu>, on<device<0>, conv2d<4, 1>>,
                                on<device<1>, conv2d<4, 3>>, on<device<2>, max_pool2d<1, 1>>>,
                         flatten, dense<3>, softmax>;
  graph_view const g = placed::view();
  plan const p = plan_of(g, {.batch = 2});
  CHECK(does_what_the_graph_says(g, p));
  // The stem's output goes to devices 1 and 2, once each; the outputs of three branches come back to device 0.
  CHECK(steps_of(p, action::forward, op::transfer) == 5);
  CHECK(steps_of(p, action::backward, op::transfer) == 5);
  CHECK(copies(p) == 2);  // those of device 0's branch: the transfers write their slices of the concat themselves
  int last_weights = -1, first_back = -1;  // device 0 runs its own branch before it waits for the others
  for (int s = 0; s < p.steps.size(); ++s) {
    step const& x = p.steps[s];
    if (x.device != 0) continue;
    if (x.what == action::backward && x.kind == op::transfer && first_back < 0) first_back = s;
    if (x.what == action::backward_weights && x.kind == op::conv2d && first_back < 0) last_weights = s;
  }
  CHECK(last_weights >= 0);
  CHECK(last_weights < first_back);
  // each device has the pieces that it needs
  for (int d = 0; d < 3; ++d) CHECK(p.devices[d].bytes[static_cast<int>(region::activations)] > 0);
  CHECK(p.devices[1].bytes[static_cast<int>(region::parameters)] > 0);
  CHECK(p.devices[2].bytes[static_cast<int>(region::parameters)] == 0);
}

TEST_CASE("a buffer takes the smallest hole that it fits in") {
  plan p;
  p.devices.push({});
  for (int s = 0; s < 4; ++s) p.steps.push({});
  auto const add = [&](long long bytes, int first, int last) {
    buffer b;
    b.bytes = bytes, b.first = first, b.last = last;
    return p.buffers.push(b);
  };
  add(192, 0, 1), add(64, 0, 3);  // leaves a hole of 192 bytes, followed by one in use
  add(64, 0, 1), add(64, 0, 3);   // a hole of 64
  int const small = add(64, 2, 3);
  int const large = add(192, 3, 3);
  detail::assign_offsets(p, 0);
  CHECK(p.buffers[small].offset == 256);
  CHECK(p.buffers[large].offset == 0);
  CHECK(p.region_bytes[static_cast<int>(region::activations)] == 384);
}

TEST_CASE("in inference each micro-batch's result lives to the end of the step") {
  using piped = network<image<3, 8, 8>, on<device<0>, conv2d<4, 3>, relu>,
                        on<device<1>, conv2d<4, 3>, relu, flatten, dense<3>, softmax>>;
  graph_view const g = piped::view();
  for (mode m : {mode::evaluation, mode::inference}) {
    plan const p = plan_of(g, {.batch = 9, .mode = m, .micro_batches = 3});
    REQUIRE(p.micro_batches == 3);
    for (int micro = 0; micro < 3; ++micro)
      CHECK(p.buffers[p.activations[micro * g.size.tensors + g.result()].buffer].last == p.steps.size() - 1);
  }
}

TEST_CASE("with micro-batches a device goes on while the next one works") {
  using piped = network<image<3, 8, 8>, on<device<0>, conv2d<4, 3>, relu>, on<device<1>, conv2d<4, 3>, relu>,
                        on<device<1>, flatten, dense<3>, softmax>>;
  graph_view const g = piped::view();
  plan const p = plan_of(g, {.batch = 10, .micro_batches = 4});
  CHECK(does_what_the_graph_says(g, p));
  CHECK(p.micro_batches == 4);
  CHECK(p.samples_of({.micro = 0}).size == 2);
  CHECK(p.samples_of({.micro = 3}).size == 4);
  // Device 0's forward steps of micro-batch 1 do not wait for any result of micro-batch 0 on device 1.
  for (step const& s : p.steps)
    for (int i = s.first_wait; i < s.first_wait + s.waits; ++i)
      if (step const& other = p.steps[p.waits[i]]; s.device == 0 && s.micro == 1 && s.what == action::forward)
        CHECK(other.kind == op::transfer);
  plan const whole = plan_of(g, {.batch = 3, .micro_batches = 4});
  CHECK(whole.micro_batches == 1);
  CHECK(plan_of(g, {.batch = 8, .micro_batches = 4}).bytes() < plan_of(g, {.batch = 8}).bytes());
}

TEST_CASE("a plan of a placed graph has its waits, whoever made the view") {
  using placed = network<image<3, 4, 4>, conv2d<4, 3>, add<on<device<0>, conv2d<4, 1>>, on<device<1>, conv2d<4, 3>>>,
                         on<device<2>, flatten, dense<3>, softmax>>;
  plan_options const options{.batch = 5, .all_reduce_buckets = 2, .micro_batches = 2};
  plan const wanted = plan_of(placed::view(), options);
  plan const own = plan_of(placed::graph.view(), options);
  CHECK(std::equal(own.waits.begin(), own.waits.end(), wanted.waits.begin(), wanted.waits.end()));
  CHECK(does_what_the_graph_says(placed::view(), wanted));
}

TEST_CASE("mistakes in the tables of tensors") {
  auto const says = [](plan_rule r) { return std::string(explain(r)); };
  // x -> conv -> conv -> conv, with buffers of one shape: the third may use the first one's, but not its own input's
  graph_values chain;
  int const x = chain.image({4, 4, 4});
  int const a = chain.conv(x, 4, 3);
  int const b = chain.conv(a, 4, 3);
  int const c = chain.conv(b, 4, 3);
  chain.dense(chain.flatten(c), 3);
  graph_view const g = chain.view();
  auto const move = [&](plan& p, int tensor, int to) {
    int const from = p.activations[tensor].buffer;
    for (operand& o : p.operands)
      if (o.buffer == from) o.buffer = to;
    for (placement& at : p.activations)
      if (at.buffer == from) at.buffer = to;
  };
  plan_options const inference{.batch = 2, .mode = mode::inference};
  plan p = plan_of(g, inference);
  move(p, c, p.activations[b].buffer);
  CHECK(explain(verify(g, p).broken) == says(plan_rule::only_elementwise_steps_overwrite_their_input));
  p = plan_of(g, inference);
  move(p, c, p.activations[a].buffer);
  CHECK(verify(g, p).broken == plan_rule::holds);
  CHECK(does_what_the_graph_says(g, p));
  plan trains = plan_of(g, {.batch = 2});
  move(trains, c, trains.activations[a].buffer);  // a is read again by its reader's backward pass
  CHECK(explain(verify(g, trains).broken) == says(plan_rule::values_live_to_their_last_use));

  // concat<1 channel, 3 channels> in blocks of 2: a slice would begin inside a block
  graph_values joined;
  int const in = joined.image({2, 2, 2});
  int const one = joined.act(joined.norm(joined.conv(in, 1, 1)));
  int const three = joined.act(joined.norm(joined.conv(in, 3, 1)));
  joined.dense(joined.flatten(joined.concat({one, three})), 3);
  plan blocked = plan_of(joined.view(), {.batch = 2, .target = {.channel_block = 2}});
  CHECK(copies(blocked) == 4);
  CHECK(does_what_the_graph_says(joined.view(), blocked));
  blocked.activations[three] = {blocked.activations[three + 1].buffer, 1};
  CHECK(explain(verify(joined.view(), blocked).broken) == says(plan_rule::slices_are_whole_channel_blocks));
}

TEST_CASE("a copy that may zero the rest of a channel block comes before the copies into it") {
  // 3, 4 and 1 channels in blocks of 4: the first and second share a block, and so do the second and third
  graph_values net;
  int const in = net.image({2, 2, 2});
  net.dense(net.flatten(net.concat({net.conv(in, 3, 1), net.conv(in, 4, 1), net.conv(in, 1, 1)})), 3);
  plan_options const options{.batch = 4, .target = {.channel_block = 4}, .micro_batches = 2};
  plan const right = plan_of(net.view(), options);
  CHECK(does_what_the_graph_says(net.view(), right));
  int const first = find(right, action::copy_forward, op::concat);
  auto const swapped = [&](int a, int b, bool moves_results) {
    plan p = right;
    std::swap(p.steps[first + a], p.steps[first + b]);
    CHECK(does_what_the_graph_says(net.view(), p) != moves_results);
    return verify(net.view(), p).broken;
  };
  CHECK(swapped(1, 2, true) == plan_rule::copies_fill_blocks_from_the_front);
  CHECK(swapped(0, 1, false) == plan_rule::copies_fill_blocks_from_the_front);  // a kernel may fill up any block
  CHECK(swapped(0, 0, false) == plan_rule::holds);
  plan grouped = right;
  grouped.steps[first + 1].group = grouped.steps[first + 2].group = 0;
  CHECK_FALSE(does_what_the_graph_says(net.view(), grouped));
  CHECK(verify(net.view(), grouped).broken == plan_rule::groups_are_independent);
  // in separate blocks, any order is possible
  graph_values apart;
  int const x = apart.image({4, 2, 2});
  apart.dense(apart.flatten(apart.concat({x, apart.conv(x, 4, 1), x})), 3);
  plan p = plan_of(apart.view(), {.batch = 2, .target = {.channel_block = 4}});
  int const copy = find(p, action::copy_forward, op::concat);
  REQUIRE(p.steps[copy + 1].what == action::copy_forward);
  std::swap(p.steps[copy], p.steps[copy + 1]);
  CHECK(does_what_the_graph_says(apart.view(), p));
  CHECK(verify(apart.view(), p).holds());
}

TEST_CASE("steps of no node, and the loss, say no other kind") {
  plan const right = plan_of(small::view(), {.batch = 2, .all_reduce_buckets = 1, .gradient_norm = true});
  for (action what : {action::load, action::loss, action::all_reduce, action::measure, action::update}) {
    INFO("action " << static_cast<int>(what));
    auto const broken_by = [&](auto mistake) {
      plan p = right;
      mistake(p.steps[find(p, what, op::input)]);
      return verify(small::view(), p).broken;
    };
    CHECK(broken_by([](step& s) { s.kind = op::transfer; }) == plan_rule::steps_fit_their_node);
    CHECK(broken_by([](step& s) { s.activation = 1; }) == plan_rule::steps_fit_their_node);
    CHECK(broken_by([](step& s) { s.batch_norm = 1; }) == plan_rule::steps_fit_their_node);
    CHECK(broken_by([](step& s) { s.node = small::view().size.nodes; }) == plan_rule::steps_fit_their_node);
    if (what != action::loss) CHECK(broken_by([](step& s) { s.node = 1; }) == plan_rule::steps_fit_their_node);
  }
}

TEST_CASE("a gradient that is read too early") {
  // two convolutions read x; its producer's backward pass is moved between their data gradients
  graph_values net;
  int const in = net.image({2, 3, 3});
  int const x = net.conv(in, 2, 1);
  net.softmax(net.dense(net.flatten(net.concat({net.conv(x, 2, 1), net.conv(x, 3, 1)})), 3));
  plan p = plan_of(net.view(), {.batch = 2});
  int first = -1;
  for (int s = 0; s < p.steps.size(); ++s)
    if (p.steps[s].what == action::backward_data && p.steps[s].kind == op::conv2d && first < 0) first = s;
  int const weights = p.steps.size() - 2;
  REQUIRE(p.steps[weights].what == action::backward_weights);
  step const s = p.steps[weights];
  p.steps.erase(weights);
  p.steps.insert(first + 1, s);
  CHECK(verify(net.view(), p).broken == plan_rule::gradients_are_complete_when_read);
}

TEST_CASE("a step that works in place is in no group with another reader of its input") {
  graph_values net;
  int const x = net.conv(net.image({4, 3, 3}), 4, 1);
  int const other = net.conv(x, 4, 1);
  net.dense(net.flatten(net.add({other, net.act(x, function::tanh)})), 3);
  plan p = plan_of(net.view(), {.batch = 2, .mode = mode::inference});
  int const in_place = find(p, action::forward, op::activation), reader = in_place - 1;
  REQUIRE(p.steps[reader].kind == op::conv2d);
  int const own = operand_of(p, p.steps[in_place], 1).buffer, of_x = operand_of(p, p.steps[reader], 0).buffer;
  for (operand& o : p.operands)
    if (o.buffer == own) o.buffer = of_x;
  for (placement& at : p.activations)
    if (at.buffer == own) at.buffer = of_x;
  constexpr int activations = static_cast<int>(region::activations);
  p.buffers[of_x].offset = p.region_bytes[activations];  // memory of its own, since it is used for longer
  p.region_bytes[activations] += p.buffers[of_x].bytes;
  p.devices[0].bytes[activations] = p.region_bytes[activations];
  CHECK(does_what_the_graph_says(net.view(), p));
  CHECK(verify(net.view(), p).holds());
  p.steps[reader].group = p.steps[in_place].group = 7;
  CHECK(verify(net.view(), p).broken == plan_rule::groups_are_independent);
}
