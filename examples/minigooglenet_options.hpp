// SPDX-License-Identifier: MIT
#pragma once

// The command line of minigooglenet_cifar, and its checks.

#include <CLI/CLI.hpp>
#include <fmt/core.h>

#include <dsl/dsl.hpp>
#include <dsl/text.hpp>
#ifdef TYPENET_HAS_SAFETENSORS
#include <dsl/io/safetensors.hpp>
#endif

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <string>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

#ifdef TYPENET_HAS_ONEDNN
inline constexpr bool has_onednn = true;
#else
inline constexpr bool has_onednn = false;
#endif
#ifdef TYPENET_HAS_CUDA
inline constexpr bool has_cuda = true;
#else
inline constexpr bool has_cuda = false;
#endif
#ifdef TYPENET_HAS_NCCL
inline constexpr bool has_nccl = true;
#else
inline constexpr bool has_nccl = false;
#endif

using weights_function = void (*)(dsl::trainer&, std::string const& path);
#ifdef TYPENET_HAS_SAFETENSORS
inline constexpr weights_function safetensors = [](dsl::trainer& t, std::string const& path) {
  dsl::save_safetensors(t, path);
};
#else
inline constexpr weights_function safetensors = nullptr;
#endif
/// Returns the ending of a name that selects a format in which this program writes no weights, or nothing.
inline std::string foreign_format(std::string const& path) {
  std::string small = path;
  for (char& c : small) c = c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  for (char const* other : {".h5", ".keras", ".onnx", ".pt", ".pth", ".npz", ".safetensors"})
    if (small.ends_with(other) && !path.ends_with(".safetensors"))
      return path.substr(path.size() - std::string(other).size());
  return "";
}
/// Returns the format that a file's name selects.
inline weights_function writer(std::string const& path) {
  constexpr weights_function own = dsl::save_weights;
  return path.ends_with(".safetensors") ? safetensors : own;
}

struct settings {
  std::string output;
  int gpus = 1;
  std::vector<int> devices;
  std::string merge = "host_merge";
  std::string collectives = "host";
  bool synchronized = false;
  std::string data;
  bool synthetic = false;
  int epochs = 70;
  int batch_size = 64;
  double learning_rate = 5e-3;
  std::string optimizer = "sgd";
  double momentum = 0.9;
  bool nesterov = false;
  double weight_decay = 0;
  double clip_norm = 0;
  double label_smoothing = 0;
  double bn_momentum = 0.99;
  std::int64_t seed = 0;
  std::string executor = "native";
  int threads = 0;
  std::string precision = "bf16";
  bool deterministic = false;
  int verbose = 2;
  std::int64_t train_size = 0;
  std::int64_t test_size = 0;
  std::string augment = "shift_flip";
  std::string crop_border = "zero";
  int cutout = 16;
  int cutout_epochs = 0;
  bool summary = false;
  std::string graph;
  std::string schedule = "poly";
  int swa = 0;
  double ema = 1;
  std::string monitor = "val_acc";
  int early_stopping = 0;
  std::string best;
  std::string weights;
  std::string confusion;
  std::string csv;
  std::string tensorboard;
  bool resume = false;
  int save_every = 0;
  double deadline = 30;

  std::uint64_t key() const { return static_cast<std::uint64_t>(seed); }
  // These names contain the plot's whole name, so that runs with other plots in the folder have other files.
  std::string history() const { return output + ".history.csv"; }
  std::string classes() const { return weights + ".classes"; }
  bool confusion_as_text() const { return confusion.ends_with(".txt"); }
  std::string checkpoint() const { return output + ".checkpoint"; }
};

