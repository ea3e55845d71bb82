// SPDX-License-Identifier: MIT
#pragma once

#include <dsl/data/normalization.hpp>
#include <dsl/detail/message.hpp>
#include <dsl/detail/mode.hpp>
#include <dsl/executors/batch_part.hpp>
#include <dsl/executors/communicator.hpp>
#include <dsl/executors/process_checks.hpp>
#include <dsl/executors/shared_weights.hpp>
#include <dsl/executors/thread_team.hpp>
#include <dsl/executors/update_rule.hpp>
#include <dsl/plan/plan.hpp>
#include <dsl/plan/verify/rules.hpp>

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace dsl::TYPENET_MODE {

class augmentation;
class custom_loss;  // <dsl/executors/custom_loss.hpp>
struct dataset;

/// A function such as verify(), which checks a plan.
using plan_checker = plan_verdict (*)(graph_view const&, plan const&);

/// The options of an engine, which it needs besides the network.
struct engine_options {
  std::uint64_t seed = 0;
  update_rule update{};
  dsl::loss loss = dsl::loss::categorical_crossentropy;
  double batch_norm_momentum = -1;         // >= 0 replaces every layer's own
  bool unbiased_running_variance = false;  // PyTorch's n / (n - 1); Keras's is biased
  /// &dsl::verify makes the program check every plan. Null by default, since the compiler has already checked the
  /// training plan, and the checker is a tenth of an executor's code.
  plan_checker verify = nullptr;
  /// Connects the engines on other devices that train the same network on the other parts of each batch; null if there
  /// are none. It must outlive the engine.
  communicator* group = nullptr;
  tower_moments moments = tower_moments::in_turn;  // of batch_norm, with a group
  int micro_batches = 1;                           // parts of each batch that run one after the other
  double label_smoothing = 0;                      // the target of cross-entropy is (1 - s) onehot + s / classes
  std::vector<float> class_weights{};              // factors of the losses of each class in training; empty: all are 1
  std::vector<double> loss_weights{};              // factors of the losses of each output; empty: all are 1
  /// Makes the threads of executors on the host; if null, one thread runs the steps of all devices in the plan's order.
  thread_team_maker make_thread_team = nullptr;
  memory_limit limit{};  // of a memory_budget; an executor that can't keep it refuses it
  /// Weights of another engine for the same network, which the engine reads instead of having its own; null: its own.
  std::shared_ptr<shared_weights> weights{};
  std::shared_ptr<dsl::custom_loss const> custom_loss{};  // with loss::custom, otherwise null
};

/// A batch, or a device's part of it, in host memory. images is (size, channels, height, width), or null if the caller
/// has written the samples into the engine's input. Targets are in labels, a class number per sample, or (size, height,
/// width) of them with -1 for a pixel without a class; or in values, (size, channels, height, width) like the network's
/// output. Inference needs neither.
struct batch_view {
  float const* images = nullptr;
  std::int32_t const* labels = nullptr;
  int size = 0;
  std::uint64_t step = 0;  // of the whole training, from 0: keys dropout, and is used by Adam's bias correction
  double learning_rate = 0;
  float const* values = nullptr;
  /// The batch's samples of each further input, (size, channels, height, width), in the order of the graph's nodes.
  float const* const* further = nullptr;
  float const* weights = nullptr;  // factors of the losses, one per label or per sample with values; null: all are 1
  long long labelled = -1;         // with a class per pixel: number of labelled pixels of the whole batch
};

/// Sums over a batch; divide by the number of samples, or of labelled pixels. With several outputs, `loss` is the sum
/// of their losses times engine_options::loss_weights, and `correct` is that of the network's result. A sample is
/// correct if its largest output is its label's; with binary_crossentropy and values, each counts the share of its
/// outputs that are on the target's side of 1/2; otherwise `correct` is 0.
struct batch_metrics {
  double loss = 0;
  double correct = 0;
};

/// A network's state on a device and the plans that run there; executors make them. prepare() builds everything that a
/// step needs, so that run() allocates nothing itself.
class engine {
 public:
  virtual ~engine() = default;

  /// Whether prepare_resident() can keep such data. If several engines train together, all are asked before one begins.
  virtual bool keeps(dataset const&, augmentation const&) const { return false; }
  /// Prepares training on batches that the engine fetches itself, from a copy of the data set on the device: gathered
  /// in the loader's order (or the stored one, without shuffle), augmented, mean-subtracted, with labels. Returns a
  /// program whose runs take no images and no labels, or -1 if the engine does not keep such data and the caller must
  /// provide each batch.
  virtual int prepare_resident(dataset const&, augmentation const&, batch_part, bool /*shuffle*/) { return -1; }
  /// Makes such a program's next run take batch `step` of epoch `epoch`, both from 0, and later runs the following
  /// batches.
  virtual void start_epoch(int /*program*/, int /*epoch*/, std::int64_t /*step*/) {}

  /// Builds a plan's primitives and memory, and returns the program's number; equal arguments give the same number. The
  /// loss is the mean over the whole batch. Throws option_error if the loss does not accept such targets, and
  /// executor_error if the executor lacks a kernel for it.
  virtual int prepare(mode m, batch_part part, target_kind targets = target_kind::classes) = 0;
  /// Runs one step on a batch of exactly the prepared size. In a group all engines must run it at the same time.
  virtual void run(int program, batch_view const& batch) = 0;
  /// Returns the metrics of the last run, which must not have been inference.
  virtual batch_metrics metrics(int program) = 0;
  /// Returns the metrics of output k alone, without its weight: output 0 is the network's result, output 1 its first
  /// named_output. metrics() must have been called after the last run.
  virtual batch_metrics output_metrics(int program, int /*k*/) { return metrics(program); }
  /// Copies the network's result in the last run: (size, channels, height, width).
  virtual void read_result(int program, float* out) = 0;
  /// Copies output number k in the last run.
  virtual void read_output(int program, int /*k*/, float* out) { read_result(program, out); }

  /// Copy a parameter of graph.parameters, or its slot s of the optimizer, always as float.
  virtual void read_parameter(int k, float* out) = 0;
  virtual void write_parameter(int k, float const* in) = 0;
  virtual void read_slot(int s, int k, float* out) = 0;
  virtual void write_slot(int s, int k, float const* in) = 0;

  /// Returns the weights, for engine_options::weights of other engines; null if the executor cannot share them.
  virtual std::shared_ptr<shared_weights> weights() { return nullptr; }

  /// Returns the normalisation of the data that the weights were trained on; null: unknown. It belongs to the weights:
  /// engines that share the weights share it, too.
  [[gnu::cold]] std::shared_ptr<dsl::normalization const> normalization();
  /// Throws option_error if another engine holds the weights.
  [[gnu::cold]] void set_normalization(std::shared_ptr<dsl::normalization const> n);

  /// Return the bytes of the plan's arenas, and those that libraries need besides: packed weights and scratch memory.
  virtual long long arena_bytes() const = 0;
  virtual long long executor_bytes() const = 0;
  /// Returns a description such as "onednn 2.6.3, 2 threads, avx512_core".
  virtual std::string description() const = 0;
  /// Returns the arithmetic, which must be equal in processes that train together: "cuda, bf16". Override it if the
  /// description has details, such as the number of threads, that may differ.
  virtual std::string arithmetic() const { return description(); }
  /// Returns the number of channels stored side by side, 1 without blocks. It must be equal in processes that train
  /// together, since it influences the plan's order.
  virtual int channel_block() const { return 1; }
  /// Returns the number of devices that train together, each on its part of every batch.
  virtual int replicas() const { return options_.group ? options_.group->ranks() : 1; }

  /// Returns the checks between processes if the devices belong to several processes; otherwise null.
  virtual process_checks* processes() { return nullptr; }
  /// Returns this process's share of a batch of `batch` samples; the metrics are those of the whole batch.
  virtual batch_part share_of(int batch) const { return batch; }

  /// Returns the factor of an output's loss.
  double loss_weight(int k) const {
    return options_.loss_weights.empty() ? 1 : options_.loss_weights[static_cast<std::size_t>(k)];
  }
  graph_view const& graph() const { return graph_; }
  engine_options const& options() const { return options_; }

  engine(engine const&) = delete;
  engine& operator=(engine const&) = delete;

 protected:
  engine(graph_view const& g, engine_options const& o) : graph_(g), options_(o) {}

  [[gnu::cold]] void require_targets(mode m, target_kind targets) const;
  [[gnu::cold]] void require_parameter(int k) const;
  [[gnu::cold]] void require_slot(int s, int k) const;

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

#ifndef TYPENET_COMPILED
#include <dsl/executors/engine_inl.hpp>
#endif
