// SPDX-License-Identifier: MIT
// Measures MiniGoogLeNet's step on a GPU. Each call prints one measurement as one JSON line, like
// peers/minigooglenet_torch_cuda.py:
//   cuda_step [train|infer] [batch] [bf16|tf32|fp32_strict] [steps] [warmup] [resident|host] [deterministic]
//   [one_queue]
//   cuda_step serve     reads the same words line by line from standard input, and prints one JSON line each; a
//                       request that equals the last one measures the same engine again
//   cuda_step launches [the same words]     prints the time of each launch of a step, as a table
// train: forward, loss, backward, SGD with momentum. infer: forward. resident: batches are gathered and augmented on
// the device. host: one batch is copied from pinned memory in each step, as in infer. one_queue: steps of the plan do
// not run concurrently. The exit code is 77 if there is no device.
#include "cuda_step.hpp"
#include "gpu_launches.hpp"
#include "launch_times.hpp"

#include "support/gpu/graph_nodes.hpp"

#include <cstdio>
#include <iostream>
#include <optional>
#include <sstream>

using model = dsl::network<dsl::image<3, 32, 32>, dsl::minigooglenet<10>>;
using step = dsl::bench::measured_step<model>;

namespace {

dsl::bench::step_request parse(std::vector<std::string> const& words) {
  auto const word = [&](std::size_t i, char const* otherwise) { return words.size() > i ? words[i] : otherwise; };
  auto const one_of = [&](std::size_t i, char const* a, char const* b) {
    std::string const w = word(i, a);
    if (w != a && w != b)
      throw dsl::option_error("cuda_step: argument " + std::to_string(i + 1) + " must be " + std::string(a) + " or " +
                              b + "; found " + w);
    return w == a;
  };
  auto const number = [&](std::size_t i, char const* otherwise, int least) {
    std::string const w = word(i, otherwise);
    if (w.empty() || w.size() > 7 || w.find_first_not_of("0123456789") != std::string::npos || std::stoi(w) < least)
      throw dsl::option_error("cuda_step: argument " + std::to_string(i + 1) + " must be a number of at least " +
                              std::to_string(least) + "; found " + w);
    return std::stoi(w);
  };
  dsl::bench::step_request r;
  r.train = one_of(0, "train", "infer");
  r.batch = number(1, "64", 1);
  std::string const p = word(2, "bf16");
  if (p != "bf16" && p != "tf32" && p != "fp32_strict")
    throw dsl::option_error("cuda_step: the precision must be bf16, tf32 or fp32_strict; found " + p);
  r.precision = p == "bf16" ? dsl::precision::bf16 : p == "tf32" ? dsl::precision::tf32 : dsl::precision::fp32_strict;
  r.steps = number(3, "50", 1);
  r.warmup = number(4, "10", 0);
  r.resident = one_of(5, "resident", "host");
  for (std::size_t i = 6; i < words.size(); ++i)
    if (one_of(i, "deterministic", "one_queue"))
      r.deterministic = true;
    else
      r.queues = 1;
  return r;
}

long long device_bytes_in_use() {
  std::size_t free = 0, all = 0;
  return ::cudaMemGetInfo(&free, &all) == cudaSuccess ? static_cast<long long>(all - free) : 0;
}

/// The engine of the last request. It is kept, and used again if the next request asks for the same engine.
class bench {
 public:
  void answer(std::vector<std::string> const& words) {
    if (words != last_) {
      step_.reset();
      last_ = words;
      long long const before = device_bytes_in_use();
      step_.emplace(libraries_, parse(words), &dsl::test::count_graph_nodes);
      device_bytes_ = device_bytes_in_use() - before;
    }
    print(step_->measure());
  }

