// SPDX-License-Identifier: MIT
// Trains MiniGoogLeNet on a GPU, by default with the recipe of the Keras tutorials. Prints one JSON line per epoch, and
// one at the end:
//   cuda_train [name=value]...
// The options and their default values are: epochs=4 batch=64 rate=0.005 bn_momentum=0.99 seed=0 precision=bf16
// deterministic=0 data=synthetic train=0 test=0 schedule=poly nesterov=0 weight_decay=0 label_smoothing=0
// augment=shift_flip. data is synthetic, cifar10 (in the folder $TYPENET_DATA) or the path of a folder with CIFAR-10's
// .bin files. train and test are numbers of images; 0 stands for all images of CIFAR-10, or for 10,000 and 1,000
// synthetic ones. The optimizer is SGD with momentum 0.9. schedule is poly, which decreases the rate linearly to 0, or
// one_cycle, whose highest rate is `rate`. augment is shift_flip, crop_flip or none. The exit code is 77 if there is no
// device.
#include <dsl/data/crop_and_cutout.hpp>
#include <dsl/callbacks.hpp>
#include <dsl/dsl.hpp>
#include <dsl/executors/cuda.hpp>

#include <cuda_runtime_api.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <string>

using model = dsl::network<dsl::image<3, 32, 32>, dsl::minigooglenet<10>>;

namespace {

class options {
 public:
  options(int argc, char** argv) {
    for (int i = 1; i < argc; ++i) {
      std::string const word = argv[i], name = word.substr(0, word.find('='));
      if (name == word || !values_.contains(name))
        throw dsl::option_error(
            "cuda_train: options must be name=value, with a name from the first lines of cuda_train.cpp; found " +
            word);
      values_[name] = word.substr(name.size() + 1);
    }
  }
  std::string const& operator[](std::string const& name) const { return values_.at(name); }
  double number(std::string const& name, int least) const {
    char* end = nullptr;
    double const value = std::strtod(values_.at(name).c_str(), &end);
    if (values_.at(name).empty() || *end != 0 || !(value >= least) || !(value < 1e9))
      throw dsl::option_error("cuda_train: " + name + " must be a number of at least " + std::to_string(least) +
                              "; found " + values_.at(name));
    return value;
  }
  int whole(std::string const& name, int least) const { return static_cast<int>(number(name, least)); }

 private:
  std::map<std::string, std::string> values_{{"epochs", "4"},
                                             {"batch", "64"},
                                             {"rate", "0.005"},
                                             {"bn_momentum", "0.99"},
                                             {"seed", "0"},
                                             {"precision", "bf16"},
                                             {"deterministic", "0"},
                                             {"data", "synthetic"},
                                             {"train", "0"},
                                             {"test", "0"},
                                             {"schedule", "poly"},
                                             {"nesterov", "0"},
                                             {"weight_decay", "0"},
                                             {"label_smoothing", "0"},
                                             {"augment", "shift_flip"}};
};

dsl::precision precision_of(std::string const& name) {
  if (name == "bf16") return dsl::precision::bf16;
  if (name == "tf32") return dsl::precision::tf32;
  if (name == "fp32_strict") return dsl::precision::fp32_strict;
  throw dsl::option_error("cuda_train: precision must be bf16, tf32 or fp32_strict; found " + name);
}

dsl::augmentation augmentation_of(std::string const& name) {
  if (name == "shift_flip") return dsl::shift_and_flip{};
  if (name == "crop_flip") return dsl::in_order{dsl::random_crop{}, dsl::random_flip{}};
  if (name == "none") return {};
  throw dsl::option_error("cuda_train: augment must be shift_flip, crop_flip or none; found " + name);
}

dsl::callback_handle schedule_of(std::string const& name, double rate, int epochs) {
  if (name == "poly") return dsl::learning_rate_schedule{dsl::poly_decay{rate, epochs, 1.0}};
  if (name == "one_cycle") return dsl::learning_rate_schedule{dsl::one_cycle{.max_rate = rate}};
  throw dsl::option_error("cuda_train: schedule must be poly or one_cycle; found " + name);
}

struct settings {
  int epochs, batch, seed, train, test;
  double rate, bn_momentum, weight_decay, label_smoothing;
  dsl::precision precision;
  bool deterministic, nesterov;
  std::string data;
  dsl::augmentation augment;
  dsl::callback_handle schedule;

