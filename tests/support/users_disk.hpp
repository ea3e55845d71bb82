// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <cerrno>
#include <compare>
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <sstream>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <dsl/callbacks.hpp>
#include <dsl/dsl.hpp>
#include <dsl/io/backup_and_restore.hpp>
#include <dsl/io/csv_logger.hpp>
#include <dsl/io/history_csv.hpp>
#include <dsl/io/model_checkpoint.hpp>
#include <dsl/io/tensorboard.hpp>
#include <dsl/training/earlier_files.hpp>

#include "support/moments.hpp"
#include "support/random_graph.hpp"
#include "support/temporary_directory.hpp"

// What a user has on disk while he starts, kills and resumes runs, moves files, and starts two runs at once; and the
// promises that typenet must keep meanwhile.

namespace dsl::test::users {

/// How far a run has come.
struct position {
  int epoch = 0;
  int step = 0;
  friend auto operator<=>(position const&, position const&) = default;
};

/// What a user enters.
struct command {
  enum kind : unsigned char { train, go_on, move, remove, copy, swap, swap_all, advised, older, convert } what = train;
  // of train:
  bool example = false;  // minigooglenet_cifar instead of a program of the user's own
  std::string folder{};  // with its slash
  std::string state = "run.state";
  bool restore = true;
  bool removes_last = false;  // removes the state after it has written its results, as the example program does
  bool append = false, curves = false;
  int epochs = 3, save_every = 0;
  int data = 0;
  bool augments = false, validates = true;
  std::vector<moments::planned> disturbed{};
  // of move, copy and remove; older puts a state of an earlier version at `to`
  std::string from{}, to{};

  std::string path(std::string const& name) const { return folder + name; }

  std::string text() const {
    switch (what) {
      case go_on: return "the run that pauses goes on";
      case move: return "mv " + from + " " + to;
      case copy: return "cp " + from + " " + to;
      case remove: return "rm " + from;
      case swap: return "swap the names of " + from + " and " + from + ".before";
      case swap_all: return "swap the names of all files NAME and NAME.before";
      case advised: return "what a message advised to go back to an earlier run";
      case older: return "cp (a state of an older version) " + to;
      case convert: return "onnx_to_typenet onnx/model.onnx";
      case train: break;
    }
    std::string all = (example ? "minigooglenet_cifar for " : "train ") + path(state) +
                      (restore ? "" : " .restore=false") + " .epochs=" + std::to_string(epochs);
    if (save_every > 0) all += " every_batches(" + std::to_string(save_every) + ")";
    if (removes_last) all += " .delete_checkpoint=false";
    if (append) all += " .append";
    if (curves) all += " tensorboard";
    if (data != 0) all += " data " + std::to_string(data);
    if (augments) all += " augmented";
    if (!validates) all += " without validation";
    static constexpr char const* names[] = {"SIGKILL", "SIGINT", "SIGTERM", "pause", "disk full", "disk free"};
    for (auto const& p : disturbed)
      all += std::string(", ") + names[static_cast<int>(p.what)] + " at moment " + std::to_string(p.at);
    return all;
  }
};

using files = std::map<std::string, std::string>;

/// What a process tells the test, in memory that both see.
struct report {
  bool begun = false;     // its first epoch has begun
  bool resumed = false;   // from the state below
  bool ends = false;      // normally: nothing is left to train
  bool complete = false;  // all results are written
  bool interrupted = false, saved = false;
  position at{}, from{};
  int lineage = 0;  // which run it is, or has resumed
};

// ---- the process --------------------------------------------------------------------------------------------------

using network = dsl::network<image<1, 2, 2>, flatten, dense<2>, softmax>;

inline dataset samples(int which) {
  std::vector<float> numbers(static_cast<std::size_t>(which == 2 ? 16 : 12) * 4);
  for (std::size_t i = 0; i < numbers.size(); ++i)
    numbers[i] = static_cast<float>((i * 37 + i / 5 + static_cast<std::size_t>(which) * 91) % 251) / 125 - 1;
  std::vector<std::int32_t> labels(numbers.size() / 4);
  for (std::size_t i = 0; i < labels.size(); ++i)
    labels[i] = static_cast<std::int32_t>((i + static_cast<std::size_t>(which)) % 2);
  return in_memory_classes({1, 2, 2}, std::move(numbers), 2, std::move(labels));
}

/// Writes into every state which run it belongs to and where, and tells the test what happens.
struct marks : callback {
  static constexpr char const* format = "run %04d at %03d.%03d with %1d%1d%1d;";
  static constexpr std::size_t size = 33;

  command const& c;
  report& r;
  std::string text{};
  marks(command const& of, report& to) : c(of), r(to) {}

