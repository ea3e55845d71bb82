// SPDX-License-Identifier: MIT
// Tests the memory of a step: the arena has exactly the size that the type says, and no step after the first allocates.
#include "support/one_batch.hpp"
#include "support/catch.hpp"
#include "support/sanitized.hpp"

#include <dsl/dsl.hpp>
#include <dsl/executors/host/memory.hpp>
#include <dsl/training/initialize.hpp>

#include <atomic>
#include <cstdlib>
#include <new>

// Counts every kind of allocation. A sanitizer has its own malloc, so with one, and without glibc, only operator new is
// counted.
#if DSL_TEST_ASAN || DSL_TEST_TSAN || !defined(__GLIBC__)
#define COUNT_MALLOC 0
#else
#define COUNT_MALLOC 1
#endif

namespace {
std::atomic<long> allocations{0};
}

#if COUNT_MALLOC
extern "C" {
void* __libc_malloc(std::size_t);
void* __libc_calloc(std::size_t, std::size_t);
void* __libc_realloc(void*, std::size_t);
void* __libc_memalign(std::size_t, std::size_t);
void* malloc(std::size_t n) { return ++allocations, __libc_malloc(n); }
void* calloc(std::size_t n, std::size_t each) { return ++allocations, __libc_calloc(n, each); }
void* realloc(void* p, std::size_t n) { return ++allocations, __libc_realloc(p, n); }
void* memalign(std::size_t to, std::size_t n) { return ++allocations, __libc_memalign(to, n); }
void* aligned_alloc(std::size_t to, std::size_t n) { return ++allocations, __libc_memalign(to, n); }
int posix_memalign(void** p, std::size_t to, std::size_t n) {
  return ++allocations, (*p = __libc_memalign(to, n)) != nullptr ? 0 : 12;
}
}
#else
[[gnu::noinline]] void* operator new(std::size_t n) {
  ++allocations;
  if (void* p = std::malloc(n > 0 ? n : 1)) return p;
  throw std::bad_alloc();
}
[[gnu::noinline]] void* operator new(std::size_t n, std::nothrow_t const&) noexcept {
  return ++allocations, std::malloc(n > 0 ? n : 1);
}
[[gnu::noinline]] void operator delete(void* p) noexcept { std::free(p); }
[[gnu::noinline]] void operator delete(void* p, std::size_t) noexcept { std::free(p); }
[[gnu::noinline]] void operator delete(void* p, std::nothrow_t const&) noexcept { std::free(p); }
#endif

using namespace dsl;

namespace {

using model = network<image<3, 16, 16>, conv_module<6, 3, 3>, inception_module<4, 4>, add<identity, conv2d<8, 3>>,
                      downsample_module<4>, dropout<0.3>, layer_norm<>, concat<identity, max_pool2d<1>>,
                      global_avg_pool2d, flatten, dense<5>, softmax>;

dataset pictures(int count) {
  std::vector<std::uint8_t> pixels(static_cast<std::size_t>(count) * 3 * 16 * 16);
  for (std::size_t i = 0; i < pixels.size(); ++i) pixels[i] = static_cast<std::uint8_t>(i * 37 % 251);
  std::vector<std::int32_t> labels;
  for (int i = 0; i < count; ++i) labels.push_back(i % 5);
  dataset data = in_memory_dataset({3, 16, 16}, 5, std::move(pixels), std::move(labels));
  data.mean = mean_picture(data);
  return data;
}

template <class F>
long count(F f) {
  long const before = allocations;
  f();
  return allocations - before;
}

/// Keeps Clang from removing allocations whose result is unused.
void keep(void const* p) { asm volatile("" : : "r"(p) : "memory"); }

}  // namespace

TEST_CASE("the counter counts", "[memory]") {
  CHECK(count([] { ::operator delete(::operator new(8)); }) == 1);
  CHECK(count([] { keep(std::vector<float>(100).data()); }) == 1);
#if COUNT_MALLOC
  CHECK(count([] { host::memory_block(1000); }) == 1);
#endif
}

TEMPLATE_TEST_CASE("reference: a step after the first allocates nothing", "[memory]", float, double) {
  for (double momentum : {0.0, 0.9}) {
    auto const e = reference<TestType>{}.make_engine(model::view(), {.update = {.momentum = momentum}});
    initialize(*e, 1);
    std::vector<float> const x(4 * 3 * 16 * 16, 0.5F);
    std::int32_t const labels[] = {0, 1, 2, 3};
    std::vector<float> result(4 * 5);
    for (mode m : {mode::training, mode::evaluation, mode::inference}) {
      int const program = e->prepare(m, 4);
      e->run(program, test::one_batch{x.data(), {labels}, 4, 0, 0.1});
      for (std::uint64_t step = 1; step < 4; ++step) {
        CHECK(count([&] { e->run(program, test::one_batch{x.data(), {labels}, 4, step, 0.1}); }) == 0);
        if (m != mode::inference) CHECK(count([&] { e->metrics(program); }) == 0);
        if (m == mode::inference) CHECK(count([&] { e->read_result(program, result.data()); }) == 0);
      }
      CHECK(count([&] { e->prepare(m, 4); }) == 0);  // prepared before
    }
  }
}

