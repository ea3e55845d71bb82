// SPDX-License-Identifier: MIT
#include "support/catch.hpp"

#include <dsl/executors/cuda/host_reduction.hpp>

#include <string>
#include <thread>
#include <vector>

using dsl::cu::host_reduction;
using namespace std::chrono_literals;

namespace {

template <class F>
std::vector<std::string> on_ranks(int ranks, F f) {
  std::vector<std::string> thrown(static_cast<std::size_t>(ranks));
  std::vector<std::thread> threads;
  for (int r = 0; r < ranks; ++r)
    threads.emplace_back([r, &f, &text = thrown[static_cast<std::size_t>(r)]] {
      try {
        f(r);
      } catch (dsl::error const& e) {
        text = e.what();
      }
    });
  for (std::thread& t : threads) t.join();
  return thrown;
}
float value(int rank, long long i) { return (rank % 2 ? 1e7f : -3e-3f) * static_cast<float>(1 + (i * 7 + rank) % 11); }

}  // namespace

TEST_CASE("host_reduction sums in the order of the ranks, whoever comes first") {
  int const ranks = GENERATE(1, 2, 3, 4);
  constexpr long long n = 50;
  std::vector<float> expected(n);
  for (long long i = 0; i < n; ++i) {
    float sum = value(0, i);
    for (int r = 1; r < ranks; ++r) sum += value(r, i);
    expected[static_cast<std::size_t>(i)] = sum;
  }
  host_reduction all(ranks);
  std::vector<std::vector<float>> results(static_cast<std::size_t>(ranks));
  for (int late = 0; late < ranks; ++late) {
    auto const thrown = on_ranks(ranks, [&](int r) {
      std::vector<float>& x = results[static_cast<std::size_t>(r)];
      x.clear();
      for (long long i = 0; i < n; ++i) x.push_back(value(r, i));
      if (r == late) std::this_thread::sleep_for(5ms);
      all.all_reduce(r, x.data(), n);
      std::vector<float> y(3, static_cast<float>(r));
      all.broadcast(r, y.data(), 3, late);
      if (y != std::vector<float>(3, static_cast<float>(late))) throw dsl::error("broadcast gave something else");
    });
    for (auto const& text : thrown) CHECK(text == "");
    for (auto const& x : results) CHECK(x == expected);  // to the bit
  }
}

TEST_CASE("host_reduction names the rank that doesn't come, on every rank, and stays broken") {
  host_reduction all(3, 30ms);
  std::vector<float> x(5);
  auto const thrown = on_ranks(3, [&](int r) {
    std::vector<float> mine(5);
    if (r != 1) all.all_reduce(r, mine.data(), 5);
  });
  CHECK(thrown[1] == "");
  for (int const r : {0, 2}) {
    CHECK_THAT(thrown[static_cast<std::size_t>(r)], Catch::Contains("rank 1 of 3 did not come within 30 ms"));
    CHECK_THAT(thrown[static_cast<std::size_t>(r)], Catch::Contains("all_reduce of 5 numbers, call 0"));
  }
  CHECK_THROWS_AS(all.all_reduce(1, x.data(), 5), dsl::executor_error);
}

TEST_CASE("host_reduction notices ranks that call something else") {
  int const how = GENERATE(0, 1, 2);
  host_reduction all(2, 1s);
  auto const thrown = on_ranks(2, [&](int r) {
    std::vector<float> mine(5);
    if (how == 0) return all.all_reduce(r, mine.data(), r == 0 ? 5 : 4);
    if (how == 1) return all.broadcast(r, mine.data(), 5, r);
    r == 0 ? all.all_reduce(r, mine.data(), 5) : all.broadcast(r, mine.data(), 5, 0);
  });
  for (auto const& text : thrown) CHECK_THAT(text, Catch::Contains("call 0: rank ") && Catch::Contains("of 5"));
  CHECK(thrown[0] == thrown[1]);
}

TEST_CASE("host_reduction refuses arguments that can't be") {
  CHECK_THROWS_AS(host_reduction(0), dsl::option_error);
  host_reduction all(2, 300ms);
  float x = 1;
  CHECK_THROWS_AS(all.all_reduce(2, &x, 1), dsl::option_error);
  CHECK_THROWS_AS(all.all_reduce(-1, &x, 1), dsl::option_error);
  CHECK_THROWS_AS(all.all_reduce(0, nullptr, 1), dsl::option_error);
  CHECK_THROWS_AS(all.all_reduce(0, &x, 0), dsl::option_error);
  CHECK_THROWS_AS(all.broadcast(0, &x, 1, 2), dsl::option_error);
  auto const thrown = on_ranks(2, [&](int r) {
    float y = 0;
    if (r == 1) std::this_thread::sleep_for(50ms);
    all.all_reduce(0, &y, 1);
  });
  CHECK_THAT(thrown[0], Catch::Contains("rank 1 of 2 did not come"));
  CHECK_THAT(thrown[1], Catch::Contains("two threads say that they are rank 0"));
}
