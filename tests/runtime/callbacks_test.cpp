// SPDX-License-Identifier: MIT
// Tests what each callback does and the lines that it prints.
#include "support/catch.hpp"
#include "support/larger.hpp"
#include "support/printed.hpp"
#include "support/toy_training.hpp"
#include "support/words.hpp"

#include <dsl/callbacks.hpp>
#include <dsl/training/weights.hpp>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <sys/wait.h>
#include <unistd.h>

using namespace dsl;
using test::scripted;
using test::toy;

using dsl::test::has;
using dsl::test::thrown;

namespace {

/// Returns the number of epochs until early_stopping ends a run in which the metric takes these values.
template <class... More>
int epochs_of(std::vector<double> values, early_stopping_options const& o) {
  scripted::values = std::move(values);
  trainer t = toy::compiled();
  return static_cast<int>(
      toy::fit(t, static_cast<int>(scripted::values.size()), {early_stopping<scripted>(o)}).epochs.size());
}

}  // namespace

TEST_CASE("early_stopping: patience counts epochs without a better value", "[callbacks]") {
  CHECK(epochs_of({1, 2, 3, 4, 5}, {}) == 5);
  CHECK(epochs_of({1, 2, 2, 4, 5}, {}) == 3);  // an equal value is no improvement
  CHECK(epochs_of({1, 2, 2, 4, 5}, {.patience = 1}) == 3);
  CHECK(epochs_of({1, 2, 2, 4, 5, 5, 5, 9}, {.patience = 2}) == 7);
  CHECK(epochs_of({5, 1, 2, 3, 4, 9}, {.patience = 3}) == 4);
  CHECK(epochs_of({5, 4, 3, 2}, {.mode = monitor_mode::min}) == 4);
  CHECK(epochs_of({5, 4, 4, 2}, {.mode = monitor_mode::min}) == 3);
}

TEST_CASE("early_stopping: min_delta, baseline, start_from_epoch", "[callbacks]") {
  CHECK(epochs_of({1, 1.5, 2, 3}, {.min_delta = 0.5}) == 2);     // only a larger change counts
  CHECK(epochs_of({1, 1.6, 2.2, 3}, {.min_delta = -0.5}) == 4);  // its absolute value, as in Keras
  CHECK(epochs_of({5, 4.6, 4, 3}, {.min_delta = 0.5, .mode = monitor_mode::min}) == 2);
  // each is better than the last: patience is never used up
  CHECK(epochs_of({1, 2, 3, 4, 5, 6}, {.patience = 3, .baseline = 10}) == 6);
  // the fourth is not better than the third
  CHECK(epochs_of({1, 2, 3, 3, 5, 6}, {.patience = 3, .baseline = 10}) == 4);
  CHECK(epochs_of({1, 20, 3, 3, 3, 6}, {.patience = 3, .baseline = 10}) == 5);
  CHECK(epochs_of({9, 1, 1, 2, 2, 3}, {.start_from_epoch = 2}) == 5);
  for (double bad : {std::numeric_limits<double>::quiet_NaN(), std::numeric_limits<double>::infinity()})
    test::refuses<option_error>([&] { early_stopping({.min_delta = bad}); }, {"min_delta must be finite; found "});
  CHECK_THROWS_AS(early_stopping({.baseline = std::numeric_limits<double>::quiet_NaN()}), option_error);
  CHECK_THROWS_AS(early_stopping({.patience = -1}), option_error);
}

