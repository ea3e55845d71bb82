// SPDX-License-Identifier: MIT
// Trains MiniGoogLeNet on CIFAR-10 with the recipe of the Keras tutorials: pixels minus their mean, shifts and flips,
// SGD with momentum, and a learning rate that decreases linearly to 0 over the run. --help lists the options.
#include "minigooglenet_options.hpp"

#include <CLI/CLI.hpp>

#include <dsl/callbacks.hpp>
#include <dsl/data/crop_and_cutout.hpp>
#include <dsl/detail/shell_word.hpp>
#include <dsl/dsl.hpp>
#include <dsl/io/classes_file.hpp>
#include <dsl/io/confusion_plot.hpp>
#include <dsl/io/tensorboard.hpp>
#include <dsl/text.hpp>
#include <dsl/text/confusion_table.hpp>
#include <dsl/text/dot.hpp>
#include <dsl/towers.hpp>
#include <dsl/towers/launcher.hpp>
#include <dsl/training/earlier_files.hpp>
#ifdef TYPENET_HAS_SAFETENSORS
#include <dsl/io/safetensors.hpp>
#endif
#ifdef TYPENET_HAS_ONEDNN
#include <dsl/executors/onednn.hpp>
#endif
#ifdef TYPENET_HAS_CUDA
#include <dsl/executors/cuda.hpp>
#endif
#ifdef TYPENET_HAS_NCCL
#include <dsl/executors/cuda/nccl.hpp>
#endif
#ifdef TYPENET_HAS_MPI
#include <dsl/towers/mpi.hpp>
#endif

#include <algorithm>
#include <csignal>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <list>
#include <optional>
#include <utility>

#include <fcntl.h>

using model = dsl::network<dsl::image<3, 32, 32>, dsl::minigooglenet<10>>;
static_assert(model::output == dsl::shape{10});
static_assert(model::parameter_count == 1'656'250);  // the number that Keras reports

