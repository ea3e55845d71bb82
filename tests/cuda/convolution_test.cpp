// SPDX-License-Identifier: MIT
// Tests convolutions from shapes to numbers on the simulated device: plans are found for a handle, timed, stored,
// executed and captured. The device takes only graphs that the real cuDNN takes; its sums are computed from the
// descriptors that it gets.
#include <dsl/executors/cuda/choose_plan.hpp>

#include "support/catch.hpp"
#include "support/larger.hpp"
#include "support/simulated_device/simulated_device.hpp"
#include "support/temporary_directory.hpp"

#include <bit>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <string>
#include <vector>

using namespace dsl::cu;
using pass = convolution_pass;
using precision = convolution_precision;

namespace {

using numbers = std::vector<double>;

// Rounds to bf16, the upper half of a float; to the nearest, ties to even.
std::uint16_t to_bf16(double value) {
  auto bits = std::bit_cast<std::uint32_t>(static_cast<float>(value));
  bits += 0x7fffU + (bits >> 16 & 1U);
  return static_cast<std::uint16_t>(bits >> 16);
}
double from_bf16(std::uint16_t bits) { return std::bit_cast<float>(static_cast<std::uint32_t>(bits) << 16); }

// Returns small numbers that are exact in bf16.
numbers some_numbers(long long count, unsigned seed) {
  numbers all(static_cast<std::size_t>(count));
  for (double& x : all) {
    seed = seed * 1664525U + 1013904223U;
    x = (static_cast<int>(seed >> 24 & 31U) - 15) / 16.0;
  }
  return all;
}

// The three tensors of a convolution as its passes read them, channels last; each pass computes the same sum over
// another index.
struct expectation {
  numbers input, kernel, output;
};

template <class Visit>
void visit(convolution const& c, Visit visit) {
  int const in = c.in_channels / c.groups, out = c.out_channels / c.groups;  // of a group
  int const column_stride = c.column_stride == 0 ? c.stride : c.column_stride;
  for (int n = 0; n < c.batch; ++n)
    for (int y = 0; y < c.out_height; ++y)
      for (int x = 0; x < c.out_width; ++x)
        for (int k = 0; k < c.out_channels; ++k)
          for (int r = 0; r < c.kernel_height; ++r)
            for (int s = 0; s < c.kernel_width; ++s) {
              int const row = y * c.stride + r * c.row_dilation - c.pad_top;
              int const column = x * column_stride + s * c.column_dilation - c.pad_left;
              if (row < 0 || row >= c.in_height || column < 0 || column >= c.in_width) continue;
              for (int i = 0; i < in; ++i) {
                int const channel = k / out * in + i;
                visit(
                    static_cast<std::size_t>(((n * c.in_height + row) * c.in_width + column) * c.in_channels + channel),
                    static_cast<std::size_t>(((k * c.kernel_height + r) * c.kernel_width + s) * in + i),
                    static_cast<std::size_t>(((n * c.out_height + y) * c.out_width + x) * c.out_channels + k));
              }
            }
}

expectation expected(convolution const& c, convolution_options const& o, expectation e, numbers const& bias) {
  expectation const given = e;
  if (o.pass == pass::backward_data) {
    if (!o.accumulate) e.input.assign(e.input.size(), 0);
    visit(c, [&](std::size_t i, std::size_t k, std::size_t y) { e.input[i] += given.kernel[k] * given.output[y]; });
  } else if (o.pass == pass::backward_weights) {
    e.kernel.assign(e.kernel.size(), 0);
    visit(c, [&](std::size_t i, std::size_t k, std::size_t y) { e.kernel[k] += given.input[i] * given.output[y]; });
  } else {
    if (!o.accumulate) e.output.assign(e.output.size(), 0);
    visit(c, [&](std::size_t i, std::size_t k, std::size_t y) { e.output[y] += given.input[i] * given.kernel[k]; });
    if (o.pass == pass::forward_inference)
      for (std::size_t y = 0; y < e.output.size(); ++y) {
        e.output[y] += bias[y % bias.size()];
        if (o.relu && e.output[y] < 0) e.output[y] = 0;
      }
  }
  return e;
}

struct stream {
  api const& a;
  cudaStream_t handle = nullptr;
  explicit stream(api const& calls) : a(calls) { a(a.cudaStreamCreateWithFlags, &handle, cudaStreamNonBlocking); }
  stream(stream const&) = delete;
  stream& operator=(stream const&) = delete;
  ~stream() { a.cudaStreamDestroy.function(handle); }
};

struct memory {
  api const& a;
  void* data = nullptr;
  bool half;
  std::size_t count;
  memory(api const& calls, std::size_t n, bool bf16) : a(calls), half(bf16), count(n) {
    a(a.cudaMalloc, &data, n * (half ? 2 : 4));
  }
  memory(memory const&) = delete;
  memory& operator=(memory const&) = delete;
  ~memory() { a.cudaFree.function(data); }

