// SPDX-License-Identifier: MIT
#pragma once

#include <dsl/files/atomic_file.hpp>
#include <dsl/files/input_file.hpp>
#include <dsl/detail/mode.hpp>
#include <dsl/io/csv_logger.hpp>
#include <dsl/io/folders.hpp>
#include <dsl/io/history_csv.hpp>
#include <dsl/training/callback_state.hpp>
#include <dsl/training/earlier_files.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <optional>
#include <string>
#include <unistd.h>

namespace dsl::TYPENET_MODE {

TYPENET_INLINE void csv_logger::on_train_begin(fit_run& run) {
  warned_ = whole_ = false;
  before_ = 0;
  if (!run.leads) return;
  detail::make_folders(path_, "csv_logger");
  check_writable(path_, "csv_logger");
  if (!options_.append) return;
  std::string const before = text(callback_state::largest_count);
  before_ = static_cast<std::int64_t>(before.size());
  std::string const header = with_separator(history_csv_columns(run.outputs, run.metrics));
  std::string const first = before.substr(0, before.find('\n'));
  if (first.starts_with("epoch") && first + '\n' != header)
    throw option_error("csv_logger: with .append, " + path_ + " must have this run's columns, " +
                       header.substr(0, header.find('\n')) + "; found " + detail::excerpt(first) +
                       "; give another path, or leave .append out, which replaces the file");
}

TYPENET_INLINE void csv_logger::on_epoch_begin(fit_run& run) {
  if (!whole_) write_all(run);
}

TYPENET_INLINE void csv_logger::on_epoch_end(fit_run& run) {
  if (run.leads && whole_) {
    std::string const row = with_separator(history_csv_row(run.current));
    // A file that another run has given this name gets no row.
    std::FILE* const file = !run.earlier || run.earlier->is_own(path_) ? std::fopen(path_.c_str(), "r+e") : nullptr;
    // If the file has become shorter, somebody has cut it, and all rows are written again.
    whole_ = file && std::fseek(file, 0, SEEK_END) == 0 && std::ftell(file) >= size_ &&
             std::fwrite(row.data(), 1, row.size(), file) == row.size();
    size_ = whole_ ? std::ftell(file) : 0;
    whole_ = file && std::fclose(file) == 0 && whole_;
    if (run.earlier && whole_) run.earlier->wrote(path_);
  }
  if (!whole_) write_all(run);  // or warns
}

TYPENET_INLINE void csv_logger::on_train_end(fit_run& run) {
  if (!whole_) write_all(run);  // the run may have resumed at its end
}

TYPENET_INLINE void csv_logger::write_all(fit_run const& run) {
  if (!run.leads) return;
  whole_ = detail::write_or_warn(warned_, [&] {
    std::string const header = with_separator(history_csv_columns(run.outputs, run.metrics));
    std::string all = text(before_);
    if (all.empty()) all = header;
    if (!all.ends_with('\n')) all += '\n';  // an earlier run was killed within its last row
    for (epoch_record const& e : run.past.epochs) all += with_separator(history_csv_row(e));
    if (run.earlier) {
      std::string const there = text(static_cast<std::int64_t>(all.size()) + (1 << 24));  // a run has no longer log
      if (all.starts_with(there))
        run.earlier->wrote(path_);  // nothing of it is lost
      else if (!run.earlier->is_own(path_))
        run.earlier->found_another(path_);
      run.earlier->keep(path_, "csv_logger", epochs_in(there, header));
    }
    atomic_file file(path_, "csv_logger");
    file.write(all);
    file.commit();
    size_ = static_cast<std::int64_t>(all.size());
    if (run.earlier) run.earlier->wrote(path_);
  });
}

TYPENET_INLINE std::optional<int> csv_logger::epochs_in(std::string const& log, std::string const& header) const {
  if (options_.append || !log.starts_with(header)) return std::nullopt;
  auto const rows = static_cast<int>(std::count(log.begin(), log.end(), '\n')) - 1;
  std::size_t const last = log.rfind('\n', log.size() - 2) + 1;
  return rows > 0 ? std::max(rows, std::atoi(log.c_str() + last)) : 0;  // a run may begin with a later epoch
}

TYPENET_INLINE std::string csv_logger::text(std::int64_t most) const {
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

TYPENET_INLINE std::string csv_logger::with_separator(std::string row) const {
  for (char& c : row)
    if (c == ',') c = options_.separator;
  return row;
}

}  // namespace dsl::TYPENET_MODE
