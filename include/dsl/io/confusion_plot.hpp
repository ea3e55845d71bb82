// SPDX-License-Identifier: MIT
#pragma once

#include <dsl/detail/mode.hpp>
#include <dsl/io/plot.hpp>
#include <dsl/training/confusion_matrix.hpp>

#include <string>

namespace dsl::TYPENET_MODE {

/// The title of the plot, in UTF-8, and the size of the plot. Control characters are drawn as blanks.
struct confusion_plot_options {
  std::string title = "Confusion matrix";
  int width = 860;  // pixels
  int height = 800;
};

}  // namespace dsl::TYPENET_MODE

namespace dsl::detail::TYPENET_MODE {

/// Returns a script that draws a square for each cell of the matrix. The larger the cell's share of its row, the darker
/// the square. If there are at most 30 classes, each square shows its count.
std::string gnuplot_script(confusion_matrix const& m, confusion_plot_options const& o, plot_format format);

}  // namespace dsl::detail::TYPENET_MODE

namespace dsl::TYPENET_MODE {

/// Draws a confusion matrix with a row for each true class and a column for each predicted class. The ending of the
/// file name selects PNG or SVG. Needs gnuplot 5. Throws option_error if no evaluation has filled the matrix, and
/// file_error if the plot cannot be drawn; an existing file is then unchanged.
void plot(confusion_matrix const& m, std::string const& path, confusion_plot_options const& options = {});

}  // namespace dsl::TYPENET_MODE

#ifdef TYPENET_DEFINITIONS
#include <dsl/io/confusion_plot_inl.hpp>
#endif
