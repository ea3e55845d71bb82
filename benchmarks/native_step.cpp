// SPDX-License-Identifier: MIT
// Compares the native executor with oneDNN, alternately in one process, so that other programs disturb both alike:
//   native_step [train|infer|train-steps|infer-steps] [batch] [threads] [rounds] [avx512|avx2|baseline|automatic]
// In each round, each executor runs four steps of MiniGoogLeNet after a pause in which the other one's threads fall
// asleep; the first step does not count. Prints the medians over the rounds of the ratio oneDNN / native, of elapsed
// time and of processor time, which is more informative on a machine that others use, and the least seconds of each
// executor. To make oneDNN use the same instruction set as native, set ONEDNN_MAX_CPU_ISA and TYPENET_MAX_ISA.
// "train-steps" and "infer-steps" repeat each step of the plan alone, on one thread, and print the least time of each
// executor for it.
#include <dsl/dsl.hpp>
#include <dsl/executors/native.hpp>
#include <dsl/executors/onednn.hpp>

#include <algorithm>
#include <cstdio>
#include <ctime>
#include <string>
#include <vector>

using model = dsl::network<dsl::image<3, 32, 32>, dsl::minigooglenet<10>>;

namespace {

double seconds(clockid_t clock) {
  timespec t{};
  clock_gettime(clock, &t);
  return static_cast<double>(t.tv_sec) + 1e-9 * static_cast<double>(t.tv_nsec);
}

struct turn {
  double wall = 0;
  double processor = 0;
};

class side {
 public:
  side(dsl::trainer t, bool train, int batch)
      : trainer_(std::move(t)),
        batch_(batch),
        program_(trainer_.engine().prepare(train ? dsl::mode::training : dsl::mode::inference, batch)),
        images_(static_cast<std::size_t>(batch) * 3 * 32 * 32),
        labels_(static_cast<std::size_t>(batch)) {
    dsl::detail::random_stream random(1, dsl::detail::purpose::user, 0);
    for (float& v : images_) v = random.uniform(-1.7F, 1.7F);
    for (std::int32_t& l : labels_) l = static_cast<std::int32_t>(random.below(10));
  }

  turn run() {
    timespec const pause{0, 20'000'000};
    nanosleep(&pause, nullptr);
    step();
    double const wall = seconds(CLOCK_MONOTONIC), processor = seconds(CLOCK_PROCESS_CPUTIME_ID);
    for (int i = 0; i < 3; ++i) step();
    turn const t{(seconds(CLOCK_MONOTONIC) - wall) / 3, (seconds(CLOCK_PROCESS_CPUTIME_ID) - processor) / 3};
    least_ = least_.wall == 0 ? t : turn{std::min(t.wall, least_.wall), std::min(t.processor, least_.processor)};
    return t;
  }
  dsl::host::program<float> const& program() {
    return static_cast<dsl::host::engine<float>&>(trainer_.engine()).prepared(program_);
  }
  dsl::graph_view const& graph() { return trainer_.engine().graph(); }

  void print() {
    std::printf("%s: least %.2f ms, %.2f ms of processor time\n", trainer_.engine().description().c_str(),
                1e3 * least_.wall, 1e3 * least_.processor);
  }

 private:
  void step() {
    float const* const input = images_.data();
    dsl::target_view const target{.labels = labels_.data()};
    trainer_.engine().run(
        program_,
        {.inputs = {&input, 1}, .targets = {&target, 1}, .size = batch_, .step = steps_++, .learning_rate = 5e-3});
  }

