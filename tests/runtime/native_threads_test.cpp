// SPDX-License-Identifier: MIT
#include "support/catch.hpp"
#include "support/sanitized.hpp"
#include "support/temporary_directory.hpp"

#include <dsl/detail/allowed_cores.hpp>
#include <dsl/executors/native/processors.hpp>
#include <dsl/executors/native/thread_pool.hpp>

#include <atomic>
#include <cerrno>
#include <cstddef>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <set>
#include <string>
#include <sched.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>
#include <vector>

using dsl::native_cpu::thread_pool;

namespace {

/// Returns whether every item of a loop ran once, and no two threads with the same number ran at once.
bool shares_out(thread_pool& pool, int items) {
  std::vector<std::atomic<int>> done(static_cast<std::size_t>(items));
  std::vector<std::atomic<int>> busy(static_cast<std::size_t>(pool.threads()));
  std::atomic<bool> good = true;
  pool.run(items, [&](int item, int thread) {
    if (++busy[static_cast<std::size_t>(thread)] != 1) good = false;
    ++done[static_cast<std::size_t>(item)];
    --busy[static_cast<std::size_t>(thread)];
  });
  for (auto const& n : done) good = good && n == 1;
  return good;
}

}  // namespace

TEST_CASE("a pool runs every item once, for any number of threads", "[native]") {
  for (int threads : {1, 2, 3, 4, 7, 16}) {
    thread_pool pool(threads);
    CHECK(pool.threads() == threads);
    for (int items : {0, 1, 2, 5, 100, 1000})
      for (int i = 0; i < 20; ++i) CHECK(shares_out(pool, items));
  }
  CHECK_THROWS_AS(thread_pool(0), dsl::option_error);
}

TEST_CASE("items run on several threads at once", "[native]") {
  thread_pool pool(2);
  std::atomic<int> here = 0;
  pool.run(2, [&](int, int) {  // each waits for the other
    ++here;
    while (here < 2) std::this_thread::yield();
  });
  CHECK(here == 2);
}

TEST_CASE("a pool works while another one is busy", "[native]") {
  thread_pool busy(2), pool(2);
  std::atomic<bool> release = false;
  std::thread other([&] {
    busy.run(2, [&](int, int) {
      while (!release) std::this_thread::yield();
    });
  });
  CHECK(shares_out(pool, 50));
  release = true;
  other.join();
  CHECK(shares_out(busy, 50));
}

TEST_CASE("loops within loops, two pools, several callers", "[native]") {
  thread_pool a(3), b(2);
  std::atomic<int> count = 0;
  std::atomic<bool> own_number = true;
  a.run(10, [&](int, int outer) {
    a.run(10, [&](int, int inner) {
      if (inner != outer) own_number = false;
      b.run(2, [&](int, int) { ++count; });
    });
  });
  CHECK(count == 200);
  CHECK(own_number);
  std::vector<std::thread> callers;
  std::atomic<bool> good = true;
  for (int i = 0; i < 4; ++i)
    callers.emplace_back([&] {
      for (int k = 0; k < 100; ++k)
        if (!shares_out(a, 7)) good = false;
    });
  for (auto& t : callers) t.join();
  CHECK(good);
}

TEST_CASE("waiting threads sleep", "[native]") {
  thread_pool pool(4);
  CHECK(shares_out(pool, 8));
  auto const processor_time = [] {
    rusage u{};
    getrusage(RUSAGE_SELF, &u);
    return static_cast<double>(u.ru_utime.tv_sec + u.ru_stime.tv_sec) +
           1e-6 * static_cast<double>(u.ru_utime.tv_usec + u.ru_stime.tv_usec);
  };
  std::this_thread::sleep_for(std::chrono::milliseconds(50));  // much longer than the 50 microseconds of spinning
  double const before = processor_time();
  std::this_thread::sleep_for(std::chrono::milliseconds(300));
  CHECK(processor_time() - before < 0.1);  // three spinning threads would take 0.3 s of even one processor
  CHECK(shares_out(pool, 8));
}

TEST_CASE("a pool works on both sides of a fork", "[native]") {
  if (DSL_TEST_TSAN) return;  // ThreadSanitizer ends a forked process that starts threads
  thread_pool pool(3);
  CHECK(shares_out(pool, 20));
  pid_t const child = fork();
  if (child == 0) _exit(shares_out(pool, 20) && shares_out(pool, 20) ? 0 : 1);
  CHECK(shares_out(pool, 20));
  int status = -1;
  REQUIRE(waitpid(child, &status, 0) == child);
  CHECK(status == 0);
}

