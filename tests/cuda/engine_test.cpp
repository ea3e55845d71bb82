// SPDX-License-Identifier: MIT
// Compares the CUDA engine on the simulated device with the reference in double: the results of every step of training,
// evaluation and inference, and 20 steps of a small network of all three modules; counts the vendor calls of a step;
// makes each call fail.
#include <dsl/data/crop_and_cutout.hpp>
#include <dsl/dsl.hpp>
#include <dsl/executors/cuda.hpp>
#include <dsl/executors/cuda/engine.hpp>
#include <dsl/executors/host/engine.hpp>
#include <dsl/placement.hpp>
#include <dsl/training/initialize.hpp>

#include <algorithm>
#include <cmath>
#include <optional>
#include <set>
#include <stdexcept>
#include <utility>

#include "support/one_batch.hpp"
#include "support/simulated_device/cudnn_backend.hpp"
#include "support/simulated_device/cudnn_engines.hpp"
#include "support/catch.hpp"
#include "support/drawn.hpp"
#include "support/extent.hpp"
#include "support/all_kernels.hpp"
#include "support/simulated_device/simulated_device.hpp"
#include "support/temporary_directory.hpp"
#include "cuda/agreement.hpp"

using namespace dsl;
using dsl::test::drawn_batch;
using dsl::test::drawn_data;
using dsl::test::keras_rules;
using dsl::test::parameter_of;
using dsl::test::result_of;
using dsl::test::torch_rules;
using dsl_test::agree;
using dsl_test::bounds_of;
using dsl_test::difference;
using dsl_test::settings;
using dsl_test::simulated_device;

namespace {

using small = dsl::test::mixed_network;
using odd = dsl::test::odd_network;
using wide = dsl::test::wide_network;

}  // namespace

TEST_CASE("cuda agrees with reference: all three modules", "[cuda]") {
  agree(small::view(), keras_rules, 6, 20, precision::fp32_strict);
  agree(small::view(), keras_rules, 6, 4, precision::tf32);
  agree(small::view(), keras_rules, 6, 4, precision::bf16);
}

TEST_CASE("cuda agrees with reference: odd channels, other layers, the other loss and rule", "[cuda]") {
  for (precision p : {precision::fp32_strict, precision::bf16}) agree(odd::view(), torch_rules, 3, 4, p);
}

TEST_CASE("cuda agrees with reference: convolutions without bias, in front of a batch_norm and of a relu", "[cuda]") {
  using unbiased = network<image<3, 8, 8>, conv2d<8, 3, bias<false>>, batch_norm<>, relu,
                           conv2d<4, 3, stride<2>, pad<1>, bias<false>>, relu, flatten, dense<3>, softmax>;
  for (precision p : {precision::fp32_strict, precision::bf16}) agree(unbiased::view(), keras_rules, 4, 3, p);
}

TEST_CASE("cuda agrees with reference: a softmax whose loss can't share its launch", "[cuda]") {
  // In one network a reshape follows, so that the loss's gradient is not the logits'. In the other, the plan puts that
  // gradient, 50 x 10 numbers, across the end of the logits', which other samples still need.
  using reshaped = network<image<3, 4, 4>, flatten, dense<5>, softmax, flatten>;
  using heads = network<image<3, 4, 4>, flatten, concat<dense<6>, dense<4>>, softmax>;
  agree(reshaped::view(), keras_rules, 6, 3, precision::fp32_strict);
  agree(heads::view(), keras_rules, 50, 3, precision::fp32_strict);
  agree(heads::view(), keras_rules, 49, 3, precision::bf16);

  auto const joined = [](graph_view const& g, int batch) {
    plan const p = make_plan(g, {.batch = batch, .target = cu::target_for(cu::storage::f32)});
    int all = 0;
    for (int s = 0; s < p.steps.size(); ++s) all += cu::joins_loss(g, p, s);
    return all;
  };
  CHECK(joined(reshaped::view(), 6) == 0);
  CHECK(joined(heads::view(), 50) == 0);
  CHECK(joined(heads::view(), 32) == 1);
}

