// SPDX-License-Identifier: MIT
#pragma once

#include <dsl/data/dataset.hpp>
#include <dsl/data/pipeline.hpp>
#include <dsl/detail/mode.hpp>
#include <dsl/executors/engine.hpp>
#include <dsl/training/fit_options.hpp>

#include <memory>
#include <string>
#include <vector>

/// Checks, before the first step, that data and options fit a network. All throw option_error, or data_error if no
/// pixel has a class; `what` begins the message.
namespace dsl::detail::TYPENET_MODE {

void require_pictures(graph_view const& g, dataset const& data, char const* what);

/// Requires that the samples have exactly the further inputs of the network, by name.
void require_further_inputs(graph_view const& g, dataset const& data, char const* what);
/// Returns the name of node n, which is a further input.
std::string name_of_input(graph_view const& g, int n);
/// Returns the name of output number k, "main" for the network's result.
std::string name_of_output(graph_view const& g, int k);
/// Returns the names of several outputs, or none if there is only one.
std::vector<std::string> names_of_outputs(graph_view const& g);
/// Returns the data set with its further inputs in the network's order.
dataset in_order_of_inputs(graph_view const& g, dataset data);
/// Returns the kind of targets that the loss compares with: classes if the data set has them and the loss accepts
/// them, otherwise values. For a loss that takes only values, such as mean_squared_error, a class becomes values of 0
/// and 1: see output_target::values.
target_kind targets_for(loss l, dataset const& data);

/// The targets that the outputs of a network are compared with.
struct learned_targets {
  per_output<target_kind> kinds{};
  std::vector<output_target> each{};  // of each output, or the one that all share

  dataset const& of(std::size_t k) const { return each[each.size() > 1 ? k : 0].data; }
};
/// Returns the targets of the outputs. Each output has separate targets if the data set has such targets, or if the
/// losses need different forms of the data set's target. Requires that there are samples, and for every output a target
/// of the kind and the shape that it and its loss need.
learned_targets require_samples(graph_view const& g, per_output<loss> const& l, dataset const& data, char const* what);
/// Requires that output k and its loss fit the target `data` of samples of the shape `sample`.
void require_target(graph_view const& g, int k, loss l, dataset const& data, shape const& sample, char const* what);
/// If the loss is binary_crossentropy, requires target values from 0 to 1, `each` of them per sample: for other values
/// this loss has no minimum. Throws data_error.
void require_shares(loss l, float const* values, long long samples, long long each, char const* what);
/// Requires such values for every output whose loss is binary_crossentropy, if all outputs learn the same values.
/// Throws data_error.
void require_shares(per_output<loss> const& l, float const* values, long long samples, long long each,
                    char const* what);
/// Requires such values of a data set for every output whose loss is binary_crossentropy. Throws data_error.
void require_shares(per_output<loss> const& l, learned_targets const& targets, char const* what);
/// Requires that there are no weights of classes if outputs have targets of their own. Throws option_error.
void require_weights_of_classes_fit(std::vector<float> const& class_weights, per_output<target_kind> const& targets);

/// Returns advice for a loss that is not finite. If a number of the batch is not finite, the advice states the first
/// such number and its place.
std::string advice_on_bad_loss(graph_view const& g, batch_view const& batch);

/// Requires that a normalisation names inputs of the network and has, for each number of these inputs, a finite mean
/// and a finite deviation other than 0. Throws data_error.
void require_moments_fit(graph_view const& g, normalization const& n);

/// Whether two means have equal values. Comparing pointers is not enough, since a data set that was read again has its
/// own copy.
bool same_mean(std::shared_ptr<std::vector<float> const> const& a, std::shared_ptr<std::vector<float> const> const& b);

/// Throws option_error unless the training and the validation data are normalised in the same way.
void require_same_moments(dataset const& data, dataset const& validation);

void require_fit(graph_view const& g, per_output<loss> const& l, dataset const& data, fit_options const& o);

}  // namespace dsl::detail::TYPENET_MODE

#ifdef TYPENET_DEFINITIONS
#include <dsl/training/checks_inl.hpp>
#endif
