// SPDX-License-Identifier: MIT
// Measures how the time of a training step depends on a limit on its memory, if values are computed again instead of
// being kept:
//   memory_step [rounds] [threads]
// For two networks, the limits go from 100 % of the plan that keeps all values down to a limit that cannot be reached.
// In each round one step runs with every limit, so that other programs disturb all limits alike. Prints a table: the
// bytes of the arena, the number of forward steps that run again, and the median elapsed and processor time of a step,
// also in relation to the first row's.
#include <dsl/dsl.hpp>
#include <dsl/models.hpp>
#include <dsl/plan/budget.hpp>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <deque>
#include <memory>
#include <vector>

namespace {

double milliseconds(clockid_t clock) {
  timespec t{};
  clock_gettime(clock, &t);
  return 1e3 * static_cast<double>(t.tv_sec) + 1e-6 * static_cast<double>(t.tv_nsec);
}

double median(std::vector<double> v) {
  std::sort(v.begin(), v.end());
  return v[v.size() / 2];
}

/// A network with a limit on its memory, and the times of its steps.
class side {
 public:
  side(dsl::graph_view const& g, int percent, dsl::memory_limit limit, int threads)
      : percent_(percent),
        engine_(dsl::native{.threads = threads}.make_engine(
            g, {.update = dsl::sgd{.learning_rate = 5e-3, .momentum = 0.9}.rule(), .limit = limit})),
        program_(engine_->prepare(dsl::mode::training, limit.batch)),
        images_(static_cast<std::size_t>(limit.batch * g.shape_of(0).size())),
        labels_(static_cast<std::size_t>(limit.batch)) {
    dsl::detail::random_stream random(1, dsl::detail::purpose::user, 0);
    for (int k = 0; k < g.size.parameters; ++k) {
      std::vector<float> values(static_cast<std::size_t>(g.parameters[k].count()));
      for (float& v : values) v = g.parameters[k].trainable() ? random.uniform(-0.05F, 0.05F) : 1.0F;
      engine_->write_parameter(k, values.data());
    }
    for (float& v : images_) v = random.uniform(-1.7F, 1.7F);
    for (std::int32_t& l : labels_) l = static_cast<std::int32_t>(random.below(10));
  }

  void step(bool counts) {
    double const wall = milliseconds(CLOCK_MONOTONIC), processor = milliseconds(CLOCK_PROCESS_CPUTIME_ID);
    float const* const images = images_.data();
    dsl::target_view const target{.labels = labels_.data()};
    engine_->run(program_, {.inputs = {&images, 1},
                            .targets = {&target, 1},
                            .size = static_cast<int>(labels_.size()),
                            .step = steps_++,
                            .learning_rate = 1e-3});
    if (!counts) return;
    wall_.push_back(milliseconds(CLOCK_MONOTONIC) - wall);
    processor_.push_back(milliseconds(CLOCK_PROCESS_CPUTIME_ID) - processor);
  }
  long long bytes() const { return engine_->arena_bytes(); }
  void print(side const& first) const {
    auto const& plan = static_cast<dsl::host::engine<float>&>(*engine_).prepared(program_).plan;
    int again = 0, convolutions = 0;
    for (dsl::step const& s : plan.steps)
      if (s.again) ++again, convolutions += s.kind == dsl::op::conv2d ? 1 : 0;
    std::printf("| %d %% | %.1f | %d | %d | %.1f | %.1f | %.3f |\n", percent_,
                static_cast<double>(engine_->arena_bytes()) / 1048576, again, convolutions, median(wall_),
                median(processor_), median(processor_) / median(first.processor_));
  }

 private:
  int percent_;
  std::unique_ptr<dsl::engine> engine_;
  int program_;
  std::vector<float> images_;
  std::vector<std::int32_t> labels_;
  std::uint64_t steps_ = 0;
  std::vector<double> wall_, processor_;
};

void measure(char const* name, dsl::graph_view const& g, int batch, int rounds, int threads) {
  std::deque<side> sides;
  long long all = 0;
  for (int percent = 100; percent >= 30; percent -= 10) try {
      // the first limit has no effect: the arena is that of the plan that keeps all values
      long long const bytes = all > 0 ? all * percent / 100 : 1LL << 50;
      side& s = sides.emplace_back(g, percent, dsl::memory_limit{bytes, batch}, threads);
      if (all == 0) all = s.bytes();
      s.step(false);
    } catch (dsl::option_error const& e) {
      std::printf("%s, %d %%: %s\n", name, percent, e.what());
      break;
    }
  for (int r = 0; r < rounds; ++r)
    for (std::size_t i = 0; i < sides.size(); ++i) sides[(i + static_cast<std::size_t>(r)) % sides.size()].step(true);
  std::printf(
      "\n%s, batch %d:\n\n| limit | MiB | steps again | convolutions | ms | ms of processor time | ratio |\n"
      "|---|---|---|---|---|---|---|\n",
      name, batch);
  for (side const& s : sides) s.print(sides.front());
}

}  // namespace

int main(int argc, char** argv) {
  int const rounds = argc > 1 ? std::atoi(argv[1]) : 20, threads = argc > 2 ? std::atoi(argv[2]) : 1;
  using mini = dsl::network<dsl::image<3, 32, 32>, dsl::minigooglenet<10>>;
  using resnet = dsl::network<dsl::image<3, 96, 96>, dsl::models::resnet18<10>>;
  measure("MiniGoogLeNet", mini::view(), 64, rounds, threads);
  measure("ResNet-18 on 96x96", resnet::view(), 32, rounds, threads);
}
