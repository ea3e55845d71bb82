// SPDX-License-Identifier: MIT
// Tests the allocations of oneDNN, which allocates when it executes a primitive; the caller tells whose an allocation
// is.
#include "support/one_batch.hpp"
#include "support/catch.hpp"
#include "support/sanitized.hpp"

#include <dsl/dsl.hpp>
#include <dsl/executors/host/memory.hpp>
#include <dsl/executors/onednn.hpp>
#include <dsl/executors/onednn/engine.hpp>
#include <dsl/training/initialize.hpp>

#include <atomic>
#include <cstdlib>
#include <dlfcn.h>
#include <new>

#if DSL_TEST_ASAN || DSL_TEST_TSAN || !defined(__GLIBC__)
#define COUNT_MALLOC 0
#else
#define COUNT_MALLOC 1
#endif

namespace {

/// The callers of the first allocations since start(), from any thread.
struct recorder {
  static constexpr long most = 1 << 16;
  std::atomic<bool> on{false};
  std::atomic<long> count{0};
  void* callers[most] = {};

  void note(void* caller) {
    if (!on) return;
    long const i = count++;
    if (i < most) callers[i] = caller;
  }
  void start() { count = 0, on = true; }
  void stop() { on = false; }
  /// Returns the number of allocations whose caller is not oneDNN or its OpenMP runtime.
  long ours() const {
    long n = 0;
    for (long i = 0; i < count && i < most; ++i) {
      Dl_info where{};
      std::string const file = dladdr(callers[i], &where) != 0 && where.dli_fname ? where.dli_fname : "";
      n += file.find("dnnl") == std::string::npos && file.find("gomp") == std::string::npos;
    }
    return n;
  }
} record;

}  // namespace

#if COUNT_MALLOC
extern "C" {
void* __libc_malloc(std::size_t);
void* __libc_calloc(std::size_t, std::size_t);
void* __libc_realloc(void*, std::size_t);
void* __libc_memalign(std::size_t, std::size_t);
void* malloc(std::size_t n) { return record.note(__builtin_return_address(0)), __libc_malloc(n); }
void* calloc(std::size_t n, std::size_t each) {
  return record.note(__builtin_return_address(0)), __libc_calloc(n, each);
}
void* realloc(void* p, std::size_t n) { return record.note(__builtin_return_address(0)), __libc_realloc(p, n); }
void* memalign(std::size_t to, std::size_t n) {
  return record.note(__builtin_return_address(0)), __libc_memalign(to, n);
}
void* aligned_alloc(std::size_t to, std::size_t n) {
  return record.note(__builtin_return_address(0)), __libc_memalign(to, n);
}
int posix_memalign(void** p, std::size_t to, std::size_t n) {
  return record.note(__builtin_return_address(0)), (*p = __libc_memalign(to, n)) != nullptr ? 0 : 12;
}
}
#define ALLOCATE __libc_malloc  // counted already
#else
#define ALLOCATE std::malloc
#endif
// Written by hand, since with the library's own operator new, that would be the caller of malloc.
[[gnu::noinline]] void* operator new(std::size_t n) {
  record.note(__builtin_return_address(0));
  if (void* p = ALLOCATE(n > 0 ? n : 1)) return p;
  throw std::bad_alloc();
}
[[gnu::noinline]] void* operator new(std::size_t n, std::nothrow_t const&) noexcept {
  record.note(__builtin_return_address(0));
  return ALLOCATE(n > 0 ? n : 1);
}
[[gnu::noinline]] void operator delete(void* p) noexcept { std::free(p); }
[[gnu::noinline]] void operator delete(void* p, std::size_t) noexcept { std::free(p); }
[[gnu::noinline]] void operator delete(void* p, std::nothrow_t const&) noexcept { std::free(p); }

using namespace dsl;

