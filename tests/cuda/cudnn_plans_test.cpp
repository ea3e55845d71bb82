// SPDX-License-Identifier: MIT
// Tests that the real cuDNN builds plans for GPUs that are only described to it. "A plan is built" means that cuDNN
// accepts the graph and has an engine for it; only a GPU can show whether the results are right, and how fast it is.
#include <dsl/executors/cuda/plan_search.hpp>
#include <dsl/executors/cuda/target.hpp>
#include <dsl/language.hpp>
#include <dsl/models/minigooglenet.hpp>

#include "cuda/deviceless.hpp"
#include "support/catch.hpp"
#include "support/extent.hpp"

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

using namespace dsl::cu;
using dsl::test::h200_target;
using pass = convolution_pass;
using factor = convolution_precision;

namespace {

#define SKIP_WITHOUT_CUDNN()                                                     \
  if (!dsl::test::cudnn_is_recent()) {                                           \
    WARN("skipped: cuDNN 9.11 or later is needed to build plans without a GPU"); \
    return;                                                                      \
  }

using model = dsl::network<dsl::image<3, 32, 32>, dsl::minigooglenet<10>>;

std::vector<convolution> convolutions(int batch) {
  dsl::graph_view const g = model::view();
  std::vector<convolution> all;
  for (int i = 0; i < g.size.nodes; ++i)
    if (g.nodes[i].kind == dsl::op::conv2d) all.push_back(convolution_of(g, g.nodes[i], batch));
  return all;
}

// Options for an output that lies among other channels, as in the 16-bit inference plan.
std::vector<convolution> slices(int batch) {
  dsl::graph_view const g = model::view();
  dsl::plan const p =
      dsl::make_plan(g, {.batch = batch, .mode = dsl::mode::inference, .target = target_for(storage::bf16)});
  std::vector<convolution> all;
  for (dsl::step const& s : p.steps) {
    if (s.kind != dsl::op::conv2d) continue;
    convolution c = convolution_of(g, g.nodes[s.node], batch);
    for (int i = s.first_operand; i < s.first_operand + s.operands; ++i)
      if (dsl::operand const& o = p.operands[i]; o.what == dsl::content::activation && o.how == dsl::access::write)
        c.output_pitch = p.buffers[o.buffer].shape.channels;
    if (c.output_pitch > c.out_channels) all.push_back(c);
  }
  return all;
}

constexpr convolution square(int batch, int in, int out, int size, int kernel, int stride, dsl::padding pad) {
  dsl::detail::extent const e = dsl::detail::extent_of(size, kernel, stride, pad);
  int const behind = backend::missing_behind(size, e.size, {kernel, stride, e.before});
  return {.batch = batch,
          .in_channels = in,
          .in_height = size,
          .in_width = size,
          .out_channels = out,
          .out_height = e.size,
          .out_width = e.size,
          .kernel_height = kernel,
          .kernel_width = kernel,
          .stride = stride,
          .pad_top = e.before,
          .pad_left = e.before,
          .pad_bottom = behind,
          .pad_right = behind};
}

// Checks with cuDNN's own notes that the options allow every plan.
bool all_within(plan_search const& s, convolution_options const& o) {
  return std::all_of(s.plans.begin(), s.plans.end(), [&](convolution_plan const& p) {
    bool const rounds = p.facts.has(CUDNN_NUMERICAL_NOTE_TENSOR_CORE) ||
                        p.facts.has(CUDNN_NUMERICAL_NOTE_DOWN_CONVERT_INPUTS) ||
                        p.facts.has(CUDNN_NUMERICAL_NOTE_WINOGRAD) || p.facts.has(CUDNN_NUMERICAL_NOTE_FFT);
    return !p.facts.has(CUDNN_NUMERICAL_NOTE_REDUCED_PRECISION_REDUCTION) &&
           !(o.deterministic && p.facts.has(CUDNN_NUMERICAL_NOTE_NONDETERMINISTIC)) &&
           !(o.precision == factor::fp32_strict && rounds) && p.facts.workspace <= o.workspace_limit;
  });
}

long long least_workspace(plan_search const& s) {
  long long least = s.plans.front().facts.workspace;
  for (convolution_plan const& p : s.plans) least = std::min(least, p.facts.workspace);
  return least;
}

// Returns a number of bytes below which no copy of an activation fits into the workspace. Engines for 16-bit numbers
// read channels in groups of eight, so the pictures' three are copied into eight.
long long without_a_repack(convolution const& c, factor p) {
  long long const bytes = bytes_of(p);
  if (c.in_channels % 8 != 0 && bytes == 2)
    return ((c.input_count() + c.kernel_count()) / c.in_channels * dsl::round_up(c.in_channels, 8)) * bytes + 1024;
  return std::min(c.input_count(), c.output_count()) * bytes;
}

// Returns the plans of one of the heuristics' lists.
plan_search searched(convolution const& c, convolution_options const& o, cudnnBackendHeurMode_t mode) {
  backend::plan_finder finder(h200_target(), c, o);
  finder.search(std::make_shared<backend::convolution_graph const>(h200_target(), c, o), mode);
  return std::move(finder.found);
}

// Returns the cases that are compiled, at half a second each: a part, unless the test runs all.
std::vector<convolution> every_sixth(std::vector<convolution> const& all) {
  if (dsl::test::everything()) return all;
  std::vector<convolution> some;
  for (std::size_t i = 0; i < all.size(); i += 6) some.push_back(all[i]);
  return some;
}

// Returns how many kernels cuDNN offers to compile.
int compiled_candidates(convolution const& c, convolution_options o) {
  o.most_compiled = 0;
  return searched(c, o, CUDNN_HEUR_MODE_A).skipped;
}
// Checks what cuDNN makes of a graph whose kernels it compiles itself: a plan if a driver can load them, and a refusal
// that comes only from loading if there is only the stub.
bool is_compiled(convolution const& c, convolution_options o) {
  o.most_compiled = 1;
  plan_search const found = searched(c, o, CUDNN_HEUR_MODE_A);
  INFO(describe(c, o) << ": " << found.summary());
  CHECK(found.candidates > 0);
  return !found.plans.empty() || found.reason.find("cuLibraryLoadData") != std::string::npos;
}

}  // namespace

