// SPDX-License-Identifier: MIT
#pragma once

#include <dsl/training/initialize.hpp>
#include <future>

#include "support/one_batch.hpp"
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

/// Returns the largest difference of a saved state's numbers, in units of its parameter's root mean square: weights are
/// a few hundredths, and a large error in one of them is far below 1.
inline comparison difference(saved_state const& saved, engine& e) {
  comparison worst;
  for (std::size_t k = 0; k < saved.parameters.size(); ++k) {
    std::vector<float> const values = parameter_of(e, static_cast<int>(k));
    std::vector<double> const wide(values.begin(), values.end());
    parameter_summary const ours = summarize(static_cast<int>(k), wide), &theirs = saved.parameters[k].value;
    auto const count = static_cast<double>(saved.parameters[k].count);
    double const unit = std::sqrt(theirs.sum_of_squares / count);
    auto const compare = [&](double their, double our, double size) { worst.add({std::abs(our - their) / size, 1}); };
    compare(theirs.sum, ours.sum, unit * std::sqrt(count));
    compare(theirs.sum_of_squares, ours.sum_of_squares, theirs.sum_of_squares);
    for (std::size_t j = 0; j < theirs.samples.size(); ++j) compare(theirs.samples[j], ours.samples[j], unit);
  }
  return worst;
}

/// Follows one file for `steps` steps; later steps are reported without a bound: from the third step of MiniGoogLeNet
/// on, a ReLU's flipped sign moves losses more than any tolerance should allow.
struct followed {
  double loss, state, probabilities;
};
template <class Model>
void follow(gpu const& on, ledger& l, std::string const& file, int steps, precision p, followed const& near_enough) {
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
    e->run(program, dsl::test::one_batch{
                        images.data(), {labels.data()}, t.batch, static_cast<std::uint64_t>(s), t.learning_rate(s)});
    (s < steps ? near : far).add(difference(e->metrics(program).loss / t.batch, t.losses[static_cast<std::size_t>(s)]));
    if (s >= steps) continue;
    for (saved_state const& saved : t.states)
      if (saved.steps_done == s + 1) state.add(difference(saved, *e));
    for (saved_prediction const& saved : t.predictions)
      if (saved.steps_done == s + 1) {
        int const inference = e->prepare(mode::inference, t.batch);
        fill(0);
        e->run(inference, dsl::test::one_batch{images.data(), {}, t.batch, 0, 0});
        std::vector<float> const y = result_of(*e, inference, t.batch);
        for (std::size_t i = 0; i < y.size(); ++i)
          predicted.add(difference(static_cast<double>(y[i]), saved.probabilities[i]));
      }
  }
  std::string const what = file.substr(0, file.rfind('.')) + ", " + name_of(p) + ": ";
  l.within(what + "losses of " + std::to_string(steps) + " steps", near, near_enough.loss);
  l.within(what + "weights and statistics", state, near_enough.state);
  if (!t.predictions.empty()) l.within(what + "probabilities", predicted, near_enough.probabilities);
  if (steps < static_cast<int>(t.losses.size())) l.tell(what + "losses of the steps after those", far);
}

/// Rounding grows during 20 steps at rates of 0.05, and ends up the same for tf32 as for bf16: on the simulated device
/// a weight was off by 0.09 or 0.13 of its parameter's size, a probability by 0.009 or 0.017, a loss by 0.005 or 0.008.
/// An executor that never updates is off by more than 1.
constexpr followed small_bounds(precision p) {
  return p == precision::bf16   ? followed{0.03, 0.35, 0.06}
         : p == precision::tf32 ? followed{0.02, 0.3, 0.04}
                                : followed{1e-4, 1e-4, 1e-4};
}
inline void check_small_trajectories(gpu const& on, ledger& l) {
  for (precision p : all_precisions)
    for (char const* file : {"keras_small.txt", "torch_small.txt"})
      follow<small_model>(on.untimed(), l, file, 20, p, small_bounds(p));
}
/// The state is that after the first step, in which weights have moved by up to 0.5 of their parameter's size. The file
/// says how far float was off, 2e-6; tf32 has 11 bits where float has 24, and 2^13 times that is 0.02; bf16 has 8,
/// which gives 0.13. The third loss has passed through so many layers twice that rounded factors show.
inline void check_minigooglenet_trajectories(gpu const& on, ledger& l) {
  for (precision p : all_precisions)
    for (char const* file : {"keras_minigooglenet.txt", "torch_minigooglenet.txt"})
      follow<minigooglenet_model>(on, l, file, 3, p,
                                  p == precision::fp32_strict ? followed{1e-4, 1e-4, 1e-4}
                                  : p == precision::tf32      ? followed{0.1, 0.15, 0.02}
                                                              : followed{0.1, 0.3, 0.05});
}

