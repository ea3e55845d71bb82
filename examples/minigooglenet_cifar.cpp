// SPDX-License-Identifier: MIT
// Trains MiniGoogLeNet on CIFAR-10 with the recipe of the Keras tutorials: pixels minus their mean, shifts and flips,
// SGD with momentum, a learning rate that falls in a straight line to 0 over the run. --help has the options.
#include <CLI/CLI.hpp>

#include <dsl/data/crop_and_cutout.hpp>
#include <dsl/dsl.hpp>
#include <dsl/io/classes_file.hpp>
#include <dsl/io/confusion_plot.hpp>
#include <dsl/io/tensorboard.hpp>
#include <dsl/text.hpp>
#include <dsl/text/confusion_table.hpp>
#include <dsl/text/dot.hpp>
#include <dsl/towers.hpp>
#include <dsl/towers/launcher.hpp>
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

#include <cstdio>
#include <cstdlib>
#include <filesystem>

using model = dsl::network<dsl::image<3, 32, 32>, dsl::minigooglenet<10>>;
static_assert(model::output == dsl::shape{10});
static_assert(model::parameter_count == 1'656'250);  // what Keras reports

namespace {

#ifdef TYPENET_HAS_ONEDNN
constexpr bool has_onednn = true;
#else
constexpr bool has_onednn = false;
#endif
#ifdef TYPENET_HAS_CUDA
constexpr bool has_cuda = true;
#else
constexpr bool has_cuda = false;
#endif
#ifdef TYPENET_HAS_NCCL
constexpr bool has_nccl = true;
#else
constexpr bool has_nccl = false;
#endif

#ifdef TYPENET_HAS_SAFETENSORS
constexpr dsl::weights_writer safetensors = [](dsl::trainer& t, std::string const& path) {
  dsl::save_safetensors(t, path);
};
#else
constexpr dsl::weights_writer safetensors = nullptr;
#endif
/// The format that a file's name asks for.
dsl::weights_writer writer(std::string const& path) {
  return path.ends_with(".safetensors") ? safetensors : dsl::save_weights;
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
  std::string executor = has_onednn ? "onednn" : "reference";
  int threads = 0;
  std::string precision = "bf16";
  bool deterministic = false;
  int verbose = 2;
  std::int64_t train_size = 0;
  std::int64_t test_size = 0;
  std::string augment = "shift_flip";
  bool summary = false;
  std::string graph;
  std::string schedule = "poly";
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
  // Named after the whole of the plot's name, so that runs with other plots in one folder have files of their own.
  std::string history() const { return output + ".history.csv"; }
  std::string classes() const { return weights + ".classes"; }
  bool confusion_as_text() const { return confusion.ends_with(".txt"); }
  std::string checkpoint() const { return output + ".checkpoint"; }
  bool keeps_checkpoint() const { return epochs > 1 || resume || save_every > 0; }
};

void declare(CLI::App& app, settings& s) {
  app.option_defaults()->always_capture_default();  // --help shows what is in `s`
  app.add_option("-o,--output", s.output,
                 "where the plot goes: a .png or .svg, of all epochs so far while it trains;\n"
                 "PLOT.history.csv goes beside it [required]")
      ->type_name("PLOT");
  app.add_option("-g,--gpus", s.gpus, "towers, one a device, that each take a part of every batch")->type_name("G");
  app.add_option("--devices", s.devices, "which ones: numbers, with commas between them; default: 0 to G - 1")
      ->type_name("LIST")
      ->delimiter(',');
  app.add_option("--merge", s.merge,
                 "of the towers: host_merge, as Keras's multi_gpu_model, or all_reduce, as MirroredStrategy")
      ->type_name("NAME");
  app.add_option("--collectives", s.collectives,
                 "how the executor cuda's towers add up gradients: on the host, or nccl, from GPU to GPU")
      ->type_name("host|nccl");
  app.add_flag("--synchronized", s.synchronized,
               "batch_norm over the whole batch instead of each tower's part; slower");
  app.add_option("-e,--epochs", s.epochs, "passes over the training pictures")->type_name("N");
  app.add_option("-b,--batch-size", s.batch_size, "pictures a step, per tower")->type_name("N");
  app.add_option("-l,--learning-rate", s.learning_rate, "the highest; --schedule says how it changes")
      ->type_name("RATE");
  app.add_option("--schedule", s.schedule,
                 "of the learning rate: poly (a straight line to 0), cosine, step (a tenth behind each\n"
                 "third of the epochs) or one_cycle (up in the first 30 % of the steps, then down)")
      ->type_name("NAME");
  app.add_option("--bn-momentum", s.bn_momentum,
                 "what batch_norm's running statistics keep each step; for runs of few steps 0.9")
      ->type_name("M");
  std::string const optimizer = "Optimizer";
  app.add_option("--optimizer", s.optimizer,
                 "sgd, adam, adamw or rmsprop; for the last three try --learning-rate 0.001")
      ->type_name("NAME")
      ->group(optimizer);
  app.add_option("--momentum", s.momentum, "of sgd")->type_name("M")->group(optimizer);
  app.add_flag("--nesterov", s.nesterov, "sgd looks ahead by its momentum")->group(optimizer);
  app.add_option("--weight-decay", s.weight_decay, "L2, a part of the gradients; of adamw: rate * D of each weight")
      ->type_name("D")
      ->group(optimizer);
  app.add_option("--clip-norm", s.clip_norm, "bring all gradients together down to this length; 0: as they are")
      ->type_name("L")
      ->group(optimizer);
  app.add_option("--label-smoothing", s.label_smoothing,
                 "what part of the target all classes share; losses are then those of the smoothed target")
      ->type_name("S")
      ->group(optimizer);
  app.add_option("--seed", s.seed, "of weights, order, augmentation and dropout")->type_name("N");
  app.add_option("--executor", s.executor, "onednn, cuda (a GPU) or reference (plain loops, very slow)")
      ->type_name("NAME");
  app.add_option_function<std::string>(
         "--towers-on",
         [&s](std::string const& where) {
           if (where != "cpu" && where != "cuda")
             throw CLI::ValidationError("--towers-on", "it must be cpu or cuda; found " + where);
           s.executor = where == "cuda" ? "cuda" : has_onednn ? "onednn" : "reference";
         },
         "what a tower is: cpu (processor cores) or cuda (a GPU); chooses the executor")
      ->type_name("cpu|cuda")
      ->excludes("--executor");
  app.add_option("--threads", s.threads, "of the executor; 0: one per core")->type_name("N");
  app.add_option("--precision", s.precision, "of the executor cuda: bf16, tf32 or fp32_strict")->type_name("P");
  app.add_flag("--deterministic", s.deterministic, "the executor cuda gives the same bits in every run, maybe slower");
  app.add_option("--verbose", s.verbose, "while it trains: 0 nothing, 1 a progress bar, 2 a line an epoch")
      ->type_name("0|1|2");
  CLI::Option* const augment =
      app.add_option(
             "--augment", s.augment,
             "shift_flip, the tutorials'; crop_flip: 4 pixels of padding, then a crop; crop_flip_cutout: and a\n"
             "hole of 16x16; none")
          ->type_name("NAME");
  app.add_flag_callback(
         "--no-augment", [&s] { s.augment = "none"; }, "train on the pictures as they are: --augment none")
      ->excludes(augment);
  app.add_flag("--resume", s.resume,
               "go on from PLOT.checkpoint, which a run that did not end has left, to the same bits;\n"
               "where there is none: from the beginning");
  app.add_option("--confusion", s.confusion,
                 "where the test set's confusion matrix goes: a .png or .svg, or a .txt with the counts as a table")
      ->type_name("FILE");
  app.add_option("--deadline", s.deadline,
                 "under mpirun: seconds in which the job ends when a process has died or hangs;\n"
                 "with --collectives nccl: for which GPUs wait for one that does not come")
      ->type_name("SECONDS");
  app.add_flag("--summary", s.summary, "print the table of layers and end");
  app.add_option("--graph", s.graph, "write the picture of the network, for Graphviz, and end: dot -Tsvg FILE")
      ->type_name("FILE");

  std::string const callbacks = "While it trains";
  app.add_option("--monitor", s.monitor, "which metric is watched: loss, acc, val_loss or val_acc")
      ->type_name("NAME")
      ->group(callbacks);
  app.add_option("--early-stopping", s.early_stopping,
                 "end when --monitor has not become better for N epochs, and take the best one's weights;\n"
                 "0: never")
      ->type_name("N")
      ->group(callbacks);
  app.add_option("--best", s.best,
                 "keep the weights of the epoch with the best --monitor, as in best-{epoch:02d}-{val_acc:.4f}")
      ->type_name("FILE")
      ->group(callbacks);
  app.add_option("--weights", s.weights,
                 "where the weights go at the end; those in a .safetensors PyTorch can load, others the program\n"
                 "classify, for which FILE.classes beside it has the classes' names and the pictures' mean")
      ->type_name("FILE")
      ->group(callbacks);
  app.add_option("--csv", s.csv, "a row an epoch, as it ends")->type_name("FILE")->group(callbacks);
  app.add_option("--tensorboard", s.tensorboard, "curves that TensorBoard shows: tensorboard --logdir DIR")
      ->type_name("DIR")
      ->group(callbacks);
  app.add_option("--save-every", s.save_every, "write PLOT.checkpoint every N steps, too; 0: behind each epoch alone")
      ->type_name("N")
      ->group(callbacks);

  std::string const data = "Data";
  app.add_option("-d,--data", s.data,
                 "directory of CIFAR-10's *.bin files; default: $TYPENET_DATA, then ~/.cache/typenet, where\n"
                 "scripts/download_cifar10 puts them, then synthetic pictures")
      ->type_name("DIR")
      ->check(CLI::Validator([](std::string& path) { return path.empty() ? std::string("must name a directory") : ""; },
                             ""))
      ->group(data);
  app.add_flag("--synthetic", s.synthetic, "ten kinds of drawn pictures instead: no download, quickly learnt")
      ->group(data);
  app.add_option("--train-size", s.train_size, "training pictures; 0: all of CIFAR-10's, or 3,840 drawn ones")
      ->type_name("N")
      ->group(data);
  app.add_option("--test-size", s.test_size, "test pictures; 0: all of CIFAR-10's, or 1,000 drawn ones")
      ->type_name("N")
      ->group(data);

  app.footer(R"(
Examples:
  The tutorials' run, 70 epochs; in Keras it ended with 90.65 % on the test set. Hours on a CPU.
    scripts/download_cifar10 && minigooglenet_cifar --output plot.png
  A look at real data in three epochs, with a progress bar:
    minigooglenet_cifar -o plot.png --epochs 3 --bn-momentum 0.9 --verbose 1
  The same on two towers, one a core, with the same batch of 64 in all:
    minigooglenet_cifar -o plot.png --epochs 3 --bn-momentum 0.9 --gpus 2 --batch-size 32
  On two machines with two towers each, and a batch of 256 in all (docs/several_machines.md):
    mpirun -n 2 --host a,b --bind-to none minigooglenet_cifar -o plot.png --gpus 2
  A minute without any data: 480 small steps, over 90 % on the synthetic test set.
    minigooglenet_cifar -o plot.png --synthetic --epochs 4 --batch-size 32 --learning-rate 0.02 --bn-momentum 0.9

It exits with 0 when plot and history are written, 2 for options that can't be, 1 for everything else that goes
wrong; then one line on standard error says what and what to do, and no history is left behind, unless the
training was over and the plot alone failed: PLOT.history.csv is written before it, whole. A training that was ended
behind its first epoch, or with --save-every its first N steps, leaves PLOT.checkpoint: add --resume to go on from
there; and PLOT, with its epochs. Where these can't be written while it trains, it warns and goes on.)");
  CLI::Validator const whole(
      [](std::string& text) -> std::string {
        std::size_t const digits = text.size() - (text.starts_with('-') ? 1 : 0);
        bool const plain = text.find_first_not_of("0123456789", text.starts_with('-') ? 1 : 0) == std::string::npos;
        bool const leading = digits > 1 && text[text.size() - digits] == '0';
        return plain && !leading && digits >= 1 && digits <= 18 ? "" : "must be a whole number; found " + text;
      },
      "");
  for (CLI::Option* o : app.get_options())
    if (o->get_type_name() == "N" || o->get_type_name() == "G" || o->get_type_name() == "LIST") o->check(whole);
}

/// f(the optimizer that the options describe).
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

void check(settings const& s) {
  auto const need = [](bool holds, std::string const& message) {
    if (!holds) throw dsl::option_error(message);
  };
  auto const found = [](auto value) { return "; found " + fmt::format("{}", value); };
  need(!s.output.empty() || !s.graph.empty(), "--output: it must say where the plot goes; add --output plot.png");
  need(s.gpus >= 1, "--gpus: it must be 1 or more" + found(s.gpus) + "; leave it out for 1");
  need(s.gpus <= 1024, "--gpus: there can't be more than 1024" + found(s.gpus) + "; use fewer");
  need(s.merge == "host_merge" || s.merge == "all_reduce",
       "--merge: it must be host_merge or all_reduce" + found(s.merge));
  need(s.epochs >= 1, "--epochs: it must be 1 or more" + found(s.epochs) + "; try 70");
  need(s.batch_size >= 1, "--batch-size: it must be 1 or more" + found(s.batch_size) + "; try 64");
  need(s.batch_size <= 0x7fffffff / s.gpus,
       "--batch-size: times --gpus it must be below 2,147,483,648" + found(s.batch_size) + "; use fewer");
  need(s.learning_rate > 0 && s.learning_rate < 1e30,
       "--learning-rate: it must be a number above 0" + found(s.learning_rate) + "; try 0.005");
  need(s.optimizer == "sgd" || s.optimizer == "adam" || s.optimizer == "adamw" || s.optimizer == "rmsprop",
       "--optimizer: it must be sgd, adam, adamw or rmsprop" + found(s.optimizer));
  need(s.optimizer == "sgd" || (s.momentum == settings{}.momentum && !s.nesterov),
       "--momentum and --nesterov are for --optimizer sgd" + found(s.optimizer) + "; leave them out");
  with_optimizer(s, [](auto const& optimizer) { return optimizer.rule(); });  // throws where a number makes no sense
  need(s.label_smoothing >= 0 && s.label_smoothing < 1,
       "--label-smoothing: it must be at least 0 and less than 1" + found(s.label_smoothing) + "; try 0.1");
  need(s.bn_momentum >= 0 && s.bn_momentum < 1,
       "--bn-momentum: it must be at least 0 and less than 1" + found(s.bn_momentum) + "; try 0.9");
  need(s.schedule == "poly" || s.schedule == "cosine" || s.schedule == "step" || s.schedule == "one_cycle",
       "--schedule: it must be poly, cosine, step or one_cycle" + found(s.schedule));
  dsl::metric_named(s.monitor);
  need(s.early_stopping >= 0, "--early-stopping: it must be 0 (never) or more" + found(s.early_stopping) + "; try 10");
  for (std::string const& file : {s.best, s.weights})
    need(writer(file), "--best and --weights: this program has no safetensors" + found(file) +
                           "; install nlohmann_json and build again, or choose another name");
  need(s.save_every >= 0, "--save-every: it must be 0 (behind each epoch) or more" + found(s.save_every) + "; try 500");
  need(s.seed >= 0, "--seed: it must be 0 or more" + found(s.seed));
  need(s.deadline > 0 && s.deadline < 1e6,
       "--deadline: it must be a number of seconds above 0" + found(s.deadline) + "; try 30");
  need(s.threads >= 0, "--threads: it must be 0 (one per core) or more" + found(s.threads));
  need(s.verbose >= 0 && s.verbose <= 2, "--verbose: it must be 0, 1 or 2" + found(s.verbose));
  need(s.train_size >= 0, "--train-size: it must be 0 (all) or more" + found(s.train_size) + "; try 3840");
  need(s.test_size >= 0, "--test-size: it must be 0 (all) or more" + found(s.test_size) + "; try 1000");
  bool const augments =
      s.augment == "shift_flip" || s.augment == "crop_flip" || s.augment == "crop_flip_cutout" || s.augment == "none";
  need(augments, "--augment: it must be shift_flip, crop_flip, crop_flip_cutout or none" + found(s.augment));
  need(!s.synthetic || s.data.empty(), "--synthetic and --data: only one of them can be; leave one out");
  if (s.executor != "reference" && !(s.executor == "onednn" && has_onednn) && !(s.executor == "cuda" && has_cuda))
    throw dsl::executor_error("--executor: it must be one that is built in" + found(s.executor) +
                              "; this program has " + (has_onednn ? "onednn, " : "") + (has_cuda ? "cuda, " : "") +
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
       "--deterministic and --collectives nccl: NCCL chooses in which order it adds up; leave one out");
  if (s.collectives == "nccl" && !has_nccl)
    throw dsl::executor_error("--collectives: this program has no nccl; install it and build again");
  need(s.executor == "onednn" || s.threads <= 1, "--threads: " + s.executor + " has one thread" + found(s.threads));
}

dsl::launch const launched = dsl::launched();  // MPI changes the environment

/// The processes of this job; null: it is one by itself.
std::unique_ptr<dsl::process_group> processes;

/// One of the processes prints and writes files.
bool speaks() { return !processes || processes->process() == 0; }

void say(std::string const& line) {
  if (!speaks()) return;
  std::printf("[INFO] %s\n", line.c_str());
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
                      "scripts/download_cifar10 '{}'",
                      place, place));
    if (!s.data.empty() || !dsl::cifar10::find().empty()) {
      dsl::cifar10 const data = dsl::cifar10::load(s.data);
      auto const first = [](dsl::dataset const& all, std::int64_t count) { return count > 0 ? all.first(count) : all; };
      return {first(data.train, s.train_size), first(data.test, s.test_size), "CIFAR-10"};
    }
    say("no CIFAR-10 in $TYPENET_DATA or ~/.cache/typenet; scripts/download_cifar10 fetches it. Until then:");
  }
  std::int64_t const train = s.train_size > 0 ? s.train_size : 3840;
  std::int64_t const test = s.test_size > 0 ? s.test_size : 1000;
  say(fmt::format("drawing {} + {} synthetic pictures...", train, test));
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
/// GPUs wait for each other as long as processes do; the end, which has two parts, takes less than that.
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
  if (s.augment == "crop_flip") return dsl::in_order{dsl::random_crop{}, dsl::random_flip{}};
  if (s.augment == "crop_flip_cutout") return dsl::in_order{dsl::random_crop{}, dsl::random_flip{}, dsl::cutout{}};
  return dsl::shift_and_flip{};
}