 private:
  void print(dsl::bench::step_figures const& f) const {
    dsl::bench::step_request const& r = step_->request();
    char const* const names[] = {"bf16", "tf32", "fp32_strict"};
    auto const mib = [](long long bytes) { return static_cast<double>(bytes) / (1 << 20); };
    std::printf(
        "{\"peer\": \"typenet %s\", \"mode\": \"%s\", \"batch\": %d, \"precision\": \"%s\", \"input\": \"%s\", "
        "\"step_s\": %.8f, \"latency_s\": %.8f, \"replay_s\": %.8f, \"images_per_s\": %.1f, \"prepare_s\": %.3f, ",
        f.description.c_str(), r.train ? "train" : "infer", r.batch, names[static_cast<int>(r.precision)],
        r.train && r.resident ? "resident, augmented" : "host", f.step_s, f.latency_s, f.replay_s, r.batch / f.step_s,
        f.prepare_s);
    std::printf(
        "\"own_kernels\": %ld, \"convolutions\": %ld, \"copies\": %ld, \"kernel_nodes\": %ld, \"calls_a_step\": %ld, "
        "\"allocates\": %s, \"arena_mib\": %.1f, \"planned_mib\": %.1f, \"executor_mib\": %.1f, \"device_mib\": %.1f, "
        "\"loss\": %.6f}\n",
        f.recorded.kernels, f.recorded.convolutions, f.recorded.copies, f.recorded.kernel_nodes, f.calls_a_step,
        f.allocates ? "true" : "false", mib(f.arena_bytes), mib(f.planned_bytes), mib(f.executor_bytes),
        mib(device_bytes_), f.loss);
    std::fflush(stdout);
  }

  dsl::cu::api const libraries_{};
  std::vector<std::string> last_{"nothing"};
  std::optional<step> step_;
  long long device_bytes_ = 0;
};

/// Prints the cost of each launch of the step, with the name that the plan gives it.
void print_launches(dsl::bench::step_request const& r) {
  dsl::cu::api const libraries;
  step one(
      libraries, r,
      [](cudaGraph_t g, dsl::test::watched_calls::recorded_step&) { dsl::bench::recorded_graph::keep(g); },
      &dsl::bench::recorded_graph::mark);
  dsl::bench::step_figures const f = one.measure();
  std::vector<dsl::bench::launch_cost> const costs =
      dsl::bench::recorded_graph::costs(dsl::test::watched_calls::last_stream(), r.steps);
  dsl::graph_view const g = model::view();
  dsl::cu::storage const t = dsl::cu::storage_of(r.precision);
  dsl::plan const p = dsl::make_plan(g, {.batch = r.batch,
                                         .mode = r.train ? dsl::mode::training : dsl::mode::inference,
                                         .target = dsl::cu::target_for(t)});
  std::vector<dsl::bench::gpu_launch> const launches = dsl::bench::gpu_launches(g, p, t).all();
  dsl::plan_streams const queues = dsl::find_streams(g, p);
  bool const named = launches.size() == costs.size();  // false in training with batches from the host
  std::printf("%s\n\n| launch | queue | nodes | GFLOP | MB | alone, us | the step without it, us less |\n",
              f.description.c_str());
  std::printf("|---|---:|---:|---:|---:|---:|---:|\n");
  double alone = 0;
  for (std::size_t i = 0; i < costs.size(); ++i) {
    dsl::bench::gpu_launch const l = named ? launches[i] : dsl::bench::gpu_launch{.what = std::to_string(i)};
    std::string const name = l.of.empty() ? l.what : l.what + " of " + l.of;
    int const queue = l.step < 0 || r.queues == 1 ? 0 : queues.stream[l.step];
    std::printf("| %s | %d | %d | %.2f | %.1f | %.2f | %.2f |\n", name.c_str(), queue, costs[i].nodes, 1e-9 * l.flops,
                1e-6 * static_cast<double>(l.bytes()), costs[i].alone_us, costs[i].saves_us);
    alone += costs[i].alone_us;
  }
  std::printf("\none after the other %.1f us; the step %.1f us\n", alone, 1e6 * f.replay_s);
}

}  // namespace

int main(int argc, char** argv) {
  try {
    std::vector<std::string> words(argv + 1, argv + argc);
    bool const serve = words.size() == 1 && words[0] == "serve";
    bool const launches = !words.empty() && words[0] == "launches";
    if (launches) words.erase(words.begin());
    if (!serve) parse(words);
    int devices = 0;
    cudaError_t const found = ::cudaGetDeviceCount(&devices);
    if (found != cudaSuccess || devices == 0) {
      std::fprintf(stderr, "cuda_step: no device: %s\n", ::cudaGetErrorString(found));
      return 77;
    }
    if (launches) return print_launches(parse(words)), 0;
    bench b;
    if (!serve) b.answer(words);
    for (std::string line; serve && std::getline(std::cin, line);) {
      std::istringstream in(line);
      std::vector<std::string> request;
      for (std::string w; in >> w;) request.push_back(w);
      b.answer(request);
    }
  } catch (dsl::option_error const& e) {
    std::fprintf(stderr, "%s\n", e.what());
    return 2;
  } catch (std::exception const& e) {
    std::fprintf(stderr, "cuda_step: %s\n", e.what());
    return 1;
  }
}
