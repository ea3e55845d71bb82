// SPDX-License-Identifier: MIT
// Measures the options of the GPU executor that are off by default, with MiniGoogLeNet. Each call measures one setting
// and prints one JSON line:
//   cuda_options ahead off|on [batch] [precision] [images] [epochs]    trains on batches that come from the host
//   cuda_options filled off|on [batch] [precision] [images] [passes]   evaluates images whose last batch is smaller
//   cuda_options queues 1|2|0 [batch] [precision] [train|infer] [steps]    times a step
// The precision is bf16, tf32 or fp32_strict. `filled` uses no cache, since the question is how long a first start
// takes. The exit code is 77 if there is no device.
#include "cuda_step.hpp"

#include <dsl/data/synthetic.hpp>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <string>
#include <vector>

using model = dsl::network<dsl::image<3, 32, 32>, dsl::minigooglenet<10>>;

namespace {

double now() { return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count(); }

double median(std::vector<double> v) {
  std::sort(v.begin(), v.end());
  return v[v.size() / 2];
}

/// An augmentation that no device can draw, so that batches come from the host.
struct from_the_host {
  dsl::transform draw(std::uint64_t, int, std::int64_t, dsl::shape const&) const { return {}; }
};

class words {
 public:
  words(int argc, char** argv) : all_(argv + 1, argv + argc) {}
  std::string one_of(std::size_t i, std::vector<std::string> const& allowed, char const* otherwise = "") const {
    std::string const w = word(i, otherwise);
    if (std::find(allowed.begin(), allowed.end(), w) != allowed.end()) return w;
    std::string text;
    for (std::string const& a : allowed) text += (text.empty() ? "" : ", ") + a;
    throw dsl::option_error("cuda_options: argument " + std::to_string(i + 1) + " must be one of " + text +
                            "; found '" + w + "'");
  }
  int number(std::size_t i, char const* otherwise) const {
    std::string const w = word(i, otherwise);
    if (w.empty() || w.size() > 7 || w.find_first_not_of("0123456789") != std::string::npos || std::stoi(w) < 1)
      throw dsl::option_error("cuda_options: argument " + std::to_string(i + 1) +
                              " must be a number of at least 1; found '" + w + "'");
    return std::stoi(w);
  }
  dsl::precision precision() const {
    std::string const p = one_of(3, {"bf16", "tf32", "fp32_strict"}, "bf16");
    return p == "bf16" ? dsl::precision::bf16 : p == "tf32" ? dsl::precision::tf32 : dsl::precision::fp32_strict;
  }

 private:
  std::string word(std::size_t i, char const* otherwise) const { return i < all_.size() ? all_[i] : otherwise; }
  std::vector<std::string> all_;
};

struct request {
  std::string question, setting;
  int batch, count, repetitions;  // of images, and of epochs or passes; for queues, of steps
  dsl::precision precision;
  bool train = true;

