// SPDX-License-Identifier: MIT
// Tests ranks that do not arrive, stop, or make other calls, and calls that fail: there must be a typed error in time,
// and no leak.
#include "support/catch.hpp"

#include "cuda/nccl_ranks.hpp"

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <iterator>
#include <new>
#include <set>

using Catch::Contains;
using dsl::cu::nccl_communicator;
using dsl::cu::nccl_deadlines;
using dsl_test::on_ranks;
using dsl_test::rank_floats;
using dsl_test::simulated_device;
using dsl_test::simulated_nccl;
using namespace std::chrono_literals;

namespace {

constexpr nccl_deadlines in_time{20s, 20s, 20s};
constexpr nccl_deadlines soon{100ms, 100ms, 20s};

double seconds_since(std::chrono::steady_clock::time_point t) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - t).count();
}
/// Waits until n threads have arrived; thread-safe.
struct barrier {
  std::atomic<int> come{0};
  void wait(int n) {
    ++come;
    while (come < n) std::this_thread::yield();
  }
};

}  // namespace

TEST_CASE("a rank that never comes: the others say so in time") {
  simulated_device device{{.devices = 3}};
  simulated_nccl nccl(device);
  dsl::cu::nccl_id const id = make_nccl_id(nccl.nccl());
  auto const thrown = on_ranks(3, [&](int r) {
    if (r != 1) nccl_communicator(nccl.api(), nccl.nccl(), id, r, 3, {100ms, 1s, 20s});
  });
  CHECK(thrown[1] == "");
  // The first to give up ends it for the other one, too.
  std::string const first = "nccl: rank 0 of 3: ncclCommInitRankConfig: waited 100 ms for all ranks to join; another ";
  CHECK_THAT(thrown[0], Contains(first) || Contains("waiting for all ranks to join: remote process"));
  CHECK_THAT(thrown[0] + thrown[2], Contains("waited 100 ms for all ranks to join"));
  CHECK_THAT(thrown[2], Contains("nccl: rank 2 of 3: ncclCommInitRankConfig: "));
  CHECK(device.calls("ncclCommAbort") == 2);
  CHECK(device.report() == "");
}

TEST_CASE("a start that is given up writes nothing where its communicator was") {
  simulated_device device;
  simulated_nccl nccl(device, {.patience = 20s, .aborts_last = true});
  alignas(nccl_communicator) std::byte room[sizeof(nccl_communicator)];
  nccl_deadlines const at_once{10ms, 10ms, 10ms};
  CHECK_THROWS_WITH(::new (room) nccl_communicator(nccl.api(), nccl.nccl(), make_nccl_id(nccl.nccl()), 0, 2, at_once),
                    Contains("waited 10 ms for all ranks to join"));
  std::fill(std::begin(room), std::end(room), std::byte{7});  // memory that belongs to others now
  nccl.let_aborts_end();
  nccl.wait_until_quiet();
  CHECK(std::count(std::begin(room), std::end(room), std::byte{7}) == static_cast<long>(sizeof room));
  CHECK(device.calls("ncclCommAbort") == 1);
  CHECK(device.report() == "");
}

TEST_CASE("two ranks of one number, another number of ranks, an id from nowhere: nobody gets in") {
  int const how = GENERATE(0, 1, 2);
  simulated_device device{{.devices = 2}};
  simulated_nccl nccl(device);
  dsl::cu::nccl_id const id = make_nccl_id(nccl.nccl());
  auto const thrown = on_ranks(2, [&](int r) {
    dsl::cu::nccl_id const mine = how == 2 ? dsl::cu::nccl_id{} : id;
    nccl_communicator(nccl.api(), nccl.nccl(), mine, how == 0 ? 0 : r, how == 1 ? 2 + r : 2, soon);
  });
  for (auto const& text : thrown) CHECK_THAT(text, Contains("ncclCommInitRankConfig: ") && Contains("all ranks to"));
  CHECK(device.report() == "");
}

