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

/// An input of a batch: the network's first one if the name is empty, otherwise that of named_input<"name", ...>.
struct batch_input {
  std::string_view name;
  std::span<float const> numbers;  // (batch, channels, height, width), normalised
};

}  // namespace dsl::TYPENET_MODE

namespace dsl::detail::TYPENET_MODE {

/// Checks a batch that a program passes to a trainer against the network and its loss. The functions throw data_error
/// if the batch does not fit the network, and option_error if it does not fit the loss.
struct batch_checks {
  graph_view const& graph;
  dsl::loss loss;

  /// Returns whether a class number belongs to a sample or, if the output is not flat, to a pixel.
  target_kind targets_of_labels() const;
  /// Returns the number of samples of these labels or values, which must be an integer.
  std::size_t samples_of(std::span<std::int32_t const> labels) const;
  std::size_t samples_of(std::span<float const> values) const;
  /// Requires a loss that compares with such targets, and values for a network with one output.
  [[gnu::cold]] void require_loss_takes(target_kind targets) const;
  /// Requires a loss that takes class numbers, and numbers of classes that the network has, or -1 for a pixel without
  /// one.
  void require_labels(std::int32_t const* labels, int size) const;
  /// Returns the inputs' numbers in the order of the graph's nodes, the first input's first. Each input must be given
  /// once and have `size` samples.
  [[gnu::cold]] std::vector<float const*> arranged(char const* what, std::vector<batch_input> const& inputs,
                                                   std::size_t size) const;
  /// Requires a network without further inputs, which such a call cannot pass.
  [[gnu::cold]] void require_one_input(char const* what) const;

  /// Requires `batch` samples of this shape, and a batch of at least one sample.
  [[gnu::cold]] static void require_count(char const* what, std::size_t found, std::size_t batch, shape const& each);
  static void require_size(int batch);
};

}  // namespace dsl::detail::TYPENET_MODE

#ifndef TYPENET_COMPILED
#include <dsl/training/batch_checks_inl.hpp>
#endif