TEST_CASE("a convolution's pads at the end follow from the output") {
  STATIC_REQUIRE(square(1, 3, 8, 32, 3, 1, dsl::padding::same).pad_bottom == 1);
  STATIC_REQUIRE(square(1, 3, 8, 32, 3, 2, dsl::padding::same).pad_top == 0);
  STATIC_REQUIRE(square(1, 3, 8, 32, 3, 2, dsl::padding::same).pad_bottom == 1);
  STATIC_REQUIRE(square(1, 3, 8, 32, 3, 2, dsl::padding::valid).pad_bottom == 0);  // no window reaches the last row
  STATIC_REQUIRE(square(1, 3, 8, 5, 1, 3, dsl::padding::same).pad_bottom == 0);
  auto const all = convolutions(64);
  REQUIRE(all.size() == 19);
  for (convolution const& c : all) CHECK_NOTHROW(check(c, {}));
}

TEST_CASE("every convolution of MiniGoogLeNet has plans in every pass and precision") {
  SKIP_WITHOUT_CUDNN();
  int unordered = 0, rounded = 0;
  for (int const batch : {64, 16}) {
    for (convolution const& c : convolutions(batch)) {
      for (auto const p : {factor::bf16, factor::fp16, factor::tf32, factor::fp32_strict}) {
        for (auto const which : {pass::forward, pass::backward_data, pass::backward_weights}) {
          convolution_options o{.pass = which, .precision = p, .most_plans = 64};
          INFO(describe(c, o));
          plan_search const found = find_plans(h200_target(), c, o);
          REQUIRE(!found.plans.empty());
          CHECK(all_within(found, o));
          if (p != factor::fp32_strict) CHECK(found.plans.size() >= 10);

          // The bound leaves one of the ranked plans, not only a fallback: no plan repacks tensors silently.
          if (p != factor::fp32_strict) CHECK(least_workspace(found) < without_a_repack(c, p));
          o.workspace_limit = without_a_repack(c, p) - 1;
          CHECK(all_within(find_plans(h200_target(), c, o), o));
          CHECK(!find_plans(h200_target(), c, o).plans.empty());

          o.workspace_limit = convolution_options{}.workspace_limit;
          o.deterministic = true;
          plan_search const ordered = find_plans(h200_target(), c, o);
          CHECK(!ordered.plans.empty());
          CHECK(all_within(ordered, o));
          unordered += ordered.forbidden - found.forbidden;
          if (p == factor::fp32_strict) rounded += found.forbidden;

          // The second branch of an inception module adds its gradient to that of the first, with as many plans as
          // without the sum.
          o.deterministic = false;
          o.accumulate = which == pass::backward_data;
          if (o.accumulate) CHECK(find_plans(h200_target(), c, o).plans.size() == found.plans.size());
        }
      }
    }
  }
  CHECK(unordered > 0);  // the filters had something to reject
  CHECK(rounded > 0);
}

