// SPDX-License-Identifier: MIT
// Metrics of the validation data: their values are those of scikit-learn, Keras (tests/fixtures/make_metrics.py) and
// torchmetrics, and a run's logs, monitors and states have them. The losses are compared with Keras's, too.
#include <dsl/data/pixel_classes.hpp>
#include <dsl/dsl.hpp>
#include <dsl/executors/host/loss.hpp>
#include <dsl/executors/host/pixel_loss.hpp>
#include <dsl/executors/host/value_loss.hpp>
#include <dsl/text.hpp>
#include <dsl/towers.hpp>
#include <dsl/training/score_metrics.hpp>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <fstream>
#include <string>
#include <utility>
#include <vector>

#include "support/catch.hpp"
#include "support/temporary_directory.hpp"
#include "support/warnings.hpp"
#include "support/words.hpp"

using namespace dsl;

namespace {

struct known {
  std::string kind;
  int samples = 0, outputs = 0;
  std::vector<double> y, targets;
  struct found {
    std::string library, name;
    double value = 0;
  };
  std::vector<found> all{};

  std::vector<std::int32_t> labels() const { return {targets.begin(), targets.end()}; }
  dataset data() const {
    std::vector<float> const none(static_cast<std::size_t>(samples));
    if (kind == "pixels") return in_memory_pixel_classes({1, 1, samples}, none, outputs, labels());
    if (kind == "classes") return in_memory_classes({1}, none, outputs, labels());
    return in_memory_values({1}, none, outputs, std::vector<float>(targets.begin(), targets.end()));
  }
};

std::vector<known> all_known(std::string const& file) {
  std::ifstream in(TYPENET_TEST_DATA "/" + file);
  std::vector<known> all;
  for (known k; in >> k.kind >> k.samples >> k.outputs;) {
    auto const count = static_cast<std::size_t>(k.samples * k.outputs);
    k.y.resize(count);
    k.targets.resize(k.kind != "values" ? static_cast<std::size_t>(k.samples) : count);
    for (double& v : k.y) in >> v;
    for (double& v : k.targets) in >> v;
    int metrics = 0;
    in >> metrics;
    k.all.resize(static_cast<std::size_t>(metrics));
    for (known::found& f : k.all) in >> f.library >> f.name >> f.value;
    REQUIRE(in);
    all.push_back(k);
  }
  return all;
}

/// Shows the outputs in two batches.
void show(metric_handle const& m, known const& k) {
  std::vector<float> const y(k.y.begin(), k.y.end()), values(k.targets.begin(), k.targets.end());
  std::vector<std::int32_t> const labels = k.labels();
  m.observer().on_begin(k.data());
  if (k.kind == "pixels") {  // one image, whose channels are the classes
    std::vector<float> planes(y.size());
    for (std::size_t i = 0; i < labels.size(); ++i)
      for (std::size_t c = 0; c < y.size() / labels.size(); ++c)
        planes[c * labels.size() + i] = y[i * (y.size() / labels.size()) + c];
    m.observer().on_batch(planes.data(), labels.data(), 0, 1);
    m.observer().on_end(nullptr);
    return;
  }
  for (int first : {0, 7}) {
    int const size = first == 0 ? 7 : k.samples - 7;
    if (k.kind == "classes")
      m.observer().on_batch(y.data() + first * k.outputs, labels.data() + first, first, size);
    else
      m.observer().on_values(y.data() + first * k.outputs, values.data() + first * k.outputs, first, size);
  }
  m.observer().on_end(nullptr);
}

/// Returns the loss of this name, or the accuracy if that is the name.
template <class T>
double loss_of(known const& k, std::string const& name) {
  std::vector<T> y(k.y.begin(), k.y.end()), gradient(y.size());
  view<T const> const from{y.data(), {k.outputs}, k.samples, 1, k.outputs, 0};
  view<T> const to{gradient.data(), {k.outputs}, k.samples, 1, k.outputs, 0};
  double sums[2] = {};
  if (k.kind == "pixels") {
    long long labelled = 0;
    for (std::int32_t label : k.labels()) labelled += label >= 0 ? 1 : 0;
    host::compute_pixel_loss<T>(true, from, k.labels().data(), sums, to, labelled, false, 0);
    return sums[name == "acc" ? 1 : 0] / static_cast<double>(labelled);
  }
  if (k.kind == "classes") {
    host::compute_loss<T>(loss::categorical_crossentropy, true, from, k.labels().data(), sums, to, 0, false,
                          name == "loss_smoothed_crossentropy" ? 0.1 : 0);
  } else {
    std::vector<float> const wanted(k.targets.begin(), k.targets.end());
    loss const kind = name == "loss_binary_crossentropy"   ? loss::binary_crossentropy
                      : name == "loss_huber"               ? loss::huber
                      : name == "loss_mean_absolute_error" ? loss::mean_absolute_error
                                                           : loss::mean_squared_error;
    host::compute_value_loss<T>(kind, false, from, wanted.data(), sums, to);
  }
  return sums[name == "acc" ? 1 : 0] / k.samples;
}

std::vector<metric_handle> of_classes() {
  return {top_k_accuracy<1>{}, top_k_accuracy<3>{}, precision_score<>{}, precision_score<2>{}, recall_score<>{},
          recall_score<2>{},   f1_score<>{},        f1_score<2>{},       iou_score<>{},        iou_score<2>{}};
}

using classifier = network<features<2>, dense<8>, dsl::tanh, dense<3>, softmax>;

dataset points(int count, int salt) {
  std::vector<float> numbers;
  std::vector<std::int32_t> labels;
  for (int i = 0; i < count; ++i) {
    float const x = static_cast<float>((i * 37 + salt * 11) % 101) / 50 - 1;
    float const y = static_cast<float>((i * 53 + salt * 7) % 97) / 48 - 1;
    numbers.insert(numbers.end(), {x, y});
    labels.push_back(x + y < -0.4F ? 0 : x > y ? 1 : 2);
  }
  return in_memory_classes({2}, std::move(numbers), 3, std::move(labels));
}

trainer fresh(int towers = 1) {
  return compile<classifier>(reference{}, adam{.learning_rate = 0.05}, dsl::towers{.count = towers}, {.seed = 3});
}

struct power_cut : callback {
  void on_batch_end(fit_run& run) override {
    if (run.epoch == 2 && run.step == 1) throw error("the lights are out");
  }
};

/// A metric of one's own: the smallest probability of the right class.
struct worst_probability : evaluation_observer {
  static constexpr char const* name = "worst";
  static constexpr bool more_is_better = true;
  double value() const { return worst; }
  void on_begin(dataset const& data) override { worst = 1, classes = data.classes; }
  void on_batch(float const* outputs, std::int32_t const* labels, std::int64_t, int size) override {
    for (int n = 0; n < size; ++n) worst = std::min(worst, static_cast<double>(outputs[n * classes + labels[n]]));
  }
  double worst = 1;
  int classes = 0;
};
struct bad_name : worst_probability {
  static constexpr char const* name = "worst,acc";
};
struct taken_name : worst_probability {
  static constexpr char const* name = "acc";
};
struct taken_curve : worst_probability {
  static constexpr char const* name = "accuracy";
};
struct taken_curve_of_output : worst_probability {
  static constexpr char const* name = "aux_accuracy";
};

}  // namespace

