// SPDX-License-Identifier: MIT
// Tests TensorBoard's event files: byte by byte, over restarts, and on a full disk. tests/interchange reads them with
// TensorBoard.
#include "support/catch.hpp"
#include "support/event_files.hpp"
#include "support/temporary_directory.hpp"
#include "support/toy_training.hpp"
#include "support/warnings.hpp"

#include <dsl/io/backup_and_restore.hpp>
#include <dsl/io/tensorboard.hpp>

#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <signal.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

using namespace dsl;
using test::point;
using test::toy;

namespace {
bool no_cutting = false;
}
/// Calls the C library's ftruncate unless the test simulates a disk on which nothing can be truncated.
extern "C" int ftruncate(int file, off_t size) noexcept {
  if (no_cutting) return errno = EIO, -1;
  return static_cast<int>(::syscall(SYS_ftruncate, file, size));
}

namespace {

namespace fs = std::filesystem;

std::vector<point> train_points(history const& h) {
  std::vector<point> all;
  for (epoch_record const& e : h.epochs)
    for (auto const& [tag, value] : {std::pair("epoch_loss", e.train.loss), std::pair("epoch_accuracy", e.train.acc),
                                     std::pair("epoch_learning_rate", e.learning_rate)})
      all.push_back({tag, e.epoch, static_cast<float>(value)});
  return all;
}
std::vector<point> validation_points(history const& h) {
  std::vector<point> all;
  for (epoch_record const& e : h.epochs) {
    all.push_back({"epoch_loss", e.epoch, static_cast<float>(e.validation.loss)});
    all.push_back({"epoch_accuracy", e.epoch, static_cast<float>(e.validation.acc)});
  }
  return all;
}
/// Returns the points of the batches that tensorboard{..., {.update_freq = 1}} must write.
struct batches : callback {
  std::vector<point>* all;
  explicit batches(std::vector<point>* to) : all(to) {}
  void on_batch_end(fit_run& run) override {
    all->push_back({"batch_loss", run.epoch * 6 + run.step + 1, static_cast<float>(run.current.train.loss)});
    all->push_back({"batch_accuracy", run.epoch * 6 + run.step + 1, static_cast<float>(run.current.train.acc)});
  }
};
std::vector<point> of(std::string const& begin, std::vector<point> all) {
  std::erase_if(all, [&](point const& p) { return !p.tag.starts_with(begin); });
  return all;
}

struct killed {};
struct killer : callback {
  int epoch;
  std::int64_t step;  // -1: after the epoch
  killer(int e, std::int64_t s) : epoch(e), step(s) {}
  void on_batch_end(fit_run& run) override {
    if (run.epoch == epoch && run.step == step) throw killed{};
  }
  void on_epoch_end(fit_run& run) override {
    if (run.epoch == epoch && step < 0) throw killed{};
  }
};

}  // namespace

TEST_CASE("tensorboard: CRCs and frames are those of the formats", "[tensorboard]") {
  // RFC 3720, B.4
  std::string ascending;
  for (int i = 0; i < 32; ++i) ascending += static_cast<char>(i);
  std::string const descending(ascending.rbegin(), ascending.rend());
  for (auto const& [bytes, crc] :
       {std::pair(std::string(32, '\0'), 0x8a9136aaU), std::pair(std::string(32, '\xff'), 0x62a8ab43U),
        std::pair(ascending, 0x46dd794eU), std::pair(descending, 0x113fdb5cU), std::pair(std::string(), 0U)}) {
    CHECK(detail::crc32c(bytes) == crc);
    CHECK(test::textbook_crc32c(bytes) == crc);
  }
  // as every event file of TensorFlow begins
  std::string const first = detail::first_records(1.5);
  CHECK(first.substr(0, 12) == std::string("\x18\0\0\0\0\0\0\0\xa3\x7f\x4b\x22", 12));
  CHECK(first.substr(12, 9) == std::string("\x09\0\0\0\0\0\0\xf8\x3f", 9));
  CHECK(first.substr(21, 15) ==
        "\x1a\x0d"
        "brain.Event:2");
  auto const begin = test::strict_event_reader(first).all();
  REQUIRE(begin.size() == 2);
  CHECK(begin[0].version == "brain.Event:2");
  CHECK(begin[1].starts_session);
  CHECK(begin[1].step == 0);
  CHECK(begin[1].wall_time == 1.5);

  std::string const record = detail::scalars_record(2, 300, {{"epoch_loss", 0.5}, {"x", -1}});
  CHECK(record.substr(12, record.size() - 16) ==
        std::string("\x09\0\0\0\0\0\0\0\x40\x10\xac\x02\x2a\x1d\x0a\x11\x0a\x0a"
                    "epoch_loss\x15\0\0\0\x3f"
                    "\x0a\x08\x0a\x01x\x15\0\0\x80\xbf",
                    43));
}