TEST_CASE("two ranks on one GPU are refused") {
  simulated_device device{{.devices = 2}};
  simulated_nccl nccl(device);
  dsl::cu::nccl_id const id = make_nccl_id(nccl.nccl());
  auto const thrown = on_ranks(2, [&](int r) {
    nccl.api()(nccl.api().cudaSetDevice, 1);
    nccl_communicator(nccl.api(), nccl.nccl(), id, r, 2, in_time);
  });
  // The second one may see that the first has already left.
  CHECK_THAT(thrown[0] + thrown[1], Contains("invalid usage") && Contains("Duplicate GPU detected : rank"));
  for (auto const& text : thrown) CHECK_THAT(text, Contains("ncclCommInitRankConfig: "));
  CHECK(device.report() == "");
}

TEST_CASE("a rank that stops: the others' wait ends, and their kernels, heard or not") {
  bool const heard = GENERATE(true, false);
  simulated_device device{{.devices = 2}};
  simulated_nccl nccl(device, {.aborts_are_heard = heard});
  dsl::cu::nccl_id const id = make_nccl_id(nccl.nccl());
  barrier started;
  auto const start = std::chrono::steady_clock::now();
  auto const thrown = on_ranks(2, [&](int r) {
    rank_floats x(nccl.api(), 10);
    nccl_communicator c(nccl.api(), nccl.nccl(), id, r, 2, {20s, heard ? 20s : 300ms, 20s});
    c.all_reduce(x.on_device(), 10, x.s.get());  // connects the ranks
    c.wait(x.s.get());
    started.wait(2);
    // its communicator aborts when it is destroyed
    if (r == 1) throw dsl::data_error("data_batch_3.bin: 17 bytes short");
    c.all_reduce(x.on_device(), 10, x.s.get());
    c.wait(x.s.get(), "step 7");
  });
  CHECK_THAT(thrown[1], Contains("17 bytes short"));
  CHECK_THAT(thrown[0], Contains("nccl: rank 0 of 2: "));
  if (heard) CHECK_THAT(thrown[0], Contains("remote process exited"));
  if (!heard) CHECK(thrown[0].find("waited 300 ms for step 7; another rank has stopped") != std::string::npos);
  CHECK(seconds_since(start) < 15);
  CHECK(device.calls("ncclCommFinalize") == 0);
  CHECK(device.calls("ncclCommAbort") == 2);
  CHECK(device.report() == "");
}

TEST_CASE("the first collective of a kind waits for all ranks, also where it is recorded") {
  bool const late = GENERATE(false, true);  // later than the deadline
  bool const recorded = GENERATE(false, true);
  simulated_device device{{.devices = 2}};
  simulated_nccl nccl(device);
  dsl::cu::nccl_id const id = make_nccl_id(nccl.nccl());
  auto const thrown = on_ranks(2, [&](int r) {
    rank_floats x(nccl.api(), 20);
    nccl_communicator c(nccl.api(), nccl.nccl(), id, r, 2, {late ? 300ms : 20s, 20s, 20s});
    auto const first = [&] { c.all_gather(x.on_device(), 10, x.on_device(), x.s.get()); };
    if (r == 1) std::this_thread::sleep_for(late ? 1s : 100ms);
    if (!recorded) return first(), c.wait(x.s.get());
    dsl::cu::replay const step(nccl.api(), x.s.get(), first);
    step.launch(x.s.get());
    c.wait(x.s.get());
  });
  if (late) CHECK_THAT(thrown[0], Contains("ncclAllGather: waited 300 ms for its launch; another rank has stopped"));
  if (!late) CHECK(thrown == std::vector<std::string>{"", ""});
  CHECK(device.report() == "");
}