  explicit settings(options const& o)
      : epochs(o.whole("epochs", 1)),
        batch(o.whole("batch", 1)),
        seed(o.whole("seed", 0)),
        train(o.whole("train", 0)),
        test(o.whole("test", 0)),
        rate(o.number("rate", 0)),
        bn_momentum(o.number("bn_momentum", 0)),
        weight_decay(o.number("weight_decay", 0)),
        label_smoothing(o.number("label_smoothing", 0)),
        precision(precision_of(o["precision"])),
        deterministic(o.whole("deterministic", 0) != 0),
        nesterov(o.whole("nesterov", 0) != 0),
        data(o["data"]),
        augment(augmentation_of(o["augment"])),
        schedule(schedule_of(o["schedule"], rate, epochs)) {}
};

struct pictures {
  dsl::dataset train, test;
};
pictures load(settings const& s) {
  if (s.data == "synthetic") {
    dsl::synthetic const d = dsl::synthetic_pictures(s.train > 0 ? s.train : 10'000, s.test > 0 ? s.test : 1'000,
                                                     static_cast<std::uint64_t>(s.seed));
    return {d.train, d.test};
  }
  dsl::cifar10 const d = dsl::cifar10::load(s.data == "cifar10" ? "" : s.data);
  return {s.train > 0 ? d.train.first(s.train) : d.train, s.test > 0 ? d.test.first(s.test) : d.test};
}

double now() { return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count(); }

struct line_an_epoch : dsl::callback {
  double begin = now();
  void on_epoch_end(dsl::fit_run& run) override {
    dsl::epoch_record const& e = run.current;
    std::printf(
        "{\"epoch\": %d, \"loss\": %.5f, \"acc\": %.5f, \"val_loss\": %.5f, \"val_acc\": %.5f, \"train_s\": %.4f, "
        "\"epoch_s\": %.4f, \"images_per_s\": %.0f, \"elapsed_s\": %.3f}\n",
        e.epoch + 1, e.train.loss, e.train.acc, e.validation.loss, e.validation.acc,
        static_cast<double>(run.steps) * run.batch_size / e.images_per_second, e.seconds, e.images_per_second,
        now() - begin);
    std::fflush(stdout);
  }
};

void run(settings const& s) {
  pictures const data = load(s);
  double const begin = now();
  dsl::trainer trainer = dsl::compile<model>(
      dsl::cuda{.precision = s.precision, .deterministic = s.deterministic},
      dsl::sgd{.learning_rate = s.rate, .momentum = 0.9, .nesterov = s.nesterov, .weight_decay = s.weight_decay},
      {.seed = static_cast<std::uint64_t>(s.seed),
       .batch_norm_momentum = s.bn_momentum,
       .label_smoothing = s.label_smoothing});
  // Plans are timed and kernels compiled here, before the first epoch.
  trainer.engine().prepare_resident(data.train, s.augment, s.batch, true);
  int const whole = static_cast<int>(std::min<std::int64_t>(s.batch, data.test.size));
  trainer.engine().prepare(dsl::mode::evaluation, whole);
  if (int const rest = static_cast<int>(data.test.size % whole)) trainer.engine().prepare(dsl::mode::evaluation, rest);
  double const prepared = now();
  dsl::history const h = trainer.fit(data.train, {.epochs = s.epochs,
                                                  .batch_size = s.batch,
                                                  .validation = &data.test,
                                                  .augment = s.augment,
                                                  .callbacks = {s.schedule, line_an_epoch{}}});
  double fastest = 1e30;
  for (dsl::epoch_record const& e : h.epochs) fastest = e.seconds < fastest ? e.seconds : fastest;
  std::printf(
      "{\"peer\": \"typenet %s\", \"batch\": %d, \"epochs\": %d, \"seed\": %d, \"train\": %lld, \"test\": %lld, "
      "\"prepare_s\": %.3f, \"wall_s\": %.3f, \"fastest_epoch_s\": %.4f, \"acc\": %.5f, \"val_acc\": %.5f}\n",
      trainer.engine().description().c_str(), s.batch, s.epochs, s.seed, static_cast<long long>(data.train.size),
      static_cast<long long>(data.test.size), prepared - begin, now() - prepared, fastest, h.epochs.back().train.acc,
      h.epochs.back().validation.acc);
}

}  // namespace

int main(int argc, char** argv) {
  try {
    settings const s(options(argc, argv));
    int devices = 0;
    cudaError_t const found = ::cudaGetDeviceCount(&devices);
    if (found != cudaSuccess || devices == 0) {
      std::fprintf(stderr, "cuda_train: no device: %s\n", ::cudaGetErrorString(found));
      return 77;
    }
    run(s);
  } catch (dsl::option_error const& e) {
    std::fprintf(stderr, "%s\n", e.what());
    return 2;
  } catch (std::exception const& e) {
    std::fprintf(stderr, "cuda_train: %s\n", e.what());
    return 1;
  }
}