TEST_CASE("metrics and losses are those of scikit-learn, Keras and torchmetrics", "[metrics]") {
  std::vector<known> all = all_known("metrics.txt");
  REQUIRE(all.size() == 7);
  for (known& k : all_known("torch_metrics.txt")) all.push_back(std::move(k));
  REQUIRE(all.size() == 14);
  std::vector<metric_handle> const of_values{r2_score<>{}, r2_score<1>{}, mae_score{}, mse_score{}};
  std::size_t compared = 0, wanted = 0;
  for (known const& k : all) {
    wanted += k.all.size();
    for (known::found const& f : k.all) {
      INFO(f.library << " " << f.name << " of " << k.outputs << " outputs");
      if (f.name.starts_with("loss_") || f.name == "acc") {
        // Keras keeps probabilities at least 1e-7 from 0 and 1; none of these is nearer. Targets are floats.
        CHECK(loss_of<double>(k, f.name) == approx(f.value).epsilon(1e-6));
        CHECK(loss_of<float>(k, f.name) == approx(f.value).epsilon(1e-5));
        ++compared;
      }
      for (metric_handle const& m : k.kind == "values" ? of_values : of_classes()) {
        if (m.name() != f.name) continue;
        double const near = f.library == "sklearn" ? 1e-12 : 1e-6;  // the others compute in float32
        show(m, k);
        CHECK(m.value() == approx(f.value).epsilon(near));
        show(m, k);  // it begins anew
        CHECK(m.value() == approx(f.value).epsilon(near));
        ++compared;
      }
    }
  }
  CHECK(compared == wanted);
}

