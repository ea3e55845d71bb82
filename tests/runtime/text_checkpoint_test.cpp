// SPDX-License-Identifier: MIT
// Tests that a training resumed from a checkpoint ends like an uninterrupted one, and that an incomplete or foreign
// checkpoint changes nothing.
#include "support/catch.hpp"
#include "support/saved_runs.hpp"
#include "support/temporary_directory.hpp"
#include "support/toy_training.hpp"
#include "support/warnings.hpp"

#include <dsl/callbacks.hpp>
#include <dsl/dsl.hpp>
#include <dsl/io/backup_and_restore.hpp>
#include <dsl/io/checkpoint.hpp>
#include <dsl/io/model_checkpoint.hpp>
#include <dsl/towers.hpp>
#include <dsl/training/weights.hpp>

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <functional>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include <fcntl.h>
#include <signal.h>
#include <sys/file.h>
#include <sys/resource.h>
#include <unistd.h>

namespace {

using small = dsl::network<dsl::image<3, 8, 8>, dsl::conv_module<4, 3>, dsl::flatten, dsl::dropout<0.5>, dsl::dense<3>,
                           dsl::softmax>;
using same_sizes = dsl::network<dsl::image<3, 8, 8>, dsl::conv_module<4, 3>, dsl::flatten, dsl::dropout<0.25>,
                                dsl::dense<3>, dsl::softmax>;

dsl::dataset pictures() {
  std::vector<std::uint8_t> pixels(48 * 192);
  for (std::size_t i = 0; i < pixels.size(); ++i) pixels[i] = static_cast<std::uint8_t>((i * 37 + i / 7) % 251);
  std::vector<std::int32_t> labels(48);
  for (std::size_t i = 0; i < labels.size(); ++i) labels[i] = static_cast<std::int32_t>(i % 3);
  return dsl::in_memory_dataset({3, 8, 8}, 3, std::move(pixels), std::move(labels));
}

template <class Network = small>
dsl::trainer made(float momentum = 0.9F, std::uint64_t seed = 1, int towers = 1) {
  return dsl::compile<Network>(dsl::reference{}, dsl::sgd{.learning_rate = 0.05, .momentum = momentum},
                               dsl::towers{.count = towers}, {.seed = seed});
}

/// Halves the rate after every epoch, so that the rate is part of the state.
struct halve : dsl::callback {
  void on_epoch_end(dsl::fit_run& run) override { run.learning_rate /= 2; }
};

dsl::history fit(dsl::trainer& t, int epochs, int first = 0, std::vector<dsl::callback_handle> more = {}) {
  static dsl::dataset const data = pictures();
  more.insert(more.begin(), halve{});
  return t.fit(data, {.epochs = epochs,
                      .batch_size = 8,
                      .validation = &data,
                      .augment = dsl::shift_and_flip{},
                      .callbacks = more,
                      .initial_epoch = first});
}

}  // namespace

TEST_CASE("checkpoint: a training that goes on ends with the bits of one that was not interrupted", "[checkpoint]") {
  for (int towers : {1, 3}) {
    dsl::trainer whole = made(0.9F, 1, towers), begun = made(0.9F, 1, towers), resumed = made(0.9F, 1, towers);
    dsl::history const all = fit(whole, 5);
    dsl::test::temporary_directory const here;
    std::string const path = here / "state";
    dsl::history const first = fit(begun, 2, 0, {dsl::checkpoint_each_epoch{path}});
    dsl::history const past = dsl::restore(resumed, dsl::read_checkpoint(path), path);
    REQUIRE(past.epochs.size() == 2);
    CHECK(resumed.steps() == 12);
    CHECK(resumed.learning_rate() == 0.05 / 4);
    CHECK(dsl::checkpoint(begun, first) == dsl::checkpoint(resumed, past));  // written without the callback
    CHECK(past.epochs[1].validation.loss == all.epochs[1].validation.loss);
    CHECK(past.epochs[1].validated);
    CHECK(past.epochs[1].epoch == 1);
    CHECK(past.epochs[1].seconds == first.epochs[1].seconds);
    dsl::history const rest = fit(resumed, 5, 2);
    CHECK(rest.epochs.back().train.loss == all.epochs.back().train.loss);
    CHECK(dsl::detail::fingerprint_of(resumed.engine()) == dsl::detail::fingerprint_of(whole.engine()));
    CHECK(resumed.steps() == whole.steps());
  }
}

