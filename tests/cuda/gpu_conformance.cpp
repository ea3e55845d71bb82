// SPDX-License-Identifier: MIT
// Tests the CUDA executor on a real device: layers and gradients against the reference, saved trajectories, 20 steps of
// MiniGoogLeNet, the same bits in every run, data on the device and from the host, calls per step. It uses no test
// framework, so that it builds with only a compiler and NVIDIA's libraries:
//   gpu_conformance [--only GROUP,GROUP...] [--json FILE] [--cache FOLDER] [--fixtures FOLDER] [--device N]
//                   [--runs N] [--device-properties FILE] [--list]
// Exit code 0: all checks passed. 1: a check failed, or a group compared nothing. 2: invalid options. 77: there is no
// device, and nothing was checked.
#include "support/gpu/behaviour.hpp"
#include "support/gpu/convolutions.hpp"
#include "support/gpu/further_convolutions.hpp"
#include "support/gpu/frozen.hpp"
#include "support/gpu/graph_nodes.hpp"
#include "support/gpu/norms.hpp"
#include "support/gpu/operations.hpp"
#include "support/gpu/pools.hpp"
#include "support/gpu/products.hpp"
#include "support/gpu/scaled.hpp"
#include "support/gpu/movement.hpp"
#include "support/gpu/slices.hpp"
#include "support/gpu/trajectories.hpp"

#include <algorithm>
#include <charconv>
#include <fstream>
#include <iterator>

using namespace dsl;
using namespace dsl::test;