TEST_CASE("a run's metrics are those of evaluate, in its history, its log and its monitors", "[metrics]") {
  test::temporary_directory const here;
  dataset const train = points(60, 1), check = points(33, 2);
  for (int towers : {1, 2}) {
    trainer t = fresh(towers);
    history const h = t.fit(
        train, {.epochs = 4,
                .batch_size = 12,
                .validation = &check,
                .metrics = {f1_score<>{}, top_k_accuracy<2>{}, worst_probability{}},
                .callbacks = {early_stopping<val_metric<f1_score<>>>({.patience = 50}), csv_logger(here / "log.csv")}});
    std::vector<named_score> const& last = h.epochs.back().validation.metrics;
    REQUIRE(last.size() == 3);
    CHECK((last[0].name == "f1" && last[1].name == "top_2_acc" && last[2].name == "worst"));
    f1_score<> f1;
    worst_probability worst;
    t.evaluate(check, 64, &f1);
    t.evaluate(check, 64, &worst);
    CHECK(last[0].value == f1.value());
    CHECK(last[2].value == approx(worst.value()).epsilon(1e-5));
    CHECK(f1.value() > 0);
    CHECK(h.epochs[0].train.metrics.empty());
    std::vector<std::string> const rows = test::lines(test::contents(here / "log.csv"));
    REQUIRE(rows.size() == 5);
    CHECK(rows[0].ends_with(",images_per_second,val_f1,val_top_2_acc,val_worst"));
    CHECK(test::contents(here / "log.csv") == history_csv(h));
    CHECK(text::metrics(h.epochs[3]).find(" - val_f1: ") != std::string::npos);
    text::progress p{.step = 5, .steps = 5, .record = h.epochs[3], .ended = true};
    for (int width = 1; width < 160; ++width)
      CHECK(static_cast<int>(text::progress_line(p, {.width = width}).size()) < std::max(width, 2));
    std::string const narrow = text::progress_line(p, {.width = 120}), log = text::progress_line(p, {.width = 0});
    CHECK(narrow.find(" - val_f1: ") != std::string::npos);
    CHECK(narrow.find("images/s") == std::string::npos);
    CHECK(log.find(" - val_f1: ") < log.find(" - val_worst: "));
    CHECK(log.find("images/s") != std::string::npos);
    p.ended = false;
    CHECK(text::progress_line(p, {.width = 0}).find("val_f1") == std::string::npos);
  }
  CHECK(std::string(val_metric<top_k_accuracy<2>>::name) == "val_top_2_acc");
  CHECK(val_metric<f1_score<>>::more_is_better);
  CHECK_FALSE(val_metric<mae_score>::more_is_better);
}

