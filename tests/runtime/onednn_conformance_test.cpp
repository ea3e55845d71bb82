// SPDX-License-Identifier: MIT
// Compares the oneDNN executor with reference in double, tensor by tensor, as tests/support/conformance.hpp explains.

#include "support/conformance.hpp"

#include <dsl/dsl.hpp>
#include <dsl/executors/host/instructions.hpp>
#include <dsl/executors/onednn.hpp>
#include <dsl/executors/onednn/engine.hpp>
#include <dsl/executors/onednn/parallel.hpp>

using namespace dsl;
using namespace dsl::test;

namespace {

/// Returns the library's choices, one for each pass of a convolution.
std::vector<std::string> implementations(dnn::engine const& e) {
  std::vector<std::string> all;
  std::istringstream lines(e.implementations());
  for (std::string line; std::getline(lines, line);) all.push_back(line);
  return all;
}

std::unique_ptr<dnn::engine> make_engine(graph_view const& g, engine_options const& o, setup const& c) {
  return std::make_unique<dnn::engine>(g, o, target{.channel_block = c.block, .library_writes_slices = true},
                                       dnn::engine_settings{c.threads, c.winograd});
}

}  // namespace

std::unique_ptr<dsl::engine> dsl::test::make_checked(graph_view const& g, engine_options const& o, setup const& c) {
  omp_set_num_threads(c.threads > 0 ? c.threads : omp_get_num_procs());  // for steps that are run by hand
  return make_engine(g, o, c);
}
std::vector<int> dsl::test::checked_blocks() { return {16, 8}; }

TEST_CASE("onednn agrees with reference: conv2d", "[conformance]") {
  check_convolutions<5>();
  check_convolutions<17>();
  check_convolutions<44>();
}
TEST_CASE("onednn agrees with reference: activations, dropout, custom operations", "[conformance]") {
  check_elementwise<5>();
  check_elementwise<20>();
  check_elementwise<32>();
}
TEST_CASE("onednn agrees with reference: batch_norm", "[conformance]") {
  check_batch_norm<5>();
  check_batch_norm<17>();
  check_batch_norm<44>();
  check_batch_norm<16>();
  check_layer_norm<17>();
  check_group_norm<18>();
  check_groups<6>();
  check_groups<16>();
}
TEST_CASE("onednn agrees with reference: pools", "[conformance]") {
  check_operations<5>();
  check_operations<16>();
  check_pools<5>();
  check_upsampling<5>();
  check_channels<6>();
  check_channels<32>();
  check_tokens<5>();
  check_tokens<16>();
  check_sequences<5>();
  check_sequences<16>();
  check_recurrent<5>();
  check_recurrent<16>();
  check_attention<8>();
  check_attention<32>();
  check_windows<8>();
  check_windows<32>();
  check_upsampling<16>();
  check_pools<20>();
  check_pools<32>();
}
TEST_CASE("onednn agrees with reference: concat and add", "[conformance]") {
  check_joins<5>();
  check_joins<16>();
  check_joins<44>();
}
TEST_CASE("onednn agrees with reference: straight on pictures and flat inputs", "[conformance]") {
  check_on_pictures<3>();
  check_on_pictures<17>();
}
TEST_CASE("onednn agrees with reference: what ends a network", "[conformance]") { check_ends(); }

TEST_CASE("onednn agrees with reference: networks that nobody would write", "[conformance]") {
  check_random_networks(150);
}

TEST_CASE("onednn agrees with reference: 3x3 convolutions that Winograd takes", "[conformance]") {
  using model = network<image<3, 16, 16>, conv2d<32, 3>, batch_norm<>, conv2d<48, 3>, dsl::tanh,
                        add<identity, conv2d<48, 3>>, global_avg_pool2d, flatten, dense<5>, softmax>;
  setup const c{dnn::preferred_block(), true, 1};
  agree(model::view(), 16, keras, c);
  auto const e = make_engine(model::view(), keras, c);
  e->prepare(mode::training, 16);
  int found = 0;
  auto const all = implementations(*e);
  for (std::string const& i : all) found += i.find("wino") != std::string::npos;
  WARN(found << " of " << all.size() << " by Winograd");
  if (dnnl_version()->major == 2 && dnn::preferred_block() == 16) CHECK(found > 0);  // later versions have none
}

