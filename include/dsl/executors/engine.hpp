// SPDX-License-Identifier: MIT
#pragma once

#include <dsl/data/normalization.hpp>
#include <dsl/data/target_view.hpp>
#include <dsl/detail/message.hpp>
#include <dsl/detail/mode.hpp>
#include <dsl/executors/batch_part.hpp>
#include <dsl/executors/communicator.hpp>
#include <dsl/executors/process_checks.hpp>
#include <dsl/executors/shared_weights.hpp>
#include <dsl/executors/thread_team.hpp>
#include <dsl/executors/update_rule.hpp>
#include <dsl/graph/operation_set.hpp>
#include <dsl/plan/plan.hpp>
#include <dsl/plan/verify/rules.hpp>

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

namespace dsl::TYPENET_MODE {

class augmentation;
class custom_loss;  // <dsl/executors/custom_loss.hpp>
struct dataset;

/// A function that checks a plan, such as verify().
using plan_checker = plan_verdict (*)(graph_view const&, plan const&);

/// The options that an engine needs in addition to the network.
struct engine_options {
  std::uint64_t seed = 0;
  update_rule update{};
  per_output<dsl::loss> loss = dsl::loss::categorical_crossentropy;
  double batch_norm_momentum = -1;         // >= 0: replaces the momentum of every layer
  bool unbiased_running_variance = false;  // true: with n / (n - 1), as in PyTorch; false: as in Keras
  /// The function with which the program checks every plan: &dsl::verify. It is null by default, since the compiler has
  /// already checked the training plan, and the checker would be a tenth of an executor's code.
  plan_checker verify = nullptr;
  /// Connects this engine with the engines on other devices that train the same network on the other parts of each
  /// batch. It is null if there are no such engines. The object must outlive the engine.
  communicator* group = nullptr;
  tower_moments moments = tower_moments::in_turn;  // how batch_norm's moments are merged, with a group
  int micro_batches = 1;                           // parts of each batch that run one after the other
  double label_smoothing = 0;                      // the target of cross-entropy is (1 - s) onehot + s / classes
  std::vector<float> class_weights{};              // factors of the losses of each class in training; empty: all are 1
  std::vector<double> loss_weights{};              // factors of the losses of each output; empty: all are 1
  /// Makes the threads for an executor on the host. If it is null, one thread runs the steps of all devices in the
  /// plan's order.
  thread_team_maker make_thread_team = nullptr;
  memory_limit limit{};  // from a memory_budget; an executor that does not support it throws
  /// The weights of another engine for the same network, which this engine reads instead of having its own; if null, it
  /// has its own weights.
  std::shared_ptr<shared_weights> weights{};
  std::shared_ptr<dsl::custom_loss const> custom_loss{};  // with loss::custom, otherwise null
  /// The custom_loss of each output if each output has a separate loss, otherwise empty.
  std::vector<std::shared_ptr<dsl::custom_loss const>> custom_losses{};
};

/// A batch, or a device's part of a batch, in host memory: samples first ... first + size - 1 of arrays of samples. For
/// the label -2147483648, cuda computes no loss and counts the sample as not correct.
struct batch_view {
  /// The address of each input's samples, (size, channels, height, width), in the order of the input nodes in the
  /// graph. It may be null, or missing for a network with one input, if the caller has written the samples into the
  /// engine's input.
  std::span<float const* const> inputs{};
  std::span<target_view const> targets{};  // of each output, or those that all outputs share; inference needs none
  int size = 0;
  std::uint64_t step = 0;  // counted from 0 over the whole training; for dropout and Adam's bias correction
  double learning_rate = 0;
  int first = 0;
  std::uint64_t staged = 0;  // the result of engine::stage() for this batch, which has not changed since; or 0