inline void declare(CLI::App& app, settings& s) {
  app.option_defaults()->always_capture_default();  // --help shows the values in `s`
  app.add_option("-o,--output", s.output,
                 "file for the plot, .png or .svg, which is updated while training;\nPLOT.history.csv is written "
                 "beside it [required for training]")
      ->type_name("PLOT");
  CLI::Option const* const gpus =
      app.add_option("-g,--gpus,--towers", s.gpus,
                     "number of towers (replicas), one per device; each takes a part of every batch")
          ->type_name("G");
  app.add_option("--devices", s.devices,
                 "device numbers, separated by commas; also sets --gpus if that is not given;\ndefault: 0 to G - 1")
      ->type_name("LIST")
      ->delimiter(',');
  app.callback([gpus, &s] {  // after all options were read
    if (gpus->count() == 0 && !s.devices.empty()) s.gpus = static_cast<int>(s.devices.size());
  });
  app.add_option(
         "--merge", s.merge,
         "how towers split a batch and update batch_norm's running statistics: host_merge (equal parts, the last\n"
         "tower takes the rest; each tower updates the statistics in turn), like Keras's multi_gpu_model, or\n"
         "all_reduce (parts differ by at most one image; the mean over the towers), like TensorFlow's\n"
         "MirroredStrategy")
      ->type_name("NAME");
  app.add_option("--collectives", s.collectives,
                 "how towers on GPUs sum their gradients: on the host, or with NCCL from GPU to GPU")
      ->type_name("host|nccl");
  app.add_flag("--synchronized", s.synchronized,
               "compute batch_norm over the whole batch instead of the part of each tower; slower");
  app.add_option("-e,--epochs", s.epochs, "passes over the training images")->type_name("N");
  app.add_option("-b,--batch-size", s.batch_size, "images per step and tower")->type_name("N");
  app.add_option("-l,--learning-rate", s.learning_rate, "maximum learning rate; see --schedule")->type_name("RATE");
  app.add_option("--schedule", s.schedule,
                 "learning rate schedule: poly (linear to 0), cosine, step (divided by 10 after each third\n"
                 "of the epochs) or one_cycle (up in the first 30 % of the steps, then down)")
      ->type_name("NAME");
  app.add_option("--swa", s.swa,
                 "stochastic weight averaging: after N epochs the learning rate stays constant, and the mean of\nthe "
                 "weights since then, sampled every 4 steps, is validated and saved; 0: off")
      ->type_name("N");
  app.add_option("--ema", s.ema,
                 "decay of an exponential moving average of the weights, such as 0.998; the average starts\nwith the "
                 "first step or, with --swa N, after N epochs; 1: with --swa N, a plain mean of the weights;\n"
                 "without --swa, no averaging")
      ->type_name("M");
  app.add_option("--bn-momentum", s.bn_momentum,
                 "momentum of batch_norm's running statistics; use 0.9 for runs of few steps")
      ->type_name("M");
  std::string const optimizer = "Optimizer";
  app.add_option("--optimizer", s.optimizer,
                 "sgd, adam, adamw or rmsprop; for the last three try --learning-rate 0.001")
      ->type_name("NAME")
      ->group(optimizer);
  app.add_option("--momentum", s.momentum, "momentum of sgd")->type_name("M")->group(optimizer);
  app.add_flag("--nesterov", s.nesterov, "use Nesterov momentum in sgd")->group(optimizer);
  app.add_option("--weight-decay", s.weight_decay,
                 "factor D of the L2 penalty, which adds D * weight to each gradient; adamw instead subtracts\n"
                 "rate * D * weight from the weight")
      ->type_name("D")
      ->group(optimizer);
  app.add_option("--clip-norm", s.clip_norm, "scale all gradients down to this global norm; 0: off")
      ->type_name("L")
      ->group(optimizer);
  app.add_option("--label-smoothing", s.label_smoothing,
                 "share of the target that is spread over all classes; losses are those of the smoothed target")
      ->type_name("S")
      ->group(optimizer);
  app.add_option("--seed", s.seed, "seed of weights, order of the data, augmentation and dropout")->type_name("N");
  app.add_option("--executor", s.executor, "native, onednn, cuda (a GPU) or reference (plain loops, very slow)")
      ->type_name("NAME");
  app.add_option_function<std::string>(
         "--towers-on",
         [&s](std::string const& where) {
           if (where != "cpu" && where != "cuda")
             throw CLI::ValidationError("--towers-on", "it must be cpu or cuda; found " + where);
           s.executor = where == "cuda" ? "cuda" : "native";
         },
         "what a tower runs on: cpu (processor cores) or cuda (a GPU); selects the executor")
      ->type_name("cpu|cuda")
      ->excludes("--executor");
  app.add_option("--threads", s.threads, "threads of the executor, shared by all towers; 0: one per core")
      ->type_name("N");
  app.add_option("--precision", s.precision, "precision on GPUs: bf16, tf32 or fp32_strict")->type_name("P");
  app.add_flag("--deterministic", s.deterministic, "bit-identical results in every run on GPUs; may be slower");
  app.add_option("--verbose", s.verbose, "output while training: 0 none, 1 a progress bar, 2 one line per epoch")
      ->type_name("0|1|2");
  CLI::Option* const augment =
      app.add_option("--augment", s.augment,
                     "shift_flip: shift by up to 3.2 pixels, flip; crop_flip: pad by 4 pixels, crop, flip;\n"
                     "crop_flip_cutout: also cut out a square; none")
          ->type_name("NAME");
  app.add_option("--crop-border", s.crop_border, "padding of crops: zero (the mean image), edge or mirror")
      ->type_name("NAME");
  app.add_option("--cutout", s.cutout, "side in pixels of the square that --augment crop_flip_cutout cuts out")
      ->type_name("N");
  app.add_option("--cutout-epochs", s.cutout_epochs,
                 "cut out squares only in the first N epochs, so that the last ones see whole images; 0: in all")
      ->type_name("N");
  app.add_flag_callback(
         "--no-augment", [&s] { s.augment = "none"; }, "train on unchanged images: --augment none")
      ->excludes(augment);
  app.add_flag("--resume", s.resume,
               "resume from PLOT.checkpoint, which an unfinished run leaves, and end with the same bits as an\n"
               "uninterrupted run; without a checkpoint, start from the beginning");
  app.add_option("--confusion", s.confusion,
                 "file for the confusion matrix of the test set: .png or .svg, or .txt for a table of counts")
      ->type_name("FILE");
  app.add_option("--deadline", s.deadline,
                 "under mpirun: seconds until the job ends if a process dies or hangs;\n"
                 "with --collectives nccl: seconds that GPUs wait for one that does not respond")
      ->type_name("SECONDS");
  app.add_flag("--summary", s.summary, "print the table of layers and exit");
  app.add_option("--graph", s.graph, "write a diagram of the network for Graphviz (dot -Tsvg FILE) and exit")
      ->type_name("FILE");

  std::string const callbacks = "While training";
  app.add_option("--monitor", s.monitor, "the metric to monitor: loss, acc, val_loss or val_acc")
      ->type_name("NAME")
      ->group(callbacks);
  app.add_option("--early-stopping", s.early_stopping,
                 "stop when --monitor has not improved for N epochs, and restore the weights of the best epoch;\n"
                 "0: off")
      ->type_name("N")
      ->group(callbacks);
  app.add_option("--best", s.best,
                 "file for the weights of the epoch with the best --monitor; may be a pattern such as\n"
                 "best-{epoch:02d}-{val_acc:.4f}; formats and FILE.classes as for --weights")
      ->type_name("FILE")
      ->group(callbacks);
  app.add_option("--weights", s.weights,
                 "file for the final weights; PyTorch can load it if its name ends in .safetensors; the program\n"
                 "classify reads both formats; FILE.classes, written beside it, has the class names and the mean\n"
                 "image for classify")
      ->type_name("FILE")
      ->group(callbacks);
  app.add_option("--csv", s.csv, "file for a row of metrics after each epoch")->type_name("FILE")->group(callbacks);
  app.add_option("--tensorboard", s.tensorboard, "directory for TensorBoard event files: tensorboard --logdir DIR")
      ->type_name("DIR")
      ->group(callbacks);
  app.add_option("--save-every", s.save_every, "also write PLOT.checkpoint every N steps; 0: only after each epoch")
      ->type_name("N")
      ->group(callbacks);

  std::string const data = "Data";
  app.add_option("-d,--data", s.data,
                 "directory of CIFAR-10's *.bin files; default: $TYPENET_DATA if set, else $XDG_CACHE_HOME/typenet\n"
                 "(default ~/.cache/typenet), where scripts/download_cifar10 puts them, or else synthetic images")
      ->type_name("DIR")
      ->group(data);
  app.add_flag("--synthetic", s.synthetic, "use synthetic images of ten classes: no download, quickly learnt")
      ->group(data);
  app.add_option("--train-size", s.train_size, "number of training images; 0: all of CIFAR-10, or 3,840 synthetic ones")
      ->type_name("N")
      ->group(data);
  app.add_option("--test-size", s.test_size, "number of test images; 0: all of CIFAR-10, or 1,000 synthetic ones")
      ->type_name("N")
      ->group(data);

  app.footer(R"(
Examples:
  All defaults: the recipe of Keras tutorials for this network, 70 epochs, which reached 90.65 % on the test set in
  Keras. An epoch took 4.5 minutes of CPU time on an AMD EPYC with AVX-512:
    scripts/download_cifar10 && minigooglenet_cifar --output plot.png
  Three epochs on CIFAR-10, with a progress bar:
    minigooglenet_cifar -o plot.png --epochs 3 --bn-momentum 0.9 --verbose 1
  The same on two towers with one core each, and the same total batch of 64:
    minigooglenet_cifar -o plot.png --epochs 3 --bn-momentum 0.9 --towers 2 --batch-size 32
  On two machines with two towers each, and a total batch of 256 (docs/several_machines.md):
    mpirun -n 2 --host a,b --bind-to none minigooglenet_cifar -o plot.png --gpus 2
  A minute on synthetic images: 480 small steps, over 90 % on the test set:
    minigooglenet_cifar -o plot.png --synthetic --epochs 4 --batch-size 32 --learning-rate 0.02 --bn-momentum 0.9

The exit code is 0 if plot and history were written, 2 for invalid options, and 1 for any other error. After an
error, one line on standard error says what is wrong and what to do, and no history is left unless the training had
finished: PLOT.history.csv is written first, in case the disk is full for weights or plot.

Ctrl-C, SIGTERM, SIGHUP and SIGUSR1 stop a run after the current step: it writes PLOT.checkpoint, prints how to
resume, and ends by that signal. A second signal ends it at once, but not the same one within a second. Files of an
earlier run are kept as NAME.before. A run that is killed leaves PLOT with the epochs so far. It also leaves
PLOT.checkpoint, from which --resume continues. The first checkpoint is written after the first epoch (with --swa or
--ema, one step later) or, with --save-every N, after N + 1 steps. If these files cannot be written while training, the
program warns and continues.)");
  CLI::Validator const whole(
      [](std::string& text) -> std::string {
        std::size_t const digits = text.size() - (text.starts_with('-') ? 1 : 0);
        bool const plain = text.find_first_not_of("0123456789", text.starts_with('-') ? 1 : 0) == std::string::npos;
        bool const leading = digits > 1 && text[text.size() - digits] == '0';
        return plain && !leading && digits >= 1 && digits <= 18 ? "" : "must be a whole number; found " + text;
      },
      "");
  // An empty name is that of an unset shell variable, for example: after hours of training, the file would be missing.
  CLI::Validator const named(
      [](std::string& path) -> std::string {
        return path.empty() ? "must name a file or directory; found nothing" : "";
      },
      "");
  for (CLI::Option* o : app.get_options())
    if (o->get_type_name() == "FILE" || o->get_type_name() == "DIR") o->check(named);
  for (CLI::Option* o : app.get_options())
    if (o->get_type_name() == "N" || o->get_type_name() == "G" || o->get_type_name() == "LIST") o->check(whole);
}

