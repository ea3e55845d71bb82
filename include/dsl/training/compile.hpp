// SPDX-License-Identifier: MIT
#pragma once

#include <dsl/detail/mode.hpp>
#include <dsl/detail/option_check.hpp>
#include <dsl/executors/host/make_thread_team.hpp>
#include <dsl/executors/native.hpp>
#include <dsl/network.hpp>
#include <dsl/rules/broken_budgets.hpp>
#include <dsl/rules/broken_uses.hpp>
#include <dsl/training/any_loss.hpp>
#include <dsl/training/any_options.hpp>
#include <dsl/training/loss_check.hpp>
#include <dsl/training/loss_of_output.hpp>
#include <dsl/training/optimizers.hpp>
#include <dsl/training/trainer.hpp>

#include <concepts>
#include <cstdint>
#include <string>
#include <type_traits>
#include <vector>

namespace dsl::TYPENET_MODE {

/// The loss, and other options that do not belong to a single run of fit.
struct compile_options {
  /// The loss: one of dsl::loss, or your own loss, which is a type with the members value and derivative (see
  /// loss_of_outputs).
  any_loss loss = dsl::loss::categorical_crossentropy;
  std::vector<loss_of_output> losses{};       // of the outputs whose loss is not `loss`
  std::uint64_t seed = 0;                     // for weights, order, augmentation and dropout
  double batch_norm_momentum = -1;            // replaces every layer's own unless -1
  bool unbiased_running_variance = false;     // as in PyTorch; Keras's is biased
  double label_smoothing = 0;                 // in [0, 1): the share of a target that all classes share
  std::vector<float> class_weights{};         // factors of the losses of each class in training; empty: all are 1
  std::vector<output_weight> loss_weights{};  // of outputs whose loss is multiplied by a factor other than 1
  plan_checker verify = nullptr;              // &dsl::verify: also checks every plan at run time
};

}  // namespace dsl::TYPENET_MODE

