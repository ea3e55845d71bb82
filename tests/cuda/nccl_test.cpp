// SPDX-License-Identifier: MIT
// Tests sums of several ranks on simulated GPUs, and the real library as far as it works without one.
#include "support/catch.hpp"

#include "cuda/nccl_ranks.hpp"

#include <dsl/towers/in_process.hpp>

#include <optional>

using dsl::cu::nccl_communicator;
using dsl_test::on_ranks;
using dsl_test::rank_floats;
using dsl_test::simulated_device;
using dsl_test::simulated_nccl;
using dsl_test::timing;
using namespace std::chrono_literals;

namespace {

constexpr dsl::cu::nccl_deadlines in_time{20s, 20s, 20s};

void check_all_fine(std::vector<std::string> const& thrown) {
  for (auto const& text : thrown) CHECK(text == "");
}
void check_close(std::vector<float> const& x, std::vector<float> const& expected) {
  REQUIRE(x.size() == expected.size());
  for (std::size_t i = 0; i < x.size(); ++i) CHECK(x[i] == approx(expected[i]).margin(1e-3));
}

}  // namespace

TEST_CASE("ranks sum and gather numbers, and all get the same bits") {
  int const ranks = GENERATE(1, 2, 4);
  timing const when = GENERATE(timing::late, timing::early, timing::random);
  simulated_device device{{.seed = 5, .when = when, .devices = ranks}};
  simulated_nccl nccl(device);
  dsl::cu::nccl_id const id = make_nccl_id(nccl.nccl());
  std::vector<std::vector<float>> sums(static_cast<std::size_t>(ranks)), gathered = sums;
  check_all_fine(on_ranks(ranks, [&](int r) {
    rank_floats x(nccl.api(), 300);
    nccl_communicator c(nccl.api(), nccl.nccl(), id, r, ranks, in_time);
    x.fill(r, 0);
    x.to_device(x.s.get());
    c.all_reduce(x.on_device(), x.count, x.s.get());
    x.to_host(x.s.get());
    c.wait(x.s.get());
    sums[static_cast<std::size_t>(r)] = x.numbers();
    x.fill(r, 2);
    x.to_device(x.s.get());
    c.all_gather(x.on_device() + 7, 40, x.on_device() + 100, x.s.get());
    x.to_host(x.s.get());
    c.wait(x.s.get());
    gathered[static_cast<std::size_t>(r)] = x.numbers();
  }));
  std::vector<float> expected(300);
  for (int r = 0; r < ranks; ++r)
    for (std::size_t i = 0; i < 300; ++i) expected[i] += rank_floats::value(r, 0, static_cast<long long>(i));
  check_close(sums[0], expected);
  for (int r = 0; r < ranks; ++r) {
    CHECK(sums[static_cast<std::size_t>(r)] == sums[0]);
    std::vector<float> mine = rank_floats::values(r, 2, 300);
    for (int from = 0; from < ranks; ++from) {
      auto const theirs = rank_floats::values(from, 2, 47);
      std::copy(theirs.begin() + 7, theirs.end(), mine.begin() + 100 + 40 * from);
    }
    CHECK(gathered[static_cast<std::size_t>(r)] == mine);
  }
  CHECK(nccl.done() == 2);
  CHECK(device.calls("ncclCommDestroy") == ranks);
  CHECK(device.calls("ncclCommAbort") == 0);
  CHECK(device.report() == "");
}

// As in an executor's step, the first bucket is sent while the second is still being computed.
TEST_CASE("two buckets inside a recorded graph, replayed, give what the host sums up") {
  timing const when = GENERATE(timing::late, timing::early, timing::random);
  constexpr int ranks = 3, steps = 4;
  constexpr long long n = 500, ready_first = 280;
  simulated_device device{{.seed = 11, .when = when, .devices = ranks}};
  simulated_nccl nccl(device);
  dsl::in_process_group oracle(ranks);
  dsl::cu::nccl_id const id = make_nccl_id(nccl.nccl());
  std::vector<std::vector<float>> got(ranks * steps), wanted = got;
  check_all_fine(on_ranks(ranks, [&](int r) {
    dsl::cu::api const& a = nccl.api();
    rank_floats x(a, n);
    dsl::cu::stream communication(a);
    cudaEvent_t forked = nullptr, joined = nullptr;
    a(a.cudaEventCreateWithFlags, &forked, unsigned{cudaEventDisableTiming});
    a(a.cudaEventCreateWithFlags, &joined, unsigned{cudaEventDisableTiming});
    {
      nccl_communicator c(a, nccl.nccl(), id, r, ranks, in_time);
      auto const reduce = [&](float* from, long long count) {
        a(a.cudaEventRecord, forked, x.s.get());
        a(a.cudaStreamWaitEvent, communication.get(), forked, 0u);
        c.all_reduce(from, count, communication.get());
      };
      auto const make = [&](long long begin, long long end) {
        a(a.cudaMemcpyAsync, x.on_device() + begin, x.on_host() + begin, 4 * static_cast<std::size_t>(end - begin),
          cudaMemcpyHostToDevice, x.s.get());
      };
      dsl::cu::replay const step(a, x.s.get(), [&] {
        make(0, ready_first);
        reduce(x.on_device(), ready_first);
        make(ready_first, n);
        reduce(x.on_device() + ready_first, n - ready_first);
        a(a.cudaEventRecord, joined, communication.get());
        a(a.cudaStreamWaitEvent, x.s.get(), joined, 0u);
        x.to_host(x.s.get());
      });
      for (int k = 0; k < steps; ++k) {
        x.fill(r, k);
        std::vector<float> summed = x.numbers();
        oracle.at(r).all_reduce(summed.data(), n);
        step.launch(x.s.get());
        c.wait(x.s.get(), "a step");
        got[static_cast<std::size_t>(k * ranks + r)] = x.numbers();
        wanted[static_cast<std::size_t>(k * ranks + r)] = summed;
      }
    }
    a(a.cudaEventDestroy, forked);
    a(a.cudaEventDestroy, joined);
  }));
  for (std::size_t i = 0; i < got.size(); ++i) {
    check_close(got[i], wanted[i]);
    CHECK(got[i] == got[i - i % ranks]);
  }
  CHECK(nccl.done() == 2 * steps);
  CHECK(device.calls("ncclAllReduce") == 2 * ranks);  // recorded once
  CHECK(device.report() == "");
}