TEST_CASE("fp32_strict looks at both of the heuristics' lists, each plan once") {
  SKIP_WITHOUT_CUDNN();
  for (convolution const& c : {convolutions(64)[1], convolutions(64)[2]}) {
    for (auto const which : {pass::forward, pass::backward_data, pass::backward_weights}) {
      convolution_options o{.pass = which, .precision = factor::fp32_strict};
      plan_search const both = find_plans(h200_target(), c, o);
      INFO(describe(c, o) << ": " << both.summary());
      std::vector<std::string> tags;
      for (convolution_plan const& p : both.plans) tags.push_back(p.facts.tag());
      for (auto const list : {CUDNN_HEUR_MODE_A, CUDNN_HEUR_MODE_FALLBACK}) {
        plan_search const one = searched(c, o, list);
        CHECK(one.plans.size() < both.plans.size());
        for (convolution_plan const& p : one.plans) CHECK(std::count(tags.begin(), tags.end(), p.facts.tag()) == 1);
      }
      o.most_plans = 1;  // in the order of the ranking
      CHECK(find_plans(h200_target(), c, o).plans[0].facts.tag() == tags[0]);
    }
  }
}

TEST_CASE("where tensors are floats no plan makes 16 bits of them") {
  auto const forbids = [](factor p) {
    return (backend::forbidden_notes({.precision = p}) >> CUDNN_NUMERICAL_NOTE_DOWN_CONVERT_INPUTS & 1U) != 0;
  };
  CHECK(forbids(factor::tf32));
  CHECK(forbids(factor::fp32_strict));
  CHECK(!forbids(factor::bf16));
}

TEST_CASE("inference's convolution, bias and relu are one plan") {
  SKIP_WITHOUT_CUDNN();
  for (int const batch : {64, 16}) {
    for (convolution const& c : convolutions(batch)) {
      for (auto const p : {factor::tf32, factor::fp32_strict}) {
        for (bool const relu : {false, true}) {
          convolution_options const o{.pass = pass::forward_inference, .precision = p, .relu = relu};
          INFO(describe(c, o));
          plan_search const found = find_plans(h200_target(), c, o);
          REQUIRE(!found.plans.empty());
          CHECK(all_within(found, o));
          CHECK(least_workspace(found) < without_a_repack(c, p));
        }
      }
    }
  }
  // In 16 bits cuDNN compiles them at half a second each, so not all of them are compiled here.
  if (!dsl::test::load_driver_library()) {
    WARN("not checked: cuDNN compiles no kernel where there is neither a driver nor the CUDA toolkit's stub of it");
    return;
  }
  for (convolution const& c : every_sixth(convolutions(64)))
    CHECK(is_compiled(c, {.pass = pass::forward_inference, .precision = factor::bf16, .relu = true}));
  for (convolution const& c : {convolutions(16).front(), convolutions(16).back()}) {
    CHECK(is_compiled(c, {.pass = pass::forward_inference, .precision = factor::bf16}));
    CHECK(is_compiled(c, {.pass = pass::forward_inference, .precision = factor::fp16, .relu = true}));
  }
}

TEST_CASE("in inference convolutions write their slices of a concat's buffer") {
  SKIP_WITHOUT_CUDNN();
  auto const all = slices(1);
  REQUIRE(all.size() == 18);
  for (int const batch : {1, 64, 1024}) {
    for (convolution const& slice : slices(batch)) {
      convolution whole = slice;
      whole.output_pitch = 0;
      // A slice compiles the same kernels as a whole buffer.
      convolution_options o{.pass = pass::forward_inference, .relu = true};
      INFO(describe(slice, o));
      CHECK(compiled_candidates(slice, o) > 0);
      CHECK(compiled_candidates(slice, o) == compiled_candidates(whole, o));
      o.deterministic = true;
      CHECK(compiled_candidates(slice, o) > 0);
      if (batch > 1) continue;
      // The reason why tensors of floats are copied instead: all but one to three plans make cuDNN write a packed
      // output first.
      for (auto const p : {factor::tf32, factor::fp32_strict}) {
        plan_search const floats = find_plans(
            h200_target(), slice, {.pass = pass::forward_inference, .precision = p, .relu = true, .most_plans = 64});
        long const direct = std::count_if(floats.plans.begin(), floats.plans.end(), [&](convolution_plan const& f) {
          return f.facts.workspace < 4 * slice.output_count();
        });
        CHECK(direct >= 1);
        CHECK(direct <= 3);
        CHECK(floats.plans.size() > 4);
      }
    }
  }
  if (!dsl::test::load_driver_library()) return;
  for (convolution const& slice : every_sixth(all))
    CHECK(is_compiled(slice, {.pass = pass::forward_inference, .relu = true}));
}