TEST_CASE("an error in the background ends a wait, names the rank, and nothing goes on after it") {
  simulated_device device{{.devices = 2}};
  simulated_nccl nccl(device);
  dsl::cu::nccl_id const id = make_nccl_id(nccl.nccl());
  barrier started;
  auto const thrown = on_ranks(2, [&](int r) {
    rank_floats x(nccl.api(), 10);
    nccl_communicator c(nccl.api(), nccl.nccl(), id, r, 2, in_time);
    started.wait(2);
    if (r == 1) nccl.break_rank(1, ncclSystemError);
    try {
      c.all_reduce(x.on_device(), 10, x.s.get());
      c.wait(x.s.get(), "step 7");
    } catch (dsl::executor_error const&) {
      if (c.usable()) throw dsl::error("usable after an error");
      try {
        c.wait(x.s.get());
      } catch (dsl::executor_error const& e) {
        if (std::string(e.what()).find("the communicator was aborted") == std::string::npos) throw;
      }
      throw;
    }
  });
  CHECK_THAT(thrown[1], Contains("nccl: rank 1 of 2: ") && Contains("unhandled system error"));
  CHECK_THAT(thrown[0], Contains("nccl: rank 0 of 2: ") && Contains("remote process exited"));
  CHECK(device.report() == "");
}

TEST_CASE("collectives in different order are a reported deadlock, not a hang") {
  bool const recorded = GENERATE(false, true);
  simulated_device device{{.devices = 2}};
  simulated_nccl nccl(device);
  dsl::cu::nccl_id const id = make_nccl_id(nccl.nccl());
  auto const thrown = on_ranks(2, [&](int r) {
    rank_floats x(nccl.api(), 30);
    nccl_communicator c(nccl.api(), nccl.nccl(), id, r, 2, {20s, 300ms, 20s});
    auto const both = [&] {
      c.all_reduce(x.on_device(), r == 0 ? 10 : 20, x.s.get());
      c.all_reduce(x.on_device(), r == 0 ? 20 : 10, x.s.get());
    };
    if (!recorded) {
      both();
      return c.wait(x.s.get());
    }
    dsl::cu::replay const step(nccl.api(), x.s.get(), both);
    step.launch(x.s.get());
    c.wait(x.s.get());
  });
  for (auto const& text : thrown)
    CHECK_THAT(text, (Contains("nccl: rank ") && Contains("waiting for")) || Contains("waited"));
  std::string const text = device.report();
  CHECK_THAT(text, Contains("misuse: deadlock: collective 0 is ncclAllReduce of ") && Contains(" on rank 1"));
  CHECK_THAT(text, !Contains("leak"));
}

TEST_CASE("recorded on one rank and not on the other is a reported deadlock") {
  simulated_device device{{.devices = 2}};
  simulated_nccl nccl(device);
  dsl::cu::nccl_id const id = make_nccl_id(nccl.nccl());
  auto const thrown = on_ranks(2, [&](int r) {
    rank_floats x(nccl.api(), 30);
    nccl_communicator c(nccl.api(), nccl.nccl(), id, r, 2, {20s, 300ms, 20s});
    auto const sum = [&] { c.all_reduce(x.on_device(), 10, x.s.get()); };
    if (r == 0) return sum(), c.wait(x.s.get());
    dsl::cu::replay const step(nccl.api(), x.s.get(), sum);
    step.launch(x.s.get());
    c.wait(x.s.get());
  });
  for (auto const& text : thrown) CHECK_THAT(text, Contains("nccl: rank "));
  CHECK_THAT(device.report(), Contains("ncclAllReduce of 10, recorded on rank 1") && !Contains("leak"));
}

TEST_CASE("a graph that outlives its communicator delays no destructor beyond the deadlines") {
  simulated_device device;
  simulated_nccl nccl(device, {.patience = 20s});
  dsl::cu::nccl_id const id = make_nccl_id(nccl.nccl());
  {
    rank_floats x(nccl.api(), 30);
    std::optional<nccl_communicator> c(std::in_place, nccl.api(), nccl.nccl(), id, 0, 1,
                                       nccl_deadlines{20s, 20s, 100ms});
    std::optional<dsl::cu::replay> step;
    step.emplace(nccl.api(), x.s.get(), [&] { c->all_reduce(x.on_device(), 10, x.s.get()); });
    step->launch(x.s.get());
    c->wait(x.s.get());
    auto const start = std::chrono::steady_clock::now();
    c.reset();
    CHECK(seconds_since(start) < 10);
    CHECK(device.calls("ncclCommAbort") == 1);
    step.reset();  // releases the thread that is still aborting
    nccl.wait_until_quiet();
  }
  CHECK(device.report() == "");
}

