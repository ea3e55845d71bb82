// SPDX-License-Identifier: MIT
#pragma once

#include <dsl/files/atomic_file.hpp>
#include <dsl/detail/mode.hpp>
#include <dsl/detail/utf8.hpp>
#include <dsl/io/plot.hpp>
#include <dsl/training/history.hpp>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>
#include <thread>
#include <fmt/core.h>
#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

namespace dsl::TYPENET_MODE {

TYPENET_INLINE plot_format plot_format_of(std::string_view path) {
  auto const ends = [&](std::string_view with) {
    if (path.size() <= with.size()) return false;
    std::string_view const end = path.substr(path.size() - with.size());
    for (std::size_t i = 0; i < with.size(); ++i)
      if ((end[i] | 0x20) != (with[i] | 0x20)) return false;
    return true;
  };
  if (ends(".png")) return plot_format::png;
  if (ends(".svg")) return plot_format::svg;
  throw file_error("plot: the name must end in .png or .svg; found " + (path.empty() ? "nothing" : std::string(path)) +
                   "; rename it to plot.png");
}

}  // namespace dsl::TYPENET_MODE

namespace dsl::detail::TYPENET_MODE {

TYPENET_INLINE std::string gnuplot_string(std::string_view s) {
  std::string quoted = "\"";
  for (char const c : without_controls(s)) {
    bool const itself = c == ' ' || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c & 0x80) != 0;
    quoted += itself ? std::string(1, c) : fmt::format("\\{:03o}", static_cast<int>(c));
  }
  return quoted + '"';
}

TYPENET_INLINE std::string gnuplot_label(std::string_view s) {
  std::string format;
  for (char const c : s) format.append(c == '%' ? 2 : 1, c);
  return gnuplot_string(format);
}

TYPENET_INLINE std::string gnuplot_terminal(int width, int height, plot_format format) {
  std::string const size =
      fmt::format("size {},{} noenhanced font 'DejaVu Sans,12' background '#ffffff'", width, height);
  return (format == plot_format::svg
              ? "set terminal svg " + size + "\n"
              : "if (strstrt(GPVAL_TERMINALS, 'pngcairo') > 0) { set terminal pngcairo " + size +
                    fmt::format(" }} else {{ set terminal png size {},{} noenhanced }}\n", width, height)) +
         "set encoding utf8\n";
}

TYPENET_INLINE std::string gnuplot_script(history const& h, plot_options const& o, plot_format format) {
  bool validated = false, has_acc = false;
  double top = 0;
  long long first = h.epochs.front().epoch + 1LL, last = first;
  std::string data;
  for (epoch_record const& e : h.epochs) {
    validated = validated || e.validated;
    has_acc = has_acc || e.train.has_acc();
    for (double const loss : {e.train.loss, e.validated ? e.validation.loss : 0})
      if (loss < 1e300 && loss > top) top = loss;
    long long const number = e.epoch + 1LL;
    first = std::min(first, number), last = std::max(last, number);  // several runs may each count from 0
    std::string const validation = e.validated ? fmt::format("{} {}", e.validation.loss, e.validation.acc) : "nan nan";
    data += fmt::format("{} {} {} {}\n", number, e.train.loss, e.train.acc, validation);
  }
  if (top == 0) top = 1;
  double const margin = first == last ? 1 : 0.03 * static_cast<double>(last - first);
  // Tics on whole epochs, at most about ten: 1, 2, 5, 10, 20, 50, ...
  long long every = 1;
  for (int i = 0; (last - first) / every > 10; ++i) every = i % 3 == 1 ? every / 2 * 5 : every * 2;
  bool const dots = h.epochs.size() <= 40;

  std::string script = "$epochs << END\n" + data + "END\n";
  script += gnuplot_terminal(o.width, o.height, format);
  script +=
      "set object 1 rectangle from graph 0,0 to graph 1,1 behind fillcolor rgb '#e5e5e5' fillstyle solid noborder\n"
      "set border 0 linecolor rgb '#888888'\n"
      "set grid xtics ytics back linetype 1 linewidth 1.2 linecolor rgb '#ffffff'\n"
      "set tics out scale 0.6 nomirror textcolor rgb '#555555'\n"
      "set key outside right center vertical Left reverse samplen 2.2 spacing 1.4 textcolor rgb '#333333'\n"
      "set datafile missing 'nan'\n"
      "set lmargin 9\nset bmargin 4\n";
  script += "set title " + gnuplot_string(o.title) + " font ',15' textcolor rgb '#333333'\n";
  script += "set xlabel " + gnuplot_string(o.x_label) + " textcolor rgb '#555555'\n";
  script += "set ylabel " + gnuplot_string(o.y_label) + " textcolor rgb '#555555'\n";
  script +=
      fmt::format("set xrange [{}:{}]\nset yrange [0:{}]\nset xtics {},{},{}\n", static_cast<double>(first) - margin,
                  static_cast<double>(last) + margin, top * 1.05, (first + every - 1) / every * every, every, last);
  script += fmt::format("set rmargin {}\n", has_acc ? 26 : 18);
  if (has_acc)  // their own axis, from 0 to 1
    script += "set y2range [0:1.05]\nset y2tics 0,0.1,1\nset y2label " + gnuplot_string(o.accuracy_label) +
              " textcolor rgb '#555555'\n";
  struct curve {
    char const* name;
    int column;
    char const* colour;
  };
  char const* before = "plot ";
  for (curve const& c : {curve{"train_loss", 2, "#e24a33"}, curve{"val_loss", 4, "#348abd"},
                         curve{"train_acc", 3, "#988ed5"}, curve{"val_acc", 5, "#777777"}}) {
    if ((c.column > 3 && !validated) || (c.column % 2 == 1 && !has_acc)) continue;
    script += fmt::format("{}$epochs using 1:{} axes x1y{} with {} linewidth 2.2 {}linecolor rgb '{}' title '{}'",
                          before, c.column, c.column % 2 == 1 ? 2 : 1, dots ? "linespoints" : "lines",
                          dots ? "pointtype 7 pointsize 0.9 " : "", c.colour, c.name);
    before = ", \\\n     ";
  }
  return script + "\n";
}

