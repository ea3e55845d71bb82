// SPDX-License-Identifier: MIT
// Tests the double's convolutions: they compute what plain loops compute, engines differ in what a search for plans
// must consider, workspaces are really used, and any call may fail.
#include <dsl/executors/cuda/choose_plan.hpp>
#include <dsl/operations/conv2d/host.hpp>

#include "support/simulated_device/cudnn_engines.hpp"
#include "support/catch.hpp"
#include "support/larger.hpp"
#include "support/simulated_device/simulated_device.hpp"
#include "support/simulated_device/typed_buffer.hpp"
#include "support/temporary_directory.hpp"

#include <cmath>
#include <filesystem>
#include <limits>
#include <memory>
#include <optional>
#include <random>
#include <string>
#include <utility>
#include <vector>

using dsl_test::simulated_device;
using dsl_test::timing;
using buffer = dsl_test::typed_buffer;
using dsl_test::simulated::storage;
using namespace dsl::cu;
using pass = convolution_pass;
using precision = convolution_precision;

namespace {

std::vector<float> numbers(long long n, unsigned seed) {
  std::mt19937 random(seed);
  std::vector<float> x(static_cast<std::size_t>(n));
  for (float& v : x) v = static_cast<float>(random() % 33) / 16 - 1;  // exact in bf16
  return x;
}
/// Converts (n, h, w, c) to (n, c, h, w), and back.
std::vector<float> turned(std::vector<float> const& x, int n, int c, int area, bool back = false) {
  std::vector<float> y(x.size());
  for (int i = 0; i < n; ++i)
    for (int k = 0; k < c; ++k)
      for (int p = 0; p < area; ++p) {
        auto const last = static_cast<std::size_t>((i * area + p) * c + k),
                   first = static_cast<std::size_t>((i * c + k) * area + p);
        y[back ? last : first] = x[back ? first : last];
      }
  return y;
}

struct bench {
  explicit bench(dsl_test::device_options o = {}) : device(std::move(o)), a(device.api()) {
    a(a.cudaStreamCreateWithFlags, &s, 0u);
    handle.emplace(a);
    handle->set_stream(s);
  }
  void end() {
    handle.reset();
    a.cudaStreamDestroy.function(s);
  }
  simulated_device device;
  api const& a;
  cudaStream_t s = nullptr;
  std::optional<cudnn_handle> handle;
};

constexpr convolution some{.batch = 2,
                           .in_channels = 8,
                           .in_height = 7,
                           .in_width = 6,
                           .out_channels = 16,
                           .out_height = 4,
                           .out_width = 3,
                           .kernel_height = 3,
                           .kernel_width = 2,
                           .stride = 2,
                           .pad_top = 1,
                           .pad_bottom = 1};

}  // namespace