TEST_CASE("a kernel's gradient in float") {
  SKIP_WITHOUT_CUDNN();
  convolution const even = square(16, 96, 32, 32, 3, 1, dsl::padding::same);
  convolution const pictures = square(16, 3, 96, 32, 3, 1, dsl::padding::same);
  convolution_options o{.pass = pass::backward_weights, .precision = factor::tf32, .float_gradient = true};
  CHECK(!find_plans(h200_target(), even, o).plans.empty());  // this gradient is float anyway
  CHECK(!find_plans(h200_target(), pictures, o).plans.empty());
  o.precision = factor::bf16;
  if (dsl::test::load_driver_library()) CHECK(is_compiled(even, o));
  CHECK(find_plans(h200_target(), pictures, o).candidates == 0);  // known: only for even numbers of channels
}

TEST_CASE("padding may be more after than in front") {
  SKIP_WITHOUT_CUDNN();
  for (convolution const& c :
       {square(64, 80, 80, 32, 3, 2, dsl::padding::same), square(4, 3, 5, 8, 3, 2, dsl::padding::same),
        square(16, 64, 64, 16, 2, 1, dsl::padding::same), square(2, 3, 64, 64, 11, 4, dsl::padding::same)}) {
    CHECK(c.pad_bottom == c.pad_top + 1);
    for (auto const p : {factor::bf16, factor::fp16, factor::tf32, factor::fp32_strict}) {
      for (auto const which : {pass::forward, pass::backward_data, pass::backward_weights}) {
        convolution_options const o{.pass = which, .precision = p, .deterministic = true};
        INFO(describe(c, o));
        CHECK(!find_plans(h200_target(), c, o).plans.empty());
      }
    }
  }
}

TEST_CASE("plans that a GPU has shown to be wrong are left out") {
  SKIP_WITHOUT_CUDNN();
  auto const engines = [](convolution const& c, factor p) {
    convolution_options const o{.pass = pass::backward_weights, .precision = p, .most_plans = 100, .most_compiled = 0};
    std::vector<std::int64_t> found;
    for (convolution_plan const& one : find_plans(h200_target(), c, o).plans) found.push_back(one.facts.engine);
    return found;
  };
  auto const has = [](std::vector<std::int64_t> const& all, std::int64_t engine) {
    return std::find(all.begin(), all.end(), engine) != all.end();
  };
  convolution const even = square(64, 64, 64, 16, 3, 1, dsl::padding::same);
  convolution const uneven = square(64, 64, 64, 16, 3, 2, dsl::padding::same);
  for (auto const p : {factor::tf32, factor::fp32_strict}) {
    std::vector<std::int64_t> const some = engines(uneven, p);
    CHECK(!some.empty());
    CHECK(!has(some, 1));
    CHECK(!has(some, 20));
    CHECK((has(engines(even, p), 1) || has(engines(even, p), 20)));
  }
  // cuDNN offers this one only where there is a device.
  plan_facts transforming;
  transforming.engine = 17;
  for (auto const p : {factor::bf16, factor::fp32_strict})
    CHECK(backend::known_fault(even, {.pass = pass::backward_weights, .precision = p}, transforming));
  CHECK(!backend::known_fault(even, {.pass = pass::backward_weights, .precision = factor::tf32}, transforming));
  CHECK(!backend::known_fault(even, {.pass = pass::forward, .precision = factor::fp32_strict}, transforming));
}