TYPENET_INLINE std::optional<int> wait_for(pid_t child, double seconds) {
  using clock = std::chrono::steady_clock;
  auto const end = clock::now() + std::chrono::duration_cast<clock::duration>(std::chrono::duration<double>(seconds));
  int status = 0;
  for (std::chrono::milliseconds pause(1);; pause = std::min(2 * pause, std::chrono::milliseconds(16))) {
    pid_t const ended = ::waitpid(child, &status, WNOHANG);
    if (ended == child) return status;
    if (ended < 0 && errno != EINTR) return 0;  // the program ignores SIGCHLD, so the status is lost
    if (clock::now() >= end) break;
    std::this_thread::sleep_for(pause);
  }
  // gnuplot may be a script that has started other programs: end its whole group, of which it is the first process.
  if (::kill(-child, SIGKILL) != 0) ::kill(child, SIGKILL);
  while (::waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  return std::nullopt;
}

TYPENET_INLINE void run_gnuplot(std::string const& script, int picture, double seconds) {
  struct closer {
    void operator()(std::FILE* f) const { std::fclose(f); }
  };
  std::unique_ptr<std::FILE, closer> const input(std::tmpfile()), errors(std::tmpfile());
  if (!input || !errors || std::fwrite(script.data(), 1, script.size(), input.get()) != script.size() ||
      std::fseek(input.get(), 0, SEEK_SET) != 0)
    throw file_error(fmt::format(
        "plot: a temporary file for gnuplot cannot be written: {}; check that /tmp is writable and has free "
        "space, and the limit of open files",
        std::generic_category().message(errno)));

  // In a program started without a standard input, files may have its number: none of the three may be closed by an
  // earlier action.
  struct copy {
    int descriptor;
    explicit copy(int of) : descriptor(::fcntl(of, F_DUPFD_CLOEXEC, 3)) {}
    copy(copy const&) = delete;
    copy& operator=(copy const&) = delete;
    ~copy() { ::close(descriptor); }
  } const from(::fileno(input.get())), to(picture), says(::fileno(errors.get()));
  if (from.descriptor < 0 || to.descriptor < 0 || says.descriptor < 0)
    throw file_error(fmt::format("plot: gnuplot needs three more open files: {}; close some, or raise the limit",
                                 std::generic_category().message(errno)));
  posix_spawn_file_actions_t actions;
  ::posix_spawn_file_actions_init(&actions);
  ::posix_spawn_file_actions_adddup2(&actions, from.descriptor, 0);
  ::posix_spawn_file_actions_adddup2(&actions, to.descriptor, 1);
  ::posix_spawn_file_actions_adddup2(&actions, says.descriptor, 2);
  char program[] = "gnuplot", defaults[] = "-d";  // without the user's settings
  char* const arguments[] = {program, defaults, nullptr};
  pid_t child = 0;
  // gnuplot runs in its own process group: Ctrl-C in a terminal is for the training, which may end a step later.
  posix_spawnattr_t attributes;
  ::posix_spawnattr_init(&attributes);
  ::posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETPGROUP);
  int const failed = ::posix_spawnp(&child, program, &actions, &attributes, arguments, environ);
  ::posix_spawnattr_destroy(&attributes);
  ::posix_spawn_file_actions_destroy(&actions);
  std::optional<int> const ended = failed == 0 ? wait_for(child, seconds) : 0;
  if (!ended)
    throw file_error(fmt::format(
        "plot: gnuplot did not finish within {} s and was stopped; check whether it works: echo 'plot x' | gnuplot -d",
        seconds));
  int const status = *ended;
  bool const is_missing = failed == ENOENT || failed == ENOTDIR;  // ENOTDIR: PATH contains a file
  if (failed != 0 && !is_missing)
    throw file_error(
        fmt::format("plot: gnuplot cannot be started: {}; check the gnuplot on PATH, and the limits of processes and "
                    "memory",
                    std::generic_category().message(failed)));
  std::string said(400, '\0');
  auto const length = ::pread(::fileno(errors.get()), said.data(), said.size(), 0);
  said.resize(static_cast<std::size_t>(length > 0 ? length : 0));
  for (char& c : said)
    if (c == '\n') c = ' ';
  // The dynamic loader and shells exit with 127, too, if they cannot start a program, and say why.
  bool const not_started = WIFEXITED(status) && WEXITSTATUS(status) == 127;
  if (is_missing || (not_started && said.empty()))
    throw file_error(
        "plot: gnuplot must be installed; found none on PATH; on Debian or Ubuntu: apt-get install gnuplot-nox");
  if (not_started)
    throw file_error("plot: gnuplot cannot be started: " + said +
                     "; check the gnuplot on PATH, and the limits of processes and memory");
  if (!WIFEXITED(status))
    throw file_error(
        fmt::format("plot: gnuplot was ended by signal {}: {}; check the gnuplot on PATH, and the limits of "
                    "processes and memory",
                    WTERMSIG(status), said));
  if (WEXITSTATUS(status) != 0) throw file_error("plot: gnuplot failed (version 5 or later is needed): " + said);
}

