// SPDX-License-Identifier: MIT
// Tests plans on disk that the real cuDNN made and restored for a GPU that is only described to it.
#include <dsl/executors/cuda/choose_plan.hpp>

#include "cuda/deviceless.hpp"
#include "support/catch.hpp"
#include "support/temporary_directory.hpp"
#include "support/warnings.hpp"

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <locale>
#include <string>
#include <vector>

#include <sys/stat.h>
#include <unistd.h>

using namespace dsl::cu;
using dsl::test::h200_target;
using dsl::test::temporary_directory;

namespace {

#define SKIP_WITHOUT_CUDNN()                                                     \
  if (!dsl::test::cudnn_is_recent()) {                                           \
    WARN("skipped: cuDNN 9.11 or later is needed to build plans without a GPU"); \
    return;                                                                      \
  }

constexpr convolution small{.batch = 4,
                            .in_channels = 16,
                            .in_height = 8,
                            .in_width = 8,
                            .out_channels = 24,
                            .out_height = 4,
                            .out_width = 4,
                            .kernel_height = 3,
                            .kernel_width = 3,
                            .stride = 2,
                            .pad_bottom = 1,
                            .pad_right = 1};

std::string json_of(convolution_plan const& p) {
  auto const text = p.plan.get_all<char>(CUDNN_ATTR_EXECUTION_PLAN_JSON_REPRESENTATION);
  return {text.begin(), text.end()};
}

std::string contents(std::string const& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

void overwrite(std::string const& path, std::string const& text) { std::ofstream(path, std::ios::binary) << text; }

// Counts the plans that cuDNN was asked to rank through this table: a plan from the cache needs none.
int rankings = 0;
api counting_api() {
  api a = dsl::test::real_api();
  a.cudnnBackendCreateDescriptor.function = [](cudnnBackendDescriptorType_t type, cudnnBackendDescriptor_t* d) {
    rankings += type == CUDNN_BACKEND_ENGINEHEUR_DESCRIPTOR;
    return ::cudnnBackendCreateDescriptor(type, d);
  };
  return a;
}

struct environment {  // variables set for one test, restored afterwards
  std::vector<std::pair<std::string, std::string>> before;
  std::vector<std::string> unset;
  void set(char const* name, char const* value) {
    if (char const* old = std::getenv(name))
      before.emplace_back(name, old);
    else
      unset.emplace_back(name);
    value ? ::setenv(name, value, 1) : ::unsetenv(name);
  }
  ~environment() {
    for (auto const& [name, value] : before) ::setenv(name.c_str(), value.c_str(), 1);
    for (auto const& name : unset) ::unsetenv(name.c_str());
  }
};

}  // namespace

TEST_CASE("the cache is where the environment says") {
  environment e;
  e.set("TYPENET_CACHE", "/tmp/own");
  e.set("XDG_CACHE_HOME", "/tmp/xdg");
  e.set("HOME", "/tmp/home");
  CHECK(cache_folder() == "/tmp/own");
  ::setenv("TYPENET_CACHE", "", 1);
  CHECK(cache_folder().empty());
  ::unsetenv("TYPENET_CACHE");
  CHECK(cache_folder() == "/tmp/xdg/typenet");
  ::setenv("XDG_CACHE_HOME", "relative", 1);
  CHECK(cache_folder() == "/tmp/home/.cache/typenet");
  ::unsetenv("XDG_CACHE_HOME");
  CHECK(cache_folder() == "/tmp/home/.cache/typenet");
  ::unsetenv("HOME");
  CHECK(cache_folder().empty());
}

TEST_CASE("a cached file is whole, missing or not a file") {
  temporary_directory const folder;
  std::string const deep = folder / "a/b/c";
  std::string const bytes("zero \0 and all", 14);
  CHECK(!read_cached(deep, "x"));
  CHECK(write_cached(deep, "x", bytes));
  CHECK(read_cached(deep, "x") == bytes);
  CHECK(write_cached(deep, "x", ""));
  CHECK(read_cached(deep, "x") == std::string());
  CHECK(!read_cached(folder / "a", "b"));              // a folder
  CHECK(!write_cached(folder / "a/b/c/x", "y", "z"));  // below a file
  CHECK(!write_cached("", "y", "z"));
  CHECK(!read_cached("", "etc/passwd"));
  REQUIRE(::mkfifo((deep + "/pipe").c_str(), 0600) == 0);
  CHECK(!read_cached(deep, "pipe"));  // and does not wait for a writer
}

TEST_CASE("a cache that others may write to, or of another user, is not used") {
  temporary_directory const folder;
  std::string const own = folder / "cache";
  REQUIRE(write_cached(own, "code", "of ours"));
  struct stat status{};
  REQUIRE(::stat(own.c_str(), &status) == 0);
  CHECK((status.st_mode & 077) == 0);  // as it is made
  auto const read = [&] { return read_cached(own, "code").value_or("nothing"); };
  auto const said = dsl::test::warnings([&] {
    for (mode_t const shared : {0777, 0770, 0720, 0702, 01777}) {
      REQUIRE(::chmod(own.c_str(), shared) == 0);
      CHECK(read() == "nothing");
      CHECK(!write_cached(own, "more code", "of ours"));
    }
  });
  CHECK(said == std::vector<std::string>{"cache: " + own +
                                         " may be written to by other users, and has code that would "
                                         "run; it is not used; enter: chmod go-w " +
                                         own});
  for (mode_t const safe : {0755, 0700, 0550}) {
    REQUIRE(::chmod(own.c_str(), safe) == 0);
    CHECK(read() == "of ours");
  }
  REQUIRE(::chmod(own.c_str(), 0700) == 0);
  for (mode_t const shared : {0664, 0646}) {  // the file itself
    REQUIRE(::chmod((own + "/code").c_str(), shared) == 0);
    CHECK(read() == "nothing");
  }
  CHECK(write_cached(own, "code", "of ours"));
  CHECK(read() == "of ours");
  REQUIRE(::symlink((own + "/code").c_str(), (own + "/link").c_str()) == 0);
  CHECK(!read_cached(own, "link"));
  if (::geteuid() != 0) return;  // only root can give it to another user
  REQUIRE(::chown(own.c_str(), 65534, 65534) == 0);
  CHECK(read() == "nothing");
}

TEST_CASE("a plan's file is the same in every locale") {
  struct in_threes : std::numpunct<char> {  // 1 234 567
    char do_thousands_sep() const override { return ' '; }
    std::string do_grouping() const override { return "\3"; }
  };
  backend::stored_plan plan;
  plan.facts.engine = 1'234'567;
  plan.facts.knobs.push_back({12, 345'678});
  plan.facts.workspace = 1 << 20;
  plan.json = std::string(1500, '1');
  std::string const text = backend::to_text("key", plan);
  std::locale const before = std::locale::global(std::locale(std::locale::classic(), new in_threes));
  std::string const there = backend::to_text("key", plan);
  std::optional<backend::stored_plan> const read = backend::from_text(text, "key");
  std::locale::global(before);
  CHECK(there == text);
  REQUIRE(read);
  CHECK(read->facts.tag() == "engine 1234567, knobs 12=345678");
  CHECK(read->facts.workspace == 1 << 20);
  CHECK(read->json == plan.json);
}

TEST_CASE("every plan survives the disk, in cuDNN's words and as engine and knobs") {
  SKIP_WITHOUT_CUDNN();
  for (auto const p : {convolution_precision::bf16, convolution_precision::tf32, convolution_precision::fp32_strict}) {
    for (auto const which : {convolution_pass::forward, convolution_pass::forward_inference,
                             convolution_pass::backward_data, convolution_pass::backward_weights}) {
      convolution_options const o{.pass = which,
                                  .precision = p,
                                  .accumulate = which == convolution_pass::backward_data,
                                  .relu = which == convolution_pass::forward_inference};
      if (which == convolution_pass::forward_inference && p == convolution_precision::bf16) continue;  // compiled plans
      plan_search const found = find_plans(h200_target(), small, o);
      REQUIRE(!found.plans.empty());
      for (convolution_plan const& plan : found.plans) {
        INFO(describe(small, o) << ": " << plan.facts.tag());
        backend::stored_plan const stored{plan.facts, json_of(plan)};
        auto const read = backend::from_text(backend::to_text("key", stored), "key");
        REQUIRE(read);
        auto const by_words = backend::from_json(h200_target(), o, *read);
        REQUIRE(by_words);
        CHECK(json_of(*by_words) == stored.json);
        CHECK(by_words->facts.workspace == plan.facts.workspace);
        auto const by_engine = backend::from_engine(h200_target(), small, o, read->facts);
        REQUIRE(by_engine);
        CHECK(json_of(*by_engine) == stored.json);
        CHECK(by_engine->facts.workspace == plan.facts.workspace);
      }
    }
  }
}

TEST_CASE("a chosen plan is found again, for exactly the same question") {
  SKIP_WITHOUT_CUDNN();
  temporary_directory const folder;
  plan_cache const cache(folder / "plans");
  api const a = counting_api();
  plan_target const on = dsl::test::target_of(a, dsl::test::h200);
  convolution_options const o{.pass = convolution_pass::backward_data, .accumulate = true};
  rankings = 0;
  convolution_plan const chosen = choose_plan(on, small, o, cache);
  CHECK(rankings == 1);
  convolution_plan const again = choose_plan(on, small, o, cache);
  CHECK(rankings == 1);
  CHECK(json_of(again) == json_of(chosen));
  CHECK(again.facts.tag() == chosen.facts.tag());
  CHECK(again.facts.numerical_notes == chosen.facts.numerical_notes);

  convolution other = small;
  other.batch = 5;
  CHECK(!cache.find(on, other, o, "first"));
  other = small;
  other.pad_top = 1, other.pad_bottom = 0;
  CHECK(!cache.find(on, other, o, "first"));
  convolution_options different = o;
  different.accumulate = false;
  CHECK(!cache.find(on, small, different, "first"));
  different = o;
  different.precision = convolution_precision::fp16;
  CHECK(!cache.find(on, small, different, "first"));
  different = o;
  different.deterministic = true;
  CHECK(!cache.find(on, small, different, "first"));
  CHECK(!cache.find(on, small, o, "timed and compared"));
  CHECK(!cache.find(dsl::test::target_of(a, dsl::test::a100), small, o, "first"));
  CHECK(cache.find(on, small, o, "first"));

  // Another version of cuDNN names the same device differently.
  api newer = a;
  newer.cudnnGetVersion.function = [] { return std::size_t{92000}; };
  CHECK(!cache.find(dsl::test::target_of(newer, dsl::test::h200), small, o, "first"));
}

TEST_CASE("a stored plan that a GPU has shown to be wrong is not found") {
  SKIP_WITHOUT_CUDNN();
  temporary_directory const folder;
  plan_cache const cache(folder / "plans");
  convolution_options const o{
      .pass = convolution_pass::backward_weights, .precision = convolution_precision::fp32_strict, .most_plans = 1};
  plan_search found = find_plans(h200_target(), small, o);
  REQUIRE(found.plans.size() == 1);
  REQUIRE(cache.store(h200_target(), small, o, "first", found.plans[0]));
  CHECK(cache.find(h200_target(), small, o, "first"));
  found.plans[0].facts.engine = 1;  // as an older version of typenet chose it
  REQUIRE(cache.store(h200_target(), small, o, "first", found.plans[0]));
  CHECK(!cache.find(h200_target(), small, o, "first"));
}

TEST_CASE("every number of a convolution and every option that matters is part of the question") {
  int convolution::* const numbers[] = {
      &convolution::batch,          &convolution::in_channels,   &convolution::in_height,
      &convolution::in_width,       &convolution::out_channels,  &convolution::out_height,
      &convolution::out_width,      &convolution::kernel_height, &convolution::kernel_width,
      &convolution::stride,         &convolution::pad_top,       &convolution::pad_left,
      &convolution::pad_bottom,     &convolution::pad_right,     &convolution::output_pitch,
      &convolution::groups,         &convolution::column_stride, &convolution::row_dilation,
      &convolution::column_dilation};
  STATIC_REQUIRE(sizeof numbers / sizeof numbers[0] * sizeof(int) == sizeof(convolution));
  std::vector<std::string> all{describe(small, {})};
  for (int convolution::* const number : numbers) {
    convolution other = small;
    other.*number += 100;
    all.push_back(describe(other, {}));
  }
  for (convolution_options const& o : {convolution_options{.pass = convolution_pass::backward_data},
                                       {.precision = convolution_precision::fp16},
                                       {.accumulate = true},
                                       {.relu = true},
                                       {.float_gradient = true},
                                       {.deterministic = true},
                                       {.workspace_limit = 1}})
    all.push_back(describe(small, o));
  std::sort(all.begin(), all.end());
  CHECK(std::adjacent_find(all.begin(), all.end()) == all.end());
}

TEST_CASE("a damaged or foreign file is no plan, and is replaced") {
  SKIP_WITHOUT_CUDNN();
  temporary_directory const folder;
  plan_cache const cache(folder.path.string());
  convolution_options const o{.pass = convolution_pass::forward};
  plan_target const& on = h200_target();
  std::string const json = json_of(choose_plan(on, small, o, cache));
  std::string const path = folder / plan_cache::file_of(plan_cache::key_of(on, small, o, "first"));
  std::string const good = contents(path);
  REQUIRE(good.size() > 500);
  std::string const key = plan_cache::key_of(on, small, o, "first");
  REQUIRE(backend::from_text(good, key));

  for (std::size_t i = 0; i < good.size(); ++i) {  // every byte matters
    std::string bad = good;
    bad[i] = static_cast<char>(bad[i] ^ 1);
    INFO("byte " << i);
    REQUIRE(!backend::from_text(bad, key));
  }
  for (std::size_t n = 0; n < good.size(); n += 7) REQUIRE(!backend::from_text(good.substr(0, n), key));
  CHECK(!backend::from_text(good + "x", key));

  // Well-formed, but refused by cuDNN; then the engine's number and knobs are used if they work.
  backend::stored_plan nonsense = *backend::from_text(good, key);
  nonsense.json = "{\"cudnnVersion\":1}";
  overwrite(path, backend::to_text(key, nonsense));
  std::optional<convolution_plan> const by_engine = cache.find(on, small, o, "first");
  REQUIRE(by_engine);
  CHECK(json_of(*by_engine) == json);
  nonsense.facts.engine = 999;

  for (std::string const& bad : {std::string("not a plan\n"), good.substr(0, good.size() / 2), std::string(),
                                 backend::to_text(key, nonsense), backend::to_text("another key", nonsense)}) {
    overwrite(path, bad);
    CHECK(!cache.find(on, small, o, "first"));
    CHECK(json_of(choose_plan(on, small, o, cache)) == json);
    CHECK(contents(path) == good);
  }
}

TEST_CASE("a cache that can't be written is no error") {
  SKIP_WITHOUT_CUDNN();
  temporary_directory const folder;
  overwrite(folder / "file", "in the way");
  for (std::string const& where : {folder / "file", folder / "file/below", std::string()}) {
    plan_cache const cache(where);
    convolution_plan const p = choose_plan(h200_target(), small, {}, cache);
    CHECK(static_cast<bool>(p.plan));
    CHECK(!cache.store(h200_target(), small, {}, "first", p));
  }
  CHECK(contents(folder / "file") == "in the way");
}

TEST_CASE("where no plan is left, the message says why") {
  SKIP_WITHOUT_CUDNN();
  convolution_options const o{.pass = convolution_pass::backward_weights, .float_gradient = true};
  convolution odd = small;
  odd.in_channels = 3;
  try {
    choose_plan(h200_target(), odd, o, plan_cache(""));
    FAIL("a plan for a float gradient of 3 channels");
  } catch (no_plan_error const& e) {
    std::string const message = e.what();
    for (char const* words :
         {"cudnn: no plan is left for backward_weights bf16, float gradient: batch 4, 3x8x8 to 24x4x4",
          "on NVIDIA H200, compute capability 9.0, cuDNN 9", "candidates"}) {
      INFO(message << " / " << words);
      CHECK(message.find(words) != std::string::npos);
    }
  }
}