TEST_CASE("convolutions are those of the plain loops") {
  auto const type = GENERATE(precision::bf16, precision::fp16, precision::fp32_strict);
  bench b{{.when = timing::random}};
  {
    auto const c = some;
    plan_target const target(*b.handle);
    auto const x = numbers(c.input_count(), 1), w = numbers(c.kernel_count(), 2), dy = numbers(c.output_count(), 3);
    storage const held = type == precision::bf16   ? storage::bf16
                         : type == precision::fp16 ? storage::f16
                                                   : storage::f32;
    buffer xs(b.a, x.size(), held), ws(b.a, w.size(), held), ys(b.a, dy.size(), held), work(b.a, 1 << 16, storage::f32);
    int const area = c.in_height * c.in_width, out_area = c.out_height * c.out_width;
    auto const xn = turned(x, c.batch, c.in_channels, area), dyn = turned(dy, c.batch, c.out_channels, out_area);
    auto const wn = turned(w, c.out_channels, c.in_channels, 6);
    dsl::shape const in{c.in_channels, c.in_height, c.in_width}, out{c.out_channels, c.out_height, c.out_width};
    auto const view = [](auto* p, dsl::shape const& s, int n) {
      return dsl::view<std::remove_pointer_t<decltype(p)>>{p, s, n, 1, s.channels, 0};
    };
    dsl::window const window{c.kernel_height, c.kernel_width, c.stride, c.pad_top, c.pad_left};
    std::vector<float> yn(dyn.size()), dxn(xn), dwn(wn.size());
    dsl::plain::conv2d_forward<float>(view(xn.data(), in, c.batch), wn.data(), nullptr, view(yn.data(), out, c.batch),
                                      window);
    dsl::plain::conv2d_backward_data<float>(view(dyn.data(), out, c.batch), wn.data(), view(dxn.data(), in, c.batch),
                                            window, true);
    dsl::plain::conv2d_backward_weights<float>(view(xn.data(), in, c.batch), view(dyn.data(), out, c.batch), dwn.data(),
                                               nullptr, window);

    for (pass const p : {pass::forward, pass::backward_data, pass::backward_weights}) {
      convolution_options const o{
          .pass = p, .precision = type, .accumulate = p == pass::backward_data, .workspace_limit = 1 << 18};
      plan_search const found = find_plans(target, c, o);
      CHECK(found.plans.size() >= (type == precision::fp32_strict ? 1u : 3u));
      CHECK(found.too_large >= (type == precision::fp32_strict ? 0 : 1));
      for (convolution_plan const& plan : found.plans) {
        xs.write(x, b.s), ws.write(w, b.s), ys.write(dy, b.s);
        execute(*b.handle, plan, bind_tensors(plan, {xs.p, ws.p, nullptr, ys.p}, work.p));
        auto const result = (p == pass::forward ? ys : p == pass::backward_data ? xs : ws).read(b.s);
        auto const expected = p == pass::forward         ? turned(yn, c.batch, c.out_channels, out_area, true)
                              : p == pass::backward_data ? turned(dxn, c.batch, c.in_channels, area, true)
                                                         : turned(dwn, c.out_channels, c.in_channels, 6, true);
        double worst = 0;
        for (std::size_t i = 0; i < result.size(); ++i)
          worst = dsl::test::larger(worst, std::fabs(static_cast<double>(result[i] - expected[i])) /
                                               (std::fabs(static_cast<double>(expected[i])) + 1));
        INFO(name_of(p) << ' ' << plan.facts.tag());
        CHECK(worst <= (type == precision::bf16 ? 0x1p-8 : type == precision::fp16 ? 0x1p-11 : 1e-6));
        bool const exact = result == expected;
        if (type != precision::fp16)
          CHECK(exact == (type == precision::fp32_strict));  // fp16 is exact for nearly all of these
      }
    }
  }
  b.end();
  CHECK(b.device.report() == "");
}

TEST_CASE("bias, relu and a conversion to float are fused where the table has them") {
  bench b;
  {
    plan_target const target(*b.handle);
    convolution c{.batch = 1,
                  .in_channels = 8,
                  .in_height = 2,
                  .in_width = 2,
                  .out_channels = 8,
                  .out_height = 2,
                  .out_width = 2};
    buffer xs(b.a, 32, storage::bf16), ws(b.a, 64, storage::bf16), bs(b.a, 8, storage::f32), ys(b.a, 32, storage::bf16);
    xs.write(std::vector<float>(32, 1), b.s), ws.write(std::vector<float>(64, 0.5f), b.s);
    bs.write({-5, 0, 1, 2, 3, 4, 5, 6}, b.s);
    auto const found = find_plans(target, c, {.pass = pass::forward_inference, .relu = true});
    REQUIRE(found.plans.size() == 1);
    CHECK(found.plans[0].facts.has(CUDNN_BEHAVIOR_NOTE_RUNTIME_COMPILATION));
    execute(*b.handle, found.plans[0], bind_tensors(found.plans[0], {xs.p, ws.p, bs.p, ys.p}, nullptr));
    auto const y = ys.read(b.s);
    CHECK(std::vector<float>(y.begin(), y.begin() + 8) == std::vector<float>{0, 4, 5, 6, 7, 8, 9, 10});

    buffer dw(b.a, 64, storage::f32);
    convolution_options gradient{.pass = pass::backward_weights, .float_gradient = true};
    auto const sums = find_plans(target, c, gradient);
    REQUIRE(sums.plans.size() == 1);
    ys.write(std::vector<float>(32, 0x1.01p0f), b.s);
    execute(*b.handle, sums.plans[0], bind_tensors(sums.plans[0], {xs.p, dw.p, nullptr, ys.p}, nullptr));
    CHECK(dw.read(b.s)[9] == approx(4));  // bf16 loses the last bit of 0x1.01p0
    c.in_channels = 3;
    CHECK(find_plans(target, c, gradient).plans.empty());
  }
  b.end();
  CHECK(b.device.report() == "");
}