namespace {

dsl::launch const launched = dsl::launched();  // determined first, since MPI changes the environment

/// The processes of this job; null if there is only one.
std::unique_ptr<dsl::process_group> processes;

/// Returns whether this process prints and writes files; exactly one does.
bool speaks() { return !processes || processes->process() == 0; }

void say(std::string const& line) {
  if (!speaks()) return;
  std::printf("[INFO] %s\n", dsl::detail::printable(line).c_str());
  std::fflush(stdout);
}

struct pictures {
  dsl::dataset train, test;
  std::string name;
};

pictures load(settings const& s) {
  if (!s.synthetic) {
    say("loading CIFAR-10 data...");
    char const* const place = std::getenv("TYPENET_DATA");
    if (s.data.empty() && place && *place && dsl::cifar10::find(place).empty())
      throw dsl::data_error(
          fmt::format("$TYPENET_DATA: {} must have CIFAR-10's *.bin files; unset it, or fetch them: "
                      "scripts/download_cifar10 {}",
                      place, dsl::detail::shell_path(place)));
    if (!s.data.empty() || !dsl::cifar10::find().empty()) {
      dsl::cifar10 const data = dsl::cifar10::load(s.data);
      auto const first = [](dsl::dataset const& all, std::int64_t count) { return count > 0 ? all.first(count) : all; };
      return {first(data.train, s.train_size), first(data.test, s.test_size), "CIFAR-10"};
    }
    say("no CIFAR-10 in $TYPENET_DATA or $XDG_CACHE_HOME/typenet (default ~/.cache/typenet); scripts/download_cifar10 "
        "downloads it");
  }
  std::int64_t const train = s.train_size > 0 ? s.train_size : 3840;
  std::int64_t const test = s.test_size > 0 ? s.test_size : 1000;
  say(fmt::format("drawing {} + {} synthetic images (training + test)...", train, test));
  dsl::synthetic const data = dsl::synthetic_pictures(train, test, s.key());
  return {data.train, data.test, "synthetic pictures"};
}

dsl::towers towers(settings const& s) {
  dsl::tower_policy const policy = s.merge == "all_reduce" ? dsl::all_reduce : dsl::host_merge;
  return {.count = s.gpus,
          .policy = s.synchronized ? synchronized(policy) : policy,
          .devices = s.devices,
          .processes = processes.get()};
}

#ifdef TYPENET_HAS_NCCL
/// Returns the deadlines for GPUs. They are the deadlines of the processes, except that closing has two steps and
/// therefore gets less time for each.
constexpr dsl::cu::nccl_deadlines nccl_deadlines(double seconds) {
  std::chrono::milliseconds const all(1 + static_cast<long long>(1e3 * seconds - 0.5));
  auto const close = dsl::cu::nccl_deadlines{}.close;
  return {.start = all, .wait = all, .close = all / 3 < close ? all / 3 : close};
}
static_assert(nccl_deadlines(30).wait == dsl::cu::nccl_deadlines{}.wait);
static_assert(nccl_deadlines(30).start == dsl::cu::nccl_deadlines{}.start);
static_assert(nccl_deadlines(30).close == dsl::cu::nccl_deadlines{}.close);
static_assert(nccl_deadlines(600).wait == std::chrono::minutes(10));
static_assert(nccl_deadlines(1.5).wait == std::chrono::milliseconds(1500));
static_assert(nccl_deadlines(1.5).close == std::chrono::milliseconds(500));
#endif

#ifdef TYPENET_HAS_CUDA
dsl::cuda on_gpus(settings const& s) {
  dsl::cuda on{.precision = s.precision == "bf16"   ? dsl::precision::bf16
                            : s.precision == "tf32" ? dsl::precision::tf32
                                                    : dsl::precision::fp32_strict,
               .deterministic = s.deterministic};
#ifdef TYPENET_HAS_NCCL
  static dsl::cu::nccl_collectives const nccl(nccl_deadlines(s.deadline));  // must outlive the trainer
  if (s.collectives == "nccl") on.collectives = &nccl;
#endif
  return on;
}
#endif

template <class Executor>
dsl::trainer compile(settings const& s, Executor const& executor) {
  dsl::compile_options const options{
      .seed = s.key(), .batch_norm_momentum = s.bn_momentum, .label_smoothing = s.label_smoothing};
  return with_optimizer(
      s, [&](auto const& optimizer) { return dsl::compile<model>(executor, optimizer, towers(s), options); });
}

dsl::augmentation augmentation(settings const& s) {
  if (s.augment == "none") return {};
  dsl::random_crop const crop{.outside = s.crop_border == "mirror" ? dsl::outside::mirror
                                         : s.crop_border == "edge" ? dsl::outside::edge
                                                                   : dsl::outside::zero};
  if (s.augment == "crop_flip") return dsl::in_order{crop, dsl::random_flip{}};
  if (s.augment == "crop_flip_cutout")
    return dsl::in_order{crop, dsl::random_flip{}, dsl::cutout{.size = s.cutout, .epochs = s.cutout_epochs}};
  return dsl::shift_and_flip{};
}

dsl::trainer compile(settings const& s) {
#ifdef TYPENET_HAS_ONEDNN
  if (s.executor == "onednn") return compile(s, dsl::onednn{.threads = s.threads});
#endif
#ifdef TYPENET_HAS_CUDA
  if (s.executor == "cuda") return compile(s, on_gpus(s));
#endif
  if (s.executor == "reference") return compile(s, dsl::reference{});
  return compile(s, dsl::native{.threads = s.threads});
}

/// Returns the total of --gpus over all processes.
int all_gpus(settings const& s) {
  if (!processes) return s.gpus;
  std::vector<int> each(static_cast<std::size_t>(processes->processes()));
  processes->gather("--gpus", s.gpus, each.data());
  int all = 0;
  for (int gpus : each) all += gpus;
  if (s.batch_size > 0x7fffffff / all)
    throw dsl::option_error(
        fmt::format("--batch-size: times the total --gpus of all processes ({}), it must be below 2,147,483,648; found "
                    "{}; use a smaller one",
                    all, s.batch_size));
  return all;
}

dsl::callback_handle schedule(settings const& s) {
  auto const made = [&](auto rate) -> dsl::callback_handle {
    if (s.swa > 0) return dsl::learning_rate_schedule{dsl::hold{rate, s.swa}};
    return dsl::learning_rate_schedule{rate};
  };
  if (s.schedule == "cosine") return made(dsl::cosine_decay{.base = s.learning_rate});
  if (s.schedule == "one_cycle") return made(dsl::one_cycle{.max_rate = s.learning_rate});
  if (s.schedule == "step") return made(dsl::step_decay{s.learning_rate, s.epochs / 3 + (s.epochs % 3 > 0 ? 1 : 0)});
  return made(dsl::poly_decay{s.learning_rate, s.epochs, 1.0});
}

std::optional<dsl::weight_average> averages(settings const& s) {
  if (s.swa == 0 && s.ema == 1) return std::nullopt;
  return dsl::weight_average{.start_from_epoch = s.swa, .momentum = s.ema};
}

/// The files of an earlier run that this run has kept.
std::shared_ptr<dsl::earlier_files> earlier;

/// Returns the commands that give the kept files their old names; a file of this run that has such a name gets another.
std::string back_again() {
  std::string commands;
  for (dsl::earlier_files::file const& f : earlier->files())
    commands += (commands.empty() ? "" : " && ") + std::string("mv --backup=numbered ") +
                dsl::detail::shell_path(f.kept_as) + " " + dsl::detail::shell_path(f.path);
  return commands;
}

/// Prints where the run begins, which is known after the search for a checkpoint.
struct says_where_it_begins : dsl::callback {
  settings const& s;
  explicit says_where_it_begins(settings const& o) : s(o) {}
  void on_train_begin(dsl::fit_run& run) override {
    earlier = run.earlier;
    if (!earlier->files().empty())
      say(
          fmt::format("{} is from an unfinished run. It is kept as {} until this run has ended after at least as many "
                      "epochs; other files of that run are kept, too, before this one replaces them. To resume the "
                      "earlier run, first end this one and enter: {}",
                      s.checkpoint(), earlier->files().front().kept_as, back_again()));
    dsl::fit_position const& at = run.next;
    if (at.step > 0)
      say(fmt::format("resuming after batch {} of {} of epoch {} of {} from {}, where the learning rate was {:g}",
                      at.step, run.steps, at.epoch + 1, run.epochs, s.checkpoint(), run.learning_rate));
    else if (at.epoch > 0)
      say(fmt::format("resuming after epoch {} of {} from {}, where the learning rate was {:g}", at.epoch, run.epochs,
                      s.checkpoint(), run.learning_rate));
    else if (s.resume)
      say(fmt::format("no {} to resume from: training from the beginning{}", s.checkpoint(),
                      std::filesystem::exists(s.checkpoint() + ".before")
                          ? fmt::format("; {}.before has the state of an earlier run", s.checkpoint())
                          : ""));
    if (at.epoch < run.epochs && !run.stop) say("training network...");  // otherwise only history and plot are missing
  }
};

/// Returns the names and values of the options that determine a run's bits, except those that a checkpoint compares
/// itself.
using named_values = std::vector<std::pair<std::string, std::string>>;

named_values decisive_options(settings const& s) {
  return {{"--learning-rate", fmt::format("{}", s.learning_rate)},
          {"--schedule", s.schedule},
          {"--swa", fmt::format("{}", s.swa)},
          {"--ema", fmt::format("{}", s.ema)},
          {"--epochs", fmt::format("{}", s.epochs)},
          {"--batch-size", fmt::format("{}", s.batch_size)},
          {"--merge", s.merge},
          {"--collectives", s.collectives},
          {"--synchronized", s.synchronized ? "on" : "off"}};
}
named_values decisive(settings const& s, dsl::trainer& trainer) {
  std::string const executor = trainer.engine().description();  // with several towers: "2 towers, each onednn ..."
  std::size_t const each = executor.find(", each ");
  named_values all = decisive_options(s);
  all.emplace_back("executor", s.executor == "native"  ? trainer.engine().arithmetic()  // without its threads
                               : each == executor.npos ? executor
                                                       : executor.substr(each + 7));
  return all;
}

/// Warns if a resumed run has other options than it began with. If an older program wrote the checkpoint without an
/// option, it is compared with the option's default.
struct says_what_differs : dsl::callback {
  std::string checkpoint;
  named_values own;
  bool said = false;
  says_what_differs(std::string file, named_values values) : checkpoint(std::move(file)), own(std::move(values)) {}
  void state(dsl::callback_state& saved) override {
    std::string differ;
    named_values const defaults = saved.restores() ? decisive_options({}) : named_values{};
    for (auto const& [name, value] : own) {
      std::string found = value;
      for (auto const& [option, usual] : defaults)
        if (option == name) found = usual;
      saved(name.c_str(), found);
      if (found != value)
        differ += fmt::format("{}{} {}, now {}", differ.empty() ? "" : "; ", name, dsl::detail::excerpt(found), value);
    }
    if (differ.empty() || !speaks() || std::exchange(said, true)) return;
    dsl::on_warning(fmt::format("--resume: {} is from a run with {}; the run continues, but its results will not be "
                                "bit-identical",
                                checkpoint, differ)
                        .c_str());
  }
};

using best_weights = dsl::early_stopping<dsl::any_metric>;

dsl::plot_options style(std::string const& data) { return {.title = "MiniGoogLeNet on " + data}; }

/// Returns the callbacks, which are the same in all processes; the first process writes and prints. `stopping` is null
/// without --early-stopping.
std::vector<dsl::callback_handle> callbacks(settings const& s, std::shared_ptr<best_weights> const& stopping,
                                            std::shared_ptr<dsl::backup_and_restore> const& backup,
                                            pictures const& data) {
  std::vector<dsl::callback_handle> all{dsl::stop_on_signal{SIGINT, SIGTERM, SIGHUP, SIGUSR1}, says_where_it_begins{s},
                                        schedule(s)};
  if (s.verbose == 1) all.emplace_back(dsl::progress_bar{});
  if (s.verbose == 2) all.emplace_back(dsl::epoch_log{});
  if (stopping) all.emplace_back(stopping);
  dsl::model_checkpoint_options const best{.save_best_only = true,
                                           .save_weights_only = true,
                                           .writer = writer(s.best),
                                           .written =
                                               [classes = dsl::classes_of(data.train)](std::string const& path) {
                                                 earlier->keep(path + ".classes", "classes");
                                                 dsl::write_classes(classes, path + ".classes");
                                                 earlier->wrote(path + ".classes");
                                               },
                                           .verbose = s.verbose > 0};
  if (!s.best.empty()) all.emplace_back(dsl::model_checkpoint(s.best, best, dsl::metric_named(s.monitor)));
  if (!s.csv.empty()) all.emplace_back(dsl::csv_logger(s.csv));
  if (!s.tensorboard.empty()) all.emplace_back(dsl::tensorboard(s.tensorboard));
  if (s.epochs > 1) all.emplace_back(dsl::plot_each_epoch(s.output, {.plot = style(data.name)}));
  all.emplace_back(backup);
  return all;
}

void write_confusion(settings const& s, dsl::confusion_matrix const& confusion, std::string const& data) {
  if (s.confusion_as_text()) {
    dsl::atomic_file file(s.confusion, "confusion");
    file.write(dsl::confusion_table(confusion));
    file.commit();
  } else {
    dsl::plot(confusion, s.confusion, {.title = "MiniGoogLeNet on " + data});
  }
}

void say_what_is_kept() {
  if (earlier && !earlier->files().empty())
    say("the files of an earlier run are kept; to give them their names again: " + back_again());
}

/// Writes the results; `kept` is the epoch whose weights the network has.
void write(settings const& s, dsl::trainer& trainer, dsl::history const& history, dsl::epoch_record const& kept,
           pictures const& data, dsl::confusion_matrix const& confusion) {
  // A full disk or a missing gnuplot must not lose hours of training: every output is tried, and the first error is
  // thrown.
  std::string failed, kept_in;
  auto const attempt = [&](auto make) {
    try {
      make();
      return true;
    } catch (dsl::file_error const& e) {
      if (failed.empty()) failed = e.what();
      return false;
    }
  };
  if (attempt([&] { dsl::write_history_csv(history, s.history()); })) kept_in = s.history();
  if (!s.weights.empty())
    attempt([&] {
      writer(s.weights)(trainer, s.weights);
      dsl::write_classes(dsl::classes_of(data.train), s.classes());
    });
  attempt([&] { dsl::plot(history, s.output, style(data.name)); });
  if (!s.confusion.empty()) attempt([&] { write_confusion(s, confusion, data.name); });
  if (!failed.empty()) say_what_is_kept();
  if (!failed.empty())
    throw dsl::file_error(failed + (kept_in.empty() ? "" : "; the numbers of every epoch are in " + kept_in));
  if (earlier->is_own(s.checkpoint())) {
    std::error_code left;  // failing to remove it is no error: it is no longer needed
    std::filesystem::remove(s.checkpoint(), left);
  }
  say(fmt::format("test accuracy {:.4f}; plot in {}, numbers in {}{}", kept.validation.acc, s.output, s.history(),
                  s.weights.empty() ? "" : ", weights in " + s.weights) +
      (s.confusion.empty() ? "" : ", confusion matrix in " + s.confusion));
  say_what_is_kept();
}

/// Returns the command that resumes this run when it is pasted into a shell in the folder where it began.
std::vector<std::string> command_line;

void say_how_to_resume(settings const& s, bool saved) {
  if (!saved && !std::filesystem::exists(s.checkpoint()))
    return say("no state could be written, so there is none to resume from");
  std::string command;
  for (std::string const& word : command_line) command += dsl::detail::shell_word(word) + " ";
  if (!s.resume) command += "--resume ";
  command.pop_back();
  say(fmt::format("{} is in {}; to resume{}: {}", saved ? "its state" : "an earlier state", s.checkpoint(),
                  processes ? ", under mpirun as before" : "", command));
  say_what_is_kept();
}

/// Locks the outputs, so that another run that is given one of these names is refused.
std::list<dsl::file_lock> lock_outputs(settings const& s) {
  std::list<dsl::file_lock> all;
  std::string best = s.best, curves = s.tensorboard;
  // A folder with a field in its name is created with its first file: for best/{epoch}/w the lock is
  // best/{epoch}_w.lock.
  if (std::size_t const value = best.find('{'); value != best.npos)
    std::replace(best.begin() + static_cast<std::ptrdiff_t>(value), best.end(), '/', '_');
  while (curves.size() > 1 && curves.ends_with('/')) curves.pop_back();
  for (std::string const& path : {s.output, s.weights, s.confusion, s.csv, best, curves}) {
    if (path.empty()) continue;
    dsl::detail::make_folders(path, "output");
    all.emplace_back(path, "output");
  }
  return all;
}

void run(settings const& s) {
  if (speaks()) {
    dsl::check_writable(s.history(), "history");
    dsl::check_plot(s.output);
    if (s.confusion_as_text()) dsl::check_writable(s.confusion, "confusion");
    if (!s.confusion.empty() && !s.confusion_as_text()) dsl::check_plot(s.confusion);
    if (!s.weights.empty()) dsl::check_writable(s.weights, "weights"), dsl::check_writable(s.classes(), "classes");
    dsl::check_writable(s.checkpoint(), "checkpoint");
  }
  std::list<dsl::file_lock> const locks = speaks() ? lock_outputs(s) : std::list<dsl::file_lock>{};
  pictures const data = load(s);
  int const gpus = all_gpus(s);
  if (processes) {  // must be the same in all processes, since all of them take part after the last epoch
    processes->agree("whether there is --confusion", !s.confusion.empty());
    processes->agree("--early-stopping", s.early_stopping);
    processes->agree("--save-every", s.save_every);
    if (s.early_stopping > 0) processes->agree_on_fingerprint("--monitor", std::hash<std::string>{}(s.monitor));
  }
  say(fmt::format("training with {} {}{}{}...", gpus, s.executor == "cuda" ? "GPU" : "tower", gpus == 1 ? "" : "s",
                  processes
                      ? fmt::format(" in {} process{}", processes->processes(), processes->processes() == 1 ? "" : "es")
                      : ""));
  say("compiling model...");
  dsl::trainer trainer = compile(s);
  say(fmt::format("num_replicas_in_sync: {}, {}{}", trainer.engine().replicas(),
                  s.executor == "cuda" ? "" : "on the CPU: ", trainer.engine().description()));

  std::shared_ptr<best_weights> stopping;
  if (s.early_stopping > 0)
    stopping = std::make_shared<best_weights>(
        dsl::early_stopping_options{
            .patience = s.early_stopping, .restore_best_weights = true, .verbose = s.verbose > 0},
        dsl::metric_named(s.monitor));
  auto const backup = std::make_shared<dsl::backup_and_restore>(
      s.checkpoint(),
      dsl::backup_options{.save_freq = s.save_every > 0 ? dsl::every_batches(s.save_every) : dsl::every_epochs(1),
                          .delete_checkpoint = false,  // it is deleted after the plot has been written
                          .restore = s.resume,
                          .verbose = false});
  std::vector<dsl::callback_handle> all = callbacks(s, stopping, backup, data);
  all.emplace_back(says_what_differs{s.checkpoint(), decisive(s, trainer)});
  dsl::history history;
  try {
    history = trainer.fit(data.train, {.epochs = s.epochs,
                                       .batch_size = s.batch_size * gpus,
                                       .validation = &data.test,
                                       .augment = augmentation(s),
                                       .callbacks = all,
                                       .average = averages(s)});
  } catch (dsl::interrupted const& e) {
    all.clear();  // clears everything, including the unfinished line of a progress bar
    say(e.what());
    say_how_to_resume(s, backup->saved());
    throw;
  }
  // There is none if the run had ended already and --early-stopping is new.
  bool const best = stopping && stopping->has_weights();
  dsl::epoch_record kept = history.epochs.back();  // the epoch whose weights the network has
  for (dsl::epoch_record const& e : history.epochs)
    if (best && e.epoch == stopping->best_epoch()) kept = e;
  dsl::confusion_matrix confusion;  // counted by all processes together
  if (!s.confusion.empty()) trainer.evaluate(data.test, s.batch_size * gpus, &confusion);
  if (speaks()) write(s, trainer, history, kept, data, confusion);
}

void draw(settings const& s) {
  dsl::atomic_file file(s.graph, "graph");
  file.write(dsl::dot(model::view(), {.title = "MiniGoogLeNet", .towers = s.gpus}));
  file.commit();
}

int fail(int code, std::string message) {
  for (char& c : message)
    if (c == '\n') c = ' ';
  message = dsl::detail::printable(message);  // including those of others, such as the message about an option
#ifdef TYPENET_HAS_MPI
  if (processes) static_cast<dsl::mpi&>(*processes).abort(message, code);
#endif
  std::string const rank = launched.rank < 0 ? "" : fmt::format("rank {}: ", launched.rank);
  std::fprintf(stderr, "error: %s%s\n", rank.c_str(), message.c_str());
  return code;
}

int start(settings const& s) {
  if (launched.rank < 0) {
    run(s);
    return 0;
  }
#ifdef TYPENET_HAS_MPI
  auto world = std::make_unique<dsl::mpi>(dsl::mpi_options{.deadline_s = s.deadline});
  dsl::mpi& all = *world;
  processes = std::move(world);  // outlives run(), for fail()
  try {
    run(s);
  } catch (dsl::interrupted const&) {
    // the first process to end ends all, and process 0 must print how to resume
    all.meet("the end of an interrupted run");
    throw;
  }
  processes.reset();
  return 0;
#else
  throw dsl::executor_error(
      "mpirun: this program was built without MPI; install it (on Debian: apt-get install libopenmpi-dev openmpi-bin), "
      "build again, or run it without mpirun");
#endif
}

/// Opens missing standard streams. Otherwise the first files that a program opens would take their place, and its
/// output would be written into them.
void open_standard_streams() {
  for (int stream = 0; stream <= 2; ++stream)
    if (::fcntl(stream, F_GETFD) < 0) {
      [[maybe_unused]] int const opened = ::open("/dev/null", O_RDWR);  // the lowest free number: this one
    }
}

}  // namespace