TEST_CASE("checkpoint: states and weights of earlier versions resume to the same bits", "[checkpoint][fixtures]") {
  std::string const fixtures = std::string(TYPENET_TEST_DATA) + "/states/";
  std::string const version = GENERATE("", "2bb0fcb/");
  CAPTURE(version);
  auto const outcome = [&](std::string const& name) { return dsl::test::bytes_of(fixtures + name + ".outcome"); };
  dsl::test::temporary_directory const here;
  /// Copies a state to a folder from which it may be removed, and resumes from it.
  auto const resume = [&](dsl::test::saved_run_of& run, std::string const& state) {
    std::filesystem::copy_file(fixtures + version + state, here / state);
    auto const backup = std::make_shared<dsl::backup_and_restore>(here / state);
    dsl::history const all = run.fit({backup});
    CHECK(backup->restored());
    return all;
  };
  SECTION("an uninterrupted run has the outcome that it had then") {
    for (char const* name : {"sgd", "adam"}) {
      dsl::test::saved_run_of run(name);
      CHECK((run.outcome(run.fit({})) == outcome(name)));
    }
  }
  SECTION("backup_and_restore resumes within an epoch, and model_checkpoint's state after one") {
    for (auto const& [name, state] :
         {std::pair{"sgd", "sgd.state"}, {"adam", "adam.state"}, {"sgd", "model_checkpoint.state"}}) {
      INFO(state);
      dsl::test::saved_run_of run(name);
      std::vector<std::string> const said =
          dsl::test::warnings([&] { CHECK((run.outcome(resume(run, state)) == outcome(name))); });
      CHECK(said.empty());  // what a file does not say is no difference
    }
  }
  SECTION("with batch_norm, to rounding: its sums may be taken in another precision") {
    dsl::test::saved_run_of run("batch_norm");
    resume(run, "batch_norm.state");
    std::vector<float> const found = run.numbers();
    std::string const bytes = outcome("batch_norm");
    std::vector<float> wanted(found.size());
    REQUIRE(bytes.size() >= wanted.size() * sizeof(float));
    std::memcpy(wanted.data(), bytes.data(), wanted.size() * sizeof(float));
    // a moment of 8 * 36 numbers changes by at most 288 * 2^-24 of itself, and seven steps amplify that
    for (std::size_t i = 0; i < wanted.size(); ++i)
      CHECK(std::abs(found[i] - wanted[i]) < 7 * 288 * 0x1p-24F * (1 + std::abs(wanted[i])));
  }
  SECTION("load_weights has the weights of the run that saved them, and they can be saved again") {
    dsl::test::saved_run_of run("sgd"), loaded("sgd");
    run.fit({});
    dsl::load_weights(loaded.trainer, fixtures + version + "weights");
    CHECK((dsl::detail::read_weights(loaded.trainer.engine()) == dsl::detail::read_weights(run.trainer.engine())));
    dsl::save_weights(loaded.trainer, here / "again");
    dsl::test::saved_run_of again("adam");
    dsl::load_weights(again.trainer, here / "again");
    dsl::predictor alone = dsl::make_predictor<dsl::test::saved_run_of::plain>(dsl::reference{});
    dsl::load_weights(alone, fixtures + version + "weights");
    dsl::dataset const pictures = dsl::test::saved_run_of::pictures();
    CHECK(alone.predict(pictures) == run.trainer.predict(pictures));
  }
}

TEST_CASE("checkpoint: the files of all callbacks of 2bb0fcb go on as one run", "[checkpoint][fixtures]") {
  std::string const fixtures = std::string(TYPENET_TEST_DATA) + "/states/2bb0fcb";
  dsl::test::temporary_directory const here;
  auto const without_times = [](std::string const& csv) {
    std::string all;
    std::size_t field = 0;
    for (char const c : csv) {
      field = c == '\n' ? 0 : field + (c == ',');
      if (field < 6) all += c;
    }
    return all;
  };
  struct nothing : dsl::callback {};
  SECTION("backup_and_restore") {
    std::filesystem::copy(fixtures, here.path, std::filesystem::copy_options::recursive);
    std::filesystem::copy_file(here / "each_epoch.state", here / "callbacks.state.before");
    dsl::test::saved_run_of whole("sgd"), run("sgd");
    dsl::history const wanted = whole.fit(dsl::test::callbacks_with_files(here.path.string(), "whole", nothing{}));
    dsl::history found;
    CHECK(dsl::test::warnings([&] {
            found = run.fit(dsl::test::callbacks_with_files(here.path.string(), "callbacks", nothing{}));
          }).empty());
    CHECK(run.outcome(found) == whole.outcome(wanted));
    CHECK(dsl::test::bytes_of(here / "callbacks.best") == dsl::test::bytes_of(here / "whole.best"));
    CHECK(without_times(dsl::test::bytes_of(here / "callbacks.csv")) ==
          without_times(dsl::test::bytes_of(here / "whole.csv")));
    for (char const* kind : {"train", "validation"}) {  // the file of the killed run, and the one that goes on
      auto const files = std::filesystem::directory_iterator(here.path / "callbacks.curves" / kind);
      CHECK(std::distance(files, {}) == 2);
    }
    CHECK_FALSE(std::filesystem::exists(here / "callbacks.state"));
    CHECK(dsl::test::bytes_of(here / "callbacks.state.before") == dsl::test::bytes_of(here / "each_epoch.state"));
  }
  SECTION("restore") {
    dsl::test::saved_run_of whole("sgd"), run("sgd");
    dsl::history const all = whole.fit({});
    dsl::history const past =
        dsl::restore(run.trainer, dsl::read_checkpoint(fixtures + "/each_epoch.state"), "each_epoch.state");
    REQUIRE(past.epochs.size() == 2);
    for (std::size_t e = 0; e < 2; ++e) {
      CHECK(past.epochs[e].train.loss == all.epochs[e].train.loss);
      CHECK(past.epochs[e].validation.acc == all.epochs[e].validation.acc);
    }
    CHECK(run.trainer.steps() == 10);
  }
}