TEST_CASE("engines have what a search must look at") {
  bench b;
  {
    plan_target const target(*b.handle);
    convolution_options o{.pass = pass::backward_weights, .precision = precision::tf32};
    auto const count = [&](auto set) {
      auto options = o;
      set(options);
      return find_plans(target, some, options);
    };
    auto const all = count([](auto&) {});
    CHECK(all.refused == 1);
    CHECK(all.too_large == 1);
    auto const deterministic = count([](auto& x) { x.deterministic = true; });
    CHECK(deterministic.plans.size() + 1 == all.plans.size());
    CHECK(count([](auto& x) { x.precision = precision::fp32_strict; }).plans.size() == 1);
    auto const small = count([](auto& x) { x.workspace_limit = 0; });
    CHECK(small.plans.size() < all.plans.size());

    // The text of a plan restores the same plan; that of another cuDNN or device, or a damaged one, does not.
    auto const words_of = [&](cudnnBackendDescriptor_t plan) {
      std::string words;
      std::int64_t size = 0;
      for (int pass_over = 0; pass_over < 2; ++pass_over) {
        words.resize(static_cast<std::size_t>(size));
        CHECK(b.a.cudnnBackendGetAttribute.function(plan, CUDNN_ATTR_EXECUTION_PLAN_JSON_REPRESENTATION,
                                                    CUDNN_TYPE_CHAR, size, &size,
                                                    words.data()) == CUDNN_STATUS_SUCCESS);
      }
      return words;
    };
    std::string const words = words_of(all.plans[0].get());
    auto const restored = [&](std::string const& text) {
      backend_descriptor d(b.a, CUDNN_BACKEND_EXECUTION_PLAN_DESCRIPTOR, "a plan");
      target.prepare_plan(d);
      d.set(CUDNN_ATTR_EXECUTION_PLAN_JSON_REPRESENTATION, text.data(), static_cast<std::int64_t>(text.size()));
      cudnnStatus_t const s = d.try_finalize();
      if (s == CUDNN_STATUS_SUCCESS) CHECK(words_of(d.get()) == words);
      return s;
    };
    std::string text = words;
    CHECK(restored(text) == CUDNN_STATUS_SUCCESS);
    CHECK(restored(text.substr(0, text.size() - 1)) == CUDNN_STATUS_BAD_PARAM);
    CHECK(restored("{}") == CUDNN_STATUS_BAD_PARAM);
    auto const version = text.find(std::to_string(CUDNN_VERSION));
    REQUIRE(version != text.npos);
    text[version] = '1';
    CHECK(restored(text) == CUDNN_STATUS_SERIALIZATION_VERSION_MISMATCH);
  }
  b.end();
  CHECK(b.device.report() == "");
}