namespace {

/// Returns the calls of one program that are split, such as "3 backward weights in 2 pieces".
template <class Network>
std::vector<std::string> cut_calls(mode m, int batch, setup const& c) {
  auto const e = make_engine(Network::view(), keras, c);
  e->prepare(m, batch);
  std::vector<std::string> all;
  for (std::string const& i : implementations(*e))
    if (i.find(" pieces: ") != std::string::npos) all.push_back(i.substr(0, i.find(':')));
  return all;
}

}  // namespace

// A call is split if its input has more than 8 MiB, including the padding of the last channel block: here from 6
// samples on in blocks of 16, and from 8 on in blocks of 8. Without vectors the library has no code for blocks that
// could be split.
TEST_CASE("onednn agrees with reference: batches that are cut into pieces", "[conformance]") {
  using model = network<image<1, 105, 105>, conv2d<17, 1>, batch_norm<>, conv2d<2, 3>, batch_norm<>, dsl::tanh,
                        global_avg_pool2d, flatten, dense<3>, softmax>;
  using calls = std::vector<std::string>;
  int const block = dnn::preferred_block();
  int const even = block == 16 ? 6 : 8, prime = block == 16 ? 7 : 11;
  setup const direct{block, false, 1}, winograd{block, true, 1};
  agree(model::view(), even, keras, direct, 2e-4);  // gradients are sums of 66,000 products: 2e-5
  agree(model::view(), 9, keras, winograd);
  if (host::widest() == host::instructions::baseline) return;
  for (mode m : {mode::training, mode::evaluation, mode::inference})
    CHECK(cut_calls<model>(m, even, direct) == calls{"3 forward in 2 pieces"});
  CHECK(cut_calls<model>(mode::training, 9, winograd) == calls{"3 backward weights in 3 pieces"});
  CHECK(cut_calls<model>(mode::inference, 9, winograd).empty());
  for (setup const& c : {direct, winograd}) {
    CHECK(cut_calls<model>(mode::training, 5, c).empty());  // less than 8 MiB
    // more than 8 MiB, but a prime number of samples would give tiny pieces
    CHECK(cut_calls<model>(mode::training, prime, c).empty());
  }
}

TEST_CASE("onednn agrees with reference: MiniGoogLeNet", "[conformance]") {
  check_minigooglenet(onednn{}.make_engine(network<image<3, 32, 32>, minigooglenet<10>>::view(), keras));
}

// Tests a network without convolutions: oneDNN 2.6.3 sums the weight gradient of a convolution of NCHW pictures per
// thread.
TEST_CASE("onednn: our own kernels give the same bits for any number of threads", "[conformance]") {
  using model =
      network<image<20, 9, 8>, max_pool2d<2, 1>, batch_norm<>, relu,
              concat<identity, sequential<batch_norm<>, relu, max_pool2d<1>>, sequential<avg_pool2d<1>, batch_norm<>>>,
              add<batch_norm<>, identity>, concat<zero_pad2d<0, 1>, zero_pad2d<0, 2, 0, 0>>, max_pool2d<3, 2>,
              batch_norm<>, avg_pool2d<3>, flatten, softmax>;
  for (int block : {16, 8})
    for (int batch : {1, 2, 7}) {
      INFO("batch " << batch << ", blocks of " << block);
      auto const one = trained(model::view(), batch, {block, true, 1});
      CHECK(same_bits(one, trained(model::view(), batch, {block, true, 2})));
      CHECK(same_bits(one, trained(model::view(), batch, {block, true, 3})));
    }
}

TEST_CASE("onednn: a run repeats bit by bit with the same number of threads", "[conformance]") {
  using model = network<image<3, 15, 15>, conv_module<24, 3, 3>, inception_module<12, 20>, downsample_module<16>,
                        add<identity, conv2d<48, 3>>, dropout<0.4>, global_avg_pool2d, flatten, dense<7>, softmax>;
  for (int threads : {1, 2})
    for (bool winograd : {true, false}) {
      setup const c{dnn::preferred_block(), winograd, threads};
      CHECK(same_bits(trained(model::view(), 5, c), trained(model::view(), 5, c)));
    }
  if (!same_bits(trained(model::view(), 5, {16, true, 1}), trained(model::view(), 5, {16, true, 2})))
    WARN("a convolution of oneDNN's rounds differently for one and for two threads");
}

