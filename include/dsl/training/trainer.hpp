// SPDX-License-Identifier: MIT
#pragma once

#include <dsl/data/dataset.hpp>
#include <dsl/data/normalization.hpp>
#include <dsl/data/pipeline.hpp>
#include <dsl/detail/mode.hpp>
#include <dsl/detail/owner.hpp>
#include <dsl/detail/zeros.hpp>
#include <dsl/executors/engine.hpp>
#include <dsl/training/batch_checks.hpp>
#include <dsl/training/callback.hpp>
#include <dsl/training/checks.hpp>
#include <dsl/training/evaluation.hpp>
#include <dsl/training/fit_options.hpp>
#include <dsl/training/trainer_diagnostics.hpp>

#include <cstdint>
#include <initializer_list>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace dsl::TYPENET_MODE {

/// A network on an executor, with Keras's words: fit, evaluate, predict. compile() returns one. The class is not a
/// template, so that compiling a program with a second network takes only the time to lower that network. Only one
/// thread at a time may use a trainer, even for reading; several trainers are independent of each other. A moved-from
/// trainer can only be assigned to or destroyed.
class trainer {
 public:
  /// Throws option_error if `e` is null.
  trainer(std::unique_ptr<dsl::engine> e, double learning_rate);
  /// Makes a trainer that leaves the engine's weights as they are, as a predictor does.
  explicit trainer(std::unique_ptr<dsl::engine> e);

  /// Trains for options.epochs epochs of floor(size / batch_size) steps and returns the result of each epoch. The order
  /// of samples, augmentation and dropout depend only on the seed. Throws option_error before the first step if the
  /// options do not fit the network or the data, and before any step whose learning rate is invalid; training_error if
  /// the loss is no longer finite; and interrupted if a callback such as stop_on_signal has interrupted the run. The
  /// normalisation of the data is stored with the weights.
  history fit(dataset const& data, fit_options const& options = {});

  /// Reports wrong arguments. The last parameter, which no call gives, lets nvcc print the options that there are.
  template <class Data = detail::anything, class Options = detail::fit_in_braces, class Third = detail::fit_in_braces>
    requires detail::wrong_fit<Data, Options, Third>
  history fit(Data const& = {}, Options const& = {}, Third const& = {},
              typename detail::in_braces<broken::options_of::fit>::type const& =
                  {}) noexcept(sizeof(typename detail::fit_diagnostic<Data, Options, Third>::type) != 0);
#if defined(__GNUC__) && !defined(__clang__) && !defined(__CUDACC__)
  /// Prints the options that there are if one has another name. GCC takes such options for the array.
  template <int Options>
  history fit(detail::anything const&, broken::options_of::fit const (&options)[Options]) = delete;
#endif

  /// Returns the mean loss and accuracy over all samples, in inference mode. A short last batch counts by its number of
  /// samples. `seen`, such as a confusion_matrix, observes the outputs. If the data set has no mean and no deviation,
  /// it is normalised as the training data were. Throws option_error if the data set's own normalisation differs from
  /// theirs. Both also hold for predict.
  scores evaluate(dataset const& data, int batch_size = 64, evaluation_observer* seen = nullptr);
  /// Reports arguments that evaluate does not take.
  template <class... Given>
    requires(!detail::evaluate_takes<Given...>)
  scores evaluate(Given&&...) noexcept(sizeof(broken::evaluate_takes_a_data_set<false, Given...>) != 0);
  template <int Given = 0>
  scores evaluate(dataset const&, detail::options_in_braces const&) noexcept(
      sizeof(broken::evaluate_takes_a_data_set<Given != 0, dataset, broken::options_in_braces>) != 0);
  /// Returns the network's outputs for all samples, (size, outputs): for a classifier, the probabilities of the
  /// classes.
  std::vector<float> predict(dataset const& data, int batch_size = 64);
  /// Reports arguments that predict does not take.
  template <class... Given>
    requires(!detail::predict_takes<Given...>)
  std::vector<float> predict(Given&&...) noexcept(sizeof(broken::predict_takes_a_data_set<false, Given...>) != 0);
  template <int Given = 0>
  std::vector<float> predict(dataset const&, detail::options_in_braces const&) noexcept(
      sizeof(broken::predict_takes_a_data_set<Given != 0, dataset, broken::options_in_braces>) != 0);
  /// Reports the numbers of a sample in braces, which would otherwise become the members of a dataset.
  template <int Given = 0>
  std::vector<float> predict(std::initializer_list<float>) noexcept(
      sizeof(broken::predict_takes_a_data_set<Given != 0, std::initializer_list<float>>) != 0);