TEST_CASE("timing finds the engine that claims least time") {
  bench b;
  {
    plan_target const target(*b.handle);
    auto const found = find_plans(target, some, {.pass = pass::backward_weights, .workspace_limit = 1 << 18});
    buffer xs(b.a, 672, storage::bf16), ws(b.a, 768, storage::bf16), ys(b.a, 384, storage::bf16),
        work(b.a, 1 << 16, storage::f32);
    auto const times = time_plans(*b.handle, b.s, found.plans, {xs.p, ws.p, nullptr, ys.p}, work.p).microseconds;
    auto const best = std::min_element(times.begin(), times.end()) - times.begin();
    CHECK(found.plans[static_cast<std::size_t>(best)].facts.has(CUDNN_NUMERICAL_NOTE_NONDETERMINISTIC));
    CHECK(times[static_cast<std::size_t>(best)] == approx(10));
  }
  b.end();
  CHECK(b.device.report() == "");
}

namespace {

// Returns the plan that is chosen for a kernel's gradient on a device with failing engines, or the error if there is
// none.
std::string chosen(std::vector<dsl_test::engine_trouble> troubles, convolution_options o, plan_cache const& cache) {
  bench b{{.troubles = std::move(troubles)}};
  std::string result;
  {
    plan_target const target(*b.handle);
    buffer xs(b.a, 672, storage::bf16), ws(b.a, 768, storage::bf16), ys(b.a, 384, storage::bf16),
        work(b.a, 1 << 16, storage::f32);
    plan_bench const timer{*b.handle, b.s, {xs.p, ws.p, nullptr, ys.p}, work.p, {.runs = 2, .rounds = 1}};
    o.pass = pass::backward_weights, o.workspace_limit = 1 << 18;
    try {
      convolution_plan const plan = choose_plan(target, some, o, cache, &timer);
      result = "engine " + std::to_string(plan.facts.engine);
      execute(*b.handle, plan, bind_tensors(plan, timer.tensors, work.p));
      b.a(b.a.cudaStreamSynchronize, b.s);
    } catch (no_plan_error const& e) {
      result = e.what();
    }
    CHECK(b.a.cudaGetLastError.function() == cudaSuccess);
  }
  b.end();
  CHECK(b.device.report() == "");
  return result;
}

}  // namespace

TEST_CASE("an engine that fails, whatever it says and whenever, costs no more than itself") {
  using trouble = dsl_test::engine_trouble;
  plan_cache const none("");
  REQUIRE(chosen({}, {}, none) == "engine 2");                       // the fastest
  REQUIRE(chosen({}, {.deterministic = true}, none) == "engine 0");  // the first
  for (int const status : {CUDNN_STATUS_NOT_SUPPORTED, CUDNN_STATUS_INTERNAL_ERROR, CUDNN_STATUS_EXECUTION_FAILED,
                           CUDNN_STATUS_EXECUTION_FAILED_CUDART, CUDNN_STATUS_BAD_PARAM})
    for (auto const when : {trouble::when_built, trouble::when_run, trouble::when_recorded}) {
      INFO("status " << status << " when " << when);
      CHECK(chosen({{2, when, status}}, {}, none) == "engine 4");
      CHECK(chosen({{0, when, status}}, {.deterministic = true}, none) == "engine 4");
    }
  for (auto const when : {trouble::when_run, trouble::when_recorded}) {
    std::vector<trouble> all;
    for (auto const& e : dsl_test::simulated::all_engines()) all.push_back({static_cast<int>(e.index), when});
    CHECK_THAT(chosen(all, {}, none), Catch::Contains("cudnn: no plan runs for backward_weights bf16"));
    CHECK_THAT(chosen(all, {.deterministic = true}, none), Catch::Contains("but can't be run or recorded"));
  }
}

TEST_CASE("a stored plan that can't be run or recorded is missing, and is replaced") {
  using trouble = dsl_test::engine_trouble;
  for (bool const deterministic : {false, true})
    for (auto const when : {trouble::when_run, trouble::when_recorded}) {
      dsl::test::temporary_directory const folder;
      plan_cache const cache(folder.path.string());
      convolution_options const o{.deterministic = deterministic};
      int const first = deterministic ? 0 : 2;
      CHECK(chosen({}, o, cache) == "engine " + std::to_string(first));
      CHECK(chosen({{first, when}}, o, cache) == "engine 4");
      CHECK(chosen({}, o, cache) == "engine 4");
    }
}