  void write(numbers const& values, cudaStream_t s) {
    std::vector<std::uint16_t> halves;
    std::vector<float> floats;
    for (double const v : values) half ? halves.push_back(to_bf16(v)) : floats.push_back(static_cast<float>(v));
    void const* const from = half ? static_cast<void const*>(halves.data()) : floats.data();
    a(a.cudaMemcpyAsync, data, from, count * (half ? 2 : 4), cudaMemcpyHostToDevice, s);
    a(a.cudaStreamSynchronize, s);
  }
  numbers read(cudaStream_t s) const {
    std::vector<std::uint16_t> halves(half ? count : 0);
    std::vector<float> floats(half ? 0 : count);
    void* const to = half ? static_cast<void*>(halves.data()) : floats.data();
    a(a.cudaMemcpyAsync, to, data, count * (half ? 2 : 4), cudaMemcpyDeviceToHost, s);
    a(a.cudaStreamSynchronize, s);
    numbers values(floats.begin(), floats.end());
    for (std::uint16_t const h : halves) values.push_back(from_bf16(h));
    return values;
  }
};

constexpr timing_options brief{.warm_ups = 1, .runs = 1, .rounds = 2};
constexpr long long workspace_bytes = 1 << 20;

// A whole buffer or, if the output is a slice, a buffer whose pixels have 8 channels before the slice and others after
// it.
struct output_place {
  int pitch, offset;
  explicit output_place(convolution const& c)
      : pitch(c.output_pitch > 0 ? c.output_pitch : c.out_channels), offset(c.output_pitch > 0 ? 8 : 0) {}
  // Returns the place of the i-th number of a packed output.
  std::size_t of(std::size_t i, convolution const& c) const {
    auto const channels = static_cast<std::size_t>(c.out_channels);
    return i / channels * static_cast<std::size_t>(pitch) + static_cast<std::size_t>(offset) + i % channels;
  }
};

// Chooses a plan on the device, runs it once, compares its result, and checks that nothing beside a slice has changed.
void check_pass(api const& a, convolution const& c, convolution_options o, plan_cache const& cache) {
  o.workspace_limit = workspace_bytes;
  INFO(describe(c, o));
  bool const half = o.precision == precision::bf16;
  stream const s(a);
  cudnn_handle handle(a);
  plan_target const on(handle);
  expectation const given{some_numbers(c.input_count(), 1), some_numbers(c.kernel_count(), 2),
                          some_numbers(c.output_count(), 3)};
  numbers const bias_values = some_numbers(c.out_channels, 4);
  output_place const place(c);
  numbers around = some_numbers(c.output_count() / c.out_channels * place.pitch, 5);
  for (std::size_t i = 0; i < given.output.size(); ++i) around[place.of(i, c)] = given.output[i];
  memory input(a, given.input.size(), half), output(a, around.size(), half);
  memory kernel(a, given.kernel.size(), half && !(o.pass == pass::backward_weights && o.float_gradient));
  memory bias(a, bias_values.size(), false), workspace(a, workspace_bytes / 4, false);
  convolution_tensors const tensors{input.data, kernel.data, bias.data,
                                    static_cast<char*>(output.data) + place.offset * (half ? 2 : 4)};
  plan_bench const bench{handle, s.handle, tensors, workspace.data, brief};
  for (memory* m : {&input, &kernel, &output, &bias}) m->write(numbers(m->count, 0.0), s.handle);
  convolution_plan const plan = choose_plan(on, c, o, cache, &bench);
  CHECK(plan.facts.workspace <= workspace_bytes);

  input.write(given.input, s.handle);
  kernel.write(given.kernel, s.handle);
  output.write(around, s.handle);
  bias.write(bias_values, s.handle);
  handle.set_stream(s.handle);
  execute(handle, plan, bind_tensors(plan, tensors, workspace.data));
  a(a.cudaStreamSynchronize, s.handle);

  expectation const want = expected(c, o, given, bias_values);
  auto const same = [&](memory const& m, numbers const& wanted) {
    numbers const found = m.read(s.handle);
    double const tolerance = m.half ? 1.0 / 256 : 1e-3;  // the last bit of bf16, or the factors of tf32
    double worst = 0;
    for (std::size_t i = 0; i < wanted.size(); ++i)
      worst = dsl::test::larger(worst, std::abs(found[i] - wanted[i]) / (1 + std::abs(wanted[i])));
    CHECK(worst <= tolerance);
  };
  same(input, want.input);
  same(kernel, want.kernel);
  numbers wanted = around;
  for (std::size_t i = 0; i < want.output.size(); ++i) wanted[place.of(i, c)] = want.output[i];
  same(output, wanted);
  if (c.output_pitch == 0) return;
  numbers found = output.read(s.handle);
  for (std::size_t i = 0; i < want.output.size(); ++i) found[place.of(i, c)] = around[place.of(i, c)];
  CHECK(found == around);
}

constexpr convolution shapes[] = {
    {.batch = 2,
     .in_channels = 3,
     .in_height = 6,
     .in_width = 5,
     .out_channels = 5,
     .out_height = 6,
     .out_width = 5,
     .kernel_height = 3,
     .kernel_width = 3,
     .pad_top = 1,
     .pad_left = 1,
     .pad_bottom = 1,
     .pad_right = 1},
    {.batch = 3,
     .in_channels = 8,
     .in_height = 7,
     .in_width = 7,
     .out_channels = 16,
     .out_height = 3,
     .out_width = 3,
     .kernel_height = 3,
     .kernel_width = 3,
     .stride = 2},
    {.batch = 2,
     .in_channels = 6,
     .in_height = 8,
     .in_width = 6,
     .out_channels = 4,
     .out_height = 4,
     .out_width = 3,
     .kernel_height = 3,
     .kernel_width = 5,
     .stride = 2,
     .pad_left = 1,
     .pad_bottom = 1,
     .pad_right = 2},
    {.batch = 1, .in_channels = 8, .in_height = 4, .in_width = 4, .out_channels = 8, .out_height = 4, .out_width = 4}};

// Groups, among them those of a single channel; dilation; different strides for rows and columns.
constexpr convolution further_shapes[] = {{.batch = 2,
                                           .in_channels = 16,
                                           .in_height = 6,
                                           .in_width = 5,
                                           .out_channels = 8,
                                           .out_height = 3,
                                           .out_width = 3,
                                           .kernel_height = 3,
                                           .kernel_width = 3,
                                           .stride = 2,
                                           .pad_left = 1,
                                           .pad_bottom = 1,
                                           .pad_right = 1,
                                           .groups = 2},
                                          {.batch = 2,
                                           .in_channels = 6,
                                           .in_height = 7,
                                           .in_width = 8,
                                           .out_channels = 6,
                                           .out_height = 7,
                                           .out_width = 4,
                                           .kernel_height = 3,
                                           .kernel_width = 3,
                                           .pad_top = 2,
                                           .pad_left = 0,
                                           .pad_bottom = 2,
                                           .pad_right = 1,
                                           .groups = 6,
                                           .column_stride = 2,
                                           .row_dilation = 2},
                                          {.batch = 1,
                                           .in_channels = 6,
                                           .in_height = 9,
                                           .in_width = 9,
                                           .out_channels = 4,
                                           .out_height = 5,
                                           .out_width = 9,
                                           .kernel_height = 3,
                                           .kernel_width = 2,
                                           .pad_left = 1,
                                           .pad_right = 2,
                                           .groups = 2,
                                           .row_dilation = 2,
                                           .column_dilation = 3},
                                          {.batch = 2,
                                           .in_channels = 3,
                                           .in_height = 5,
                                           .in_width = 6,
                                           .out_channels = 6,
                                           .out_height = 3,
                                           .out_width = 4,
                                           .kernel_height = 3,
                                           .kernel_width = 3,
                                           .groups = 3}};

}  // namespace

