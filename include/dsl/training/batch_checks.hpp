// SPDX-License-Identifier: MIT
#pragma once

#include <dsl/detail/mode.hpp>
#include <dsl/executors/engine.hpp>

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

namespace dsl::TYPENET_MODE {

/// An input of a batch. It is the network's first input if the name is empty, otherwise the input of
/// named_input<"name", ...>.
struct batch_input {
  std::string_view name;
  std::span<float const> numbers;  // (batch, channels, height, width), normalised
};

/// The targets of one output of a batch. The output is given by the name of its named_output<...>, or by "main" for the
/// network's result. It has either labels or values, as the overloads of trainer::train_on_batch for one output take.
struct batch_target {
  std::string_view output;
  std::span<std::int32_t const> labels{};
  std::span<float const> values{};

  batch_target(std::string_view name, std::span<std::int32_t const> of) : output(name), labels(of) {}
  batch_target(std::string_view name, std::span<float const> of) : output(name), values(of) {}
};

}  // namespace dsl::TYPENET_MODE

namespace dsl::detail::TYPENET_MODE {

/// The targets of each output of a batch, after they have been checked.
struct arranged_targets {
  per_output<target_kind> kinds{};
  std::vector<target_view> each{};
};

/// Checks a batch that a program passes to a trainer against the network and its loss. The functions throw data_error
/// if the batch does not fit the network, and option_error if it does not fit the loss.
struct batch_checks {
  graph_view const& graph;
  per_output<dsl::loss> loss;

  /// Returns whether a label is the class of a whole sample or, if the output is not flat, of a pixel.
  target_kind targets_of_labels() const;
  /// Returns the number of samples that these labels or values belong to. Throws data_error if it is not an integer.
  std::size_t samples_of(std::span<std::int32_t const> labels) const;
  std::size_t samples_of(std::span<float const> values) const;
  /// Requires that the loss of each output compares with this kind of targets, which all outputs share. If the targets
  /// are classes, also requires that the network's result has several numbers.
  void require_loss_takes(target_kind targets) const;
  /// Requires that the loss takes class numbers, and that each label is the number of one of the network's classes, or
  /// -1 for a pixel without a class.
  void require_labels(std::int32_t const* labels, int size) const;
  /// Returns the addresses of the inputs' numbers in the order of the input nodes in the graph. Each input must be
  /// given once and have `size` samples.
  std::vector<float const*> arranged(char const* what, std::vector<batch_input> const& inputs, std::size_t size) const;
  /// Returns the targets in the order of the outputs. Each output must be given once, with targets that its loss takes
  /// for `size` samples.
  arranged_targets arranged(std::vector<batch_target> const& targets, std::size_t size) const;
  /// Returns the number of samples of the network's first input.
  std::size_t samples_of(std::vector<batch_input> const& inputs) const;
  /// Requires that the network has no further inputs, since such a call cannot pass them.
  void require_one_input(char const* what) const;

  /// Requires that the `found` numbers are `batch` samples of this shape, and that `batch` is at least 1.
  static void require_count(char const* what, std::size_t found, std::size_t batch, shape const& each,
                            char const* type = "float");
  static void require_size(int batch);

 private:
  void require_labels(int output, target_kind targets, std::int32_t const* labels, int size) const;
};

}  // namespace dsl::detail::TYPENET_MODE

#ifdef TYPENET_DEFINITIONS
#include <dsl/training/batch_checks_inl.hpp>
#endif