TEST_CASE("early_stopping: the best weights come back, and Keras's lines say so", "[callbacks]") {
  scripted::values = {1, 5, 2, 3, 9};
  trainer t = toy::compiled(), two = toy::compiled();
  auto const stopping = std::make_shared<early_stopping<scripted>>(
      early_stopping_options{.patience = 2, .restore_best_weights = true, .verbose = true});
  std::string const lines = test::printed([&] { CHECK(toy::fit(t, 5, {stopping}).epochs.size() == 4); });
  CHECK(lines == "Epoch 4: early stopping\nRestoring model weights from the end of the best epoch: 2.\n");
  CHECK(stopping->best() == 5);
  CHECK(stopping->best_epoch() == 1);
  CHECK(stopping->stopped_epoch() == 3);
  toy::fit(two, 2, {});
  CHECK(detail::read_weights(t.engine()) == detail::read_weights(two.engine()));

  // a run that is not stopped gets them too; a second fit starts over
  scripted::values = {3, 2};
  CHECK(test::printed([&] { CHECK(toy::fit(t, 2, {stopping}).epochs.size() == 2); }) ==
        "Restoring model weights from the end of the best epoch: 1.\n");
  CHECK(stopping->best() == 3);
  CHECK(stopping->stopped_epoch() == 0);
}

TEST_CASE("monitors: what this run does not have is known before its first step", "[callbacks]") {
  trainer t = toy::compiled();
  std::string const said = thrown<option_error>([&] { toy::fit(t, 2, {early_stopping<val_accuracy>()}, false); });
  CHECK(said ==
        "early_stopping: its monitor is val_acc, but this run has no validation data; give fit .validation, or monitor "
        "loss or acc");
  CHECK(t.steps() == 0);
  CHECK(toy::fit(t, 1, {early_stopping<train_loss>()}, false).epochs.size() == 1);
  CHECK(has(thrown<option_error>([&] { toy::fit(t, 1, {early_stopping<any_metric>()}); }), "metric_named"));
}

TEST_CASE("monitors: by name, from a command line", "[callbacks]") {
  for (char const* name : {"loss", "acc", "val_loss", "val_acc"}) CHECK(std::string(metric_named(name).name) == name);
  CHECK(std::string(metric_named("val_accuracy").name) == "val_acc");
  CHECK(thrown<option_error>([] { metric_named("val_f1"); }) ==
        "monitor: its name must be loss, acc (or accuracy), val_loss or val_acc (or val_accuracy); found val_f1; a "
        "score of "
        "fit's .metrics is monitored by its type, such as val_metric<f1_score<>>");
  epoch_record const e{.train = {1, 2}, .validation = {3, 4}};
  double sum = 0;
  for (char const* name : {"loss", "acc", "val_loss", "val_acc"}) sum = 10 * sum + metric_named(name).of(e);
  CHECK(sum == 1234);
  trainer t = toy::compiled();
  CHECK(toy::fit(t, 1, {early_stopping({.patience = 3}, metric_named("val_acc"))}).epochs.size() == 1);
}

namespace {

/// Returns the rate before each step.
struct rates : callback {
  std::vector<double> seen;
  std::int64_t next = 0;
  void on_epoch_begin(fit_run& run) override { seen.push_back(run.learning_rate); }
  void on_batch_end(fit_run& run) override {
    if (run.step + 1 < run.steps) seen.push_back(run.learning_rate);
  }
};
template <class Schedule>
std::vector<double> rates_of(Schedule s, int epochs) {
  trainer t = toy::compiled();
  auto const seen = std::make_shared<rates>();
  history const h = toy::fit(t, epochs, {learning_rate_schedule{s}, seen}, false);
  for (std::size_t e = 0; e < h.epochs.size(); ++e) CHECK(h.epochs[e].learning_rate == seen->seen[6 * e]);
  return seen->seen;
}
void are(std::vector<double> const& found, std::vector<double> const& wanted) {
  REQUIRE(found.size() == wanted.size());
  for (std::size_t i = 0; i < found.size(); ++i) {
    INFO("step " << i);
    CHECK(found[i] == approx(wanted[i]).epsilon(1e-12));
  }
}

}  // namespace

