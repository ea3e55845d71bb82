// SPDX-License-Identifier: MIT
// Tests the checks that gpu_conformance runs on a real device, here on the simulated one with small networks: a good
// executor passes, and a broken one is found.
#include "support/catch.hpp"
#include "support/gpu/behaviour.hpp"
#include "support/gpu/convolutions.hpp"
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

/// Runs checks on a simulated device and returns their findings.
template <class F>
ledger on_simulated_device(F checks, std::string const& cache = {}, bool truncates_tf32 = false) {
  dsl_test::add_all_kernels();
  dsl_test::simulated_device device({.seed = 9, .truncates_tf32 = truncates_tf32});
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
  CHECK(l.findings().size() == 3 * (3 * 5 + 2) + 5);
}

TEST_CASE("gpu checks: convolutions write their slices and nothing else", "[gpu]") {
  ledger const l = on_simulated_device([](gpu const& on, ledger& found) {
    CHECK(slices_of(mixed_network::view(), 3).size() == 2);
    check_slices(on, found, mixed_network::view(), 3, 4);
  });
  CHECK(l.findings().size() == 3);
}

TEST_CASE("gpu checks: convolutions compute what our kernels do", "[gpu]") {
  graph_view const g = mixed_network::view();
  ledger const l = on_simulated_device([&](gpu const& on, ledger& found) {
    check_convolutions(on, found, g, {{precision::bf16, 4, mode::training, 4}, {precision::bf16, 1, mode::inference}},
                       {.images = 2});
    check_convolutions(
        on.untimed(), found, g,
        {{precision::tf32, 4}, {precision::fp32_strict, 4}, {precision::fp32_strict, 3, mode::inference}},
        {.images = 2});
  });
  // forward, data, data that is added, weights; only the first in inference
  CHECK(l.findings().size() == 2 * (4 + 1 + 4 + 4 + 1));
  long long sums = 0;
  for (posed_convolution const& c : convolutions_of(g, 4, mode::training, precision::fp32_strict))
    if (c.how.pass == cu::convolution_pass::forward) sums += c.what.output_count();
  bool compared = false;
  for (finding const& f : l.findings()) compared = compared || f.values == sums;
  CHECK(compared);
  ledger late;
  on_simulated_device([&](gpu const& on, ledger& found) {
    check_convolutions(on, found, g, {{precision::bf16, 4}}, {.seconds = -1});
    CHECK(found.findings().size() == 1);
    CHECK(found.findings()[0].note.find("17 of 17") != std::string::npos);
  });
}

TEST_CASE("gpu checks: a good executor follows saved trajectories", "[gpu]") {
  on_simulated_device([](gpu const& on, ledger& found) { check_small_trajectories(on, found); });
}

TEST_CASE("gpu checks: a good executor trains and infers beside the reference", "[gpu]") {
  ledger const l = on_simulated_device([](gpu const& on, ledger& found) {
    check_beside_reference(on, found, mixed_network::view(), drawn_data({3, 9, 9}, 5, 80), 4, 8);
  });
  CHECK(l.findings().size() == 3 * (3 + 2) + 1);
}

