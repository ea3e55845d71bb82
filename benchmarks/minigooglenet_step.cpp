// SPDX-License-Identifier: MIT
// Measures MiniGoogLeNet's step. Each call prints one measurement as one JSON line, as a peer's script does:
//   minigooglenet_step [train|infer] [batch] [threads] [steps] [warmup] [winograd|direct|native] [towers]
// winograd and direct are oneDNN with and without Winograd; native is the executor that needs no library. All towers of
// a process share the threads. Under mpirun the processes train together, and one of them prints. train: forward, loss,
// backward, and SGD with momentum on fixed random images. infer: forward in inference mode. Images are not loaded or
// augmented, so the time is that of the step and of copying the batch into the engine's input, whose memory an
// inference plan overwrites. The result is the median of the seconds per step.
#include <dsl/dsl.hpp>
#include <dsl/executors/native.hpp>
#include <dsl/executors/onednn.hpp>
#include <dsl/towers.hpp>
#include <dsl/towers/launcher.hpp>
#ifdef TYPENET_HAS_MPI
#include <dsl/towers/mpi.hpp>
#endif

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <sys/resource.h>

using model = dsl::network<dsl::image<3, 32, 32>, dsl::minigooglenet<10>>;

int main(int argc, char** argv) {
  auto const word = [&](int i, char const* otherwise) { return std::string(argc > i ? argv[i] : otherwise); };
  auto const number = [&](int i, int otherwise) { return argc > i ? std::atoi(argv[i]) : otherwise; };
  bool const train = word(1, "train") == "train";
  int const batch = number(2, 64), threads = number(3, 2), steps = number(4, 12), warmup = number(5, 4);
  bool const native = word(6, "") == "native";
  dsl::towers towers{.count = number(7, 1)};
#ifdef TYPENET_HAS_MPI
  std::unique_ptr<dsl::mpi> const world(dsl::launched_rank() >= 0 ? new dsl::mpi : nullptr);
  towers.processes = world.get();
#endif
  dsl::sgd const optimizer{.learning_rate = 5e-3, .momentum = 0.9};
  dsl::native const own{.threads = threads};
  auto trainer = native ? dsl::compile<model>(own, optimizer, towers)
                        : dsl::compile<model>(dsl::onednn{.threads = threads, .winograd = word(6, "") != "direct"},
                                              optimizer, towers);
  dsl::engine& engine = trainer.engine();
  dsl::batch_part const share = engine.share_of(batch);
  int const program = engine.prepare(train ? dsl::mode::training : dsl::mode::inference, share);
  std::vector<float> images(static_cast<std::size_t>(batch) * 3 * 32 * 32);
  std::vector<std::int32_t> labels(static_cast<std::size_t>(batch));
  dsl::detail::random_stream random(1, dsl::detail::purpose::user, 0);
  for (float& v : images) v = random.uniform(-1.7F, 1.7F);
  for (std::int32_t& l : labels) l = static_cast<std::int32_t>(random.below(10));
  float const* const input = images.data();
  dsl::target_view const target{.labels = labels.data()};
  std::vector<double> times;
  for (int s = 0; s < warmup + steps; ++s) {
    auto const begin = std::chrono::steady_clock::now();
    engine.run(program, {.inputs = {&input, 1},
                         .targets = {&target, 1},
                         .size = share.size,
                         .step = static_cast<std::uint64_t>(s),
                         .learning_rate = 5e-3,
                         .first = share.first});
    if (s >= warmup) times.push_back(std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count());
  }
  std::sort(times.begin(), times.end());
  double const median = times[times.size() / 2];
  dsl::target const to = native ? own.target() : dsl::onednn::target();
  long long const planned = train ? model::training_bytes(batch, to) : model::inference_bytes(batch, to);
  if (engine.processes() && dsl::launched_rank() > 0) return 0;
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  std::printf(
      "{\"peer\": \"typenet %s\", \"mode\": \"%s\", \"batch\": %d, \"threads\": %d, \"step_s\": %.6f, "
      "\"images_per_s\": %.1f, \"peak_rss_mib\": %.1f, \"arena_mib\": %.1f, \"planned_mib\": %.1f, "
      "\"executor_mib\": %.1f}\n",
      engine.description().c_str(), train ? "train" : "infer", batch, threads, median, batch / median,
      static_cast<double>(usage.ru_maxrss) / 1024, static_cast<double>(engine.arena_bytes()) / (1 << 20),
      static_cast<double>(planned) / (1 << 20), static_cast<double>(engine.executor_bytes()) / (1 << 20));
}