  void on_epoch_begin(fit_run& run) override {
    r.begun = true;
    r.at = {run.next.epoch, static_cast<int>(run.next.step)};
  }
  void on_train_end(fit_run&) override { r.begun = r.ends = true; }
  void on_batch_end(fit_run&) override { moments::pass(); }
  void on_epoch_end(fit_run&) override { moments::pass(); }
  void on_backup(fit_run& run) override {
    std::string commands;
    for (earlier_files::file const& f : run.earlier->files()) {
      std::printf("%s is kept as %s\n", f.path.c_str(), f.kept_as.c_str());
      commands += (commands.empty() ? "to go back to the earlier run: mv " : " && mv ");
      commands += "--backup=numbered " + f.kept_as + " " + f.path;
    }
    if (!commands.empty()) std::printf("%s\n", commands.c_str());
    std::fflush(stdout);
  }
  void on_saving_point(fit_run& run) override {
    r.at = {run.next.epoch, static_cast<int>(run.next.step)};
    char now[64];
    std::snprintf(now, sizeof now, format, r.lineage, r.at.epoch, r.at.step, c.data, c.augments, c.validates);
    text = now;
  }
  void state(callback_state& s) override {
    s("marks", text);
    if (!s.restores()) return;
    int unused[3];
    if (std::sscanf(text.c_str(), format, &r.lineage, &r.from.epoch, &r.from.step, unused, unused + 1, unused + 2) == 6)
      r.resumed = true;
  }
};

/// What is in a state.
struct marked {
  int lineage = -1;  // -1: it is no state
  position at{};
  int data = 0, augments = 0, validates = 1;
  explicit operator bool() const { return lineage >= 0; }
};
inline marked marks_in(std::string const& bytes) {
  marked m;
  for (std::size_t i = 0; (i = bytes.find("run ", i)) != bytes.npos; ++i)
    if (std::sscanf(bytes.substr(i, marks::size + 8).c_str(), marks::format, &m.lineage, &m.at.epoch, &m.at.step,
                    &m.data, &m.augments, &m.validates) == 6)
      return m;
  return {};
}

/// A program of a user's own.
inline int own_program(command const& c, report& r) {
  try {
    trainer t = compile<network>(reference{}, sgd{.learning_rate = 0.05, .momentum = 0.9}, {.seed = 3});
    file_lock const best(c.path("best"), "best"), log(c.path("log.csv"), "log"), weights(c.path("weights"), "weights");
    std::optional<file_lock> curves;
    if (c.curves) curves.emplace(c.path("curves"), "curves");
    check_writable(c.path("weights"), "weights");
    check_writable(c.path("history.csv"), "history");
    auto const backup = std::make_shared<backup_and_restore>(
        c.path(c.state), backup_options{.save_freq = c.save_every > 0 ? every_batches(c.save_every) : every_epochs(1),
                                        .delete_checkpoint = !c.removes_last,
                                        .restore = c.restore});
    model_checkpoint_options const improved{.save_best_only = true, .save_weights_only = true};
    std::vector<callback_handle> all{marks(c, r), stop_on_signal{}, backup,
                                     csv_logger(c.path("log.csv"), {.append = c.append})};
    if (c.validates) all.emplace_back(model_checkpoint<val_loss>(c.path("best"), improved));
    all.emplace_back(model_checkpoint<>(c.path("each"), {.save_freq = every_epochs(2)}));
    all.emplace_back(model_checkpoint<>(c.path("at{epoch}"), {.save_weights_only = true}));
    if (c.curves) all.emplace_back(tensorboard(c.path("curves")));
    dataset const train = samples(c.data), validation = samples(3);
    try {
      history const h = t.fit(train, {.epochs = c.epochs,
                                      .batch_size = 4,
                                      .validation = c.validates ? &validation : nullptr,
                                      .augment = c.augments ? augmentation(shift_and_flip{}) : augmentation(),
                                      .callbacks = all,
                                      .prefetch = 0});
      save_weights(t, c.path("weights"));
      write_history_csv(h, c.path("history.csv"));
    } catch (interrupted const& e) {
      r.interrupted = true, r.saved = backup->saved();
      std::printf("%s\n", e.what());
      std::fflush(nullptr);
      end_by_signal(e.signal);
    }
    if (c.removes_last) ::unlink(c.path(c.state).c_str());
    r.complete = true;
    return 0;
  } catch (std::exception const& e) {
    std::fflush(stdout);
    std::fprintf(stderr, "error: %s\n", e.what());
    return 1;
  }
}

/// The paths of programs that are not this one; empty: there is none.
struct programs {
  std::string onnx_to_typenet{}, minigooglenet_cifar{}, moments_preloaded{};
  std::string path{};  // $PATH, with a gnuplot that takes no time
};

/// Becomes the example program.
[[noreturn]] inline void start_example(command const& c, programs const& others) {
  std::string const plot = c.path(c.state.substr(0, c.state.rfind('.')));
  std::vector<std::string> words{others.minigooglenet_cifar,
                                 "-o",
                                 plot,
                                 "--synthetic",
                                 "--train-size",
                                 c.data == 0 ? "12" : "16",
                                 "--test-size",
                                 "4",
                                 "--batch-size",
                                 "4",
                                 "--epochs",
                                 std::to_string(c.epochs),
                                 "--csv",
                                 c.path("log.csv"),
                                 "--best",
                                 c.path("best"),
                                 "--weights",
                                 c.path("weights"),
                                 "--save-every",
                                 std::to_string(c.save_every),
                                 "--threads",
                                 "1",
                                 "--augment",
                                 c.augments ? "shift_flip" : "none"};
  if (c.restore) words.emplace_back("--resume");
  if (c.curves) words.insert(words.end(), {"--tensorboard", c.path("curves")});
  std::vector<char*> arguments;
  for (std::string& w : words) arguments.push_back(w.data());
  arguments.push_back(nullptr);
  std::string plan;
  for (moments::planned const& p : c.disturbed)
    plan += std::to_string(p.at) + " " + std::to_string(static_cast<int>(p.what)) + " ";
  ::setenv("TYPENET_MOMENTS", plan.c_str(), 1);
  int const tells = ::fcntl(moments::tells, F_DUPFD, 3), waits = ::fcntl(moments::waits, F_DUPFD, 3);
  ::setenv("TYPENET_PAUSES", (std::to_string(tells) + " " + std::to_string(waits)).c_str(), 1);
  ::setenv("LD_PRELOAD", others.moments_preloaded.c_str(), 1);
  ::setenv("PATH", others.path.c_str(), 1);
  ::unsetenv("TYPENET_DATA");
  ::execv(arguments[0], arguments.data());
  ::_exit(126);
}

/// A process that runs a command, started in the current folder.
class process {
 public:
  process(command c, int lineage, programs const& others) : c_(std::move(c)) {
    report_ = static_cast<report*>(
        ::mmap(nullptr, sizeof(report), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0));
    output_ = ::memfd_create("output", MFD_CLOEXEC);
    int tells[2], waits[2];
    if (report_ == MAP_FAILED || output_ < 0 || ::pipe2(tells, O_CLOEXEC) != 0 || ::pipe2(waits, O_CLOEXEC) != 0)
      throw std::runtime_error("no memory, or too many open files");
    new (report_) report{.lineage = lineage};
    std::fflush(nullptr);
    pid_ = ::fork();
    if (pid_ < 0) throw std::runtime_error("fork failed");
    if (pid_ == 0) {
      for (int const s : {SIGINT, SIGTERM}) std::signal(s, SIG_DFL);  // Catch has handlers
      ::dup2(output_, 1);
      ::dup2(output_, 2);
      ::close(tells[0]), ::close(waits[1]);
      ::alarm(100);
      moments::tells = tells[1], moments::waits = waits[0];
      if (c_.example) start_example(c_, others);
      moments::begin(c_.disturbed);
      int const code = own_program(c_, *report_);
      moments::passed = -1;
      std::fflush(nullptr);
      ::_exit(code);
    }
    ::close(tells[1]), ::close(waits[0]);
    told_ = tells[0], go_ = waits[1];
    wait();
  }
  process(process const&) = delete;
  process& operator=(process const&) = delete;
  ~process() {
    if (pid_ > 0) ::kill(pid_, SIGKILL), ::waitpid(pid_, nullptr, 0);
    for (int const d : {output_, told_, go_})
      if (d >= 0) ::close(d);
    ::munmap(report_, sizeof(report));
  }