int main(int argc, char** argv) {
  open_standard_streams();
  // A closed reader of the log, or a log that is too large, is no reason to end the training. Writing then fails as on
  // a full disk.
  std::signal(SIGPIPE, SIG_IGN);
  std::signal(SIGXFSZ, SIG_IGN);
  command_line.assign(argv, argv + argc);
  settings s;
  CLI::App app{"Trains MiniGoogLeNet, a network of 1,656,250 parameters, on CIFAR-10 and plots the progress."};
  declare(app, s);
  bool const first = launched.rank <= 0;  // the first of several processes, or the only one
  try {
    app.parse(argc, argv);
    if (s.summary) {
      if (first) model::summary();
      return 0;
    }
    check(s);
    if (!s.graph.empty()) {
      if (first) draw(s);
      return 0;
    }
    int const code = start(s);
    if (int const late = dsl::stop_on_signal::received()) dsl::end_by_signal(late);  // everything is written
    return code;
  } catch (dsl::interrupted const& e) {
    std::fflush(nullptr);
    dsl::end_by_signal(e.signal);
  } catch (CLI::Success const& e) {  // --help
    return first ? app.exit(e) : 0;
  } catch (CLI::ParseError const& e) {
    return fail(2, std::string(e.what()) + "; --help lists the options");
  } catch (dsl::option_error const& e) {
    return fail(2, e.what());
  } catch (std::exception const& e) {
    return fail(1, e.what());
  }
}
