// SPDX-License-Identifier: MIT
#pragma once

#include <future>

#include "support/gpu/agreement.hpp"

namespace dsl::test {

inline void begin_trajectory(engine& e) {
  for (int k = 0; k < e.graph().size.parameters; ++k) {
    parameter const& p = e.graph().parameters[k];
    std::vector<float> values(static_cast<std::size_t>(p.count()));
    for (std::size_t i = 0; i < values.size(); ++i)
      values[i] = static_cast<float>(initial_value(static_cast<parameter_kind>(p.role), static_cast<std::uint32_t>(k),
                                                   static_cast<std::uint32_t>(i), p.fan_in, p.fan_out));
    e.write_parameter(k, values.data());
  }
}

/// The largest difference of any saved number of a state, relative to the larger of 1 and the number.
inline comparison difference(saved_state const& saved, engine& e) {
  comparison worst;
  auto const compare = [&](double theirs, double ours) { worst.add(difference(ours, theirs)); };
  for (std::size_t k = 0; k < saved.parameters.size(); ++k) {
    std::vector<float> const values = parameter_of(e, static_cast<int>(k));
    std::vector<double> const wide(values.begin(), values.end());
    parameter_summary const ours = summarize(static_cast<int>(k), wide), &theirs = saved.parameters[k].value;
    double const scale = std::max(1.0, std::sqrt(static_cast<double>(saved.parameters[k].count)));
    compare(theirs.sum / scale, ours.sum / scale);
    compare(theirs.sum_of_squares / scale, ours.sum_of_squares / scale);
    for (std::size_t j = 0; j < theirs.samples.size(); ++j) compare(theirs.samples[j], ours.samples[j]);
  }
  return worst;
}

/// Follows one file for `steps` steps; what comes later is told without a bound: from the third step of MiniGoogLeNet
/// on, a ReLU's flipped sign moves losses more than any tolerance should allow.
template <class Model>
void follow(gpu const& on, ledger& l, std::string const& file, int steps, precision p, bounds const& near_enough) {
  trajectory const t = read_trajectory(on.fixtures + "/" + file);
  auto const e = on.make(Model::view(), options_for(t), p);
  begin_trajectory(*e);
  int const program = e->prepare(mode::training, t.batch);
  std::vector<float> images(static_cast<std::size_t>(t.batch * t.channels * t.height * t.width));
  auto const fill = [&](int step) {
    for (std::uint32_t i = 0; i < images.size(); ++i) images[i] = static_cast<float>(picture(step, i));
  };
  comparison near, far, state, predicted;
  for (int s = 0; s < static_cast<int>(t.losses.size()); ++s) {
    fill(s);
    std::vector<std::int32_t> labels;
    for (int n = 0; n < t.batch; ++n) labels.push_back(label(s, n, t.classes));
    e->run(program, {images.data(), labels.data(), t.batch, static_cast<std::uint64_t>(s), t.learning_rate(s)});
    (s < steps ? near : far).add(difference(e->metrics(program).loss / t.batch, t.losses[static_cast<std::size_t>(s)]));
    if (s >= steps) continue;
    for (saved_state const& saved : t.states)
      if (saved.steps_done == s + 1) state.add(difference(saved, *e));
    for (saved_prediction const& saved : t.predictions)
      if (saved.steps_done == s + 1) {
        int const inference = e->prepare(mode::inference, t.batch);
        fill(0);
        e->run(inference, {images.data(), nullptr, t.batch, 0, 0});
        std::vector<float> const y = result_of(*e, inference, t.batch);
        for (std::size_t i = 0; i < y.size(); ++i)
          predicted.add(difference(static_cast<double>(y[i]), saved.probabilities[i]));
      }
  }
  std::string const what = file.substr(0, file.rfind('.')) + ", " + name_of(p) + ": ";
  l.within(what + "losses of " + std::to_string(steps) + " steps", near, near_enough.loss);
  l.within(what + "weights and statistics", state, near_enough.values);
  if (!t.predictions.empty()) l.within(what + "probabilities", predicted, near_enough.values);
  if (steps < static_cast<int>(t.losses.size())) l.tell(what + "losses of the steps after those", far);
}

inline void check_small_trajectories(gpu const& on, ledger& l) {
  for (precision p : all_precisions)
    for (char const* file : {"keras_small.txt", "torch_small.txt"})
      follow<small_model>(on, l, file, 20, p, p == precision::fp32_strict ? bounds{1e-4, 1e-4, 0} : bounds_of(p));
}
/// The state is that after the first step. The third loss has passed so many layers twice that rounded factors show.
inline void check_minigooglenet_trajectories(gpu const& on, ledger& l) {
  for (precision p : all_precisions)
    for (char const* file : {"keras_minigooglenet.txt", "torch_minigooglenet.txt"})
      follow<minigooglenet_model>(on, l, file, 3, p,
                                  p == precision::fp32_strict ? bounds{1e-4, 1e-4, 0}
                                  : p == precision::tf32      ? bounds{0.1, 0.02, 0}
                                                              : bounds{0.1, 0.05, 0});
}

/// 20 augmented steps. A small rate: with a large one rounding grows so fast, at four pictures a step, that no two
/// executors agree for long.
inline trained train_minigooglenet(engine& e, int batch, int steps) {
  initialize(e, 2);
  dataset const data = synthetic_pictures(batch * steps, 10, 3).train;
  batch_loader loader(data, {.batch_size = batch, .seed = 4, .augment = shift_and_flip{}});
  int const program = e.prepare(mode::training, batch);
  trained t;
  loader.start(0);
  for (std::uint64_t s = 0; s < static_cast<std::uint64_t>(steps); ++s) {
    auto const* b = loader.next();
    e.run(program, {b->images, b->labels, b->size, s, 5e-5});
    t.losses.push_back(e.metrics(program).loss / batch);
  }
  t.parameters = parameters_of(e);
  return t;
}

inline void check_minigooglenet(gpu const& on, ledger& l) {
  constexpr int batch = 4, steps = 20;
  // The reference takes the time that everything else takes, so it works beside the device.
  std::future<trained> wanted = std::async(std::launch::async, [] {
    return train_minigooglenet(*reference<double>{}.make_engine(minigooglenet_network::view(), keras_rules), batch,
                               steps);
  });
  std::vector<trained> got;
  for (precision p : all_precisions)
    got.push_back(train_minigooglenet(*on.make(minigooglenet_network::view(), keras_rules, p), batch, steps));
  trained const plain = wanted.get();
  for (std::size_t i = 0; i < got.size(); ++i) {
    precision const p = all_precisions[i];
    bool const strict = p == precision::fp32_strict;
    std::string const what = "20 steps at batch 4, " + name_of(p) + ": ";
    l.within(what + "losses", difference(got[i].losses, plain.losses), strict ? 0.003 : 0.01);
    l.within(what + "all parameters", difference(got[i].parameters, plain.parameters), strict ? 0.001 : 0.005);
  }
}

}  // namespace dsl::test
