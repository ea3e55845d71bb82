// SPDX-License-Identifier: MIT
#pragma once

#include <dsl/callbacks.hpp>
#include <dsl/dsl.hpp>
#include <dsl/io/backup_and_restore.hpp>
#include <dsl/io/csv_logger.hpp>
#include <dsl/io/model_checkpoint.hpp>
#include <dsl/io/tensorboard.hpp>
#include <dsl/training/early_stopping.hpp>

#include <cstdint>
#include <cstring>
#include <fstream>
#include <iterator>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace dsl::test {

/// The runs whose files are in tests/fixtures/states/. "sgd" and "adam" only use +, -, *, / and square roots, which
/// IEEE 754 rounds exactly: mean_squared_error without softmax, no function of a mathematical library, and no long sums
/// whose precision depends on the executor. So they end with the same bits on every processor. "batch_norm" has such
/// sums, of 8 * 36 numbers.
struct saved_run_of {
  using plain = network<image<2, 6, 6>, conv2d<4, 3>, relu, concat<conv2d<2, 1>, sequential<conv2d<3, 3>, relu>>,
                        max_pool2d<2>, flatten, dropout<0.25>, dense<3>>;
  using normalised = network<image<2, 6, 6>, conv_module<4, 3>, concat<conv_module<2, 1>, conv_module<3, 3>>,
                             max_pool2d<2>, flatten, dropout<0.25>, dense<3>>;
  static inline compile_options const options{.loss = loss::mean_squared_error, .seed = 5};
  static constexpr sgd momentum{.learning_rate = 0.01, .momentum = 0.9};
  static constexpr int epochs = 3;

  static dataset pictures(int salt = 0) {
    std::vector<std::uint8_t> pixels(40 * 72);
    for (std::size_t i = 0; i < pixels.size(); ++i)
      pixels[i] = static_cast<std::uint8_t>((i * 37 + i / 7 + static_cast<std::size_t>(salt)) % 5);
    std::vector<std::int32_t> labels(40);
    for (std::size_t i = 0; i < labels.size(); ++i) labels[i] = static_cast<std::int32_t>((i + i / 5) % 3);
    return in_memory_dataset({2, 6, 6}, 3, std::move(pixels), std::move(labels));
  }

  /// "sgd" and "batch_norm" have momentum and a schedule, "adam" clipped gradients and averaged weights.
  explicit saved_run_of(std::string const& name)
      : trainer(name == "adam"
                    ? compile<plain>(reference{}, adam{.learning_rate = 0.01, .clip = {.value = 0.5}}, options)
                : name == "sgd" ? compile<plain>(reference{}, momentum, options)
                                : compile<normalised>(reference{}, momentum, options)),
        scheduled(name != "adam") {
    if (!scheduled) average = weight_average{.start_from_epoch = 1, .every = 2};
  }

  /// Trains with five batches of 8 per epoch.
  history fit(std::vector<callback_handle> more) {
    dataset const train = pictures(), validation = pictures(3);
    if (scheduled) more.insert(more.begin(), learning_rate_schedule{poly_decay{0.01, epochs, 1.0}});
    more.emplace_back(best);
    return trainer.fit(train, {.epochs = epochs,
                               .batch_size = 8,
                               .validation = &validation,
                               .augment = shift_and_flip{.width = 0.2, .height = 0.2, .horizontal_flip = true},
                               .callbacks = more,
                               .average = average});
  }
  /// Returns parameters and optimizer slots.
  std::vector<float> numbers() {
    std::vector<float> all;
    engine& e = trainer.engine();
    for (int k = 0; k < trainer.graph().size.parameters; ++k) {
      parameter const& p = trainer.graph().parameters[k];
      std::vector<float> values(static_cast<std::size_t>(p.count()));
      for (int s = -1; s < (p.trainable() ? e.options().update.slots() : 0); ++s) {
        s < 0 ? e.read_parameter(k, values.data()) : e.read_slot(s, k, values.data());
        all.insert(all.end(), values.begin(), values.end());
      }
    }
    return all;
  }
  /// Returns those, then the results of every epoch as doubles, without its duration.
  std::string outcome(history const& h) {
    std::vector<float> const all = numbers();
    std::string bytes(reinterpret_cast<char const*>(all.data()), all.size() * sizeof(float));
    for (epoch_record const& r : h.epochs) {
      double const figures[] = {r.train.loss,     r.train.acc,     r.validation.loss,
                                r.validation.acc, r.learning_rate, static_cast<double>(r.epoch)};
      bytes.append(reinterpret_cast<char const*>(figures), sizeof figures);
    }
    bytes.append(reinterpret_cast<char const*>(&best->value), sizeof best->value);
    return bytes;
  }

  /// A callback whose state is in the file.
  struct best_loss : callback {
    double value = 1e9;
    void on_epoch_end(fit_run& run) override {
      if (run.current.train.loss < value) value = run.current.train.loss;
    }
    void state(callback_state& s) override { s("best", value); }
  };

  dsl::trainer trainer;
  bool scheduled;
  std::optional<weight_average> average{};
  std::shared_ptr<best_loss> best = std::make_shared<best_loss>();
};

/// Ends a run after `step` steps of epoch `epoch`, as a kill would.
struct killed_in : callback {
  int epoch;
  std::int64_t step;
  killed_in(int e, std::int64_t s) : epoch(e), step(s) {}
  void on_backup(fit_run& run) override {
    if (run.epoch == epoch && run.next.step == step) throw std::runtime_error("killed");
  }
};

/// The callbacks of a run whose files are NAME.state, NAME.best, NAME.csv and the folder NAME.curves.
inline std::vector<callback_handle> callbacks_with_files(std::string const& folder, std::string const& name,
                                                         callback_handle const& last) {
  std::string const path = folder + "/" + name;
  return {early_stopping<val_loss>({.patience = 5, .restore_best_weights = true}),
          model_checkpoint<val_loss>(path + ".best", {.save_best_only = true, .save_weights_only = true}),
          csv_logger(path + ".csv"),
          tensorboard(path + ".curves"),
          backup_and_restore(path + ".state", {.save_freq = every_batches(1), .verbose = false}),
          last};
}

inline std::string bytes_of(std::string const& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) throw std::runtime_error("cannot open " + path);
  return {std::istreambuf_iterator<char>(file), {}};
}

}  // namespace dsl::test