  void go_on() {
    char const byte = 0;
    if (pid_ > 0 && ::syscall(SYS_write, go_, &byte, 1) == 1) wait();
  }
  bool pauses() const { return pid_ > 0; }
  /// Whether it ended by itself and not with 0.
  bool succeeded() const { return pid_ < 0 && WIFEXITED(status_) && WEXITSTATUS(status_) == 0; }
  bool failed() const { return pid_ < 0 && WIFEXITED(status_) && WEXITSTATUS(status_) != 0; }
  bool crashed() const {
    return pid_ < 0 && WIFSIGNALED(status_) && WTERMSIG(status_) != SIGKILL && WTERMSIG(status_) != SIGINT &&
           WTERMSIG(status_) != SIGTERM;
  }
  std::string said() const {
    std::string all(static_cast<std::size_t>(::lseek(output_, 0, SEEK_END)), '\0');
    all.resize(static_cast<std::size_t>(std::max<ssize_t>(0, ::pread(output_, all.data(), all.size(), 0))));
    return all;
  }
  report& told() { return *report_; }
  report const& told() const { return *report_; }
  command const& of() const { return c_; }

  bool judged = false;  // whether it has been looked from where it resumed

 private:
  /// Until it pauses or has ended.
  void wait() {
    char byte = 0;
    ssize_t n = 0;
    while ((n = ::read(told_, &byte, 1)) < 0 && errno == EINTR) {
    }
    if (n == 1) return;
    while (::waitpid(pid_, &status_, 0) < 0 && errno == EINTR) {
    }
    pid_ = -1;
  }

