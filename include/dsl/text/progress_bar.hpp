// SPDX-License-Identifier: MIT
#pragma once

#include <dsl/text/epoch_log.hpp>

#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <string_view>
#include <utility>

#include <sys/ioctl.h>
#include <unistd.h>

namespace dsl {
namespace text {

/// How much of an epoch is done, as numbers.
struct progress {
  std::int64_t step = 0;  // done
  std::int64_t steps = 0;
  double seconds = 0;       // since the epoch's begin
  double step_seconds = 0;  // mean of a step
  double images_per_second = 0;
  epoch_record record{};
  bool ended = false;      // the epoch, validation included
  bool validates = false;  // the line of an epoch that has ended has validation's scores
};

/// What the output can show.
struct line_style {
  int width = 80;     // columns; 0: no limit
  bool bar = true;    // else " - " between all fields, for logs
  bool utf8 = false;  // a drawn bar, else [===>....]
  bool colour = false;
};

inline std::string draw_bar(progress const& p, line_style const& style, int cells) {
  auto const done = static_cast<int>(p.steps > 0 ? p.step * cells / p.steps : 0);
  std::string bar;
  if (!style.utf8) {
    bool const head = done < cells && done > 0;
    bar = "[" + std::string(static_cast<std::size_t>(done - (head ? 1 : 0)), '=') + (head ? ">" : "");
    return bar + std::string(static_cast<std::size_t>(cells - done), '.') + "]";
  }
  if (style.colour) bar += "\x1b[32m";
  for (int i = 0; i < cells; ++i) {
    if (i == done) bar += style.colour ? "\x1b[37m" : "";
    bar += i < done ? "\u2501" : "\u2500";
  }
  return bar + (style.colour ? "\x1b[0m" : "");
}

/// One line, without its end:
///    60/120 [=========>..........] ETA 7s - 118ms/step - 271 images/s - loss: 1.2345 - acc: 0.5678
/// Where it would not fit, the bar gets shorter and then fields go, the least missed first: images/s, ms/step, the bar,
/// the accuracies of training, the time. Never wider than style.width - 1, since some terminals wrap in the last
/// column.
inline std::string progress_line(progress const& p, line_style const& style) {
  struct field {
    std::string text;
    int rank;     // the lowest goes first
    int usually;  // columns: room for so many is kept, so that the bar is as long in every epoch
    bool kept = true;
  };
  std::string const steps = fmt::format("{}", p.steps);
  epoch_record const& r = p.record;
  field fields[] = {
      {fmt::format("{:>{}}/{}", p.step, style.bar ? steps.size() : 0, steps), 9, 0},
      {p.ended      ? duration(p.seconds)
       : p.step > 0 ? "ETA " + duration(static_cast<double>(p.steps - p.step) * p.step_seconds)
                    : "ETA ?",
       4, 7},
      {step_time(p.step_seconds), 1, 10},
      {fmt::format("{:.0f} images/s", p.images_per_second), 0, 13},
      {"loss: " + metric(r.train.loss), 6, 12},
      {"acc: " + metric(r.train.acc), 3, 11},
      {"val_loss: " + metric(r.validation.loss), 5, 16},
      {"val_acc: " + metric(r.validation.acc), 7, 15},
  };
  if (p.step == 0)
    for (field& f : fields) f.kept = f.rank == 9 || f.rank == 4;
  if (!r.validated) fields[6].kept = fields[7].kept = false;
  if (!r.train.has_acc()) fields[5].kept = fields[7].kept = false;

  int cells = style.bar ? 20 : 0;
  auto const width = [&] {
    int sum = cells > 0 ? cells + (style.utf8 ? 1 : 3) : 0;
    for (field const& f : fields) sum += f.kept ? static_cast<int>(f.text.size()) + 3 : 0;
    return sum - 3 - (cells > 0 ? 2 : 0);  // the bar stands between blanks, no dashes
  };
  auto const usual_width = [&] {
    int sum = cells + (style.utf8 ? 1 : 3) - 5;
    for (field const& f : fields) {
      bool const of_accuracy = f.rank == 3 || f.rank == 7, of_validation = f.rank == 5 || f.rank == 7;
      bool const comes = (r.train.has_acc() || !of_accuracy) && (p.validates || r.validated || !of_validation);
      int const size = static_cast<int>(f.text.size());
      sum += comes ? (size > f.usually ? size : f.usually) + 3 : 0;
    }
    return sum;
  };
  auto const fits = [&] { return style.width <= 0 || width() < style.width; };
  while (cells > 10 && style.width > 0 && usual_width() >= style.width) --cells;
  for (int rank = 0; rank < 9 && !fits(); ++rank) {
    for (field& f : fields)
      if (f.rank == rank) f.kept = false;
    if (rank == 1 && !fits()) cells = 0;
  }

  std::string line = fields[0].text;
  if (cells > 0) {
    line += " ";
    line += draw_bar(p, style, cells);
  }
  bool first = cells > 0;
  for (field const& f : fields) {
    if (&f == fields || !f.kept) continue;
    line += (first ? " " : " - ") + f.text;
    first = false;
  }
  if (style.width > 0 && cells == 0 && static_cast<int>(line.size()) >= style.width)
    line.resize(static_cast<std::size_t>(style.width > 1 ? style.width - 1 : 0));
  return line;
}

inline bool is_terminal(std::FILE* out) {
  char const* const term = std::getenv("TERM");
  return ::isatty(::fileno(out)) == 1 && term && *term && std::string_view(term) != "dumb";
}

inline int terminal_width(std::FILE* out) {
  winsize size{};
  if (::ioctl(::fileno(out), TIOCGWINSZ, &size) == 0 && size.ws_col > 0) return size.ws_col;
  return 80;
}

/// As the user's locale says, without asking for it to be set.
inline bool has_utf8() {
  for (char const* name : {"LC_ALL", "LC_CTYPE", "LANG"})
    if (char const* const value = std::getenv(name); value && *value) {
      std::string_view const v = value;
      return v.find("UTF-8") != v.npos || v.find("utf8") != v.npos || v.find("UTF8") != v.npos;
    }
  return false;
}

}  // namespace text

/// Keras's verbose=1. On a terminal one line an epoch, drawn again at most every 50 ms and cut to the width it has
/// then. In a pipe or a file no control characters: a line at the end of each epoch, and one every 30 s of a long one.
class progress_bar : public callback {
 public:
  explicit progress_bar(std::FILE* out = stdout) : out_(out) {}
  progress_bar(progress_bar const&) = default;
  ~progress_bar() override { close(); }  // training ended within an epoch: what follows has a line of its own