namespace {

void check_passes(api const& a, convolution const& c, plan_cache const& cache) {
  for (auto const p : {precision::bf16, precision::tf32, precision::fp32_strict}) {
    check_pass(a, c, {.pass = pass::forward, .precision = p}, cache);
    check_pass(a, c, {.pass = pass::forward, .precision = p, .accumulate = true}, cache);
    check_pass(a, c, {.pass = pass::backward_data, .precision = p}, cache);
    check_pass(a, c, {.pass = pass::backward_data, .precision = p, .accumulate = true}, cache);
    check_pass(a, c, {.pass = pass::backward_weights, .precision = p}, cache);
    check_pass(a, c, {.pass = pass::backward_weights, .precision = p, .deterministic = true}, cache);
  }
}
void check_inference(api const& a, convolution const& c, plan_cache const& cache, precision p) {
  for (bool const relu : {false, true})
    check_pass(a, c, {.pass = pass::forward_inference, .precision = p, .relu = relu}, cache);
}

}  // namespace

TEST_CASE("every pass computes its sum, from a plan that was timed and from one that was stored") {
  dsl::test::temporary_directory const folder;
  for (bool const again : {false, true}) {
    dsl_test::simulated_device device({.seed = again ? 8U : 7U});
    plan_cache const cache(folder.path.string());
    for (convolution const& c : shapes) {
      check_passes(device.api(), c, cache);
      for (auto const p : {precision::bf16, precision::tf32, precision::fp32_strict})
        check_inference(device.api(), c, cache, p);
      // The only plans for fewer channels are wrong if there is more padding after the input than before it.
      if (c.in_channels % 8 == 0)
        check_pass(device.api(), c, {.pass = pass::backward_weights, .float_gradient = true}, cache);
    }
    for (convolution const& c : further_shapes) {
      check_passes(device.api(), c, cache);
      for (auto const p : {precision::tf32, precision::fp32_strict}) check_inference(device.api(), c, cache, p);
    }
    check_inference(device.api(), further_shapes[0], cache, precision::bf16);
    // cuDNN fuses nothing in 16 bits where a group's channels are odd.
    CHECK_THROWS_AS(check_inference(device.api(), further_shapes[1], cache, precision::bf16), no_plan_error);
    if (again) CHECK(device.calls("cudaGraphLaunch") == 0);  // nothing was timed
    CHECK(device.report() == "");
  }
}