TEST_CASE("arguments that can't be are refused before NCCL sees them") {
  simulated_device device;
  simulated_nccl nccl(device);
  dsl::cu::nccl_id const id = make_nccl_id(nccl.nccl());
  auto const made = [&](int rank, int ranks) { nccl_communicator(nccl.api(), nccl.nccl(), id, rank, ranks, in_time); };
  CHECK_THROWS_AS(made(0, 0), dsl::option_error);
  CHECK_THROWS_WITH(made(2, 2), "nccl: rank must be 0 to 1; found 2");
  CHECK_THROWS_AS(made(-1, 2), dsl::option_error);
  {
    rank_floats x(nccl.api(), 10);
    nccl_communicator c(nccl.api(), nccl.nccl(), id, 0, 1, in_time);
    CHECK(c.rank() == 0);
    CHECK(c.ranks() == 1);
    device.reset_calls();
    CHECK_THROWS_AS(c.all_reduce(nullptr, 10, x.s.get()), dsl::option_error);
    CHECK_THROWS_WITH(c.all_reduce(x.on_device(), 0, x.s.get()), Catch::Contains("count must be 1 or more; found 0"));
    CHECK_THROWS_AS(c.all_gather(x.on_device(), 0, x.on_device(), x.s.get()), dsl::option_error);
    CHECK_THROWS_AS(c.all_gather(x.on_device(), 10, nullptr, x.s.get()), dsl::option_error);
    CHECK_THROWS_WITH(c.all_reduce(x.on_device(), 10, nullptr), Catch::Contains("default stream"));
    CHECK(device.calls() == 0);
    CHECK(c.usable());
    c.all_reduce(x.on_device(), 10, x.s.get());
    c.wait(x.s.get());
  }
  CHECK(device.report() == "");
}

TEST_CASE("a library older than 2.28 is refused") {
  simulated_device device;
  simulated_nccl nccl(device, {.version = 22705});
  CHECK_THROWS_WITH(nccl_communicator(nccl.api(), nccl.nccl(), make_nccl_id(nccl.nccl()), 0, 1),
                    "nccl: the library is 2.27.5; 2.28 or later is needed");
  CHECK(device.report() == "");
}

TEST_CASE("the real library: version and id need no GPU; without one a communicator is an error, not a crash") {
  dsl::cu::nccl_api const n;
  int const version = require_nccl(n);
  CHECK(version >= NCCL_VERSION(2, 28, 0));
  CHECK(version / 10000 == NCCL_MAJOR);
  dsl::cu::nccl_id const id = make_nccl_id(n);
  CHECK(make_nccl_id(n) != id);

  dsl::cu::api const a;
  int count = 0;
  if (a.cudaGetDeviceCount.function(&count) == cudaSuccess && count > 0) {
    rank_floats x(a, 1000);
    x.fill(3, 4);
    nccl_communicator c(a, n, id, 0, 1, in_time);
    dsl::cu::replay const step(a, x.s.get(), [&] {
      x.to_device(x.s.get());
      c.all_reduce(x.on_device(), 600, x.s.get());
      c.all_reduce(x.on_device() + 600, 400, x.s.get());
      x.to_host(x.s.get());
    });
    for (int k = 0; k < 3; ++k) step.launch(x.s.get());
    c.wait(x.s.get());
    CHECK(x.numbers() == rank_floats::values(3, 4, 1000));
    return;
  }
  WARN("no GPU here: a real communicator of one rank was not tried");
  simulated_device device;  // it offers a GPU, but NCCL looks for real ones
  CHECK_THROWS_WITH(nccl_communicator(device.api(), n, id, 0, 1, in_time),
                    Catch::Contains("nccl: rank 0 of 1: ncclCommInitRankConfig: ") && Catch::Contains("(Cuda failure"));
  CHECK(device.report() == "");
}