namespace {

struct settings {
  std::string only, json, properties;
  std::string cache = cu::cache_folder();
  std::string fixtures = "tests/fixtures";
  int device = 0;
  int runs = 20;
};

/// Writes cuDNN's description of this device, for tests that build plans without it.
std::string device_properties(cu::api const& a, int device) {
  cu::backend_descriptor d(a, CUDNN_BACKEND_DEVICEPROP_DESCRIPTOR, "a device's properties");
  std::int32_t const number = device;
  d.check(a.cudnnBackendSetAttribute.function(d.get(), CUDNN_ATTR_DEVICEPROP_DEVICE_ID, CUDNN_TYPE_INT32, 1, &number),
          a.cudnnBackendSetAttribute.name);
  d.finalize();
  std::vector<char> const json = d.get_all<char>(CUDNN_ATTR_DEVICEPROP_JSON_REPRESENTATION);
  std::string text(json.begin(), json.end());
  return text.substr(0, text.find('\0'));
}

void describe(gpu const& on, settings const& s, ledger& l) {
  l.tell("the device", on.untimed().make(mixed_network::view(), keras_rules, precision::bf16)->description());
  int driver = 0, runtime = 0;
  on.calls(on.calls.cudaDriverGetVersion, &driver);
  on.calls(on.calls.cudaRuntimeGetVersion, &runtime);
  l.tell("CUDA", "driver " + std::to_string(driver) + ", runtime " + std::to_string(runtime) + ", cublasLt " +
                     std::to_string(on.calls.cublasLtGetVersion.function()));
  if (s.properties.empty()) return;
  std::string const text = device_properties(on.calls, on.device);
  l.holds("its properties, for plans without a device", std::ofstream(s.properties) << text << '\n' ? true : false,
          s.properties);
}

struct group {
  char const* name;
  char const* what;
  bool only_by_name;
  void (*run)(gpu const&, settings const&, ledger&);
};

/// Convolutions with more zeros behind their input than before it, of channels that fill a tensor core.
using uneven_network = network<image<8, 14, 11>, conv2d<16, 3, 3, 2>, relu, conv2d<24, 5, 5, 2>, relu, conv2d<16, 2>,
                               relu, conv2d<32, 3, 3, 2>, flatten, dense<4>, softmax>;

graph_view minigooglenet_view() { return minigooglenet_network::view(); }

constexpr group all_groups[] = {
    {"device", "what it is", false, &describe},
    {"refusals", "errors say what is wrong", false,
     [](gpu const& on, settings const&, ledger& l) { check_refusals(on, l); }},
    {"calls", "one graph launch a step, and what the libraries do of it", false,
     [](gpu const& on, settings const&, ledger& l) {
       check_calls(on.untimed(), l, minigooglenet_view(), 64, &count_graph_nodes);
       check_products(on.untimed(), l, 64);
     }},
    {"convolutions", "all of MiniGoogLeNet's against our own kernels, on numbers whose sums are exact", false,
     [](gpu const& on, settings const&, ledger& l) {
       using enum precision;
       constexpr mode training = mode::training, inference = mode::inference;
       check_convolutions(on.untimed(), l, minigooglenet_view(),
                          {{bf16, 64, training},
                           {tf32, 64, training},
                           {fp32_strict, 64, training},
                           {bf16, 64, inference},
                           {bf16, 1, inference},
                           {bf16, 64, training, 8},
                           {bf16, 1024, training},
                           {tf32, 64, inference},
                           {fp32_strict, 64, inference},
                           {tf32, 1, inference},
                           {fp32_strict, 1, inference},
                           {tf32, 1024, training},
                           {fp32_strict, 1024, training},
                           {bf16, 1024, inference},
                           {tf32, 1024, inference},
                           {fp32_strict, 1024, inference}},
                          {.seconds = 80});
     }},
    {"small_convolutions", "those of the small networks, whose channels are odd, with plans beyond the chosen one",
     false,
     [](gpu const& on, settings const&, ledger& l) {
       using enum precision;
       for (precision p : all_precisions) {
         check_convolutions(on.untimed(), l, odd_network::view(),
                            {{p, 3, mode::training, 8}, {p, 3, mode::inference, 8}});
         check_convolutions(on.untimed(), l, mixed_network::view(), {{p, 6, mode::training, 8}});
         check_convolutions(on.untimed(), l, uneven_network::view(),
                            {{p, 16, mode::training, 16}, {p, 16, mode::inference, 16}});
       }
     }},
    {"further_convolutions", "grouped, dilated and transposed ones, in the same way and beside the reference in double",
     false, [](gpu const& on, settings const&, ledger& l) { check_further_convolutions(on, l); }},
    {"gradients", "of one step, against the reference's", false,
     [](gpu const& on, settings const&, ledger& l) {
       check_gradients(on.untimed(), l, "all modules", mixed_network::view(), 6,
                       {{precision::fp32_strict, bounds_of(precision::fp32_strict).gradient},
                        {precision::tf32, bounds_of(precision::tf32).gradient},
                        {precision::bf16, bounds_of(precision::bf16).gradient}});
       check_gradients(on.untimed(), l, "odd channels", odd_network::view(), 3,
                       {{precision::fp32_strict, bounds_of(precision::fp32_strict).gradient}});
     }},
    {"layers", "small networks train beside the reference in double", false,
     [](gpu const& on, settings const&, ledger& l) { check_layers(on, l); }},
    {"norms", "networks with normalisations within a sample, beside the reference in double", false,
     [](gpu const& on, settings const&, ledger& l) { check_norms(on, l); }},
    {"operations", "networks with the operations that have a fixture, in the same way", false,
     [](gpu const& on, settings const&, ledger& l) { check_operations(on, l); }},
    {"pools", "small networks whose pools have padding, ceil_mode or different strides, in the same way", false,
     [](gpu const& on, settings const&, ledger& l) { check_pools(on, l); }},
    {"products", "networks with multiply, channel_scale, softmax2d and all activations, in the same way", false,
     [](gpu const& on, settings const&, ledger& l) { check_products(on, l); }},
    {"movement", "networks with layers that move numbers, and with learnt tokens, in the same way", false,
     [](gpu const& on, settings const&, ledger& l) { check_movement(on, l); }},
    {"frozen", "networks with frozen layers, beside the reference in double", false,
     [](gpu const& on, settings const&, ledger& l) { check_frozen(on, l); }},
    {"scaled",
     "networks whose parts have learning rates of their own, and layers with constants, beside the reference in double",
     false, [](gpu const& on, settings const&, ledger& l) { check_scaled(on, l); }},
    {"small", "20 steps of Keras's and PyTorch's saved trajectories", false,
     [](gpu const& on, settings const&, ledger& l) { check_small_trajectories(on, l); }},
    {"trajectories", "MiniGoogLeNet's saved trajectories, as far as float can follow", false,
     [](gpu const& on, settings const&, ledger& l) { check_minigooglenet_trajectories(on.untimed(), l); }},
    {"minigooglenet", "20 steps and inference beside the reference in double", false,
     [](gpu const& on, settings const&, ledger& l) { check_minigooglenet(on.untimed(), l); }},
    {"batch64", "MiniGoogLeNet's gradients at batch 64, with the plans that cuDNN ranks first", false,
     [](gpu const& on, settings const&, ledger& l) {
       check_gradients(on.untimed(), l, "MiniGoogLeNet", minigooglenet_view(), 64,
                       {{precision::fp32_strict, 0.05}, {precision::tf32, 0.3}, {precision::bf16, 0.7}});
     }},
    {"timed64", "the same in bf16, with the fastest plans", false,
     [](gpu const& on, settings const&, ledger& l) {
       check_gradients(on, l, "MiniGoogLeNet, timed", minigooglenet_view(), 64, {{precision::bf16, 0.7}});
       if (!on.cache.empty())  // otherwise the same plans would be timed again
         check_convolutions(on, l, minigooglenet_view(),
                            {{precision::bf16, 64}, {precision::bf16, 64, mode::inference}}, {.seconds = 60});
     }},
    {"deterministic", "the same bits in every run", false,
     [](gpu const& on, settings const& s, ledger& l) {
       check_determinism(on, l, minigooglenet_view(), 64, 20, s.runs);
     }},
    {"resident", "batches gathered on the device, and the same from the host", false,
     [](gpu const& on, settings const&, ledger& l) {
       for (precision p : {precision::fp32_strict, precision::bf16})
         check_resident(on, l, minigooglenet_view(), drawn_data({3, 32, 32}, 10, 700).subset(17, 660), 64, p);
     }},
    {"slices", "MiniGoogLeNet's convolutions write their slices of a concat's buffer, and nothing else", true,
     [](gpu const& on, settings const&, ledger& l) { check_slices(on, l, minigooglenet_view(), 1, 2); }},
    {"exercise", "small networks only, for compute-sanitizer", true,
     [](gpu const& on, settings const&, ledger& l) { exercise_small_networks(on, l); }},
};

bool wanted(group const& g, std::string const& only) {
  if (only.empty()) return !g.only_by_name;
  return ("," + only + ",").find("," + std::string(g.name) + ",") != std::string::npos;
}

/// Returns a number of at least `least`, or -1 if the text is not one.
int number_from(std::string const& text, int least) {
  int value = -1;
  auto const [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  return error == std::errc{} && end == text.data() + text.size() && value >= least ? value : -1;
}

int usage(std::string const& wrong) {
  std::fprintf(stderr, "gpu_conformance: %s; --list shows the groups that --only takes, joined by commas\n",
               wrong.c_str());
  return 2;
}

}  // namespace

int main(int argc, char** argv) {
  settings s;
  for (int i = 1; i < argc; ++i) {
    std::string const option = argv[i];
    if (option == "--list") {
      for (group const& g : all_groups)
        std::printf("%-14s %s%s\n", g.name, g.what, g.only_by_name ? " (by name only)" : "");
      return 0;
    }
    if (i + 1 == argc) return usage("unknown option, or one without its value: " + option);
    std::string const value = argv[++i];
    if (option == "--only")
      s.only = value;
    else if (option == "--json")
      s.json = value;
    else if (option == "--cache")
      s.cache = value;
    else if (option == "--fixtures")
      s.fixtures = value;
    else if (option == "--device-properties")
      s.properties = value;
    else if (option == "--device")
      s.device = number_from(value, 0);
    else if (option == "--runs")
      s.runs = number_from(value, 2);
    else
      return usage("unknown option: " + option);
  }
  if (s.device < 0) return usage("--device must be 0 or more");
  if (s.runs < 0) return usage("--runs must be 2 or more: the first is what the others are compared with");
  std::string rest = s.only;
  while (!rest.empty()) {
    std::string const name = rest.substr(0, rest.find(','));
    rest = rest.size() > name.size() ? rest.substr(name.size() + 1) : "";
    if (std::none_of(std::begin(all_groups), std::end(all_groups), [&](group const& g) { return name == g.name; }))
      return usage("there is no group " + name);
  }
  cu::api const libraries;
  int devices = 0;
  cudaError_t const found = libraries.cudaGetDeviceCount.function(&devices);
  if (found != cudaSuccess || devices == 0) {
    std::printf("skipped: no device: %s\n",
                found == cudaSuccess ? "none is installed" : libraries.cudaGetErrorString.function(found));
    return 77;
  }
  ledger l;
  l.print_to(stdout);
  gpu const on{.calls = libraries, .device = s.device, .cache = s.cache, .fixtures = s.fixtures};
  for (group const& g : all_groups) {
    if (!wanted(g, s.only)) continue;
    l.begin(g.name);
    std::size_t const before = l.findings().size();
    try {
      g.run(on, s, l);
    } catch (std::exception const& e) {
      l.holds("it came to its end", false, e.what());
    }
    if (l.findings().size() == before) l.holds("it checked something", false);
  }
  if (!s.json.empty() && !(std::ofstream(s.json) << l.json())) return usage("can't write " + s.json);
  std::printf("%zu findings from %lld compared values, %d bad\n", l.findings().size(), l.values(), l.bad());
  return l.bad() == 0 ? 0 : 1;
}
