// SPDX-License-Identifier: MIT
#pragma once

#include <dsl/dsl.hpp>
#include <dsl/towers.hpp>

#include <optional>
#include <utility>
#include <vector>

namespace dsl::test {

/// 48 pictures that cannot be learned, and a network with batch_norm and dropout: a step takes no time, and everything
/// that a checkpoint must keep matters.
struct toy {
  using network = dsl::network<image<3, 8, 8>, conv_module<4, 3>, flatten, dropout<0.5>, dense<3>, softmax>;

  static dataset pictures(int salt = 0) {
    std::vector<std::uint8_t> pixels(48 * 192);
    for (std::size_t i = 0; i < pixels.size(); ++i)
      pixels[i] = static_cast<std::uint8_t>((i * 37 + i / 7 + static_cast<std::size_t>(salt)) % 251);
    std::vector<std::int32_t> labels(48);
    for (std::size_t i = 0; i < labels.size(); ++i) labels[i] = static_cast<std::int32_t>(i % 3);
    return in_memory_dataset({3, 8, 8}, 3, std::move(pixels), std::move(labels));
  }
  static trainer compiled(int count = 1, process_group* processes = nullptr) {
    return compile<network>(reference{}, sgd{.learning_rate = 0.02, .momentum = 0.9},
                            towers{.count = count, .processes = processes}, {.seed = 1});
  }
  /// Trains with six steps per epoch.
  static history fit(trainer& t, int epochs, std::vector<callback_handle> const& callbacks, bool validation = true,
                     std::optional<weight_average> const& average = {}) {
    dataset const train = pictures(), test = pictures(3);
    return t.fit(train, {.epochs = epochs,
                         .batch_size = 8,
                         .validation = validation ? &test : nullptr,
                         .augment = shift_and_flip{},
                         .callbacks = callbacks,
                         .average = average});
  }
};

/// A custom metric, with values that the test chooses.
struct scripted {
  static constexpr char const* name = "scripted";
  static constexpr bool more_is_better = true, of_validation = false;
  static inline std::vector<double> values{};
  static double of(epoch_record const& e) { return values[static_cast<std::size_t>(e.epoch)]; }
};

/// Returns what two histories must have in common: all but the durations.
inline std::vector<double> figures(history const& h) {
  std::vector<double> all;
  for (epoch_record const& e : h.epochs)
    all.insert(all.end(), {static_cast<double>(e.epoch), e.train.loss, e.train.acc, e.validation.loss, e.validation.acc,
                           static_cast<double>(e.validated), e.learning_rate});
  return all;
}

}  // namespace dsl::test
