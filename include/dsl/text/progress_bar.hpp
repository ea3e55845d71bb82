// SPDX-License-Identifier: MIT
#pragma once

#include <dsl/detail/mode.hpp>
#include <dsl/text/epoch_log.hpp>

#include <chrono>
#include <cstdint>
#include <cstdio>
#include <string>

#include <sys/ioctl.h>

namespace dsl::text::TYPENET_MODE {

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

std::string draw_bar(progress const& p, line_style const& style, int cells);

/// One line, without its end:
///    60/120 [=========>..........] ETA 7s - 118ms/step - 271 images/s - loss: 1.2345 - acc: 0.5678
/// Where it would not fit, the bar gets shorter and then fields go, the least missed first: images/s, ms/step, the bar,
/// the accuracies of training, the time. Never wider than style.width - 1, since some terminals wrap in the last
/// column.
std::string progress_line(progress const& p, line_style const& style);

bool is_terminal(std::FILE* out);

int terminal_width(std::FILE* out);

/// As the user's locale says, without asking for it to be set.
bool has_utf8();

}  // namespace dsl::text::TYPENET_MODE

namespace dsl::TYPENET_MODE {

/// Keras's verbose=1. On a terminal one line an epoch, drawn again at most every 50 ms and cut to the width it has
/// then. In a pipe or a file no control characters: a line at the end of each epoch, and one every 30 s of a long one.
class progress_bar : public callback {
 public:
  explicit progress_bar(std::FILE* out = stdout) : out_(out) {}
  progress_bar(progress_bar const&) = default;
  ~progress_bar() override { close(); }  // training ended within an epoch: what follows has a line of its own

  void on_train_begin(fit_run& run) override;
  void on_epoch_begin(fit_run& run) override;
  void on_batch_end(fit_run& run) override;
  void on_epoch_end(fit_run& run) override;
  bool on_bad_loss(fit_run&) override;

 private:
  using clock = std::chrono::steady_clock;
  static double since(clock::time_point begin, clock::time_point now);
  void draw(text::progress const& p);
  /// Where another callback has not ended the line for lines of its own.
  void close();

  std::FILE* out_;
  bool terminal_ = false;
  bool silent_ = false;  // of several processes another one prints
  std::int64_t first_ = 0;
  bool open_ = false;  // the cursor stands after an unfinished line
  text::line_style style_{};
  clock::time_point began_{}, first_step_{}, drawn_{};
};

}  // namespace dsl::TYPENET_MODE

#ifndef TYPENET_COMPILED
#include <dsl/text/progress_bar_inl.hpp>
#endif
