// SPDX-License-Identifier: MIT
#pragma once

#include <dsl/detail/mode.hpp>
#include <dsl/io/plot.hpp>
#include <dsl/training/confusion_matrix.hpp>

#include <string>

namespace dsl::TYPENET_MODE {

/// What is written above the picture, in UTF-8, and its size. A control character shows as a blank.
struct confusion_plot_options {
  std::string title = "Confusion matrix";
  int width = 860;  // pixels
  int height = 800;
};

}  // namespace dsl::TYPENET_MODE

namespace dsl::detail::TYPENET_MODE {

/// A square a cell, the darker the larger its share of its row, with the count in it where there are 30 classes at
/// most.
[[gnu::cold]] std::string gnuplot_script(confusion_matrix const& m, confusion_plot_options const& o,
                                         plot_format format);

}  // namespace dsl::detail::TYPENET_MODE

namespace dsl::TYPENET_MODE {

/// Draws an evaluation's counts, PNG or SVG by the name's end, rows being labels and columns what they were taken for.
/// Needs gnuplot 5. Throws file_error, and then a picture that was there before is as it was; option_error for a matrix
/// that no evaluation has filled.
[[gnu::cold]] void plot(confusion_matrix const& m, std::string const& path, confusion_plot_options const& options = {});

}  // namespace dsl::TYPENET_MODE

#ifndef TYPENET_COMPILED
#include <dsl/io/confusion_plot_inl.hpp>
#endif
