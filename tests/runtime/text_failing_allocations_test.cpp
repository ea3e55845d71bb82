// SPDX-License-Identifier: MIT
// Lets the n-th allocation fail, for each n: of compile, fit, evaluate, predict, and of saving and loading weights,
// with native, with towers and on two devices. Each must throw std::bad_alloc or one of typenet's exceptions, or do its
// work all the same; nothing may be lost, and the next try must do what an undisturbed one does.
#include "support/catch.hpp"
#include "support/extent.hpp"
#include "support/sanitized.hpp"
#include "support/saved_runs.hpp"
#include "support/temporary_directory.hpp"
#include "support/warnings.hpp"

#include <dsl/files/atomic_file.hpp>
#include <dsl/files/file_lock.hpp>
#include <dsl/io/backup_and_restore.hpp>
#include <dsl/io/checkpoint.hpp>
#include <dsl/placement.hpp>
#include <dsl/towers.hpp>

#include <atomic>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <memory>
#include <new>
#include <optional>

#include <unistd.h>

namespace {

/// Counts allocations down, from any thread. `lasting`: all that follow the n-th fail, too, as on a full machine.
struct {
  std::atomic<bool> armed{false};
  std::atomic<bool> lasting{false};
  std::atomic<long> left{0};
  std::atomic<bool> failed{false};
  std::atomic<long> live{0};  // number of allocations that have not been freed

  void arm(long n, bool and_later) { failed = false, lasting = and_later, left = n, armed = true; }
  void disarm() { armed = false; }
  bool fails() {
    if (!armed) return false;
    long const now = --left;
    if (now > 0 || (now < 0 && !lasting)) return false;
    failed = true;
    return true;
  }
} countdown;

void* allocate(std::size_t size) {
  void* const made = countdown.fails() ? nullptr : std::malloc(size > 0 ? size : 1);
  countdown.live += made != nullptr;
  return made;
}
void release(void* p) {
  countdown.live -= p != nullptr;
  std::free(p);
}

}  // namespace

[[gnu::noinline]] void* operator new(std::size_t n) {
  if (void* const p = allocate(n)) return p;
  throw std::bad_alloc();
}
[[gnu::noinline]] void* operator new(std::size_t n, std::nothrow_t const&) noexcept { return allocate(n); }
[[gnu::noinline]] void operator delete(void* p) noexcept { release(p); }
[[gnu::noinline]] void operator delete(void* p, std::size_t) noexcept { release(p); }
[[gnu::noinline]] void operator delete(void* p, std::nothrow_t const&) noexcept { release(p); }
#if !DSL_TEST_ASAN && !DSL_TEST_TSAN && defined(__GLIBC__)
extern "C" {
void* __libc_memalign(std::size_t to, std::size_t n);
void* aligned_alloc(std::size_t to, std::size_t n) { return countdown.fails() ? nullptr : __libc_memalign(to, n); }
}
#endif

using namespace dsl;
using namespace dsl::test;