TEST_CASE("schedules: step, cosine, warm-up", "[callbacks]") {
  CHECK(step_decay{0.1, 2, 0.5}(0) == 0.1);
  CHECK(step_decay{0.1, 2, 0.5}(1) == 0.1);
  CHECK(step_decay{0.1, 2, 0.5}(2) == 0.05);
  CHECK(step_decay{0.1, 2, 0.5}(5) == 0.025);
  CHECK_THROWS_AS((step_decay{0.1, 0}(0)), option_error);

  std::vector<double> cosine;
  for (int i = 0; i < 12; ++i) cosine.push_back(0.001 + 0.009 * 0.5 * (1 + std::cos(M_PI * i / 12)));
  are(rates_of(cosine_decay{.base = 0.01, .end = 0.001}, 2), cosine);

  std::vector<double> warm;
  for (int i = 0; i < 18; ++i) warm.push_back((i < 6 ? 0.02 : i < 12 ? 0.02 : 0.01) * std::min(1.0, (i + 1) / 12.0));
  are(rates_of(warm_up{step_decay{0.02, 2, 0.5}, 2}, 3), warm);
  for (int i = 0; i < 12; ++i) cosine[static_cast<std::size_t>(i)] *= std::min(1.0, (i + 1) / 6.0);
  are(rates_of(warm_up{cosine_decay{.base = 0.01, .end = 0.001}, 1}, 2), cosine);
}

TEST_CASE("schedules: hold stays where the epochs before it end", "[callbacks]") {
  std::vector<double> held, steps;
  for (int i = 0; i < 18; ++i) held.push_back(0.001 + 0.009 * 0.5 * (1 + std::cos(M_PI * std::min(i, 6) / 18)));
  are(rates_of(hold{cosine_decay{.base = 0.01, .end = 0.001}, 1}, 3), held);
  are(rates_of(hold{cosine_decay{.base = 0.01, .end = 0.001}, 0}, 3), std::vector<double>(18, 0.01));
  for (int i = 0; i < 18; ++i) steps.push_back(i < 6 ? 0.02 : 0.01);
  are(rates_of(hold{step_decay{0.02, 1, 0.5}, 1}, 3), steps);
  auto const counts = [calls = 0](int epoch) mutable { return 0.01 * (++calls + epoch); };
  CHECK(rates_of(hold{counts, 1}, 2).back() == Approx(0.01 * (12 + 1)));
  CHECK_THROWS_WITH((hold{step_decay{}, -1}({})), "hold: epochs must be 0 or more; found -1");
}

TEST_CASE("warm_up: less than no epoch is an error", "[callbacks][hostile]") {
  CHECK(has(thrown<option_error>([] { rates_of(warm_up{cosine_decay{}, -1}, 1); }),
            "warm_up: epochs must be 0 or more; found -1"));
}

TEST_CASE("schedules: a function of any number, and one that counts for itself, alone and in warm_up", "[callbacks]") {
  // a function of the epoch cannot be shifted by a schedule_point
  auto const halves = [](auto epoch) { return 0.02 / (1 << epoch); };
  auto const counts = [calls = 0](int) mutable { return 0.01 * ++calls; };
  std::vector<double> halved, warm, counted, warm_counted;
  for (int i = 0; i < 12; ++i) {
    halved.push_back(i < 6 ? 0.02 : 0.01);
    warm.push_back(halved.back() * std::min(1.0, (i + 1) / 6.0));
    counted.push_back(i < 6 ? 0.01 : 0.02);                                 // called at the beginning of each epoch
    warm_counted.push_back(0.01 * (i + 1) * std::min(1.0, (i + 1) / 6.0));  // called before each step
  }
  are(rates_of(halves, 2), halved);
  are(rates_of(warm_up{halves, 1}, 2), warm);
  are(rates_of(counts, 2), counted);
  are(rates_of(warm_up{counts, 1}, 2), warm_counted);
}

