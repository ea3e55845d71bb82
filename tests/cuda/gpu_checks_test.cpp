// SPDX-License-Identifier: MIT
// What gpu_conformance checks on a real device, here on the simulated one with small networks: the checks themselves
// work, let a good executor pass and catch a broken one.
#include "support/catch.hpp"
#include "support/gpu/behaviour.hpp"
#include "support/gpu/slices.hpp"
#include "support/gpu/trajectories.hpp"
#include "support/all_kernels.hpp"
#include "support/simulated_device/simulated_device.hpp"
#include "support/temporary_directory.hpp"

using namespace dsl;
using namespace dsl::test;

namespace {

constexpr std::initializer_list<std::pair<precision, double>> of_gradients = {
    {precision::fp32_strict, bounds_of(precision::fp32_strict).gradient},
    {precision::tf32, bounds_of(precision::tf32).gradient},
    {precision::bf16, bounds_of(precision::bf16).gradient}};

/// Runs checks on a simulated device and returns what they found.
template <class F>
ledger on_simulated_device(F checks, std::string const& cache = {}) {
  dsl_test::add_all_kernels();
  dsl_test::simulated_device device({.seed = 9});
  ledger l;
  gpu const on{.calls = device.api(), .cache = cache, .workspace_limit = 1 << 18, .fixtures = TYPENET_TEST_DATA};
  checks(on, l);
  CHECK(device.report() == "");
  CHECK(!l.findings().empty());
  for (finding const& f : l.findings()) {
    INFO(f.what << ": measured " << f.measured << ", bound " << f.bound << " " << f.note);
    CHECK(f.is != finding::verdict::bad);
    CHECK((f.bound == 0 || f.values > 0));
  }
  return l;
}

}  // namespace

TEST_CASE("gpu checks: a good executor agrees with the reference", "[gpu]") {
  ledger const l = on_simulated_device([](gpu const& on, ledger& found) {
    check_layers(on, found);
    check_gradients(on, found, "all modules", mixed_network::view(), 6, of_gradients);
  });
  CHECK(l.findings().size() == 3 * (2 * 5 + 2));
}

TEST_CASE("gpu checks: convolutions write their slices and nothing else", "[gpu]") {
  ledger const l = on_simulated_device([](gpu const& on, ledger& found) {
    CHECK(slices_of(mixed_network::view(), 3).size() == 2);
    check_slices(on, found, mixed_network::view(), 3, 4);
  });
  CHECK(l.findings().size() == 3);
}

TEST_CASE("gpu checks: a good executor follows saved trajectories", "[gpu]") {
  on_simulated_device([](gpu const& on, ledger& found) { check_small_trajectories(on, found); });
}

TEST_CASE("gpu checks: a good executor keeps its promises", "[gpu]") {
  temporary_directory const cache;
  graph_view const g = mixed_network::view();
  dataset const data = drawn_data(g.shape_of(g.nodes[0].output), 5, 40).subset(3, 35);
  on_simulated_device(
      [&](gpu const& on, ledger& found) {
        check_determinism(on, found, g, 6, 3, 3);
        for (precision p : {precision::fp32_strict, precision::bf16}) check_resident(on, found, g, data, 8, p);
        check_calls(on, found, g, 6);
        check_refusals(on, found);
        exercise_small_networks(on, found);
      },
      cache.path.string());
}

namespace {

cudaError_t no_launch(cudaGraphExec_t, cudaStream_t) { return cudaSuccess; }
cudaError_t (*real_launch)(cudaGraphExec_t, cudaStream_t) = nullptr;
int launches = 0;
cudaError_t every_other_launch(cudaGraphExec_t graph, cudaStream_t stream) {
  return ++launches % 2 == 0 ? cudaSuccess : real_launch(graph, stream);
}
cudaError_t many_devices(int* count) {
  *count = 1 << 20;
  return cudaSuccess;
}

}  // namespace

TEST_CASE("gpu checks: broken executors are caught", "[gpu]") {
  dsl_test::add_all_kernels();
  dsl_test::simulated_device device({.seed = 9});
  real_launch = device.api().cudaGraphLaunch.function;
  for (auto* launch : {&no_launch, &every_other_launch}) {
    cu::api broken = device.api();
    broken.cudaGraphLaunch.function = launch;
    gpu const on{.calls = broken, .workspace_limit = 1 << 18, .fixtures = TYPENET_TEST_DATA};
    ledger agreement, gradients, followed, resident;
    check_agreement(on, agreement, "all modules", mixed_network::view(), keras_rules, 6, 4, precision::bf16);
    CHECK(agreement.bad() >= 2);
    check_gradients(on, gradients, "all modules", mixed_network::view(), 6, of_gradients);
    CHECK(gradients.bad() >= 1);
    follow<small_model>(on, followed, "keras_small.txt", 20, precision::bf16, bounds_of(precision::bf16));
    CHECK(followed.bad() >= 1);
    if (launch == &every_other_launch) {
      dataset const data = drawn_data({3, 9, 9}, 5, 40);
      check_resident(on, resident, mixed_network::view(), data, 8, precision::fp32_strict);
      CHECK(resident.bad() >= 1);
      ledger repeated;  // an odd number of steps: every second run leaves out others
      check_determinism(on, repeated, mixed_network::view(), 6, 3, 2);
      CHECK(repeated.bad() >= 3);
    }
  }
  cu::api broken = device.api();
  broken.cudaGetDeviceCount.function = &many_devices;
  ledger refused;
  check_refusals({.calls = broken, .workspace_limit = 1 << 18}, refused);
  CHECK(refused.bad() == 1);
  CHECK(device.report() == "");
}