namespace {

using net = network<image<2, 6, 6>, conv_module<4, 3>, concat<conv_module<2, 1>, conv_module<3, 3>>, max_pool2d<2>,
                    flatten, dropout<0.25>, dense<3>, softmax>;

trainer on_native() { return compile<net>(native{.threads = 2}, adam{}, {.seed = 5}); }
trainer on_towers() { return compile<replicate<2, net>>(native{.threads = 2}, adam{}, {.seed = 5}); }
/// Allocates in each step, as the library's own operations do not.
struct allocates {
  static constexpr char const* name = "allocates";
  template <class T>
  static T value(T x) {
    ::operator delete(::operator new(1));
    return x;
  }
  template <class T>
  static T derivative(T) {
    return T(1);
  }
};
using on_devices =
    pipeline<3,
             network<image<2, 6, 6>, on<device<0>, conv_module<4, 3>, concat<conv_module<2, 1>, conv_module<3, 3>>>,
                     on<device<1>, max_pool2d<2>, flatten, dropout<0.25>, dense<3>, elementwise<allocates>, softmax>>>;
trainer on_two_devices() { return compile<on_devices>(native{.threads = 2}, adam{}, {.seed = 5}); }
using maker = trainer (*)();

dataset const& pictures() {
  static dataset const all = [] {
    dataset d = saved_run_of::pictures();
    d.mean = mean_picture(d);
    return d;
  }();
  return all;
}
dataset const& others() {
  static dataset const all = [] {
    dataset d = saved_run_of::pictures(3);
    d.mean = pictures().mean;
    return d;
  }();
  return all;
}

std::string fitted(trainer& t, std::string const& state) {
  t.fit(pictures(), {.epochs = 2,
                     .batch_size = 8,
                     .validation = &others(),
                     .augment = shift_and_flip{.width = 0.2, .height = 0.2, .horizontal_flip = true},
                     .callbacks = {early_stopping<val_loss>{{.patience = 5, .restore_best_weights = true}},
                                   backup_and_restore{state, {.save_freq = every_batches(2), .verbose = false}}},
                     .average = weight_average{.start_from_epoch = 1, .every = 2},
                     .cache = true});
  return checkpoint(t, {});
}

/// Returns the number of open files of this process.
long open_files() { return std::distance(std::filesystem::directory_iterator("/proc/self/fd"), {}); }

/// Tries f, which gets what `make` returns, with the n-th allocation failing, for n = 1, 2, ... until f needs no more.
/// Afterwards calls check with it and whether f threw. Outside of the stage long, leaves most n above 50 out.
template <class Make, class F, class Check>
void for_each_allocation(Make make, F f, Check check) {
  long tried = 0, thrown = 0;
  for (bool lasting : {false, true}) {
    long step = 1;
    for (long n = 1;; n += step) {
      auto it = make();
      bool threw = false;
      std::string said;
      warnings_kept const kept;
      long const open = open_files();
      countdown.arm(n, lasting);
      try {
        f(it);
      } catch (error const&) {
        threw = true;
      } catch (std::bad_alloc const&) {
        threw = true;
      } catch (std::exception const& e) {
        countdown.disarm();
        said = e.what();
      }
      countdown.disarm();
      INFO("allocation " << n << (lasting ? " and all later ones" : ""));
      if (open_files() > open) FAIL_CHECK("left a file open");
      if (!said.empty()) FAIL_CHECK("not one of typenet's exceptions: " << said);
      check(it, threw);
      if (!countdown.failed) break;
      ++tried, thrown += threw;
      if (!everything() && n >= 50) step = only_a_sample() ? 97 : 31;
    }
  }
  WARN(tried << " allocations failed, " << thrown << " of them with an exception");
  CHECK(thrown > 5);
}

void check_compile(maker make) {
  std::vector<float> const x(72, 0.5F);
  std::vector<float> wanted(3), found(3);
  make().predict_on_batch(x, wanted);
  for_each_allocation([] { return std::optional<trainer>(); }, [&](std::optional<trainer>& t) { t = make(); },
                      [&](std::optional<trainer>& t, bool threw) {
                        if (threw == t.has_value()) FAIL_CHECK("a trainer and an exception");
                        if (!t) t = make();
                        t->predict_on_batch(x, found);
                        if (found != wanted) FAIL_CHECK("another prediction");
                      });
}

struct folder_and_trainer {
  temporary_directory here{};
  trainer t;
  explicit folder_and_trainer(maker make) : t(make()) {}
  std::string state() const { return here / "run.state"; }
};

void check_fit(maker make) {
  auto const fresh = [make] { return std::make_unique<folder_and_trainer>(make); };
  auto const undisturbed = fresh();
  std::string const wanted = fitted(undisturbed->t, undisturbed->state());
  for_each_allocation(
      fresh, [](auto& it) { fitted(it->t, it->state()); },
      [&](auto& it, bool threw) {
        for (auto const& entry : std::filesystem::directory_iterator(it->here.path))
          if (entry.path().filename() != "run.state") FAIL_CHECK("left: " << entry.path().filename());
        if (!threw && checkpoint(it->t, {}) != wanted) FAIL_CHECK("another result");
        try {
          it->t.evaluate(others());
        } catch (executor_error const&) {  // only where one tower or device may have trained more than another
          if (make == on_native || !threw) throw;
        }
        if (!threw) return;
        trainer next = make();
        if (fitted(next, it->state()) != wanted) FAIL_CHECK("another result of the next try");
      });
}

void check_use(maker make) {
  static auto const both = [](trainer& t) {
    std::vector<float> y = t.predict(others());
    auto const s = t.evaluate(others());
    y.push_back(static_cast<float>(s.loss)), y.push_back(static_cast<float>(s.acc));
    return y;
  };
  trainer undisturbed = make();
  std::vector<float> const wanted = both(undisturbed);
  std::string const weights = checkpoint(undisturbed, {});
  for_each_allocation([make] { return std::make_unique<trainer>(make()); }, [](auto& t) { both(*t); },
                      [&](auto& t, bool) {
                        if (checkpoint(*t, {}) != weights) FAIL_CHECK("weights have changed");
                        if (both(*t) != wanted) FAIL_CHECK("another result");
                      });
}

void check_files(maker make) {
  trainer trained = make();
  trained.fit(pictures(), {.epochs = 1, .batch_size = 8});
  temporary_directory const reference;
  save_weights(trained, reference / "weights");
  auto const loaded = [&] {
    auto it = std::make_unique<folder_and_trainer>(make);
    save_weights(it->t, it->here / "weights");  // an older file
    load_weights(it->t, reference / "weights");
    return it;
  };
  save_weights(loaded()->t, reference / "saved");
  std::string const old_file = bytes_of(loaded()->here / "weights"), new_file = bytes_of(reference / "saved");
  for_each_allocation(
      loaded, [](auto& it) { save_weights(it->t, it->here / "weights"); },
      [&](auto& it, bool threw) {
        if (std::distance(std::filesystem::directory_iterator(it->here.path), {}) != 1)
          FAIL_CHECK("left more than a file");
        if (bytes_of(it->here / "weights") != (threw ? old_file : new_file)) FAIL_CHECK("another file");
        save_weights(it->t, it->here / "weights");
        if (bytes_of(it->here / "weights") != new_file) FAIL_CHECK("the next try writes something else");
      });
  auto const numbers = [](trainer& t) {
    std::vector<std::vector<float>> all;
    for (int k = 0; k < t.graph().size.parameters; ++k) {
      all.emplace_back(static_cast<std::size_t>(t.graph().parameters[k].count()));
      t.engine().read_parameter(k, all.back().data());
    }
    return all;
  };
  trainer untrained = make();
  auto const old = numbers(untrained), wanted = numbers(trained);
  for_each_allocation([make] { return std::make_unique<trainer>(make()); },
                      [&](auto& t) { load_weights(*t, reference / "weights"); },
                      [&](auto& t, bool threw) {
                        if (numbers(*t) != (threw ? old : wanted))
                          FAIL_CHECK("neither the old weights nor the new ones");
                        load_weights(*t, reference / "weights");
                        if (numbers(*t) != wanted) FAIL_CHECK("the next try loads something else");
                      });
}

/// Prepares training again and again while its n-th allocation fails: each further try must leave no more than those
/// before it.
void check_prepare(graph_view const& g) {
  constexpr int tries = 12;
  for (long n = 1, failing = 1; failing > 0; ++n) {
    auto const e = native{.threads = 2}.make_engine(g, {});
    failing = 0;
    bool complete = false;
    long left[tries] = {};
    for (int i = 0; i < tries && !complete; ++i) {
      complete = true;
      countdown.arm(n, false);
      try {
        e->prepare(mode::training, 4);
      } catch (std::bad_alloc const&) {
        complete = false;
      } catch (executor_error const&) {
        complete = false;
      }
      countdown.disarm();
      failing += countdown.failed;
      left[i] = countdown.live;
    }
    INFO("allocation " << n);
    if (!complete && left[tries - 1] > left[tries / 2]) FAIL_CHECK("each try keeps something");
  }
}

/// Writes a file under a lock, beside one that a process with this process's number, which has ended, left behind.
void check_lock_and_file() {
  auto const write = [](temporary_directory const& here) {
    file_lock const mine(here / "some_longer_name", "test");
    atomic_file file(here / "some_longer_name", "test");
    file.write("text");
    file.commit();
  };
  for_each_allocation(
      [] {
        auto here = std::make_unique<temporary_directory>();
        std::ofstream(*here / ("some_longer_name." + std::to_string(::getpid()) + "-7.typenet.tmp"));
        return here;
      },
      [&](auto& here) { write(*here); },
      [&](auto& here, bool threw) {
        if (std::filesystem::exists(*here / "some_longer_name.lock")) FAIL_CHECK("left the lock");
        if (std::filesystem::exists(*here / "some_longer_name") == threw) FAIL_CHECK("a file and an exception");
        write(*here);
        if (std::distance(std::filesystem::directory_iterator(here->path), {}) != 1)
          FAIL_CHECK("left more than a file");
      });
}

}  // namespace