TEST_CASE("schedules: one_cycle is PyTorch's OneCycleLR", "[callbacks]") {
  // torch.optim.lr_scheduler.OneCycleLR(o, max_lr=0.1, total_steps=20): up to step 5, then down to 4e-7
  one_cycle const cycle{.max_rate = 0.1};
  auto const at = [&](int step) { return cycle({.epoch = step / 5, .epochs = 4, .step = step % 5, .steps = 5}); };
  CHECK(at(0) == approx(0.004));
  CHECK(at(5) == approx(0.1));
  CHECK(at(19) == approx(4e-7));
  CHECK(at(1) == approx(0.1 + (0.004 - 0.1) * 0.5 * (1 + std::cos(M_PI / 5))));
  CHECK(at(12) == approx(4e-7 + (0.1 - 4e-7) * 0.5 * (1 + std::cos(M_PI * 7 / 14))));
  for (int i = 1; i < 20; ++i) CHECK((at(i) > at(i - 1)) == (i <= 5));
  CHECK(cycle({.epochs = 1, .steps = 1}) > 0);  // a run of one step
  // PyTorch's values for a pct_start and total_steps so small that the rate falls from the first step
  auto const falls = [](double rise, std::vector<double> const& rates) {
    one_cycle const from_above{.max_rate = 0.1, .rise = rise};
    auto const steps = static_cast<std::int64_t>(rates.size());
    for (std::int64_t i = 0; i < steps; ++i)
      CHECK(from_above({.epochs = 1, .step = i, .steps = steps}) == approx(rates[static_cast<std::size_t>(i)]));
  };
  falls(0.3, {0.09944154354509119, 0.046263710266697504, 4e-07});
  falls(0.3, {0.0811745653949763, 4e-07});
  falls(0, {0.0750001, 0.0250003, 4e-07});
  CHECK(thrown<option_error>([] { one_cycle{.rise = 2}({}); }) == "one_cycle: rise must be 0 to 1; found 2");
  CHECK(thrown<option_error>([] { one_cycle{.end_divisor = -1e-9}({}); }) ==
        "one_cycle: start_divisor and end_divisor must be above 0; found 25 and -1e-09");
}

namespace {

/// Makes a weight NaN, so that the loss is NaN after step `at` of epoch 1.
struct poison : callback {
  std::int64_t at;
  explicit poison(std::int64_t step) : at(step) {}
  void on_batch_end(fit_run& run) override {
    if (run.epoch != 1 || run.step != at) return;
    std::vector<float> w = detail::read_weights(run.trainer.engine());
    for (float& x : w) x = std::numeric_limits<float>::quiet_NaN();
    detail::write_weights(run.trainer.engine(), w);
  }
};
struct moments : callback {
  int batches = 0, epochs = 0, ends = 0, saves = 0;
  bool failed = false;
  void on_batch_end(fit_run&) override { ++batches; }
  void on_epoch_end(fit_run&) override { ++epochs; }
  void on_saving_point(fit_run&) override { ++saves; }
  void on_train_end(fit_run& run) override { ++ends, failed = run.failed; }
};

}  // namespace

TEST_CASE("terminate_on_nan ends the run in its step, with a line", "[callbacks]") {
  trainer t = toy::compiled();
  auto const seen = std::make_shared<moments>();
  std::string const line = test::printed([&] {
    history const h = toy::fit(t, 4, {poison{2}, terminate_on_nan{}, seen});
    CHECK(h.epochs.size() == 1);
  });
  CHECK(line == "Batch 3: Invalid loss, terminating training\n");
  CHECK(seen->batches == 6 + 3);
  CHECK(seen->epochs == 1);
  CHECK(seen->saves == seen->batches + 1);  // no broken weights are written
  CHECK(seen->ends == 1);
  CHECK(seen->failed);

  trainer u = toy::compiled();
  CHECK(test::printed([&] { toy::fit(u, 4, {poison{5}, terminate_on_nan{}}); }) ==
        "Epoch 2: Invalid val_loss, terminating training\n");
  trainer v = toy::compiled();
  CHECK_THROWS_AS(toy::fit(v, 4, {poison{2}}), training_error);  // without the callback
}