/// Returns f(the optimizer that the options describe).
template <class F>
auto with_optimizer(settings const& s, F f) {
  double const rate = s.learning_rate;
  dsl::gradient_clip const clip{.norm = s.clip_norm};
  if (s.optimizer == "adam") return f(dsl::adam{.learning_rate = rate, .weight_decay = s.weight_decay, .clip = clip});
  if (s.optimizer == "adamw") return f(dsl::adamw{.learning_rate = rate, .weight_decay = s.weight_decay, .clip = clip});
  if (s.optimizer == "rmsprop")
    return f(dsl::rmsprop{.learning_rate = rate, .weight_decay = s.weight_decay, .clip = clip});
  return f(dsl::sgd{.learning_rate = rate,
                    .momentum = s.momentum,
                    .nesterov = s.nesterov,
                    .weight_decay = s.weight_decay,
                    .clip = clip});
}

/// Returns whether a name with fields, such as best-{epoch:02d}, may become `name`, which has none: `name` must begin
/// and end like it, and have numbers and the text between fields in the rest. A pattern with words between its fields
/// is not recognised.
inline bool may_become(std::string const& pattern, std::string const& name) {
  std::size_t const begin = pattern.find('{'), end = pattern.rfind('}');
  if (begin == pattern.npos || end == pattern.npos || end < begin) return false;
  std::string const after = pattern.substr(end + 1);
  if (name.size() <= begin + after.size() || !name.starts_with(pattern.substr(0, begin)) || !name.ends_with(after))
    return false;
  std::string const values = name.substr(begin, name.size() - after.size() - begin);
  return values.find_first_not_of("0123456789+-._e") == values.npos;
}