TEST_CASE("each allocation of compile may fail", "[allocations]") { check_compile(on_native); }
TEST_CASE("each allocation of compile with towers may fail", "[allocations]") { check_compile(on_towers); }
TEST_CASE("tries to prepare a program that fail for lack of memory keep nothing", "[allocations]") {
  check_prepare(net::view());
  check_prepare(network<image<16, 8, 8>, conv2d<16, 3, groups<16>>, conv2d<16, 3>, conv2d<32, 3, groups<4>>, flatten,
                        dense<3>, softmax>::view());
}
TEST_CASE("each allocation of fit may fail", "[allocations]") { check_fit(on_native); }
TEST_CASE("each allocation of fit with towers may fail", "[allocations]") { check_fit(on_towers); }
TEST_CASE("each allocation of fit on two devices may fail", "[allocations]") { check_fit(on_two_devices); }
TEST_CASE("each allocation of evaluate and predict may fail", "[allocations]") { check_use(on_native); }
TEST_CASE("each allocation of evaluate and predict with towers may fail", "[allocations]") { check_use(on_towers); }
TEST_CASE("each allocation of evaluate and predict on two devices may fail", "[allocations]") {
  check_use(on_two_devices);
}
TEST_CASE("each allocation of saving and loading may fail", "[allocations]") { check_files(on_native); }
TEST_CASE("each allocation of a lock and of a file below it may fail", "[allocations]") { check_lock_and_file(); }
