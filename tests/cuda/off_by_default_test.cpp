// SPDX-License-Identifier: MIT
// Tests the options of the CUDA executor that are off until they have been measured: smaller batches that fill a
// larger one, batches that are copied while a step runs, and the faster of one queue and two.
#include <dsl/dsl.hpp>
#include <dsl/executors/cuda.hpp>
#include <dsl/executors/cuda/engine.hpp>
#include <dsl/training/initialize.hpp>

#include <algorithm>
#include <cmath>
#include <memory>
#include <utility>
#include <vector>

#include "support/one_batch.hpp"
#include "support/all_kernels.hpp"
#include "support/catch.hpp"
#include "support/drawn.hpp"
#include "support/listening_engine.hpp"
#include "support/simulated_device/simulated_device.hpp"
#include "support/temporary_directory.hpp"

using namespace dsl;
using dsl::test::drawn_batch;
using dsl::test::drawn_data;
using dsl::test::keras_rules;
using dsl::test::parameter_of;
using dsl::test::result_of;
using dsl::test::torch_rules;
using dsl_test::simulated_device;

namespace {

using small =
    network<image<3, 6, 6>, conv_module<4, 3, 3>, inception_module<4, 4>, max_pool2d<2>, flatten, dense<5>, softmax>;
using without_softmax = network<image<3, 5, 4>, conv2d<6, 3>, batch_norm<>, dsl::tanh, flatten, dense<4>>;

cu::engine_settings settings(precision p, bool deterministic = true) {
  return {.precision = p, .deterministic = deterministic, .cache = "", .workspace_limit = 1 << 18};
}
std::unique_ptr<cu::engine> made(simulated_device const& on, graph_view const& g, engine_options const& o,
                                 cu::engine_settings const& s) {
  auto e = std::make_unique<cu::engine>(on.api(), g, o, s);
  initialize(*e, 5);
  return e;
}
std::vector<std::vector<float>> parameters_of(engine& e) {
  std::vector<std::vector<float>> all;
  for (int k = 0; k < e.graph().size.parameters; ++k) all.push_back(parameter_of(e, k));
  return all;
}

/// An augmentation that no device can draw, so that batches come from the host.
struct from_the_host {
  transform draw(std::uint64_t, int, std::int64_t, shape const&) const { return {}; }
};

}  // namespace

// ---- fill_batches
// ----------------------------------------------------------------------------------------------------

TEST_CASE("cuda: a smaller batch fills a larger one: no new program, and the same numbers", "[cuda]") {
  dsl_test::add_all_kernels();
  simulated_device device({.seed = 3});
  engine_options smoothed = keras_rules;
  smoothed.label_smoothing = 0.1;
  for (auto const& [g, o] : {std::pair{small::view(), keras_rules}, std::pair{small::view(), smoothed},
                             std::pair{without_softmax::view(), torch_rules}})
    for (precision p : {precision::fp32_strict, precision::bf16}) {
      cu::engine_settings filling = settings(p);
      filling.fill_batches = true;
      auto const fast = made(device, g, o, filling);
      auto const plain = reference<double>{}.make_engine(g, o);
      initialize(*plain, 5);
      long long const outputs = g.shape_of(g.result()).size();
      drawn_batch const seven(g, 7, 1);
      drawn_batch three(g, 3, 2);
      std::copy_n(seven.images.begin(), three.images.size(), three.images.begin());
      std::copy_n(seven.labels.begin(), three.labels.size(), three.labels.begin());
      for (mode m : {mode::evaluation, mode::inference}) {
        int const whole = fast->prepare(m, 7);
        fast->run(whole, seven.view(0, 0));
        std::vector<float> const wanted = result_of(*fast, whole, 7);
        batch_metrics const all = m == mode::evaluation ? fast->metrics(whole) : batch_metrics{};
        device.reset_calls();
        CHECK(fast->prepare(m, 3) == whole);
        CHECK(device.calls("cudaMalloc") + device.calls("cudaStreamBeginCapture") == 0);
        fast->run(whole, three.view(0, 0));
        std::vector<float> got(static_cast<std::size_t>(3 * outputs + 1), -9.0F);
        fast->read_result(whole, got.data());
        CHECK(got.back() == -9.0F);
        CHECK(std::equal(got.begin(), got.end() - 1, wanted.begin()));
        if (m == mode::evaluation) {
          batch_metrics const some = fast->metrics(whole);
          int const of_three = plain->prepare(m, 3);
          plain->run(of_three, three.view(0, 0));
          CHECK(some.loss == Approx(plain->metrics(of_three).loss).epsilon(p == precision::bf16 ? 0.03 : 1e-4));
          // the same outputs, and sums of three losses instead of seven
          drawn_batch const rest = [&] {
            drawn_batch four(g, 4, 3);
            std::copy(seven.images.begin() + static_cast<std::ptrdiff_t>(three.images.size()), seven.images.end(),
                      four.images.begin());
            std::copy(seven.labels.begin() + 3, seven.labels.end(), four.labels.begin());
            return four;
          }();
          fast->run(whole, rest.view(0, 0));
          CHECK(some.loss + fast->metrics(whole).loss == Approx(all.loss).epsilon(1e-12));
          CHECK(some.correct + fast->metrics(whole).correct == all.correct);
        }
        fast->run(whole, seven.view(0, 0));
        CHECK(result_of(*fast, whole, 7) == wanted);
      }
    }
  CHECK(device.report() == "");
}