TEST_CASE("cuda: in inference convolutions write their slices, or are copied there where cuDNN has no plan for that",
          "[cuda]") {
  using slices = network<image<3, 9, 9>, conv_module<16, 3, 3>, inception_module<8, 24>, downsample_module<8>,
                         concat<conv2d<8, 1>, identity, conv2d<16, 3>>, avg_pool2d<4>, flatten>;
  graph_view const g = slices::view();
  dsl_test::add_all_kernels();
  long launches[2] = {0, 0};
  long long memory[2] = {0, 0};
  for (bool const in_place : {true, false}) {
    simulated_device device({.seed = 4, .cudnn_writes_slices = in_place});
    {
      cu::engine fast(device.api(), g, keras_rules, settings(precision::bf16));
      auto const plain = reference<double>{}.make_engine(g, keras_rules);
      initialize(fast, 5);
      initialize(*plain, 5);
      drawn_batch const data(g, 3, 77);
      int const c = fast.prepare(mode::inference, 3), d = plain->prepare(mode::inference, 3);
      plain->run(d, data.view(9, 0));
      for (int again = 0; again < 3; ++again) {
        fast.run(c, data.view(9, 0));
        // one number per channel: no layer after it hides wrong ones
        CHECK(difference(result_of(fast, c, 3), result_of(*plain, d, 3)) < 0.03);
      }
      launches[in_place] = device.calls("cudaLaunchKernel");
      memory[in_place] = fast.executor_bytes();
    }
    CHECK(device.report() == "");
  }
  CHECK(launches[false] == launches[true] + 5);  // two inception branches, one beside a pool, two beside an identity
  // Outputs of the first two; the later ones find room there, of which the smallest would take 768 bytes.
  long long const more = memory[false] - memory[true], first_two = 3 * 81 * (8 + 24) * 2;
  CHECK(more >= first_two);
  CHECK(more < first_two + 768);
}

TEST_CASE("cuda: an engine of cuDNN's that fails costs a convolution no more than that engine", "[cuda]") {
  dsl_test::add_all_kernels();
  using trouble = dsl_test::engine_trouble;
  for (bool const deterministic : {true, false}) {
    // the first in rank, the fastest, and the one that compiles fused operations
    simulated_device device({.seed = 3,
                             .troubles = {{0, trouble::when_run},
                                          {2, trouble::when_recorded, CUDNN_STATUS_INTERNAL_ERROR},
                                          {4, trouble::when_built, CUDNN_STATUS_EXECUTION_FAILED},
                                          {7, trouble::when_run, CUDNN_STATUS_INTERNAL_ERROR}}});
    {
      cu::engine fast(device.api(), small::view(), keras_rules, settings(precision::bf16, deterministic));
      auto const plain = reference<double>{}.make_engine(small::view(), keras_rules);
      initialize(fast, 5);
      initialize(*plain, 5);
      drawn_batch const data(small::view(), 6, 1);
      for (mode m : {mode::training, mode::evaluation}) {
        int const a = fast.prepare(m, 6), b = plain->prepare(m, 6);
        fast.run(a, data.view(0, 0.01));
        plain->run(b, data.view(0, 0.01));
        CHECK(fast.metrics(a).loss == Approx(plain->metrics(b).loss).epsilon(0.03));
      }
      for (int k = 0; k < fast.library().size(); ++k)  // there was another one
        CHECK(std::string(fast.library().spec(k).function).find("convolution_") == std::string::npos);
    }
    CHECK(device.report() == "");
  }
}

TEST_CASE("cuda: plans that run and can't be recorded are passed over, timed or not", "[cuda]") {
  dsl_test::add_all_kernels();
  using trouble = dsl_test::engine_trouble;
  std::vector<trouble> all;
  for (auto const& e : dsl_test::simulated::all_engines())
    all.push_back({static_cast<int>(e.index), trouble::when_recorded});
  for (bool const deterministic : {true, false})
    for (auto const& [troubles, ours] :
         {std::pair{std::vector<trouble>{{0, trouble::when_recorded}}, false}, std::pair{all, true}}) {
      simulated_device device({.seed = 3, .troubles = troubles});
      {
        cu::engine fast(device.api(), small::view(), keras_rules, settings(precision::bf16, deterministic));
        auto const plain = reference<double>{}.make_engine(small::view(), keras_rules);
        initialize(fast, 5);
        initialize(*plain, 5);
        drawn_batch const data(small::view(), 6, 1);
        int const a = fast.prepare(mode::training, 6), b = plain->prepare(mode::training, 6);
        fast.run(a, data.view(0, 0.01));
        plain->run(b, data.view(0, 0.01));
        CHECK(fast.metrics(a).loss == Approx(plain->metrics(b).loss).epsilon(0.03));
        int own = 0;
        for (int k = 0; k < fast.library().size(); ++k)
          own += std::string(fast.library().spec(k).function).find("convolution_") != std::string::npos;
        CHECK((own > 0) == ours);
      }
      CHECK(device.report() == "");
    }
}