TYPENET_INLINE void draw_script(std::string const& script, plot_format format, int picture, std::string const& path) {
  run_gnuplot(script, picture);
  // gnuplot does not check that its output was written, so check the end of the file.
  std::string end(32, '\0');
  auto const size = ::lseek(picture, 0, SEEK_END);
  bool const whole = size > 100 && ::pread(picture, end.data(), end.size(), size - 32) == 32 &&
                     end.find(format == plot_format::png ? "IEND" : "</svg>") != std::string::npos;
  if (!whole)
    throw file_error("plot: " + path + " is incomplete: gnuplot wrote " + std::to_string(size) +
                     " bytes; free some space, or install a gnuplot that supports this format");
}

}  // namespace dsl::detail::TYPENET_MODE

namespace dsl::TYPENET_MODE {

TYPENET_INLINE void plot(history const& h, std::string const& path, plot_options const& options) {
  if (h.epochs.empty()) throw option_error("plot: the history must have an epoch; found none; train first");
  plot_format const format = plot_format_of(path);
  atomic_file file(path, "plot");
  detail::draw_script(detail::gnuplot_script(h, options, format), format, file.descriptor(), path);
  file.commit();
}

TYPENET_INLINE void check_plot(std::string const& path) {
  plot_format const format = plot_format_of(path);
  atomic_file const trial(path, "plot");
  history one;
  one.epochs.push_back({});
  detail::draw_script(detail::gnuplot_script(one, {}, format), format, trial.descriptor(), path);
}

}  // namespace dsl::TYPENET_MODE