  dsl::trainer trainer_;
  int batch_;
  int program_;
  std::vector<float> images_;
  std::vector<std::int32_t> labels_;
  std::uint64_t steps_ = 0;
  turn least_{};
};

void print(char const* what, std::vector<double> ratios) {
  std::sort(ratios.begin(), ratios.end());
  std::printf("oneDNN / native, %s: median %.2f (%.2f to %.2f)\n", what, ratios[ratios.size() / 2], ratios.front(),
              ratios.back());
}

/// Returns the least processor time of a step, or 0 if it runs in plain loops.
double least_seconds(dsl::host::bound_step<float> const& b, int rounds) {
  double least = 0;
  for (int r = 0; b.kernel && r <= rounds; ++r) {
    double const begin = seconds(CLOCK_THREAD_CPUTIME_ID);
    b.kernel();
    double const took = seconds(CLOCK_THREAD_CPUTIME_ID) - begin;
    if (least == 0 || took < least) least = took;
  }
  return least;
}

char const* name_of(dsl::action a) {
  switch (a) {
    case dsl::action::forward: return "forward";
    case dsl::action::backward_weights: return "weights";
    case dsl::action::backward_data: return "data";
    case dsl::action::backward: return "backward";
    case dsl::action::update: return "update";
    case dsl::action::copy_forward:
    case dsl::action::copy_backward: return "copy";
    default: return "other";
  }
}

/// Prints a line per step: oneDNN's milliseconds, native's milliseconds and their ratio. For a convolution, also prints
/// the arithmetic rate that a direct convolution would have in native's time.
void print_steps(side& onednn, side& native, int rounds) {
  dsl::dnn::thread_count const alone(1);
  auto const &ours = native.program(), &theirs = onednn.program();
  dsl::graph_view const& g = native.graph();
  double sums[2] = {};
  for (int i = 0; i < ours.steps.size(); ++i) {
    dsl::step const& s = ours.plan.steps[i];
    double const t[2] = {least_seconds(theirs.steps[i], rounds), least_seconds(ours.steps[i], rounds)};
    sums[0] += t[0], sums[1] += t[1];
    if (t[1] == 0) continue;
    dsl::node const* const n = s.node >= 0 ? &g.nodes[s.node] : nullptr;
    dsl::shape const in = n ? g.shape_of(g.input(*n)) : dsl::shape{}, out = n ? g.shape_of(n->output) : dsl::shape{};
    std::string what = n ? dsl::detail::word_of(*n) : "";
    double operations = 0;
    if (n && n->kind == dsl::op::conv2d) {
      dsl::window const& w = n->window;
      what += " " + std::to_string(w.height) + "x" + std::to_string(w.width) + "/" + std::to_string(w.stride);
      operations = 2.0 * ours.part.size * static_cast<double>(out.size()) * in.channels * w.height * w.width;
    }
    std::printf("%4d %-8s %-14s %3dx%2dx%2d -> %3dx%2dx%2d %8.3f %8.3f  %5.2f", i, name_of(s.what), what.c_str(),
                in.channels, in.height, in.width, out.channels, out.height, out.width, 1e3 * t[0], 1e3 * t[1],
                t[0] / t[1]);
    if (operations > 0) std::printf("  %6.1f GFLOP/s", 1e-9 * operations / t[1]);
    std::printf("\n");
  }
  std::printf("all: oneDNN %.2f ms, native %.2f ms\n", 1e3 * sums[0], 1e3 * sums[1]);
}

}  // namespace

int main(int argc, char** argv) {
  auto const word = [&](int i, char const* otherwise) { return std::string(argc > i ? argv[i] : otherwise); };
  auto const number = [&](int i, int otherwise) { return argc > i ? std::atoi(argv[i]) : otherwise; };
  std::string const task = word(1, "train");
  bool const train = task == "train" || task == "train-steps", steps = task.ends_with("-steps");
  int const batch = number(2, 64), threads = steps ? 1 : number(3, 1), rounds = number(4, 9);
  std::string const set = word(5, "automatic");
  dsl::native const own{.threads = threads,
                        .instructions = set == "avx512"     ? dsl::instructions::avx512
                                        : set == "avx2"     ? dsl::instructions::avx2
                                        : set == "baseline" ? dsl::instructions::baseline
                                                            : dsl::instructions::automatic};
  dsl::sgd const optimizer{.learning_rate = 5e-3, .momentum = 0.9};
  side native(dsl::compile<model>(own, optimizer), train, batch);
  side onednn(dsl::compile<model>(dsl::onednn{.threads = threads}, optimizer), train, batch);
  if (steps) {
    onednn.run();
    native.run();
    print_steps(onednn, native, rounds);
    return 0;
  }
  std::vector<double> wall, processor;
  for (int r = 0; r <= rounds; ++r) {
    turn const a = onednn.run(), b = native.run();
    if (r == 0) continue;
    wall.push_back(a.wall / b.wall);
    processor.push_back(a.processor / b.processor);
  }
  onednn.print();
  native.print();
  print("wall time", wall);
  print("processor time", processor);
}
