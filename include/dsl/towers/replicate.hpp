// SPDX-License-Identifier: MIT
#pragma once

#include <dsl/placement/parts.hpp>
#include <dsl/rules/broken_parts.hpp>
#include <dsl/rules/broken_towers.hpp>
#include <dsl/towers/engine.hpp>
#include <dsl/training/compile.hpp>

#include <concepts>
#include <memory>

namespace dsl {

namespace detail {

template <class Towers>
constexpr int samples_needed() {
  if constexpr (Towers::is_sound && Towers::replicas > 1 && micro_batches<Towers> == 1)
    return normalises_parts(Towers::view(), Towers::policy) ? 2 : 1;
  return 1;
}
/// Of the micro-batches of those towers that have samples: not always the smallest tower's, whose part may be too small
/// to be cut.
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
/// Nothing to say of towers without micro-batches, and of those whose error has been said.
template <class Towers, int Batch>
struct filled_towers_parts {};
template <class Towers, int Batch>
  requires(Towers::is_sound && micro_batches<Towers> > 1 && Towers::smallest_part(Batch) > 0)
struct filled_towers_parts<Towers, Batch>
    : broken::micro_batches_have_samples<Towers, Batch, smallest_micro_batch_of<Towers>(Batch),
                                         has_batch_norm(Towers::view()) ? 2 : 1> {};
template <class Towers, int Batch>
struct filled : broken::towers_have_samples<Towers, Batch, Towers::smallest_part(Batch), samples_needed<Towers>()>,
                filled_towers_parts<Towers, Batch> {
  static constexpr int batch = Batch;
};

}  // namespace detail

/// A network on G devices, each with all of its layers and a part of every batch:
///   auto t = dsl::compile<dsl::replicate<4, model>>(dsl::onednn{}, dsl::sgd{.learning_rate = 5e-3});
/// Shapes, parameters and summary are the network's; replicate<1, model> is the network itself. For a number of towers
/// that is known when the program runs: compile<model>(executor, optimizer, dsl::towers{.count = n}). Of several
/// processes each has G towers: compile<replicate<G, model>>(executor, optimizer, dsl::towers{.processes = &world}).
template <int G, class Network, tower_policy Policy = host_merge>
struct replicate : Network {
  // Each asserted when its class is made, since Clang knows no member of a class whose own assertion fails.
  static_assert(alignof(broken::towers_are_given_once<G, Network, requires { Network::replicas; }>) == 1);
  static_assert(alignof(broken::towers_are_positive<G, Network>) == 1);
  static constexpr int replicas = G < 1 ? 1 : G;  // parts of a batch for none would be a second error
  static void lower() = delete;                   // no layer: it goes around a network
  static constexpr tower_policy policy = Policy;
  static towers devices() { return {.count = replicas, .policy = Policy}; }

  /// Bytes on the device that needs most: that with the largest part of a batch, but where a smaller one is not cut
  /// into micro-batches.
  static constexpr long long training_bytes(int batch, target to = {}, int optimizer_slots = 1) {
    return most(batch, [&](int part) { return Network::training_bytes(part, to, optimizer_slots); });
  }
  static constexpr long long inference_bytes(int batch, target to = {}) {
    return most(batch, [&](int part) { return Network::inference_bytes(part, to); });
  }
  /// The same with every option a plan has, for that device.
  static constexpr long long bytes(plan_options const& o) {
    return most(o.batch, [&](int part) {
      plan_options mine = o;
      mine.batch = part;
      return Network::bytes(mine);
    });
  }
  /// A constant batch size; a compile error where a tower would have no sample of it, or a single one for a batch_norm
  /// of its own: fit(data, {.batch_size = model::batch<256>}).
  template <int Samples>
  static constexpr int batch = detail::filled<replicate, Samples>::batch;
  /// Whether every tower has more than one sample of such a batch.
  static constexpr bool fills_towers(int batch) { return smallest_part(batch) > 1; }
  static constexpr int smallest_part(int batch) {
    return part_of(batch, replicas, Policy.even ? replicas - 1 : 0, Policy).size;
  }
  static constexpr int largest_part(int batch) {
    return part_of(batch, replicas, Policy.even ? 0 : replicas - 1, Policy).size;
  }

