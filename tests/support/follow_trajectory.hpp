// SPDX-License-Identifier: MIT
#pragma once

#include <dsl/dsl.hpp>
#include <dsl/executors/host/engine.hpp>

#include "support/one_batch.hpp"
#include "support/trajectory.hpp"

// Replays a saved trajectory on any host engine, with the same weights, pictures and learning rates.

namespace dsl::test {

using norm = batch_norm<0.9>;
struct small_net
    : sequential<conv_module<8, 3, 3, 1, padding::same, norm>, inception_module<8, 8, norm>, downsample_module<8, norm>,
                 inception_module<16, 8, norm>, avg_pool2d<7>, flatten, dense<5>, softmax> {};
/// MiniGoogLeNet without dropout, whose random numbers differ between frameworks.
struct plain_minigooglenet
    : sequential<conv_module<96, 3, 3, 1, padding::same, norm>, inception_module<32, 32, norm>,
                 inception_module<32, 48, norm>, downsample_module<80, norm>, inception_module<112, 48, norm>,
                 inception_module<96, 64, norm>, inception_module<80, 80, norm>, inception_module<48, 96, norm>,
                 downsample_module<96, norm>, inception_module<176, 160, norm>, inception_module<176, 160, norm>,
                 avg_pool2d<7>, flatten, dense<10>, softmax> {};
using small_model = network<image<3, 16, 16>, small_net>;
using minigooglenet_model = network<image<3, 32, 32>, plain_minigooglenet>;

inline engine_options options_for(trajectory const& t) {
  return {.update = {.momentum = t.momentum, .rate_in_velocity = t.rate_in_velocity},
          .unbiased_running_variance = !t.biased_moving_variance,
          .verify = &verify};
}

/// A host engine (reference or onednn, T is its number type) at the trajectory's start.
template <class T>
class follower {
 public:
  follower(trajectory const& t, std::unique_ptr<engine> e)
      : t_(t), engine_(std::move(e)), host_(dynamic_cast<host::engine<T>&>(*engine_)) {
    program_ = engine_->prepare(mode::training, t.batch);
    for (int k = 0; k < engine_->graph().size.parameters; ++k) {
      parameter const& p = engine_->graph().parameters[k];
      std::vector<float> values(static_cast<std::size_t>(p.count()));
      for (std::size_t i = 0; i < values.size(); ++i) values[i] = static_cast<float>(start(p, k, i));
      engine_->write_parameter(k, values.data());  // tells the engine that they changed
      for (std::size_t i = 0; i < values.size(); ++i) host_.parameter_data(k)[i] = static_cast<T>(start(p, k, i));
    }
  }

  /// Trains one step and returns its mean loss.
  double step() {
    load(program_, step_);
    std::vector<std::int32_t> labels;
    for (int n = 0; n < t_.batch; ++n) labels.push_back(label(step_, n, t_.classes));
    engine_->run(program_,
                 dsl::test::one_batch{
                     nullptr, {labels.data()}, t_.batch, static_cast<std::uint64_t>(step_), t_.learning_rate(step_)});
    ++step_;
    return engine_->metrics(program_).loss / t_.batch;
  }

  /// Returns the probabilities for batch 0 with the current weights and running statistics.
  std::vector<float> predict() {
    int const program = engine_->prepare(mode::inference, t_.batch);
    load(program, 0);
    engine_->run(program, {.size = t_.batch});
    std::vector<float> out(static_cast<std::size_t>(t_.batch * t_.classes));
    engine_->read_result(program, out.data());
    return out;
  }

  parameter_summary summary(int k) {
    auto const count = static_cast<std::size_t>(engine_->graph().parameters[k].count());
    std::vector<double> values(host_.parameter_data(k), host_.parameter_data(k) + count);
    return summarize(k, values);
  }
  dsl::engine& engine() { return *engine_; }

 private:
  static double start(parameter const& p, int k, std::size_t i) {
    return initial_value(static_cast<parameter_kind>(p.role), static_cast<std::uint32_t>(k),
                         static_cast<std::uint32_t>(i), p.fan_in, p.fan_out);
  }
  void load(int program, int step) {
    T* const to = host_.input_data(program);
    auto const count = static_cast<std::uint32_t>(t_.batch * t_.channels * t_.height * t_.width);
    for (std::uint32_t i = 0; i < count; ++i) to[i] = static_cast<T>(picture(step, i));
  }

  trajectory const& t_;
  std::unique_ptr<dsl::engine> engine_;
  host::engine<T>& host_;
  int program_ = 0;
  int step_ = 0;
};

/// Returns the largest difference of a saved state's numbers from the engine's, relative to the larger of 1 and the
/// number.
template <class T>
double difference(saved_state const& saved, follower<T>& f) {
  double worst = 0;
  auto const compare = [&](double a, double b) {
    double const d = std::abs(a - b) / std::max(1.0, std::abs(a));
    if (!(d <= worst)) worst = std::isnan(d) ? 1e300 : d;  // a NaN stays the worst
  };
  for (std::size_t k = 0; k < saved.parameters.size(); ++k) {
    parameter_summary const ours = f.summary(static_cast<int>(k));
    parameter_summary const& theirs = saved.parameters[k].value;
    double const scale = std::max(1.0, std::sqrt(static_cast<double>(saved.parameters[k].count)));
    compare(theirs.sum / scale, ours.sum / scale);
    compare(theirs.sum_of_squares, ours.sum_of_squares);
    for (std::size_t j = 0; j < theirs.samples.size(); ++j) compare(theirs.samples[j], ours.samples[j]);
  }
  return worst;
}

}  // namespace dsl::test