namespace {

/// Records what convolutions multiply while plans are timed, until our own kernels are loaded.
struct watched_factors {
  cu::api real{};
  long loads = 0;
  long tensors = 0;
  long bad = 0;  // how often most of it was 0, NaN, one number, or of one sign
};
watched_factors watched;

cudnnStatus_t look_at_factors(cudnnHandle_t h, cudnnBackendDescriptor_t plan, cudnnBackendDescriptor_t pack) {
  namespace simulated = dsl_test::simulated;
  simulated::state& s = *simulated::state::active;
  if (s.captures.empty() && s.calls["cudaLibraryLoadData"] == watched.loads) {
    s.finish_all();
    auto const program = s.find<simulated::descriptor>(plan, "look_at_factors")->built;
    auto const bound = s.find<simulated::descriptor>(pack, "look_at_factors");
    auto const ids = bound->all<std::int64_t>(CUDNN_ATTR_VARIANT_PACK_UNIQUE_IDS);
    auto const pointers = bound->all<void*>(CUDNN_ATTR_VARIANT_PACK_DATA_POINTERS);
    simulated::operation const& o = program->operations.front();
    s.run([&] {
      for (int const i : {o.a, o.b}) {
        simulated::tensor_info const& t = program->tensors[static_cast<std::size_t>(i)];
        auto const at = static_cast<std::size_t>(std::find(ids.begin(), ids.end(), t.id) - ids.begin());
        simulated::values const x = simulated::load_values(t, pointers.at(at), simulated::factors::whole);
        auto const useless = std::count_if(x.v.begin(), x.v.end(), [](float f) { return f == 0 || !std::isfinite(f); });
        std::set<float> const different(x.v.begin(), x.v.end());
        bool const varies = x.v.size() < 500 || (different.size() > 100 && *different.begin() < 0);
        watched.bad += 2 * useless > static_cast<long>(x.v.size()) || !varies;
        ++watched.tensors;
      }
    });
  }
  return watched.real.cudnnBackendExecute.function(h, plan, pack);
}

}  // namespace

TEST_CASE("cuda: plans are timed with numbers, of which nothing stays", "[cuda]") {
  dsl_test::add_all_kernels();
  simulated_device device({.seed = 3});
  watched = {.real = device.api()};
  cu::api looking = device.api();
  looking.cudnnBackendExecute.function = &look_at_factors;
  for (precision p : {precision::bf16, precision::fp32_strict}) {
    cu::engine fast(looking, small::view(), keras_rules, settings(p));
    auto const plain = reference<double>{}.make_engine(small::view(), keras_rules);
    initialize(fast, 5);
    initialize(*plain, 5);
    drawn_batch const data(small::view(), 6, 1);
    auto const prepare = [&](mode m) {
      watched.loads = device.calls("cudaLibraryLoadData"), watched.tensors = watched.bad = 0;
      int const program = fast.prepare(m, 6);
      INFO("precision " << static_cast<int>(p) << ", mode " << static_cast<int>(m));
      CHECK(watched.tensors > 20);
      CHECK(watched.bad == 0);
      return program;
    };
    int const a = prepare(mode::training), b = plain->prepare(mode::training, 6);
    for (std::uint64_t step = 0; step < 3; ++step) {
      fast.run(a, data.view(step, 0.01));
      plain->run(b, data.view(step, 0.01));
      CHECK(fast.metrics(a).loss == Approx(plain->metrics(b).loss).epsilon(bounds_of(p).loss));
      if (step == 0) prepare(mode::evaluation);
      if (step == 1) prepare(mode::inference);
    }
  }
  // A program's first run finds its memory as if no plan had been timed.
  using one = network<image<3, 9, 9>, conv2d<8, 3>>;
  cu::engine e(device.api(), one::view(), keras_rules, settings(precision::bf16));
  std::vector<float> const y = result_of(e, e.prepare(mode::inference, 3), 3);
  CHECK(y == std::vector<float>(y.size()));
}

TEST_CASE("cuda agrees with reference: optimizers with slots, clipped gradients, smoothed labels", "[cuda]") {
  engine_options o = keras_rules;
  o.label_smoothing = 0.1;
  for (update_rule const& rule :  // epsilons with which a gradient near 0 does not change a parameter by a whole step
       {adam{.epsilon = 1e-2, .corrected_epsilon = true, .clip = {.norm = 0.5}}.rule(),
        adamw{.epsilon = 1e-2, .weight_decay = 0.1}.rule(),
        rmsprop{.momentum = 0.9, .epsilon = 1e-2, .centered = true, .clip = {.value = 0.05}}.rule(),
        sgd{.momentum = 0.9, .nesterov = true, .clip = {.norm = 0.5}}.rule()}) {
    o.update = rule;
    agree(small::view(), o, 6, 6, precision::fp32_strict, 0.002);
    agree(small::view(), o, 6, 3, precision::bf16, 0.002);
  }
}

TEST_CASE("cuda agrees with reference: large dense layers, through cublasLt", "[cuda]") {
  agree(wide::view(), keras_rules, 5, 8, precision::fp32_strict);
  agree(wide::view(), keras_rules, 5, 4, precision::tf32);
  agree(wide::view(), torch_rules, 5, 4, precision::bf16);
  simulated_device device({.seed = 8});
  {
    cu::engine e(device.api(), wide::view(), keras_rules, settings(precision::bf16));
    initialize(e, 5);
    int const training = e.prepare(mode::training, 5);
    // each is run once in addition to the recording; no gradient flows to the image
    CHECK(device.calls("cublasLtMatmul") == 2 * (2 + 3 + 3 + 3));
    CHECK(device.calls("cublasLtCreate") == 1);
    device.reset_calls();
    e.run(training, drawn_batch(wide::view(), 5, 1).view(0, 0.01));
    CHECK(device.calls("cublasLtMatmul") == 0);
  }
  CHECK(device.report() == "");
}

