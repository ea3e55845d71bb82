// SPDX-License-Identifier: MIT
#pragma once

#include <dsl/network.hpp>
#include <dsl/placement/parts.hpp>
#include <dsl/rules/broken_budgets.hpp>
#include <dsl/rules/broken_parts.hpp>
#include <dsl/rules/broken_towers.hpp>
#include <dsl/rules/broken_uses.hpp>
#include <dsl/towers/policy.hpp>

namespace dsl::detail {

template <class Towers>
constexpr int samples_needed() {
  if constexpr (Towers::is_sound && Towers::replicas > 1 && micro_batches<Towers> == 1)
    return normalises_parts(Towers::view(), Towers::policy) ? 2 : 1;
  return 1;
}
/// Returns the smallest micro-batch in any tower that has samples. This micro-batch is not always in the smallest
/// tower, since the part of that tower may be too small to be split.
template <class Towers>
constexpr int smallest_micro_batch_of(int batch) {
  int smallest = batch;
  for (int i = 0; i < Towers::replicas; ++i) {
    int const part = part_of(batch, Towers::replicas, i, Towers::policy).size;
    int const samples = smallest_micro_batch(part, micro_batches<Towers>);
    if (samples > 0 && samples < smallest) smallest = samples;
  }
  return smallest;
}
/// Checks nothing. Used for towers without micro-batches, and for towers whose error has already been reported.
template <class Towers, int Batch>
struct filled_towers_parts {};
template <class Towers, int Batch>
  requires(Towers::is_sound && micro_batches<Towers> > 1 && Towers::smallest_part(Batch) > 0)
struct filled_towers_parts<Towers, Batch>
    : broken::micro_batches_have_samples<Towers, Batch, smallest_micro_batch_of<Towers>(Batch),
                                         has_batch_norm(Towers::view()) ? 2 : 1> {};

}  // namespace dsl::detail

namespace dsl {

/// A network on G devices. Each device has all layers and computes a part of every batch:
///   auto t = dsl::compile<dsl::replicate<4, model>>(dsl::onednn{}, dsl::sgd{.learning_rate = 5e-3});
/// Shapes, parameters and summary are those of the network; replicate<1, model> is the network itself. If the number of
/// towers is known only at run time, use compile<model>(executor, optimizer, dsl::towers{.count = n}). With several
/// processes, each has G towers: compile<replicate<G, model>>(executor, optimizer, dsl::towers{.processes = &world}).
template <int G, class Network, tower_policy Policy = host_merge>
struct replicate : Network {
  // Each is asserted where its class is instantiated, since Clang knows no member of a class whose own assertion fails.
  static_assert(alignof(broken::towers_are_given_once<G, Network, requires { Network::replicas; }>) == 1);
  static_assert(alignof(broken::towers_are_positive<G, Network>) == 1);
  static_assert(alignof(
                    broken::towers_with_budgets_have_own_moments < Network,
                    requires { Network::limit; } && Policy.moments == tower_moments::synchronized >) == 1);
  static constexpr int replicas = G < 1 ? 1 : G;  // dividing a batch among none would be a second error
  static void lower() = delete;                   // not a layer: it wraps a network
  static constexpr tower_policy policy = Policy;

  /// Returns the bytes on the device that needs the most memory. This is usually the device with the largest part of a
  /// batch, but a smaller part that is not split into micro-batches may need more.
  static constexpr long long training_bytes(int batch, target to = {}, int optimizer_slots = 1) {
    return most(batch, [&](int part) { return Network::training_bytes(part, to, optimizer_slots); });
  }
  static constexpr long long inference_bytes(int batch, target to = {}) {
    return most(batch, [&](int part) { return Network::inference_bytes(part, to); });
  }
  /// Returns the bytes of the plan of the device that needs the most memory, with any plan_options.
  static constexpr long long bytes(plan_options const& o) {
    return most(o.batch, [&](int part) {
      plan_options mine = o;
      mine.batch = part;
      return Network::bytes(mine);
    });
  }
  /// A constant batch size. It is a compile error if a tower would have no sample, or if it would have a single sample
  /// and normalise it alone in a batch_norm: fit(data, {.batch_size = model::batch<256>}).
  template <int Samples>
  static constexpr int batch =
      alignof(broken::towers_have_samples<replicate, Samples, replicate::smallest_part(Samples),
                                          detail::samples_needed<replicate>()>) == 1 &&
              alignof(detail::filled_towers_parts<replicate, Samples>) == 1
          ? Samples
          : 0;
  /// Whether every tower gets more than one sample of a batch of this size.
  static constexpr bool fills_towers(int batch) { return smallest_part(batch) > 1; }
  static constexpr int smallest_part(int batch) {
    return part_of(batch, replicas, Policy.even ? replicas - 1 : 0, Policy).size;
  }
  static constexpr int largest_part(int batch) {
    return part_of(batch, replicas, Policy.even ? 0 : replicas - 1, Policy).size;
  }

 private:
  /// Returns the maximum of bytes(part) over the parts of a batch, which have at most two different sizes.
  template <class F>
  static constexpr long long most(int batch, F bytes) {
    if (batch < 1) return bytes(batch);  // which reports the error
    long long const large = bytes(largest_part(batch));
    int const part = smallest_part(batch);
    long long const small = part > 0 && part < largest_part(batch) ? bytes(part) : 0;
    return small > large ? small : large;
  }
};

/// Reports that Thing is not a network.
template <int G, class Thing, tower_policy Policy>
  requires(!is_network<Thing>)
struct replicate<G, Thing, Policy> : detail::no_network {
  static_assert(alignof(broken::replicate_takes_a_network<G, Thing, false>) == 1);
};

}  // namespace dsl