namespace {

/// Leaves the files of a process that is killed there; step 0 is after the end of an epoch.
struct killed_at : dsl::callback {
  int epoch;
  std::int64_t step;
  killed_at(int e, std::int64_t s) : epoch(e), step(s) {}
  void on_backup(dsl::fit_run& run) override {
    if (run.epoch == epoch && run.next.step == step) throw std::runtime_error("killed");
  }
};

constexpr dsl::weight_average from_one{.start_from_epoch = 1, .every = 4};

dsl::history fit_averaged(dsl::trainer& t, std::vector<dsl::callback_handle> more,
                          std::optional<dsl::weight_average> const& average = from_one) {
  static dsl::dataset const data = pictures();
  more.insert(more.begin(), halve{});
  return t.fit(data, {.epochs = 4,
                      .batch_size = 8,
                      .validation = &data,
                      .augment = dsl::shift_and_flip{},
                      .callbacks = more,
                      .average = average});
}

std::uint64_t bits_of(dsl::trainer& t) { return dsl::detail::fingerprint_of(t.engine()); }

/// Returns a trainer whose network has a file's weights.
double loss_by(std::string const& file) {
  dsl::trainer t = made();
  dsl::load_weights(t, file);
  return t.evaluate(pictures(), 8).loss;
}

}  // namespace

TEST_CASE("checkpoint: weights that are averaged, and the training's own, are in it", "[checkpoint]") {
  dsl::test::temporary_directory const here;
  std::string const path = here / "state";
  dsl::trainer whole = made();
  dsl::history const all = fit_averaged(whole, {});
  for (int batches : {0, 1, 3})
    for (auto const& [epoch, step] : {std::pair{0, 3}, {1, 1}, {1, 6}, {2, 0}, {2, 5}, {3, 0}}) {
      INFO("every " << batches << " batches, epoch " << epoch << ", step " << step);
      dsl::save_freq const often = batches > 0 ? dsl::every_batches(batches) : dsl::every_epochs(1);
      dsl::trainer t = made(), u = made();
      CHECK_THROWS_AS(fit_averaged(t, {dsl::backup_and_restore(path, {.save_freq = often}), killed_at(epoch, step)}),
                      std::runtime_error);
      dsl::backup_and_restore const rest(path, {.save_freq = often});
      CHECK(dsl::test::figures(fit_averaged(u, {rest})) == dsl::test::figures(all));
      CHECK(bits_of(u) == bits_of(whole));
      CHECK_FALSE(std::filesystem::exists(path));
    }
}

TEST_CASE("checkpoint: of two files that a run could go on from, the last one's state is the run's", "[checkpoint]") {
  for (bool averages : {false, true})
    for (bool finer_first : {false, true}) {
      INFO("with averages " << averages << ", the finer one first " << finer_first);
      std::optional<dsl::weight_average> average;
      if (averages) average = from_one;
      dsl::test::temporary_directory const here;
      std::string const fine = here / "fine", coarse = here / "coarse";
      auto const both = [&] {
        std::vector<dsl::callback_handle> all{dsl::backup_and_restore(fine, {.save_freq = dsl::every_batches(1)}),
                                              dsl::backup_and_restore(coarse)};
        if (!finer_first) std::swap(all[0], all[1]);
        return all;
      };
      dsl::trainer whole = made(), t = made(), u = made();
      dsl::history const all = fit_averaged(whole, {}, average);
      std::vector<dsl::callback_handle> killed = both();
      killed.emplace_back(killed_at(1, 3));
      CHECK_THROWS_AS(fit_averaged(t, killed, average), std::runtime_error);
      CHECK(dsl::test::figures(fit_averaged(u, both(), average)) == dsl::test::figures(all));
      CHECK(bits_of(u) == bits_of(whole));
    }
}

TEST_CASE("checkpoint: a state of a run of averages, killed before the others' last files", "[checkpoint]") {
  dsl::test::temporary_directory const here;
  std::string const path = here / "state";
  auto const run = [&](std::string const& file, std::vector<dsl::callback_handle> const& more) {
    dsl::trainer t = made();
    std::vector<dsl::callback_handle> all{dsl::backup_and_restore(path)};
    all.insert(all.end(), more.begin(), more.end());
    all.emplace_back(dsl::model_checkpoint<>(here / file));
    fit_averaged(t, all);
  };
  run("whole", {});
  CHECK_THROWS_AS(run("resumed", {killed_at(3, 0)}), std::runtime_error);
  run("resumed", {});
  CHECK(loss_by(here / "resumed") == loss_by(here / "whole"));
  dsl::trainer t = made(), u = made();
  std::filesystem::rename(here / "whole", path);
  dsl::history const first = fit_averaged(t, {dsl::backup_and_restore(path)});
  std::filesystem::rename(here / "resumed", path);
  CHECK(dsl::test::figures(fit_averaged(u, {dsl::backup_and_restore(path)})) == dsl::test::figures(first));
  CHECK(bits_of(u) == bits_of(t));
}

namespace {

/// The executor reference with a device that can be lost or fail a write.
struct unreliable_engine final : dsl::engine {
  std::unique_ptr<dsl::engine> in;
  bool lost = false;
  int writes_left = -1;  // writes until one fails
  explicit unreliable_engine(std::unique_ptr<dsl::engine> e) : engine(e->graph(), e->options()), in(std::move(e)) {}
  void look() const {
    if (lost) throw dsl::executor_error("the device is lost");
  }
  int prepare(dsl::mode m, dsl::batch_part part, dsl::per_output<dsl::target_kind> targets) override {
    return in->prepare(m, part, targets);
  }
  void run(int program, dsl::batch_view const& batch) override { in->run(program, batch); }
  dsl::batch_metrics metrics(int program) override { return in->metrics(program); }
  void read_result(int program, float* out) override { in->read_result(program, out); }
  void read_parameter(int k, float* out) override { look(), in->read_parameter(k, out); }
  void write_parameter(int k, float const* from) override {
    look();
    if (writes_left >= 0 && writes_left-- == 0) throw dsl::executor_error("a write has failed");
    in->write_parameter(k, from);
  }
  void read_slot(int s, int k, float* out) override { look(), in->read_slot(s, k, out); }
  void write_slot(int s, int k, float const* from) override { look(), in->write_slot(s, k, from); }
  long long arena_bytes() const override { return 0; }
  long long executor_bytes() const override { return 0; }
  std::string description() const override { return "unreliable"; }
};

}  // namespace