TEST_CASE("cuda: gradients of one step are the reference's", "[cuda]") {
  dsl_test::add_all_kernels();
  simulated_device device({.seed = 8});
  for (precision p : {precision::fp32_strict, precision::bf16}) {
    cu::engine fast(device.api(), small::view(), keras_rules, settings(p));
    auto const plain = reference<double>{}.make_engine(small::view(), keras_rules);
    initialize(fast, 5);
    initialize(*plain, 5);
    drawn_batch const data(small::view(), 6, 1);
    fast.run(fast.prepare(mode::training, 6), data.view(0, 0));
    plain->run(plain->prepare(mode::training, 6), data.view(0, 0));
    auto& host = dynamic_cast<host::engine<double>&>(*plain);
    for (int k = 0; k < small::view().size.parameters; ++k) {
      parameter const& q = small::view().parameters[k];
      if (!q.trainable() || (q.role == role::bias && q.node != small::view().size.nodes - 2)) continue;
      std::vector<float> got(static_cast<std::size_t>(q.count())), wanted;
      fast.read_gradient(k, got.data());
      for (int i = 0; i < q.count(); ++i) wanted.push_back(static_cast<float>(host.parameter_gradient_data(k)[i]));
      INFO("parameter " << k << ", precision " << static_cast<int>(p));
      // after a batch_norm a gradient is small, and the rounding of dy is a large part of it
      CHECK(difference(got, wanted) < (p == precision::bf16 ? 0.25 : 1e-4));
    }
  }
  CHECK(device.report() == "");
}

namespace {

/// An augmentation that a device cannot draw.
struct none_at_all {
  transform draw(std::uint64_t, int, std::int64_t, shape const&) const { return {}; }
};

}  // namespace

TEST_CASE("cuda: fit takes its batches from device memory, the same as the CPU's", "[cuda]") {
  dsl_test::add_all_kernels();
  simulated_device device({.seed = 6});
  dataset const data = drawn_data({3, 9, 9}, 5, 45).subset(3, 40);
  engine_options rules = keras_rules;
  rules.seed = 0x9876543210abcdefU;
  struct one {
    augmentation augment;
    bool resident;
  };
  for (auto const& [augment, resident] :
       {one{{}, true}, one{shift_and_flip{.width = 0.2, .height = 0.1}, true},
        one{shift_and_flip{.width = 0.2, .interpolation = interpolation::bilinear}, true},
        one{in_order{random_crop{.padding = 2}, random_flip{}, cutout{.size = 3}}, true}, one{none_at_all{}, false},
        one{in_order{shift_and_flip{}, none_at_all{}}, false}})
    for (bool shuffle : {true, false}) {
      trainer fast(std::make_unique<cu::engine>(device.api(), small::view(), rules, settings(precision::fp32_strict)),
                   0.01);
      trainer plain(reference<>{}.make_engine(small::view(), rules), 0.01);
      fit_options const o{.epochs = 2, .batch_size = 8, .augment = augment, .shuffle = shuffle};
      device.reset_calls();
      history const a = fast.fit(data, o), b = plain.fit(data, o);
      for (std::size_t e = 0; e < 2; ++e) {
        CHECK(a.epochs[e].train.loss == Approx(b.epochs[e].train.loss).epsilon(1e-3));
        CHECK(a.epochs[e].train.acc == Approx(b.epochs[e].train.acc));
      }
      CHECK(device.calls("cudaGraphLaunch") >= 10);
      int const again = fast.engine().prepare_resident(data, augment, 8, shuffle);
      CHECK((again >= 0) == resident);
      if (resident) {
        CHECK(fast.engine().prepare_resident(data, augment, 8, shuffle) == again);
        CHECK(fast.engine().prepare_resident(data, augment, 8, !shuffle) != again);
      }
      CHECK(fast.evaluate(data, 7).loss == Approx(plain.evaluate(data, 7).loss).epsilon(2e-3));
    }
  CHECK(device.report() == "");
}

