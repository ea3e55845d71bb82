// SPDX-License-Identifier: MIT
// Networks on several devices as constants: devices of nodes, transfers, shares of devices, and plans that the checker
// accepts with and without micro-batches.
#include <dsl/dsl.hpp>
#include <dsl/placement.hpp>
#include <dsl/towers.hpp>

#include "support/static_graph.hpp"

namespace {

using namespace dsl;

using stem = conv_module<16, 3>;
using tail = sequential<flatten, dense<10>, softmax>;
using one = network<image<3, 8, 8>, stem, inception_module<16, 16>, tail>;
using two = network<image<3, 8, 8>, on<device<0>, stem>, on<device<1>, inception_module<16, 16>, tail>>;
using three =
    network<image<3, 8, 8>, stem, concat<on<device<1>, conv_module<16, 1>>, on<device<2>, conv_module<16, 3>>>,
            on<device<0>, tail>>;

static_assert(one::device_count == 1 && two::device_count == 2 && three::device_count == 3);
static_assert(two::parameter_count == one::parameter_count && two::forward_macs == one::forward_macs);
static_assert(two::output == one::output);
static_assert(test::count(one::view(), op::transfer) == 0);
static_assert(test::count(two::view(), op::transfer) == 1);
static_assert(test::count(three::view(), op::transfer) == 4);
static_assert(verified<two> && verified<three>);
static_assert(verified<pipeline<4, two>> && verified<pipeline<3, three>, 10>);
static_assert(verified<pipeline<2, two>, 64, mode::inference> && verified<pipeline<2, three>, 64, mode::evaluation>);

static_assert(verify(two::graph.view(), make_plan(two::graph.view(), {.batch = 8})).holds());

// The innermost on<> decides; layers in none are on device 0; a picture is loaded where it is read.
using nested = network<image<3, 8, 8>, on<device<1>, conv2d<4, 3>, on<device<0>, relu>, sigmoid>, flatten>;
constexpr bool on_devices(graph_view const& g, op kind, int device) {
  for (int n = 0; n < g.size.nodes; ++n)
    if (g.nodes[n].kind == kind && g.nodes[n].device != device) return false;
  return true;
}
static_assert(on_devices(nested::view(), op::conv2d, 1) && on_devices(nested::view(), op::flatten, 0));
static_assert(on_devices(nested::view(), op::input, 1));
static_assert(nested::view().nodes[3].device == 0 && nested::view().nodes[5].device == 1);

// There is one transfer per tensor and device, however many nodes read it there.
using shared = network<image<3, 8, 8>, conv2d<4, 3>, on<device<1>, concat<conv2d<4, 1>, conv2d<4, 3>>>, flatten>;
static_assert(test::count(shared::view(), op::transfer) == 2);

// The devices' shares add up.
template <class Network>
constexpr bool adds_up() {
  device_share sum;
  for (int d = 0; d < 3; ++d) {
    device_share const s = share_of<Network>(d, 64);
    sum.parameters += s.parameters, sum.forward_macs += s.forward_macs, sum.bytes += s.bytes;
  }
  return sum.parameters == Network::parameter_count && sum.forward_macs == Network::forward_macs &&
         sum.bytes == Network::training_bytes(64);
}
static_assert(adds_up<three>());
static_assert(adds_up<replicate<2, three>>());
static_assert(adds_up<network<image<3, 8, 8>, constant_scale<0.5>, on<device<1>, conv2d<4, 3>, unscaled_batch_norm<>>,
                              on<device<2>, relu>>>());
static_assert(share_of<two>(0, 64).parameters == 16 * 3 * 9 + 16 + 4 * 16);
// there and back: 16x8x8 values of 4 bytes for each of 64 samples, in one piece or in four
static_assert(traffic_bytes<two>(64) == 2 * 64 * 16 * 64 * 4);
static_assert(traffic_bytes<pipeline<4, two>>(64) == traffic_bytes<two>(64));
static_assert(traffic_bytes<one>(64) == 0);
static_assert(pipeline<4, two>::training_bytes(64) < two::training_bytes(64));
static_assert(replicate<2, pipeline<4, two>>::training_bytes(128) == pipeline<4, two>::training_bytes(64));
// Of 31 samples one tower has 16, in micro-batches of one; the other has 15, in one piece, which needs more memory.
using chain = network<image<3, 8, 8>, on<device<0>, conv2d<16, 3>, relu, conv2d<16, 3>, relu>,
                      on<device<1>, conv2d<16, 3>, relu, tail>>;
static_assert(pipeline<16, chain>::training_bytes(15) > pipeline<16, chain>::training_bytes(16));
static_assert(replicate<2, pipeline<16, chain>>::training_bytes(31) == pipeline<16, chain>::training_bytes(15));

// Batch sizes for which no part is a single sample before a batch_norm; without one, any that leaves no tower empty.
static_assert(pipeline<4, two>::batch<8> == 8 && pipeline<4, two>::batch<3> == 3);
static_assert(replicate<2, pipeline<4, two>>::batch<16> == 16 && replicate<2, pipeline<4, two>>::batch<4> == 4);
using without_batch_norm = network<image<3, 8, 8>, conv2d<4, 3>, tail>;
static_assert(pipeline<4, without_batch_norm>::batch<5> == 5);
static_assert(replicate<2, pipeline<4, without_batch_norm>>::batch<9> == 9);
static_assert(detail::smallest_micro_batch(5, 4) == 1 && detail::smallest_micro_batch(3, 4) == 3);
static_assert(detail::smallest_micro_batch_of<replicate<2, pipeline<4, two>, all_reduce>>(7) == 1);  // 3 and 1, 1, 1, 1

// Of 10 samples in 4 parts the last takes the rest; 3 samples are one part.
static_assert(micro_batch(10, 4, 0).size == 2 && micro_batch(10, 4, 3).size == 4 && micro_batch(10, 4, 3).first == 6);
static_assert(micro_batches_of({.batch = 3, .micro_batches = 4}) == 1);

}  // namespace
