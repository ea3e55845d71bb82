// SPDX-License-Identifier: MIT
// A training that goes on from a checkpoint ends as one that was never interrupted; what is no whole checkpoint of it
// changes nothing.
#include "support/catch.hpp"
#include "support/temporary_directory.hpp"
#include "support/warnings.hpp"

#include <dsl/dsl.hpp>
#include <dsl/io/checkpoint.hpp>
#include <dsl/towers.hpp>

#include <cstring>
#include <filesystem>
#include <fstream>
#include <functional>
#include <memory>
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

/// Halves the rate behind every epoch, so that it is part of the state.
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
    CHECK(dsl::checkpoint(begun, first) == dsl::checkpoint(resumed, past));  // made by hand
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
  std::filesystem::resize_file(path, std::uintmax_t{1} << 40);  // all of it but the first page is a hole
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
    refused(fresh, good.substr(0, size), size < 24 ? "must begin as typenet's checkpoints do" : "must have");
  refused(fresh, good + "x", "must have");
  for (std::size_t at = 24; at < good.size(); at += 61) {
    std::string bad = good;
    bad[at] = static_cast<char>(bad[at] ^ 4);
    refused(fresh, bad, at >= 64 && at < 80 ? "must have" : "");
  }
  std::string negative = good;
  std::memset(negative.data() + 64, 0xff, 8);  // -1 epochs
  refused(fresh, negative, "cut short or damaged");
  refused(fresh, std::string("\2\0\0\0\0\0\0\0{}", 10),
          "checkpoints do; this one looks like safetensors: load_safetensors");
  refused(fresh, "\x89HDF\r\n\x1a\n and more", "checkpoints do; this one is HDF5: load_keras_h5");
  refused(fresh, "some other thing", "checkpoints do; give another file");

  dsl::trainer other = made<same_sizes>(), slotless = made(0.0F), slower = made(0.8F), seeded = made(0.9F, 2);
  refused(other, good, "another network's");
  refused(slotless, good, "of another optimizer, loss or batch_norm");
  refused(slower, good, "of another optimizer, loss or batch_norm");
  refused(seeded, good, "has the seed 1, this training has 2");
  dsl::restore(fresh, good, "good");  // none of that was the trainer's fault

  CHECK(dsl::test::warnings([&] { dsl::restore(fresh, good, "good"); }).empty());
  dsl::trainer wider = made(0.9F, 1, 2);
  auto const warned = dsl::test::warnings([&] { dsl::restore(wider, good, "good"); });
  REQUIRE(warned.size() == 1);
  CHECK(warned[0].starts_with("checkpoint: good is of 1 towers, this training has 2"));
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

/// As a full disk: files may not grow beyond this while it lives.
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

/// Does something behind an epoch, before what comes after it.
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
                  dsl::trainer u = made();  // the last that could be written is whole
                  CHECK(dsl::restore(u, dsl::read_checkpoint(path), path).epochs.size() == 1);
                  CHECK(std::distance(std::filesystem::directory_iterator(here.path), {}) == 1);
                }}});
    REQUIRE(heard.said.size() == 1);
    CHECK(
        heard.said[0].starts_with("checkpoint: " + path + " must be a file that can be written; found File too large"));
    CHECK(heard.said[0].find("training goes on") != std::string::npos);
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
    CHECK(heard.said[0].starts_with("checkpoint: " + path));
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
  char const* const others[] = {"state",        "state.tmp",    "state.1-0.tmp.old", "state.a1-0.tmp",  "state.1-.tmp",
                                "state.-1.tmp", "state.10.tmp", "state2.1-0.tmp",    "state.x.1-0.tmp", "1-0.tmp"};
  for (char const* name : others) std::ofstream(here / name) << name;
  for (char const* stale : {"state.4711-0.tmp", "state.1-99.tmp"}) std::ofstream(here / stale) << "half";
  std::string const used = here / "state.4712-0.tmp";  // by a process that lives
  int const writer = ::open(used.c_str(), O_RDWR | O_CREAT, 0600);
  REQUIRE(::flock(writer, LOCK_EX) == 0);

  dsl::write_checkpoint("new", path);
  CHECK(dsl::read_checkpoint(path) == "new");
  CHECK_FALSE(std::filesystem::exists(here / "state.4711-0.tmp"));
  CHECK_FALSE(std::filesystem::exists(here / "state.1-99.tmp"));
  for (char const* name : others) CHECK(std::filesystem::exists(here / name));
  CHECK(std::filesystem::exists(used));
  ::close(writer);

  {
    dsl::atomic_file first(path, "test"), second(path, "test");  // they don't take each other for stale
    first.write("first");
    second.write("second");
    first.commit();
    CHECK(dsl::read_checkpoint(path) == "first");
    second.commit();
    CHECK(dsl::read_checkpoint(path) == "second");
  }
  CHECK_FALSE(std::filesystem::exists(used));
}
