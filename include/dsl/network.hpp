// SPDX-License-Identifier: MIT
#pragma once

#include <dsl/detail/mode.hpp>
#include <dsl/detail/refuse_batch.hpp>
#include <dsl/graph/graph.hpp>
#include <dsl/layers/activation.hpp>
#include <dsl/layers/softmax.hpp>
#include <dsl/plan/make_plan.hpp>
#include <dsl/plan/verify/parts.hpp>
#include <dsl/rules/broken_uses.hpp>
#include <dsl/rules/explain.hpp>
#include <dsl/rules/diagnose.hpp>
#include <dsl/rules/lowering.hpp>
#include <dsl/rules/unknown.hpp>

namespace dsl {

namespace detail {

template <graph_sizes Sizes>
struct lowered {
  dsl::graph<Sizes> graph{};
  verdict why{};
};

/// A network without layers, which nvcc uses after an error in the type of a layer. It reports no further error.
template <class Input, class... Layers>
struct checked : checked<Input> {
  static constexpr verdict const& why = reported;
};

/// A network's graph and its verdict. A first pass of the builder counts; a second one fills the arrays that are
/// checked.
template <class Input, class... Layers>
  requires is_known<sequential<Layers...>>
struct checked<Input, Layers...> {
  using input = Input;
  using whole = sequential<Layers...>;
  static constexpr verdict unlowered = why_not_lowered<Input, whole>();
  using counted = typename lowerable<unlowered.holds(), whole>::type;
  static constexpr bool is_counted = are_known<sizes_of<Input, counted>()>;
  using layers = typename lowerable<is_counted, counted>::type;
  static constexpr graph_sizes sizes = sizes_of<Input, layers>();
  static constexpr lowered<sizes> result = [] {
    lowered<sizes> r;
    dsl::graph<sizes>& g = r.graph;
    builder b(g);
    value const out = lower_layers<layers>(b, lower_input<Input>(b));
    g.scopes[0].name = {"network", 7};
    r.why = !is_counted ? reported : unlowered.holds() ? diagnose(b, g.view(), out) : unlowered;
    if (!r.why.holds()) make_harmless(g.nodes, g.edges, sizes.nodes);
    return r;
  }();
  static constexpr verdict const& why = result.why;
};

template <class Checked, bool Moves = (Checked::sizes.devices > 1 && Checked::why.holds())>
struct checked_graph {
  static constexpr auto const& graph = Checked::result.graph;
};
/// The graph with every node on device 0, so that a later request for a plan adds no second error.
template <class Checked>
struct checked_graph<Checked, true> : broken::moves_need_placement<typename Checked::whole, Checked::sizes.devices> {
  static constexpr auto graph = [] {
    auto g = Checked::result.graph;
    for (node& n : g.nodes) n.device = 0;
    return g;
  }();
};

/// The network as it runs: the lowered graph or, on several devices, the graph with transfers
/// (placement/with_transfers.hpp). It derives from checked_graph so that an error there comes before `graph` is
/// initialised; within that initialiser Clang would no longer take it for a constant.
template <class Checked>
struct with_transfers : checked_graph<Checked> {
  static constexpr auto const& graph = checked_graph<Checked>::graph;
  static constexpr graph_view view() {
    graph_view g = graph.view();
    g.size.devices = 1;  // a broken network may have more, but its error has already been reported
    return g;
  }
};

/// Reports a batch below 1. It is not constexpr, so that in a constant expression the compiler rejects the call and
/// prints this name. In a running program it throws option_error, or ends the program if only the language is included,
/// which cannot throw.
template <class Network>
[[noreturn, gnu::cold]] void a_batch_must_have_at_least_one_sample(int found) {
  refuse_or_end(found);
}

template <class Printer>
void print_with(graph_view const& g, int micro_batches, memory_limit limit = {}) {
  constexpr bool there = requires { sizeof(Printer); };
  static_assert(there, "summary: <dsl/text.hpp> prints it; include that header");
  if constexpr (there) Printer::print(g, micro_batches, limit);
}

}  // namespace detail

namespace detail {

/// Computes the bytes of a training step, and names the class that is ill-formed with a readable error if they exceed
/// Allowed.
template <class Network, int Batch, long long Allowed, target To, int OptimizerSlots>
struct trains_in {
  static constexpr plan_options options{Batch, mode::training, To, OptimizerSlots};
  static constexpr long long needed = [] {
    if constexpr (!Network::is_sound)
      return 0LL;
    else if constexpr (Batch < 1)
      return Network::bytes(options);  // which reports the error
    else
      return bytes_of_plan<Network, options>();
  }();
  using type = broken::network_trains_in<Batch, Allowed, Network::is_sound ? needed : Allowed, Network>;
};

}  // namespace detail

}  // namespace dsl

