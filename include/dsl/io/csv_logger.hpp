// SPDX-License-Identifier: MIT
#pragma once

#include <dsl/detail/atomic_file.hpp>
#include <dsl/detail/input_file.hpp>
#include <dsl/io/folders.hpp>
#include <dsl/io/history_csv.hpp>
#include <dsl/training/callback_state.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <string>
#include <utility>

#include <unistd.h>

namespace dsl {

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

  [[gnu::cold]] void on_train_begin(fit_run& run) override {
    warned_ = whole_ = false;
    before_ = 0;
    if (!run.leads) return;
    detail::make_folders(path_, "csv_logger");
    check_writable(path_, "csv_logger");
    if (options_.append) before_ = static_cast<std::int64_t>(text(callback_state::largest_count).size());
  }
  void on_epoch_begin(fit_run& run) override {
    if (!whole_) write_all(run);
  }
  [[gnu::cold]] void on_epoch_end(fit_run& run) override {
    if (run.leads && whole_) {
      std::string const row = with_separator(history_csv_row(run.current));
      std::FILE* const file = std::fopen(path_.c_str(), "r+e");  // none that has no header
      whole_ = file && std::fseek(file, 0, SEEK_END) == 0 && std::fwrite(row.data(), 1, row.size(), file) == row.size();
      whole_ = file && std::fclose(file) == 0 && whole_;
    }
    if (!whole_) write_all(run);  // says what is wrong
  }
  [[gnu::cold]] void on_train_end(fit_run& run) override {
    if (!whole_) write_all(run);  // it has gone on from a run's end
  }
  void state(callback_state& s) override { s("bytes before", before_, 0, s.largest_count); }

 private:
  /// The file up to this run's first row, and the rows of the epochs so far.
  [[gnu::cold]] void write_all(fit_run const& run) {
    if (!run.leads) return;
    whole_ = detail::write_or_warn(warned_, [&] {
      std::string all = text(before_);
      if (all.empty()) all = with_separator(history_csv_header);
      if (!all.ends_with('\n')) all += '\n';  // a run before was killed within its last row
      for (epoch_record const& e : run.past.epochs) all += with_separator(history_csv_row(e));
      atomic_file file(path_, "csv_logger");
      file.write(all);
      file.commit();
    });
  }
  /// Returns the file's first `most` bytes, or all that it has.
  [[gnu::cold]] std::string text(std::int64_t most) const {
    if (::access(path_.c_str(), F_OK) != 0) return {};
    try {
      detail::input_file file(path_, "csv_logger", "give another path");
      std::string all;
      file.append(all, std::min(file.size(), static_cast<std::size_t>(most)));
      return all;
    } catch (data_error const& e) {
      throw file_error(e.what());
    }
  }
  std::string with_separator(std::string row) const {
    for (char& c : row)
      if (c == ',') c = options_.separator;
    return row;
  }

  std::string path_;
  csv_logger_options options_;
  std::int64_t before_ = 0;  // bytes of earlier runs
  bool whole_ = false;       // it has every row so far
  bool warned_ = false;
};

}  // namespace dsl