  command c_;
  report* report_ = nullptr;
  pid_t pid_ = -1;
  int output_ = -1, told_ = -1, go_ = -1, status_ = 0;
};

// ---- the model ----------------------------------------------------------------------------------------------------

/// A promise that was broken.
struct finding {
  std::string rule, text;
};

inline bool is_lock_or_temporary(std::string const& name) {
  return name.ends_with(".lock") || name.ends_with(".typenet.tmp");
}
inline std::string bytes_at(std::filesystem::path const& path) {
  std::string all;
  int const file = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  char part[8192];
  for (ssize_t n; file >= 0 && (n = ::read(file, part, sizeof part)) > 0;)
    all.append(part, static_cast<std::size_t>(n));
  if (file >= 0) ::close(file);
  return all;
}
inline void put(std::string const& path, std::string const& bytes) {
  int const file = ::open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
  if (file < 0 || ::write(file, bytes.data(), bytes.size()) != static_cast<ssize_t>(bytes.size()))
    throw std::runtime_error("cannot write " + path);
  ::close(file);
}
/// Everything in the current folder except locks and temporary files.
inline files on_disk() {
  files all;
  for (auto const& entry : std::filesystem::recursive_directory_iterator("."))
    if (std::string const name = entry.path().lexically_normal().string();
        entry.is_regular_file() && !is_lock_or_temporary(name))
      all[name] = bytes_at(entry.path());
  return all;
}

/// The columns that a resumed run computes alike: all but the last two.
inline std::vector<std::string> rows_without_times(std::string const& csv) {
  std::vector<std::string> all;
  for (std::size_t at = 0; at < csv.size();) {
    std::size_t const end = std::min(csv.find('\n', at), csv.size());
    std::string row = csv.substr(at, end - at);
    for (int i = 0; i < 2; ++i) row.resize(std::min(row.size(), row.rfind(',')));
    all.push_back(std::move(row));
    at = end + 1;
  }
  return all;
}

/// What the user knows about a run.
struct lineage {
  position newest{};        // of the states that were on disk
  bool over = false;        // nobody needs its states any more
  int ended_after = 0;      // so many epochs
  bool undisturbed = true;  // it was always given the same settings, and its disk was never full
  std::string settings{};
};

/// Runs commands in a folder of its own, and compares what is there before and after each.
class disk {
 public:
  /// `older` is a state that an earlier version wrote.
  disk(std::string const& older, programs const& others, std::string const& onnx) : older_(older), others_(others) {
    std::filesystem::create_directory("b");
    put("notes.txt", "my notes\n");
    put("notes.txt.before", "my older notes\n");
    put("notes.svg.checkpoint", "my notes\n");
    if (!others_.onnx_to_typenet.empty()) {
      std::filesystem::create_directory("onnx");
      put("onnx/model.onnx", onnx);
      put("model.safetensors", "the author's weights\n");
    }
    now_ = on_disk();
    for (auto const& [name, bytes] : now_) users_[name] = bytes;
  }

  /// Returns a line for each file.
  std::string listing() const {
    std::string all;
    for (auto const& [name, bytes] : now_) {
      all += "    " + name + ", " + std::to_string(bytes.size()) + " bytes";
      if (marked const m = marks_of(bytes))
        all += " of run " + std::to_string(m.lineage) + " after epoch " + std::to_string(m.at.epoch) + " and step " +
               std::to_string(m.at.step);
      all += "\n";
    }
    return all;
  }
  /// Returns what is wrong afterwards.
  std::optional<finding> enter(command const& c) {
    before_ = now_;
    switch (c.what) {
      case command::train: return train(c);
      case command::go_on: return go_on();
      case command::convert: return convert();
      default: return by_hand(c), std::nullopt;
    }
  }

 private:
  std::optional<finding> train(command const& c) {
    std::string const state = c.path(c.state);
    bool const taken = paused_ && paused_->told().begun && paused_->of().path(paused_->of().state) == state;
    auto p = std::make_unique<process>(c, ++lineages_, others_);
    std::optional<finding> wrong = judge(*p, taken);
    if (p->pauses()) {
      if (!paused_) paused_ = std::move(p);
      // otherwise it is killed
    }
    return wrong;
  }
  std::optional<finding> go_on() {
    if (!paused_) return std::nullopt;
    paused_->go_on();
    std::optional<finding> wrong = judge(*paused_, false);
    if (!paused_->pauses()) paused_.reset();
    return wrong;
  }
  std::optional<finding> convert() {
    if (others_.onnx_to_typenet.empty()) return std::nullopt;
    pid_t const pid = ::fork();
    if (pid == 0) {
      int const nowhere = ::open("/dev/null", O_WRONLY);
      ::dup2(nowhere, 1), ::dup2(nowhere, 2);
      char const* const tool = others_.onnx_to_typenet.c_str();
      ::execl(tool, tool, "onnx/model.onnx", nullptr);
      ::_exit(126);
    }
    while (::waitpid(pid, nullptr, 0) < 0 && errno == EINTR) {
    }
    now_ = on_disk();
    return strangers_are_there([](std::string const&) { return false; });
  }

