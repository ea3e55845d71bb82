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

/// Checks a batch that a program passes to a trainer against the network and its loss. All throw data_error for what
/// does not fit the network, and option_error for what does not fit the loss.
struct batch_checks {
  graph_view const& graph;
  dsl::loss loss;

  /// Returns what class numbers belong to: each sample, or each pixel of an output that is not flat.
  target_kind targets_of_labels() const;
  /// Returns the number of samples for so many labels or values, which must be an integer.
  std::size_t samples_of(std::span<std::int32_t const> labels) const;
  std::size_t samples_of(std::span<float const> values) const;
  /// Requires a loss that compares with such targets, and values for a network with one output.
  [[gnu::cold]] void require_loss_takes(target_kind targets) const;
  /// Requires class numbers that the network has.
  void require_labels(std::int32_t const* labels, int size) const;
  /// Returns the inputs' numbers in the order of the graph's nodes, the first input's first. Each input must be given
  /// once and have `size` samples.
  [[gnu::cold]] std::vector<float const*> arranged(char const* what, std::vector<batch_input> const& inputs,
                                                   std::size_t size) const;
  /// Requires a network without further inputs, which such a call cannot pass.
  [[gnu::cold]] void require_one_input(char const* what) const;

  /// Requires `batch` samples of this shape, and at least one.
  [[gnu::cold]] static void require_count(char const* what, std::size_t found, std::size_t batch, shape const& each);
  static void require_size(int batch);
};

}  // namespace dsl::detail::TYPENET_MODE

#ifndef TYPENET_COMPILED
#include <dsl/training/batch_checks_inl.hpp>
#endif