TEST_CASE("a resumed run has the metrics of its epochs, or is refused", "[metrics]") {
  test::temporary_directory const here;
  dataset const train = points(60, 1), check = points(33, 2);
  auto const run = [&](std::string const& name, std::vector<metric_handle> const& metrics, bool cut) {
    trainer t = fresh();
    std::vector<callback_handle> callbacks{csv_logger(here / (name + ".csv"))};
    callbacks.emplace_back(backup_and_restore(
        here / (name + ".state"), {.save_freq = every_batches(1), .delete_checkpoint = false, .verbose = false}));
    if (cut) callbacks.emplace_back(power_cut{});
    return t.fit(train,
                 {.epochs = 4, .batch_size = 12, .validation = &check, .metrics = metrics, .callbacks = callbacks});
  };
  std::vector<metric_handle> const metrics{f1_score<>{}, iou_score<1>{}};
  history const whole = run("whole", metrics, false);
  CHECK_THROWS_AS(run("cut", metrics, true), error);
  test::refuses<file_error>([&] { run("cut", {f1_score<>{}}, false); },
                            {"cut.state is from a run with the metrics", "iou_1", "give fit the same .metrics"});
  test::refuses<file_error>([&] { run("cut", {}, false); }, {"but this run has none"});
  history const resumed = run("cut", metrics, false);
  REQUIRE(resumed.epochs.size() == 4);
  for (std::size_t e = 0; e < 4; ++e) {
    REQUIRE(resumed.epochs[e].validation.metrics.size() == 2);
    for (std::size_t k = 0; k < 2; ++k)
      CHECK(resumed.epochs[e].validation.metrics[k].value == whole.epochs[e].validation.metrics[k].value);
  }
  trainer t = fresh();
  history const past = restore_run(t, read_checkpoint(here / "cut.state"), "cut.state").past;
  REQUIRE(past.epochs.size() == 4);
  CHECK(past.epochs[3].validation.metrics[1].name == "iou_1");
}

TEST_CASE("metrics that a run cannot have are refused before its first step", "[metrics]") {
  dataset const train = points(60, 1);
  auto const refused = [&](fit_options o, std::vector<std::string> const& words) {
    trainer t = fresh();
    test::refuses<option_error>([&] { t.fit(train, o); }, words);
    CHECK(t.steps() == 0);
  };
  refused({.batch_size = 12, .metrics = {f1_score<>{}}}, {"no .validation"});
  refused({.batch_size = 12, .validation = &train, .metrics = {bad_name{}}}, {"letters, digits", "\"worst,acc\""});
  refused({.batch_size = 12, .validation = &train, .metrics = {taken_name{}}}, {"acc, which another score has"});
  refused({.batch_size = 12, .validation = &train, .metrics = {taken_curve{}}}, {"accuracy, which another score has"});
  CHECK(detail::names_of({metric_handle(taken_curve_of_output{})}, {}).size() == 1);
  test::refuses<option_error>([] { detail::names_of({metric_handle(taken_curve_of_output{})}, {"main", "aux"}); },
                              {"aux_accuracy, which another score has"});
  refused({.batch_size = 12, .validation = &train, .metrics = {f1_score<>{}, f1_score<>{}}}, {"f1, which another"});
  refused({.batch_size = 12, .validation = &train, .callbacks = {early_stopping<val_metric<f1_score<>>>()}},
          {"monitor: it watches f1, which must be one of fit's .metrics; this run has none", ".metrics"});
  refused({.batch_size = 12, .validation = &train, .metrics = {top_k_accuracy<4>{}}},
          {"top_k_accuracy: K must be at most the number of classes, 3; found 4"});
  refused({.batch_size = 12, .validation = &train, .metrics = {f1_score<3>{}}}, {"class must be 0 to 2; found 3"});
  refused({.batch_size = 12, .validation = &train, .metrics = {r2_score<>{}}}, {"regression_scores", "3 classes"});
  dataset const values = in_memory_values({2}, {1, 2, 3, 4}, 1, {1, 2});
  top_k_accuracy<1> of_values;
  test::refuses<option_error>([&] { of_values.on_begin(values); }, {"samples must have classes"});
}

TEST_CASE("top k: equal outputs share a place, a NaN has none, pixels without a class do not count", "[metrics]") {
  dataset const data = in_memory_classes({1}, std::vector<float>(3), 3, {0, 1, 2});
  float const outputs[] = {0.5F, 0.5F, 0.1F, 0.3F, NAN, 0.2F, 0.7F, 0.2F, 0.2F};
  std::int32_t const labels[] = {0, 1, 2};
  auto const share = [&](auto m) {
    m.on_begin(data);
    m.on_batch(outputs, labels, 0, 3);
    return m.value();
  };
  CHECK(share(top_k_accuracy<1>{}) == approx(1 / 3.0));
  CHECK(share(top_k_accuracy<2>{}) == approx(2 / 3.0));
  CHECK(share(top_k_accuracy<3>{}) == approx(2 / 3.0));
  CHECK(top_k_accuracy<2>{}.value() == 0);
}