  /// As a user goes back to an earlier run without giving up the later one.
  static void swap(std::string const& name) {
    if (!std::filesystem::exists(name + ".before")) return;
    std::error_code none;
    std::filesystem::rename(name, "swapped", none);
    std::filesystem::rename(name + ".before", name);
    std::filesystem::rename("swapped", name + ".before", none);
  }
  /// Enters "mv A B && mv C D".
  static void follow(std::string const& advice) {
    std::istringstream words(advice);
    std::error_code failed;
    for (std::string mv, backup, from, to, both; words >> mv >> backup >> from >> to; words >> both) {
      for (int n = 1; std::filesystem::exists(to) && n < 100; ++n)
        if (std::string const name = to + ".~" + std::to_string(n) + "~"; !std::filesystem::exists(name))
          std::filesystem::rename(to, name, failed);
      std::filesystem::rename(from, to, failed);
    }
  }
  /// A user's own rm, cp and mv. What they replace was given up.
  void by_hand(command const& c) {
    namespace fs = std::filesystem;
    std::error_code failed;
    std::string const runs_in = paused_ ? paused_->of().path("") : "-";
    std::string const in_use = paused_ ? paused_->of().path(paused_->of().state) : "-";
    auto const touches = [&](std::string const& name) {  // files of a run that has not ended
      return name == in_use || (name.ends_with('/') && runs_in.starts_with(name));
    };
    if (touches(c.to) || (c.what != command::move && touches(c.from)) || (paused_ && c.what == command::swap_all))
      return;
    switch (c.what) {
      case command::move: fs::rename(c.from, c.to, failed); break;
      case command::copy: fs::copy_file(c.from, c.to, fs::copy_options::overwrite_existing, failed); break;
      case command::remove: fs::remove(c.from, failed); break;
      case command::older: put(c.to, older_); break;
      case command::swap: swap(c.from); break;
      case command::advised: follow(advice_); break;
      case command::swap_all:
        for (auto const& [name, bytes] : before_)
          if (name.ends_with(".before") && !name.starts_with("notes")) swap(name.substr(0, name.size() - 7));
        break;
      default: break;
    }
    now_ = on_disk();
    std::map<int, position> const there = states(now_);
    for (auto& [number, run] : runs_) {
      auto const it = there.find(number);
      if (it == there.end())
        run.over = true;
      else if (it->second < run.newest)
        run.newest = it->second;
    }
    for (auto const& [number, at] : there)
      if (!runs_.contains(number)) runs_[number] = {.newest = at, .undisturbed = false};
    // The user's own texts, wherever they are now.
    for (auto it = users_.begin(); it != users_.end();)
      it = !now_.contains(it->first) || now_.at(it->first) != it->second ? users_.erase(it) : std::next(it);
    for (auto const& [name, bytes] : now_)
      for (char const* own : {"my notes\n", "my older notes\n", "the author's weights\n"})
        if (bytes == own) users_[name] = bytes;
    std::erase_if(promised_, [&](auto const& p) {
      return !before_has(p.first, p.second) || !now_.contains(p.first) || now_.at(p.first) != p.second;
    });
    for (auto it = curves_.begin(); it != curves_.end();)
      it = now_.contains(it->first) ? std::next(it) : curves_.erase(it);
  }

  /// The newest state of each run that is on disk.
  std::map<int, position> states(files const& all) const {
    std::map<int, position> newest;
    for (auto const& [name, bytes] : all)
      if (marked const m = marks_of(bytes)) newest[m.lineage] = std::max(newest[m.lineage], m.at);
    return newest;
  }

