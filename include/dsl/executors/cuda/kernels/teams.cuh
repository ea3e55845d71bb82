R"cuda(
// SPDX-License-Identifier: MIT
// Teams of threads that share a few numbers: a block has one or more teams of equally many consecutive threads.

namespace dsl_kernels {

// The team of this thread, counted over all blocks, and the thread's number in it. Teams after the last one do no work,
// but they call join_team() like all others.
struct team_place {
  int team, member;
  bool works;
};
DEVICE team_place team_place_of(int team_threads, int teams) {
  int const team = global_thread() / team_threads;
  return {team, thread() % team_threads, team < teams};
}

// Joins one value of each thread of a team by f, in an order that does not depend on timing. `team_threads` is a power
// of 2 up to 256. All threads of the block must call it; those of a team get its result.
template <class V, class F>
DEVICE V join_team(V value, int team_threads, F f) {
  SHARED V values[256];
  int const t = thread();
  int const member = t % team_threads;
  barrier();  // waits until the result of the last call has been read
  values[t] = value;
  barrier();
  for (int half = team_threads / 2; half > 0; half /= 2) {
    if (member < half) values[t] = f(values[t], values[t + half]);
    barrier();
  }
  return values[t - member];
}
DEVICE float team_sum(float value, int team_threads) {
  return join_team(value, team_threads, [](float a, float b) { return a + b; });
}

}  // namespace dsl_kernels
)cuda"