namespace dsl::TYPENET_MODE {

/// The printer of summary(), defined by <dsl/text/summary.hpp> because text needs a library.
struct summary_printer;

}  // namespace dsl::TYPENET_MODE

namespace dsl {

/// A network: the type of the input, then the layers. Instantiating it lowers the layers and checks them; the first
/// broken rule is one compile error. Everything it knows is a constant.
template <class Input, class... Layers>
struct network {
  // Not a base: Clang knows no member of a class with a broken base, not even that gives is a template.
  static_assert(alignof(typename rules::explain<detail::checked<Input, Layers...>::why.broken,
                                                detail::checked<Input, Layers...>>::type) > 0);

  /// The operations as values, in topological order.
  static constexpr auto const& graph = detail::with_transfers<detail::checked<Input, Layers...>>::graph;

  /// Returns the graph as executors read it.
  static constexpr graph_view view() { return detail::with_transfers<detail::checked<Input, Layers...>>::view(); }
  /// Whether no rule is broken. If one is, the compiler has reported it, and its consequences are not reported.
  static constexpr bool is_sound = detail::checked<Input, Layers...>::why.holds();

  /// Number of devices that the layers are placed on: one more than the highest I of on<device<I>, ...>.
  static constexpr typename rules::constants<is_sound>::devices device_count{
      detail::with_transfers<detail::checked<Input, Layers...>>::view().size.devices};

  /// The types of the constants below: dsl::shape and long long. In a broken network they compare equal to anything.
  using constants = rules::constants<is_sound>;

  /// The shapes of the input and of the output of one sample.
  static constexpr shape input = graph.view().shape_of(0);
  static constexpr typename constants::shape output{graph.view().shape_of(graph.view().result())};
  /// The number of all parameters, as Keras counts them: weights, including frozen ones, and the running statistics of
  /// batch_norm.
  static constexpr typename constants::count parameter_count{dsl::parameter_count(graph.view())};
  static constexpr typename constants::count trainable_parameter_count{dsl::trainable_parameter_count(graph.view())};
  /// The number of multiply-adds in one sample's forward pass.
  static constexpr typename constants::count forward_macs{dsl::forward_macs(graph.view())};

  /// Asserts the shape of the output: static_assert(model::gives<shape{10}>). The error shows both shapes.
  template <shape Wanted>
  static constexpr bool gives = sizeof(broken::network_gives < Wanted, is_sound ? output : Wanted, network >) != 0;

  /// Returns the bytes of the whole training arena: parameters, gradients, optimizer slots, activations and their
  /// gradients. The executor's executor_bytes() gives the memory that a library allocates in addition. A batch below 1
  /// is a compile error in a constant expression and an option_error at run time.
  static constexpr typename constants::count training_bytes(int batch, target to = {}, int optimizer_slots = 1) {
    return bytes({batch, mode::training, to, optimizer_slots});
  }
  /// Returns the bytes of the inference arena: parameters, running statistics, activations. A batch below 1 is an error
  /// as above.
  static constexpr typename constants::count inference_bytes(int batch, target to = {}) {
    return bytes({batch, mode::inference, to, 0});
  }
  /// Returns the bytes of the arena for any plan_options.
  static constexpr typename constants::count bytes(plan_options const& o) {
    if (o.batch < 1) detail::a_batch_must_have_at_least_one_sample<network>(o.batch);
    return {make_plan(view(), o).bytes()};
  }
  /// Asserts that training_bytes(Batch) does not exceed Allowed: static_assert(model::trains_in<64, 256_MiB>). The
  /// error shows both numbers. It accepts larger networks than training_bytes, which a compiler evaluates in one
  /// constant expression.
  template <int Batch, long long Allowed, target To = target{}, int OptimizerSlots = 1>
  static constexpr bool trains_in =
      sizeof(typename detail::trains_in<network, Batch, Allowed, To, OptimizerSlots>::type) != 0;