TEST_CASE("tensorboard: what goes on is what was before, up to the first record that is not whole", "[tensorboard]") {
  std::string const one = detail::scalars_record(1, 5, {{"epoch_loss", 1}});
  std::string const two = detail::scalars_record(2, 200, {{"batch_loss", 1}, {"batch_accuracy", 0}});
  std::string const all = one + two;
  auto const records = [](std::string const& bytes) {
    int count = 0;
    for (detail::event_reader r(bytes); !r.next().empty();) ++count;
    return count;
  };
  for (std::size_t size = 0; size < all.size(); ++size)
    CHECK(records(all.substr(0, size)) == (size >= one.size() ? 1 : 0));
  CHECK(records(all) == 2);
  for (std::size_t bit = 0; bit < 8 * all.size(); ++bit) {
    std::string bad = all;
    bad[bit / 8] = static_cast<char>(bad[bit / 8] ^ (1 << bit % 8));
    CHECK(records(bad) == (bit / 8 >= one.size() ? 1 : 0));
  }
  CHECK(records(std::string("\xff\xff\xff\xff\xff\xff\xff\xff", 8) + all) == 0);

  using reader = detail::event_reader;
  CHECK(reader::is_before(one, {6, 0}));
  CHECK_FALSE(reader::is_before(one, {5, 1000}));
  CHECK(reader::is_before(two, {0, 200}));
  CHECK_FALSE(reader::is_before(two, {1000, 199}));
  CHECK_FALSE(reader::is_before(detail::framed(""), {9, 9}));
  CHECK_FALSE(reader::is_before(detail::framed(detail::event_at(1)), {9, 9}));
  CHECK_FALSE(reader::is_before(detail::scalars_record(1, 0, {}), {9, 9}));
  CHECK_FALSE(reader::is_before(detail::scalars_record(1, 0, {{"loss", 1}}), {9, 9}));
  std::string const start = detail::first_records(1);
  reader begin(start);
  CHECK_FALSE(reader::is_before(begin.next(), {9, 9}));
  CHECK_FALSE(reader::is_before(begin.next(), {9, 9}));
  for (std::size_t size = 16; size < one.size(); ++size) reader::is_before(one.substr(0, size), {9, 9});
}

TEST_CASE("tensorboard: curves of training and validation, an epoch a point", "[tensorboard]") {
  test::temporary_directory const here;
  trainer t = toy::compiled();
  history const h = toy::fit(t, 3, {tensorboard(here / "a/logs")});
  for (char const* folder : {"a/logs/train", "a/logs/validation"}) {
    auto const files = test::event_files_in(here / folder);
    REQUIRE(files.size() == 1);
    std::string const name = fs::path(files[0]).filename().string();
    CHECK(name.starts_with("events.out.tfevents.1"));
    CHECK(name.find_first_not_of("0123456789", 20) == 30);
    CHECK(name.ends_with(".typenet"));
    std::string const run = name.substr(name.size() - 24, 16);
    CHECK(run.find_first_not_of("0123456789abcdef") == run.npos);
    CHECK(name.substr(0, name.size() - 24).ends_with("." + std::to_string(::getpid()) + "."));
    auto const events = test::events_of(files[0]);
    REQUIRE(events.size() == 2 + 3);
    CHECK(events[0].version == "brain.Event:2");
    CHECK(events[1].starts_session);
    for (std::size_t i = 1; i < events.size(); ++i) CHECK(events[i].wall_time >= events[i - 1].wall_time);
    CHECK(events[0].wall_time > 1.7e9);
  }
  CHECK(test::shown(here / "a/logs/train") == train_points(h));
  CHECK(test::shown(here / "a/logs/validation") == validation_points(h));

  trainer u = toy::compiled();
  history const g = toy::fit(u, 2, {tensorboard(here / "b")}, false);
  CHECK(test::shown(here / "b/train") == train_points(g));
  CHECK_FALSE(fs::exists(here / "b/validation"));
}

