// SPDX-License-Identifier: MIT
#pragma once

#include <dsl/detail/mode.hpp>
#include <dsl/executors/engine.hpp>
#include <dsl/training/callback_state.hpp>

#include <cstdint>
#include <optional>
#include <vector>

namespace dsl::TYPENET_MODE {

/// The options of fit's .average, an average of the weights and running statistics over many steps. Training continues
/// with its own weights; validation, the callbacks at the end of an epoch and the network after the run have the
/// average. With a momentum of 1, this is stochastic weight averaging (Izmailov et al. 2018). It needs a rate that
/// stays high:
///   {.callbacks = {learning_rate_schedule{hold{one_cycle{.max_rate = 0.05}, 25}}}, .average{{.start_from_epoch = 25}}}
/// With a momentum below 1, it is an exponential moving average, as in Keras's SwapEMAWeights; the first steps, too few
/// for that momentum, have equal weight. backup_and_restore saves the average and the training's own weights, and
/// checkpoint_each_epoch is refused. Weights that callbacks write into the network at an epoch's end are lost. After a
/// run that fails, the network has the training's own weights. For reference<double>, the average is stored as floats.
struct weight_average {
  int start_from_epoch = 0;  // epochs before this one, from 0, are ignored
  double momentum = 1;       // share of the average kept in each step, Keras's ema_momentum; 1: all steps count equally
  int every = 4;             // steps between those whose weights are taken; also takes those of each epoch's last step
};

}  // namespace dsl::TYPENET_MODE

namespace dsl::detail::TYPENET_MODE {

/// Holds a run's average of the weights, and also the training's own weights while the average is in the network.
class weight_averager {
 public:
  /// Throws option_error for invalid options, including an average that starts after the end of the run.
  weight_averager(engine& e, std::optional<weight_average> const& o, int epochs);
  /// Puts the training's own weights back into the network, however the run ends, unless keep() was called.
  ~weight_averager();
  weight_averager(weight_averager const&) = delete;
  weight_averager& operator=(weight_averager const&) = delete;

  bool is_empty() const { return average_.empty(); }
  std::vector<float> const& average() const { return average_; }

  void after_step(int epoch, bool last);
  /// Puts the average into the network. Returns false if the average is already there, or if there is none yet.
  bool show();
  /// Puts the training's own weights back into the network.
  void hide();
  /// Makes the network keep the average, at the end of the run.
  void keep();

  /// Saves or restores the state. When a run has been restored, the network has the average from the file; then this
  /// function puts the training's own weights back.
  void state(callback_state& s);

 private:
  void take();

  engine& engine_;
  weight_average options_;
  std::vector<float> average_, own_;  // in the graph's order
  bool shown_ = false;                // whether the network has average_; own_ then has its own
  bool kept_ = false;
  std::int64_t since_ = 0;  // steps since weights were last taken
  std::int64_t taken_ = 0;
};

}  // namespace dsl::detail::TYPENET_MODE

#ifdef TYPENET_DEFINITIONS
#include <dsl/training/weight_average_inl.hpp>
#endif
