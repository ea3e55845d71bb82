// SPDX-License-Identifier: MIT
#include "support/catch.hpp"

#include <cstdint>
#include <memory>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include <dsl/data/pixel_classes.hpp>
#include <dsl/data/with_input.hpp>
#include <dsl/data/with_target.hpp>
#include <dsl/dsl.hpp>
#include <dsl/io/backup_and_restore.hpp>
#include <dsl/io/history_csv.hpp>
#include <dsl/io/plot.hpp>
#include <dsl/text/epoch_log.hpp>
#include <dsl/text/progress_bar.hpp>
#include "support/random_graph.hpp"
#include "support/temporary_directory.hpp"

// Tests a training on values, which has no accuracy: its logs, tables and plots, and that it can be resumed.

namespace {

dsl::history two_epochs() {
  double const none = __builtin_nan("");
  dsl::history h;
  for (int e : {0, 1})
    h.epochs.push_back({.epoch = e, .train = {5.5 - e, none}, .validation = {6.25 - e, none}, .validated = true});
  return h;
}

struct killed_after : dsl::callback {
  explicit killed_after(int epoch, std::int64_t step) : epoch_(epoch), step_(step) {}
  void on_saving_point(dsl::fit_run& run) override {
    if (run.next.epoch == epoch_ && run.next.step == step_) killed_ = true;
  }
  void on_batch_end(dsl::fit_run&) override {
    if (killed_) throw std::runtime_error("killed");
  }
  int epoch_;
  std::int64_t step_;
  bool killed_ = false;
};

/// Kills a training at three places, and compares the end of the resumed run with the uninterrupted one.
template <class Make>
void resumes(Make make, dsl::dataset const& data, dsl::augmentation const& augment = {}) {
  using namespace dsl;
  auto const fit = [&](trainer& t, std::vector<callback_handle> callbacks) {
    return t.fit(
        data,
        {.epochs = 4, .batch_size = 10, .validation = &data, .augment = augment, .callbacks = std::move(callbacks)});
  };
  trainer whole = make();
  history const wanted = fit(whole, {});
  for (auto const& [epoch, step] : {std::pair{0, 4}, {2, 0}, {3, 5}}) {
    INFO("epoch " << epoch << ", step " << step);
    test::temporary_directory const here;
    trainer first = make(), second = make();
    auto const backup = [&] {
      return std::make_shared<backup_and_restore>(here / "state", backup_options{.save_freq = every_batches(1)});
    };
    CHECK_THROWS_AS(fit(first, {backup(), killed_after(epoch, step)}), std::runtime_error);
    auto const restored = backup();
    history const got = fit(second, {restored});
    CHECK(restored->restored());
    REQUIRE(got.epochs.size() == 4);
    for (std::size_t e = 0; e < 4; ++e) {
      CHECK(got.epochs[e].train.loss == wanted.epochs[e].train.loss);
      CHECK(got.epochs[e].train.has_acc() == data.has_classes());
      CHECK(got.epochs[e].validation.loss == wanted.epochs[e].validation.loss);
      for (auto const& s : {&epoch_record::train, &epoch_record::validation}) {
        std::vector<output_scores> const &a = (got.epochs[e].*s).outputs, &b = (wanted.epochs[e].*s).outputs;
        REQUIRE(a.size() == b.size());
        for (std::size_t k = 0; k < a.size(); ++k)
          CHECK((a[k].name == b[k].name && a[k].loss == b[k].loss &&
                 (a[k].acc == b[k].acc || (a[k].acc != a[k].acc && b[k].acc != b[k].acc))));
      }
    }
    CHECK(second.predict(data) == whole.predict(data));
    for (output_scores const& o : wanted.epochs[0].train.outputs)
      CHECK(second.predict_output(o.name, data) == whole.predict_output(o.name, data));
  }
}

}  // namespace