TEST_CASE("cuda: evaluate and predict of a data set whose last batch is smaller make one program each", "[cuda]") {
  dsl_test::add_all_kernels();
  simulated_device device({.seed = 4});
  dataset const data = drawn_data({3, 6, 6}, 5, 45);  // six batches of 7, and 3 more
  std::vector<scores> found;
  std::vector<std::vector<float>> outputs;
  std::vector<long> graphs;
  for (bool const fills : {false, true}) {
    cu::engine_settings mine = settings(precision::fp32_strict);
    mine.fill_batches = fills;
    trainer t(made(device, small::view(), keras_rules, mine), 0.01);
    t.fit(data, {.epochs = 1, .batch_size = 8});
    device.reset_calls();
    found.push_back(t.evaluate(data, 7));
    outputs.push_back(t.predict(data, 7));
    graphs.push_back(device.calls("cudaGraphInstantiate"));
  }
  CHECK(graphs[1] > 0);
  CHECK(graphs[0] == 2 * graphs[1]);  // those of the whole batches and of the last ones
  CHECK(found[1].loss == Approx(found[0].loss).epsilon(1e-5));
  CHECK(found[1].acc == found[0].acc);
  REQUIRE(outputs[1].size() == 45 * 5);
  for (std::size_t i = 0; i < outputs[0].size(); ++i) CHECK(outputs[1][i] == Approx(outputs[0][i]).margin(1e-5));
  CHECK(device.report() == "");
}

TEST_CASE("cuda: what does not fill a batch gets a program of its own", "[cuda]") {
  dsl_test::add_all_kernels();
  simulated_device device({.seed = 3});
  {
    cu::engine_settings mine = settings(precision::bf16);
    mine.fill_batches = true;
    auto const e = made(device, small::view(), keras_rules, mine);
    int const three = e->prepare(mode::evaluation, 3), seven = e->prepare(mode::evaluation, 7);
    CHECK(three != seven);  // the larger one is made after the smaller one
    CHECK(e->prepare(mode::evaluation, 2) == three);
    CHECK(e->prepare(mode::evaluation, 5) == seven);
    CHECK(e->prepare(mode::evaluation, 3) == three);
    CHECK(e->prepare(mode::inference, 3) != three);
    int const training = e->prepare(mode::training, 7);
    CHECK(e->prepare(mode::training, 3) != training);  // batch_norm depends on all samples
    drawn_batch const data(small::view(), 5, 1);
    CHECK_THROWS_WITH(e->run(training, data.view(0, 0)), Catch::Contains("prepared for 7 samples; found 5"));
    CHECK_THROWS_WITH(e->run(three, data.view(0, 0)), Catch::Contains("prepared for 3 samples; found 5"));
    e->run(seven, data.view(0, 0));
    test::one_batch unlabelled = data.view(0, 0);
    unlabelled.target.labels = nullptr, unlabelled.size = 4;  // the last labels are those of five samples
    CHECK_THROWS_WITH(e->run(seven, unlabelled), Catch::Contains("it must have labels"));
    CHECK_THROWS_AS(e->prepare(mode::evaluation, 0), option_error);

    auto const off = made(device, small::view(), keras_rules, settings(precision::bf16));
    CHECK(off->prepare(mode::evaluation, 7) != off->prepare(mode::evaluation, 3));
  }
  CHECK(device.report() == "");
}