  /// Returns one of several outputs: the output of named_output<"name", ...>, or for "main" the same as predict().
  /// Throws option_error if there is no output of this name.
  std::vector<float> predict_output(std::string_view name, dataset const& data, int batch_size = 64);

  /// Trains one step on your own batch and returns its mean loss and accuracy. `samples` are (batch, channels, height,
  /// width) and already normalised. There is one label per sample or, if the output is not flat, per pixel; a pixel
  /// with the label -1 has no class. If there are several processes, each passes the same whole batch and trains on its
  /// own part. Throws data_error if a count or a label does not fit the network.
  scores train_on_batch(std::span<float const> samples, std::span<std::int32_t const> labels);
  /// Trains one step with target values: as many per sample as the network has outputs, in the same order.
  scores train_on_batch(std::span<float const> samples, std::span<float const> values);
  /// Trains one step of a network with several inputs:
  ///   t.train_on_batch({{"", images}, {"weather", rows}}, labels);
  scores train_on_batch(std::vector<batch_input> const& inputs, std::span<std::int32_t const> labels);
  scores train_on_batch(std::vector<batch_input> const& inputs, std::span<float const> values);
  /// Trains one step of a network whose outputs have separate targets. Every output must be given, the network's
  /// result as "main":
  ///   t.train_on_batch({{"", faces}}, {{"main", labels}, {"age", ages}});
  scores train_on_batch(std::vector<batch_input> const& inputs, std::vector<batch_target> const& targets);
  /// Trains one step on `size` samples and labels, or target values. The sizes of the arrays are not checked.
  scores train_on_batch(float const* images, std::int32_t const* labels, int size);
  scores train_on_batch(float const* images, float const* values, int size);
  /// Reports arguments that train_on_batch does not take.
  template <class... Given>
    requires(!detail::train_on_batch_takes<Given...>)
  scores train_on_batch(Given&&...) noexcept(sizeof(broken::train_on_batch_takes_arrays<false, Given...>) != 0);
  /// Computes the network's outputs, (batch, outputs), for your own batch, which is NCHW and already normalised. Throws
  /// data_error if the sizes of samples and outputs do not match.
  void predict_on_batch(std::span<float const> samples, std::span<float> outputs);
  /// Computes the outputs of a network with several inputs.
  void predict_on_batch(std::vector<batch_input> const& inputs, std::span<float> outputs);
  /// Computes the outputs of `size` samples, size * outputs floats. The sizes of the arrays are not checked.
  void predict_on_batch(float const* images, int size, float* outputs);
  /// Reports arguments that predict_on_batch does not take.
  template <class... Given>
    requires(!detail::predict_on_batch_takes<Given...>)
  std::vector<float> predict_on_batch(Given&&...) noexcept(
      sizeof(broken::predict_on_batch_takes_arrays<false, Given...>) != 0);