  void on_train_begin(fit_run& run) override {
    silent_ = !run.leads;
    terminal_ = text::is_terminal(out_);
    style_ = {.width = 0, .bar = terminal_};
    if (terminal_) style_.utf8 = text::has_utf8(), style_.colour = std::getenv("NO_COLOR") == nullptr;
  }
  void on_epoch_begin(fit_run& run) override {
    if (silent_) return;
    text::print(out_, fmt::format("Epoch {}/{}\n", run.epoch + 1, run.epochs));
    began_ = drawn_ = clock::now();
    first_ = run.next.step;  // where a restart has cut the epoch
    if (terminal_) draw({.step = first_, .steps = run.steps, .validates = run.validates});
  }
  void on_batch_end(fit_run& run) override {
    if (silent_) return;
    auto const now = clock::now();
    std::int64_t const before = run.step - first_;  // of this epoch's steps here
    if (before == 0) first_step_ = now;
    bool const last = run.step + 1 == run.steps;
    if (since(drawn_, now) < (terminal_ ? 0.05 : 30.0) && !(terminal_ && last)) return;
    if (last && !terminal_) return;
    drawn_ = now;
    // The first step also warms caches up; it counts only while it is the only one.
    double const step_seconds = before > 0 ? since(first_step_, now) / static_cast<double>(before) : since(began_, now);
    draw({run.step + 1, run.steps, since(began_, now), step_seconds, run.batch_size / step_seconds, run.current, false,
          run.validates});
  }
  void on_epoch_end(fit_run& run) override {
    if (silent_) return;
    double const rate = run.current.images_per_second;
    draw({run.steps, run.steps, run.current.seconds, run.batch_size / rate, rate, run.current, true, run.validates});
    close();
  }
  bool on_bad_loss(fit_run&) override {
    close();
    return false;
  }

 private:
  using clock = std::chrono::steady_clock;
  static double since(clock::time_point begin, clock::time_point now) {
    return std::chrono::duration<double>(now - begin).count();
  }
  void draw(text::progress const& p) {
    if (!terminal_) return text::print(out_, text::progress_line(p, style_) + "\n");
    style_.width = text::terminal_width(out_);
    std::string line = "\r";  // a literal + a string: there GCC 12 warns of its own library, -Wrestrict
    line += text::progress_line(p, style_);
    line += "\x1b[K";
    text::print(out_, line);
    open_ = true;
    detail::open_line = out_;
  }
  /// Where another callback has not ended the line for lines of its own.
  void close() {
    if (std::exchange(open_, false) && detail::open_line == out_) detail::print_lines(out_, "");
  }

  std::FILE* out_;
  bool terminal_ = false;
  bool silent_ = false;  // of several processes another one prints
  std::int64_t first_ = 0;
  bool open_ = false;  // the cursor stands after an unfinished line
  text::line_style style_{};
  clock::time_point began_{}, first_step_{}, drawn_{};
};

}  // namespace dsl