// ---- copy_ahead
// ------------------------------------------------------------------------------------------------------

TEST_CASE("cuda: batches that are copied while a step runs give the same bits", "[cuda]") {
  dsl_test::add_all_kernels();
  std::vector<std::vector<float>> wanted;
  for (bool const ahead : {false, true})
    for (auto const when : {dsl_test::timing::late, dsl_test::timing::early, dsl_test::timing::random}) {
      simulated_device device({.seed = 7, .when = when});
      {
        cu::engine_settings mine = settings(precision::fp32_strict);
        mine.copy_ahead = ahead;
        auto const e = made(device, small::view(), keras_rules, mine);
        int const training = e->prepare(mode::training, 6), evaluation = e->prepare(mode::evaluation, 6);
        std::vector<std::vector<float>> got;
        for (int const program : {training, evaluation, training}) {
          std::uint64_t staged = 0;
          for (std::uint64_t s = 0; s < 5; ++s) {
            test::one_batch now = drawn_batch(small::view(), 6, 100 + s).view(s, 0.01);
            drawn_batch const data(small::view(), 6, s);
            now = data.view(s, 0.01);
            now.staged = staged;
            e->run(program, now);
            long const copies = device.calls("cudaMemcpyAsync");
            {
              drawn_batch const next(small::view(), 6, s + 1);  // its arrays need not outlive the call
              staged = s < 4 ? e->stage(program, next.view(s + 1, 0.01)) : 0;
            }
            CHECK((staged != 0) == (ahead && s < 4));
            CHECK(device.calls("cudaMemcpyAsync") == copies + (ahead && s < 4));
            batch_metrics const m = e->metrics(program);
            got.push_back({static_cast<float>(m.loss), static_cast<float>(m.correct)});
          }
        }
        for (auto& p : parameters_of(*e)) got.push_back(std::move(p));
        if (wanted.empty()) wanted = got;
        CHECK(got == wanted);
      }
      CHECK(device.report() == "");
    }
}

TEST_CASE("cuda: a batch other than the announced one is the one that runs", "[cuda]") {
  dsl_test::add_all_kernels();
  for (auto const when : {dsl_test::timing::late, dsl_test::timing::random}) {
    simulated_device device({.seed = 8, .when = when});
    {
      cu::engine_settings mine = settings(precision::fp32_strict);
      mine.copy_ahead = true;
      auto const e = made(device, small::view(), keras_rules, mine);
      int const program = e->prepare(mode::evaluation, 6);
      auto const loss_of = [&](std::uint64_t seed, std::uint64_t staged) {
        drawn_batch const data(small::view(), 6, seed);
        test::one_batch v = data.view(0, 0);
        v.staged = staged;
        e->run(program, v);
        return e->metrics(program).loss;
      };
      auto const announce = [&](std::uint64_t seed) {
        return e->stage(program, drawn_batch(small::view(), 6, seed).view(0, 0));
      };
      double const first = loss_of(1, 0), second = loss_of(2, 0), third = loss_of(3, 0);
      CHECK(first != second);
      std::uint64_t const old = announce(2);
      CHECK(old != 0);
      CHECK(loss_of(1, 0) == first);    // without its number
      CHECK(loss_of(3, old) == third);  // the number of a batch that is forgotten
      std::uint64_t const one = announce(1), two = announce(2);
      CHECK(one != two);
      CHECK(loss_of(3, one) == third);  // announced twice
      CHECK(loss_of(2, announce(2)) == second);
      CHECK(loss_of(1, announce(1)) == first);
      announce(3);  // never run
    }
    CHECK(device.report() == "");
  }
}