  /// Returns the learning rate of the next step. During fit this is run.learning_rate, which callbacks may change.
  double learning_rate() const { return learning_rate_; }
  /// Sets the learning rate of the next step, even during fit. Throws option_error if the rate is negative or not
  /// finite.
  void set_learning_rate(double rate);
  /// Returns the seed given to compile().
  std::uint64_t seed() const { return engine_->options().seed; }
  /// Returns the number of steps trained so far, over all calls.
  std::uint64_t steps() const { return step_; }
  /// Sets the number of steps trained so far, to resume a training run: dropout and Adam's bias correction depend on
  /// this number.
  void set_steps(std::uint64_t steps) { step_ = steps; }
  /// Returns the normalisation of the data that the weights were trained on. It comes from the last fit, or from a file
  /// of weights. It is empty if the weights have not been trained, or only by train_on_batch.
  dsl::normalization normalization() const;
  /// Sets the normalisation, for weights that were trained elsewhere. Throws data_error if it does not fit the
  /// network's inputs.
  void set_normalization(dsl::normalization n);
  /// Removes the stored normalisation, so that the data of the next fit may have a different one.
  void forget_normalization() { engine_->set_normalization(nullptr); }
  /// Returns the identity of the source from which fit reads training data. The string is empty if fit is not running,
  /// or if the data are in memory.
  std::string source_of_fit() const { return run_ ? run_->source : std::string(); }
  /// Whether fit is running and reads training data from a stream.
  bool fit_reads_stream() const { return run_ && run_->streams; }
  /// Returns the properties of fit's data that decide the results; null if fit is not running.
  detail::run_identity* identity_of_fit() const { return run_ ? run_->identity : nullptr; }
  graph_view const& graph() const { return graph_; }
  dsl::engine& engine() { return *engine_; }
  /// Whether fit is running. A callback that asks always gets true.
  bool is_fitting() const { return run_ != nullptr; }
  /// Returns the names of fit's .metrics; there are none if fit is not running.
  std::vector<std::string> metrics_of_fit() const { return run_ ? run_->metrics : std::vector<std::string>{}; }

 private:
  friend struct fit_run;
  detail::batch_checks checks() const { return {graph_, engine_->options().loss}; }
  /// Runs a training step of a batch whose outputs share a target: labels or values.
  scores train_on(std::span<float const* const> inputs, target_view target, std::size_t size);
  /// Runs a training step of the whole batch `all`, of which this process trains its share.
  scores train_on(batch_view all, per_output<target_kind> const& targets);
  /// Adds each output's sums, from the last run of the program, to `sums`. The number of correct predictions becomes
  /// NaN if the output has no accuracy.
  void add_outputs(int program, per_output<target_kind> const& targets, std::vector<double>& sums);
  /// Adds the sums of a step whose metrics are `all` to `sums`, and returns the step's loss and correct predictions. If
  /// each output has a target of its own, each sample counts as the mean over the output's labelled pixels.
  batch_metrics add_step(int program, batch_metrics const& all, per_output<target_kind> const& kinds,
                         std::span<target_view const> targets, int size, std::vector<double>& sums);
  std::vector<float> predict_output(int k, dataset const& data, int batch_size);
  static std::unique_ptr<dsl::engine> require(std::unique_ptr<dsl::engine> e);
  fit_terms terms_of(dataset const& data, fit_options const& o) const;
  /// Whether the run continues with another epoch. Callbacks may have set `stop` at any time, in one process or in all;
  /// the run then ends after the current epoch.
  static bool should_continue(fit_run& run, fit_options const& options);
  static void agree_to_stop(fit_run& run);

  /// Begins a run. Until the first epoch, a callback may refuse the run, which leaves the trainer unchanged.
  /// `of_pixels` is the loader if the batches have a class per pixel; otherwise it is null.
  static void begin_run(fit_run& run, batch_loader* of_pixels);
  /// Returns the fit_position::counted of a position where a run begins or resumes.
  static std::int64_t counted_before(fit_position const& at, int batch_size, batch_loader* of_pixels);
  /// Returns the program for a training step. If no pixel of the batch has a label, this is the evaluation program,
  /// which changes nothing.
  int program_for(std::int64_t labelled, int training, batch_part share);
  /// Returns the number of labelled pixels of a batch, or -1 unless all outputs share a class per pixel.
  static std::int64_t labelled_of(std::span<target_view const> targets) {
    return targets.size() == 1 ? targets[0].labelled : -1;
  }