TEST_CASE("early_stopping: the best weights come back where the loss is no number any more", "[callbacks]") {
  trainer good = toy::compiled();
  toy::fit(good, 1, {});
  for (std::int64_t step : {2, 5}) {  // the training's loss, the validation's loss
    trainer t = toy::compiled(), u = toy::compiled(), v = toy::compiled();
    early_stopping<> const best({.patience = 9, .restore_best_weights = true});
    CHECK_THROWS_AS(toy::fit(t, 4, {poison{step}, best}), training_error);
    CHECK(detail::read_weights(t.engine()) == detail::read_weights(good.engine()));
    test::printed([&] { toy::fit(u, 4, {poison{step}, terminate_on_nan{}, best}); });
    CHECK(detail::read_weights(u.engine()) == detail::read_weights(good.engine()));
    CHECK_THROWS_AS(toy::fit(v, 4, {poison{step}, early_stopping<>({.patience = 9})}), training_error);
    CHECK(std::isnan(detail::read_weights(v.engine()).back()));  // no callback asked for it
  }
}

namespace {

/// Records the weights after every step, and those at the end of an epoch.
struct weights_seen : callback {
  std::vector<std::vector<float>> steps, ends, saving_points, backups;
  void on_batch_end(fit_run& run) override { steps.push_back(detail::read_weights(run.trainer.engine())); }
  void on_epoch_end(fit_run& run) override { ends.push_back(detail::read_weights(run.trainer.engine())); }
  void on_saving_point(fit_run& run) override { keep(run, saving_points); }
  void on_backup(fit_run& run) override { keep(run, backups); }
  static void keep(fit_run& run, std::vector<std::vector<float>>& all) {
    if (run.next.step == 0) all.push_back(detail::read_weights(run.trainer.engine()));
  }
};

/// Returns the distance of an average from the average of these steps' weights, in which the newest has the share
/// `share(number of weights)`.
template <class Share>
double away(std::vector<float> const& found, std::vector<std::vector<float>> const& all, std::vector<int> const& taken,
            Share share) {
  std::vector<double> wanted(found.size());
  for (std::size_t n = 0; n < taken.size(); ++n)
    for (std::size_t i = 0; i < wanted.size(); ++i)
      wanted[i] += share(static_cast<double>(n + 1)) * (all[static_cast<std::size_t>(taken[n])][i] - wanted[i]);
  double most = 0;
  for (std::size_t i = 0; i < wanted.size(); ++i)
    most = dsl::test::larger(most, std::abs(wanted[i] - static_cast<double>(found[i])) / (1 + std::abs(wanted[i])));
  return most;
}

}  // namespace

TEST_CASE("average: an epoch's end and the network have it, the training its own weights", "[callbacks]") {
  for (int towers : {1, 3}) {
    auto const seen = std::make_shared<weights_seen>(), plain = std::make_shared<weights_seen>();
    trainer t = toy::compiled(towers), u = toy::compiled(towers);
    history const h = toy::fit(t, 4, {seen}, true, weight_average{.start_from_epoch = 1, .every = 4});
    history const without = toy::fit(u, 4, {plain});
    CHECK(seen->steps == plain->steps);
    for (std::size_t e = 0; e < 4; ++e) CHECK(h.epochs[e].train.loss == without.epochs[e].train.loss);
    CHECK(seen->ends[0] == plain->ends[0]);
    CHECK(seen->backups == plain->backups);
    CHECK(seen->saving_points == seen->ends);
    auto const alike = [](double n) { return 1 / n; };
    // epochs of six steps: from step 6 on, every fourth step and the last one of each epoch
    CHECK(away(seen->ends[1], plain->steps, {6, 10, 11}, alike) < 1e-6);
    CHECK(away(seen->ends[2], plain->steps, {6, 10, 11, 15, 17}, alike) < 1e-6);
    CHECK(away(seen->ends[3], plain->steps, {6, 10, 11, 15, 17, 21, 23}, alike) < 1e-6);
    CHECK(away(seen->ends[3], plain->steps, {23}, alike) > 1e-3);
    CHECK(detail::read_weights(t.engine()) == seen->ends[3]);
    scores const s = t.evaluate(toy::pictures(3), 8);
    CHECK(s.loss == h.epochs[3].validation.loss);
    CHECK(s.loss != without.epochs[3].validation.loss);
    CHECK(h.epochs[0].validation.loss == without.epochs[0].validation.loss);
  }
}

