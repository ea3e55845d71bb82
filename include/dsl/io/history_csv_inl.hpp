// SPDX-License-Identifier: MIT
#pragma once

#include <dsl/detail/atomic_file.hpp>
#include <dsl/detail/mode.hpp>
#include <dsl/io/history_csv.hpp>
#include <dsl/training/history.hpp>

#include <string>
#include <fmt/core.h>

namespace dsl::TYPENET_MODE {

TYPENET_INLINE std::string history_csv_row(epoch_record const& e) {
  auto const both = [](scores const& s) {
    return s.has_acc() ? fmt::format("{},{}", s.loss, s.acc) : fmt::format("{},", s.loss);
  };
  return fmt::format("{},{},{},{},{},{}\n", e.epoch + 1, both(e.train), e.validated ? both(e.validation) : ",",
                     e.learning_rate, e.seconds, e.images_per_second);
}

TYPENET_INLINE std::string history_csv(history const& h) {
  std::string text = history_csv_header;
  for (epoch_record const& e : h.epochs) text += history_csv_row(e);
  return text;
}

TYPENET_INLINE void write_history_csv(history const& h, std::string const& path) {
  atomic_file file(path, "history");
  file.write(history_csv(h));
  file.commit();
}

}  // namespace dsl::TYPENET_MODE
