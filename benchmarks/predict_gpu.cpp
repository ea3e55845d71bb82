// SPDX-License-Identifier: MIT
// Predicts the time of a step of MiniGoogLeNet on a GPU, launch by launch, from the plan alone. Needs no GPU:
//   predict_gpu [train|infer] [batch] [bf16|tf32|fp32_strict] [h100|h200] [launches]
// With launches, prints every launch, not only sums over the launches with the same name. benchmarks/README.md states
// the assumptions of the model.
#include "gpu_time_model.hpp"

#include <cstdio>
#include <cstdlib>
#include <map>

using model = dsl::network<dsl::image<3, 32, 32>, dsl::minigooglenet<10>>;
using dsl::bench::gpu_launch;

namespace {

constexpr double pictures = 50'000;  // per epoch

struct request {
  bool train = true;
  int batch = 64;
  int precision = 0;
  dsl::bench::gpu_facts on = dsl::bench::h200;
  bool every_launch = false;
};

constexpr char const* precisions[] = {"bf16", "tf32", "fp32_strict"};

request parse(std::vector<std::string> const& words) {
  request r;
  auto const refuse = [](std::string const& word) {
    throw dsl::option_error(
        "predict_gpu: the arguments must be [train|infer] [batch] [bf16|tf32|fp32_strict] [h100|h200] [launches]; "
        "found " +
        word);
  };
  for (std::string const& w : words) {
    if (w == "train" || w == "infer") {
      r.train = w == "train";
    } else if (w == "h100" || w == "h200") {
      r.on = w == "h100" ? dsl::bench::h100 : dsl::bench::h200;
    } else if (w == "launches") {
      r.every_launch = true;
    } else if (!w.empty() && w.size() < 6 && w.find_first_not_of("0123456789") == std::string::npos && w[0] != '0') {
      r.batch = std::atoi(w.c_str());
    } else {
      r.precision = 0;
      while (r.precision < 3 && w != precisions[r.precision]) ++r.precision;
      if (r.precision == 3) refuse(w);
    }
  }
  return r;
}

struct sum {
  int launches = 0;
  double gflop = 0, mb = 0, us = 0;
  void add(gpu_launch const& l, dsl::bench::launch_time const& t) {
    ++launches, gflop += 1e-9 * l.flops, mb += 1e-6 * static_cast<double>(l.bytes()), us += 1e6 * t.all();
  }
};

void print_row(std::string const& name, sum const& s) {
  std::printf("| %-44s | %8d | %8.2f | %8.1f | %8.1f |\n", name.c_str(), s.launches, s.gflop, s.mb, s.us);
}

}  // namespace

int main(int argc, char** argv) try {
  request const r = parse({argv + 1, argv + argc});
  dsl::cu::storage const t = r.precision == 0 ? dsl::cu::storage::bf16 : dsl::cu::storage::f32;
  dsl::graph_view const g = model::view();
  dsl::plan const p = dsl::make_plan(g, {.batch = r.batch,
                                         .mode = r.train ? dsl::mode::training : dsl::mode::inference,
                                         .target = dsl::cu::target_for(t)});
  double const flops_s[] = {r.on.bf16_flops_s, r.on.tf32_flops_s, r.on.fp32_flops_s};
  std::vector<gpu_launch> const launches = dsl::bench::gpu_launches(g, p, t).all();
  dsl::bench::reached const usual;
  std::vector<dsl::bench::launch_time> const times = dsl::bench::times_of(launches, r.on, usual, flops_s[r.precision]);

  std::printf("%s of MiniGoogLeNet, batch %d, %s, %s; predicted, not measured\n\n",
              r.train ? "A training step" : "Inference", r.batch, precisions[r.precision], r.on.name);
  std::printf(
      "| %-44s | launches |   GFLOP  |   MB     |   us     |\n|%s|---------:|---------:|---------:|---------:|\n",
      "launch", std::string(46, '-').c_str());
  std::map<std::string, sum> by_name;
  sum all;
  for (std::size_t i = 0; i < launches.size(); ++i) {
    gpu_launch const& l = launches[i];
    by_name[l.what].add(l, times[i]);
    all.add(l, times[i]);
    if (r.every_launch) {
      sum one;
      one.add(l, times[i]);
      print_row(l.of.empty() ? l.what : l.what + " of " + l.of, one);
    }
  }
  if (!r.every_launch)
    for (auto const& [name, s] : by_name) print_row(name, s);
  print_row("all", all);

  double const queues = dsl::bench::queue_times(launches, times, dsl::find_streams(g, p)).run();
  auto const told = [&](char const* what, double seconds) {
    std::printf("%-52s %9.1f us  %7.0f pictures/ms", what, 1e6 * seconds, r.batch / seconds / 1000);
    if (r.train) std::printf("  %6.3f s an epoch", seconds * pictures / r.batch);
    std::printf("\n");
  };
  std::printf("\n");
  told("arithmetic alone, at the data sheet's rate", 1e9 * all.gflop / flops_s[r.precision]);
  told("memory alone, at the data sheet's bandwidth, no L2", 1e6 * all.mb / r.on.memory_bytes_s);
  told("predicted, one launch after the other", 1e-6 * all.us);
  told("predicted, on two queues", queues);
  return 0;
} catch (std::exception const& e) {
  std::fprintf(stderr, "error: %s\n", e.what());
  return 2;
}
