// SPDX-License-Identifier: MIT
// Times the loading of a folder of images, and MiniGoogLeNet's training on it, for benchmarks/picture_folder:
//   picture_loader <folder> <side of a sample> <batch> <loader threads> <threads of the network>
// The standard input has orders. "load" decodes and resizes all images once; "step" trains on as many batches of
// images that are in memory already; "fit" trains for an epoch while loader threads decode. Each prints a line: the
// number of images, and the seconds that they took, elapsed and of processor time.
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <vector>

#include <dsl/dsl.hpp>
#include <dsl/pictures.hpp>

namespace {

double seconds(clockid_t clock) {
  timespec t{};
  clock_gettime(clock, &t);
  return static_cast<double>(t.tv_sec) + 1e-9 * static_cast<double>(t.tv_nsec);
}

/// Returns the sum of the numbers as fast as they can be read, so that it is the loading that is timed. In main() it
/// would be optimised for size, since main() runs once.
[[gnu::noinline, gnu::hot]] double sum_of(float const* numbers, long long count) {
  double sums[8] = {};  // one sum would wait for each addition
  long long i = 0;
  for (; i + 8 <= count; i += 8)
    for (int l = 0; l < 8; ++l) sums[l] += static_cast<double>(numbers[i + l]);
  for (; i < count; ++i) sums[0] += static_cast<double>(numbers[i]);
  return ((sums[0] + sums[1]) + (sums[2] + sums[3])) + ((sums[4] + sums[5]) + (sums[6] + sums[7]));
}

/// MiniGoogLeNet, on samples of its size only.
using model = dsl::network<dsl::image<3, 32, 32>, dsl::minigooglenet<10>>;

}  // namespace

int main(int argc, char** argv) try {
  if (argc != 6) {
    std::fprintf(stderr, "picture_loader <folder> <side> <batch> <loader threads> <threads>\n");
    return 2;
  }
  int const side = std::atoi(argv[2]), batch = std::atoi(argv[3]), loaders = std::atoi(argv[4]);
  dsl::dataset const data = dsl::read_picture_folder(argv[1], {3, side, side}).data;
  dsl::batch_loader loader(data, {.batch_size = batch, .prefetch = 2 * loaders, .threads = loaders});
  dsl::trainer trainer = dsl::compile<model>(dsl::native{.threads = std::atoi(argv[5])}, dsl::sgd{});
  int epoch = 0;
  double sum = 0;  // of all numbers, so that none is left out
  char line[64];
  while (std::fgets(line, sizeof line, stdin)) {
    bool const loads = std::strncmp(line, "load", 4) == 0, fits = std::strncmp(line, "fit", 3) == 0;
    if (!loads && side != 32) {
      std::fprintf(stderr, "picture_loader: MiniGoogLeNet needs samples of 32x32 pixels\n");
      return 2;
    }
    std::vector<float> const images(static_cast<std::size_t>(batch * data.sample.size()), 0.5F);
    std::vector<std::int32_t> const labels(static_cast<std::size_t>(batch), 1);
    double const wall = seconds(CLOCK_MONOTONIC), cpu = seconds(CLOCK_PROCESS_CPUTIME_ID);
    if (loads) {
      loader.start(epoch++);
      while (dsl::batch const* const b = loader.next()) sum += sum_of(b->inputs[0], b->size * data.sample.size());
    } else if (fits) {
      trainer.fit(data, {.epochs = 1, .batch_size = batch, .prefetch = 2 * loaders, .loader_threads = loaders});
    } else {
      for (std::int64_t i = 0; i < data.size / batch; ++i) trainer.train_on_batch(images, labels);
    }
    std::printf("%lld %.6f %.6f\n", static_cast<long long>(loads || fits ? data.size : data.size / batch * batch),
                seconds(CLOCK_MONOTONIC) - wall, seconds(CLOCK_PROCESS_CPUTIME_ID) - cpu);
    std::fflush(stdout);
  }
  return std::isnan(sum) ? 1 : 0;
} catch (dsl::error const& e) {
  std::fprintf(stderr, "picture_loader: %s\n", e.what());
  return 1;
}