TEST_CASE("tensorboard: every so many batches", "[tensorboard]") {
  test::temporary_directory const here;
  std::vector<point> all;
  trainer t = toy::compiled();
  history const h = toy::fit(
      t, 2,
      {tensorboard(here / "each", {.update_freq = 1}), tensorboard(here / "some", {.update_freq = 4}), batches(&all)});
  CHECK(of("batch_", test::shown(here / "each/train")) == all);
  CHECK(of("epoch_", test::shown(here / "each/train")) == train_points(h));
  std::erase_if(all, [](point const& p) { return p.step % 4 != 0; });
  CHECK(all.size() == 2 * 3);
  CHECK(of("batch_", test::shown(here / "some/train")) == all);
  CHECK(of("batch_", test::shown(here / "some/validation")).empty());
}

TEST_CASE("tensorboard: killed anywhere, the curves of a run that goes on are those of one that was not",
          "[tensorboard][resume]") {
  for (save_freq freq : {every_epochs(1), every_batches(4)}) {
    auto const run = [&](test::temporary_directory const& here, std::vector<callback_handle> more) {
      trainer t = toy::compiled();
      more.insert(more.begin(), {tensorboard(here / "logs", {.update_freq = 1}),
                                 backup_and_restore(here / "state", {.save_freq = freq})});
      toy::fit(t, 3, more);
    };
    test::temporary_directory const whole;
    run(whole, {});
    auto const train = test::shown(whole / "logs/train"), validation = test::shown(whole / "logs/validation");
    REQUIRE(train.size() == 3 * (6 * 2 + 3));
    REQUIRE(validation.size() == 3 * 2);
    for (int epoch = 0; epoch < 3; ++epoch)
      for (std::int64_t step = -1; step < 6; ++step) {
        INFO("epochs " << freq.epochs << ", killed in " << epoch << "." << step);
        test::temporary_directory const here;
        CHECK_THROWS_AS(run(here, {killer(epoch, step)}), killed);
        CHECK_THROWS_AS(run(here, {killer(2, -1)}), killed);
        run(here, {});
        CHECK(test::shown(here / "logs/train") == train);
        CHECK(test::shown(here / "logs/validation") == validation);
        CHECK(test::event_files_in(here / "logs/train").size() == 3);
      }
  }
}

TEST_CASE("tensorboard: a run that goes on empties the file before; one from the beginning hides others",
          "[tensorboard]") {
  test::temporary_directory const here;
  trainer t = toy::compiled();
  auto const both_have = std::make_shared<tensorboard>(here / "logs");
  history const first = toy::fit(t, 2, {both_have});
  std::string const old = test::event_files_in(here / "logs/train")[0];
  dataset const pictures = toy::pictures();
  history const second = t.fit(pictures, {.epochs = 4, .batch_size = 8, .callbacks = {both_have}, .initial_epoch = 1});
  auto files = test::event_files_in(here / "logs/train");
  REQUIRE(files.size() == 2);
  CHECK(files[0] == old);
  CHECK(test::events_of(old).size() == 2);  // only its beginning: no point is in two files
  history both{{first.epochs[0]}};
  both.epochs.insert(both.epochs.end(), second.epochs.begin(), second.epochs.end());
  CHECK(test::shown(here / "logs/train") == train_points(both));

  auto const kept = std::make_shared<tensorboard>(here / "logs");
  history const third = toy::fit(t, 1, {kept});
  CHECK(test::shown(here / "logs/train") == train_points(third));
  history const fourth = toy::fit(t, 2, {kept});  // the same callback again
  CHECK(test::shown(here / "logs/train") == train_points(fourth));
  CHECK(test::event_files_in(here / "logs/train").size() == 4);
  CHECK(test::events_of(files[1]).size() == 2 + 4);

  // a callback without a state takes over no file, and changes none
  files = test::event_files_in(here / "logs/train");
  std::size_t const size = test::events_of(files.back()).size();
  history const fifth =
      t.fit(pictures, {.epochs = 2, .batch_size = 8, .callbacks = {tensorboard(here / "logs")}, .initial_epoch = 1});
  CHECK(test::shown(here / "logs/train") == train_points(fifth));
  CHECK(test::events_of(files.back()).size() == size);
}