TEST_CASE("onednn: MiniGoogLeNet's convolutions all run as compiled code", "[conformance]") {
  using model = network<image<3, 32, 32>, minigooglenet<10>>;
  for (bool winograd : {true, false}) {
    auto const e = make_engine(model::view(), keras, {dnn::preferred_block(), winograd});
    e->prepare(mode::training, 64);
    e->prepare(mode::inference, 64);
    e->prepare(mode::inference, 1);
    int const convolutions = 1 + 2 * 8 + 2;
    auto const all = implementations(*e);
    CHECK(all.size() == 3 * convolutions - 1 + 2 * convolutions);  // the first has no data gradient
    for (std::string const& i : all) {
      INFO(i);
      std::string const name = i.substr(i.find(": ") + 2);
      CHECK(name.find("ref") == std::string::npos);
      // with SSE, only forward passes have code for blocks
      if (host::widest() == host::instructions::baseline) continue;
      CHECK((name.starts_with("jit") || name.starts_with("brg")));
      CHECK(name.find("gemm") == std::string::npos);
    }
  }
}

TEST_CASE("onednn: compile's options decide how the running moments of four numbers move, by hand", "[conformance]") {
  for (auto const& [options, wanted] : test::moved_by_one_sample()) {
    INFO("momentum " << options.batch_norm_momentum << (options.unbiased_running_variance ? ", unbiased" : ""));
    test::running_moments const now =
        test::moments_behind_step(compile<test::known_moments<0.8>>(onednn{}, sgd{.learning_rate = 0}, options), 1);
    CHECK(now.mean == approx(wanted.mean).epsilon(1e-6));
    CHECK(now.variance == approx(wanted.variance).epsilon(1e-6));
  }
}

TEST_CASE("onednn agrees with reference: few comparisons needed other numbers", "[conformance]") {
  WARN(compared_again << " of " << compared << " comparisons made again with other numbers");
  if (!only_a_sample()) CHECK(compared_again <= compared / 100);
}

namespace {

/// Builds a convolution's step whose operands `change` has changed.
template <class Change>
void build_with(int batch, Change change) {
  using net = network<image<3, 7, 6>, conv2d<24, 3>, conv2d<24, 3>>;
  auto const e = make_engine(net::view(), plain_sgd, {.block = 8, .threads = 1});
  host::program<float> const& p = e->prepared(e->prepare(mode::inference, batch));
  for (host::bound_step<float> const& b : p.steps) {
    if (!b.node || b.node->kind != op::conv2d || b.x.shape.channels != 24) continue;
    host::bound_step<float> changed;
    changed.step = b.step, changed.node = b.node, changed.x = b.x, changed.to = b.to;
    std::copy(std::begin(b.parameters), std::end(b.parameters), changed.parameters);
    change(changed);
    std::uint64_t const version = 1;
    dnn::convolutions(net::view(), false, &version).build(changed, false);
    return;
  }
  FAIL("there is no such step");
}
/// Tensors of 24 channels in blocks of 8, with 4032 bytes per sample.
std::string refused(int batch, void (*change)(host::bound_step<float>&)) {
  try {
    build_with(batch, change);
  } catch (executor_error const& e) {
    return e.what();
  }
  return "nothing";
}

}  // namespace

TEST_CASE("onednn: a convolution whose layouts are not the plan's is refused") {
  using bound = host::bound_step<float>;
  for (int batch : {1, 2}) {
    INFO("batch " << batch);
    CHECK(refused(batch, [](bound&) {}) == "nothing");
    std::string const samples = "onednn: " + std::to_string(batch) + " samples of 24x7x6 in blocks of 8 must take the ";
    std::string const takes =
        " bytes; found that the library takes " + std::to_string(4032 * batch) + "; please report the network";
    std::string const narrow = samples + "plan's " + std::to_string(2688 * batch) + takes;
    CHECK(refused(batch, [](bound& s) { s.x.buffer_channels = 16; }) == narrow);
    CHECK(refused(batch, [](bound& s) { s.to.buffer_channels = 16; }) == narrow);
    std::string const over_the_end = samples + "plan's " + std::to_string(4032 * batch - 1344) + takes;
    CHECK(refused(batch, [](bound& s) { s.to.channel = 8; }) == over_the_end);
    // A part of a larger buffer is contiguous only at batch 1.
    std::string const slice = refused(batch, [](bound& s) { s.to.channel = 8, s.to.buffer_channels = 40; });
    CHECK(slice ==
          (batch == 1 ? "nothing"
                      : samples + "plan's 12096 bytes; found that the library takes 8064; please report the network"));
  }
}