/// Refuses two outputs with one file, since after hours of training the later one would replace the earlier one. An
/// output may not be a file that a run removes either, nor the data.
inline void check_names(settings const& s) {
  struct output {
    char const* option;
    std::string path;
  };
  std::vector<output> all;
  // A link at the end of a path is itself replaced, not its target.
  auto const name_of = [](std::string const& path) {
    std::error_code unknown;  // if folders cannot be inspected, names are compared as they are
    std::filesystem::path const whole = std::filesystem::absolute(path, unknown);
    std::filesystem::path const folder = std::filesystem::weakly_canonical(whole.parent_path(), unknown);
    return unknown ? path : (folder / whole.filename()).string();
  };
  auto const taken_by = [&](std::string const& given, std::string const& path) -> output const* {
    std::string const name = name_of(path);
    for (output const& other : all)
      if (!given.empty() && (other.path == name || may_become(other.path, name) || may_become(name, other.path)))
        return &other;
    return nullptr;
  };
  auto const add = [&](char const* option, std::string const& given, std::string const& path) {
    std::string const name = name_of(path);
    if (output const* const other = taken_by(given, path))
      throw dsl::option_error(fmt::format("{} and {}: both would be {}; choose a different name for one of them",
                                          other->option, option, path));
    if (!given.empty()) all.push_back({option, name});
  };
  add("--output", s.output, s.output);
  add("--output's checkpoint", s.output, s.checkpoint());
  if (name_of(s.csv) != name_of(s.history()))
    add("--output's history", s.output, s.history());  // they contain the same rows
  add("--weights", s.weights, s.weights);
  add("--weights' classes", s.weights, s.classes());
  add("--best", s.best, s.best);
  add("--best's classes", s.best, s.best + ".classes");
  add("--confusion", s.confusion, s.confusion);
  add("--csv", s.csv, s.csv);
  add("--tensorboard", s.tensorboard, s.tensorboard);
  auto const reserve = [&](std::string const& given, std::string const& path, std::string const& is) {
    if (output const* const other = taken_by(given, path))
      throw dsl::option_error(
          fmt::format("{}: it must not be {}, {}; choose a different name", other->option, path, is));
  };
  reserve(s.output, s.checkpoint() + ".before", "the state of an earlier run that --output keeps");
  for (std::string const& locked : {s.output, s.checkpoint(), s.weights, s.confusion, s.csv, s.best})
    reserve(locked, locked + ".lock", "the lock of " + locked);
  std::string const folder = s.synthetic ? "" : dsl::cifar10::find(s.data);
  for (char const* file :
       {"data_batch_1", "data_batch_2", "data_batch_3", "data_batch_4", "data_batch_5", "test_batch"})
    reserve(folder, folder + "/" + file + ".bin", "a file of the data");
}

