// SPDX-License-Identifier: MIT
#pragma once

#include <dsl/detail/atomic_file.hpp>
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

/// What is written on a plot, in UTF-8, and its size. A control character shows as a blank.
struct plot_options {
  std::string title = "Training Loss and Accuracy";
  std::string x_label = "Epoch #";
  std::string y_label = "Loss";
  std::string accuracy_label = "Accuracy";  // of the axis on the right
  int width = 960;                          // pixels
  int height = 640;
};

/// What gnuplot draws into a file.
enum class plot_format { png, svg };

/// By the name's end, large or small letters; anything else is a file_error.
plot_format plot_format_of(std::string_view path);

}  // namespace dsl::TYPENET_MODE

namespace dsl::detail::TYPENET_MODE {

/// Returns any text as a string of gnuplot's: it's -> "it\047s". Every text of a script that is not a constant goes
/// through here, since gnuplot runs commands: of ASCII only letters and blanks stand for themselves. Octal numbers may
/// have three digits or four, so digits are no exception; a control character shows as a blank.
std::string gnuplot_string(std::string_view s);
/// Returns the same for a tic's label, which gnuplot takes for a format: 5% -> 5%%.
std::string gnuplot_label(std::string_view s);

/// The picture goes to standard output, in pixels.
std::string gnuplot_terminal(int width, int height, plot_format format);

/// Everything gnuplot needs, data and all. Colours and ground are those of matplotlib's "ggplot" style.
std::string gnuplot_script(history const& h, plot_options const& o, plot_format format);

/// The status of a child process when it has ended; one that has not after `seconds` is killed, and there is none.
std::optional<int> wait_for(pid_t child, double seconds);

/// What takes 0.1 s, and more where fonts are looked for the first time or others need the processor; less than other
/// processes wait for one that draws, by default.
inline constexpr double gnuplot_seconds = 15;

/// Runs gnuplot, found on PATH, with `script` as its input and `picture` as its output; throws file_error with what it
/// said, or where it has not ended after `seconds`. No shell, no file name in the script.
void run_gnuplot(std::string const& script, int picture, double seconds = gnuplot_seconds);

/// Into the file that is open as `picture` and will be `path`.
void draw_script(std::string const& script, plot_format format, int picture, std::string const& path);

}  // namespace dsl::detail::TYPENET_MODE

namespace dsl::TYPENET_MODE {

/// Draws a history's losses and accuracies over the epochs, PNG or SVG by the name's end. Needs gnuplot 5. Throws
/// file_error; then a picture that was there before is as it was.
void plot(history const& h, std::string const& path, plot_options const& options = {});

/// Everything that could keep plot() from writing path, found out before the training: throws the same errors and
/// leaves no file. Draws one point for trial, 0.1 s.
void check_plot(std::string const& path);

}  // namespace dsl::TYPENET_MODE

#ifndef TYPENET_COMPILED
#include <dsl/io/plot_inl.hpp>
#endif