TEST_CASE("cuda: only batches from the host are copied ahead", "[cuda]") {
  dsl_test::add_all_kernels();
  simulated_device device({.seed = 8});
  {
    cu::engine_settings mine = settings(precision::bf16);
    mine.copy_ahead = true;
    auto const e = made(device, small::view(), keras_rules, mine);
    dataset const data = drawn_data({3, 6, 6}, 5, 40);
    int const resident = e->prepare_resident(data, {}, 8, true), fed = e->prepare(mode::training, 8);
    drawn_batch const batch(small::view(), 8, 1);
    CHECK(e->stage(resident, batch.view(0, 0)) == 0);
    CHECK(e->stage(fed, batch.view(0, 0)) != 0);
    drawn_batch const seven(small::view(), 7, 1);
    CHECK_THROWS_AS(e->stage(fed, seven.view(0, 0)), option_error);
    test::one_batch unlabelled = batch.view(0, 0);
    unlabelled.target.labels = nullptr;
    CHECK_NOTHROW(e->stage(fed, unlabelled));  // with the labels of the batch announced before
    auto const off = made(device, small::view(), keras_rules, settings(precision::bf16));
    CHECK(off->stage(off->prepare(mode::training, 8), batch.view(0, 0)) == 0);
    CHECK(e->executor_bytes() > off->executor_bytes());
  }
  CHECK(device.report() == "");
}

TEST_CASE("cuda: fit, evaluate and predict with batches copied ahead are the same", "[cuda]") {
  dsl_test::add_all_kernels();
  dataset const data = drawn_data({3, 6, 6}, 5, 75);
  std::vector<std::vector<float>> wanted;
  for (bool const ahead : {false, true}) {
    simulated_device device({.seed = 9, .when = dsl_test::timing::random});
    {
      cu::engine_settings mine = settings(precision::fp32_strict);
      mine.copy_ahead = mine.fill_batches = ahead;
      std::unique_ptr<engine> e = made(device, small::view(), keras_rules, mine);
      dsl::test::listening* heard = nullptr;
      if (ahead) {
        auto over = std::make_unique<dsl::test::listening>(std::move(e));
        heard = over.get();
        e = std::move(over);
      }
      trainer t(std::move(e), 0.02);
      history const h =
          t.fit(data, {.epochs = 3, .batch_size = 8, .validation = &data, .augment = from_the_host{}, .prefetch = 4});
      std::vector<std::vector<float>> got = parameters_of(t.engine());
      for (epoch_record const& one : h.epochs) got.push_back({static_cast<float>(one.train.loss)});
      if (!ahead) wanted = got;
      CHECK(got == wanted);
      if (heard) CHECK(heard->copied > 0);
      CHECK(t.predict(data, 75).size() == 75 * 5);
      CHECK(t.evaluate(data, 8).loss == Approx(h.epochs.back().validation.loss).epsilon(1e-12));
    }
    CHECK(device.report() == "");
  }
}

// ---- queues = 0
// ------------------------------------------------------------------------------------------------------

namespace {

/// Milliseconds that the device's clock reports in turn: those of a program on one queue, then those on two.
struct reported_times {
  float one = 0, two = 0;
  long asked = 0;
};
reported_times reported;

cudaError_t report_time(float* milliseconds, cudaEvent_t, cudaEvent_t) {
  *milliseconds = reported.asked++ % 2 == 0 ? reported.one : reported.two;
  return cudaSuccess;
}

}  // namespace