inline bool is_picture(std::string const& path) {
  try {
    dsl::plot_format_of(path);
    return true;
  } catch (dsl::file_error const&) {
    return false;
  }
}

inline void check(settings const& s) {
  auto const need = [](bool holds, std::string const& message) {
    if (!holds) throw dsl::option_error(message);
  };
  auto const found = [](auto value) { return "; found " + fmt::format("{}", value); };
  need(!s.output.empty() || !s.graph.empty(), "--output: it must name the file for the plot; add --output plot.png");
  need(s.output.empty() || is_picture(s.output),
       "--output: the name must end in .png or .svg" + found(s.output) + "; rename it to plot.png");
  need(s.gpus >= 1, "--gpus (--towers): it must be 1 or more" + found(s.gpus) + "; leave it out for 1");
  need(s.gpus <= 1024, "--gpus (--towers): there must be at most 1024" + found(s.gpus) + "; use fewer");
  int const cores = std::max(1, static_cast<int>(std::thread::hardware_concurrency()));
  need(s.gpus <= 8 * cores || s.executor == "cuda" || !s.graph.empty(),
       fmt::format("--gpus (--towers): on the CPU there must be at most 8 towers per core, {} here", 8 * cores) +
           found(s.gpus) + "; use fewer");
  need(s.merge == "host_merge" || s.merge == "all_reduce",
       "--merge: it must be host_merge or all_reduce" + found(s.merge));
  need(s.epochs >= 1, "--epochs: it must be 1 or more" + found(s.epochs) + "; try 70");
  need(s.batch_size >= 1, "--batch-size: it must be 1 or more" + found(s.batch_size) + "; try 64");
  need(s.batch_size <= 0x7fffffff / s.gpus,
       "--batch-size: multiplied by --gpus (--towers), it must be below 2,147,483,648" + found(s.batch_size) +
           "; use a smaller one");
  need(s.learning_rate > 0 && s.learning_rate < 1e30,
       "--learning-rate: it must be a number above 0" + found(s.learning_rate) + "; try 0.005");
  need(s.optimizer == "sgd" || s.optimizer == "adam" || s.optimizer == "adamw" || s.optimizer == "rmsprop",
       "--optimizer: it must be sgd, adam, adamw or rmsprop" + found(s.optimizer));
  need(s.optimizer == "sgd" || (s.momentum == settings{}.momentum && !s.nesterov),
       "--momentum and --nesterov are for --optimizer sgd" + found(s.optimizer) + "; leave them out");
  with_optimizer(s, [](auto const& optimizer) { return optimizer.rule(); });  // throws if a number is invalid
  need(s.label_smoothing >= 0 && s.label_smoothing < 1,
       "--label-smoothing: it must be at least 0 and less than 1" + found(s.label_smoothing) + "; try 0.1");
  need(s.bn_momentum >= 0 && s.bn_momentum < 1,
       "--bn-momentum: it must be at least 0 and less than 1" + found(s.bn_momentum) + "; try 0.9");
  need(s.schedule == "poly" || s.schedule == "cosine" || s.schedule == "step" || s.schedule == "one_cycle",
       "--schedule: it must be poly, cosine, step or one_cycle" + found(s.schedule));
  need(s.swa >= 0 && s.swa < s.epochs, "--swa: it must be 0 (never) or a number of epochs below --epochs, which is " +
                                           std::to_string(s.epochs) + found(s.swa) + "; try " +
                                           std::to_string(s.epochs * 5LL / 6));
  need(s.ema > 0 && s.ema <= 1, "--ema: it must be above 0 and at most 1" + found(s.ema) + "; try 0.998");
  dsl::metric_named(s.monitor);
  need(s.early_stopping >= 0, "--early-stopping: it must be 0 (never) or more" + found(s.early_stopping) + "; try 10");
  for (auto const& [option, file] : {std::pair{"--best: ", s.best}, std::pair{"--weights: ", s.weights}}) {
    need(writer(file), option + ("this program was built without safetensors" + found(file)) +
                           "; install nlohmann_json and build again, or choose another name");
    std::string const other = foreign_format(file);
    need(other.empty(), option + (file + " must not end in a format that this program cannot write; found ") + other +
                            "; end it in .safetensors, or leave " + other +
                            " out for typenet's own format (docs/moving_weights.md explains how to convert weights)");
  }
  need(s.confusion.empty() || is_picture(s.confusion) || s.confusion_as_text(),
       "--confusion: the name must end in .png, .svg or .txt; found " + s.confusion + "; rename it to confusion.png");
  if (!s.best.empty())  // throws for invalid widths
    dsl::model_checkpoint(s.best, {.save_weights_only = true, .writer = writer(s.best)});
  check_names(s);
  need(s.save_every >= 0, "--save-every: it must be 0 (after each epoch) or more" + found(s.save_every) + "; try 500");
  need(s.seed >= 0, "--seed: it must be 0 or more" + found(s.seed));
  need(s.deadline >= 1 && s.deadline < 1e6,
       "--deadline: it must be at least 1 second and less than 1,000,000" + found(s.deadline) + "; try 30");
  need(s.threads >= 0, "--threads: it must be 0 (one per core) or more" + found(s.threads));
  need(s.verbose >= 0 && s.verbose <= 2, "--verbose: it must be 0, 1 or 2" + found(s.verbose));
  need(s.train_size >= 0, "--train-size: it must be 0 (all) or more" + found(s.train_size) + "; try 3840");
  need(s.test_size >= 0, "--test-size: it must be 0 (all) or more" + found(s.test_size) + "; try 1000");
  bool const augments =
      s.augment == "shift_flip" || s.augment == "crop_flip" || s.augment == "crop_flip_cutout" || s.augment == "none";
  need(augments, "--augment: it must be shift_flip, crop_flip, crop_flip_cutout or none" + found(s.augment));
  need(s.crop_border == "zero" || s.crop_border == "edge" || s.crop_border == "mirror",
       "--crop-border: it must be zero, edge or mirror" + found(s.crop_border));
  need(s.crop_border == settings{}.crop_border || s.augment.starts_with("crop_flip"),
       "--crop-border is for --augment crop_flip and crop_flip_cutout" + found(s.augment) + "; leave it out");
  need(s.cutout == settings{}.cutout || s.augment == "crop_flip_cutout",
       "--cutout is for --augment crop_flip_cutout" + found(s.augment) + "; leave it out");
  need(s.cutout >= 1 && s.cutout <= 32, "--cutout: it must be 1 to 32 pixels" + found(s.cutout) + "; try 16");
  need(s.cutout_epochs == 0 || s.augment == "crop_flip_cutout",
       "--cutout-epochs is for --augment crop_flip_cutout" + found(s.augment) + "; leave it out");
  need(s.cutout_epochs >= 0, "--cutout-epochs: it must be 0 (all) or more" + found(s.cutout_epochs) + "; try 25");
  need(!s.synthetic || s.data.empty(), "--synthetic and --data: only one of them may be given; leave one out");
  bool const needs_nothing = s.executor == "native" || s.executor == "reference";
  need(needs_nothing || (s.executor == "onednn" && has_onednn) || (s.executor == "cuda" && has_cuda),
       "--executor: it must be one that is built in" + found(s.executor) + "; this program has native, " +
           (has_onednn ? "onednn, " : "") + (has_cuda ? "cuda, " : "") +
           "reference; for others install their libraries and build again");
  bool const known = s.precision == "bf16" || s.precision == "tf32" || s.precision == "fp32_strict";
  need(known, "--precision: it must be bf16, tf32 or fp32_strict" + found(s.precision));
  need(s.executor == "cuda" || (s.precision == "bf16" && !s.deterministic),
       "--precision and --deterministic are for --executor cuda" + found(s.executor) + "; leave them out");
  need(s.collectives == "host" || s.collectives == "nccl",
       "--collectives: it must be host or nccl" + found(s.collectives));
  need(s.executor == "cuda" || s.collectives == "host",
       "--collectives nccl is for --executor cuda" + found(s.executor) + "; leave it out");
  need(!s.deterministic || s.collectives == "host",
       "--deterministic and --collectives nccl cannot be combined: NCCL chooses the order of its sums; leave one out");
  need(s.collectives == "host" || has_nccl,
       "--collectives: this program was built without NCCL; install it and build again");
  need(s.executor == "native" || s.executor == "onednn" || s.threads <= 1,
       "--threads: " + s.executor + " has one thread" + found(s.threads) + "; leave it out");
}