TEST_CASE("a forward pass into a slice of a buffer leaves the other channels alone") {
  dsl_test::simulated_device device({.seed = 9});
  std::vector<convolution> all(std::begin(shapes), std::end(shapes));
  all.push_back(further_shapes[0]);
  for (convolution c : all) {
    c.output_pitch = 32;
    for (auto const p : {precision::bf16, precision::tf32, precision::fp32_strict}) {
      check_pass(device.api(), c, {.precision = p}, plan_cache(""));
      check_pass(device.api(), c, {.precision = p, .deterministic = true}, plan_cache(""));
      for (bool const relu : {false, true})
        check_pass(device.api(), c, {.pass = pass::forward_inference, .precision = p, .relu = relu}, plan_cache(""));
    }
  }
  CHECK(device.report() == "");
}

TEST_CASE("a slice's plan is no whole buffer's, and ends where its buffer ends") {
  dsl_test::simulated_device device;
  api const& a = device.api();
  convolution slice = shapes[3];
  slice.output_pitch = 24;
  CHECK(plan_cache::key_of(plan_target(cudnn_handle(a)), slice, {}, "timed") !=
        plan_cache::key_of(plan_target(cudnn_handle(a)), shapes[3], {}, "timed"));
  {
    stream const s(a);
    cudnn_handle handle(a);
    handle.set_stream(s.handle);
    convolution_plan const plan = choose_plan(plan_target(handle), slice, {}, plan_cache(""));
    memory input(a, static_cast<std::size_t>(slice.input_count()), true), kernel(a, 64, true);
    memory output(a, 16 * 24, true), workspace(a, 16384, false);
    auto const run = [&](int channel) {
      void* const at = static_cast<char*>(output.data) + 2 * channel;
      execute(handle, plan, bind_tensors(plan, {input.data, kernel.data, nullptr, at}, workspace.data));
      return a.cudaStreamSynchronize.function(s.handle);
    };
    CHECK(run(16) == cudaSuccess);  // the last 8 of 24 channels
    CHECK_THROWS_AS(run(12), dsl::executor_error);
    CHECK(run(24) == cudaErrorLaunchFailure);  // one pixel too far
    CHECK_THAT(device.take_misuses().at(0), Catch::Contains("that are not inside one allocation"));
    device.forget_errors();
  }
  CHECK(device.report() == "");
}

