// SPDX-License-Identifier: MIT
// Trains a small network and prints what came out, to the bit: one process with towers, or under mpirun several.
//   ranks KEY=VALUE...: every key below; a rank may have other values than the others.
#include <dsl/callbacks.hpp>
#include <dsl/data/pixel_classes.hpp>
#include <dsl/data/sample_stream.hpp>
#include <dsl/data/with_target.hpp>
#include <dsl/dsl.hpp>
#include <dsl/io/backup_and_restore.hpp>
#include <dsl/towers.hpp>
#include <dsl/towers/launcher.hpp>
#include <dsl/towers/mpi.hpp>
#ifdef TYPENET_HAS_ONEDNN
#include <dsl/executors/onednn.hpp>
#endif

#include <csignal>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <memory>
#include <span>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include <unistd.h>

namespace {

std::map<std::string, std::string> given;

std::string text(char const* key, char const* otherwise) {
  auto const found = given.find(key);
  return found == given.end() ? otherwise : found->second;
}
double number(char const* key, double otherwise) {
  auto const found = given.find(key);
  return found == given.end() ? otherwise : std::strtod(found->second.c_str(), nullptr);
}
int whole(char const* key, int otherwise) { return static_cast<int>(number(key, otherwise)); }

/// forward=hang: a rank whose gradients never come. backward=throw: where most are whole and on their way.
struct event {
  static constexpr char const* name = "event";
  static constexpr dsl::shape output(dsl::shape in) { return in; }
  template <class T>
  static void forward(dsl::custom_call<T> const& c) {
    while (text("forward", "") == "hang") pause();
    dsl::detail::elementwise_op<identity>::forward(c);
  }
  template <class T>
  static void backward(dsl::custom_call<T> const& c) {
    dsl::detail::elementwise_op<identity>::backward(c);
    if (text("backward", "") != "throw") return;
    usleep(300'000);  // they are on their way for sure
    throw std::runtime_error("this tower has had enough");
  }
  struct identity {
    template <class T>
    static T value(T x) {
      return x;
    }
    template <class T>
    static T derivative(T) {
      return 1;
    }
  };
};

using small = dsl::network<dsl::image<3, 8, 8>, dsl::conv_module<4, 3>, dsl::inception_module<4, 4>, dsl::flatten,
                           dsl::dropout<0.25>, dsl::dense<3>, dsl::softmax>;
using different = dsl::network<dsl::image<3, 8, 8>, dsl::conv_module<4, 3>, dsl::inception_module<4, 4>, dsl::flatten,
                               dsl::dropout<0.5>, dsl::dense<3>, dsl::softmax>;
using eventful =
    dsl::network<dsl::image<3, 8, 8>, dsl::conv2d<4, 3>, dsl::custom<event>, dsl::flatten, dsl::dense<3>, dsl::softmax>;

using mapped = dsl::network<dsl::image<3, 8, 8>, dsl::conv_module<4, 3>, dsl::conv2d<3, 1>, dsl::softmax2d>;

using headed = dsl::network<dsl::image<3, 8, 8>, dsl::conv_module<4, 3>,
                            dsl::named_output<"early", dsl::flatten, dsl::dense<3>, dsl::softmax>,
                            dsl::inception_module<4, 4>, dsl::flatten, dsl::dense<3>, dsl::softmax>;

using tasked = dsl::network<dsl::image<3, 8, 8>, dsl::conv_module<4, 3>,
                            dsl::named_output<"mask", dsl::conv2d<2, 1>, dsl::softmax2d>,
                            dsl::named_output<"numbers", dsl::flatten, dsl::dense<2>>, dsl::inception_module<4, 4>,
                            dsl::flatten, dsl::dense<3>, dsl::softmax>;

/// Adds targets of its own for each further output of `tasked`.
dsl::dataset tasks(dsl::dataset data) {
  std::vector<std::int32_t> mask;
  std::vector<float> numbers;
  for (int i = 0; i < data.size * 64; ++i) mask.push_back(i % 13 < i / 64 % 8 ? -1 : i % 2);
  for (int i = 0; i < data.size * 2; ++i) numbers.push_back(static_cast<float>(i % 7) / 4);
  return dsl::with_value_target(dsl::with_pixel_target(std::move(data), "mask", 2, std::move(mask)), "numbers", 2,
                                std::move(numbers));
}

/// stream=1: gives the samples of a data set in memory one after another, and again from the first after the last.
struct replay : dsl::sample_stream {
  dsl::dataset data;
  std::int64_t at = 0;
  explicit replay(dsl::dataset d) : data(std::move(d)) {}
  bool next(dsl::stream_sample const& to) override {
    std::int64_t const i = at++ % data.size;
    for (long long k = 0; k < data.sample.size(); ++k) to.numbers[k] = static_cast<float>(data.pixels(i)[k]);
    *to.label = data.label(i);
    return true;
  }
  std::string identity() const override { return "replay"; }
};

/// 3x8x8 pictures of three classes; network=mapped: one class per pixel, and none for some.
dsl::dataset pictures(int size, int salt) {
  std::vector<std::uint8_t> pixels;
  std::vector<std::int32_t> labels;
  for (int i = 0; i < size * 192; ++i) pixels.push_back(static_cast<std::uint8_t>((i * 37 + i / 7 + salt) % 251));
  if (text("network", "small") == "mapped") {
    for (int i = 0; i < size * 64; ++i) labels.push_back(i % 11 < i / 64 % 8 ? -1 : i % 3);
    return dsl::in_memory_pixel_dataset({3, 8, 8}, std::move(pixels), 3, std::move(labels));
  }
  for (int i = 0; i < size; ++i) labels.push_back(i % 3);
  return dsl::in_memory_dataset({3, 8, 8}, 3, std::move(pixels), std::move(labels));
}

/// An optimizer that is known when the program runs.
struct chosen {
  double learning_rate;
  dsl::update_rule numbers;
  dsl::update_rule rule() const { return numbers; }
};
chosen chosen_optimizer() {
  dsl::gradient_clip const clip{.norm = number("clip_norm", 0), .value = number("clip_value", 0)};
  double const rate = number("learning_rate", 0.02), momentum = number("momentum", 0.9);
  std::string const name = text("optimizer", "sgd");
  if (name == "adamw") return {rate, dsl::adamw{.beta_2 = number("beta_2", 0.999), .clip = clip}.rule()};
  if (name == "rmsprop") return {rate, dsl::rmsprop{.momentum = momentum, .centered = true, .clip = clip}.rule()};
  return {rate, dsl::sgd{.momentum = momentum, .nesterov = whole("nesterov", 0) != 0, .clip = clip}.rule()};
}

/// own_loss=0.5: Huber's loss with this distance, as a loss of the program's own.
struct own_loss {
  double delta = 1;
  double value(double y, double t) const {
    double const d = y < t ? t - y : y - t;
    return d <= delta ? d * d / 2 : delta * (d - delta / 2);
  }
  double derivative(double y, double t) const {
    double const d = y - t;
    return d < -delta ? -delta : d > delta ? delta : d;
  }
};

template <class Network>
dsl::trainer compiled(dsl::process_group* processes) {
  dsl::tower_policy policy = text("merge", "host_merge") == "all_reduce" ? dsl::all_reduce : dsl::host_merge;
  if (whole("synchronized", 0)) policy = synchronized(policy);
  dsl::towers const towers{.count = whole("towers", 1), .policy = policy, .processes = processes};
  chosen const optimizer = chosen_optimizer();
  dsl::any_loss loss = dsl::loss::categorical_crossentropy;
  if (given.contains("own_loss")) loss = own_loss{number("own_loss", 1)};
  std::vector<dsl::loss_of_output> losses;
  if (text("network", "small") == "tasked")
    losses = {{"numbers", text("of_numbers", "huber") == "huber" ? dsl::loss::huber : dsl::loss::mean_squared_error}};
  std::vector<float> class_weights;
  if (given.contains("class_weight")) class_weights = {1, static_cast<float>(number("class_weight", 1)), 1};
  dsl::compile_options const options{.loss = loss,
                                     .losses = losses,
                                     .seed = static_cast<std::uint64_t>(number("seed", 1)),
                                     .label_smoothing = number("label_smoothing", 0),
                                     .class_weights = class_weights,
                                     .loss_weights = {{"main", number("loss_weight", 1)}}};
  std::string const executor = text("executor", "reference");
#ifdef TYPENET_HAS_ONEDNN
  if (executor == "onednn") return dsl::compile<Network>(dsl::onednn{.threads = 1}, optimizer, towers, options);
#endif
  if (executor == "double") return dsl::compile<Network>(dsl::reference<double>{}, optimizer, towers, options);
  return dsl::compile<Network>(dsl::reference{}, optimizer, towers, options);
}

struct thrower : dsl::callback {
  void on_batch_end(dsl::fit_run& run) override {
    if (run.step == whole("throw", -1)) throw std::runtime_error("this rank has had enough");
    while (run.step == whole("hang", -1)) pause();
  }
};

/// stop=1: ends the run after epoch 1, as one that looks at a clock might, in this rank alone; stop_in=train_begin,
/// ... says when, in that epoch. kill=7: this rank dies in the run's step 7. rate=1: another learning rate from epoch 1
/// on, in this rank alone. announce=1: this rank prints a line when it has trained for an epoch.
struct unlike_the_others : dsl::callback {
  static void stop_in(char const* moment, dsl::fit_run& run) {
    if (run.epoch == whole("stop", -1) && text("stop_in", "epoch_end") == moment) run.stop = true;
  }
  void on_train_begin(dsl::fit_run& run) override { stop_in("train_begin", run); }
  void on_saving_point(dsl::fit_run& run) override {
    if (run.next.step == 0) stop_in("saving_point", run);
  }
  void on_backup(dsl::fit_run& run) override {
    if (run.next.step == 0) stop_in("backup", run);
  }
  void on_epoch_begin(dsl::fit_run& run) override {
    stop_in("epoch_begin", run);
    if (run.epoch == whole("rate", -1)) run.learning_rate /= 2;
  }
  void on_batch_end(dsl::fit_run& run) override {
    if (run.step == 2) stop_in("batch_end", run);
    if (run.epoch * run.steps + run.step == whole("kill", -1)) std::raise(SIGKILL);
  }
  void on_epoch_end(dsl::fit_run& run) override {
    stop_in("epoch_end", run);
    if (run.epoch == 0 && whole("announce", 0)) {
      std::printf("rank %d trains\n", dsl::launched_rank());
      std::fflush(stdout);
    }
  }
};

std::vector<dsl::callback_handle> callbacks() {
  std::vector<dsl::callback_handle> all{thrower{}};
  if (given.count("backup"))
    all.emplace_back(dsl::backup_and_restore(text("backup", ""), {.save_freq = dsl::every_batches(whole("every", 1))}));
  if (given.count("patience"))
    all.emplace_back(
        dsl::early_stopping({.patience = whole("patience", 1), .restore_best_weights = true, .verbose = true}));
  all.emplace_back(unlike_the_others{});
  return all;
}

void run(dsl::process_group* processes) {
  dsl::dataset data = pictures(whole("size", 60), whole("pictures", 0));
  dsl::dataset validation = pictures(whole("validation", 25), 0);
  if (text("network", "small") == "tasked") data = tasks(std::move(data)), validation = tasks(std::move(validation));
  if (whole("stream", 0))
    data = dsl::stream_classes(data.sample, std::make_shared<replay>(data), data.classes, data.size);
  if (whole("mean", 0)) data.mean = validation.mean = dsl::mean_picture(data);
  std::string const network = text("network", "small");
  dsl::trainer t = network == "other"      ? compiled<different>(processes)
                   : network == "mapped"   ? compiled<mapped>(processes)
                   : network == "headed"   ? compiled<headed>(processes)
                   : network == "tasked"   ? compiled<tasked>(processes)
                   : network == "eventful" ? compiled<eventful>(processes)
                                           : compiled<small>(processes);
  if (given.count("parameter")) {
    std::vector<float> gamma(4, static_cast<float>(number("parameter", 1)));
    t.engine().write_parameter(2, gamma.data());
  }
  dsl::history const h =
      t.fit(data, {.epochs = whole("epochs", 2),
                   .batch_size = whole("batch", 10),
                   .validation = given.count("validation") && whole("validation", 0) == 0 ? nullptr : &validation,
                   .augment = whole("augment", 0) ? dsl::augmentation(dsl::shift_and_flip{}) : dsl::augmentation{},
                   .callbacks = callbacks(),
                   .shuffle = whole("shuffle", 1) != 0});
  std::vector<float> const samples(7 * 192, 0.5F);  // seven: no process has as many
  std::vector<float> const values(7 * static_cast<std::size_t>(t.graph().shape_of(t.graph().result()).size()), 0.25F);
  std::vector<std::int32_t> const labels(7 * 64, 1);
  dsl::scores const last = network == "tasked"
                               ? t.train_on_batch({{"", samples}}, {{"main", std::span(labels).first(7)},
                                                                    {"mask", labels},
                                                                    {"numbers", std::span(values).first(14)}})
                           : given.contains("own_loss") ? t.train_on_batch(samples, values)
                                                        : t.train_on_batch(samples.data(), labels.data(), 7);
  if (processes && processes->process() != 0) return;
  if (h.epochs.empty()) {
    std::puts("no epochs");
    return;
  }
  double outputs = 0;  // of several
  for (dsl::scores const& s : {h.epochs.back().train, h.epochs.back().validation, last})
    for (dsl::output_scores const& o : s.outputs) outputs = 3 * outputs + o.loss + (o.acc == o.acc ? o.acc : 0);
  std::printf("replicas %d loss %a outputs %a acc %a val_loss %a last %a epochs %zu parameters %016llx\n",
              t.engine().replicas(), h.epochs.back().train.loss, outputs, h.epochs.back().train.acc,
              h.epochs.back().validation.loss, last.loss, h.epochs.size(),
              static_cast<unsigned long long>(dsl::detail::fingerprint_of(t.engine())));
}

dsl::mpi_options options() {
  return {.deadline_s = number("deadline", 30), .largest_message = static_cast<long long>(number("piece", 1 << 30))};
}

/// As a program does that knows nothing of abort(): an exception leaves the scope of its dsl::mpi.
int run_scoped() {
  try {
    dsl::mpi world(options());
    run(&world);
    return 0;
  } catch (std::exception const& e) {
    std::fprintf(stderr, "scoped: %s\n", e.what());
    while (whole("lingers", 0)) pause();
    return 3;
  }
}

}  // namespace

// MPI's own way to look at what a program calls: these come first, and know the others by another name.
extern "C" int MPI_Abort(MPI_Comm all, int code) {
  while (whole("abort_hangs", 0)) pause();
  return PMPI_Abort(all, code);
}
extern "C" int MPI_Isend(void const* data, int count, MPI_Datatype type, int to, int tag, MPI_Comm all,
                         MPI_Request* request) {
  if (count > 64 && count > number("piece", count)) return MPI_ERR_COUNT;  // what says who calls what has 56 bytes
  return PMPI_Isend(data, count, type, to, tag, all, request);
}

int main(int argc, char** argv) {
  for (int i = 1; i < argc; ++i) {
    std::string const a = argv[i];
    given[a.substr(0, a.find('='))] = a.substr(a.find('=') + 1);
  }
  if (whole("scoped", 0)) return run_scoped();
  std::unique_ptr<dsl::mpi> world;
  try {
    if (dsl::launched_rank() >= 0) world = std::make_unique<dsl::mpi>(options());
    run(world.get());
    return 0;
  } catch (std::exception const& e) {
    while (whole("lingers", 0)) pause();
    if (whole("hears", 0)) {  // and waits for the others to say it, too, before it ends the job
      std::fprintf(stderr, "rank %d hears: %s\n", dsl::launched_rank(), e.what());
      usleep(2'000'000);
    }
    if (world) world->abort(e.what());
    std::fprintf(stderr, "error: %s\n", e.what());
    return 1;
  }
}
