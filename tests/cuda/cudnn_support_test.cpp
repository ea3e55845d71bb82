// SPDX-License-Identifier: MIT
// cudnn_support.txt lists the graphs that the real cuDNN accepts; the test double must refuse all others. Write it anew
// by cudnn_support_test "[.write]".
#include <dsl/executors/cuda/plan_search.hpp>
#include <dsl/layers/conv2d.hpp>

#include "cuda/deviceless.hpp"
#include "support/catch.hpp"

#include <fstream>
#include <iomanip>
#include <map>
#include <sstream>
#include <string>
#include <vector>

using namespace dsl::cu;
using dsl::test::h200_target;
using pass = convolution_pass;
using precision = convolution_precision;

namespace {

struct graph_kind {
  char const* name;
  pass which;
  bool accumulate = false, relu = false, float_gradient = false;
};
constexpr graph_kind graphs[] = {{"conv_forward", pass::forward},
                                 {"conv_forward", pass::forward, true},
                                 {"conv_forward,add", pass::forward_inference},
                                 {"conv_forward,add,relu", pass::forward_inference, false, true},
                                 {"conv_backward_data", pass::backward_data},
                                 {"conv_backward_data", pass::backward_data, true},
                                 {"conv_backward_weights", pass::backward_weights},
                                 {"conv_backward_weights,identity", pass::backward_weights, false, false, true}};

// The stored type, and the results of tf32 and fp32_strict, which differ only in the plans that they allow.
struct storage_kind {
  char const* name;
  precision any, strict;
};
constexpr storage_kind storages[] = {{"bf16", precision::bf16, precision::bf16},
                                     {"fp16", precision::fp16, precision::fp16},
                                     {"float", precision::tf32, precision::fp32_strict}};

// Where the output lies: in its own buffer, or among other channels.
struct layout_kind {
  char const* name;
  bool slice;
};
constexpr layout_kind layouts[] = {{"nhwc ", false}, {"slice", true}};

// One group has all channels. Some: two groups. All: each channel is a group, as in a depthwise convolution.
enum class grouping { one, some, all };
constexpr char const* name_of(grouping g) {
  return g == grouping::one ? "one " : g == grouping::some ? "some" : "all ";
}

// Return the channels of a convolution with one group, or of a depthwise one.
constexpr int in_channels_of(int multiple) { return multiple == 8 ? 16 : multiple == 2 ? 6 : 3; }
constexpr int out_channels_of(int multiple) { return multiple == 8 ? 24 : multiple == 2 ? 10 : 5; }

enum class window_kind { usual, asymmetric, dilated, oblong };

convolution convolution_with(int multiple, grouping g, bool slice, window_kind kind) {
  int const stride = kind == window_kind::usual || kind == window_kind::dilated ? 1 : 2;
  int const columns = kind == window_kind::oblong ? 1 : stride, dilation = kind == window_kind::dilated ? 2 : 1;
  auto const extent = [&](int s) { return dsl::detail::extent_of(8, 2 * dilation + 1, s, dsl::padding::same); };
  dsl::detail::extent const down = extent(stride), right = extent(columns);
  int const groups = g == grouping::one ? 1 : g == grouping::some ? 2 : in_channels_of(multiple);
  int const each = g == grouping::all ? 1 : groups;
  return {.batch = 4,
          .in_channels = in_channels_of(multiple) * each,
          .in_height = 8,
          .in_width = 8,
          .out_channels = g == grouping::all ? groups : out_channels_of(multiple) * each,
          .out_height = down.size,
          .out_width = right.size,
          .kernel_height = 3,
          .kernel_width = 3,
          .stride = stride,
          .pad_top = down.before,
          .pad_left = right.before,
          .pad_bottom = down.padded - 8 - down.before,
          .pad_right = right.padded - 8 - right.before,
          .output_pitch = slice ? 80 : 0,
          .groups = groups,
          .column_stride = columns,
          .row_dilation = dilation,
          .column_dilation = dilation};
}

// plan: built. compiled: cuDNN compiles a kernel, and needs a driver to load it. none: there is no engine.
std::string verdict(convolution const& c, convolution_options o) {
  o.most_plans = o.most_compiled = 1;
  auto const graph = std::make_shared<backend::convolution_graph const>(h200_target(), c, o);
  backend::plan_finder finder(h200_target(), c, o);
  for (auto const mode : {CUDNN_HEUR_MODE_A, CUDNN_HEUR_MODE_FALLBACK}) {
    finder.search(graph, mode);
    if (!finder.found.plans.empty()) return "plan";
    if (finder.found.reason.find("cuLibraryLoadData") != std::string::npos) return "compiled";
  }
  return "none";
}

// Returns whether there is a kernel to compile that the options allow.
bool is_offered(convolution const& c, convolution_options o) {
  o.most_compiled = 0;
  return find_plans(h200_target(), c, o).skipped > 0;
}

struct row {
  std::string key;
  std::string verdict, deterministic, strict, asymmetric, spread;
};

row probe_one(graph_kind const& g, storage_kind const& s, int multiple, layout_kind const& layout, grouping groups) {
  convolution_options o{.pass = g.which,
                        .precision = s.any,
                        .accumulate = g.accumulate,
                        .relu = g.relu,
                        .float_gradient = g.float_gradient};
  std::ostringstream key;
  key << std::left << std::setw(31) << g.name << std::setw(6) << s.name << layout.name << ' ' << name_of(groups)
      << "   " << std::setw(4) << multiple << (g.accumulate ? "1" : "0");
  auto const with = [&](window_kind kind) { return convolution_with(multiple, groups, layout.slice, kind); };
  convolution const symmetric = with(window_kind::usual), asymmetric = with(window_kind::asymmetric);
  convolution const dilated = with(window_kind::dilated), oblong = with(window_kind::oblong);
  row r{key.str(), verdict(symmetric, o), "-", "-", "-", "-"};
  auto const both = [](auto const& answer, convolution const& a, convolution const& b) {
    return answer(a) == "yes" && answer(b) == "yes" ? std::string("yes") : std::string("no");
  };
  if (r.verdict == "plan") {
    auto const answer = [&](convolution const& c) {
      return verdict(c, o) == "plan" ? std::string("yes") : std::string("no");
    };
    r.asymmetric = answer(asymmetric);
    r.spread = both(answer, dilated, oblong);
    o.deterministic = true;
    r.deterministic = answer(symmetric);
    o.precision = s.strict;
    if (s.strict != s.any) r.strict = answer(symmetric);
  } else if (r.verdict == "compiled") {
    auto const answer = [&](convolution const& c) { return std::string(is_offered(c, o) ? "yes" : "no"); };
    r.asymmetric = answer(asymmetric);
    r.spread = both(answer, dilated, oblong);
    o.deterministic = true;
    r.deterministic = answer(symmetric);
  }
  return r;
}

std::vector<row> probe() {
  std::vector<row> rows;
  for (grouping const groups : {grouping::one, grouping::some, grouping::all})
    for (layout_kind const& layout : layouts)
      for (graph_kind const& g : graphs)
        for (storage_kind const& s : storages) {
          if (g.float_gradient && bytes_of(s.any) == 4) continue;  // the plain graph's result is float already
          bool const writes_slices = g.which == pass::forward || g.which == pass::forward_inference;
          if (layout.slice && (!writes_slices || g.accumulate)) continue;
          if (groups != grouping::one && (g.float_gradient || s.any == precision::fp16)) continue;  // nobody asks
          for (int const multiple : {8, 2, 1}) rows.push_back(probe_one(g, s, multiple, layout, groups));
        }
  return rows;
}

std::string version() { return std::to_string(dsl::test::real_api().cudnnGetVersion.function()); }

std::string table(std::vector<row> const& rows) {
  std::ostringstream text;
  text
      << "# Which graphs cuDNN takes, found by building plans for a described H200 "
         "(tests/cuda/cudnn_support_test.cpp).\n"
         "# layout: nhwc: all tensors are packed, channels last. slice: the output's pixels lie 80 channels apart, a\n"
         "# multiple of 16 bytes. Other strides are not used, and nothing else is allowed.\n"
         "# graph: its operations in order; add is a bias in float, identity converts a gradient to float.\n"
         "# groups: one: all channels. some: two groups. all: each channel is a group, of one input and one output.\n"
         "# channels: a group's input and output channels, and those of all groups of one channel, are multiples of "
         "this\n"
         "# number. beta: 1 adds to what is there.\n"
         "# verdict: plan (built), compiled (cuDNN compiles its kernel; a driver must load it), none.\n"
         "# deterministic, strict (no tensor cores), asymmetric (pads), spread (dilated, and with different strides of "
         "rows\n"
         "# and columns): whether a plan, or a kernel to compile, is left.\n"
      << "cudnn " << version() << '\n'
      << "# graph                        type  layout groups chan beta verdict  deterministic strict asymmetric "
         "spread\n";
  for (row const& r : rows) {
    text << r.key << "    " << std::left << std::setw(9) << r.verdict << std::setw(14) << r.deterministic
         << std::setw(7) << r.strict << std::setw(11) << r.asymmetric << r.spread << '\n';
  }
  return text.str();
}

// The file beside this one: if the test is compiled elsewhere, a definition says where the sources are.
std::string path() {
#ifdef TYPENET_TEST_DATA
  return TYPENET_TEST_DATA "/../cuda/cudnn_support.txt";
#else
  std::string const file = __FILE__;
  return file.substr(0, file.rfind('/') + 1) + "cudnn_support.txt";
#endif
}

}  // namespace