namespace {

std::vector<std::string> warnings;

/// Collects warnings as long as it lives.
struct listening {
  void (*before)(char const*) = std::exchange(dsl::on_warning, [](char const* text) { warnings.push_back(text); });
  listening() { warnings.clear(); }
  listening(listening const&) = delete;
  listening& operator=(listening const&) = delete;
  ~listening() { dsl::on_warning = before; }
};

std::size_t files_in(std::string const& folder, std::string const& prefix) {
  std::size_t count = 0;
  for (auto const& entry : std::filesystem::directory_iterator(folder))
    count += entry.path().filename().string().rfind(prefix, 0) == 0;
  return count;
}

}  // namespace

TEST_CASE("an engine that computes other numbers is named, and left out from then on") {
  using trouble = dsl_test::engine_trouble;
  listening const here;
  for (int const wrong : {2, 0}) {  // the fastest, the first
    INFO("engine " << wrong);
    dsl::test::temporary_directory const folder;
    plan_cache const cache(folder.path.string());
    warnings.clear();
    std::string const right = wrong == 2 ? "engine 4" : "engine 2";
    CHECK(chosen({{wrong, trouble::wrong_numbers}}, {}, cache) == right);
    REQUIRE(warnings.size() == 1);
    CHECK_THAT(warnings[0],
               Catch::Contains("cuda: cuDNN's execution plan engine " + std::to_string(wrong) + ", knobs") &&
                   Catch::Contains("gives different results from two other plans for backward_weights bf16: batch 2"));
    // It would be chosen again if it were tried.
    CHECK(files_in(folder.path.string(), "plan-") == 1);
    CHECK(chosen({}, {.workspace_limit = 1 << 18}, cache) == right);
    for (auto const& entry : std::filesystem::directory_iterator(folder.path))
      if (entry.path().filename().string().rfind("plan-", 0) == 0) std::filesystem::remove(entry.path());
    CHECK(chosen({}, {}, cache) == right);
    CHECK(chosen({}, {.deterministic = true}, cache) == "engine 0");  // another question
    CHECK(warnings.size() == 1);
  }
}

TEST_CASE("where no two engines agree, cuDNN's first is used, and not stored") {
  using trouble = dsl_test::engine_trouble;
  listening const here;
  std::vector<trouble> all;
  for (auto const& e : dsl_test::simulated::all_engines())
    all.push_back({static_cast<int>(e.index), trouble::wrong_numbers});
  dsl::test::temporary_directory const folder;
  plan_cache const cache(folder.path.string());
  CHECK(chosen(all, {}, cache) == "engine 0");
  REQUIRE(warnings.size() == 1);
  CHECK_THAT(warnings[0],
             Catch::Contains("no two of cuDNN's execution plans compute the same numbers for backward_weights bf16"));
  CHECK(files_in(folder.path.string(), "plan-") == 0);
  CHECK(chosen({}, {}, cache) == "engine 2");
  CHECK(warnings.size() == 1);
}