namespace {

struct step_cost {
  long all = 0;
  long ours = 0;
};
template <class F>
step_cost cost(F f) {
  record.start();
  f();
  record.stop();
  return {record.count, record.ours()};
}

using small = network<image<3, 16, 16>, conv_module<20, 3, 3>, inception_module<16, 17>, add<identity, conv2d<33, 3>>,
                      downsample_module<16>, dropout<0.3>, concat<identity, max_pool2d<1>>, elu<>, global_avg_pool2d,
                      flatten, dense<5>, softmax>;
using minigoogle = network<image<3, 32, 32>, minigooglenet<5>>;

/// Checks that no step after the first has allocations of ours, and all have the same number of oneDNN's.
void check_steps(graph_view const& g, int batch, int threads, char const* what) {
  auto const e = onednn{.threads = threads}.make_engine(g, {.update = {.momentum = 0.9}});
  initialize(*e, 1);
  std::vector<float> const x(static_cast<std::size_t>(batch * g.shape_of(0).size()), 0.5F);
  std::vector<std::int32_t> const labels(static_cast<std::size_t>(batch), 2);
  std::vector<float> result(static_cast<std::size_t>(batch * 5));
  for (mode m : {mode::training, mode::evaluation, mode::inference}) {
    int const program = e->prepare(m, batch);
    auto const step = [&](std::uint64_t s) {
      e->run(program, test::one_batch{x.data(), {labels.data()}, batch, s, 0.01});
    };
    step(0);
    if (m != mode::training) step(0);
    step_cost const first = cost([&] { step(1); });
    WARN(what << ", batch " << batch << ", " << threads << " threads, mode " << static_cast<int>(m) << ": "
              << first.all - first.ours << " allocations of oneDNN's a step, " << first.ours << " of ours");
    for (std::uint64_t s = 1; s < 5; ++s) {
      step_cost const c = cost([&] { step(s); });
      CHECK(c.ours == 0);
      CHECK(c.all == first.all);
    }
    if (m == mode::inference) CHECK(cost([&] { e->read_result(program, result.data()); }).all == 0);
    if (m != mode::inference) CHECK(cost([&] { e->metrics(program); }).all == 0);
  }
}

template <class Model>
void check_arena(int batch) {
  for (int block : {16, 8}) {
    target const to{.channel_block = block, .library_writes_slices = true};
    auto const e = std::make_unique<dnn::engine>(Model::view(), engine_options{.update = {.momentum = 0.9}}, to,
                                                 dnn::engine_settings{});
    e->prepare(mode::training, batch);
    CHECK(e->arena_bytes() == Model::training_bytes(batch, to));
    e->prepare(mode::evaluation, batch);
    e->prepare(mode::inference, batch);
    CHECK(e->arena_bytes() == Model::training_bytes(batch, to));
    CHECK(e->executor_bytes() > 0);
  }
}

/// Keeps Clang from removing allocations whose result is unused.
void keep(void const* p) { asm volatile("" : : "r"(p) : "memory"); }

}  // namespace

TEST_CASE("the recorder tells ours from the library's", "[memory]") {
  CHECK(cost([] { ::operator delete(::operator new(8)); }).ours == 1);
  CHECK(cost([] { keep(std::vector<float>(100).data()); }).ours == 1);
#if COUNT_MALLOC
  CHECK(cost([] { host::memory_block(1000); }).ours == 1);
  step_cost const c = cost([] { dnn::device(); });
  CHECK(c.all > c.ours);
#endif
}

TEST_CASE("onednn: a step after the first allocates nothing of ours", "[memory]") {
  for (int batch : {1, 6})
    for (int threads : {1, 2}) check_steps(small::view(), batch, threads, "small network");
  check_steps(minigoogle::view(), 4, 1, "MiniGoogLeNet");
}

TEST_CASE("the arena of onednn is exactly what the type says", "[memory]") {
  for (int batch : {1, 6}) check_arena<small>(batch);
  check_arena<minigoogle>(64);
}