TEST_CASE("the table of supported graphs is what cuDNN says") {
  if (!dsl::test::cudnn_is_recent()) {
    WARN("skipped: cuDNN 9.11 or later is needed to build plans without a GPU");
    return;
  }
  std::ifstream file(path());
  std::map<std::string, std::string> recorded;  // key to the rest of the line
  std::string line, recorded_version;
  while (std::getline(file, line)) {
    std::istringstream words(line);
    std::string word, key;
    if (line.empty() || line[0] == '#') continue;
    words >> word;
    if (word == "cudnn") {
      words >> recorded_version;
      continue;
    }
    key = word;
    for (int i = 0; i < 5; ++i) words >> word, key += ' ' + word;
    std::string rest;
    while (words >> word) rest += (rest.empty() ? "" : " ") + word;
    recorded[key] = rest;
  }
  INFO("write it with: cudnn_support_test \"[.write]\"");
  REQUIRE(!recorded_version.empty());
  std::vector<row> const rows = probe();
  CHECK(recorded.size() == rows.size());
  for (row const& r : rows) {
    std::istringstream words(r.key);
    std::string word, key;
    while (words >> word) key += (key.empty() ? "" : " ") + word;
    INFO(key);
    REQUIRE(recorded.count(key) == 1);
    std::string const now = r.verdict + " " + r.deterministic + " " + r.strict + " " + r.asymmetric + " " + r.spread;
    bool const was_compiled = recorded[key].rfind("compiled", 0) == 0;
    // A driver loads kernels that were only compiled when the table was written; without its stub nothing is compiled.
    if (was_compiled && r.verdict == "plan") continue;
    if (was_compiled && !dsl::test::load_driver_library()) continue;
    // Another version of cuDNN may accept more, but not less.
    if (version() != recorded_version && recorded[key].rfind("plan", 0) != 0) continue;
    CHECK(recorded[key] == now);
  }
  if (version() != recorded_version)
    WARN("the table is of cuDNN " << recorded_version << ", this is " << version() << ": checked that nothing is lost");
}