  /// Return the samples of input k and the targets of output k, or nulls.
  float const* input(std::size_t k) const { return k < inputs.size() ? inputs[k] : nullptr; }
  target_view target(int k) const {
    return targets.empty() ? target_view{} : targets[targets.size() > 1 ? static_cast<std::size_t>(k) : 0];
  }
};

/// Sums over the samples of a batch, or of this engine's part of it, or over their labelled pixels; divide by their
/// number to get means. With several outputs, `loss` is the sum of their losses, each multiplied by its weight in
/// engine_options::loss_weights, and `correct` is for the network's result. A sample with a label is correct if its
/// largest output is the one of the label. With binary_crossentropy and target values, each sample adds the share of
/// its outputs that are on the same side of 1/2 as their targets. With other losses of values, `correct` is 0.
struct batch_metrics {
  double loss = 0;
  double correct = 0;
};

/// The state of a network on a device, and the plans that run there. Executors make engines. prepare() builds
/// everything that a step needs, so that run() itself allocates nothing.
class engine {
 public:
  virtual ~engine() = default;

  /// Whether prepare_resident() can keep this data set on the device. If several engines train together, all are asked
  /// before one of them begins.
  virtual bool keeps(dataset const&, augmentation const&) const { return false; }
  /// Prepares training on batches that the engine makes itself from a copy of the data set on the device. The samples
  /// are taken in the loader's order (without `shuffle`, in the stored order), augmented and mean-subtracted, and have
  /// their labels. Returns a program whose runs get no images and no labels. Returns -1 if the engine cannot keep the
  /// data set; the caller must then provide each batch.
  virtual int prepare_resident(dataset const&, augmentation const&, batch_part, bool /*shuffle*/) { return -1; }
  /// Makes the next run of such a program take batch `step` of epoch `epoch`, both counted from 0. Later runs take the
  /// batches that follow.
  virtual void start_epoch(int /*program*/, int /*epoch*/, std::int64_t /*step*/) {}

  /// Builds the operations and the memory of a plan, and returns the number of the resulting program; equal arguments
  /// give the same number. The gradients are those of the mean loss over `part.whole` samples or, with a class per
  /// pixel, over batch_view::labelled pixels. Throws option_error if the loss does not accept this kind of targets, and
  /// executor_error if the executor lacks a kernel for the loss.
  virtual int prepare(mode m, batch_part part, per_output<target_kind> targets = target_kind::classes) = 0;
  /// Runs one step on a batch of exactly the size for which the program was prepared. All engines of a group must run
  /// the step at the same time.
  virtual void run(int program, batch_view const& batch) = 0;
  /// Announces the batch of the program's next run, so that an engine can copy the batch while a step runs. Returns the
  /// number that this run must get as batch_view::staged, or 0 if the engine does not copy ahead. If another batch is
  /// run instead, the announced one is forgotten.
  virtual std::uint64_t stage(int /*program*/, batch_view const& /*next*/) { return 0; }
  /// Returns the metrics of the program's last run, which must have been training or evaluation.
  virtual batch_metrics metrics(int program) = 0;
  /// Returns the metrics of output k alone, with a loss that is not multiplied by its weight. Output 0 is the network's
  /// result, and output 1 its first named_output. metrics() must have been called after the last run.
  virtual batch_metrics output_metrics(int program, int /*k*/) { return metrics(program); }
  /// Copies the network's result from the last run: (size, channels, height, width).
  virtual void read_result(int program, float* out) = 0;
  /// Copies output number k from the last run.
  virtual void read_output(int program, int /*k*/, float* out) { read_result(program, out); }

  /// Copy parameter k of the graph, or its optimizer slot s, always as float.
  virtual void read_parameter(int k, float* out) = 0;
  virtual void write_parameter(int k, float const* in) = 0;
  virtual void read_slot(int s, int k, float* out) = 0;
  virtual void write_slot(int s, int k, float const* in) = 0;

  /// Returns the weights, which other engines can use as their engine_options::weights. Returns null if the executor
  /// cannot share weights.
  virtual std::shared_ptr<shared_weights> weights() { return nullptr; }

  /// Returns the normalisation of the data that the weights were trained on, or null if it is not known. Engines that
  /// share weights also share this normalisation.
  std::shared_ptr<dsl::normalization const> normalization();
  /// Sets the normalisation. Throws option_error if another engine shares the weights.
  void set_normalization(std::shared_ptr<dsl::normalization const> n);

