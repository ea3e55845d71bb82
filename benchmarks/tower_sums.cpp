// SPDX-License-Identifier: MIT
// Measures the sums over towers, for benchmarks/scaling. Each call prints one JSON line; times are medians:
//   tower_sums sums TOWERS [REPEATS]   the seconds of an all_reduce for several counts of floats, with TOWERS towers in
//                                      this process or, under mpirun, in each process
//   tower_sums rounds [REPEATS]        under mpirun -n 2: the seconds in which each of the two processes sends and
//                                      receives as many messages as one process of P does: headers, and P-th parts of
//                                      all gradients
//   tower_sums plan BUCKETS            for MiniGoogLeNet's training step: the count of numbers in each bucket, and the
//                                      share of the step's multiply-adds that is done when the bucket is complete
#include <dsl/dsl.hpp>
#include <dsl/executors/onednn.hpp>
#include <dsl/towers.hpp>
#include <dsl/towers/launcher.hpp>
#ifdef TYPENET_HAS_MPI
#include <dsl/towers/mpi.hpp>
#endif

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <thread>

using model = dsl::network<dsl::image<3, 32, 32>, dsl::minigooglenet<10>>;

namespace {

constexpr int sizes[] = {1, 1 << 12, 1 << 14, 1 << 16, 1 << 18, static_cast<int>(model::trainable_parameter_count)};

/// Runs the sums of one rank, while all other ranks run theirs, and returns their seconds.
std::vector<double> seconds_of_sums(dsl::communicator& towers, int repeats) {
  std::vector<double> medians;
  for (int const count : sizes) {
    std::vector<float> numbers(static_cast<std::size_t>(count));
    std::vector<double> times;
    for (int i = -3; i < repeats; ++i) {
      towers.all_reduce(numbers.data(), 1);  // makes all ranks begin at the same time
      auto const begin = std::chrono::steady_clock::now();
      towers.all_reduce(numbers.data(), count);
      if (i >= 0) times.push_back(std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count());
    }
    std::sort(times.begin(), times.end());
    medians.push_back(times[times.size() / 2]);
  }
  return medians;
}

void sums(int towers, int repeats) {
  dsl::process_group* processes = nullptr;
#ifdef TYPENET_HAS_MPI
  std::unique_ptr<dsl::mpi> const world(dsl::launched_rank() >= 0 ? new dsl::mpi : nullptr);
  processes = world.get();
#endif
  dsl::in_process_group group(towers, processes);
  std::vector<double> seconds;
  std::vector<std::thread> others;
  for (int r = 1; r < towers; ++r) others.emplace_back([&, r] { seconds_of_sums(group.at(r), repeats); });
  seconds = seconds_of_sums(group.at(0), repeats);
  for (std::thread& t : others) t.join();
  if (processes && processes->process() > 0) return;
  std::printf("{\"ranks\": %d, \"processes\": %d, \"bytes\": [", group.ranks(), processes ? processes->processes() : 1);
  for (std::size_t i = 0; i < seconds.size(); ++i) std::printf("%s%d", i ? ", " : "", 4 * sizes[i]);
  std::printf("], \"seconds\": [");
  for (std::size_t i = 0; i < seconds.size(); ++i) std::printf("%s%.9f", i ? ", " : "", seconds[i]);
  std::printf("]}\n");
}

#ifdef TYPENET_HAS_MPI
double seconds_of_round(int messages, int bytes, int repeats) {
  int rank = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  auto const all = static_cast<std::size_t>(messages) * static_cast<std::size_t>(bytes);
  std::vector<char> sent(all, 1), received(all);
  std::vector<MPI_Request> requests(static_cast<std::size_t>(2 * messages));
  std::vector<double> times;
  for (int i = -2; i < repeats; ++i) {
    MPI_Barrier(MPI_COMM_WORLD);
    auto const begin = std::chrono::steady_clock::now();
    for (int m = 0; m < messages; ++m) {
      auto const at = static_cast<std::size_t>(m) * static_cast<std::size_t>(bytes);
      MPI_Irecv(received.data() + at, bytes, MPI_BYTE, 1 - rank, 0, MPI_COMM_WORLD, &requests[2 * m]);
      MPI_Isend(sent.data() + at, bytes, MPI_BYTE, 1 - rank, 0, MPI_COMM_WORLD, &requests[2 * m + 1]);
    }
    MPI_Waitall(2 * messages, requests.data(), MPI_STATUSES_IGNORE);
    if (i >= 0) times.push_back(std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count());
  }
  std::sort(times.begin(), times.end());
  return times[times.size() / 2];
}

int rounds(int repeats) {
  dsl::mpi const world;
  if (world.processes() != 2) {
    std::fprintf(stderr, "tower_sums rounds: needs 2 processes; found %d\n", world.processes());
    return 2;
  }
  for (int processes = 2; processes <= 1024; processes *= 2) {
    constexpr int header = 56;  // the header of towers/mpi.hpp before each message
    int const part = 4 * sizes[std::size(sizes) - 1] / processes;
    double const headers = seconds_of_round(processes - 1, header, repeats);
    double const parts = seconds_of_round(processes - 1, part, repeats);
    if (world.process() == 0)
      std::printf("{\"processes\": %d, \"header_s\": %.9f, \"part_bytes\": %d, \"part_s\": %.9f}\n", processes, headers,
                  part, parts);
  }
  return 0;
}
#endif

void plan(int buckets) {
  auto const& g = model::graph.view();
  dsl::plan const p = dsl::make_plan(
      g, {.batch = 64, .mode = dsl::mode::training, .target = dsl::onednn::target(), .all_reduce_buckets = buckets});
  double done = 0;
  std::vector<std::pair<long long, double>> found;  // the count of numbers, and of the multiply-adds before them
  for (dsl::step const& s : p.steps) {
    if (s.node >= 0) {
      double const macs = static_cast<double>(forward_macs(g, g.nodes[s.node]));
      bool const two_passes = s.what == dsl::action::backward && macs > 0;
      done += two_passes ? 2 * macs : macs;
    }
    if (s.what != dsl::action::all_reduce) continue;
    long long numbers = 0;
    for (int i = 0; i < s.operands; ++i) numbers += g.parameters[p.operands[s.first_operand + i].index].count();
    found.emplace_back(numbers, done);
  }
  long long moments = 0;
  for (int k = 0; k < g.size.parameters; ++k) moments += g.parameters[k].trainable() ? 0 : g.parameters[k].count();
  std::printf("{\"moments\": %lld, \"numbers\": [", moments);
  for (std::size_t i = 0; i < found.size(); ++i) std::printf("%s%lld", i ? ", " : "", found[i].first);
  std::printf("], \"done\": [");
  for (std::size_t i = 0; i < found.size(); ++i) std::printf("%s%.4f", i ? ", " : "", found[i].second / done);
  std::printf("]}\n");
}

}  // namespace

int main(int argc, char** argv) {
  std::string const what = argc > 1 ? argv[1] : "";
  int const number = argc > 2 ? std::atoi(argv[2]) : 0;
  if (what == "sums" && number > 0) {
    sums(number, argc > 3 ? std::max(1, std::atoi(argv[3])) : 50);
  } else if (what == "plan" && number > 0) {
    plan(number);
#ifdef TYPENET_HAS_MPI
  } else if (what == "rounds" && dsl::launched_rank() >= 0) {
    return rounds(std::max(1, number));
#endif
  } else {
    std::fprintf(stderr,
                 "usage: tower_sums sums TOWERS [REPEATS] | plan BUCKETS | rounds REPEATS (under mpirun -n 2)\n");
    return 2;
  }
}