TEST_CASE("tensorboard: a run that goes on leaves another run's file alone", "[tensorboard][resume]") {
  test::temporary_directory const here;
  auto const run = [&](char const* state, int epochs, std::vector<callback_handle> more = {}) {
    trainer t = toy::compiled();
    more.insert(more.begin(), {tensorboard(here / "logs"), backup_and_restore(here / state)});
    return toy::fit(t, epochs, more);
  };
  CHECK_THROWS_AS(run("a", 4, {killer(2, -1)}), killed);
  history const other = run("b", 3);  // from the beginning, in the same folder
  auto const files = test::event_files_in(here / "logs/train");
  REQUIRE(files.size() == 2);
  CHECK(test::shown(here / "logs/train") == train_points(other));
  history const h = run("a", 4);
  CHECK(test::shown(here / "logs/train") == train_points(h));
  CHECK(test::shown(here / "logs/validation") == validation_points(h));
  CHECK(test::events_of(files[0]).size() == 2);      // taken over
  CHECK(test::events_of(files[1]).size() == 2 + 3);  // unchanged
}

TEST_CASE("tensorboard: a link that is named as the run's file is not cut", "[tensorboard][hostile]") {
  test::temporary_directory const here;
  std::string const points(5000, 'x');
  std::ofstream(here / "precious") << points;
  std::filesystem::create_directory(here.path / "logs");
  std::filesystem::create_symlink(here.path / "precious",
                                  here.path / "logs/events.out.tfevents.1700000000.host.1.0000000000000007.typenet");
  detail::event_file const next(here / "logs", 7, {1, 6});
  CHECK(std::filesystem::file_size(here.path / "precious") == points.size());
}

TEST_CASE("tensorboard: a file that a process still writes to is not cut", "[tensorboard]") {
  test::temporary_directory const here;
  std::string const point = detail::scalars_record(1, 0, {{"epoch_loss", 1}});
  std::string const folder = here.path.string();
  auto first = std::make_unique<detail::event_file>(folder, 7, detail::event_place{});
  first->append(point);
  detail::event_file second(folder, 7, {1, 6});
  second.append(point);
  auto const files = test::event_files_in(here.path);
  REQUIRE(files.size() == 2);
  CHECK(test::events_of(files[0]).size() == 2 + 1);
  CHECK(test::events_of(files[1]).size() == 2 + 2);
  first.reset();
  detail::event_file const third(folder, 7, {2, 12});  // that of the second, which is in use
  detail::event_file const other(folder, 8, {2, 12});
  CHECK(test::events_of(files[1]).size() == 2 + 2);
  CHECK(test::events_of(test::event_files_in(here.path)[2]).size() == 2 + 2);
  CHECK(test::events_of(test::event_files_in(here.path)[3]).size() == 2);
}

TEST_CASE("tensorboard: runs that begin in one folder at once have a file each", "[tensorboard]") {
  test::temporary_directory const here;
  std::ofstream(here / detail::event_file::begun) << "another process's, which gives it its name in a moment";
  std::vector<pid_t> children;
  for (unsigned c = 1; c <= 4; ++c) {
    children.push_back(::fork());
    if (children.back() != 0) continue;
    try {
      for (int i = 0; i < 10; ++i) {
        detail::event_file f(here.path.string(), c, {});
        f.append(detail::scalars_record(1, static_cast<int>(c), {{"epoch_loss", 1}}));
      }
      ::_exit(0);
    } catch (error const&) {
      ::_exit(1);
    }
  }
  for (pid_t const child : children) {
    int status = 0;
    ::waitpid(child, &status, 0);
    CHECK(status == 0);
  }
  CHECK(fs::exists(here / detail::event_file::begun));
  fs::remove(here / detail::event_file::begun);
  std::vector<int> of(5);
  for (std::string const& file : test::event_files_in(here.path)) {
    auto const events = test::events_of(file);
    REQUIRE(events.size() == 2 + 1);
    auto const run = static_cast<std::size_t>(events[2].step);
    CHECK(file.ends_with(".000000000000000" + std::to_string(run) + ".typenet"));
    ++of[run];
  }
  CHECK(of == std::vector<int>{0, 10, 10, 10, 10});
}