TEST_CASE("gpu checks: nothing to compare is caught", "[gpu]") {
  dsl_test::add_all_kernels();
  dsl_test::simulated_device device({.seed = 9});
  gpu const on{.calls = device.api(), .workspace_limit = 1 << 18, .fixtures = TYPENET_TEST_DATA};
  graph_view const g = mixed_network::view();
  ledger agreement, followed, once;
  check_agreement(on, agreement, "no steps", g, keras_rules, 6, 0, precision::bf16);
  CHECK(agreement.bad() >= 1);
  follow<small_model>(on, followed, "keras_small.txt", 0, precision::bf16, bounds_of(precision::bf16));
  CHECK(followed.bad() == 3);
  check_determinism(on, once, g, 6, 3, 1);
  CHECK(once.bad() == 3);
}

TEST_CASE("gpu checks: calls are counted, passed on and remembered", "[gpu]") {
  dsl_test::simulated_device device({.seed = 9});
  watched_calls const calls(device.api());
  cu::api const& a = calls.api();
  long const before = device.calls("cudaMalloc");
  {
    cu::stream const s(a);
    cu::device_memory const memory(a, 256, s.get());
    s.wait();
    CHECK(watched_calls::count("cudaMalloc") == 1);
    CHECK(watched_calls::count("cudaMemsetAsync") == 1);
    CHECK(watched_calls::count() == 3);
    CHECK(device.calls("cudaMalloc") == before + 1);
    cu::replay const graph(a, s.get(), [&] {
      for (int i = 0; i < 2; ++i)
        a(a.cudaMemcpyAsync, memory.data(), memory.data() + 128, std::size_t{64}, cudaMemcpyDeviceToDevice, s.get());
    });
    CHECK(watched_calls::last_recorded().copies == 2);
    CHECK(watched_calls::last_recorded().kernels == 0);
    graph.launch(s.get());
    s.wait();
    CHECK(watched_calls::last_stream() == s.get());
    CHECK(watched_calls::last_graph() != nullptr);
  }
  watched_calls::reset();
  CHECK(watched_calls::count() == 0);
  CHECK(device.report() == "");
}

TEST_CASE("gpu checks: what the ledger says", "[gpu]") {
  ledger l;
  l.begin("numbers");
  CHECK(l.within("small enough", {0.5, 3}, 1));
  CHECK(!l.within("too large", {1, 3}, 1));
  CHECK(!l.within("no number", {std::nan(""), 3}, 1));
  CHECK(!l.within("nothing at all", {}, 1));
  CHECK(!l.holds("a \"promise\"", false, "broken\n"));
  l.tell("a figure", comparison{7, 2});
  CHECK(l.bad() == 4);
  CHECK(l.values() == 9);
  CHECK(l.json().find(R"("what": "a \"promise\"", "verdict": "BAD")") != std::string::npos);
  CHECK(l.json().find("\"measured\": null") != std::string::npos);
  CHECK(l.json().find(R"("values": 0, "note": "nothing was compared")") != std::string::npos);
  CHECK(l.json().find("broken ") != std::string::npos);
}

TEST_CASE("gpu checks: no number and nothing are never close", "[gpu]") {
  double const none = std::nan("");
  using doubles = std::vector<double>;
  CHECK(difference(doubles{1, 2}, doubles{1, 2}).apart == 0);
  CHECK(difference(doubles{1, 2}, doubles{1, 2}).values == 2);
  CHECK(difference(doubles{3, 0}, doubles{0, 4}).apart == approx(1.25));
  CHECK(difference(doubles{1, none}, doubles{1, 2}).apart > 1e9);
  CHECK(difference(doubles{1, 2}, doubles{1, none}).apart > 1e9);
  CHECK(difference(doubles{1}, doubles{1, 2}).apart > 1e9);
  CHECK(difference(doubles{}, doubles{}).values == 0);
  CHECK(difference(none, 1).apart > 1e9);
  CHECK(difference(1, none).apart > 1e9);
  CHECK(different_bits({0.0F, 1.0F}, {-0.0F, 1.0F}).apart == 1);
  CHECK(different_bits({1.0F}, {}).apart > 1e9);
  comparison all;
  for (double d : {0.25, none, 0.5}) all.add({d, 10});
  CHECK(all.apart > 1e9);
  CHECK(all.values == 30);
}