TEST_CASE("cuda: an average of the weights is validated, and training goes on with its own", "[cuda]") {
  dsl_test::add_all_kernels();
  simulated_device device({.seed = 6});
  dataset const data = drawn_data({3, 9, 9}, 5, 45).subset(3, 40);
  for (precision p : {precision::fp32_strict, precision::bf16}) {
    auto const fit = [&](trainer& t, std::optional<weight_average> const& average) {
      return t.fit(data, {.epochs = 3, .batch_size = 8, .validation = &data, .average = average});
    };
    trainer t(std::make_unique<cu::engine>(device.api(), small::view(), keras_rules, settings(p, true)), 0.01);
    trainer u(std::make_unique<cu::engine>(device.api(), small::view(), keras_rules, settings(p, true)), 0.01);
    history const a = fit(t, weight_average{.start_from_epoch = 1, .every = 2}), b = fit(u, {});
    for (std::size_t e = 0; e < 3; ++e) CHECK(a.epochs[e].train.loss == b.epochs[e].train.loss);
    CHECK(a.epochs[0].validation.loss == b.epochs[0].validation.loss);
    CHECK(a.epochs[2].validation.loss != b.epochs[2].validation.loss);
    CHECK(t.evaluate(data, 8).loss == a.epochs[2].validation.loss);
  }
  CHECK(device.report() == "");
}

TEST_CASE("cuda: data larger than half of the device comes from the host", "[cuda]") {
  dsl_test::add_all_kernels();
  simulated_device device({.memory_bytes = 8 << 20});
  cu::engine e(device.api(), small::view(), keras_rules, settings(precision::bf16));
  dataset data = drawn_data({3, 9, 9}, 5, 45).subset(3, 40);
  CHECK(e.prepare_resident(data, {}, 8, true) >= 0);
  data.size = 100'000;
  CHECK(e.prepare_resident(data, {}, 8, true) == -1);
}

