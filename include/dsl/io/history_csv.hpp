// SPDX-License-Identifier: MIT
#pragma once

#include <dsl/files/atomic_file.hpp>
#include <dsl/detail/mode.hpp>
#include <dsl/training/history.hpp>

#include <string>
#include <vector>

namespace dsl::TYPENET_MODE {

/// The header of history_csv() for a network with one output.
inline constexpr char const* history_csv_header =
    "epoch,loss,acc,val_loss,val_acc,learning_rate,seconds,images_per_second\n";
/// Returns the header of history_csv(), with four further columns for each name in `outputs` (for "aux": aux_loss,
/// aux_acc, val_aux_loss and val_aux_acc) and one for each name in `metrics` (for "f1": val_f1).
std::string history_csv_columns(std::vector<std::string> const& outputs, std::vector<std::string> const& metrics = {});
/// Returns the line of one epoch.
std::string history_csv_row(epoch_record const& e);

/// Returns a line for each epoch, which are counted from 1. The numbers have enough digits to be read as the same
/// doubles. If there is no validation or no accuracy, its columns are empty.
std::string history_csv(history const& h);

/// Writes history_csv() to a file. If this fails, throws file_error and leaves an existing file unchanged.
void write_history_csv(history const& h, std::string const& path);

}  // namespace dsl::TYPENET_MODE

#ifdef TYPENET_DEFINITIONS
#include <dsl/io/history_csv_inl.hpp>
#endif