TEST_CASE("checkpoint: a device that fails while the network has the average", "[checkpoint]") {
  dsl::test::temporary_directory const here;
  auto const unreliable = [] {
    return std::make_unique<unreliable_engine>(
        dsl::reference{}.make_engine(small::view(), {.seed = 1, .update = {.momentum = 0.9}}));
  };
  {  // lost for good while a file is written: nothing can be restored
    auto e = unreliable();
    unreliable_engine& device = *e;
    dsl::trainer t(std::move(e), 0.05);
    int files = 0;
    auto const write = [&](dsl::trainer& u, std::string const& path) {
      device.lost = ++files == 5;
      dsl::save_weights(u, path);
    };
    dsl::model_checkpoint_options const o{
        .save_weights_only = true, .save_freq = dsl::every_batches(1), .writer = write};
    CHECK_THROWS_WITH(fit_averaged(t, {dsl::model_checkpoint<>(here / "weights", o)}, dsl::weight_average{}),
                      "the device is lost");
  }
  {  // fails once, while the training's own weights are restored: they are restored
    struct fails : dsl::callback {
      unreliable_engine& device;
      std::vector<float> own;
      explicit fails(unreliable_engine& d) : device(d) {}
      void on_batch_end(dsl::fit_run&) override { own = dsl::detail::read_weights(device); }
      void on_epoch_end(dsl::fit_run& run) override { device.writes_left = run.epoch == 2 ? 2 : -1; }
    };
    auto e = unreliable();
    auto const seen = std::make_shared<fails>(*e);
    dsl::trainer t(std::move(e), 0.05);
    CHECK_THROWS_WITH(fit_averaged(t, {seen}), "a write has failed");
    CHECK(dsl::detail::read_weights(t.engine()) == seen->own);
  }
}

TEST_CASE("checkpoint: a run of averages that has ended goes on to the same", "[checkpoint]") {
  dsl::test::temporary_directory const here;
  std::string const path = here / "state";
  dsl::backup_options const kept{.delete_checkpoint = false};
  dsl::trainer whole = made(), again = made();
  dsl::history const all = fit_averaged(whole, {dsl::backup_and_restore(path, kept)});
  CHECK(loss_by(path) == all.epochs[3].validation.loss);
  CHECK(dsl::test::figures(fit_averaged(again, {dsl::backup_and_restore(path, kept)})) == dsl::test::figures(all));
  CHECK(bits_of(again) == bits_of(whole));
}

TEST_CASE("checkpoint: every file of a run of averages has the weights that were validated", "[checkpoint]") {
  dsl::test::temporary_directory const here;
  auto const all_of = [&](char const* name, dsl::model_checkpoint_options const& o) {
    return dsl::model_checkpoint<>(here / name + std::string("{epoch}"), o);
  };
  dsl::trainer t = made();
  dsl::history const h =
      fit_averaged(t, {all_of("whole", {}), all_of("weights", {.save_weights_only = true}),
                       all_of("best", {.save_best_only = true, .initial_value_threshold = 1e9}),
                       all_of("within", {.save_weights_only = true, .save_freq = dsl::every_batches(6)})});
  for (std::size_t e = 0; e < 4; ++e) {
    std::string const number = std::to_string(e + 1);
    double const loss = h.epochs[e].validation.loss;
    CHECK(loss_by(here / "whole" + number) == loss);
    CHECK(loss_by(here / "weights" + number) == loss);
    CHECK(loss_by(here / "within" + number) == loss);
    if (std::filesystem::exists(here / "best" + number)) CHECK(loss_by(here / "best" + number) == loss);
  }
  for (std::string const name : {"whole", "best"}) {  // each is a state to resume from
    std::string const copy = here / "copy";
    std::filesystem::copy_file(here / name + "3", copy);
    dsl::trainer u = made();
    CHECK(dsl::test::figures(fit_averaged(u, {dsl::backup_and_restore(copy)})) == dsl::test::figures(h));
    CHECK(bits_of(u) == bits_of(t));
  }
}

