// SPDX-License-Identifier: MIT
#pragma once

#include <dsl/files/atomic_file.hpp>
#include <dsl/detail/mode.hpp>
#include <dsl/training/history.hpp>

#include <cerrno>
#include <optional>
#include <string>
#include <string_view>

#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>

namespace dsl::TYPENET_MODE {

/// The texts of a plot, in UTF-8, and the plot's size. Control characters are drawn as blanks.
struct plot_options {
  std::string title = "Training Loss and Accuracy";
  std::string x_label = "Epoch #";
  std::string y_label = "Loss";
  std::string accuracy_label = "Accuracy";  // of the right axis
  int width = 960;                          // pixels
  int height = 640;
};

/// The formats that gnuplot writes.
enum class plot_format { png, svg };

/// Returns the format that the ending of a file name selects, in upper or lower case. Throws file_error for any other
/// ending.
plot_format plot_format_of(std::string_view path);

}  // namespace dsl::TYPENET_MODE

namespace dsl::detail::TYPENET_MODE {

/// Returns any text as a gnuplot string: it's -> "it\047s". Every text in a script that is not a constant must be
/// converted by this function, since gnuplot strings can run commands. Only letters, blanks and characters outside of
/// ASCII are copied; all others are escaped. Digits are escaped because an octal escape may have three or four digits.
/// Control characters become blanks.
std::string gnuplot_string(std::string_view s);
/// Returns a text as the label of an axis tick, in which gnuplot expects a format: 5% -> 5%%.
std::string gnuplot_label(std::string_view s);

/// Returns the commands that select gnuplot's terminal (its output driver), the size in pixels, and standard output.
std::string gnuplot_terminal(int width, int height, plot_format format);

/// Returns a whole script with its data. Colours and background are those of matplotlib's "ggplot" style.
std::string gnuplot_script(history const& h, plot_options const& o, plot_format format);

/// Returns the status of a child process when it has ended, or nothing if its process group had to be killed after
/// `seconds`.
std::optional<int> wait_for(pid_t child, double seconds);

/// The default time limit for one plot, in seconds. A plot takes 0.1 s; it takes longer if gnuplot searches for fonts
/// for the first time, or if other processes use the processor. If several processes train together, the others wait
/// for the process that draws, so the limit is shorter than their default deadline.
inline constexpr double gnuplot_seconds = 15;

/// Runs gnuplot, found on PATH, with `script` as its input and `picture` as its output. Throws a file_error with
/// gnuplot's message if gnuplot fails, or has not ended after `seconds`. No shell is used, and the script contains no
/// file name.
void run_gnuplot(std::string const& script, int picture, double seconds = gnuplot_seconds);

/// Draws a plot into the open file `picture`. Messages call this file `path`, the name that it will get.
void draw_script(std::string const& script, plot_format format, int picture, std::string const& path);

}  // namespace dsl::detail::TYPENET_MODE

namespace dsl::TYPENET_MODE {

/// Draws a history's losses and accuracies over the epochs. The ending of the file name selects PNG or SVG. Needs
/// gnuplot 5. If this fails, throws file_error and leaves an existing file unchanged.
void plot(history const& h, std::string const& path, plot_options const& options = {});

/// Throws the errors that plot() would throw for `path`, so that they occur before the training and not after it. The
/// function draws one point as a trial, which takes 0.1 s, and leaves no file.
void check_plot(std::string const& path);

}  // namespace dsl::TYPENET_MODE

#ifdef TYPENET_DEFINITIONS
#include <dsl/io/plot_inl.hpp>
#endif