  static std::pair<std::size_t, std::size_t> key_of(std::string const& bytes) {
    return {bytes.size(), std::hash<std::string_view>{}(bytes)};
  }
  marked marks_of(std::string const& bytes) const {
    if (bytes.size() < 100'000) return marks_in(bytes);
    auto const it = unmarked_.find(key_of(bytes));
    return it == unmarked_.end() ? marked() : it->second;
  }
  /// Reads the example program's output and state for what another program tells the test itself.
  void understand(process& p) {
    command const& c = p.of();
    report& r = p.told();
    std::string const said = p.said(), state = c.path(c.state);
    bool const had_begun = std::exchange(r.begun, said.find("training network...") != said.npos || p.succeeded());
    r.ends = r.complete = p.succeeded();
    r.interrupted = r.saved = said.find("its state is in " + state) != said.npos;
    int batch = 0, epoch = 0, all = 0;
    if (std::size_t const at = said.find("resuming after "); at != said.npos && !had_begun) {
      r.resumed = true;
      if (std::sscanf(said.c_str() + at, "resuming after batch %d of %d of epoch %d", &batch, &all, &epoch) == 3)
        r.from = {epoch - 1, batch};
      else if (std::sscanf(said.c_str() + at, "resuming after epoch %d", &epoch) == 1)
        r.from = {epoch, 0};
      if (auto const it = before_.find(state); it != before_.end())
        if (marked const was = marks_of(it->second)) r.lineage = was.lineage;
      r.at = r.from;
    }
    detail::checkpoint_head head;
    auto const it = now_.find(state);
    if (it != now_.end() && it->second.size() > sizeof head && !marks_of(it->second)) {
      std::memcpy(&head, it->second.data(), sizeof head);
      position const at{static_cast<int>(head.epoch), static_cast<int>(head.step)};
      if (it->second.starts_with("typenet checkpoint") && at > position())
        unmarked_[key_of(it->second)] = {r.lineage, at, c.data, c.augments, 1}, r.at = at;
    }
    if (r.complete) r.at = {c.epochs, 0};
  }

  std::optional<finding> strangers_are_there(auto const& may_change) const {
    for (auto const& [name, bytes] : users_) {
      auto const it = now_.find(name);
      if (it != now_.end() && it->second == bytes) continue;
      if (!may_change(name))
        return finding{"a file of the user",
                       name + " was not written by a run, and is " + (it == now_.end() ? "gone" : "replaced")};
    }
    return std::nullopt;
  }

  /// Compares what is on disk with what was there before this process ran, for the first time or since its pause.
  std::optional<finding> judge(process& p, bool taken) {
    now_ = on_disk();
    if (p.of().example) understand(p);
    command const& c = p.of();
    report const& r = p.told();
    std::string const said = p.said(), state = c.path(c.state);
    auto const wrong = [&](char const* rule, std::string const& text) {
      return finding{rule,
                     text + "; it said:\n" + said.substr(said.size() > 600 ? said.find('\n', said.size() - 600) : 0)};
    };
    if (p.crashed()) return wrong("a crash", "the process crashed");
    if (taken && r.begun) return wrong("two at once", "two runs write " + state);

    // Nothing that is not this run's.
    bool const refused = p.failed() && !r.begun;
    for (auto const& [name, bytes] : before_) {
      auto const it = now_.find(name);
      if (it != now_.end() && it->second == bytes) continue;
      if (refused) return wrong("a refused run", name + " has changed, although the run was refused");
      bool const of_state = name.starts_with(state);
      bool const result = name.starts_with(c.path("")) && is_result(name.substr(c.folder.size()));
      if (!of_state && !(r.begun && result)) return wrong("another's file", name + " has changed");
      if (auto const other = curves_.find(name); other != curves_.end() && other->second != r.lineage)
        return wrong("curves", name + " is of another run, and has changed");
      if (of_state && !result && !marks_of(bytes) && bytes != older_)
        return wrong("a file that is no state",
                     name + " is no state, and has been " + (it == now_.end() ? "renamed or removed" : "replaced"));
    }
    if (auto const lost = strangers_are_there(
            [&](std::string const& name) { return r.begun && name.starts_with(c.path("")) && is_result(name); }))
      return wrong(lost->rule.c_str(), lost->text);
    for (auto const& [name, bytes] : now_)
      if (name.find("curves/") != name.npos && !curves_.contains(name)) curves_[name] = r.lineage;

    // It resumes from what was there.
    auto const there = before_.find(state);
    marked const was = there == before_.end() ? marked() : marks_of(there->second);
    if (!std::exchange(p.judged, true) && r.begun) {  // otherwise the state may have been moved during its pause
      if (r.resumed && (!c.restore || !was || was.lineage != r.lineage || was.at != r.from))
        return wrong("resumes", "it resumed from something else than " + state);
      if (!r.resumed && c.restore && was) return wrong("resumes", "it did not resume from " + state);
      if (r.resumed && was.lineage < first_older) {
        auto const warns = [&](char const* word) { return said.find(word) != said.npos; };
        bool const differs = (was.data != c.data && !warns("data")) ||
                             (was.augments != c.augments && !warns("augment")) ||
                             (was.validates != c.validates && !warns("validat") && !warns("val_loss"));
        if (differs) return wrong("other data", "it resumed with other data, and did not say so");
      }
    }

    // No run is lost.
    lineage& own = runs_[r.lineage];
    std::string const settings = (c.example ? "example " : "") + std::to_string(c.data) + (c.augments ? "a" : "-") +
                                 (c.validates ? "v" : "-") + (c.append ? "+" : "-") + std::to_string(c.epochs);
    if (r.begun) {
      if (own.settings.empty()) own.settings = settings;
      own.undisturbed &= own.settings == settings;
      for (auto const& d : c.disturbed) own.undisturbed &= d.what != moments::action::fill_disk;
    }
    bool const ended = c.removes_last || c.example ? r.complete : r.ends;
    if (ended) own.over = true;
    if (r.ends) own.ended_after = c.epochs;
    std::map<int, position> const states_now = states(now_);
    for (auto& [number, run] : runs_) {
      auto const it = states_now.find(number);
      position const at = it == states_now.end() ? position{} : it->second;
      if (at >= run.newest || run.over) {
        run.newest = at;
        continue;
      }
      position const reached = r.ends ? position{c.epochs, 0} : r.at;
      if (number != r.lineage && r.begun && reached >= run.newest) {  // outlived
        run.over = true;
        continue;
      }
      return wrong("a run is lost", "run " + std::to_string(number) + " had a state after epoch " +
                                        std::to_string(run.newest.epoch) + " and step " +
                                        std::to_string(run.newest.step) + ", which is gone; this is run " +
                                        std::to_string(r.lineage));
    }
    for (auto const& [number, at] : states_now)
      if (!runs_.contains(number)) runs_[number] = {.newest = at, .undisturbed = false};
    // Neither are the results of another run, before this one has ended and has at least its epochs.
    for (auto const& [name, bytes] : before_) {
      auto const of = made_.find(key_of(bytes));
      bool const is_log = bytes.starts_with("epoch,");
      bool const kept = std::any_of(now_.begin(), now_.end(), [&](auto const& f) {
        return f.second == bytes || (is_log && f.second.starts_with(bytes));
      });
      if (kept || r.lineage >= first_older || of == made_.end() || of->second == r.lineage) continue;
      if (is_log && bytes.find('\n') + 1 >= bytes.size()) continue;  // a log without rows
      // What is written after the training replaces what has that name, as the user has said.
      bool const last = std::any_of(std::begin(written_last), std::end(written_last),
                                    [&](char const* l) { return name == c.path(l); });
      if (r.ends && last) continue;
      // A log and a state tell how many epochs their run had.
      auto const rows = static_cast<int>(std::count(bytes.begin(), bytes.end(), '\n')) - 1;
      // and so do all files of a run that has ended.
      int const whole = runs_[of->second].ended_after;
      bool const was_longer = whole > 0 ? whole > c.epochs
                              : is_log  ? rows > c.epochs
                                        : !marks_of(bytes) || marks_of(bytes).at > position{c.epochs, 0};
      if (!r.ends || was_longer)
        return wrong("a result is lost", name + " was made by run " + std::to_string(of->second) +
                                             ", and is gone; this is run " + std::to_string(r.lineage));
    }
    for (auto const& [name, bytes] : now_)
      if (name.starts_with(c.path("")) && is_result(name.substr(c.folder.size()))) {
        if (!before_has(name, bytes)) made_.emplace(key_of(bytes), r.lineage);
        // What a run that has ended has made again, with the same bytes, is its own.
        std::string const result = name.substr(c.folder.size());
        bool const again = (result == "best" && c.validates) || result == "each" ||
                           (result.starts_with("at") && result[2] <= '0' + c.epochs);
        if (r.ends && again) made_[key_of(bytes)] = r.lineage;
      }
    if (r.interrupted && r.saved) {
      auto const it = now_.find(state);
      marked const m = it == now_.end() ? marked() : marks_of(it->second);
      if (!m || m.lineage != r.lineage || m.at < r.at)
        return wrong("what an interruption saves", state + " has not the state of the interruption");
    }

    // What a message said is kept is there.
    for (auto it = promised_.begin(); it != promised_.end();) {
      auto const found = now_.find(it->first);
      marked const m = marks_of(it->second);
      bool const kept = found != now_.end() && found->second == it->second;
      if (!kept && it->first != state && !(m && runs_[m.lineage].over) && said.find(it->first) == said.npos)
        return wrong("a promise", it->first + " was said to be kept");
      it = kept ? std::next(it) : promised_.erase(it);
    }
    if (there != before_.end())
      for (std::string_view const words : {"keeps it as ", "kept as ", "is now ", "renamed to "})
        if (std::size_t const at = said.find(words); at != said.npos) {
          std::string name =
              said.substr(at + words.size(), said.find_first_of(" ;,\n", at + words.size()) - at - words.size());
          while (name.ends_with('.')) name.pop_back();
          if (auto const it = now_.find(name); it != now_.end() && it->second == there->second)
            promised_[name] = there->second;
        }

    if (std::size_t const at = said.rfind(": mv "); at != said.npos)
      advice_ = said.substr(at + 2, said.find('\n', at) - at - 2);

    // What a run ends with does not depend on how often it was interrupted.
    if (r.complete && own.undisturbed && own.settings == settings) {
      files const& whole = undisturbed(c, settings);
      auto const at = [&](char const* name) {
        auto const it = now_.find(c.path(name));
        return it == now_.end() ? std::string() : it->second;
      };
      if (at("weights") != whole.at("weights"))
        return wrong("the end", "weights differ from those of an undisturbed run");
      if (!c.append && rows_without_times(at("log.csv")) != rows_without_times(whole.at("log.csv")))
        return wrong("the end", "log.csv differs from that of an undisturbed run:\n" + at("log.csv"));
      if (c.validates && at("best") != whole.at("best") && said.find(c.path("best")) == said.npos)
        return wrong("best", "best is not that of this run");
    }
    return std::nullopt;
  }

  static constexpr char const* written_last[] = {"weights", "weights.classes", "history.csv", "plot.svg",
                                                 "plot.svg.history.csv"};
  bool before_has(std::string const& name, std::string const& bytes) const {
    auto const it = before_.find(name);
    return it != before_.end() && it->second == bytes;
  }
  /// Whether it is a result's name, or one under which an earlier run's result is kept.
  static bool is_result(std::string name) {
    name.resize(std::min(name.size(), name.find(".before")));
    for (char const* own : {"best", "log.csv", "each", "weights", "history.csv", "best.classes", "weights.classes",
                            "plot.svg", "plot.svg.history.csv"})
      if (name == own) return true;
    return name.starts_with("curves/") || (name.starts_with("at") && name.size() == 3);
  }

  /// The results of a run that nobody interrupts.
  files const& undisturbed(command const& c, std::string const& settings) {
    static std::map<std::string, files> known;
    if (auto const it = known.find(settings); it != known.end()) return it->second;
    temporary_directory const elsewhere;
    std::filesystem::path const here = std::filesystem::current_path();
    std::filesystem::current_path(elsewhere.path);
    process p({.example = c.example,
               .state = c.state,
               .epochs = c.epochs,
               .data = c.data,
               .augments = c.augments,
               .validates = c.validates},
              0, others_);
    known[settings] = on_disk();
    if (c.example) understand(p);
    std::filesystem::current_path(here);
    if (!p.told().complete) throw std::runtime_error("a run that nobody disturbs fails: " + p.said());
    return known[settings];
  }

 public:
  static constexpr int first_older = 9000;  // the runs of older versions

 private:
  std::string older_;
  programs const& others_;
  std::map<std::pair<std::size_t, std::size_t>, marked> unmarked_{};  // states of the example program, by size and hash
  files before_{}, now_{};
  std::map<std::string, std::string> users_{}, promised_{};
  std::map<std::pair<std::size_t, std::size_t>, int> made_{};  // results by size and hash, and whose they are
  std::string advice_{};
  std::map<std::string, int> curves_{};  // event files, and whose they are
  std::map<int, lineage> runs_{};
  std::unique_ptr<process> paused_{};
  int lineages_ = 0;
};

// ---- random sequences ---------------------------------------------------------------------------------------------

/// A sequence of commands, drawn by seed.
inline std::vector<command> drawn_commands(std::uint64_t seed, bool example) {
  dice d(seed);
  command usual;
  if (example) usual.example = true, usual.state = "plot.svg.checkpoint";
  std::string const state = usual.state;
  usual.removes_last = d.percent(40), usual.append = d.percent(30), usual.curves = d.percent(30);
  usual.save_every = d.below(3);
  auto const moment = [&] { return d.below(d.of({30, 80, 250})); };
  std::vector<command> all;
  int const length = d.between(2, 10);
  while (static_cast<int>(all.size()) < length) {
    int const kind = d.below(100);
    command c = usual;
    if (kind < 72) {
      if (d.percent(10)) c.folder = "b/";
      c.restore = d.percent(60);
      c.epochs = d.of({2, 3, 3, 3, 5});
      if (d.percent(8)) c.data = d.between(1, 2);
      c.augments = d.percent(5), c.validates = !d.percent(5);
      if (d.percent(10)) c.save_every = d.below(3);
      if (d.percent(10) && example) c.state = "notes.svg.checkpoint";
      if (d.percent(5)) c.append = !c.append;
      if (d.percent(10) && !example) c.state = d.of({"notes.txt", "best", "run.state.before", "kept"});
      int const how = d.below(100);
      using enum moments::action;
      if (how < 35)
        c.disturbed = {{moment(), kill}};
      else if (how < 60)
        c.disturbed = {{moment(), d.of({interrupt, terminate})}};
      else if (how < 65)
        c.disturbed = {{moment(), interrupt}}, c.disturbed.push_back({c.disturbed[0].at + d.below(12), interrupt});
      else if (how < 75)
        c.disturbed = {{moment(), pause}, {moment(), d.of({kill, interrupt})}};
      else if (how < 85)
        c.disturbed = {{moment(), fill_disk}, {moment(), d.of({free_disk, kill, interrupt})}};
    } else if (kind < 80) {
      c = {.what = command::go_on};
    } else if (kind < 95) {
      struct both {
        std::string from, to;
      };
      both const names = d.of<both>({{state + ".before", state},
                                     {state + ".before", state},
                                     {state, "kept"},
                                     {"kept", state},
                                     {state, "b/" + state},
                                     {"b/", "c/"},
                                     {"c/", "b/"}});
      c = {.what = d.percent(85) ? command::move : command::copy, .from = names.from, .to = names.to};
      if (d.percent(5)) c = {.what = command::remove, .from = names.from};
      if (d.percent(35))
        c = {.what = d.of({command::swap, command::swap_all, command::advised, command::advised}), .from = state};
    } else if (kind < 97) {
      c = {.what = command::older, .to = state};
    } else {
      c = {.what = command::convert};
    }
    all.push_back(c);
  }
  return all;
}

}  // namespace dsl::test::users