namespace dsl::detail::TYPENET_MODE {

/// Whether the plan is small enough to be checked by the compiler. The compiler would need more than about six seconds
/// for a larger plan, and for several devices, whose order is checked in one evaluation, more evaluation steps than
/// Clang allows by default. A larger plan is checked at run time, when the engine makes it.
template <class Network>
inline constexpr bool checked_while_compiling =
    Network::view().size.nodes * micro_batches<Network> <= (Network::device_count > 1 ? 300 : 1000);

template <class Network, class Executor, bool Towers>
constexpr plan_options checked_options() {
  target to{};
  if constexpr (requires { Executor::compile_time_target; }) to = Executor::compile_time_target;
  plan_options training = plan_options_of<Network>(64, mode::training, to);
  if (Towers) training.all_reduce_buckets = 1;
  return training;
}

template <class Network, class Executor, bool Towers = false>
constexpr bool sound() {
  if constexpr (checked_while_compiling<Network>)
    return checking::verdict_of_plan<Network, checked_options<Network, Executor, Towers>()>.holds();
  else
    return true;
}

/// If the network has a memory budget, requires an executor that keeps it.
template <class Network, class Executor>
constexpr void require_budgets_are_kept() {
  if constexpr (requires { Network::limit; }) {
    constexpr bool kept = requires { Executor::keeps_memory_budgets; };
    static_cast<void>(sizeof(broken::executor_keeps_budgets<Executor, kept>));
  }
}

/// Names the class with the error message if the first argument of compile<...> is broken or no network. As with
/// first_words, nothing is instantiated in between, so that the sentence is among the first lines.
template <class Network>
struct network_words {
  using type = std::conditional_t<is_network<Network>, rules::nothing, broken::compile_takes_a_network<Network, false>>;
};
template <class Input, class... Layers>
struct network_words<network<Input, Layers...>> : first_words<network<Input, Layers...>> {};

/// Returns the output for which the default loss, cross-entropy, does not suit; -1 if there is none.
template <class Network>
constexpr int unsuitable_output() {
  if constexpr (is_network<Network>)
    if constexpr (Network::is_sound) return first_unsuitable(Network::view(), loss::categorical_crossentropy);
  return -1;
}
/// Names the class with the error message if the default loss does not suit the network.
template <class Network, int Output = unsuitable_output<Network>()>
struct loss_words {
  using type = broken::crossentropy_takes_probabilities<Network, last_of(Network::view(), Output).kind, false>;
};
template <class Network>
struct loss_words<Network, -1> {
  using type = rules::nothing;
};

/// Returns the engine's options. Throws option_error for a loss that does not suit the network's output, and for
/// invalid numbers.
engine_options checked_options(graph_view const& g, update_rule const& update, compile_options const& o);

/// Returns the options that are the same for the engine of every network.
template <class Network>
engine_options options_of(update_rule const& update, compile_options const& o) {
  engine_options engine = checked_options(Network::view(), update, o);
  engine.micro_batches = micro_batches<Network>;
  if constexpr (Network::device_count > 1) engine.make_thread_team = &host::make_thread_team;
  if constexpr (!checked_while_compiling<Network>)
    if (!engine.verify) engine.verify = &verify;
  if constexpr (requires { Network::limit; }) {
    engine.limit = Network::limit;
    if (!engine.verify) engine.verify = &verify;
  }
  return engine;
}

/// Carries the report of which argument of compile() has a wrong type.
template <class First = broken::nothing, class Second = broken::nothing, class Third = broken::nothing, class...>
struct wrong_argument : rules::says<broken::compile_takes_an_executor<First, false>> {};
template <optimizer First, class Second, class Third, class... Rest>
  requires(!executor<Second>)
struct wrong_argument<First, Second, Third, Rest...> : rules::says<broken::compile_takes_options<Second, false>> {};
template <optimizer First, executor Second, class Third, class... Rest>
struct wrong_argument<First, Second, Third, Rest...>
    : rules::says<broken::compile_takes_the_executor_first<First, Second, false>> {};
template <executor First, class Second, class Third, class... Rest>
struct wrong_argument<First, Second, Third, Rest...> : rules::says<broken::compile_takes_an_optimizer<Second, false>> {
};
template <executor First, optimizer Second, class Third, class... Rest>
struct wrong_argument<First, Second, Third, Rest...> : rules::says<broken::compile_takes_options<Third, false>> {};

/// The same, or that there is no network. For an argument with an error of its own, nvcc would report that, too.
template <class Network, class... Given>
struct wrong_call {
  using type = rules::nothing;
};
template <class Network, class... Given>
  requires(is_known<Given> && ...)
struct wrong_call<Network, Given...> : wrong_argument<Given...> {};
template <class... Given>
  requires(is_known<Given> && ...)
struct wrong_call<broken::nothing, Given...> : rules::says<broken::compile_takes_a_network<broken::nothing, false>> {};

}  // namespace dsl::detail::TYPENET_MODE