TEST_CASE("cuda: of one queue and two, the faster is kept, and training begins with the state as it was", "[cuda]") {
  dsl_test::add_all_kernels();
  std::vector<std::vector<float>> wanted;
  for (auto const& [one, two] : {std::pair{0.0F, 0.0F}, std::pair{2.0F, 1.0F}, std::pair{1.0F, 2.0F}}) {
    simulated_device device({.seed = 5, .when = dsl_test::timing::random});
    bool const timed = one > 0;
    reported = {.one = one, .two = two};
    cu::api clocked = device.api();
    clocked.cudaEventElapsedTime.function = &report_time;
    {
      // the plans that are stored first are used again, so the bits are comparable
      cu::engine_settings mine = settings(precision::fp32_strict, true);
      mine.queues = 2;
      if (timed) mine.deterministic = false, mine.queues = 0;
      cu::engine e(clocked, small::view(), keras_rules, mine);
      initialize(e, 5);
      auto const before = parameters_of(e);
      reported.asked = 0;
      int const training = e.prepare(mode::training, 6);
      CHECK(parameters_of(e) == before);
      CHECK(e.queues(training) == (timed && one < two ? 1 : 2));
      CHECK(e.prepare(mode::training, 6) == training);
      for (int s = 0; s < 2; ++s)
        for (int k = 0; k < e.graph().size.parameters; ++k)
          if (e.graph().parameters[k].trainable() && s < keras_rules.update.slots()) {
            std::vector<float> slot(static_cast<std::size_t>(e.graph().parameters[k].count()), 1);
            e.read_slot(s, k, slot.data());
            CHECK(std::all_of(slot.begin(), slot.end(), [](float x) { return x == 0; }));
          }
      std::vector<std::vector<float>> got;
      for (std::uint64_t s = 0; s < 3; ++s) {
        drawn_batch const data(small::view(), 6, s);
        e.run(training, data.view(s, 0.02));
        got.push_back({static_cast<float>(e.metrics(training).loss)});
      }
      for (auto& p : parameters_of(e)) got.push_back(std::move(p));
      if (!timed) wanted = got;
      REQUIRE(got.size() == wanted.size());
      for (std::size_t i = 0; i < got.size(); ++i)
        for (std::size_t j = 0; j < got[i].size(); ++j) CHECK(got[i][j] == Approx(wanted[i][j]).margin(1e-4));
    }
    CHECK(device.report() == "");
  }
}

TEST_CASE("cuda: queues are not timed where nothing may be, or where there is nothing to gain", "[cuda]") {
  dsl_test::add_all_kernels();
  simulated_device device({.seed = 5});
  using in_a_row = network<image<3, 6, 6>, conv2d<4, 3>, relu, flatten, dense<3>, softmax>;
  auto const times_taken = [&](graph_view const& g, bool deterministic, int queues) {
    cu::engine_settings mine = settings(precision::bf16, deterministic);
    mine.queues = queues;
    auto const e = made(device, g, keras_rules, mine);
    device.reset_calls();
    CHECK(e->queues(e->prepare(mode::inference, 4)) == 2);  // which are never slower on this device
    return device.calls("cudaEventElapsedTime");
  };
  CHECK(times_taken(small::view(), true, 0) == 0);
  CHECK(times_taken(small::view(), false, 0) > times_taken(small::view(), false, 2));
  CHECK(times_taken(in_a_row::view(), false, 0) == times_taken(in_a_row::view(), false, 2));  // those of plans
  CHECK_THROWS_WITH(cu::engine(device.api(), small::view(), keras_rules, {.cache = "", .queues = 3}),
                    Catch::Contains("queues must be 1, 2, or 0, which times both and keeps the faster; found 3"));
  CHECK(device.report() == "");
}

TEST_CASE("cuda: without memory for a second program, the first is kept untimed", "[cuda]") {
  dsl_test::add_all_kernels();
  simulated_device device({.seed = 5});
  {
    cu::engine_settings mine = settings(precision::fp32_strict, false);
    mine.queues = 0;
    auto const e = made(device, small::view(), keras_rules, mine);
    device.reset_calls();
    auto const other = made(device, small::view(), keras_rules, settings(precision::fp32_strict, false));
    device.reset_calls();
    other->prepare(mode::training, 6);
    long const of_one = device.calls("cudaMalloc");  // on two queues
    device.fail_call("cudaMalloc", of_one + 1, cudaErrorMemoryAllocation);
    int const training = e->prepare(mode::training, 6);
    CHECK(device.faults_struck() == 1);
    CHECK(e->queues(training) == 2);
    CHECK(e->prepare(mode::training, 6) == training);
    e->run(training, drawn_batch(small::view(), 6, 1).view(0, 0.01));
    CHECK(std::isfinite(e->metrics(training).loss));
    device.fail_call("cudaMalloc", 3);  // another error than out of memory is thrown, and no half-made program stays
    CHECK_THROWS_AS(e->prepare(mode::training, 5), executor_error);
    int const five = e->prepare(mode::training, 5);
    CHECK(five > training);
  }
  CHECK(device.report() == "");
}