TEST_CASE("Ampere and Blackwell have plans as well") {
  SKIP_WITHOUT_CUDNN();
  for (auto const& device : {dsl::test::a100, dsl::test::b200}) {
    plan_target const on = dsl::test::target_of(dsl::test::real_api(), device);
    for (convolution const& c : convolutions(64)) {
      for (auto const p : {factor::bf16, factor::tf32, factor::fp32_strict}) {
        for (auto const which : {pass::forward, pass::backward_data, pass::backward_weights}) {
          convolution_options const o{
              .pass = which, .precision = p, .accumulate = which == pass::backward_data, .deterministic = true};
          INFO(on.name() << ": " << describe(c, o));
          CHECK(!find_plans(on, c, o).plans.empty());
        }
      }
    }
  }
}

TEST_CASE("limits are kept, and what they cost is told") {
  SKIP_WITHOUT_CUDNN();
  convolution const c = convolutions(64)[1];
  convolution_options o{.pass = pass::backward_weights};
  plan_search const all = find_plans(h200_target(), c, o);
  o.workspace_limit = 0;
  plan_search const none = find_plans(h200_target(), c, o);
  CHECK(all_within(none, o));
  CHECK(none.too_large > 0);
  CHECK(none.summary().find("need too much workspace") != std::string::npos);
  o = {.pass = pass::backward_weights, .most_plans = 3};
  plan_search const three = find_plans(h200_target(), c, o);
  REQUIRE(three.plans.size() == 3);
  for (std::size_t i = 0; i < 3; ++i) CHECK(three.plans[i].facts.tag() == all.plans[i].facts.tag());
}

TEST_CASE("contradictions and bad pointers are errors of ours") {
  SKIP_WITHOUT_CUDNN();
  auto const message = [](convolution const& c, convolution_options const& o) -> std::string {
    try {
      find_plans(h200_target(), c, o);
    } catch (dsl::executor_error const& e) {
      return e.what();
    }
    return "no error";
  };
  auto const says = [](std::string const& text, char const* words) { return text.find(words) != std::string::npos; };
  convolution const good = square(4, 8, 16, 8, 3, 1, dsl::padding::same);
  convolution bad = good;
  bad.out_height = 7;
  CHECK(says(message(bad, {}), "(input + pads - kernel) / stride + 1"));
  bad = good;
  bad.stride = 0;
  CHECK(says(message(bad, {}), "stride + 1"));
  bad = good;
  bad.batch = 0;
  CHECK(says(message(bad, {}), "must be positive"));
  CHECK(says(message(good, {.pass = pass::backward_weights, .accumulate = true}), "only forward and backward_data"));
  CHECK(says(message(good, {.relu = true}), "only forward_inference"));
  CHECK(says(message(good, {.float_gradient = true}), "only backward_weights"));
  bad = good;
  bad.output_pitch = 24;
  CHECK(message(bad, {}) == "no error");
  CHECK(says(message(bad, {.pass = pass::backward_data}), "only forward passes write slices"));
  bad.output_pitch = 16;
  CHECK(says(message(bad, {}),
             "a slice must have fewer channels than its buffer; found forward bf16: batch 4, 8x8x8 to "
             "16x8x8 among 16 channels"));
  bad.output_pitch = 20;
  CHECK(says(message(bad, {}), "pixels of a slice must be aligned"));

  plan_search const found = find_plans(h200_target(), good, {});
  REQUIRE(!found.plans.empty());
  alignas(256) static char device[1024];
  CHECK_NOTHROW(bind_tensors(found.plans[0], {.input = device, .kernel = device, .output = device}, device));
  CHECK_THROWS_AS(bind_tensors(found.plans[0], {.input = device, .kernel = device}, device), dsl::executor_error);
  CHECK_THROWS_AS(bind_tensors(found.plans[0], {.input = device, .kernel = device + 2, .output = device}, device),
                  dsl::executor_error);
  plan_search const fused =
      find_plans(h200_target(), good, {.pass = pass::forward_inference, .precision = factor::tf32});
  REQUIRE(!fused.plans.empty());
  CHECK_THROWS_AS(bind_tensors(fused.plans[0], {.input = device, .kernel = device, .output = device}, device),
                  dsl::executor_error);

  try {
    plan_target const nonsense(dsl::test::real_api(), "{\"deviceName\":", "nothing");
    FAIL("cuDNN took half a description for a device");
  } catch (dsl::executor_error const& e) {
    CHECK(says(e.what(), "cudnn: cudnnBackendFinalize of a device's properties failed: CUDNN_STATUS_"));
  }
}
