// SPDX-License-Identifier: MIT
// Times attention on the native executor, for benchmarks/attention:
//   attention_step <tokens> <heads> <width of a head> <batch> <causal: 0 or 1> <threads>
// For each line "forward" or "backward" on standard input, runs that pass twice and prints, in one line, the elapsed
// seconds and the processor seconds of the second run. Queries, keys, values and the output's gradient are random.
#include <dsl/detail/philox.hpp>
#include <dsl/executors/native/attention.hpp>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <memory>

namespace {

double seconds(clockid_t clock) {
  timespec t{};
  clock_gettime(clock, &t);
  return static_cast<double>(t.tv_sec) + 1e-9 * static_cast<double>(t.tv_nsec);
}

/// A batch of tokens in channel blocks, aligned like an engine's memory.
class tokens {
 public:
  tokens(int batch, int channels, int count, int lanes, std::uint64_t seed)
      : padded_(dsl::native_cpu::blocks_of(channels, lanes) * lanes),
        shape_{channels, 1, count},
        batch_(batch),
        lanes_(lanes),
        memory_(new dsl::host::memory_block(4LL * batch * padded_ * count)) {
    dsl::detail::random_stream random(seed, dsl::detail::purpose::user, 0);
    for (long long i = 0; i < 1LL * batch * padded_ * count; ++i) data()[i] = random.uniform(-1.7F, 1.7F);
  }
  dsl::view<float> view() const { return {data(), shape_, batch_, lanes_, padded_, 0}; }
  dsl::view<float const> read() const { return {data(), shape_, batch_, lanes_, padded_, 0}; }

 private:
  float* data() const { return reinterpret_cast<float*>(memory_->data()); }

  int padded_;
  dsl::shape shape_;
  int batch_, lanes_;
  std::unique_ptr<dsl::host::memory_block> memory_;
};

}  // namespace

int main(int argc, char** argv) {
  if (argc != 7) {
    std::fprintf(stderr, "attention_step <tokens> <heads> <width> <batch> <causal> <threads>\n");
    return 2;
  }
  int const count = std::atoi(argv[1]), heads = std::atoi(argv[2]), width = std::atoi(argv[3]);
  int const batch = std::atoi(argv[4]);
  dsl::native_cpu::cpu_device at(dsl::host::widest(), std::atoi(argv[6]));
  dsl::node const node{.kind = std::atoi(argv[5]) ? dsl::op::causal_attention : dsl::op::attention, .groups = heads};
  tokens const x(batch, 3 * heads * width, count, at.lanes(), 1), y(batch, heads * width, count, at.lanes(), 2);
  tokens const dx(batch, 3 * heads * width, count, at.lanes(), 3);
  dsl::step forward{}, backward{};
  forward.what = dsl::action::forward, backward.what = dsl::action::backward;
  dsl::host::bound_step<float> f, b;
  f.step = &forward, f.node = &node, f.x = x.read(), f.to = y.view();
  b.step = &backward, b.node = &node, b.x = f.x, b.dy = y.read(), b.to = dx.view();
  dsl::host::task const run_forward = dsl::native_cpu::attention_task(at, f);
  dsl::host::task const run_backward = dsl::native_cpu::attention_task(at, b);
  std::printf("%s\n", dsl::host::name_of(dsl::host::widest()));
  std::fflush(stdout);
  char line[64];
  while (std::fgets(line, sizeof line, stdin)) {
    dsl::host::task const& pass = std::strcmp(line, "forward\n") == 0 ? run_forward : run_backward;
    pass();
    double const begin = seconds(CLOCK_MONOTONIC), cpu = seconds(CLOCK_PROCESS_CPUTIME_ID);
    pass();
    std::printf("%.9f %.9f\n", seconds(CLOCK_MONOTONIC) - begin, seconds(CLOCK_PROCESS_CPUTIME_ID) - cpu);
    std::fflush(stdout);
  }
}
