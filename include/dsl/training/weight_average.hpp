// SPDX-License-Identifier: MIT
#pragma once

#include <dsl/detail/mode.hpp>
#include <dsl/executors/engine.hpp>
#include <dsl/training/callback_state.hpp>

#include <cstdint>
#include <optional>
#include <vector>

namespace dsl::TYPENET_MODE {

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

}  // namespace dsl::TYPENET_MODE

namespace dsl::detail::TYPENET_MODE {

/// A run's average, and its own weights while the network has the average.
class weight_averager {
 public:
  /// Throws option_error for what can't be, a begin after the run's end among it.
  [[gnu::cold]] weight_averager(engine& e, std::optional<weight_average> const& o, int epochs);
  /// The training's own weights come back, whatever ends the run, unless it has come to its end.
  ~weight_averager();
  weight_averager(weight_averager const&) = delete;
  weight_averager& operator=(weight_averager const&) = delete;

  bool is_empty() const { return average_.empty(); }
  std::vector<float> const& average() const { return average_; }

  void after_step(int epoch, bool last);
  /// The network has the average from here on. False where it had it before, or where there is none.
  [[gnu::cold]] bool show();
  /// The network has the training's own weights again.
  [[gnu::cold]] void hide();
  /// At the run's end: the network keeps the average.
  [[gnu::cold]] void keep();

  /// A state that is restored finds the average in the network, as its file has it, and puts back the own weights.
  [[gnu::cold]] void state(callback_state& s);

 private:
  [[gnu::cold]] void take();

  engine& engine_;
  weight_average options_;
  std::vector<float> average_, own_;  // in the graph's order
  bool shown_ = false;                // the network has average_; own_ is what it had
  bool kept_ = false;
  std::int64_t since_ = 0;  // steps since the last one that was taken
  std::int64_t taken_ = 0;
};

}  // namespace dsl::detail::TYPENET_MODE

#ifndef TYPENET_COMPILED
#include <dsl/training/weight_average_inl.hpp>
#endif