TEST_CASE("checkpoint: an average goes on as it was begun, or not at all", "[checkpoint]") {
  dsl::test::temporary_directory const here;
  std::string const path = here / "state";
  dsl::trainer begun = made();
  CHECK_THROWS_AS(fit_averaged(begun, {dsl::backup_and_restore(path), killed_at(2, 0)}), std::runtime_error);
  std::string const state = dsl::read_checkpoint(path);
  auto const said = [&](std::optional<dsl::weight_average> const& average) -> std::string {
    dsl::trainer t = made();
    try {
      fit_averaged(t, {dsl::backup_and_restore(path)}, average);
    } catch (dsl::file_error const& e) {
      return e.what();
    }
    return "";
  };
  using Catch::Matchers::Contains;
  CHECK_THAT(said({}), Contains("is from a run with averaged weights; give fit the same .average"));
  CHECK_THAT(
      said(dsl::weight_average{.start_from_epoch = 2, .every = 4}),
      Contains("'s average was saved with start_from_epoch 1, but this run has 2; use the same start_from_epoch"));
  CHECK_THAT(said(dsl::weight_average{.start_from_epoch = 1, .momentum = 0.5, .every = 4}),
             Contains("'s average was saved with momentum 1, but this run has 0.5"));
  CHECK_THAT(said(dsl::weight_average{.start_from_epoch = 1, .every = 5}),
             Contains("was saved with every 4, but this run has 5"));
  CHECK(dsl::read_checkpoint(path) == state);
  dsl::trainer t = made();
  try {
    dsl::restore(t, state, path);
    FAIL("restore() took it");
  } catch (dsl::file_error const& e) {
    CHECK_THAT(e.what(), Contains("with averaged weights; resume it with backup_and_restore"));
  }
  CHECK_THROWS_WITH(fit_averaged(t, {dsl::checkpoint_each_epoch{here / "other"}}),
                    "checkpoint_each_epoch: it cannot save fit's .average; use backup_and_restore");
  // before averaging begins, there is no average
  CHECK_THROWS_AS(fit_averaged(t, {dsl::backup_and_restore(here / "early"), killed_at(0, 0)}), std::runtime_error);
  dsl::trainer u = made();
  CHECK(fit_averaged(u, {dsl::backup_and_restore(here / "early")}, {}).epochs.size() == 4);
}

TEST_CASE("checkpoint: broken weights after an average that is not don't replace the last good ones", "[checkpoint]") {
  struct breaks : dsl::callback {  // weights with an infinite loss, though their mean with others has a finite one
    void on_batch_end(dsl::fit_run& run) override {
      if (run.epoch != 2 || run.step + 1 != run.steps) return;
      std::vector<float> w = dsl::detail::read_weights(run.trainer.engine());
      for (float& x : w) x *= 3e36F;
      dsl::detail::write_weights(run.trainer.engine(), w);
    }
  };
  dsl::test::temporary_directory const here;
  std::string const path = here / "state";
  dsl::weight_average const slow{.momentum = 0.9999, .every = 1};
  dsl::trainer whole = made(), t = made(), u = made();
  dsl::history const all = fit_averaged(whole, {}, slow);
  CHECK_THROWS_AS(
      fit_averaged(t, {dsl::backup_and_restore(path, {.save_freq = dsl::every_batches(1)}), breaks{}}, slow),
      dsl::training_error);
  CHECK(dsl::test::figures(fit_averaged(u, {dsl::backup_and_restore(path)}, slow)) == dsl::test::figures(all));
}

TEST_CASE("checkpoint: each epoch's replaces the one before, and keeps what came earlier", "[checkpoint]") {
  dsl::test::temporary_directory const here;
  std::string const path = here / "state";
  dsl::trainer t = made();
  fit(t, 3, 0, {dsl::checkpoint_each_epoch{path}});
  dsl::trainer u = made();
  dsl::history const past = dsl::restore(u, dsl::read_checkpoint(path), path);
  CHECK(past.epochs.size() == 3);
  fit(u, 5, 3, {dsl::checkpoint_each_epoch{path, past}});
  dsl::trainer v = made();
  dsl::history const longer = dsl::restore(v, dsl::read_checkpoint(path), path);
  REQUIRE(longer.epochs.size() == 5);
  CHECK(longer.epochs[4].epoch == 4);
  CHECK(std::distance(std::filesystem::directory_iterator(here.path), {}) == 1);
}

TEST_CASE("checkpoint: without the epochs before it, it is none for restore", "[checkpoint]") {
  dsl::test::temporary_directory const here;
  std::string const path = here / "state";
  dsl::trainer t = made(), u = made();
  fit(t, 4, 3, {dsl::checkpoint_each_epoch{path}});
  CHECK_THROWS_AS(dsl::restore(u, dsl::read_checkpoint(path), path), dsl::file_error);
  CHECK(u.steps() == 0);
  CHECK(dsl::restore_run(u, dsl::read_checkpoint(path), path).next.epoch == 4);
  // epochs that two runs have counted from 0
  dsl::history both = fit(t, 3), more = fit(t, 2);
  both.epochs.insert(both.epochs.end(), more.epochs.begin(), more.epochs.end());
  CHECK(dsl::restore(u, dsl::checkpoint(t, both), path).epochs.size() == 5);
}

TEST_CASE("checkpoint: of what is none only the beginning is read", "[checkpoint]") {
  dsl::test::temporary_directory const here;
  std::string const path = here / "disk.image";
  std::ofstream(path) << "an image of a disk";
  std::filesystem::resize_file(path, std::uintmax_t{1} << 40);  // sparse but for its first page
  CHECK(dsl::read_checkpoint(path).size() < 1000);
  dsl::trainer t = made();
  std::string said;
  try {
    dsl::load_weights(t, path);
  } catch (dsl::file_error const& e) {
    said = e.what();
  }
  CHECK(said.starts_with("checkpoint: " + path + " must begin as typenet's checkpoints do"));
}