TEST_CASE("tensorboard: a file's name is after all that are there, whatever the clock says", "[tensorboard]") {
  test::temporary_directory const here;
  fs::create_directories(here.path / "train");
  std::ofstream(here / "train/events.out.tfevents.9999999990.host.1.0.v2") << "another program's";
  for (char const* no_time : {"99999999999999999999999999", "9999999999", "-1", "x"})
    std::ofstream(here / (std::string("train/events.out.tfevents.") + no_time)) << "another program's";
  trainer t = toy::compiled();
  auto const kept = std::make_shared<tensorboard>(here.path.string());
  toy::fit(t, 1, {kept}, false);
  std::string mine;
  for (std::string const& file : test::event_files_in(here.path / "train"))
    if (file.ends_with(".typenet")) mine = file;
  CHECK(fs::path(mine).filename().string().starts_with("events.out.tfevents.9999999991."));
  // truncated by a power failure
  std::ofstream(mine, std::ios::app | std::ios::binary) << std::string("\x18\0\0\0\0\0", 6);
  dataset const pictures = toy::pictures();
  t.fit(pictures, {.epochs = 2, .batch_size = 8, .callbacks = {kept}, .initial_epoch = 1});
  CHECK(test::events_of(mine).size() == 2);
  for (std::string const& file : test::event_files_in(here.path / "train"))
    if (file.ends_with(".typenet") && file != mine) CHECK(test::events_of(file).size() == 2 + 2);
  CHECK(fs::exists(here / "train/events.out.tfevents.9999999990.host.1.0.v2"));
}

TEST_CASE("tensorboard: a process that is killed leaves every point", "[tensorboard]") {
  test::temporary_directory const here;
  pid_t const child = ::fork();
  if (child == 0) {
    struct end : callback {
      void on_batch_end(fit_run& run) override {
        if (run.epoch == 1 && run.step == 3) ::kill(::getpid(), SIGKILL);
      }
    };
    trainer t = toy::compiled();
    toy::fit(t, 3, {tensorboard(here.path.string(), {.update_freq = 1}), end{}});
    ::_exit(0);
  }
  int status = 0;
  ::waitpid(child, &status, 0);
  REQUIRE(WIFSIGNALED(status));
  auto const points = test::shown(here.path / "train");
  CHECK(of("batch_loss", points).size() == 6 + 4);
  CHECK(of("epoch_", points).size() == 3);
  CHECK(test::shown(here.path / "validation").size() == 2);
}

TEST_CASE("tensorboard: on a full disk it warns once, leaves whole records, and writes the rest later",
          "[tensorboard]") {
  test::temporary_directory const here;
  struct limit_kept {
    rlimit before{};
    limit_kept() { ::getrlimit(RLIMIT_FSIZE, &before); }
    limit_kept(limit_kept const&) = delete;
    limit_kept& operator=(limit_kept const&) = delete;
    ~limit_kept() { ::setrlimit(RLIMIT_FSIZE, &before); }
  } const limit;
  struct full_disk : callback {  // files can grow in epochs 1 and 2 only by half a record
    std::string folder;
    rlimit before;
    full_disk(std::string f, rlimit const& b) : folder(std::move(f)), before(b) {}
    void on_epoch_begin(fit_run& run) override {
      rlimit now = before;
      if (run.epoch == 1) now.rlim_cur = fs::file_size(test::event_files_in(folder)[0]) + 30;
      if (run.epoch == 3) CHECK(test::shown(folder).size() == 3);  // without the half record
      if (run.epoch == 1 || run.epoch == 3) ::setrlimit(RLIMIT_FSIZE, &now);
    }
  };
  auto const signal_before = ::signal(SIGXFSZ, SIG_IGN);
  trainer t = toy::compiled();
  history h;
  {
    test::warnings_kept const warned;
    h = toy::fit(t, 4, {tensorboard(here.path.string()), full_disk(here / "train", limit.before)}, false);
  }
  ::signal(SIGXFSZ, signal_before);
  REQUIRE(test::warnings_kept::said.size() == 1);
  CHECK(test::warnings_kept::said[0].starts_with("tensorboard: cannot write " + here.path.string() +
                                                 "/train/events.out.tfevents."));
  CHECK(test::warnings_kept::said[0].ends_with("; the training continues and will try again"));
  CHECK(test::shown(here.path / "train") == train_points(h));
}

