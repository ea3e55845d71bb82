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

/// The texts of a plot, in UTF-8, and its size. Control characters are drawn as blanks.
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

/// Returns the format according to the name's ending, in any case; throws file_error for another ending.
plot_format plot_format_of(std::string_view path);

}  // namespace dsl::TYPENET_MODE

namespace dsl::detail::TYPENET_MODE {

/// Returns any text as a gnuplot string: it's -> "it\047s". Every text of a script that is not a constant must pass
/// through here, since gnuplot can run commands: of ASCII only letters and blanks are copied, the rest is escaped.
/// Digits are escaped, too, because an octal escape may have three or four digits. Control characters become blanks.
std::string gnuplot_string(std::string_view s);
/// Returns a text as a tic's label, in which gnuplot expects a format: 5% -> 5%%.
std::string gnuplot_label(std::string_view s);

/// Returns the command that selects a terminal, its size in pixels, and standard output.
std::string gnuplot_terminal(int width, int height, plot_format format);

/// Returns a whole script with its data. Colours and background are those of matplotlib's "ggplot" style.
std::string gnuplot_script(history const& h, plot_options const& o, plot_format format);

/// Returns the status of a child process when it has ended, or nothing if it had to be killed after `seconds`.
std::optional<int> wait_for(pid_t child, double seconds);

/// The default time limit of one plot. A plot takes 0.1 s, or more if fonts are searched for the first time or other
/// processes need the processor. The limit is shorter than the default deadline with which other processes wait for the
/// process that draws.
inline constexpr double gnuplot_seconds = 15;

/// Runs gnuplot, found on PATH, with `script` as its input and `picture` as its output. Throws file_error with
/// gnuplot's message if it fails, or if it has not ended after `seconds`. No shell is involved, and no file name is in
/// the script.
void run_gnuplot(std::string const& script, int picture, double seconds = gnuplot_seconds);

/// Draws into the file that is open as `picture` and will get the name `path`.
void draw_script(std::string const& script, plot_format format, int picture, std::string const& path);

}  // namespace dsl::detail::TYPENET_MODE

namespace dsl::TYPENET_MODE {

/// Draws a history's losses and accuracies over the epochs as PNG or SVG, according to the file name's ending. Needs
/// gnuplot 5. Throws file_error, and leaves an existing file as it was.
void plot(history const& h, std::string const& path, plot_options const& options = {});

/// Throws, before the training, the errors that plot() would throw for `path` after it. It draws one point as a trial,
/// which takes 0.1 s, and leaves no file.
void check_plot(std::string const& path);

}  // namespace dsl::TYPENET_MODE

#ifndef TYPENET_COMPILED
#include <dsl/io/plot_inl.hpp>
#endif
