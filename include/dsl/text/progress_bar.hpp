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

/// The progress of an epoch, as numbers.
struct progress {
  std::int64_t step = 0;  // steps done
  std::int64_t steps = 0;
  double seconds = 0;       // since the beginning of the epoch
  double step_seconds = 0;  // mean duration of a step
  double images_per_second = 0;
  epoch_record record{};
  bool ended = false;      // whether the epoch has ended, validation included
  bool validates = false;  // whether the line of an ended epoch shows validation's metrics
};

/// The capabilities of the output device.
struct line_style {
  int width = 80;     // columns; 0: no limit
  bool bar = true;    // otherwise " - " between all fields, for logs
  bool utf8 = false;  // whether the bar is drawn with blocks instead of [===>....]
  bool colour = false;
};

/// Returns the bar alone, `cells` columns wide.
std::string draw_bar(progress const& p, line_style const& style, int cells);

/// Returns one line without a newline:
///   60/120 [=========>..........] ETA 7s - 118ms/step - 271 images/s - loss: 1.2345 - acc: 0.5678
/// The line is at most style.width - 1 columns wide, since some terminals wrap in the last column. If the line would be
/// longer, the bar becomes shorter; then fields are left out, in this order: images/s, ms/step, the bar, the accuracies
/// of training, the time. The line of an ended epoch ends with as many of fit's metrics as there is room for.
std::string progress_line(progress const& p, line_style const& style);

/// Whether a stream is a terminal.
bool is_terminal(std::FILE* out);

/// Returns the number of columns of the terminal that a stream writes to, or 80 if it does not write to a terminal.
int terminal_width(std::FILE* out);

/// Whether the user's locale is UTF-8, according to the environment: setlocale() need not have been called.
bool has_utf8();

}  // namespace dsl::text::TYPENET_MODE

namespace dsl::TYPENET_MODE {

/// Logs as Keras's verbose=1 does. On a terminal, it draws one line per epoch, updates the line at most every 50 ms,
/// and cuts it to the terminal's current width. To a pipe or a file, it writes a line at the end of each epoch, and
/// every 30 s during a long epoch, without control characters.
class progress_bar : public callback {
 public:
  explicit progress_bar(std::FILE* out = stdout) : out_(out) {}
  progress_bar(progress_bar const&) = default;
  ~progress_bar() override { close(); }  // ends the line if training stopped within an epoch

  void on_train_begin(fit_run& run) override;
  void on_epoch_begin(fit_run& run) override;
  void on_batch_end(fit_run& run) override;
  void on_epoch_end(fit_run& run) override;
  bool on_bad_loss(fit_run&) override;

 private:
  using clock = std::chrono::steady_clock;
  static double since(clock::time_point begin, clock::time_point now);
  void draw(text::progress const& p);
  /// Ends the line, unless another callback has already ended it to print its own.
  void close();

  std::FILE* out_;
  bool terminal_ = false;
  bool silent_ = false;  // in processes other than process 0
  std::int64_t first_ = 0;
  bool open_ = false;  // the cursor is after an unfinished line
  text::line_style style_{};
  clock::time_point began_{}, first_step_{}, drawn_{};
};

}  // namespace dsl::TYPENET_MODE

#ifdef TYPENET_DEFINITIONS
#include <dsl/text/progress_bar_inl.hpp>
#endif