/// Augmented steps through a data set, without its last partial batch. The rate is small: with a large one rounding
/// grows so fast, at four pictures per step, that no two executors agree for long.
struct trained_from {
  std::vector<float> begin;
  trained end;
};
inline trained_from train_augmented(engine& e, dataset const& data, int batch) {
  initialize(e, 2);
  trained_from t{parameters_of(e), {}};
  batch_loader loader(data, {.batch_size = batch, .seed = 4, .drop_last = true, .augment = shift_and_flip{}});
  int const program = e.prepare(mode::training, batch);
  loader.start(0);
  std::uint64_t step = 0;
  while (auto const* b = loader.next()) {
    e.run(program, dsl::test::one_batch{b->inputs[0], b->targets[0], b->size, step++, 5e-5});
    t.end.losses.push_back(e.metrics(program).loss / batch);
  }
  t.end.parameters = parameters_of(e);
  return t;
}

/// Returns how far trainable parameters have moved, or the values of the others (running statistics).
inline std::vector<float> moved(graph_view const& g, trained_from const& t, bool trainable) {
  std::vector<float> all;
  std::size_t i = 0;
  for (int k = 0; k < g.size.parameters; ++k)
    for (int j = 0; j < g.parameters[k].count(); ++j, ++i)
      if (g.parameters[k].trainable() == trainable) all.push_back(t.end.parameters[i] - (trainable ? t.begin[i] : 0));
  return all;
}

inline void write_parameters(engine& e, std::vector<float> const& all) {
  float const* at = all.data();
  for (int k = 0; k < e.graph().size.parameters; ++k) {
    e.write_parameter(k, at);
    at += e.graph().parameters[k].count();
  }
}
/// Returns the input of softmax, up to a number that is the same for all classes of a picture. The probabilities of a
/// network that has hardly learned are all alike, and would hide errors.
inline std::vector<float> class_scores(engine& e, drawn_batch const& pictures, int batch) {
  int const program = e.prepare(mode::inference, batch);
  e.run(program, dsl::test::one_batch{pictures.images.data(), {}, batch, 0, 0});
  std::vector<float> y = result_of(e, program, batch);
  std::size_t const classes = y.size() / static_cast<std::size_t>(batch);
  for (std::size_t n = 0; n < y.size(); n += classes) {
    double mean = 0;
    for (std::size_t i = n; i < n + classes; ++i)
      mean += std::log(static_cast<double>(y[i])) / static_cast<double>(classes);
    for (std::size_t i = n; i < n + classes; ++i) y[i] = static_cast<float>(std::log(static_cast<double>(y[i])) - mean);
  }
  return y;
}

/// Bounds for MiniGoogLeNet. On the simulated device losses are off by 0.0003, 0.0008 and 0.003 (strict, tf32, bf16),
/// the movement of parameters by 0.06, 0.15 and 0.32 of it (1 for an executor that never updates), running statistics
/// by 0.0002, 0.0005 and 0.002, scores by 3e-7 and 0.0001; in bf16, with three bits fewer in factors and in the
/// probabilities, about 0.003 is expected, and in tf32 more if tensor cores drop bits instead of rounding. Gradients
/// after 19 batch_norms of four pictures are that sensitive, even in float.
struct beside_reference {
  double losses, moved, statistics, inference;
};
constexpr beside_reference bounds_beside_reference(precision p) {
  return p == precision::bf16   ? beside_reference{0.01, 0.7, 0.008, 0.05}
         : p == precision::tf32 ? beside_reference{0.005, 0.5, 0.003, 0.02}
                                : beside_reference{0.003, 0.4, 0.001, 1e-4};
}

