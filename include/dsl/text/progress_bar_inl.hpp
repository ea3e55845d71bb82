// SPDX-License-Identifier: MIT
#pragma once

#include <dsl/detail/mode.hpp>
#include <dsl/text/epoch_log.hpp>
#include <dsl/text/format.hpp>
#include <dsl/text/progress_bar.hpp>

#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <string_view>
#include <utility>
#include <vector>
#include <sys/ioctl.h>
#include <unistd.h>

#include <fmt/core.h>

namespace dsl::text::TYPENET_MODE {

TYPENET_INLINE std::string draw_bar(progress const& p, line_style const& style, int cells) {
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

TYPENET_INLINE std::string progress_line(progress const& p, line_style const& style) {
  struct field {
    std::string text;
    int rank;     // the lowest is dropped first
    int usually;  // columns reserved for it, so that the bar has the same length in every epoch
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
    return sum - 3 - (cells > 0 ? 2 : 0);  // blanks instead of dashes around the bar
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

  // Fit's metrics, as many as there is room for. They are more interesting than the speed.
  std::vector<std::string> metrics;
  for (named_score const& m : r.validation.metrics)
    if (p.ended && r.validated) metrics.push_back(" - val_" + m.name + ": " + metric(m.value));
  int wanted = 0;
  for (std::string const& m : metrics) wanted += static_cast<int>(m.size());
  for (int rank = 0; rank < 2; ++rank)
    for (field& f : fields)
      if (f.rank == rank && style.width > 0 && width() + wanted >= style.width) f.kept = false;
  int columns = width();

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
  for (std::string const& m : metrics)
    if (columns += static_cast<int>(m.size()); style.width <= 0 || columns < style.width) line += m;
  if (style.width > 0 && cells == 0 && static_cast<int>(line.size()) >= style.width)
    line.resize(static_cast<std::size_t>(style.width > 1 ? style.width - 1 : 0));
  return line;
}

TYPENET_INLINE bool is_terminal(std::FILE* out) {
  char const* const term = std::getenv("TERM");
  return ::isatty(::fileno(out)) == 1 && term && *term && std::string_view(term) != "dumb";
}

TYPENET_INLINE int terminal_width(std::FILE* out) {
  winsize size{};
  if (::ioctl(::fileno(out), TIOCGWINSZ, &size) == 0 && size.ws_col > 0) return size.ws_col;
  return 80;
}

TYPENET_INLINE bool has_utf8() {
  for (char const* name : {"LC_ALL", "LC_CTYPE", "LANG"})
    if (char const* const value = std::getenv(name); value && *value) {
      std::string_view const v = value;
      return v.find("UTF-8") != v.npos || v.find("utf8") != v.npos || v.find("UTF8") != v.npos;
    }
  return false;
}

}  // namespace dsl::text::TYPENET_MODE

namespace dsl::TYPENET_MODE {

TYPENET_INLINE void progress_bar::on_train_begin(fit_run& run) {
  silent_ = !run.leads;
  terminal_ = text::is_terminal(out_);
  style_ = {.width = 0, .bar = terminal_};
  if (terminal_) style_.utf8 = text::has_utf8(), style_.colour = std::getenv("NO_COLOR") == nullptr;
}

TYPENET_INLINE void progress_bar::on_epoch_begin(fit_run& run) {
  if (silent_) return;
  text::print(out_, fmt::format("Epoch {}/{}\n", run.epoch + 1, run.epochs));
  began_ = drawn_ = clock::now();
  first_ = run.next.step;  // greater than 0 in a resumed epoch
  if (terminal_) draw({.step = first_, .steps = run.steps, .validates = run.validates});
}

TYPENET_INLINE void progress_bar::on_batch_end(fit_run& run) {
  if (silent_) return;
  auto const now = clock::now();
  std::int64_t const before = run.step - first_;  // steps of this epoch in this run
  if (before == 0) first_step_ = now;
  bool const last = run.step + 1 == run.steps;
  if (since(drawn_, now) < (terminal_ ? 0.05 : 30.0) && !(terminal_ && last)) return;
  if (last && !terminal_) return;
  drawn_ = now;
  // The first step also warms up caches; it only counts as long as it is the only one.
  double const step_seconds = before > 0 ? since(first_step_, now) / static_cast<double>(before) : since(began_, now);
  draw({run.step + 1, run.steps, since(began_, now), step_seconds, run.batch_size / step_seconds, run.current, false,
        run.validates});
}

TYPENET_INLINE void progress_bar::on_epoch_end(fit_run& run) {
  if (silent_) return;
  double const rate = run.current.images_per_second;
  draw({run.steps, run.steps, run.current.seconds, run.batch_size / rate, rate, run.current, true, run.validates});
  close();
}

TYPENET_INLINE bool progress_bar::on_bad_loss(fit_run&) {
  close();
  return false;
}

TYPENET_INLINE double progress_bar::since(clock::time_point begin, clock::time_point now) {
  return std::chrono::duration<double>(now - begin).count();
}

TYPENET_INLINE void progress_bar::draw(text::progress const& p) {
  if (!terminal_) return text::print(out_, text::progress_line(p, style_) + "\n");
  style_.width = text::terminal_width(out_);
  std::string line = "\r";  // a literal + a string makes GCC 12 warn about its own library (-Wrestrict)
  line += text::progress_line(p, style_);
  line += "\x1b[K";
  text::print(out_, line);
  open_ = true;
  detail::open_line = out_;
}

TYPENET_INLINE void progress_bar::close() {
  if (std::exchange(open_, false) && detail::open_line == out_) detail::print_lines(out_, "");
}

}  // namespace dsl::TYPENET_MODE
