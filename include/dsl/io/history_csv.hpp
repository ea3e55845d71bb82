// SPDX-License-Identifier: MIT
#pragma once

#include <dsl/detail/atomic_file.hpp>
#include <dsl/detail/mode.hpp>
#include <dsl/training/history.hpp>

#include <string>
#include <vector>

namespace dsl::TYPENET_MODE {

/// The header of history_csv() for a network with one output.
inline constexpr char const* history_csv_header =
    "epoch,loss,acc,val_loss,val_acc,learning_rate,seconds,images_per_second\n";
/// Returns the header, with columns for each of several outputs, whose names are given: aux_loss, aux_acc,
/// val_aux_loss, val_aux_acc; and with one for each of fit's .metrics: val_f1.
std::string history_csv_columns(std::vector<std::string> const& outputs, std::vector<std::string> const& metrics = {});
/// Returns the line of one epoch.
std::string history_csv_row(epoch_record const& e);

/// Returns a line per epoch, counted from 1; numbers read back as the same doubles. Columns of validation, and of
/// accuracies, are empty if there are none.
std::string history_csv(history const& h);

/// Writes history_csv() to a file. Throws file_error, and leaves an existing file as it was.
void write_history_csv(history const& h, std::string const& path);

}  // namespace dsl::TYPENET_MODE

#ifndef TYPENET_COMPILED
#include <dsl/io/history_csv_inl.hpp>
#endif