TEST_CASE("write the table of supported graphs", "[.write]") {
  REQUIRE(dsl::test::cudnn_is_recent());
  REQUIRE(dsl::test::load_driver_library());
  std::ofstream(path()) << table(probe());
}

TEST_CASE("cuDNN has understood the graph as it was meant") {
  if (!dsl::test::cudnn_is_recent()) {
    WARN("skipped: cuDNN 9.11 or later is needed to build plans without a GPU");
    return;
  }
  auto const words = [](convolution const& c, convolution_options const& o) {
    plan_search const found = find_plans(h200_target(), c, o);
    REQUIRE(!found.plans.empty());
    auto const json = found.plans[0].plan.get_all<char>(CUDNN_ATTR_EXECUTION_PLAN_JSON_REPRESENTATION);
    return std::string(json.begin(), json.end());
  };
  auto const has = [](std::string const& text, std::string const& part) {
    INFO(part << "\nin " << text);
    CHECK(text.find(part) != std::string::npos);
  };
  convolution const c = {.batch = 7,
                         .in_channels = 16,
                         .in_height = 10,
                         .in_width = 8,
                         .out_channels = 24,
                         .out_height = 5,
                         .out_width = 4,
                         .kernel_height = 3,
                         .kernel_width = 5,
                         .stride = 2,
                         .pad_top = 0,
                         .pad_left = 1,
                         .pad_bottom = 1,
                         .pad_right = 2};
  std::string text = words(c, {.pass = pass::backward_data, .accumulate = true});
  has(text, R"("name":"1","dataType":"CUDNN_DATA_BFLOAT16","dim":[7,16,10,8],"stride":[1280,1,128,16])");
  has(text, R"("name":"2","dataType":"CUDNN_DATA_BFLOAT16","dim":[24,16,3,5],"stride":[240,1,80,16])");
  has(text, R"("name":"4","dataType":"CUDNN_DATA_BFLOAT16","dim":[7,24,5,4],"stride":[480,1,96,24])");
  has(text, R"("mode":"CUDNN_CROSS_CORRELATION","mathPrec":"CUDNN_DATA_FLOAT","alpha":1.0,"beta":1.0)");
  has(text, R"("pad_upper":[1,2],"pad_lower":[0,1],"stride":[2,2],"dilation":[1,1],"dX":"1","W":"2","dY":"4")");
  has(words(c, {.pass = pass::backward_data}), R"("beta":0.0)");
  text = words(c, {.pass = pass::forward_inference, .precision = precision::tf32, .relu = true});
  has(text, R"("name":"3","dataType":"CUDNN_DATA_FLOAT","dim":[1,24,1,1],"stride":[24,1,24,24])");
  has(text, R"("X":"1","W":"2","Y":"5")");
  has(text, R"("pointwiseMode":"CUDNN_POINTWISE_ADD")");
  has(text, R"("X":"5","Y":"6","B":"3")");
  has(text, R"("pointwiseMode":"CUDNN_POINTWISE_RELU_FWD")");
  has(text, R"("X":"6","Y":"4")");
  has(words(c, {.pass = pass::backward_weights, .precision = precision::fp16}), R"("X":"1","dW":"2","dY":"4")");
}
