// SPDX-License-Identifier: MIT
#pragma once

#include <dsl/data/dataset.hpp>
#include <dsl/data/normalization.hpp>
#include <dsl/data/pipeline.hpp>
#include <dsl/detail/mode.hpp>
#include <dsl/detail/owner.hpp>
#include <dsl/detail/zeros.hpp>
#include <dsl/executors/engine.hpp>
#include <dsl/training/any_options.hpp>
#include <dsl/training/batch_checks.hpp>
#include <dsl/training/callback.hpp>
#include <dsl/training/evaluation.hpp>
#include <dsl/training/fit_options.hpp>

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace dsl::TYPENET_MODE {

/// A network on an executor, with Keras's words: fit, evaluate, predict. Not a template, so that a second network costs
/// only its lowering. compile() makes one. Only one thread at a time may use it, even for reading; trainers of other
/// networks are independent of it. A moved-from trainer can only be assigned to or destroyed.
class trainer {
 public:
  /// Throws option_error if `e` is null.
  trainer(std::unique_ptr<dsl::engine> e, double learning_rate);
  /// Makes a trainer that keeps the engine's weights, as a predictor does.
  explicit trainer(std::unique_ptr<dsl::engine> e);

  /// Trains for options.epochs epochs of floor(size / batch_size) steps and returns the result of each. Order,
  /// augmentation and dropout depend only on the seed. Throws option_error before the first step if the options do not
  /// fit the network or the data, and before any step with an invalid learning rate; training_error if the loss is no
  /// longer finite; and interrupted if a callback such as stop_on_signal has ended the run. The normalisation of the
  /// data becomes that of the weights.
  [[gnu::cold]] history fit(dataset const& data, fit_options const& options = {});

#if defined(__GNUC__) && !defined(__clang__) && !defined(__CUDACC__)
  /// Reports which argument is wrong. Clang and nvcc do so by themselves; GCC names only the type that it cannot
  /// convert.
  template <int = 0>
  history fit(dataset const& data, detail::any_fit_options const& wrong);
  template <class... Given>
    requires(!detail::fit_takes<Given...>)
  history fit(Given const&...) {
    static_cast<void>(sizeof(broken::fit_takes_data_and_options<false, Given...>));
    return {};
  }
  template <class Data>
    requires(!std::is_convertible_v<Data const&, dataset const&>)
  history fit(Data const&, fit_options const&) {
    static_cast<void>(sizeof(broken::fit_takes_data_and_options<false, Data, fit_options>));
    return {};
  }
  template <class Labels>
  history fit(dataset const&, Labels const&, detail::any_fit_options const&) {
    static_cast<void>(sizeof(broken::fit_takes_data_and_options<false, dataset, Labels, fit_options>));
    return {};
  }
#endif

  /// Returns the mean loss and accuracy over all samples, in inference mode, with a short last batch weighted by its
  /// samples. `seen`, such as a confusion_matrix, observes the outputs. A data set without a mean and a deviation is
  /// normalised in the same way as the training data. Throws option_error for a data set whose own normalisation
  /// differs. The same holds for predict.
  [[gnu::cold]] scores evaluate(dataset const& data, int batch_size = 64, evaluation_observer* seen = nullptr);
  /// Returns the network's outputs, (size, outputs): a classifier's probabilities.
  [[gnu::cold]] std::vector<float> predict(dataset const& data, int batch_size = 64);

  /// Returns one of several outputs: that of named_output<"name", ...>, or for "main" that of predict(). Throws
  /// option_error for another name.
  [[gnu::cold]] std::vector<float> predict_output(std::string_view name, dataset const& data, int batch_size = 64);

  /// Trains one step on your own batch and returns its mean loss and accuracy. samples is (batch, channels, height,
  /// width), normalised, with one label per sample or, if the output is not flat, per pixel, -1 for none. Each of
  /// several processes passes the same whole batch, and trains on its part. Throws data_error if a count or a label
  /// does not fit the network.
  scores train_on_batch(std::span<float const> samples, std::span<std::int32_t const> labels);
  /// Trains one step with target values: as many per sample as the network has outputs, in the same order.
  scores train_on_batch(std::span<float const> samples, std::span<float const> values);
  /// Trains one step of a network with several inputs:
  ///   t.train_on_batch({{"", images}, {"weather", rows}}, labels);
  scores train_on_batch(std::vector<batch_input> const& inputs, std::span<std::int32_t const> labels);
  scores train_on_batch(std::vector<batch_input> const& inputs, std::span<float const> values);
  /// Trains one step on `size` samples and labels. The sizes of the arrays are not checked.
  scores train_on_batch(float const* images, std::int32_t const* labels, int size);
  /// Computes the network's outputs, (batch, outputs), for your own batch, normalised and NCHW. Throws data_error if
  /// the sizes of samples and outputs do not match.
  void predict_on_batch(std::span<float const> samples, std::span<float> outputs);
  /// Computes the outputs of a network with several inputs.
  void predict_on_batch(std::vector<batch_input> const& inputs, std::span<float> outputs);
  /// Computes the outputs of `size` samples, size * outputs floats. The sizes of the arrays are not checked.
  void predict_on_batch(float const* images, int size, float* outputs);

  /// Returns the learning rate of the next step. During fit it is run.learning_rate, which callbacks may change.
  double learning_rate() const { return learning_rate_; }
  /// Sets the learning rate of the next step, also during fit. Throws option_error if it is negative or not finite.
  void set_learning_rate(double rate);
  /// Returns the seed given to compile().
  std::uint64_t seed() const { return engine_->options().seed; }
  /// Returns the number of steps trained so far, over all calls.
  std::uint64_t steps() const { return step_; }
  /// Sets the number of steps, for resuming a training: dropout and Adam's bias correction depend on it.
  void set_steps(std::uint64_t steps) { step_ = steps; }
  /// Returns the normalisation of the data that the weights were trained on: by the last fit, or according to a file of
  /// weights. It is empty for weights that have not been trained, or only by train_on_batch.
  [[gnu::cold]] dsl::normalization normalization() const;
  /// Sets the normalisation, for weights from elsewhere. Throws data_error if it does not fit the network's inputs.
  [[gnu::cold]] void set_normalization(dsl::normalization n);
  /// Forgets the normalisation, so that the data of the next fit may have another one.
  [[gnu::cold]] void forget_normalization() { engine_->set_normalization(nullptr); }
  /// Returns the identity of the source of fit's training data; empty if fit is not running, or if the data are in
  /// memory.
  std::string source_of_fit() const { return run_ ? run_->source : std::string(); }
  graph_view const& graph() const { return graph_; }
  dsl::engine& engine() { return *engine_; }
  /// Whether fit is running, that is, whether a callback calls this.
  bool is_fitting() const { return run_ != nullptr; }
  /// Returns the names of fit's .metrics; none if fit is not running.
  std::vector<std::string> metrics_of_fit() const { return run_ ? run_->metrics : std::vector<std::string>{}; }

 private:
  friend struct fit_run;
  detail::batch_checks checks() const { return {graph_, engine_->options().loss}; }
  scores train_on(float const* samples, std::int32_t const* labels, float const* values, int size,
                  float const* const* further = nullptr);
  /// Returns the further inputs, starting with sample `first`; empty if there are none.
  std::vector<float const*> further_from(float const* const* all, int first) const;
  /// Adds the sums of several outputs in a program's last run.
  void add_outputs(int program, std::vector<double>& sums);
  [[gnu::cold]] std::vector<float> predict_output(int k, dataset const& data, int batch_size);
  [[gnu::cold]] static std::unique_ptr<dsl::engine> require(std::unique_ptr<dsl::engine> e);
  [[gnu::cold]] fit_terms terms_of(dataset const& data, fit_options const& o) const;
  /// Whether the run continues. Callbacks may have set stop at any time, in one process or in all; the current epoch is
  /// finished first.
  [[gnu::cold]] static bool should_continue(fit_run& run, fit_options const& options);
  [[gnu::cold]] static void agree_to_stop(fit_run& run);

  /// Begins a run. Until the first epoch, a callback may refuse it, which leaves the trainer unchanged. `of_pixels`
  /// loads batches with a class per pixel; otherwise it is null.
  [[gnu::cold]] static void begin_run(fit_run& run, batch_loader* of_pixels);
  /// Returns fit_position::counted of a position where a run begins.
  [[gnu::cold]] static std::int64_t counted_before(fit_position const& at, int batch_size, batch_loader* of_pixels);
  /// Returns the program of a training step: without a labelled pixel it is evaluation, which changes nothing.
  [[gnu::cold]] int program_for(std::int64_t labelled, int training, batch_part share);

  /// Returns the metrics of a run's last step. Also determines, in all processes alike, whether the run has been
  /// interrupted.
  batch_metrics metrics(int program, fit_run* run);
  /// Throws interrupted. The state to resume from has been kept.
  [[gnu::cold, noreturn]] static void leave(fit_run const& run);
  /// Whether validation uses the average of weights instead of the training's own.
  static bool averages(fit_run const& run) { return run.average && !run.average->is_empty(); }

  /// Evaluates a data set. With a `run` it is the run's validation, which ends early if the run is interrupted and
  /// these weights have given a finite loss. The run's state has been kept by then, and run->proven is set.
  [[gnu::cold]] scores evaluate(dataset const& data, int batch_size, evaluation_observer* seen, fit_run* run);

  [[gnu::cold]] static void begin_epoch(fit_run& run);

  /// Returns false if the loss was not finite, and a callback has ended the run.
  [[gnu::cold]] bool train_epoch(batch_loader* loader, int program, std::int64_t steps, double begin, fit_run& run,
                                 fit_options const& options);

  /// Calls one member function of every callback, in the order of the callbacks. It is one loop for all functions,
  /// because each loop inlined into fit() costs 10 ms of compile time.
  [[gnu::cold]] static void notify(fit_run& run, void (callback::*moment)(fit_run&));
  /// Calls on_bad_loss of all callbacks. Returns whether one ends the run.
  [[gnu::cold]] static bool ends_for_bad_loss(fit_run& run);

  /// Calls f(program, batch) until it returns false.
  template <class F>
  [[gnu::cold]] void for_each_batch(dataset const& data, int batch_size, mode m, target_kind targets, F f);

  int values_of(target_kind targets) const;
  /// Returns a step's sums over samples. With a class per pixel, each sample counts as the mean over the batch's
  /// labelled pixels.
  static batch_metrics by_sample(batch_metrics const& m, std::int64_t labelled, int size);
  bool has_acc(target_kind targets) const;

  /// Checks the learning rate, which callbacks may set at any time.
  static void check_rate(fit_run const& run);
  [[gnu::cold, noreturn]] static void refuse_rate(fit_run const& run);
  /// Returns a data set with the normalisation of the weights: its own must be the same, or none. Throws option_error.
  [[gnu::cold]] dataset as_learned(dataset const& data, char const* what) const;
  /// Returns the time of a monotonic clock.
  static double seconds();

  std::unique_ptr<dsl::engine> engine_;
  graph_view graph_;
  std::vector<std::string> outputs_;  // the names of several
  double learning_rate_;
  std::uint64_t step_ = 0;
  fit_run* run_ = nullptr;  // null unless fit is running
};

}  // namespace dsl::TYPENET_MODE

#ifndef TYPENET_COMPILED
#include <dsl/training/trainer_inl.hpp>
#endif