TEST_CASE("checkpoint: one that says another size than it has is not read", "[checkpoint][hostile]") {
  dsl::test::temporary_directory const here;
  std::string const path = here / "state";
  dsl::trainer t = made();
  dsl::write_checkpoint(dsl::checkpoint(t, fit(t, 1)), path);
  std::uintmax_t const size = std::filesystem::file_size(path);
  std::filesystem::resize_file(path, std::uintmax_t{1} << 40);  // a sparse file
  auto const refused = [&] {
    std::string said;
    try {
      dsl::read_checkpoint(path);
    } catch (dsl::file_error const& e) {
      said = e.what();
    }
    return said;
  };
  CHECK(refused() ==
        "checkpoint: " + path + " must have " + std::to_string(size) +
            " bytes; found 1099511627776: it is truncated or damaged; remove the file to start from the beginning");
  std::fstream(path, std::ios::in | std::ios::out | std::ios::binary)
      .seekp(64)
      .write("\xff\xff\xff\xff\xff\xff\xff\xff", 8);
  CHECK(refused().find("has impossible sizes or counts") != std::string::npos);  // -1 epochs
}

TEST_CASE("checkpoint: fingerprints of a later version are refused by that name", "[checkpoint]") {
  std::string bytes = dsl::test::bytes_of(std::string(TYPENET_TEST_DATA) + "/states/weights");
  std::int32_t const later = dsl::detail::fingerprint_version + 1;
  std::memcpy(bytes.data() + offsetof(dsl::detail::checkpoint_head, fingerprints), &later, sizeof later);
  std::uint64_t const sum = dsl::detail::checksum(bytes, bytes.size() - sizeof(std::uint64_t));
  std::memcpy(bytes.data() + bytes.size() - sizeof sum, &sum, sizeof sum);
  dsl::test::saved_run_of run("sgd");
  std::uint64_t const before = bits_of(run.trainer);
  CHECK_THROWS_WITH(dsl::restore_run(run.trainer, bytes, "some.file"),
                    Catch::Matchers::Contains("checkpoint: some.file is from another version of typenet, with network "
                                              "fingerprints of version 2; this one reads "
                                              "0 to 1; use the program that wrote it"));
  CHECK(bits_of(run.trainer) == before);
}

TEST_CASE("weights of another network, and names of other formats, are refused with what to do", "[checkpoint]") {
  dsl::test::temporary_directory const here;
  auto const said = [](auto f) {
    try {
      f();
    } catch (dsl::error const& e) {
      return std::string(e.what());
    }
    return std::string();
  };
  using larger = dsl::network<dsl::features<2>, dsl::dense<3>>;
  using smaller = dsl::network<dsl::features<2>, dsl::dense<1>>;
  dsl::compile_options const values{.loss = dsl::loss::mean_squared_error};
  dsl::trainer three = dsl::compile<larger>(dsl::reference{}, dsl::sgd{}, values);
  dsl::trainer one = dsl::compile<smaller>(dsl::reference{}, dsl::sgd{}, values);
  std::string const path = here / "w";
  dsl::save_weights(three, path);
  std::string const other = said([&] { dsl::load_weights(one, path); });
  CHECK(other.find("it has 9 numbers, and a file of this network would have 3;") != std::string::npos);
  CHECK(other.find(".skip_mismatch = true") != std::string::npos);
  std::string whole = dsl::read_checkpoint(path);
  for (std::size_t const size : {std::size_t{0}, std::size_t{30}, whole.size() - 1, whole.size()}) {
    if (size == whole.size()) whole[size - 1] = static_cast<char>(whole[size - 1] ^ 1);
    std::ofstream(path, std::ios::binary) << whole.substr(0, size);
    std::string const words = said([&] { dsl::load_weights(three, path); });
    INFO(words);
    CHECK(words.find("give another file") != std::string::npos);
    CHECK(words.find("start from the beginning") == std::string::npos);
  }
  for (char const* ending : {".safetensors", ".weights.h5", ".onnx", ".keras", ".pt"}) {
    std::string const name = path + ending;
    CHECK(said([&] { dsl::save_weights(three, name); }).starts_with("save_weights: it writes typenet's own format"));
    CHECK_FALSE(std::filesystem::exists(name));
  }
}