 private:
  /// Parts have two sizes at most.
  template <class F>
  static constexpr long long most(int batch, F bytes) {
    if (batch < 1) return bytes(batch);  // which says so
    long long const large = bytes(largest_part(batch));
    int const part = smallest_part(batch);
    long long const small = part > 0 && part < largest_part(batch) ? bytes(part) : 0;
    return small > large ? small : large;
  }
};

namespace detail {

/// Executors on the host say how many cores a tower gets, others how many devices there are.
template <class Executor>
[[gnu::cold]] tower_factory factory_of(Executor const& on, int towers) {
  static_assert(
      requires { on.cores_a_tower(towers); } || requires { on.devices(); },
      "towers: this executor must have cores_a_tower() or devices(), and its engines sum gradients with options.group");
  tower_factory f{.executor = &on,
                  .make = [](void const* e, tower_place const& at, graph_view const& net, engine_options const& mine) {
                    auto const& executor = *static_cast<Executor const*>(e);
                    if constexpr (requires { executor.for_tower(at); })
                      return executor.for_tower(at).make_engine(net, mine);
                    else
                      return executor.make_engine(net, mine);
                  }};
  if constexpr (requires { on.cores_a_tower(towers); }) f.cores_a_tower = on.cores_a_tower(towers);
  if constexpr (requires { on.devices(); }) f.devices = on.devices();
  return f;
}

}  // namespace detail

/// An engine of several, one a device; throws option_error where there are not so many.
template <executor Executor>
[[gnu::cold]] std::unique_ptr<engine> make_towers(Executor const& on, graph_view const& g, engine_options const& o,
                                                  towers const& t) {
  bool const alone = !t.processes || t.processes->processes() == 1;
  if (t.count == 1 && t.devices.empty() && alone) return on.make_engine(g, o);
  return std::make_unique<detail::towers_engine>(detail::factory_of(on, t.count), g, o, t);
}

namespace detail {

/// A network that has its towers: replicate<G, ...>.
template <class Network>
concept replicated = requires { Network::replicas; };

/// A type that has its towers takes devices and processes from the value; number and policy may be left out there.
template <class Network>
[[gnu::cold]] towers towers_of(towers t) {
  if constexpr (replicated<Network>) {
    towers const own = Network::devices();
    if (t.count != 1 && t.count != own.count)
      throw option_error(message({"compile: replicate<", own.count, ", ...> has its number of towers; found ", t.count,
                                  " in towers{.count}; leave .count out"}));
    if (t.policy != tower_policy{} && t.policy != own.policy)
      throw option_error(message({"compile: replicate<", own.count,
                                  ", ...> has its policy; found another one in towers{.policy}; leave .policy out"}));
    t.count = own.count, t.policy = own.policy;
  }
  return t;
}

}  // namespace detail

/// A network on several devices; throws option_error where there are not so many. Of a replicate<G, ...> devices and
/// processes are those of the value, G and policy the type's; option_error where the value has others. Its defaults, 1
/// and host_merge, count as left out.
template <class Network, executor Executor, optimizer Optimizer, std::same_as<towers> Towers>
[[gnu::cold]] trainer compile(Executor const& on, Optimizer const& optimizer, Towers const& t,
                              compile_options const& o) {
  if constexpr (Network::is_sound)
    static_assert(detail::sound<Network, Executor, true>(),
                  "plan: typenet made a plan that its own checker refuses; please report the network");
  engine_options engine = detail::options_of<Network>(optimizer.rule(), o);
  return {make_towers(on, Network::view(), engine, detail::towers_of<Network>(t)),
          static_cast<double>(optimizer.learning_rate)};
}
template <class Network, executor Executor, optimizer Optimizer, std::same_as<towers> Towers>
[[gnu::cold]] trainer compile(Executor const& on, Optimizer const& optimizer, Towers const& t) {
  detail::require_crossentropy_suits<Network>();
  return compile<Network>(on, optimizer, t, compile_options{});
}
/// Without the value, the devices are 0, 1, 2, ... of this process.
template <detail::replicated Network, executor Executor, optimizer Optimizer>
[[gnu::cold]] trainer compile(Executor const& on, Optimizer const& optimizer, compile_options const& o) {
  return compile<Network>(on, optimizer, towers{}, o);
}
template <detail::replicated Network, executor Executor, optimizer Optimizer>
[[gnu::cold]] trainer compile(Executor const& on, Optimizer const& optimizer) {
  return compile<Network>(on, optimizer, towers{});
}
template <class Thing, executor Executor, optimizer Optimizer, std::same_as<towers> Towers>
  requires(!is_network<Thing>)
trainer compile(Executor const& on, Optimizer const& optimizer, Towers const&, compile_options const& o) {
  return compile<Thing>(on, optimizer, o);
}

}  // namespace dsl
