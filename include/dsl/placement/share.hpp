// SPDX-License-Identifier: MIT
#pragma once

#include <dsl/network.hpp>

namespace dsl {

/// The part of a network that one device has: parameters as Keras counts them, multiply-adds in the forward pass of one
/// sample, and bytes of the plan's memory regions.
struct device_share {
  long long parameters = 0;
  long long forward_macs = 0;
  long long bytes = 0;
};

/// Returns the share of a device in a network with this plan: its parameters, multiply-adds and memory.
constexpr device_share share_of(graph_view const& g, plan const& p, int device) {
  device_share share;
  for (int n = 0; n < g.size.nodes; ++n) {
    node const& x = g.nodes[n];
    if (x.device != device) continue;
    share.forward_macs += forward_macs(g, x);
    for (int k = x.first_parameter; k < x.first_parameter + x.parameters; ++k)
      if (!g.parameters[k].constant) share.parameters += g.parameters[k].count();
  }
  for (long long bytes : p.devices[device].bytes) share.bytes += bytes;
  return share;
}

/// Returns the bytes that one run of a plan copies between devices: activations and, in training, their gradients.
constexpr long long traffic_of(graph_view const& g, plan const& p) {
  long long bytes = 0;
  for (step const& s : p.steps) {
    if (s.kind != op::transfer) continue;
    bytes += p.samples_of(s).size * g.output_shape(g.nodes[s.node]).size() * p.options.target.element_bytes;
  }
  return bytes;
}

namespace detail {

template <class Network>
constexpr plan training_plan(int batch, target const& to, int optimizer_slots) {
  if (batch < 1) a_batch_must_have_at_least_one_sample<Network>(batch);
  return make_plan(
      Network::view(),
      {.batch = batch, .target = to, .optimizer_slots = optimizer_slots, .micro_batches = micro_batches<Network>});
}

}  // namespace detail

/// Returns the share of a device in a network that trains with this batch size. The numbers of all devices add up to
/// parameter_count, forward_macs and training_bytes: static_assert(dsl::share_of<model>(1, 64).bytes < 2_GiB). With
/// replicate, the result is for the tower with the largest part of the batch.
template <class Network>
constexpr device_share share_of(int device, int batch, target to = {}, int optimizer_slots = 1) {
  if constexpr (requires { Network::largest_part(batch); }) batch = Network::largest_part(batch);
  return share_of(Network::view(), detail::training_plan<Network>(batch, to, optimizer_slots), device);
}
/// Returns the bytes that one training step copies between devices.
template <class Network>
constexpr long long traffic_bytes(int batch, target to = {}) {
  return traffic_of(Network::view(), detail::training_plan<Network>(batch, to, 1));
}

}  // namespace dsl