  /// Return the bytes of the plan's memory, and the bytes that libraries need in addition for packed weights and
  /// scratch memory.
  virtual long long arena_bytes() const = 0;
  virtual long long executor_bytes() const = 0;
  /// Returns a description of the executor, such as "onednn 2.6.3, 2 threads, avx512_core".
  virtual std::string description() const = 0;
  /// Returns a description of the arithmetic, such as "cuda, bf16". It must be the same in processes that train
  /// together. Override it if description() contains details that may differ between processes, such as the number of
  /// threads.
  virtual std::string arithmetic() const { return description(); }
  /// Returns the number of channels that are stored side by side, or 1 if channels are not stored in blocks. It must be
  /// the same in processes that train together, since it influences the order of a plan.
  virtual int channel_block() const { return 1; }
  /// Returns the number of devices that train together, each of them on its own part of every batch.
  virtual int replicas() const { return options_.group ? options_.group->ranks() : 1; }

  /// If the devices belong to several processes, returns the checks between these processes; otherwise returns null.
  virtual process_checks* processes() { return nullptr; }
  /// Returns the part of a batch of `batch` samples that this process computes. The metrics are always for the whole
  /// batch.
  virtual batch_part share_of(int batch) const { return batch; }

  /// Returns the weight by which the loss of output k is multiplied.
  double loss_weight(int k) const {
    return options_.loss_weights.empty() ? 1 : options_.loss_weights[static_cast<std::size_t>(k)];
  }
  /// Returns the custom loss of output k, or null if the output has one of the library's losses.
  dsl::custom_loss const* custom_loss_of(int k) const {
    return options_.loss.is_shared() ? options_.custom_loss.get()
                                     : options_.custom_losses[static_cast<std::size_t>(k)].get();
  }
  graph_view const& graph() const { return graph_; }
  engine_options const& options() const { return options_; }

  engine(engine const&) = delete;
  engine& operator=(engine const&) = delete;

 protected:
  engine(graph_view const& g, engine_options const& o) : graph_(g), options_(o) {}

  void require_targets(mode m, per_output<target_kind> const& targets) const;
  void require_parameter(int k) const;
  void require_slot(int s, int k) const;

  graph_view graph_;
  engine_options options_;

 private:
  std::shared_ptr<dsl::normalization const> normalization_;  // of an engine that does not share weights
};

/// Satisfied by types that make engines: dsl::reference{}, dsl::onednn{}.
template <class E>
concept executor = requires(E const& e, graph_view const& g, engine_options const& o) {
  std::unique_ptr<engine>(e.make_engine(g, o));
};

}  // namespace dsl::TYPENET_MODE

namespace dsl::detail::TYPENET_MODE {

/// The operations of a network type; all of them for a network with an error, which the compiler has reported.
template <class Network>
constexpr operation_set operations_in() {
  if constexpr (Network::is_sound)
    return operations_of(Network::view());
  else
    return all_operations;
}

template <class Member>
struct member_of;
template <class Member, class Class>
struct member_of<Member Class::*> {
  using type = Class;
};
/// Names the class that declares a member, given the type of a pointer to it: for &derived::f it is the base class if
/// `derived` inherits f.
template <class Member>
using class_of = typename member_of<Member>::type;

/// Satisfied by executors whose own make_engine_for makes the same engines as make_engine. A class that is derived from
/// an executor and has its own make_engine inherits the other function, which would ignore it.
template <class Executor, operation_set Only>
concept makes_engines_for = std::same_as<class_of<decltype(&Executor::make_engine)>,
                                         class_of<decltype(&Executor::template make_engine_for<Only>)>>;

/// Makes an engine for a network that has no other operations than those of a set. In a program with the headers
/// alone, the executors then leave out the code for the others.
template <operation_set Only, class Executor>
std::unique_ptr<engine> make_engine(Executor const& on, graph_view const& g, engine_options const& o) {
  if constexpr (makes_engines_for<Executor, Only>)
    return on.template make_engine_for<Only>(g, o);
  else
    return on.make_engine(g, o);
}

}  // namespace dsl::detail::TYPENET_MODE

#ifdef TYPENET_DEFINITIONS
#include <dsl/executors/engine_inl.hpp>
#endif