TEST_CASE("checkpoint: what is no whole one of this training is refused, and nothing changes", "[checkpoint]") {
  dsl::trainer t = made();
  std::string const good = dsl::checkpoint(t, fit(t, 2));
  auto const refused = [&](dsl::trainer& by, std::string const& bytes, char const* words) {
    auto const before = dsl::detail::fingerprint_of(by.engine());
    std::string said;
    try {
      dsl::restore(by, bytes, "some.file");
    } catch (dsl::file_error const& e) {
      said = e.what();
    }
    INFO(said);
    CHECK(said.starts_with("checkpoint: some.file "));
    CHECK(said.find(words) != std::string::npos);
    CHECK(dsl::detail::fingerprint_of(by.engine()) == before);
    CHECK(by.steps() == 0);
    CHECK(by.learning_rate() == 0.05);
  };
  dsl::trainer fresh = made();
  for (std::size_t size = 0; size < good.size(); size += size < 200 ? 1 : 97)
    refused(fresh, good.substr(0, size), size < 20 ? "must begin as typenet's checkpoints do" : "must have");
  refused(fresh, good + "x", "must have");
  for (std::size_t at = 20; at < good.size(); at += 61) {
    std::string bad = good;
    bad[at] = static_cast<char>(bad[at] ^ 4);
    refused(fresh, bad, at >= 64 && at < 80 ? "must have" : "");
  }
  std::string negative = good;
  std::memset(negative.data() + 64, 0xff, 8);  // -1 epochs
  refused(fresh, negative, "truncated or damaged");
  for (std::int64_t const towers : {std::int64_t{0}, std::int64_t{-1}, std::int64_t{1} << 31}) {
    std::string bad = good;
    std::memcpy(bad.data() + 80, &towers, sizeof towers);
    refused(fresh, bad, "truncated or damaged");
  }
  refused(fresh, std::string("\2\0\0\0\0\0\0\0{}", 10),
          "checkpoints do; this one looks like safetensors: load_safetensors");
  refused(fresh, "\x89HDF\r\n\x1a\n and more", "checkpoints do; this one is HDF5: load_keras_h5");
  refused(fresh, "some other thing", "checkpoints do; give another file");

  dsl::trainer other = made<same_sizes>(), slotless = made(0.0F), slower = made(0.8F), seeded = made(0.9F, 2);
  refused(other, good, "from another network: it has ");
  refused(slotless, good,
          "is from a run whose optimizer keeps 1 number per weight, but that of this run keeps 0; use the optimizer of "
          "that run");
  refused(slower, good,
          "that differs in its optimizer, its loss, a batch_norm setting, its frozen parts, a factor of scaled<...>, "
          "or its outputs");
  refused(seeded, good, "has the seed 1, but this run has 2; use the same seed");
  dsl::restore(fresh, good, "good");  // none of this was the trainer's fault

  CHECK(dsl::test::warnings([&] { dsl::restore(fresh, good, "good"); }).empty());
  dsl::trainer wider = made(0.9F, 1, 2);
  auto const warned = dsl::test::warnings([&] { dsl::restore(wider, good, "good"); });
  REQUIRE(warned.size() == 1);
  CHECK(warned[0].starts_with("checkpoint: good is from a run with 1 tower, but this one has 2"));
}

TEST_CASE("checkpoint: files that can't be read or written", "[checkpoint]") {
  dsl::test::temporary_directory const here;
  CHECK_THROWS_AS(dsl::read_checkpoint(here / "none"), dsl::file_error);
  CHECK_THROWS_AS(dsl::read_checkpoint(here.path.string()), dsl::file_error);
  dsl::trainer t = made();
  CHECK_THROWS_AS(dsl::write_checkpoint(dsl::checkpoint(t, {}), here / "no/such/folder"), dsl::file_error);
  std::ofstream(here / "empty").close();
  CHECK(dsl::read_checkpoint(here / "empty").empty());
}

namespace {

/// Limits the size of files while it exists, as a full disk would.
struct small_files {
  rlimit before{};
  void (*handler)(int) = ::signal(SIGXFSZ, SIG_IGN);
  explicit small_files(rlim_t bytes) {
    ::getrlimit(RLIMIT_FSIZE, &before);
    rlimit const less{bytes, before.rlim_max};
    ::setrlimit(RLIMIT_FSIZE, &less);
  }
  small_files(small_files const&) = delete;
  small_files& operator=(small_files const&) = delete;
  ~small_files() {
    ::setrlimit(RLIMIT_FSIZE, &before);
    ::signal(SIGXFSZ, handler);
  }
};

/// Does something after an epoch, before the callbacks that follow.
struct behind : dsl::callback {
  int epoch;
  std::function<void()> what;
  behind(int e, std::function<void()> f) : epoch(e), what(std::move(f)) {}
  void on_epoch_end(dsl::fit_run& run) override {
    if (run.epoch == epoch) what();
  }
};

}  // namespace

TEST_CASE("checkpoint: where it can't be written any more a training warns once and goes on", "[checkpoint]") {
  dsl::test::temporary_directory const here;
  dsl::trainer undisturbed = made();
  fit(undisturbed, 4);
  auto const result = dsl::detail::fingerprint_of(undisturbed.engine());

  SECTION("the disk is full, and has room again") {
    std::string const path = here / "state";
    dsl::test::warnings_kept const heard;
    std::unique_ptr<small_files> full;
    dsl::trainer t = made();
    fit(t, 4, 0,
        {behind{1, [&] { full = std::make_unique<small_files>(100); }}, behind{3, [&] { full.reset(); }},
         dsl::checkpoint_each_epoch{path},
         behind{2, [&] {
                  dsl::trainer u = made();  // the last state that could be written is complete
                  CHECK(dsl::restore(u, dsl::read_checkpoint(path), path).epochs.size() == 1);
                  CHECK(std::distance(std::filesystem::directory_iterator(here.path), {}) == 1);
                }}});
    REQUIRE(heard.said.size() == 1);
    CHECK(heard.said[0].starts_with("checkpoint: cannot write " + path + ": File too large"));
    CHECK(heard.said[0].find("the training continues") != std::string::npos);
    CHECK(dsl::detail::fingerprint_of(t.engine()) == result);
    dsl::trainer u = made();
    CHECK(dsl::restore(u, dsl::read_checkpoint(path), path).epochs.size() == 4);
  }
  SECTION("the folder is gone") {
    std::string const path = here / "sub/state";
    std::filesystem::create_directory(here.path / "sub");
    dsl::test::warnings_kept const heard;
    dsl::trainer t = made();
    fit(t, 4, 0,
        {behind{1, [&] { std::filesystem::remove_all(here.path / "sub"); }}, dsl::checkpoint_each_epoch{path}});
    REQUIRE(heard.said.size() == 1);
    CHECK(heard.said[0].starts_with("checkpoint: cannot write " + path));
    CHECK(heard.said[0].find("No such file or directory") != std::string::npos);
    CHECK(dsl::detail::fingerprint_of(t.engine()) == result);
  }
  SECTION("it never could be: known before the first step") {
    dsl::trainer t = made();
    CHECK_THROWS_AS(fit(t, 4, 0, {dsl::checkpoint_each_epoch{here / "no/state"}}), dsl::file_error);
    CHECK(t.steps() == 0);
  }
}