TEST_CASE("gpu checks: tensor cores may drop what tf32 has no place for", "[gpu]") {
  auto const checks = [](gpu const& on, ledger& found) {
    check_agreement(on, found, "all modules", mixed_network::view(), keras_rules, 6, 4, precision::tf32);
    check_agreement(on, found, "wide dense layers", wide_network::view(), keras_rules, 64, 4, precision::tf32);
    check_gradients(on, found, "all modules", mixed_network::view(), 6,
                    {{precision::tf32, bounds_of(precision::tf32).gradient}});
    check_convolutions(on, found, mixed_network::view(), {{precision::tf32, 4}}, {.images = 2});
    check_beside_reference(on, found, mixed_network::view(), drawn_data({3, 9, 9}, 5, 80), 4, 8);
    follow<small_model>(on, found, "keras_small.txt", 20, precision::tf32, small_bounds(precision::tf32));
  };
  ledger const rounded = on_simulated_device(checks), truncated = on_simulated_device(checks, {}, true);
  REQUIRE(rounded.findings().size() == truncated.findings().size());
  int larger = 0;
  for (std::size_t i = 0; i < rounded.findings().size(); ++i)
    if (truncated.findings()[i].measured > rounded.findings()[i].measured) ++larger;
  CHECK(larger > 5);
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
        check_products(on, found, 6);
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
    follow<small_model>(on, followed, "keras_small.txt", 20, precision::bf16, small_bounds(precision::bf16));
    CHECK(followed.bad() >= 1);
    if (launch == &every_other_launch) {
      dataset const data = drawn_data({3, 9, 9}, 5, 40);
      check_resident(on, resident, mixed_network::view(), data, 8, precision::fp32_strict);
      CHECK(resident.bad() >= 1);
      ledger repeated;  // an odd number of steps: every second run omits others
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

namespace {

cu::api real{};
cudnnStatus_t shift_windows(cudnnBackendDescriptor_t d, cudnnBackendAttributeName_t name,
                            cudnnBackendAttributeType_t type, std::int64_t count, void const* values) {
  auto const* pads = static_cast<std::int64_t const*>(values);
  bool const before = name == CUDNN_ATTR_CONVOLUTION_PRE_PADDINGS, after = name == CUDNN_ATTR_CONVOLUTION_POST_PADDINGS;
  if ((!before && !after) || pads[0] != 1 || pads[1] != 1)
    return real.cudnnBackendSetAttribute.function(d, name, type, count, values);
  std::int64_t const moved[2] = {before ? 0 : 2, 1};
  return real.cudnnBackendSetAttribute.function(d, name, type, count, moved);
}

void* kernels_data = nullptr;
cudaStream_t running_on = nullptr;
cudnnStatus_t note_kernel(cudnnBackendDescriptor_t d, cudnnBackendAttributeName_t name,
                          cudnnBackendAttributeType_t type, std::int64_t count, void const* values) {
  if (name == CUDNN_ATTR_VARIANT_PACK_DATA_POINTERS) kernels_data = static_cast<void* const*>(values)[1];
  return real.cudnnBackendSetAttribute.function(d, name, type, count, values);
}
cudnnStatus_t note_stream(cudnnHandle_t h, cudaStream_t s) {
  running_on = s;
  return real.cudnnSetStream.function(h, s);
}
/// Changes the sixth number of a kernel, even if the plan only reads it, or of its gradient.
cudnnStatus_t spoil_one(cudnnHandle_t h, cudnnBackendDescriptor_t plan, cudnnBackendDescriptor_t pack) {
  cudnnStatus_t const s = real.cudnnBackendExecute.function(h, plan, pack);
  real.cudaMemsetAsync.function(static_cast<std::byte*>(kernels_data) + 2 * 5, 0x41, 2, running_on);
  return s;
}
cudnnStatus_t skip_execution(cudnnHandle_t, cudnnBackendDescriptor_t, cudnnBackendDescriptor_t) {
  return CUDNN_STATUS_SUCCESS;
}

/// Removes all plans of cuDNN and all algorithms of cublasLt.
cudnnStatus_t no_candidates(cudnnBackendDescriptor_t const d, cudnnBackendAttributeName_t name,
                            cudnnBackendAttributeType_t type, std::int64_t room, std::int64_t* count, void* values) {
  if (name != CUDNN_ATTR_ENGINEHEUR_RESULTS)
    return real.cudnnBackendGetAttribute.function(d, name, type, room, count, values);
  *count = 0;
  return CUDNN_STATUS_SUCCESS;
}
cublasStatus_t no_algorithm(cublasLtHandle_t, cublasLtMatmulDesc_t, cublasLtMatrixLayout_t, cublasLtMatrixLayout_t,
                            cublasLtMatrixLayout_t, cublasLtMatrixLayout_t, cublasLtMatmulPreference_t, int,
                            cublasLtMatmulHeuristicResult_t*, int*) {
  return CUBLAS_STATUS_NOT_SUPPORTED;
}

/// Keeps the steps' learning rate at 0.
cudaError_t keep_state(void* to, void const* from, std::size_t bytes, cudaMemcpyKind kind, cudaStream_t s) {
  if (bytes == sizeof(cu::step_state)) return cudaSuccess;
  return real.cudaMemcpyAsync.function(to, from, bytes, kind, s);
}

bool says(std::string const& text, char const* words) {
  if (text.find(words) != std::string::npos) return true;
  WARN(text << "does not say " << words);
  return false;
}
std::string notes_of_bad(ledger const& l) {
  std::string all;
  for (finding const& f : l.findings())
    if (f.is == finding::verdict::bad) all += f.what + ": " + f.note + "\n";
  return all;
}

}  // namespace

TEST_CASE("gpu checks: wrong convolutions are caught, and where", "[gpu]") {
  dsl_test::add_all_kernels();
  dsl_test::simulated_device device({.seed = 9});
  real = device.api();
  graph_view const g = mixed_network::view();
  auto const checked = [&](cu::api const& broken, mode m) {
    ledger l;
    check_convolutions({.calls = broken, .workspace_limit = 1 << 18, .deterministic = true}, l, g,
                       {{precision::bf16, 4, m}, {precision::fp32_strict, 4, m}}, {.images = 2});
    return l;
  };
  cu::api broken = real;
  broken.cudnnBackendSetAttribute.function = &shift_windows;
  ledger const shifted = checked(broken, mode::training);
  CHECK(shifted.bad() == 6);  // in both precisions all passes but gradients that are added, whose kernels are 1x1
  CHECK(says(notes_of_bad(shifted), "first forward bf16, deterministic: batch 4, 3x9x9 to 8x9x9, kernel 3x3"));

  broken = real;
  broken.cudnnBackendSetAttribute.function = &note_kernel;
  broken.cudnnSetStream.function = &note_stream;
  broken.cudnnBackendExecute.function = &spoil_one;
  ledger const spoiled = checked(broken, mode::training);
  CHECK(spoiled.bad() == 8);  // a plan has run once before it is chosen, so the next run reads what it spoiled
  CHECK(says(notes_of_bad(spoiled), "bf16, batch 4, backward_weights, 6 convolutions, 6 plans"));
  CHECK(says(notes_of_bad(spoiled), ": 1 of "));
  CHECK(says(notes_of_bad(spoiled), "the first at kernel 0, row 0, column 0, channel 5: 12.0"));

  broken = real;
  broken.cudnnBackendExecute.function = &skip_execution;
  CHECK(checked(broken, mode::training).bad() == 8);
  CHECK(checked(broken, mode::inference).bad() == 1);

  broken = real;
  broken.cudnnBackendGetAttribute.function = &no_candidates;
  ledger const none = checked(broken, mode::training);
  CHECK(none.bad() == 3 * 8);
  CHECK(says(notes_of_bad(none), "each has a plan: cudnn: no plan is left for"));
  CHECK(checked(broken, mode::inference).bad() == 0);
  ledger unfused;  // in bf16 there must be some, unless they must be deterministic
  check_convolutions({.calls = broken, .workspace_limit = 1 << 18}, unfused, g,
                     {{precision::bf16, 4, mode::inference}, {precision::fp32_strict, 4, mode::inference}},
                     {.images = 2});
  CHECK(unfused.bad() == 3);

  device.fail_call("cudaStreamSynchronize", 40, cudaErrorIllegalAddress);
  ledger failed;
  check_convolutions({.calls = real, .workspace_limit = 1 << 18, .deterministic = true}, failed, g,
                     {{precision::bf16, 4}}, {.images = 2});
  CHECK(failed.bad() == 1);
  CHECK(failed.values() > 0);
  CHECK(says(notes_of_bad(failed), "all came to their end: "));
  CHECK(says(notes_of_bad(failed), "batch 4, "));
  CHECK(says(notes_of_bad(failed), "cudaStreamSynchronize"));
  device.cancel_faults();
  CHECK(device.report() == "");
}

TEST_CASE("gpu checks: libraries that do nothing are caught", "[gpu]") {
  dsl_test::add_all_kernels();
  dsl_test::simulated_device device({.seed = 9});
  real = device.api();
  cu::api broken = real;
  broken.cudnnBackendGetAttribute.function = &no_candidates;
  broken.cublasLtMatmulAlgoGetHeuristic.function = &no_algorithm;
  gpu const on{.calls = broken, .workspace_limit = 1 << 18, .deterministic = true};
  ledger numbers, calls, products;
  check_gradients(on, numbers, "all modules", mixed_network::view(), 6, of_gradients);
  CHECK(numbers.bad() == 0);  // our own kernels are used instead
  check_calls(on, calls, mixed_network::view(), 6);
  CHECK(calls.bad() == 2);
  CHECK(says(notes_of_bad(calls),
             "0 of 17, 5 kernels convolution_backward_data, 6 kernels convolution_backward_weights"));
  CHECK(says(notes_of_bad(calls), "no plan for forward bf16, deterministic: batch 6, 3x9x9 to 8x9x9"));
  check_products(on, products, 6);
  CHECK(products.bad() == 3);
  CHECK(says(notes_of_bad(products), "0 of 11"));
  CHECK(device.report() == "");
}

TEST_CASE("gpu checks: training that moves nothing is caught", "[gpu]") {
  dsl_test::add_all_kernels();
  dsl_test::simulated_device device({.seed = 9});
  real = device.api();
  cu::api broken = real;
  broken.cudaMemcpyAsync.function = &keep_state;
  gpu const on{.calls = broken, .workspace_limit = 1 << 18, .fixtures = TYPENET_TEST_DATA, .deterministic = true};
  ledger beside, followed;
  check_beside_reference(on, beside, mixed_network::view(), drawn_data({3, 9, 9}, 5, 80), 4, 8);
  int still = 0;
  for (finding const& f : beside.findings())
    if (f.what.find("moved") != std::string::npos) still += f.is == finding::verdict::bad && f.measured == 1 ? 1 : 0;
  CHECK(still == 3);
  follow<small_model>(on, followed, "keras_small.txt", 20, precision::bf16, small_bounds(precision::bf16));
  for (finding const& f : followed.findings())
    if (f.what.find("weights") != std::string::npos) CHECK(f.measured > 1);
  // Inference that runs only every other time leaves nothing, or the previous result.
  real_launch = real.cudaGraphLaunch.function;
  launches = 0;
  broken = real;
  broken.cudaGraphLaunch.function = &every_other_launch;
  ledger halved;
  check_beside_reference(on, halved, mixed_network::view(), drawn_data({3, 9, 9}, 5, 8), 4, 8);
  int left_out = 0;
  for (finding const& f : halved.findings())
    if (f.what.ends_with("batch 1") || f.what.find("two queues") != std::string::npos) {
      INFO(f.what);
      ++left_out;
      CHECK(f.is == finding::verdict::bad);
    }
  CHECK(left_out == 4);
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
  follow<small_model>(on, followed, "keras_small.txt", 0, precision::bf16, small_bounds(precision::bf16));
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