TEST_CASE("right engines agree in every pass, precision and place, and a wrong one does not") {
  struct question {
    convolution_options options;
    int pitch = 0;
  };
  bench b{{.troubles = {{0, dsl_test::engine_trouble::wrong_numbers}}}};
  {
    plan_target const target(*b.handle);
    int compared = 0;
    for (precision const factors : {precision::bf16, precision::tf32})
      for (question const& q :
           {question{{.pass = pass::forward}}, question{{.pass = pass::forward}, 24},
            question{{.pass = pass::backward_data}}, question{{.pass = pass::backward_data, .accumulate = true}},
            question{{.pass = pass::backward_weights}}}) {
        convolution c = some;
        c.output_pitch = q.pitch;
        convolution_options o = q.options;
        o.precision = factors, o.workspace_limit = 1 << 18;
        storage const type = factors == precision::bf16 ? storage::bf16 : storage::f32;
        long long const outputs = c.output_count() / c.out_channels * (q.pitch ? q.pitch : c.out_channels);
        buffer xs(b.a, static_cast<std::size_t>(c.input_count()), type),
            ws(b.a, static_cast<std::size_t>(c.kernel_count()), type), ys(b.a, static_cast<std::size_t>(outputs), type),
            work(b.a, 1 << 16, storage::f32);
        convolution_tensors const t{xs.p, ws.p, nullptr, ys.p};
        backend::written_tensor const w = backend::written_by(c, o, t);
        auto const of = [&](convolution_plan const& p, long long most) {
          xs.write(numbers(c.input_count(), 1), b.s), ws.write(numbers(c.kernel_count(), 2), b.s);
          ys.write(numbers(outputs, 3), b.s);
          return backend::numbers_of(*b.handle, b.s, p, w, t, work.p, most);
        };
        plan_search const found = find_plans(target, c, o);
        INFO(describe(c, o) << ": " << found.summary());
        REQUIRE(found.plans.size() >= (q.pitch ? 2 : 3));
        REQUIRE(found.plans[0].facts.engine == 0);
        std::vector<float> const wrong = of(found.plans[0], 1 << 20), right = of(found.plans[1], 1 << 20);
        CHECK(right.size() == static_cast<std::size_t>(w.pixels * w.channels));
        CHECK(!backend::agree(wrong, right, backend::most_difference(factors)));
        for (std::size_t i = 2; i < found.plans.size(); ++i, ++compared)
          CHECK(backend::agree(of(found.plans[i], 1 << 20), right, backend::most_difference(factors)));
        // Of a large result the first and the last pixels are compared.
        std::vector<float> ends(right.begin(), right.begin() + 2 * w.channels);
        ends.insert(ends.end(), right.end() - 2 * w.channels, right.end());
        CHECK(backend::agree(of(found.plans[1], 2 * w.channels), ends, backend::most_difference(factors)));
      }
    CHECK(compared > 10);
  }
  b.end();
  CHECK(b.device.report() == "");
}

TEST_CASE("numbers agree up to rounding; a NaN agrees with a NaN") {
  float const nan = std::numeric_limits<float>::quiet_NaN(), infinite = std::numeric_limits<float>::infinity();
  using backend::agree;
  CHECK(agree({1, 2}, {1, 2.01F}, 0.01));
  CHECK(!agree({1, 2}, {1, 2.1F}, 0.01));
  CHECK(agree({0, 0}, {0, 0}, 0));
  CHECK(!agree({0, 1e-30F}, {0, 0}, 0.1));
  CHECK(agree({nan, infinite, 1}, {nan, infinite, 1}, 0));
  CHECK(!agree({nan, 1}, {1, 1}, 0.5));
  CHECK(!agree({1, 1}, {nan, 1}, 0.5));
  CHECK(!agree({infinite, 1}, {1, 1}, 0.5));
  CHECK(!agree({1, 1}, {infinite, 1}, 0.5));
  CHECK(!agree({}, {}, 1));
}