TEST_CASE("average: with a momentum the past fades by the step", "[callbacks]") {
  auto const seen = std::make_shared<weights_seen>(), seldom = std::make_shared<weights_seen>();
  trainer t = toy::compiled(), u = toy::compiled(), v = toy::compiled();
  toy::fit(t, 2, {seen}, false, weight_average{.momentum = 0.5, .every = 1});
  std::vector<int> all(12);
  for (int i = 0; i < 12; ++i) all[static_cast<std::size_t>(i)] = i;
  CHECK(away(seen->ends[1], seen->steps, all, [](double n) { return std::max(0.5, 1 / n); }) < 1e-6);
  toy::fit(u, 2, {seldom}, false, weight_average{.momentum = 0.5, .every = 3});
  double const kept[] = {0, 0.125, 0.25, 0.125, 0.125};  // gaps of 3, 2, 3 and 3 steps
  CHECK(away(seldom->ends[1], seldom->steps, {0, 3, 5, 8, 11},
             [&](double n) { return std::max(1 - kept[static_cast<int>(n) - 1], 1 / n); }) < 1e-6);
  // with fewer steps than that: the first step, and the last one of each epoch
  auto const few = std::make_shared<weights_seen>();
  toy::fit(v, 2, {few}, false, weight_average{.every = 100});
  CHECK(away(few->ends[1], few->steps, {0, 5, 11}, [](double n) { return 1 / n; }) < 1e-6);
}

TEST_CASE("average: a second run averages its own weights alone", "[callbacks]") {
  auto const seen = std::make_shared<weights_seen>();
  trainer t = toy::compiled();
  weight_average const late{.start_from_epoch = 1, .every = 100};
  toy::fit(t, 2, {}, false, late);
  toy::fit(t, 2, {seen}, false, late);
  CHECK(away(detail::read_weights(t.engine()), seen->steps, {6, 11}, [](double n) { return 1 / n; }) < 1e-6);
}

TEST_CASE("average: a run that fails leaves the training's own weights", "[callbacks]") {
  for (std::int64_t step : {2, 5})  // the training's loss, the validation's loss
    for (bool ends : {false, true}) {
      auto const seen = std::make_shared<weights_seen>();
      trainer t = toy::compiled();
      std::vector<callback_handle> all{poison{step}, seen};
      if (ends) all.emplace_back(terminate_on_nan{});
      auto const fit = [&] { toy::fit(t, 4, all, true, weight_average{}); };
      if (ends)
        test::printed(fit);
      else
        CHECK_THROWS_AS(fit(), training_error);
      CHECK(seen->ends.size() == 1);
      CHECK(seen->backups.size() == 1);
      std::vector<float> const left = detail::read_weights(t.engine());
      CHECK(std::all_of(left.begin(), left.end(), [](float x) { return std::isnan(x); }));
    }
  struct too_large : callback {  // too large for validation; the average is not
    void on_batch_end(fit_run& run) override {
      if (run.epoch != 1 || run.step + 1 != run.steps) return;
      std::vector<float> w = detail::read_weights(run.trainer.engine());
      for (float& x : w) x *= 1e38F;
      detail::write_weights(run.trainer.engine(), w);
    }
  };
  for (bool ends : {false, true}) {
    auto const last = std::make_shared<weights_seen>();
    trainer u = toy::compiled();
    std::vector<callback_handle> all{too_large{}, last};
    if (ends) all.emplace_back(terminate_on_nan{});
    auto const fit = [&] { toy::fit(u, 4, all, true, weight_average{}); };
    if (ends)
      test::printed(fit);
    else
      CHECK_THROWS_AS(fit(), training_error);
    CHECK(last->ends.size() == 1);
    CHECK(detail::read_weights(u.engine()) == last->steps.back());
  }
  struct prunes : callback {
    void on_epoch_end(fit_run&) override { throw std::runtime_error("enough"); }
  };
  auto const seen = std::make_shared<weights_seen>();
  trainer t = toy::compiled();
  CHECK_THROWS_AS(toy::fit(t, 4, {seen, prunes{}}, true, weight_average{}), std::runtime_error);
  CHECK(detail::read_weights(t.engine()) == seen->steps.back());
  CHECK(seen->ends.back() != seen->steps.back());
}