TEST_CASE("graphs that are destroyed before their communicator need no abort, also after an error") {
  bool const fails = GENERATE(false, true);
  simulated_device device;
  simulated_nccl nccl(device);
  {
    rank_floats x(nccl.api(), 30);
    nccl_communicator c(nccl.api(), nccl.nccl(), make_nccl_id(nccl.nccl()), 0, 1, {20s, 20s, 5s});
    dsl::cu::replay const step(nccl.api(), x.s.get(), [&] { c.all_reduce(x.on_device(), 10, x.s.get()); });
    step.launch(x.s.get());
    if (fails) nccl.break_rank(0, ncclInternalError);
    if (fails) CHECK_THROWS_WITH(c.wait(x.s.get()), Contains("internal error"));
    if (!fails) c.wait(x.s.get());
  }
  CHECK(device.calls("ncclCommAbort") == (fails ? 1 : 0));
  CHECK(device.report() == "");
}

namespace {

/// Makes all calls of one rank, each of which fails once.
void whole_life(simulated_nccl& nccl) {
  dsl::cu::api const& a = nccl.api();
  rank_floats x(a, 30);
  nccl_communicator c(a, nccl.nccl(), make_nccl_id(nccl.nccl()), 0, 1, {2s, 2s, 5s});
  c.all_gather(x.on_device(), 10, x.on_device() + 20, x.s.get());
  dsl::cu::replay const step(a, x.s.get(), [&] {
    x.to_device(x.s.get());
    c.all_reduce(x.on_device(), 30, x.s.get());
    x.to_host(x.s.get());
  });
  step.launch(x.s.get());
  c.wait(x.s.get(), "a step");
}

}  // namespace

TEST_CASE("each vendor call fails once: an error that names the call, no leak, no hang") {
  std::map<std::string, long, std::less<>> made;
  {
    simulated_device device;
    simulated_nccl nccl(device);
    whole_life(nccl);
    made = device.calls_by_name();
    REQUIRE(device.report() == "");
  }
  std::set<std::string> loud, expected{"cudaMalloc", "cudaMallocHost", "cudaStreamQuery"};
  for (auto const& [name, times] : made) {
    bool const ends = name.ends_with("Finalize") || name.ends_with("Destroy");
    if (name.starts_with("nccl") && name.find("String") == name.npos && !ends) expected.insert(name);
    for (long n = 1; n <= times; ++n) {
      simulated_device device;
      simulated_nccl nccl(device);
      device.fail_call(name, n);
      std::string text;
      try {
        whole_life(nccl);
      } catch (dsl::executor_error const& e) {
        text = e.what();
      }
      nccl.wait_until_quiet();
      device.cancel_faults();
      INFO("call " << n << " of " << name << ": " << text);
      CHECK(device.report() == "");
      if (!text.empty()) CHECK_THAT(text, Contains(name));
      if (!text.empty()) loud.insert(name);
    }
  }
  for (auto const& name : expected) CHECK(loud.count(name) == 1);  // destructors do not report errors
}

TEST_CASE("an abort that fails, too, leaves no hang") {
  simulated_device device;
  simulated_nccl nccl(device);
  device.fail_call("ncclCommAbort", 1);
  device.fail_call("cudaStreamQuery", 1);
  CHECK_THROWS_WITH(whole_life(nccl), Contains("nccl: rank 0 of 1: cudaStreamQuery: waiting for a step: "));
  CHECK(device.faults_struck() == 2);
  CHECK(device.report() == "");
}