/// Trains a few steps, then infers with what the reference has learned: with kernels with a batch_norm folded in, fused
/// bias and relu, and slices. In bf16 it does so once more on one queue: on two, neighbouring slices of a buffer are
/// written concurrently.
inline void check_beside_reference(gpu const& on, ledger& l, graph_view const& g, dataset const& data, int batch,
                                   int inferred) {
  drawn_batch const pictures(g, inferred, 77);
  struct both {
    trained_from training;
    std::vector<float> inference;
  };
  // The reference takes as long as everything else, so it runs beside the device.
  std::future<both> beside = std::async(std::launch::async, [&] {
    auto const e = reference<double>{}.make_engine(g, keras_rules);
    both b{train_augmented(*e, data, batch), {}};
    write_parameters(*e, b.training.end.parameters);  // as floats
    b.inference = class_scores(*e, pictures, inferred);
    return b;
  });
  std::vector<trained_from> got;
  for (precision p : all_precisions) got.push_back(train_augmented(*on.make(g, keras_rules, p), data, batch));
  std::vector<std::unique_ptr<cu::engine>> inferring;  // made ready while the reference is not
  auto const add_inferring = [&](gpu const& with, precision p) {
    inferring.push_back(with.make(g, keras_rules, p));
    for (int n : {inferred, 1}) inferring.back()->prepare(mode::inference, n);
  };
  for (precision p : all_precisions) add_inferring(on, p);
  gpu in_turn = on.untimed();
  in_turn.queues = 1;
  add_inferring(in_turn, precision::bf16);
  add_inferring(on.untimed(), precision::bf16);
  both const plain = beside.get();
  for (auto const& e : inferring) write_parameters(*e, plain.training.end.parameters);
  std::string const steps = std::to_string(plain.training.end.losses.size());
  for (std::size_t i = 0; i < got.size(); ++i) {
    precision const p = all_precisions[i];
    beside_reference const near = bounds_beside_reference(p);
    std::string const what = steps + " steps at batch " + std::to_string(batch) + ", " + name_of(p) + ": ";
    l.within(what + "losses", difference(got[i].end.losses, plain.training.end.losses), near.losses);
    l.within(what + "how far parameters have moved", difference(moved(g, got[i], true), moved(g, plain.training, true)),
             near.moved);
    l.within(what + "running statistics", difference(moved(g, got[i], false), moved(g, plain.training, false)),
             near.statistics);
  }
  std::vector<float> const first(
      plain.inference.begin(),
      plain.inference.begin() + static_cast<std::ptrdiff_t>(plain.inference.size()) / inferred);
  for (std::size_t i = 0; i < got.size(); ++i) {
    double const near = bounds_beside_reference(all_precisions[i]).inference;
    std::string const what = "inference, " + name_of(all_precisions[i]) + ", batch ";
    std::vector<float> const many = class_scores(*inferring[i], pictures, inferred),
                             one = class_scores(*inferring[i], pictures, 1);
    l.within(what + std::to_string(inferred), difference(many, plain.inference), near);
    l.within(what + "1", difference(one, first), near);
  }
  comparison apart;
  for (int n : {inferred, 1}) {
    std::vector<float> const wanted = class_scores(*inferring[got.size()], pictures, n);
    for (int again = 0; again < 10; ++again)
      apart.add(different_bits(class_scores(*inferring[got.size() + 1], pictures, n), wanted));
  }
  l.within("inference, bf16, ten times on two queues: numbers that differ from those on one", apart, 1);
}

inline void check_minigooglenet(gpu const& on, ledger& l) {
  constexpr int batch = 4, steps = 20;
  check_beside_reference(on, l, minigooglenet_network::view(), synthetic_pictures(batch * steps, 10, 3).train, batch,
                         64);
}

}  // namespace dsl::test