TEST_CASE("a thread that the system refuses is an error with the reason and the number that are running", "[native]") {
  if (DSL_TEST_ASAN || DSL_TEST_TSAN) return;  // they need much address space themselves
  pid_t const child = fork();
  if (child == 0) {
    std::size_t pages = 0;
    std::ifstream("/proc/self/statm") >> pages;
    rlimit limit{};
    getrlimit(RLIMIT_AS, &limit);
    limit.rlim_cur = pages * static_cast<std::size_t>(sysconf(_SC_PAGESIZE)) + (rlim_t{1} << 22);  // no other stack
    setrlimit(RLIMIT_AS, &limit);
    dsl::detail::thread_group threads;
    try {
      while (threads.size() < 1000) threads.start([] {});
    } catch (dsl::executor_error const& e) {
      std::string const wanted = "threads: the system cannot start another thread: Resource temporarily unavailable; " +
                                 std::to_string(threads.size()) + " of this group are running; use fewer, or raise ";
      _exit(std::string(e.what()).starts_with(wanted) ? 0 : 1);
    }
    _exit(2);
  }
  int status = -1;
  REQUIRE(waitpid(child, &status, 0) == child);
  CHECK(status == 0);
}

namespace {

int processors_of_kernel = 0;  // above 0: a kernel for this many, of which the process may use the last

}  // namespace

/// The kernel's answer.
extern "C" int sched_getaffinity(pid_t process, std::size_t size, cpu_set_t* set) noexcept {
  if (processors_of_kernel == 0) {
    std::memset(set, 0, size);
    return ::syscall(SYS_sched_getaffinity, process, size, set) < 0 ? -1 : 0;
  }
  if (size * 8 < static_cast<std::size_t>(processors_of_kernel)) {
    errno = EINVAL;
    return -1;
  }
  std::memset(set, 0, size);
  CPU_SET_S(static_cast<std::size_t>(processors_of_kernel - 1), size, set);
  CPU_SET_S(static_cast<std::size_t>(processors_of_kernel - 3), size, set);
  return 0;
}

TEST_CASE("a kernel for more than 1,024 processors says which may be used, too", "[native]") {
  int const own = dsl::detail::allowed_cores().size();
  CHECK(own > 0);
  for (int const most : {8, 1024, 1025, 5000, 1 << 20}) {
    processors_of_kernel = most;
    dsl::detail::list<int> const found = dsl::detail::allowed_cores();
    processors_of_kernel = 0;
    REQUIRE(found.size() == 2);
    CHECK(found[0] == most - 3);
    CHECK(found[1] == most - 1);
  }
  processors_of_kernel = 1 << 21;
  CHECK(dsl::detail::allowed_cores().size() == 0);
  processors_of_kernel = 0;
  CHECK(dsl::detail::allowed_cores().size() == own);
}

TEST_CASE("a container's quota limits the processors", "[native]") {
  using dsl::native_cpu::processors_of;
  CHECK(processors_of(150000, 100000) == 1);
  CHECK(processors_of(250000, 100000) == 2);
  CHECK(processors_of(10000, 100000) == 1);
  CHECK(processors_of(-1, 100000) == 0);
  CHECK(processors_of(0, 0) == 0);

  dsl::test::temporary_directory const root;
  auto const write = [&](std::string const& path, std::string const& text) {
    auto const file = root.path / path;
    std::filesystem::create_directories(file.parent_path());
    std::ofstream(file) << text;
  };
  auto const found = [&] { return dsl::native_cpu::processors_of_control_groups(root.path.string()); };
  CHECK(found() == 0);
  write("proc/self/cgroup", "0::/a/b\n");
  CHECK(found() == 0);
  write("sys/fs/cgroup/a/b/cpu.max", "max 100000\n");
  CHECK(found() == 0);
  write("sys/fs/cgroup/a/cpu.max", "300000 100000\n");
  CHECK(found() == 3);
  write("sys/fs/cgroup/cpu.max", "200000 100000\n");
  CHECK(found() == 2);
  write("proc/self/cgroup", "5:memory:/x\n4:cpu,cpuacct:/c\n");
  CHECK(found() == 0);
  write("sys/fs/cgroup/cpu/c/cpu.cfs_quota_us", "450000\n");
  write("sys/fs/cgroup/cpu/c/cpu.cfs_period_us", "100000\n");
  CHECK(found() == 4);
  write("proc/self/cgroup", "nonsense\n0::\n:::\n");
  CHECK(found() == 2);
  CHECK(dsl::native_cpu::available_processors() >= 1);
}
