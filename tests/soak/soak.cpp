// SPDX-License-Identifier: MIT
// Trains, evaluates, saves, loads and predicts in turn, and checks that the memory does not grow:
//   soak SECONDS CYCLES [small]
// runs for SECONDS or for CYCLES, whichever takes longer. A cycle trains MiniGoogLeNet, or a small network, for an
// epoch of synthetic images with callbacks that write files, evaluates it, saves its state and its weights, loads the
// weights into a predictor and into a new trainer of two towers, which trains a step, and compares predictions. The
// cycles are divided into ten parts. Prints for each part the median of its cycles' images per second of processor
// time, and at its end the resident memory and the number of allocations that have not been freed. The exit code is 1
// if predictions differ or if, compared with the end of the second part, a later one ends with more allocations or with
// 1 % more memory. The throughput is only printed, since other programs change it.
#include <dsl/callbacks.hpp>
#include <dsl/dsl.hpp>
#include <dsl/io/backup_and_restore.hpp>
#include <dsl/io/checkpoint.hpp>
#include <dsl/io/csv_logger.hpp>
#include <dsl/io/model_checkpoint.hpp>
#include <dsl/towers.hpp>
#include <dsl/training/predictor.hpp>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <exception>
#include <fstream>
#include <new>
#include <string>
#include <vector>

#include <unistd.h>

#include "support/temporary_directory.hpp"

namespace {

std::atomic<long> live{0};  // number of allocations that have not been freed

void release(void* p) {
  live -= p != nullptr;
  std::free(p);
}

}  // namespace

[[gnu::noinline]] void* operator new(std::size_t n) {
  void* const p = std::malloc(n > 0 ? n : 1);
  if (!p) throw std::bad_alloc();
  ++live;
  return p;
}
[[gnu::noinline]] void operator delete(void* p) noexcept { release(p); }
[[gnu::noinline]] void operator delete(void* p, std::size_t) noexcept { release(p); }

namespace {

using large = dsl::network<dsl::image<3, 32, 32>, dsl::minigooglenet<10>>;
using small = dsl::network<dsl::image<3, 32, 32>, dsl::conv_module<8, 3, 2>, dsl::inception_module<4, 4>,
                           dsl::downsample_module<4>, dsl::global_avg_pool2d, dsl::dense<10>, dsl::softmax>;
constexpr int images = 128, tested = 64;

double processor_seconds() {
  timespec t{};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
  return static_cast<double>(t.tv_sec) + 1e-9 * static_cast<double>(t.tv_nsec);
}

/// Returns the process's resident memory in bytes.
double resident_bytes() {
  std::ifstream in("/proc/self/statm");
  double pages = 0;
  if (!(in >> pages >> pages)) throw std::runtime_error("/proc/self/statm cannot be read");
  return pages * static_cast<double>(sysconf(_SC_PAGESIZE));
}
/// The measurements at the end of a cycle.
struct measurement {
  double rate, resident;
  long allocations;
};

template <class Network>
class soak {
 public:
  soak()
      : pictures_(dsl::synthetic_pictures(images, tested, 1)), trainer_(dsl::compile<Network>(dsl::sgd{}, options())) {}

  measurement cycle() {
    double const begin = processor_seconds();
    trainer_.fit(pictures_.train,
                 {.epochs = 1,
                  .batch_size = 32,
                  .validation = &pictures_.test,
                  .augment = dsl::shift_and_flip{.width = 0.1, .height = 0.1, .horizontal_flip = true},
                  .callbacks = {dsl::csv_logger{here_ / "log.csv"},
                                dsl::model_checkpoint<dsl::val_loss>{here_ / "best", {.verbose = false}},
                                dsl::backup_and_restore{here_ / "state", {.verbose = false}}}});
    trainer_.evaluate(pictures_.test, 32);
    dsl::save_weights(trainer_, here_ / "weights");
    std::vector<float> const wanted = trainer_.predict(pictures_.test, 32);
    dsl::trainer towers = dsl::compile<dsl::replicate<2, Network>>(dsl::native{.threads = 2}, dsl::sgd{}, options());
    dsl::load_weights(towers, here_ / "weights");
    if (towers.predict(pictures_.test, 32) != wanted) throw std::runtime_error("two towers predict other numbers");
    std::vector<float> const batch(32 * 3 * 32 * 32, 0.25F);
    std::vector<std::int32_t> const labels(32, 3);
    towers.train_on_batch(batch, labels);
    dsl::predictor first = dsl::make_predictor<Network>(dsl::native{.threads = 1});
    dsl::load_weights(first, here_ / "weights");
    dsl::predictor second = dsl::make_predictor<Network>(dsl::native{.threads = 1}, first.weights());
    std::vector<float> const one(3 * 32 * 32, 0.25F);
    if (first.predict(one) != second.predict(one)) throw std::runtime_error("two predictors differ");
    double const rate = images / (processor_seconds() - begin);
    return {rate, resident_bytes(), live.load()};
  }

 private:
  static dsl::compile_options options() { return {.seed = 3, .batch_norm_momentum = 0.9}; }

  dsl::test::temporary_directory here_{};
  dsl::synthetic pictures_;
  dsl::trainer trainer_;
};

double median(std::vector<double> v) {
  std::sort(v.begin(), v.end());
  return v[v.size() / 2];
}

int report(std::vector<measurement> const& all) {
  constexpr int parts = 10;
  bool flat = true;
  measurement second{};
  std::puts("| Part | Images per second of processor time | Resident, MiB | Allocations |\n|---|---|---|---|");
  for (int p = 0; p < parts; ++p) {
    auto const begin = all.begin() + static_cast<long>(all.size()) * p / parts;
    auto const end = all.begin() + static_cast<long>(all.size()) * (p + 1) / parts;
    std::vector<double> rates;
    for (auto m = begin; m != end; ++m) rates.push_back(m->rate);
    measurement const& last = *(end - 1);
    std::printf("| %d | %.1f | %.2f | %ld |\n", p + 1, median(rates), last.resident / 0x1p20, last.allocations);
    if (p == 1) second = last;
    if (p > 1) flat = flat && last.resident <= 1.01 * second.resident && last.allocations <= second.allocations;
  }
  std::printf("%zu cycles; the memory %s\n", all.size(), flat ? "does not grow" : "GROWS");
  return flat ? 0 : 1;
}

template <class Network>
int run(double seconds, std::size_t least) {
  soak<Network> s;
  std::vector<measurement> all;
  all.reserve(1'000'000);  // its memory is part of the first measurement, too
  auto const begin = std::chrono::steady_clock::now();
  while (all.size() < least ||
         std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count() < seconds)
    all.push_back(s.cycle());
  return report(all);
}

}  // namespace

int main(int count, char** words) try {
  bool const is_small = count > 3 && std::string(words[3]) == "small";
  if (count < 3 || count > 4 || (count == 4 && !is_small))
    throw std::runtime_error("usage: soak SECONDS CYCLES [small]");
  double const seconds = std::stod(words[1]);
  std::size_t const least = std::stoul(words[2]);
  if (least < 20) throw std::runtime_error("there must be 20 cycles or more, two in each part");
  return is_small ? run<small>(seconds, least) : run<large>(seconds, least);
} catch (std::exception const& e) {
  std::fprintf(stderr, "soak: %s\n", e.what());
  return 1;
}