TEST_CASE("of strides only a result's in a slice of whole 16 bytes are known") {
  using namespace dsl_test::simulated;
  auto const packed = [](std::int64_t n, std::int64_t c, std::int64_t h, std::int64_t w) {
    return tensor_info{
        .type = storage::bf16, .alignment = 16, .size = {n, c, h, w}, .stride = {c * h * w, 1, w * c, c}};
  };
  conv_program p{.tensors = {packed(2, 8, 4, 3), packed(16, 8, 1, 1), packed(2, 16, 4, 3)},
                 .operations = {{.kind = operation_kind::forward, .a = 0, .b = 1, .out = 2}}};
  CHECK(name_of(p) == "conv_forward bf16 nhwc one 8 0");
  auto const with_output = [&](std::array<std::int64_t, 4> const& strides) {
    conv_program changed = p;
    changed.tensors[2].stride = strides;
    return name_of(changed);
  };
  CHECK(with_output({24 * 12, 1, 24 * 3, 24}) == "conv_forward bf16 slice one 8 0");
  CHECK(with_output({20 * 12, 1, 20 * 3, 20}) == "");  // 40 bytes
  CHECK(with_output({24 * 12, 1, 24 * 4, 24}) == "");  // rows that are further apart
  CHECK(with_output({16 * 12, 1, 24 * 3, 24}) == "");  // pictures that overlap
  CHECK(with_output({8 * 12, 1, 8 * 3, 8}) == "");     // pixels that overlap
  CHECK(with_output({16 * 12, 12, 3, 1}) == "");       // channels first
  for (std::size_t input : {0U, 1U}) {
    conv_program changed = p;
    tensor_info& t = changed.tensors[input];
    t.stride = {24 * t.size[2] * t.size[3], 1, 24 * t.size[3], 24};
    CHECK(name_of(changed) == "");
  }
  conv_program unaligned = p;
  unaligned.tensors[2].stride = {24 * 12, 1, 24 * 3, 24}, unaligned.tensors[2].alignment = 8;
  CHECK(name_of(unaligned) == "");
  conv_program backward = p;  // no data gradient is written into a slice, and none is read there
  backward.operations[0] = {.kind = operation_kind::backward_data, .a = 2, .b = 1, .out = 0};
  CHECK(name_of(backward) == "conv_backward_data bf16 nhwc one 8 0");
  backward.tensors[0].stride = {24 * 12, 1, 24 * 3, 24};
  CHECK(name_of(backward) == "");
}

TEST_CASE("execution refuses what it can't run") {
  bench b{{.devices = 2}};
  {
    plan_target const target(*b.handle);
    auto const plans = find_plans(target, some, {.workspace_limit = 0, .most_plans = 1}).plans;
    auto const big = find_plans(target, some, {.most_plans = 1}).plans;
    buffer xs(b.a, 672, storage::bf16), ws(b.a, 768, storage::bf16), ys(b.a, 384, storage::bf16);
    auto const answer = [&](convolution_plan const& plan, std::vector<std::int64_t> const& ids,
                            std::vector<void*> const& pointers) {
      backend_descriptor pack(b.a, CUDNN_BACKEND_VARIANT_PACK_DESCRIPTOR, "a pack");
      pack.set(CUDNN_ATTR_VARIANT_PACK_UNIQUE_IDS, ids.data(), static_cast<std::int64_t>(ids.size()));
      pack.set(CUDNN_ATTR_VARIANT_PACK_DATA_POINTERS, pointers.data(), static_cast<std::int64_t>(pointers.size()));
      pack.finalize();
      return b.a.cudnnBackendExecute.function(b.handle->get(), plan.get(), pack.get());
    };
    auto* const x = static_cast<char*>(xs.p);
    CHECK(big[0].facts.workspace > 0);
    CHECK(answer(big[0], {1, 2, 4}, {x, ws.p, ys.p}) == CUDNN_STATUS_BAD_PARAM_NULL_POINTER);
    CHECK(answer(plans[0], {1, 2}, {x, ws.p}) == CUDNN_STATUS_BAD_PARAM);
    CHECK(answer(plans[0], {1, 2, 4}, {x + 2, ws.p, ys.p}) == CUDNN_STATUS_BAD_PARAM_MISALIGNED_POINTER);
    b.a(b.a.cudaSetDevice, 1);
    {
      buffer const elsewhere(b.a, 384, storage::bf16);
      b.a(b.a.cudaSetDevice, 0);
      CHECK(answer(plans[0], {1, 2, 4}, {x, ws.p, elsewhere.p}) == CUDNN_STATUS_BAD_PARAM);
    }
    CHECK(answer(plans[0], {1, 2, 4}, {x, ws.p, ys.p}) == CUDNN_STATUS_SUCCESS);
    b.a(b.a.cudaStreamSynchronize, b.s);
    CHECK(answer(plans[0], {1, 2, 4}, {x + 32, ws.p, ys.p}) == CUDNN_STATUS_SUCCESS);  // it ends after the buffer
    CHECK(b.a.cudaStreamSynchronize.function(b.s) == cudaErrorLaunchFailure);
    CHECK_THAT(b.device.take_misuses().at(0), Catch::Contains("1344 bytes that are not inside one allocation"));
    b.device.forget_errors();
  }
  b.end();
  CHECK(b.device.report() == "");
}

