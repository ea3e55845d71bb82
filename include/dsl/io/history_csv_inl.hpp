// SPDX-License-Identifier: MIT
#pragma once

#include <dsl/files/atomic_file.hpp>
#include <dsl/detail/mode.hpp>
#include <dsl/io/history_csv.hpp>
#include <dsl/training/history.hpp>

#include <cstddef>
#include <string>
#include <vector>
#include <fmt/core.h>

namespace dsl::TYPENET_MODE {

TYPENET_INLINE std::string history_csv_columns(std::vector<std::string> const& outputs,
                                               std::vector<std::string> const& metrics) {
  std::string all = history_csv_header;
  all.pop_back();
  for (std::string const& o : outputs) all += fmt::format(",{0}_loss,{0}_acc,val_{0}_loss,val_{0}_acc", o);
  for (std::string const& m : metrics) all += ",val_" + m;
  return all + "\n";
}

TYPENET_INLINE std::string history_csv_row(epoch_record const& e) {
  auto const both = [](double loss, double acc) {
    return acc == acc ? fmt::format("{},{}", loss, acc) : fmt::format("{},", loss);
  };
  std::string row = fmt::format("{},{},{},{},{},{}", e.epoch + 1, both(e.train.loss, e.train.acc),
                                e.validated ? both(e.validation.loss, e.validation.acc) : ",", e.learning_rate,
                                e.seconds, e.images_per_second);
  for (std::size_t k = 0; k < e.train.outputs.size(); ++k) {
    row += "," + both(e.train.outputs[k].loss, e.train.outputs[k].acc) + ",";
    row += k < e.validation.outputs.size() ? both(e.validation.outputs[k].loss, e.validation.outputs[k].acc) : ",";
  }
  for (named_score const& m : e.validation.metrics) row += fmt::format(",{}", m.value);
  return row + "\n";
}

TYPENET_INLINE std::string history_csv(history const& h) {
  std::vector<std::string> outputs, metrics;
  if (!h.epochs.empty()) {
    for (output_scores const& s : h.epochs.front().train.outputs) outputs.push_back(s.name);
    for (named_score const& s : h.epochs.front().validation.metrics) metrics.push_back(s.name);
  }
  std::string text = history_csv_columns(outputs, metrics);
  for (epoch_record const& e : h.epochs) text += history_csv_row(e);
  return text;
}

TYPENET_INLINE void write_history_csv(history const& h, std::string const& path) {
  atomic_file file(path, "history");
  file.write(history_csv(h));
  file.commit();
}

}  // namespace dsl::TYPENET_MODE