dsl::trainer compile(settings const& s) {
#ifdef TYPENET_HAS_ONEDNN
  if (s.executor == "onednn") return compile(s, dsl::onednn{.threads = s.threads});
#endif
#ifdef TYPENET_HAS_CUDA
  if (s.executor == "cuda") return compile(s, on_gpus(s));
#endif
  return compile(s, dsl::reference{});
}

/// What the processes have in --gpus together.
int all_gpus(settings const& s) {
  if (!processes) return s.gpus;
  std::vector<int> each(static_cast<std::size_t>(processes->processes()));
  processes->gather("--gpus", s.gpus, each.data());
  int all = 0;
  for (int gpus : each) all += gpus;
  if (s.batch_size > 0x7fffffff / all)
    throw dsl::option_error(fmt::format(
        "--batch-size: times all processes' --gpus, {}, it must be below 2,147,483,648; found {}; use fewer", all,
        s.batch_size));
  return all;
}

dsl::callback_handle schedule(settings const& s) {
  if (s.schedule == "cosine") return dsl::learning_rate_schedule{dsl::cosine_decay{.base = s.learning_rate}};
  if (s.schedule == "one_cycle") return dsl::learning_rate_schedule{dsl::one_cycle{.max_rate = s.learning_rate}};
  if (s.schedule == "step") return dsl::learning_rate_schedule{dsl::step_decay{s.learning_rate, (s.epochs + 2) / 3}};
  return dsl::learning_rate_schedule{dsl::poly_decay{s.learning_rate, s.epochs, 1.0}};
}

