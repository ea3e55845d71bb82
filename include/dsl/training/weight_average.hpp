// SPDX-License-Identifier: MIT
#pragma once

#include <dsl/detail/math.hpp>
#include <dsl/detail/message.hpp>
#include <dsl/training/callback_state.hpp>
#include <dsl/training/weights.hpp>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

namespace dsl {

/// For fit's .average: the weights of many steps are averaged, and running statistics likewise. The training goes on
/// with its own weights; once there is an average, an epoch is validated with it, callbacks at the epoch's end find it
/// in the network and write it to their files, and after the run the network keeps it. Stochastic weight averaging
/// (Izmailov et al. 2018) with a learning rate that stays high:
///   {.callbacks = {learning_rate_schedule{hold{one_cycle{.max_rate = 0.05}, 25}}}, .average{{.start_from_epoch = 25}}}
/// With a momentum below 1 an exponential moving average, as Keras's SwapEMAWeights; until enough steps are in for that
/// momentum, all weigh alike. A state that backup_and_restore goes on from has the average and the training's own
/// weights; checkpoint_each_epoch is refused. What callbacks at an epoch's end write into the network is lost. A run
/// that fails leaves its own weights. With reference<double> the average is kept as floats.
struct weight_average {
  int start_from_epoch = 0;  // epochs before this one, from 0, are not looked at
  double momentum = 1;  // what the average keeps of itself each step, as Keras's ema_momentum; 1: all taken weigh alike
  int every = 4;        // steps from one whose weights are taken to the next; each epoch's last are taken, too
};

namespace detail {

/// A run's average, and its own weights while the network has the average.
class weight_averager {
 public:
  /// Throws option_error for what can't be, a begin after the run's end among it.
  [[gnu::cold]] weight_averager(engine& e, std::optional<weight_average> const& o, int epochs)
      : engine_(e), options_(o.value_or(weight_average{})) {
    if (!o) return;
    if (o->start_from_epoch < 0 || o->start_from_epoch >= epochs)
      refuse<option_error>({"average: start_from_epoch must be 0 to ", epochs - 1, ", the run's last epoch; found ",
                            o->start_from_epoch});
    if (o->every < 1) refuse<option_error>({"average: every must be 1 step or more; found ", o->every});
    bool const keeps_some = o->momentum > 0 && o->momentum <= 1;
    if (!keeps_some)
      refuse<option_error>(
          {"average: momentum must be above 0 and at most 1; found ", o->momentum, "; try 0.999, or 1"});
  }
  /// The training's own weights come back, whatever ends the run, unless it has come to its end.
  ~weight_averager() {
    try {
      if (!kept_) hide();
    } catch (...) {  // NOLINT(bugprone-empty-catch): the device is lost, and with it both
    }
  }
  weight_averager(weight_averager const&) = delete;
  weight_averager& operator=(weight_averager const&) = delete;

  bool is_empty() const { return average_.empty(); }
  std::vector<float> const& average() const { return average_; }

  void after_step(int epoch, bool last) {
    if (epoch < options_.start_from_epoch) return;
    ++since_;
    if (is_empty() || since_ >= options_.every || last) take();
  }
  /// The network has the average from here on. False where it had it before, or where there is none.
  [[gnu::cold]] bool show() {
    if (is_empty() || shown_) return false;
    own_ = read_weights(engine_);
    shown_ = true;
    write_weights(engine_, average_);
    return true;
  }
  /// The network has the training's own weights again.
  [[gnu::cold]] void hide() {
    if (shown_) write_weights(engine_, own_);
    shown_ = false;
  }
  /// At the run's end: the network keeps the average.
  [[gnu::cold]] void keep() {
    show();
    kept_ = true;
  }

  /// A state that is restored finds the average in the network, as its file has it, and puts back the own weights.
  [[gnu::cold]] void state(callback_state& s) {
    s.same("start_from_epoch", message({options_.start_from_epoch}));
    s.same("momentum", message({options_.momentum}));
    s.same("every", message({options_.every}));
    if (!s.restores() && !shown_) own_ = read_weights(engine_);
    s("since", since_, 0, s.largest_count), s("taken", taken_, 1, s.largest_count), s("average", average_),
        s("own", own_);
    if (!s.restores()) return;
    s.need(average_.size() == count_weights(engine_) && own_.size() == average_.size(), "weights of this network");
    write_weights(engine_, own_);
  }

 private:
  [[gnu::cold]] void take() {
    std::vector<float> const now = read_weights(engine_);
    ++taken_;
    double const faded = 1 - pow(options_.momentum, static_cast<double>(since_)),
                 alike = 1 / static_cast<double>(taken_);
    auto const share = static_cast<float>(faded > alike ? faded : alike);
    if (is_empty()) average_ = now;
    for (std::size_t i = 0; i < now.size(); ++i) average_[i] += share * (now[i] - average_[i]);
    since_ = 0;
  }

  engine& engine_;
  weight_average options_;
  std::vector<float> average_, own_;  // in the graph's order
  bool shown_ = false;                // the network has average_; own_ is what it had
  bool kept_ = false;
  std::int64_t since_ = 0;  // steps since the last one that was taken
  std::int64_t taken_ = 0;
};

}  // namespace detail
}  // namespace dsl