TEST_CASE("without an accuracy none is shown") {
  dsl::history const h = two_epochs();
  CHECK(dsl::text::metrics(h.epochs[0]) == " - loss: 5.5000 - val_loss: 6.2500");
  CHECK(dsl::history_csv_row(h.epochs[1]) == "2,4.5,,5.25,,0,0,0\n");
  std::string const script = dsl::detail::gnuplot_script(h, {}, dsl::plot_format::svg);
  CHECK_THAT(script, Catch::Contains("'train_loss'") && !Catch::Contains("_acc'"));
  std::string const line = dsl::text::progress_line({.step = 3, .steps = 3, .record = h.epochs[0], .ended = true},
                                                    {.width = 200, .bar = true, .utf8 = false});
  CHECK_THAT(line, Catch::Contains("val_loss: 6.25") && !Catch::Contains("acc"));
}

TEST_CASE("a training towards values that was killed ends with the bits of one that was not") {
  using namespace dsl;
  using model = network<features<2>, dense<8>, relu, dropout<0.1>, dense<1>>;
  test::dice d(1);
  std::vector<float> x, y;
  for (int i = 0; i < 60; ++i) {
    x.insert(x.end(), {static_cast<float>(d.below(100)), static_cast<float>(d.below(7))});
    y.push_back(x[x.size() - 2] - 3 * x.back());
  }
  dataset data = in_memory_values({2}, std::move(x), 1, y);
  normalize(data);
  resumes([] { return compile<model>(reference{}, adam{.learning_rate = 0.02}, {.loss = loss::huber}); }, data);
}

TEST_CASE("a training towards a class a pixel that was killed ends with the bits of one that was not") {
  using namespace dsl;
  using model = network<image<1, 4, 4>, conv2d<6, 3>, relu, dropout<0.1>, conv2d<3, 1>, softmax2d>;
  test::dice d(2);
  std::vector<float> x;
  std::vector<std::int32_t> labels;
  for (int i = 0; i < 60 * 16; ++i) {
    x.push_back(static_cast<float>(d.below(100)) / 100);
    labels.push_back(d.percent(10) ? -1 : x.back() < 0.3F ? 0 : x.back() < 0.6F ? 1 : 2);
  }
  resumes([] { return compile<model>(reference{}, adam{.learning_rate = 0.02}); },
          in_memory_pixel_classes({1, 4, 4}, std::move(x), 3, labels), shift_and_flip{});
}

TEST_CASE("a training of two inputs that was killed ends with the bits of one that was not") {
  using namespace dsl;
  using model = network<features<2>, concat<dense<6>, sequential<named_input<"other", features<3>>, dense<6>>>, relu,
                        dropout<0.1>, dense<1>>;
  test::dice d(4);
  std::vector<float> x, other, y;
  for (int i = 0; i < 60; ++i) {
    for (int k = 0; k < 2; ++k) x.push_back(static_cast<float>(d.below(100)) / 50);
    for (int k = 0; k < 3; ++k) other.push_back(static_cast<float>(d.below(100)));
    y.push_back(x.back() * other.back() / 10);
  }
  dataset data = with_input(in_memory_values({2}, std::move(x), 1, y), "other", {3}, std::move(other));
  normalize(data);
  resumes([] { return compile<model>(reference{}, adam{.learning_rate = 0.02}, {.loss = loss::huber}); }, data);
}

TEST_CASE("a training of several outputs that was killed ends with the bits of one that was not") {
  using namespace dsl;
  using model = network<image<1, 3, 3>, conv2d<6, 3>, relu, named_output<"aux", flatten, dense<3>, softmax>,
                        dropout<0.1>, flatten, dense<3>, softmax>;
  test::dice d(2);
  std::vector<float> x;
  std::vector<std::int32_t> labels;
  for (int i = 0; i < 60 * 9; ++i) x.push_back(static_cast<float>(d.below(100)) / 100);
  for (int i = 0; i < 60; ++i) labels.push_back(x[static_cast<std::size_t>(9 * i + 4)] < 0.3F ? 0 : d.below(3));
  dataset const data = in_memory_classes({1, 3, 3}, std::move(x), 3, labels);
  auto const make = [](double weight) {
    return compile<model>(reference{}, adam{.learning_rate = 0.02}, {.loss_weights = {{"aux", weight}}});
  };
  resumes([&] { return make(0.3); }, data);

  trainer t = make(0.3), other = make(0.5);
  std::string const bytes = checkpoint(t, t.fit(data, {.epochs = 2, .batch_size = 10, .validation = &data}));
  CHECK_THROWS_WITH(restore(other, bytes, "state"), Catch::Contains("loss") && Catch::Contains("output"));
  trainer same = make(0.3);
  history const past = restore(same, bytes, "state");
  REQUIRE(past.epochs.size() == 2);
  CHECK(past.epochs[1].validation.outputs.size() == 2);
}