TEST_CASE("cuda: data sets that don't fit beside earlier ones come from the host", "[cuda]") {
  dsl_test::add_all_kernels();
  simulated_device device({.memory_bytes = 8 << 20});
  dataset const all = drawn_data({3, 9, 9}, 5, 36'000);
  {
    cu::engine e(device.api(), small::view(), keras_rules, settings(precision::bf16, true));
    dataset const parts[] = {all.subset(0, 12'000), all.subset(12'000, 12'000), all.subset(24'000, 12'000)};
    CHECK(cu::resident_data::bytes_for(parts[0]) > (5 << 20) / 2);
    int const resident = e.prepare_resident(parts[0], {}, 8, true);
    REQUIRE(resident >= 0);
    for (int i : {1, 2}) {
      CHECK_FALSE(e.keeps(parts[i], {}));
      CHECK(e.prepare_resident(parts[i], {}, 8, true) == -1);
    }
    CHECK(e.keeps(parts[0], {}));
    CHECK(e.prepare_resident(parts[0], {}, 8, true) == resident);
    e.run(e.prepare(mode::training, 8), drawn_batch(small::view(), 8, 1).view(0, 0.01));
  }
  CHECK(device.report() == "");
}

TEST_CASE("cuda: data for which there is no memory come from the host, and nothing of them stays", "[cuda]") {
  dsl_test::add_all_kernels();
  simulated_device device({.seed = 6});
  {
    cu::engine e(device.api(), small::view(), keras_rules, settings(precision::bf16, true));
    dataset const data = drawn_data({3, 9, 9}, 5, 40);
    int const fed = e.prepare(mode::training, 8);
    auto const used = [] { return dsl_test::simulated::state::active->memory.used(0); };
    std::size_t const before = used();
    device.reset_calls();
    for (int n : {1, 3, 4, 5, 9}) {  // pictures, order, mean; then the program's memory
      INFO("cudaMalloc " << n);
      device.fail_call("cudaMalloc", n, cudaErrorMemoryAllocation);
      CHECK(e.prepare_resident(data, {}, 8, true) == -1);
      CHECK(used() == before);
      device.fail_call("cudaMalloc", n);  // another error than out of memory is thrown
      CHECK_THROWS_WITH(e.prepare_resident(data, {}, 8, true), Catch::Contains("cudaMalloc failed: unknown error"));
      CHECK(used() == before);
    }
    CHECK(device.faults_struck() == 10);
    CHECK(e.prepare(mode::training, 8) == fed);
    int const resident = e.prepare_resident(data, {}, 8, true);
    CHECK(resident > fed);
    e.start_epoch(resident, 0, 0);
    e.run(resident, {.size = 8, .learning_rate = 0.01});
    CHECK(std::isfinite(e.metrics(resident).loss));
  }
  CHECK(device.report() == "");
}

TEST_CASE("cuda: a library that has no memory left says so", "[cuda]") {
  simulated_device device({.seed = 1});
  cu::api const a = device.api();
  auto const is_of_memory = [&](auto const& call, auto status) {
    try {
      a.require(call, status);
    } catch (cu::memory_error const&) {
      return true;
    } catch (executor_error const&) {
      return false;
    }
    throw std::logic_error("nothing was thrown");
  };
  CHECK(is_of_memory(a.cublasLtMatmul, CUBLAS_STATUS_ALLOC_FAILED));
  CHECK(is_of_memory(a.cudnnBackendExecute, CUDNN_STATUS_INTERNAL_ERROR_HOST_ALLOCATION_FAILED));
  CHECK(is_of_memory(a.cudnnBackendExecute, CUDNN_STATUS_INTERNAL_ERROR_DEVICE_ALLOCATION_FAILED));
  CHECK_FALSE(is_of_memory(a.cublasLtMatmul, CUBLAS_STATUS_EXECUTION_FAILED));
  CHECK_FALSE(is_of_memory(a.cudnnBackendExecute, CUDNN_STATUS_INTERNAL_ERROR));
}

TEST_CASE("cuda: a step is one graph launch, and allocates nothing", "[cuda]") {
  dsl_test::add_all_kernels();
  simulated_device device({.seed = 4});
  {
    cu::engine e(device.api(), small::view(), keras_rules, settings(precision::bf16));
    initialize(e, 5);
    drawn_batch const data(small::view(), 6, 1);
    int const training = e.prepare(mode::training, 6), inference = e.prepare(mode::inference, 6);
    e.run(training, data.view(0, 0.01));
    e.metrics(training);
    device.reset_calls();
    for (int s = 0; s < 3; ++s) {
      e.run(training, data.view(static_cast<std::uint64_t>(s), 0.01));
      e.metrics(training);
    }
    CHECK(device.calls("cudaGraphLaunch") == 3);
    CHECK(device.calls("cudaStreamSynchronize") == 3);
    CHECK(device.calls("cudaSetDevice") == 3);
    CHECK(device.calls() == 9);
    e.run(inference, data.view(0, 0));
    device.reset_calls();
    e.run(inference, data.view(0, 0));
    CHECK(device.calls("cudaGraphLaunch") == 1);
    CHECK(device.calls("cudaLaunchKernel") == 0);  // folded kernels are computed again only after training
  }
  CHECK(device.report() == "");
}

TEST_CASE("cuda: two queues give the bits of one, whichever is ahead", "[cuda]") {
  dsl_test::add_all_kernels();
  std::vector<std::vector<float>> wanted;
  for (std::uint64_t seed : {0U, 1U, 2U, 3U, 4U}) {
    simulated_device device({.seed = seed, .when = dsl_test::timing::random});
    {
      cu::engine_settings mine = settings(precision::fp32_strict, true);
      mine.queues = seed == 0 ? 1 : 2;
      cu::engine e(device.api(), small::view(), keras_rules, mine);
      initialize(e, 5);
      int const training = e.prepare(mode::training, 6), inference = e.prepare(mode::inference, 6);
      // On the second stream are 14 gradients of kernels in training and, in inference, the second branches of two
      // inceptions and a pool.
      INFO(device.calls("cudaStreamWaitEvent") << " waits");
      CHECK((device.calls("cudaStreamWaitEvent") > 10) == (seed > 0));
      std::vector<std::vector<float>> got;
      for (std::uint64_t s = 0; s < 3; ++s) {
        drawn_batch const data(small::view(), 6, s);
        e.run(training, data.view(s, 0.02));
        e.run(inference, data.view(s, 0));
        got.push_back(result_of(e, inference, 6));
      }
      for (int k = 0; k < small::view().size.parameters; ++k) {
        got.emplace_back(static_cast<std::size_t>(small::view().parameters[k].count()));
        e.read_parameter(k, got.back().data());
      }
      if (seed == 0) wanted = got;
      CHECK(got == wanted);
    }
    CHECK(device.report() == "");
  }
  simulated_device device;
  CHECK_THROWS_AS(cu::engine(device.api(), small::view(), keras_rules, {.cache = "", .queues = 3}), option_error);
}

TEST_CASE("cuda: queues on which a step may run too early are refused", "[cuda]") {
  graph_view const g = small::view();
  plan const p = make_plan(g, {.batch = 6, .target = {.channel_block = channels_last, .alignment = 256}});
  plan_streams queues = find_streams(g, p);
  CHECK_NOTHROW(cu::require_no_race(g, p, queues));
  int waits = 0;
  for (int s = 0; s < p.steps.size(); ++s) {
    int const was = std::exchange(queues.wait[s], -1);
    if (was < 0) continue;
    ++waits;
    std::string said;
    try {
      cu::require_no_race(g, p, queues);
    } catch (executor_error const& e) {
      said = e.what();
    }
    CHECK(said == "plan: on two queues, step " + std::to_string(s) +
                      " may run before a step that it depends on; please report the network");
    queues.wait[s] = was;
  }
  CHECK(waits > 5);
}

TEST_CASE("cuda: any vendor call may fail; the error names it and nothing leaks", "[cuda]") {
  dsl_test::add_all_kernels();
  using tiny = network<image<3, 6, 6>, conv_module<4, 3, 3>, inception_module<2, 2>, max_pool2d<2>, flatten, dense<64>,
                       dense<64>, dense<3>, softmax>;
  drawn_batch const data(tiny::view(), 2, 1);
  int struck = 0;
  long const apart = dsl::test::everything() ? 1 : dsl::test::only_a_sample() ? 61 : 5;  // of 3,354 calls
  for (long n = 1;; n += apart) {
    simulated_device device({.seed = 5});
    bool failed = false;
    std::string said;
    {
      device.fail_call(n);
      try {
        cu::engine e(device.api(), tiny::view(), keras_rules, settings(precision::bf16, true));
        initialize(e, 5);
        int const training = e.prepare(mode::training, 2), inference = e.prepare(mode::inference, 2);
        e.run(training, data.view(0, 0.01));
        e.metrics(training);
        e.run(inference, data.view(0, 0));
        result_of(e, inference, 2);
      } catch (executor_error const& error) {
        failed = true;
        said = error.what();
      }
    }
    device.cancel_faults();
    INFO("call " << n << ": " << said);
    device.forget_errors();
    CHECK(device.report() == "");
    if (device.faults_struck() == 0) {
      CHECK(!failed);
      break;
    }
    ++struck;
    if (failed)
      CHECK((said.find("cuda") != std::string::npos || said.find("cudnn") != std::string::npos ||
             said.find("cublasLt") != std::string::npos || said.find("nvrtc") != std::string::npos));
  }
  CHECK(struck > 1000 / apart);
  WARN(struck << " calls failed in turn");
}

TEST_CASE("cuda: a program that could not be made is made anew", "[cuda]") {
  dsl_test::add_all_kernels();
  simulated_device device({.seed = 5});
  {
    cu::engine e(device.api(), small::view(), keras_rules, settings(precision::bf16));
    initialize(e, 5);
    drawn_batch const data(small::view(), 6, 1);
    // A timed plan may fail; more failures than plans make the step's own graph fail, too.
    for (auto const& [call, times] : {std::pair{"cudaLibraryLoadData", 1}, std::pair{"cudaStreamBeginCapture", 1},
                                      std::pair{"cudaMalloc", 3}, std::pair{"cudaGraphInstantiate", 1000}}) {
      INFO(call);
      int const fine = e.prepare(mode::inference, 2);
      for (int n = 1; n <= times; ++n) device.fail_call(call, n);
      CHECK_THROWS_AS(e.prepare(mode::training, 6), executor_error);
      device.cancel_faults();
      // no error is left pending, which cuDNN would take for its own
      CHECK(e.prepare(mode::inference, 2) == fine);
    }
    int const program = e.prepare(mode::training, 6);
    CHECK(e.prepare(mode::training, 6) == program);
    e.run(program, data.view(0, 0.01));
    CHECK(std::isfinite(e.metrics(program).loss));
  }
  CHECK(device.report() == "");
}

TEST_CASE("cuda: a clean-up that fails is not pending for the next call", "[cuda]") {
  dsl_test::add_all_kernels();
  simulated_device device({.seed = 5});
  cu::api const& a = device.api();
  auto const pending = [&] { return a.cudaGetLastError.function(); };
  auto const made = [&] {
    return std::make_unique<cu::engine>(a, small::view(), keras_rules, settings(precision::bf16, true));
  };
  long waits = 0;  // up to the one after the failed graph
  for (bool const fails : {false, true}) {
    auto const e = made();
    device.reset_calls();
    device.fail_call("cudaLibraryLoadData", 1);
    if (fails) device.fail_call("cudaStreamSynchronize", waits);
    CHECK_THROWS_WITH(e->prepare(mode::inference, 2), Catch::Contains("cudaLibraryLoadData failed"));
    CHECK(pending() == cudaSuccess);
    waits = device.calls("cudaStreamSynchronize");
  }
  for (char const* call : {"cudaStreamSynchronize", "cudaStreamDestroy", "cudaLibraryUnload"}) {
    auto e = made();
    e->prepare(mode::inference, 2);
    device.fail_call(call, 1);
    e.reset();
    INFO(call);
    CHECK(pending() == cudaSuccess);
  }
  {
    cu::stream const s(a);
    device.fail_call("cudaGraphUpload", 1);
    device.fail_call("cudaGraphExecDestroy", 1);
    CHECK_THROWS_WITH(cu::replay(a, s.get(), [] {}), Catch::Contains("cudaGraphUpload failed"));
    CHECK(pending() == cudaSuccess);
  }
  CHECK(device.faults_struck() == 8);
  CHECK(device.report() == "");
}

TEST_CASE("cuda: another seed finds its kernels in the cache", "[cuda]") {
  dsl_test::add_all_kernels();
  simulated_device device({.seed = 3});
  dsl::test::temporary_directory const cache;
  cu::engine_settings kept = settings(precision::bf16);
  kept.cache = cache.path.string();
  dataset const data = drawn_data({3, 9, 9}, 5, 40);
  auto const compiles = [&](engine_options const& o) {
    device.reset_calls();
    cu::engine e(device.api(), small::view(), o, kept);
    REQUIRE(e.prepare_resident(data, shift_and_flip{}, 8, true) >= 0);
    return device.calls("nvrtcCompileProgram");
  };
  engine_options o = keras_rules;
  CHECK(compiles(o) > 0);
  o.seed = 0x9876543210abcdefU;
  CHECK(compiles(o) == 0);
  o.update.momentum /= 2;
  CHECK(compiles(o) > 0);
  CHECK(device.report() == "");
}

TEST_CASE("cuda: an engine says how it computes", "[cuda]") {
  dsl_test::add_all_kernels();
  simulated_device device({.seed = 3});
  graph_view const g = small::view();
  auto const said = [&](precision p, bool deterministic) {
    cu::engine const e(device.api(), g, {}, settings(p, deterministic));
    CHECK_THAT(e.description(), Catch::Matchers::StartsWith("cuda on ") &&
                                    Catch::Matchers::EndsWith(e.arithmetic().substr(std::string("cuda").size())));
    CHECK(e.channel_block() == 1);
    return e.arithmetic();
  };
  CHECK(said(precision::bf16, false) == "cuda, bf16");
  CHECK(said(precision::tf32, false) == "cuda, tf32");
  CHECK(said(precision::fp32_strict, true) == "cuda, fp32_strict, deterministic");
}

TEST_CASE("cuda: what can't be is refused", "[cuda]") {
  dsl_test::add_all_kernels();
  simulated_device device;
  CHECK_THROWS_AS(cu::engine(device.api(), small::view(), keras_rules, {.device = 7, .cache = ""}), executor_error);
  CHECK_THROWS_AS(cu::engine(device.api(), small::view(), keras_rules, {.device = -1, .cache = ""}), executor_error);
  using placed = network<image<3, 8, 8>, conv2d<4, 3>, on<dsl::device<1>, flatten, dense<3>, softmax>>;
  engine_options piped = keras_rules;
  piped.micro_batches = 2;
  device.reset_calls();
  CHECK_THROWS_WITH(cu::engine(device.api(), placed::view(), keras_rules, settings(precision::bf16)),
                    Catch::Contains("not supported yet; use onednn"));
  CHECK_THROWS_AS(cu::engine(device.api(), small::view(), piped, settings(precision::bf16)), executor_error);
  using attending = network<image<3, 8, 8>, attention<1>, flatten, dense<3>, softmax>;
  using windowed = network<image<3, 8, 8>, window_attention<1, 4>, flatten, dense<3>, softmax>;
  using embedded = network<token_numbers<9>, embedding<5, 4>, flatten, dense<3>, softmax>;
  using recurring = network<sequence<3, 8>, lstm<4, last_step>, dense<3>, softmax>;
  using remembering = network<sequence<3, 8>, gru<4, last_step>, dense<3>, softmax>;
  using joined = network<features<3>, concat<identity, named_input<"other", features<2>>>, dense<3>, softmax>;
  using headed = network<features<3>, dense<4>, named_output<"aux", dense<3>, softmax>, dense<3>, softmax>;
  for (auto const& [network, word] :
       {std::pair{joined::view(), "cuda: named_input is not supported; use another executor"},
        std::pair{headed::view(), "cuda: named_output is not supported; use another executor"},
        std::pair{attending::view(), "cuda: attention is not supported; found it as layer "},
        std::pair{windowed::view(), "cuda: window_attention is not supported"},
        std::pair{embedded::view(), "cuda: embedding is not supported"},
        std::pair{recurring::view(), "cuda: lstm is not supported"},
        std::pair{remembering::view(), "cuda: gru is not supported"}})
    CHECK_THROWS_WITH(cu::engine(device.api(), network, keras_rules, settings(precision::bf16)), Catch::Contains(word));
  CHECK(device.calls() == 0);  // with or without a driver
  CHECK_THROWS_WITH(compile<placed>(cuda{}, sgd{}), Catch::Contains("not supported yet; use onednn"));
  engine_options own = keras_rules;
  own.loss = loss::custom;
  CHECK_THROWS_WITH(cu::engine(device.api(), small::view(), own, settings(precision::bf16)),
                    Catch::Contains("cuda: a loss of your own is not supported yet"));
  {
    cu::engine e(device.api(), small::view(), keras_rules, settings(precision::bf16));
    int const p = e.prepare(mode::training, 4);
    drawn_batch const data(small::view(), 3, 1);
    CHECK_THROWS_AS(e.run(p, data.view(0, 0)), option_error);
    drawn_batch const four(small::view(), 4, 1);
    float const weights[] = {1, 2, 1, 1};
    test::one_batch weighted = four.view(0, 0);
    weighted.target.weights = weights;
    CHECK_THROWS_WITH(e.run(p, weighted), Catch::Contains("cuda: sample weights and class weights are not"));
    CHECK_THROWS_WITH(e.prepare(mode::training, 4, target_kind::pixel_classes),
                      Catch::Contains("found a class per pixel"));
  }
  CHECK(device.report() == "");
}
