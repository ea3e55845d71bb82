// SPDX-License-Identifier: MIT
#pragma once

#include <dsl/detail/atomic_file.hpp>
#include <dsl/detail/input_file.hpp>
#include <dsl/detail/mode.hpp>
#include <dsl/training/callback_state.hpp>

#include <cstdint>
#include <string>
#include <utility>

namespace dsl::TYPENET_MODE {

/// As Keras's CSVLogger has them.
struct csv_logger_options {
  char separator = ',';
  /// After the rows of earlier runs, else over them. A run that was killed is an earlier one, too, where the next does
  /// not go on from backup_and_restore's file: killed before its first backup, or gone on with .initial_epoch. Its rows
  /// stay, and their epochs come once more.
  bool append = false;
};

/// A row an epoch, written as the epoch ends, with write_history_csv's columns. A run that goes on from
/// backup_and_restore's file goes on in this one: what a killed one wrote of later epochs is gone, and there is one
/// header. Throws file_error before the first step where the file can't be written; later it warns once, and writes
/// what is missing when it can.
class csv_logger : public callback {
 public:
  explicit csv_logger(std::string path, csv_logger_options const& o = {}) : path_(std::move(path)), options_(o) {}

  [[gnu::cold]] void on_train_begin(fit_run& run) override;
  void on_epoch_begin(fit_run& run) override;
  [[gnu::cold]] void on_epoch_end(fit_run& run) override;
  [[gnu::cold]] void on_train_end(fit_run& run) override;
  void state(callback_state& s) override { s("bytes before", before_, 0, s.largest_count); }

 private:
  /// The file up to this run's first row, and the rows of the epochs so far.
  [[gnu::cold]] void write_all(fit_run const& run);
  /// Returns the file's first `most` bytes, or all that it has.
  [[gnu::cold]] std::string text(std::int64_t most) const;
  std::string with_separator(std::string row) const;

  std::string path_;
  csv_logger_options options_;
  std::int64_t before_ = 0;  // bytes of earlier runs
  bool whole_ = false;       // it has every row so far
  bool warned_ = false;
};

}  // namespace dsl::TYPENET_MODE

#ifndef TYPENET_COMPILED
#include <dsl/io/csv_logger_inl.hpp>
#endif