namespace dsl::TYPENET_MODE {

/// Prepares a network for training on an executor, with fresh weights:
///   auto t = dsl::compile<model>(dsl::native{}, dsl::sgd{.learning_rate = 5e-3, .momentum = 0.9});
/// The compiler checks that the plan is sound (no read before its write, no live buffer overwritten); for networks of
/// more than 1,000 operations (300 on several devices) the engine does at run time. Throws option_error for invalid
/// options, and for a loss that does not suit the network's output. The return type, trainer, is deduced so that
/// editors analyse the function and show errors in the network.
template <class Network, executor Executor, optimizer Optimizer>
auto compile(Executor const& on, Optimizer const& optimizer, compile_options const& o) {
  static_assert(alignof(typename detail::network_words<Network>::type) > 0);
  detail::require_budgets_are_kept<Network, Executor>();
  if constexpr (Network::is_sound)  // otherwise the compiler has already reported what is wrong
    static_assert(detail::sound<Network, Executor>(),
                  "plan: typenet made a plan that its own checker refuses; please report the network");
  return trainer{detail::make_engine<detail::operations_in<Network>()>(
                     on, Network::view(), detail::options_of<Network>(optimizer.rule(), o)),
                 static_cast<double>(optimizer.learning_rate)};
}

/// Compiles with cross-entropy as the loss, and checks at compile time that it suits the network.
template <class Network, executor Executor, optimizer Optimizer>
auto compile(Executor const& on, Optimizer const& optimizer) {
  static_assert(alignof(typename detail::network_words<Network>::type) > 0);
  static_assert(alignof(typename detail::loss_words<Network>::type) > 0);
  return compile<Network>(on, optimizer, compile_options{});
}

/// Prepares a network for training on dsl::native{}, with all processors that this process may use.
template <class Network, optimizer Optimizer>
auto compile(Optimizer const& optimizer, compile_options const& o) {
  static_assert(alignof(typename detail::network_words<Network>::type) > 0);
  return compile<Network>(native{}, optimizer, o);
}
template <class Network, optimizer Optimizer>
auto compile(Optimizer const& optimizer) {
  static_assert(alignof(typename detail::network_words<Network>::type) > 0);
  static_assert(alignof(typename detail::loss_words<Network>::type) > 0);
  return compile<Network>(native{}, optimizer);
}

/// Reports that Thing is not a network, such as minigooglenet<10> without network<image<...>, ...> around it.
template <class Thing, executor Executor, optimizer Optimizer>
  requires(!is_network<Thing>)
auto compile(Executor const&, Optimizer const&, compile_options const&) {
  static_cast<void>(sizeof(broken::compile_takes_a_network<Thing, false>));
  return trainer{nullptr, 0};
}

/// Accepts the arguments that no other compile() accepts, and reports which argument is wrong.
template <class Network = broken::nothing, class... Given>
trainer compile(Given const&...) noexcept(sizeof(typename detail::wrong_call<Network, Given...>::type) != 0);
template <class Network = broken::nothing, class First, class Second>
trainer compile(First const&, Second const&,
                compile_options const&) noexcept(sizeof(typename detail::wrong_call<Network, First, Second>::type) !=
                                                 0);
/// Reports that the network is missing, as in compile(sgd{}, {.seed = 1}) without compile<model>.
template <class Network = broken::nothing, class First>
  requires std::same_as<Network, broken::nothing>
trainer compile(First const&, detail::options_in_braces const&) noexcept(
    sizeof(broken::compile_takes_a_network<Network, sizeof(First) == 0>) != 0);

/// Reports which of the options is wrong.
template <class Network>
trainer compile(detail::any_executor&&, detail::any_optimizer&&, detail::any_compile_options const& wrong);
template <class Network>
trainer compile(detail::any_optimizer&&, detail::any_compile_options const& wrong);
/// Reports that the optimizer is missing, or that it is among the options, as in Keras.
template <class Network, executor Executor>
trainer compile(Executor const&, detail::options_in_braces const&) noexcept(
    sizeof(broken::compile_takes_an_optimizer<detail::options_in_braces, sizeof(Executor) == 0>) != 0);
#if defined(__GNUC__) && !defined(__clang__) && !defined(__CUDACC__)
/// Options with names that are not in the lists above. GCC takes such options for the arrays.
template <class Network, int Options>
trainer compile(detail::compile_takes_an_optimizer_first const (&options)[Options]) = delete;
template <class Network, int Options>
trainer compile(detail::any_optimizer const&, detail::compile_has_only const (&options)[Options]) = delete;
template <class Network, int Options>
trainer compile(detail::any_executor const&, detail::any_optimizer const&,
                detail::compile_has_only const (&options)[Options]) = delete;
/// Options whose values have an error of their own, which GCC has reported.
template <class Network>
trainer compile(detail::any_optimizer const&, ...) = delete;
#elif defined(__clang__) && !defined(__CUDACC__)
/// Reports that there is nothing but options. nvcc would also take an argument with an error of its own for options.
template <class Network>
trainer compile(detail::options_in_braces const&) noexcept(
    sizeof(broken::compile_takes_an_optimizer<detail::options_in_braces, sizeof(Network*) == 0>) != 0);
#endif

}  // namespace dsl::TYPENET_MODE

#ifdef TYPENET_DEFINITIONS
#include <dsl/training/compile_inl.hpp>
#include <dsl/training/output_weight.hpp>
#endif
