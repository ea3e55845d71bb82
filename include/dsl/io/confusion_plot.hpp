// SPDX-License-Identifier: MIT
#pragma once

#include <dsl/detail/mode.hpp>
#include <dsl/io/plot.hpp>
#include <dsl/training/confusion_matrix.hpp>

#include <string>

namespace dsl::TYPENET_MODE {

/// The title of the plot, in UTF-8, and its size. Control characters are drawn as blanks.
struct confusion_plot_options {
  std::string title = "Confusion matrix";
  int width = 860;  // pixels
  int height = 800;
};

}  // namespace dsl::TYPENET_MODE

namespace dsl::detail::TYPENET_MODE {

/// Returns a script that draws a square per cell, the darker the larger its share of its row, with its count if there
/// are at most 30 classes.
[[gnu::cold]] std::string gnuplot_script(confusion_matrix const& m, confusion_plot_options const& o,
                                         plot_format format);

}  // namespace dsl::detail::TYPENET_MODE

namespace dsl::TYPENET_MODE {

/// Draws a confusion matrix as PNG or SVG, according to the ending of the file name, with a row per true class and a
/// column per predicted class. Needs gnuplot 5. Throws file_error, and leaves an existing file as it was; throws
/// option_error for a matrix that no evaluation has filled.
[[gnu::cold]] void plot(confusion_matrix const& m, std::string const& path, confusion_plot_options const& options = {});

}  // namespace dsl::TYPENET_MODE

#ifndef TYPENET_COMPILED
#include <dsl/io/confusion_plot_inl.hpp>
#endif