TEST_CASE("tensorboard: where somebody cuts the file, the whole records and the later ones are shown",
          "[tensorboard]") {
  for (off_t const left : {0, 40, -5}) {
    INFO(left);
    test::temporary_directory const here;
    struct cuts : callback {
      std::string folder;
      off_t left;
      cuts(std::string f, off_t l) : folder(std::move(f)), left(l) {}
      void on_epoch_begin(fit_run& run) override {
        if (run.epoch != 2) return;
        fs::path const file = test::event_files_in(folder)[0];
        fs::resize_file(file, left >= 0 ? static_cast<std::uintmax_t>(left)
                                        : fs::file_size(file) - static_cast<std::uintmax_t>(-left));
      }
    };
    trainer t = toy::compiled();
    history h;
    std::vector<std::string> const said = test::warnings(
        [&] { h = toy::fit(t, 4, {tensorboard(here.path.string()), cuts{here / "train", left}}, false); });
    CHECK(said.empty());
    auto wanted = train_points(h);
    auto const each = static_cast<std::ptrdiff_t>(wanted.size() / 4);
    wanted.erase(wanted.begin() + (left < 0 ? each : 0), wanted.begin() + 2 * each);
    CHECK(test::shown(here.path / "train") == wanted);
  }
}

TEST_CASE("tensorboard: after half a record that could not be removed nothing is written", "[tensorboard]") {
  test::temporary_directory const here;
  struct limit_kept {
    rlimit before{};
    limit_kept() { ::getrlimit(RLIMIT_FSIZE, &before); }
    limit_kept(limit_kept const&) = delete;
    limit_kept& operator=(limit_kept const&) = delete;
    ~limit_kept() { ::setrlimit(RLIMIT_FSIZE, &before); }
  } const limit;
  auto const signal_before = ::signal(SIGXFSZ, SIG_IGN);
  std::string const one = detail::scalars_record(1, 0, {{"epoch_loss", 1}});
  detail::event_file file(here.path.string(), 1, {});
  std::string const path = test::event_files_in(here.path)[0];
  rlimit now = limit.before;
  now.rlim_cur = fs::file_size(path) + 30;
  ::setrlimit(RLIMIT_FSIZE, &now);
  no_cutting = true;
  CHECK_THROWS_AS(file.append(one), file_error);
  CHECK(fs::file_size(path) == now.rlim_cur);
  ::setrlimit(RLIMIT_FSIZE, &limit.before);
  CHECK_THROWS_AS(file.append(one), file_error);
  CHECK(fs::file_size(path) == now.rlim_cur);
  no_cutting = false;
  file.append(one);
  file.append(one);
  CHECK(test::events_of(path).size() == 2 + 2);
  ::signal(SIGXFSZ, signal_before);
}

TEST_CASE("tensorboard: what can't be is known before the first step; other processes write nothing", "[tensorboard]") {
  test::temporary_directory const here;
  std::ofstream(here / "file").close();
  trainer t = toy::compiled();
  for (std::string const& bad : {here / "file", here / "file/deeper", std::string("/proc/nothing")})
    CHECK_THROWS_AS(toy::fit(t, 1, {tensorboard(bad)}), file_error);
  CHECK(t.steps() == 0);
  CHECK_THROWS_AS(tensorboard("logs", {.update_freq = -1}), option_error);

  tensorboard c(here / "logs", {.update_freq = 1});
  fit_run other{.trainer = t, .epochs = 1, .steps = 6, .batch_size = 8, .validates = true, .leads = false};
  c.on_train_begin(other);
  c.on_epoch_begin(other);
  c.on_batch_end(other);
  other.current.validated = true;
  c.on_epoch_end(other);
  c.on_train_end(other);
  CHECK_FALSE(fs::exists(here / "logs"));
}