TEST_CASE("average: the best weights are averages, whatever ends the run", "[callbacks]") {
  early_stopping_options const restores{.patience = 2, .restore_best_weights = true};
  auto const seen = std::make_shared<weights_seen>();
  trainer t = toy::compiled();
  scripted::values = {1, 2, 3, 0, 0};
  CHECK(toy::fit(t, 5, {early_stopping<scripted>(restores), seen}, true, weight_average{}).epochs.size() == 5);
  CHECK(detail::read_weights(t.engine()) == seen->ends[2]);
  for (std::int64_t step : {2, 5}) {
    trainer u = toy::compiled();
    test::printed([&] {
      toy::fit(u, 4, {poison{step}, terminate_on_nan{}, early_stopping<>(restores)}, true, weight_average{});
    });
    CHECK(detail::read_weights(u.engine()) == seen->ends[0]);
  }
}

TEST_CASE("average: options that can't be", "[callbacks]") {
  auto const said = [](weight_average const& o) {
    return thrown<option_error>([&] {
      trainer t = toy::compiled();
      toy::fit(t, 3, {}, true, o);
    });
  };
  for (int start : {-1, 3})
    CHECK(said({.start_from_epoch = start}) ==
          "average: start_from_epoch must be 0 to 2, counted from 0; found " + std::to_string(start));
  CHECK(said({.every = 0}) == "average: .every must be 1 or more; found 0");
  for (double m : {0.0, -0.5, 1.5, std::nan("")})
    CHECK(has(said({.momentum = m}), "average: momentum must be above 0 and at most 1; found"));
}

namespace {

enum class phase : unsigned char { warm, hot };

struct counter : callback {
  int n = 0;
  double best = 0;
  phase in = phase::warm;
  std::string word = "a";
  std::vector<double> all{};
  std::array<phase, 2> both{};
  int square[2][2]{};
  void state(callback_state& s) override {
    s("n", n), s("best", best), s("phase", in), s("word", word), s("all", all), s("both", both), s("square", square);
  }
};

}  // namespace

namespace apart {
template <class T>
struct of_type : callback {
  template <int>
  struct within : callback {};
};
}  // namespace apart

TEST_CASE("a callback's name is its type's, by whatever pointer", "[callbacks]") {
  auto const name = [](callback_handle const& h) {
    return std::string(h.name().data, static_cast<std::size_t>(h.name().size));
  };
  auto const by_base = [](auto c) {
    return callback_handle(std::shared_ptr<callback>(std::make_shared<decltype(c)>(c)));
  };
  struct here : callback {};
  auto const check = [&](auto c, std::string const& wanted) {
    CHECK(name(c) == wanted);
    CHECK(name(std::make_shared<decltype(c)>(c)) == wanted);
    CHECK(name(by_base(c)) == wanted);
    callback_handle copy = by_base(c);
    copy = callback_handle(copy);
    CHECK(name(copy) == wanted);
  };
  test::refuses<option_error>([] { callback_handle{std::shared_ptr<here>{}}; },
                              {"callbacks: each must be a callback or point to one; found a null std::shared_ptr"});
  check(counter{}, "counter");
  check(here{}, "here");
  check(early_stopping<val_loss>{}, "early_stopping");
  check(apart::of_type<std::vector<std::pair<int, char>>>{}, "of_type");
  check(apart::of_type<here>{}, "of_type");
  check(apart::of_type<here>::within<3>{}, "within");
}

