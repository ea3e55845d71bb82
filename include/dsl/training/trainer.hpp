// SPDX-License-Identifier: MIT
#pragma once

#include <dsl/data/pipeline.hpp>
#include <dsl/detail/mode.hpp>
#include <dsl/detail/owner.hpp>
#include <dsl/detail/zeros.hpp>
#include <dsl/executors/engine.hpp>
#include <dsl/training/callback.hpp>
#include <dsl/training/evaluation.hpp>
#include <dsl/training/fit_options.hpp>

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

namespace dsl::TYPENET_MODE {

/// A network on an executor, with the words of Keras: fit, evaluate, predict. Not a template: a second network costs
/// its lowering only. compile() makes it. One thread at a time may use it, for reading too; trainers of other networks
/// are independent of it. One that was moved from can only be assigned to or destroyed.
class trainer {
 public:
  /// Throws option_error without an engine.
  trainer(std::unique_ptr<dsl::engine> e, double learning_rate);

  /// Trains for options.epochs epochs of floor(size / batch_size) steps and returns what each came to. Order,
  /// augmentation and dropout depend on the seed alone. Throws option_error before the first step where the options
  /// don't fit network or data, and before any step whose learning rate is below 0 or no number; training_error when
  /// the loss is no number any more; interrupted where a callback such as stop_on_signal was told to end the run.
  [[gnu::cold]] history fit(dataset const& data, fit_options const& options);

  /// Mean loss and accuracy over all samples, in inference mode; a short last batch counts by its samples. `seen`, a
  /// confusion_matrix for one, looks on. Warns where the pictures lack the mean that fit's had; so does predict.
  [[gnu::cold]] scores evaluate(dataset const& data, int batch_size = 64, evaluation_observer* seen = nullptr);
  /// The network's outputs, (size, outputs): a classifier's probabilities.
  [[gnu::cold]] std::vector<float> predict(dataset const& data, int batch_size = 64);

  /// Trains one step on a batch of the caller's own and returns its mean loss and accuracy. samples is (batch,
  /// channels, height, width), normalised; there is a label a sample. Of several processes each brings the whole batch,
  /// the same one; it trains on its part of it. Throws data_error where a count or a label does not fit the network.
  scores train_on_batch(std::span<float const> samples, std::span<std::int32_t const> labels);
  /// Trains one step towards values, as many a sample as the network has outputs, in their order.
  scores train_on_batch(std::span<float const> samples, std::span<float const> values);
  /// Trains one step on `size` samples and labels; nothing checks that there are so many.
  scores train_on_batch(float const* images, std::int32_t const* labels, int size);
  /// Computes the network's outputs, (batch, outputs), for a batch of the caller's own: normalised, NCHW. Throws
  /// data_error unless there are as many outputs as samples want.
  void predict_on_batch(std::span<float const> samples, std::span<float> outputs);
  /// Computes the outputs of `size` samples, size * outputs floats; nothing checks that there is room for so many.
  void predict_on_batch(float const* images, int size, float* outputs);

  /// Of the next step. While fit runs that of the end of its last epoch, or what set_learning_rate gave since; a
  /// callback has the present one in run.learning_rate.
  double learning_rate() const { return learning_rate_; }
  /// For the next step, that of a run, too, whose callbacks may write run.learning_rate instead. Throws option_error
  /// for one below 0, or one that is no number.
  void set_learning_rate(double rate);
  std::uint64_t seed() const { return engine_->options().seed; }
  /// Steps trained so far, over all calls.
  std::uint64_t steps() const { return step_; }
  /// For a training that goes on: dropout and Adam's correction of its bias depend on the step.
  void set_steps(std::uint64_t steps) { step_ = steps; }
  graph_view const& graph() const { return graph_; }
  dsl::engine& engine() { return *engine_; }

 private:
  scores train_on(float const* samples, std::int32_t const* labels, float const* values, int size);
  [[gnu::cold]] static std::unique_ptr<dsl::engine> require(std::unique_ptr<dsl::engine> e);
  [[gnu::cold]] fit_terms terms_of(dataset const& data, fit_options const& o) const;
  /// Callbacks may have set stop at any moment, in one process or in all of them. A begun epoch is ended first.
  [[gnu::cold]] static bool goes_on(fit_run& run, fit_options const& options);
  [[gnu::cold]] static void agree_to_stop(fit_run& run);

  /// Until the first epoch a callback may still refuse the run; then the trainer is as it was.
  [[gnu::cold]] static void begin_run(fit_run& run);

  /// The metrics of a run's last step. Learns whether the run has been interrupted, in all processes alike.
  batch_metrics metrics(int program, fit_run* run);
  /// The state to go on from is kept.
  [[gnu::cold, noreturn]] static void leave(fit_run const& run);
  /// Whether validation looks at the average of weights, and not at the training's own.
  static bool averages(fit_run const& run) { return run.average && !run.average->is_empty(); }

  /// `run`: its validation, which ends early where the run is interrupted and these weights have given a loss. Its
  /// state is kept then, and run->proven says so.
  [[gnu::cold]] scores evaluate(dataset const& data, int batch_size, evaluation_observer* seen, fit_run* run);

  [[gnu::cold]] static void begin_epoch(fit_run& run);

  /// False: the loss became no number, and a callback has ended the run.
  [[gnu::cold]] bool train_epoch(batch_loader* loader, int program, std::int64_t steps, double begin, fit_run& run,
                                 fit_options const& options);

  /// Every callback's moment, in their order. One loop for all moments: inlined into fit() each costs 10 ms.
  [[gnu::cold]] static void tell(fit_run& run, void (callback::*moment)(fit_run&));
  /// All callbacks hear of it.
  [[gnu::cold]] static bool ends_for_bad_loss(fit_run& run);

  /// Until f(program, batch) is false.
  template <class F>
  [[gnu::cold]] void for_each_batch(dataset const& data, int batch_size, mode m, target_kind targets, F f);

  /// Throws data_error unless there are `batch` samples of this shape, 1 at least.
  [[gnu::cold]] static void require_count(char const* what, std::size_t found, std::size_t batch, shape const& each);
  int values_of(target_kind targets) const;
  bool has_acc(target_kind targets) const;

  /// Callbacks write it, at any time.
  static void check_rate(fit_run const& run);
  [[gnu::cold, noreturn]] static void refuse_rate(fit_run const& run);
  static void check_size(int batch);
  /// Without its mean the network sees pictures of another brightness, and its scores are about those. Says so once.
  [[gnu::cold]] void look_at_mean(dataset const& data, char const* what);
  /// On a clock that only goes forward.
  static double seconds();

  std::unique_ptr<dsl::engine> engine_;
  graph_view graph_;
  double learning_rate_;
  std::uint64_t step_ = 0;
  std::shared_ptr<std::vector<float> const> mean_, deviation_;  // of the last fit
  fit_run* run_ = nullptr;                                      // while there is one
};

}  // namespace dsl::TYPENET_MODE

#ifndef TYPENET_COMPILED
#include <dsl/training/trainer_inl.hpp>
#endif
