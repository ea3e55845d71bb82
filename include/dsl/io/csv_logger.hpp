// SPDX-License-Identifier: MIT
#pragma once

#include <dsl/files/atomic_file.hpp>
#include <dsl/files/input_file.hpp>
#include <dsl/detail/mode.hpp>
#include <dsl/training/callback_state.hpp>

#include <cstdint>
#include <optional>
#include <string>
#include <utility>

namespace dsl::TYPENET_MODE {

/// The options of Keras's CSVLogger.
struct csv_logger_options {
  char separator = ',';
  /// Whether to keep the rows of earlier runs. The rows of a killed run also stay, unless the next run resumes from
  /// backup_and_restore's file; epochs that are repeated then appear twice.
  bool append = false;
};

/// Writes a row with write_history_csv's columns at the end of each epoch. A run that resumes from backup_and_restore's
/// file continues the rows of the killed run: rows of epochs after the resumed position are removed, and there is only
/// one header. Throws file_error before the first step if the file cannot be written. If a later write fails, the
/// callback warns once, and writes the missing rows as soon as it can.
class csv_logger : public callback {
 public:
  explicit csv_logger(std::string path, csv_logger_options const& o = {}) : path_(std::move(path)), options_(o) {}

  void on_train_begin(fit_run& run) override;
  void on_epoch_begin(fit_run& run) override;
  void on_epoch_end(fit_run& run) override;
  void on_train_end(fit_run& run) override;
  void state(callback_state& s) override { s("bytes before", before_, 0, s.largest_count); }

 private:
  /// Writes the old content of the file up to this run's first row, and then the rows of this run's epochs so far.
  void write_all(fit_run const& run);
  /// Returns how many epochs the run of a log had, if the log has this run's columns.
  std::optional<int> epochs_in(std::string const& log, std::string const& header) const;
  /// Returns the file's first `most` bytes, or the whole file if it is shorter.
  std::string text(std::int64_t most) const;
  std::string with_separator(std::string row) const;

  std::string path_;
  csv_logger_options options_;
  std::int64_t before_ = 0;  // size of the rows of earlier runs
  std::int64_t size_ = 0;    // of the file after the last row
  bool whole_ = false;       // whether the file has every row so far
  bool warned_ = false;
};

}  // namespace dsl::TYPENET_MODE

#ifdef TYPENET_DEFINITIONS
#include <dsl/io/csv_logger_inl.hpp>
#endif