TEST_CASE("a training of outputs with targets of their own that was killed ends with the bits of one that was not") {
  using namespace dsl;
  using model = network<image<1, 3, 3>, conv2d<6, 3>, relu, named_output<"mask", conv2d<2, 1>, softmax2d>,
                        named_output<"sum", flatten, dense<1>>, dropout<0.1>, flatten, dense<3>, softmax>;
  test::dice d(2);
  std::vector<float> x, sums;
  std::vector<std::int32_t> labels, mask;
  for (int i = 0; i < 60; ++i) {
    sums.push_back(0);
    for (int k = 0; k < 9; ++k) {
      x.push_back(static_cast<float>(d.below(100)) / 100);
      sums.back() += x.back();
      mask.push_back(d.percent(10) ? -1 : x.back() < 0.5F ? 0 : 1);
    }
    labels.push_back(sums.back() < 4 ? 0 : sums.back() < 5 ? 1 : 2);
  }
  dataset data = in_memory_classes({1, 3, 3}, std::move(x), 3, labels);
  data = with_value_target(with_pixel_target(data, "mask", 2, mask), "sum", 1, sums);
  auto const make = [](loss of_sum) {
    return compile<model>(reference{}, adam{.learning_rate = 0.02}, {.losses = {{"sum", of_sum}}});
  };
  resumes([&] { return make(loss::huber); }, data, shift_and_flip{});

  trainer t = make(loss::huber), other = make(loss::mean_squared_error);
  std::string const bytes = checkpoint(t, t.fit(data, {.epochs = 2, .batch_size = 10, .validation = &data}));
  CHECK_THROWS_WITH(restore(other, bytes, "state"), Catch::Contains("loss") && Catch::Contains("output"));
}

TEST_CASE("logs and tables have a column for each of several outputs") {
  using namespace dsl;
  epoch_record e{.epoch = 1, .train = {3, 0.5}, .validation = {4, 0.25}, .validated = true};
  e.train.outputs = {{"main", 2, 0.5}, {"aux", 1, 0.75}};
  e.validation.outputs = {{"main", 2.5, 0.25}, {"aux", 1.5, 0.125}};
  CHECK(text::metrics(e) ==
        " - loss: 3.0000 - acc: 0.5000 - main_loss: 2.0000 - main_acc: 0.5000 - aux_loss: 1.0000 - aux_acc: 0.7500"
        " - val_loss: 4.0000 - val_acc: 0.2500 - val_main_loss: 2.5000 - val_main_acc: 0.2500 - val_aux_loss: 1.5000"
        " - val_aux_acc: 0.1250");
  CHECK(history_csv({.epochs = {e}}) ==
        "epoch,loss,acc,val_loss,val_acc,learning_rate,seconds,images_per_second,main_loss,main_acc,val_main_loss,"
        "val_main_acc,aux_loss,aux_acc,val_aux_loss,val_aux_acc\n"
        "2,3,0.5,4,0.25,0,0,0,2,0.5,2.5,0.25,1,0.75,1.5,0.125\n");
  e.validated = false, e.validation.outputs.clear();
  CHECK(history_csv_row(e) == "2,3,0.5,,,0,0,0,2,0.5,,,1,0.75,,\n");
}