/// Where the run begins is known when a checkpoint has been looked for.
struct says_where_it_begins : dsl::callback {
  settings const& s;
  explicit says_where_it_begins(settings const& o) : s(o) {}
  void on_train_begin(dsl::fit_run& run) override {
    dsl::fit_position const& at = run.next;
    if (at.step > 0)
      say(fmt::format("resuming behind batch {} of {} of epoch {} of {}", at.step, run.steps, at.epoch + 1,
                      run.epochs));
    else if (at.epoch > 0)
      say(fmt::format("resuming behind epoch {} of {}", at.epoch, run.epochs));
    else if (s.resume)
      say(fmt::format("no {} to resume from: training from the beginning", s.checkpoint()));
    if (at.epoch < run.epochs && !run.stop) say("training network...");  // else only history and plot are missing
  }
};

using best_weights = dsl::early_stopping<dsl::any_metric>;

dsl::plot_options style(std::string const& data) { return {.title = "MiniGoogLeNet on " + data}; }

/// The same in all processes; the first one writes and prints. `stopping` is null without --early-stopping.
std::vector<dsl::callback_handle> callbacks(settings const& s, std::shared_ptr<best_weights> const& stopping,
                                            std::string const& data) {
  std::vector<dsl::callback_handle> all{says_where_it_begins{s}, schedule(s)};
  if (s.verbose == 1) all.emplace_back(dsl::progress_bar{});
  if (s.verbose == 2) all.emplace_back(dsl::epoch_log{});
  if (stopping) all.emplace_back(stopping);
  dsl::model_checkpoint_options const best{
      .save_best_only = true, .save_weights_only = true, .writer = writer(s.best), .verbose = s.verbose > 0};
  if (!s.best.empty()) all.emplace_back(dsl::model_checkpoint(s.best, best, dsl::metric_named(s.monitor)));
  if (!s.csv.empty()) all.emplace_back(dsl::csv_logger(s.csv));
  if (!s.tensorboard.empty()) all.emplace_back(dsl::tensorboard(s.tensorboard));
  if (s.epochs > 1) all.emplace_back(dsl::plot_each_epoch(s.output, {.plot = style(data)}));
  dsl::backup_options const backup{
      .save_freq = s.save_every > 0 ? dsl::every_batches(s.save_every) : dsl::every_epochs(1),
      .delete_checkpoint = false,  // behind the plot
      .restore = s.resume};
  if (s.keeps_checkpoint()) all.emplace_back(dsl::backup_and_restore(s.checkpoint(), backup));
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

/// `kept` is the epoch whose weights the network has.
void write(settings const& s, dsl::trainer& trainer, dsl::history const& history, std::size_t kept,
           pictures const& data, dsl::confusion_matrix const& confusion) {
  if (!s.weights.empty()) {
    writer(s.weights)(trainer, s.weights);
    dsl::write_classes(dsl::classes_of(data.train), s.classes());
  }
  dsl::write_history_csv(history, s.history());
  try {
    dsl::plot(history, s.output, style(data.name));
    if (!s.confusion.empty()) write_confusion(s, confusion, data.name);
  } catch (dsl::file_error const& e) {  // the disk was full, gnuplot is gone: hours of training must not go with them
    throw dsl::file_error(std::string(e.what()) + "; every epoch's numbers are kept in " + s.history());
  }
  std::error_code left;  // one that is left over is no reason to fail now; what it is for is over
  if (s.keeps_checkpoint()) std::filesystem::remove(s.checkpoint(), left);
  say(fmt::format("test accuracy {:.4f}; plot in {}, numbers in {}{}", history.epochs[kept].validation.acc, s.output,
                  s.history(), s.weights.empty() ? "" : ", weights in " + s.weights) +
      (s.confusion.empty() ? "" : ", confusion matrix in " + s.confusion));
}

void run(settings const& s) {
  if (speaks()) {
    dsl::check_writable(s.history(), "history");
    dsl::check_plot(s.output);
    if (s.confusion_as_text()) dsl::check_writable(s.confusion, "confusion");
    if (!s.confusion.empty() && !s.confusion_as_text()) dsl::check_plot(s.confusion);
    if (!s.weights.empty()) dsl::check_writable(s.weights, "weights"), dsl::check_writable(s.classes(), "classes");
    if (s.keeps_checkpoint()) dsl::check_writable(s.checkpoint(), "checkpoint");
  }
  pictures const data = load(s);
  int const gpus = all_gpus(s);
  say(fmt::format("training with {} GPU{}{}...", gpus, gpus == 1 ? "" : "s",
                  processes
                      ? fmt::format(" in {} process{}", processes->processes(), processes->processes() == 1 ? "" : "es")
                      : ""));
  say("compiling model...");
  dsl::trainer trainer = compile(s);
  say(fmt::format("num_replicas_in_sync: {}, {}{}", trainer.engine().replicas(),
                  s.executor == "cuda" ? "" : "on the CPU: ", trainer.engine().description()));
  if (speaks() && !s.resume && s.keeps_checkpoint() && std::filesystem::exists(s.checkpoint()))
    say(fmt::format("an unfinished run's {} is replaced by this one's; --resume goes on from there", s.checkpoint()));

  std::shared_ptr<best_weights> stopping;
  if (s.early_stopping > 0)
    stopping = std::make_shared<best_weights>(
        dsl::early_stopping_options{
            .patience = s.early_stopping, .restore_best_weights = true, .verbose = s.verbose > 0},
        dsl::metric_named(s.monitor));
  dsl::history const history = trainer.fit(data.train, {.epochs = s.epochs,
                                                        .batch_size = s.batch_size * gpus,
                                                        .validation = &data.test,
                                                        .augment = augmentation(s),
                                                        .callbacks = callbacks(s, stopping, data.name)});
  std::size_t const kept = stopping ? static_cast<std::size_t>(stopping->best_epoch()) : history.epochs.size() - 1;
  dsl::confusion_matrix confusion;  // the processes count together
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
  processes = std::make_unique<dsl::mpi>(dsl::mpi_options{.deadline_s = s.deadline});  // outlives run(), for fail()
  run(s);
  processes.reset();
  return 0;
#else
  throw dsl::executor_error(
      "mpirun: this program was built without MPI; install it (on Debian: apt-get install libopenmpi-dev openmpi-bin), "
      "build again, or run it without mpirun");
#endif
}

}  // namespace

int main(int argc, char** argv) {
  settings s;
  CLI::App app{"Trains MiniGoogLeNet, a network of 1,656,250 parameters, on CIFAR-10 and plots how it went."};
  declare(app, s);
  bool const first = launched.rank <= 0;  // of several processes, or the only one
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
    return start(s);
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