TEST_CASE("streams that share a workspace spoil each other's results") {
  bool const shared = GENERATE(false, true);
  bool noticed = false, spoilt = false;
  for (std::uint64_t seed = 1; seed <= 10; ++seed) {
    bench b{{.seed = seed, .when = timing::random}};
    {
      cudaStream_t side = nullptr;
      b.a(b.a.cudaStreamCreateWithFlags, &side, 0u);
      cudnn_handle other(b.a);
      other.set_stream(side);
      plan_target const target(*b.handle);
      auto const plans = find_plans(target, some, {});
      auto const plan =
          std::find_if(plans.plans.begin(), plans.plans.end(), [](auto const& p) { return p.facts.workspace > 0; });
      REQUIRE(plan != plans.plans.end());
      buffer xs(b.a, 672, storage::bf16), ws(b.a, 768, storage::bf16), y1(b.a, 384, storage::bf16),
          y2(b.a, 384, storage::bf16);
      buffer one(b.a, 1 << 14, storage::f32), two(b.a, 1 << 14, storage::f32);
      xs.write(std::vector<float>(672, 1), b.s), ws.write(std::vector<float>(768, 1), b.s);
      b.a(b.a.cudaStreamSynchronize, b.s);

      execute(*b.handle, *plan, bind_tensors(*plan, {xs.p, ws.p, nullptr, y1.p}, one.p));
      execute(other, *plan, bind_tensors(*plan, {xs.p, ws.p, nullptr, y2.p}, shared ? one.p : two.p));
      b.a(b.a.cudaStreamSynchronize, b.s);
      b.a(b.a.cudaStreamSynchronize, side);
      noticed = !b.device.take_misuses().empty() || noticed;
      spoilt = spoilt || std::isnan(y1.read(b.s)[0]) || std::isnan(y2.read(b.s)[0]);
      b.a(b.a.cudaStreamDestroy, side);
    }
    b.end();
    CHECK(b.device.report() == "");
  }
  CHECK(noticed == shared);
  CHECK(spoilt == shared);
}

TEST_CASE("whichever call fails while a plan is chosen and run, the error is typed and nothing is left behind") {
  long failures = 0;
  for (long n = 1;; ++n) {
    simulated_device device;
    api const& a = device.api();
    device.fail_call(n);
    try {
      cudnn_handle handle(a);
      cudaStream_t raw = nullptr;
      a(a.cudaStreamCreateWithFlags, &raw, 0u);
      std::unique_ptr<CUstream_st, cudaError_t (*)(cudaStream_t)> const stream(raw, a.cudaStreamDestroy.function);
      handle.set_stream(raw);
      plan_target const target(handle);
      buffer xs(a, 672, storage::bf16), ws(a, 768, storage::bf16), ys(a, 384, storage::bf16),
          work(a, 2048, storage::f32);
      plan_bench const timer{handle, raw, {xs.p, ws.p, nullptr, ys.p}, work.p, {.runs = 2, .rounds = 1}};
      convolution_plan const plan = choose_plan(target, some, {.workspace_limit = 1 << 13}, plan_cache(""), &timer);
      execute(handle, plan, bind_tensors(plan, timer.tensors, work.p));
      a(a.cudaStreamSynchronize, raw);
    } catch (dsl::executor_error const&) {
      ++failures;
    }
    INFO("call " << n);
    REQUIRE(device.report() == "");
    if (device.faults_struck() == 0) break;
  }
  CHECK(failures > 100);
}