  /// Returns the metrics of a run's last step. Also determines whether the run has been interrupted, with the same
  /// result in all processes.
  batch_metrics metrics(int program, fit_run* run);
  /// Throws interrupted. The state from which the run can resume has been saved before.
  [[gnu::cold, noreturn]] static void leave(fit_run const& run);
  /// Whether validation uses the average of the weights instead of the weights that are being trained.
  static bool averages(fit_run const& run) { return run.average && !run.average->is_empty(); }

  /// Evaluates a data set. If `run` is not null, this is the validation of that run. It ends early if the run is
  /// interrupted and the current weights have given a finite loss; by then the run's state has been saved, and
  /// run->proven is set.
  scores evaluate(dataset const& data, int batch_size, std::vector<evaluation_observer*> const& seen, fit_run* run);
  /// Passes the outputs of a program's last run to an observer. `outputs` is memory.
  void show(evaluation_observer& to, int k, int program, batch const& b, dataset const& target,
            detail::zeros<float>& outputs);
  /// Returns the number of the output with this name. Throws option_error if there is none.
  int output_called(std::string_view name, char const* what) const;
  /// Lets an observer begin, with the target of the output that it observes.
  void begin_with(evaluation_observer& seen, detail::learned_targets const& targets) const;

  static void begin_epoch(fit_run& run);

  /// Trains for the rest of an epoch. Returns false if the loss was not finite and a callback has ended the run.
  bool train_epoch(batch_loader* loader, int program, per_output<target_kind> const& targets, std::int64_t steps,
                   double begin, fit_run& run, fit_options const& options);

  /// Announces the loader's next batch to the engine, if the batch has been made and has `size` samples. Returns its
  /// batch_view::staged.
  std::uint64_t stage_next(batch_loader& loader, int program, int size);

  /// Calls one member function of every callback, in the callbacks' order. All such functions share this one loop,
  /// because each loop inlined into fit() costs 10 ms of compile time.
  static void notify(fit_run& run, void (callback::*moment)(fit_run&));
  /// Calls on_bad_loss of all callbacks. Returns whether one of them ends the run.
  static bool ends_for_bad_loss(fit_run& run);

  /// Calls f(program, batch) for each batch until f returns false.
  template <class F>
  void for_each_batch(dataset const& data, int batch_size, mode m, detail::learned_targets const& targets, F f);

  /// Returns a step's sums over samples. If there is a class per pixel, each sample counts as the mean over all
  /// labelled pixels of the batch.
  static batch_metrics by_sample(batch_metrics const& m, std::int64_t labelled, int size);
  bool has_acc(per_output<target_kind> const& targets, int k = 0) const;

  /// Throws if the learning rate, which callbacks may set at any time, is not a valid one.
  static void check_rate(fit_run const& run);
  [[gnu::cold, noreturn]] static void refuse_rate(fit_run const& run);
  /// Returns a data set with the normalisation stored with the weights. Throws option_error if the data set already has
  /// another normalisation.
  dataset as_learned(dataset const& data, char const* what) const;
  /// Returns the time of a monotonic clock, in seconds.
  static double seconds();

  std::unique_ptr<dsl::engine> engine_;
  graph_view graph_;
  std::vector<std::string> outputs_;  // the names of several
  double learning_rate_;
  std::uint64_t step_ = 0;
  fit_run* run_ = nullptr;  // null unless fit is running
};

}  // namespace dsl::TYPENET_MODE

#ifdef TYPENET_DEFINITIONS
#include <dsl/training/trainer_evaluate_inl.hpp>
#include <dsl/training/trainer_fit_inl.hpp>
#include <dsl/training/trainer_inl.hpp>
#include <dsl/training/trainer_steps_inl.hpp>
#endif
