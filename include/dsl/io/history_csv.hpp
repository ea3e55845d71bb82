// SPDX-License-Identifier: MIT
#pragma once

#include <dsl/detail/atomic_file.hpp>
#include <dsl/training/history.hpp>

#include <string>

#include <fmt/core.h>

namespace dsl {

inline constexpr char const* history_csv_header =
    "epoch,loss,acc,val_loss,val_acc,learning_rate,seconds,images_per_second\n";
inline std::string history_csv_row(epoch_record const& e) {
  auto const both = [](scores const& s) {
    return s.has_acc() ? fmt::format("{},{}", s.loss, s.acc) : fmt::format("{},", s.loss);
  };
  return fmt::format("{},{},{},{},{},{}\n", e.epoch + 1, both(e.train), e.validated ? both(e.validation) : ",",
                     e.learning_rate, e.seconds, e.images_per_second);
}

/// A line per epoch, counted from 1; numbers read back as the same doubles. Without a validation its two columns are
/// empty, and those of accuracies where there are none.
inline std::string history_csv(history const& h) {
  std::string text = history_csv_header;
  for (epoch_record const& e : h.epochs) text += history_csv_row(e);
  return text;
}

/// Throws file_error; then a file that was there before is as it was.
inline void write_history_csv(history const& h, std::string const& path) {
  atomic_file file(path, "history");
  file.write(history_csv(h));
  file.commit();
}

}  // namespace dsl