TEST_CASE("checkpoint: what killed processes left beside it is removed, and nothing else", "[checkpoint]") {
  dsl::test::temporary_directory const here;
  std::string const path = here / "state";
  // No process has the number 9999999: Linux assigns none above 4194304.
  std::string const alive = std::to_string(::getppid());
  std::vector<std::string> const others{
      "state", "state.tmp", "state.9999999-0.tmp", "state.9999999-0.typenet.tmp.old", "state.a1-0.typenet.tmp",
      "state.9999999-.typenet.tmp", "state.-1.typenet.tmp", "state.10.typenet.tmp", "state2.9999999-0.typenet.tmp",
      "state.x.9999999-0.typenet.tmp", "9999999-0.typenet.tmp", "state.09999999-0.typenet.tmp",
      "state.9999999-00.typenet.tmp", "state.9999999-100.typenet.tmp", "state.+9999999-0.typenet.tmp",
      "state.99999999999-0.typenet.tmp", "state.0-0.typenet.tmp", "state.-9999999-0.typenet.tmp",
      // of a living process, but without a lock, as on a file system that has no locks
      "state." + alive + "-0.typenet.tmp"};
  for (std::string const& name : others) std::ofstream(here / name) << name;
  std::filesystem::create_directory(here / "state.9999999-7.typenet.tmp");
  std::filesystem::create_symlink(here / "state.tmp", here / "state.9999999-8.typenet.tmp");
  std::vector<std::string> const left{"state.9999999-0.typenet.tmp", "state.9999998-99.typenet.tmp",
                                      // of another container
                                      "state." + std::to_string(::getpid()) + "-0.typenet.tmp"};
  for (std::string const& stale : left) std::ofstream(here / stale) << "half";
  // locked, for example by a process in another container
  std::string const used = here / "state.9999997-0.typenet.tmp";
  int const writer = ::open(used.c_str(), O_RDWR | O_CREAT, 0600);
  REQUIRE(::flock(writer, LOCK_EX) == 0);

  dsl::write_checkpoint("new", path);
  CHECK(dsl::read_checkpoint(path) == "new");
  for (std::string const& stale : left) CHECK_FALSE(std::filesystem::exists(here / stale));
  for (std::string const& name : others) CHECK(std::filesystem::exists(here / name));
  CHECK(std::filesystem::is_directory(here / "state.9999999-7.typenet.tmp"));
  CHECK(std::filesystem::is_symlink(here / "state.9999999-8.typenet.tmp"));
  CHECK(std::filesystem::exists(used));
  ::close(writer);

  {
    dsl::atomic_file first(path, "test"), second(path, "test");  // neither considers the other's file stale
    first.write("first");
    second.write("second");
    first.commit();
    CHECK(dsl::read_checkpoint(path) == "first");
    second.commit();
    CHECK(dsl::read_checkpoint(path) == "second");
  }
  CHECK_FALSE(std::filesystem::exists(used));
}

TEST_CASE("checkpoint: native's instruction set and algorithms are in it; another warns once", "[checkpoint][native]") {
  using dsl::instructions;
  using network = dsl::network<dsl::image<3, 8, 8>, dsl::conv_module<16, 3>, dsl::conv_module<16, 3>, dsl::flatten,
                               dsl::dense<3>, dsl::softmax>;
  auto const with = [](auto const& executor) {
    return dsl::compile<network>(executor, dsl::sgd{.learning_rate = 0.05, .momentum = 0.9});
  };
  for (instructions set : {instructions::baseline, instructions::avx2, instructions::avx512}) {
    if (!dsl::host::has(set)) continue;
    dsl::native const on{.threads = 2, .instructions = set};
    dsl::trainer whole = with(on), begun = with(on), resumed = with(dsl::native{.threads = 3, .instructions = set});
    fit(whole, 2);
    std::string const state = dsl::checkpoint(begun, fit(begun, 1));
    auto const resume = [&](dsl::trainer& t) { return dsl::test::warnings([&] { dsl::restore(t, state, "state"); }); };
    CHECK(resume(resumed).empty());
    fit(resumed, 2, 1);
    CHECK(dsl::detail::fingerprint_of(resumed.engine()) == dsl::detail::fingerprint_of(whole.engine()));

    std::string const own = begun.engine().arithmetic();
    auto const warns = [&](dsl::trainer t) {
      std::vector<std::string> const said = resume(t);
      REQUIRE(said.size() == 1);
      CHECK(said[0] == "checkpoint: state was computed with " + own + ", but this run computes with " +
                           t.engine().arithmetic() + "; the run continues, but its results will not be bit-identical");
    };
    warns(with(dsl::reference{}));
    warns(with(dsl::native{.instructions = set, .winograd = false}));
    if (set != instructions::baseline) warns(with(dsl::native{.instructions = instructions::baseline}));
  }
}