TEST_CASE("a chosen plan allocates nothing, and can be captured") {
  dsl_test::simulated_device device;
  api const& a = device.api();
  {
    stream const s(a);
    cudnn_handle handle(a);
    handle.set_stream(s.handle);
    convolution const& c = shapes[0];
    convolution_plan const plan = choose_plan(plan_target(handle), c, {}, plan_cache(""));
    memory input(a, static_cast<std::size_t>(c.input_count()), true);
    memory kernel(a, static_cast<std::size_t>(c.kernel_count()), true);
    memory output(a, static_cast<std::size_t>(c.output_count()), true), workspace(a, 16384, false);
    input.write(some_numbers(c.input_count(), 1), s.handle);
    kernel.write(some_numbers(c.kernel_count(), 2), s.handle);
    backend_descriptor const pack = bind_tensors(plan, {input.data, kernel.data, nullptr, output.data}, workspace.data);
    device.reset_calls();
    execute(handle, plan, pack);
    CHECK(device.calls() == 1);
    numbers const eager = output.read(s.handle);

    output.write(numbers(output.count, 0), s.handle);
    cudaGraph_t graph = nullptr;
    cudaGraphExec_t ready = nullptr;
    a(a.cudaStreamBeginCapture, s.handle, cudaStreamCaptureModeThreadLocal);
    execute(handle, plan, pack);
    a(a.cudaStreamEndCapture, s.handle, &graph);
    a(a.cudaGraphInstantiate, &ready, graph, cudaGraphInstantiateFlagUseNodePriority);
    a(a.cudaGraphDestroy, graph);
    a(a.cudaGraphLaunch, ready, s.handle);
    CHECK(output.read(s.handle) == eager);
    a(a.cudaGraphExecDestroy, ready);
  }
  CHECK(device.report() == "");
}

TEST_CASE("every call that fails is an error that names it, and leaks nothing") {
  convolution_options const o{.pass = pass::backward_data, .accumulate = true};
  dsl_test::simulated_device device;
  long const all = [&] {
    device.reset_calls();
    check_pass(device.api(), shapes[3], o, plan_cache(""));
    return device.calls();
  }();
  REQUIRE(all > 100);
  int failed = 0;
  for (long n = 1; n <= all; ++n) {
    device.fail_call(n);
    try {
      check_pass(device.api(), shapes[3], o, plan_cache(""));
    } catch (dsl::executor_error const& e) {
      ++failed;
      std::string const message = e.what();
      INFO(message);
      CHECK((message.find("cuda: cu") == 0 || message.find("cudnn: cudnn") == 0));
      CHECK(message.find(" failed: ") != std::string::npos);
    }
    device.cancel_faults();
    device.forget_errors();
  }
  // A failure to free something is no error, nor is the failure of one of several plans.
  CHECK(failed > all / 6);
  INFO("of " << all << " calls " << failed << " were errors");
  CHECK(device.report() == "");
}