TEST_CASE("a network that only predicts holds what inference takes", "[memory]") {
  trainer t = compile<model>(reference{}, adam{});
  std::vector<float> const x(3 * 16 * 16, 0.5F);
  std::vector<float> y(5), slot(static_cast<std::size_t>(t.graph().parameters[0].count()), 1.0F);
  t.predict_on_batch(x, y);
  CHECK(t.engine().arena_bytes() == model::inference_bytes(1));
  t.engine().read_slot(0, 0, slot.data());
  CHECK(slot == std::vector<float>(slot.size()));
  t.engine().write_slot(1, 0, slot.data());  // all zeros
  CHECK(t.engine().arena_bytes() == model::inference_bytes(1));
  slot.back() = 2;
  t.engine().write_slot(1, 0, slot.data());
  CHECK(t.engine().arena_bytes() > model::inference_bytes(1));
  std::vector<float> again(slot.size());
  t.engine().read_slot(1, 0, again.data());
  CHECK(again == slot);
}

TEST_CASE("fit, evaluate and predict allocate nothing per batch", "[memory]") {
  struct watch : callback {
    std::vector<long> seen;
    watch() { seen.reserve(1000); }
    void on_batch_end(fit_run&) override { seen.push_back(allocations); }
    void on_epoch_begin(fit_run&) override { seen.push_back(-1); }
  };
  dataset const data = pictures(64);
  for (int prefetch : {0, 2}) {
    trainer t = compile<model>(reference{}, sgd{.learning_rate = 0.01, .momentum = 0.9});
    auto const w = std::make_shared<watch>();
    t.fit(data, {.epochs = 3, .batch_size = 8, .augment = shift_and_flip{}, .callbacks = {w}, .prefetch = prefetch});
    REQUIRE(w->seen.size() == 3 * (1 + 8));
    for (std::size_t i = 2; i < w->seen.size(); ++i)
      if (w->seen[i] >= 0 && w->seen[i - 1] >= 0) CHECK(w->seen[i] == w->seen[i - 1]);
    // twice as many batches, the same number of allocations: they are the loader's own
    auto const few = data.first(16), many = data.first(32);
    t.evaluate(few, 8), t.predict(few, 8);
    CHECK(count([&] { t.evaluate(few, 8); }) == count([&] { t.evaluate(many, 8); }));
    CHECK(count([&] { t.predict(few, 8); }) == count([&] { t.predict(many, 8); }));
  }
}

TEST_CASE("numbers that can't be had anew are those that were there", "[memory]") {
  detail::zeros<float> z;
  z.allocate(3);
  z[2] = 7;
  std::size_t volatile too_many = ~std::size_t{0} / 8;
  CHECK_THROWS_AS(z.allocate(too_many), std::bad_alloc);
  REQUIRE(z.size() == 3);
  CHECK(z[2] == 7);
  z.allocate(4);
  CHECK(z[2] == 0);
}

TEST_CASE("the arena of reference is exactly what the type says", "[memory]") {
  for (int batch : {1, 4, 7}) {
    target const to = reference<>::target;
    auto const e = reference{}.make_engine(model::view(), {.update = {.momentum = 0.9}});
    CHECK(e->arena_bytes() < model::training_bytes(batch, to));  // only parameters
    e->prepare(mode::training, batch);
    CHECK(e->arena_bytes() == model::training_bytes(batch, to));
    e->prepare(mode::evaluation, batch);
    e->prepare(mode::inference, batch);
    e->prepare(mode::inference, 1);
    CHECK(e->arena_bytes() == model::training_bytes(batch, to));
    CHECK(e->executor_bytes() == 0);

    auto const plain = reference<double>{}.make_engine(model::view(), {});  // no momentum, no slot
    plain->prepare(mode::training, batch);
    CHECK(plain->arena_bytes() == model::training_bytes(batch, reference<double>::target, 0));

    auto const only_inference = reference{}.make_engine(model::view(), {});
    only_inference->prepare(mode::inference, batch);
    CHECK(only_inference->arena_bytes() == model::inference_bytes(batch, to));
  }
}