  /// Prints the table of layers to standard output; needs <dsl/text.hpp>.
  template <class Printer = summary_printer>
  static void summary() {
    detail::print_with<Printer>(view(), 1);
  }
};

/// Whether compile() accepts T: a network, or a class with the same members. A broken network is accepted, too; sizeof
/// makes the compiler report its error here, since inside a requirement an error would also make the requirement unmet.
template <class T>
inline constexpr bool is_network = sizeof(T) != 0 && requires {  // NOLINT(bugprone-sizeof-expression)
  T::view();
  T::is_sound;
};
template <class Input, class... Layers>
inline constexpr bool is_network<network<Input, Layers...>> = true;

namespace detail {

/// Whether a type is a network<...> itself. Determining this instantiates nothing.
template <class T>
inline constexpr bool is_plain_network = false;
template <class Input, class... Layers>
inline constexpr bool is_plain_network<network<Input, Layers...>> = true;

/// Names the class with the error message for a network, before anything instantiates the network itself: each template
/// in between is one more line that compilers print before the sentence.
template <class Network>
struct network_diagnostic {
  using type = rules::nothing;
};
template <class Input, class... Layers>
struct network_diagnostic<network<Input, Layers...>>
    : rules::explain<checked<Input, Layers...>::why.broken, checked<Input, Layers...>> {};

/// The number of micro-batches: 1, except for a pipeline<M, ...>.
template <class Network>
inline constexpr int micro_batches = 1;
template <class Network>
  requires requires { Network::micro_batches; }
inline constexpr int micro_batches<Network> = Network::micro_batches;

/// Returns the options with which compile() plans a network: its type may add micro-batches and the summing of
/// gradients between replicas.
template <class Network>
constexpr plan_options plan_options_of(int batch, mode m = mode::training, target const& to = {}) {
  bool const sums = m == mode::training && requires { Network::replicas; };
  return {.batch = batch,
          .mode = m,
          .target = to,
          .all_reduce_buckets = sums ? 1 : 0,
          .micro_batches = micro_batches<Network>};
}

}  // namespace detail

namespace detail {

/// A placeholder for a network or a layer after an error has been reported.
struct no_network {
  static constexpr bool is_sound = false;
  static constexpr rules::unknown_count device_count{1};
  static constexpr rules::unknown_shape output{};
  static constexpr rules::unknown_count parameter_count{}, trainable_parameter_count{}, forward_macs{};
  template <shape>
  static constexpr bool gives = true;
  template <auto...>
  static constexpr bool trains_in = true;
  static constexpr graph_view view() { return network<features<2>, softmax>::view(); }
  static constexpr value lower(builder& b, value in) {
    b.require(false, {.broken = rule::is_reported, .first = in.shape});
    return relu::lower(b, in);
  }
};

}  // namespace detail

/// Whether the network's plan passes the independent checker: static_assert(dsl::verified<model>).
template <class Network, int Batch = 64, mode Mode = mode::training, target Target = target{}>
inline constexpr bool verified = sizeof(broken::verified_takes_a_network<Network, false>) != 0;
template <class Network, int Batch, mode Mode, target Target>
  requires is_network<Network>
inline constexpr bool verified<Network, Batch, Mode, Target> =
    detail::checking::verdict_of_plan<Network, detail::plan_options_of<Network>(Batch, Mode, Target)>.holds();

}  // namespace dsl
