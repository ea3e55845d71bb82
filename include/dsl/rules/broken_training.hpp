// SPDX-License-Identifier: MIT
#pragma once

namespace dsl::broken {

template <class Thing, bool IsMetric>
struct monitors_are_metrics {
  static_assert(IsMetric,
                "monitor: it must be train_loss, train_accuracy, val_loss, val_accuracy, val_metric<f1_score<>> for a "
                "score of .metrics, or a type with name, more_is_better, of_validation and of(epoch_record)");
};

template <class Found, bool IsMetric>
struct monitors_are_types {
  static_assert(IsMetric,
                "callback: the metric to watch is a template argument; write early_stopping<val_loss>({.patience = 3}) "
                "or model_checkpoint<val_accuracy>(file)");
};

template <bool Fit, class... Given>
struct fit_takes_data_and_options {
  static_assert(Fit,
                "fit: it takes a data set and options; write fit(train, {.epochs = 3}); functions such as "
                "in_memory_classes() of <dsl/data/in_memory.hpp> make a data set from numbers");
};

template <bool Evaluates, class... Given>
struct evaluate_takes_a_data_set {
  static_assert(
      Evaluates,
      "evaluate: it takes a data set and, if needed, batch_size as a number and the address of an observer, such as a "
      "confusion_matrix; write evaluate(test), evaluate(test, 64) or evaluate(test, 64, &confusion)");
};

template <bool Predicts, class... Given>
struct predict_takes_a_data_set {
  static_assert(Predicts,
                "predict: it takes a data set and, if needed, batch_size as a number; for numbers without a data "
                "set, write predict_on_batch(samples, outputs)");
};

template <bool Trains, class... Given>
struct train_on_batch_takes_arrays {
  static_assert(Trains,
                "train_on_batch: it takes samples of float, and std::int32_t labels or float values, in arrays, "
                "std::vectors or std::spans; pointers need the number of samples as third argument");
};

template <bool Predicts, class... Given>
struct predict_on_batch_takes_arrays {
  static_assert(Predicts,
                "predict_on_batch: it takes samples of float and the memory for the outputs, which it fills; write "
                "predict_on_batch(samples, outputs)");
};

template <class Found, bool IsCallback>
struct callbacks_derive_from_callback {
  static_assert(IsCallback,
                "callbacks: each must be derived from dsl::callback, or be a std::shared_ptr to such a callback; write "
                "struct name : dsl::callback");
};

template <class Found, bool IsMetric>
struct metrics_are_objects {
  static_assert(IsMetric,
                "metrics: each must be an object such as dsl::f1_score<>{}, or of a class of your own with the same "
                "members; the accuracy is always computed");
};

template <class Found, bool IsFunction>
struct schedules_are_functions {
  static_assert(IsFunction,
                "learning_rate_schedule: it takes a function of the epoch, or of a schedule_point, that returns the "
                "rate; a constant rate belongs to the optimizer");
};

template <class Found, bool HasBoth>
struct losses_have_value_and_derivative {
  static_assert(HasBoth,
                "loss: a loss of your own must have double value(double y, double t) const and double "
                "derivative(double y, double t) const; or, for whole samples, double value(std::span<double const> y, "
                "std::span<double const> t) const and void derivative(std::span<double const> y, std::span<double "
                "const> t, std::span<double> slopes) const, which adds the derivatives to slopes");
};

template <class Schedule, bool IsFirst>
struct schedules_come_before_epochs {
  static_assert(IsFirst,
                "warm_up, hold: the schedule comes before the number of epochs; write warm_up{cosine_decay{.base = "
                "0.4}, 5} or hold{one_cycle{}, 25}");
};

template <class Found, bool InAngleBrackets>
struct top_k_accuracy_takes_k {
  static_assert(InAngleBrackets,
                "top_k_accuracy: the number of outputs is a template argument; write top_k_accuracy<5>{}");
};

template <bool Fit, class... Given>
struct save_weights_takes_a_trainer {
  static_assert(
      Fit, "save_weights: it takes a trainer, then the path of the file; write save_weights(trainer, \"a.weights\")");
};

template <bool Fit, class... Given>
struct load_weights_takes_a_trainer {
  static_assert(Fit,
                "load_weights: it takes a trainer, predictor or engine, then the path of the file; write "
                "load_weights(trainer, \"a.weights\")");
};

template <class Network, bool Fit, class... Given>
struct make_predictor_takes_an_executor {
  static_assert(Fit,
                "make_predictor: it takes a network in angle brackets, an executor and, if needed, a trainer, whose "
                "weights it copies, or p.weights() of a predictor or an engine p, whose weights it shares; write "
                "make_predictor<model>(native{})");
};

template <class Variable, bool IsKept>
struct states_are_numbers_or_text {
  static_assert(IsKept,
                "state: a variable must be a number, an enumeration, an array of them, a std::string, or a std::vector "
                "of float or double; save each member under its own key, or save the whole as text");
};

}  // namespace dsl::broken