TEST_CASE("a callback's state: what it saves is what it gets", "[callbacks]") {
  counter a;
  a.n = 7, a.best = 0.1, a.in = phase::hot, a.word = "several words", a.all = {1, 2, 3};
  a.both = {phase::warm, phase::hot}, a.square[1][0] = 5;
  callback_state saved;
  a.state(saved);
  counter b;
  callback_state restored(saved.bytes(), "x's counter 0");
  b.state(restored);
  CHECK((b.n == 7 && b.best == 0.1 && b.in == phase::hot && b.word == "several words" && b.all == a.all));
  CHECK(b.both == a.both);
  CHECK((b.square[0][1] == 0 && b.square[1][0] == 5));

  counter c;  // values that the file does not have keep theirs
  callback_state none(std::string{}, "x's counter 0");
  c.state(none);
  CHECK((c.n == 0 && c.word == "a"));
  float narrow = 0;
  CHECK(thrown<file_error>([&] { restored("best", narrow); }) ==
        "x's counter 0 has 8 bytes of best; expected 4; the file is from another program; remove it to start from the "
        "beginning");
  callback_state weights(saved.bytes(), "checkpoint: x", "give another file");
  CHECK(thrown<file_error>([&] { weights("best", narrow); }) ==
        "checkpoint: x has 8 bytes of best; expected 4; the file is from another program; give another file");
  CHECK(thrown<file_error>([&] { weights.need_count("best", 1, 2); }) ==
        "checkpoint: x: \"best\" must have 2 numbers; found 1; the file is damaged; give another file");
  CHECK(thrown<file_error>([&] { weights("n", a.n, 0, 6); }) ==
        "checkpoint: x: \"n\" must be 0 to 6; found 7; the file is damaged; give another file");
  CHECK(has(thrown<file_error>([&] { restored.same("word", "other"); }),
            "was saved with word several words, but this run has other"));
  for (std::size_t size = 0; size < saved.bytes().size(); ++size) {  // a truncated state is never read beyond its end
    counter d;
    callback_state cut(saved.bytes().substr(0, size), "x");
    d.state(cut);
    CHECK(d.all.size() <= 3);
  }
}

TEST_CASE("a child that a callback has forked ends where it returns from the callback", "[callbacks]") {
  struct forks : callback {
    pid_t child = -1;
    bool returns;
    explicit forks(bool r) : returns(r) {}
    void on_batch_end(fit_run& run) override {
      if (run.step != 2) return;
      child = ::fork();
      if (child == 0 && !returns) ::_exit(7);
      if (child == 0) ::close(2);  // the sentence that it says
    }
  };
  for (bool const returns : {false, true}) {
    auto const f = std::make_shared<forks>(returns);
    trainer t = toy::compiled();
    pid_t const parent = ::getpid();
    CHECK(toy::fit(t, 1, {f}).epochs.size() == 1);
    if (::getpid() != parent) ::_exit(9);  // the child went on training
    int status = -1;
    REQUIRE(::waitpid(f->child, &status, 0) == f->child);
    CHECK(WIFEXITED(status));
    CHECK(WEXITSTATUS(status) == (returns ? 1 : 7));
  }
}

TEST_CASE("fit: a data set that has been moved from is said to be so", "[callbacks]") {
  dataset data = toy::pictures();
  dataset const moved = std::move(data);
  trainer t = toy::compiled();
  std::string const said = thrown<error>([&] { t.fit(data, {.epochs = 1, .batch_size = 8}); });  // NOLINT
  CHECK(has(said, "the data set must have its samples; found none of its"));
  CHECK(t.fit(moved, {.epochs = 1, .batch_size = 8}).epochs.size() == 1);
}