  explicit request(words const& w) : question(w.one_of(0, {"ahead", "filled", "queues"})) {
    bool const queues = question == "queues", ahead = question == "ahead";
    setting = queues ? w.one_of(1, {"1", "2", "0"}) : w.one_of(1, {"off", "on"});
    batch = w.number(2, "64");
    precision = w.precision();
    if (queues) train = w.one_of(4, {"train", "infer"}, "train") == "train";
    count = queues ? 0 : w.number(4, ahead ? "6400" : "1000");
    repetitions = w.number(5, queues ? "200" : ahead ? "4" : "5");
    if (!queues && count < batch)
      throw dsl::option_error("cuda_options: there must be at least as many images as a batch has");
  }
  bool on() const { return setting == "on"; }
};

void print(request const& r, std::string const& description, std::string const& figures) {
  char const* const names[] = {"bf16", "tf32", "fp32_strict"};
  std::printf(
      "{\"peer\": \"typenet %s\", \"question\": \"%s\", \"setting\": \"%s\", \"batch\": %d, "
      "\"precision\": \"%s\", %s}\n",
      description.c_str(), r.question.c_str(), r.setting.c_str(), r.batch, names[static_cast<int>(r.precision)],
      figures.c_str());
}

std::string figure(char const* name, double value) {
  char text[96];
  std::snprintf(text, sizeof text, "\"%s\": %.8f", name, value);
  return text;
}

/// Trains on batches from the host. The first epoch, in which plans are timed, does not count.
void ask_ahead(request const& r) {
  dsl::dataset const data = dsl::synthetic_pictures(r.count, 1, 1).train;
  dsl::trainer t = dsl::compile<model>(dsl::cuda{.precision = r.precision, .copy_ahead = r.on()},
                                       dsl::sgd{.learning_rate = 5e-3, .momentum = 0.9});
  dsl::history const h = t.fit(data, {.epochs = 1 + r.repetitions,
                                      .batch_size = r.batch,
                                      .augment = from_the_host{},
                                      .prefetch = 8,
                                      .loader_threads = 4});
  std::vector<double> seconds;
  for (std::size_t e = 1; e < h.epochs.size(); ++e) seconds.push_back(h.epochs[e].seconds);
  double const steps = static_cast<double>(r.count / r.batch);
  print(r, t.engine().description(),
        figure("seconds", median(seconds) / steps) + ", " + figure("loss", h.epochs.back().train.loss));
}

/// Evaluates images whose last batch is smaller, first without any program.
void ask_filled(request const& r) {
  dsl::dataset const data = dsl::synthetic_pictures(r.count, 1, 1).train;
  dsl::trainer t = dsl::compile<model>(dsl::cuda{.precision = r.precision, .cache = "", .fill_batches = r.on()},
                                       dsl::sgd{.learning_rate = 5e-3, .momentum = 0.9});
  double const begin = now();
  dsl::scores const s = t.evaluate(data, r.batch);
  double const first = now() - begin;
  std::vector<double> seconds;
  for (int i = 0; i < r.repetitions; ++i) {
    double const start = now();
    t.evaluate(data, r.batch);
    seconds.push_back(now() - start);
  }
  print(r, t.engine().description(),
        figure("seconds", first) + ", " + figure("later_s", median(seconds)) + ", " + figure("loss", s.loss));
}

void ask_queues(request const& r) {
  dsl::cu::api const libraries;
  dsl::bench::measured_step<model> step(libraries, {.train = r.train,
                                                    .batch = r.batch,
                                                    .precision = r.precision,
                                                    .steps = r.repetitions,
                                                    .warmup = std::max(5, r.repetitions / 4),
                                                    .queues = std::stoi(r.setting)});
  dsl::bench::step_figures const f = step.measure();
  print(r, f.description,
        "\"mode\": \"" + std::string(r.train ? "train" : "infer") + "\", " + figure("seconds", f.replay_s) + ", " +
            figure("latency_s", f.latency_s) + ", " + figure("prepare_s", f.prepare_s) + ", " + figure("loss", f.loss) +
            ", \"kept\": " + std::to_string(f.queues));
}

}  // namespace

int main(int argc, char** argv) {
  try {
    request const r(words(argc, argv));
    int devices = 0;
    cudaError_t const found = ::cudaGetDeviceCount(&devices);
    if (found != cudaSuccess || devices == 0) {
      std::fprintf(stderr, "cuda_options: no device: %s\n", ::cudaGetErrorString(found));
      return 77;
    }
    (r.question == "ahead" ? ask_ahead : r.question == "filled" ? ask_filled : ask_queues)(r);
  } catch (dsl::option_error const& e) {
    std::fprintf(stderr, "%s\n", e.what());
    return 2;
  } catch (std::exception const& e) {
    std::fprintf(stderr, "cuda_options: %s\n", e.what());
    return 1;
  }
}
