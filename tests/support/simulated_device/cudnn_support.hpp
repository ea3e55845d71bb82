// SPDX-License-Identifier: MIT
#pragma once

#include <fstream>
#include <map>
#include <sstream>
#include <stdexcept>
#include <string>

#include "support/simulated_device/cudnn_operations.hpp"

namespace dsl_test::simulated {

/// A line of tests/cuda/cudnn_support.txt: how the real cuDNN answers a graph.
struct support {
  enum { none, compiled, plan } verdict = none;
  bool deterministic = false, strict = false, asymmetric = false, spread = false;
};

/// Returns the table, by "graph type layout groups channels beta". It is a file beside the sources; throws if it is
/// missing.
inline std::map<std::string, support> const& support_table() {
  static std::map<std::string, support> const table = [] {
#ifdef TYPENET_CUDA_TEST_DATA
    std::string const path = TYPENET_CUDA_TEST_DATA "/cudnn_support.txt";
#else
    std::string path = __FILE__;
    for (int up = 0; up < 3; ++up) path.resize(path.rfind('/'));
    path += "/cuda/cudnn_support.txt";
#endif
    std::map<std::string, support> t;
    std::ifstream file(path);
    for (std::string line; std::getline(file, line);) {
      std::istringstream words(line);
      std::string graph, type, layout, groups, channels, beta, verdict, deterministic, strict, asymmetric, spread;
      words >> graph >> type >> layout >> groups >> channels >> beta >> verdict >> deterministic >> strict >>
          asymmetric >> spread;
      if (!words || graph.starts_with('#')) continue;
      support& s = t[graph + ' ' + type + ' ' + layout + ' ' + groups + ' ' + channels + ' ' + beta];
      s.verdict = verdict == "plan" ? support::plan : verdict == "compiled" ? support::compiled : support::none;
      s.deterministic = deterministic == "yes";
      s.strict = strict == "yes";
      s.asymmetric = asymmetric == "yes";
      s.spread = spread == "yes";
    }
    if (t.empty()) throw std::runtime_error("the simulated cuDNN needs " + path);
    return t;
  }();
  return table;
}

inline bool writes_slice(conv_program const& p) {
  return !p.tensors[static_cast<std::size_t>(p.operations.back().out)].packed_channels_last();
}

/// Returns the graph's name in the table; empty for a form that the table does not know: strides other than those of a
/// result in a slice of whole 16 bytes, other mixtures of types, results of inner operations in memory.
inline std::string name_of(conv_program const& p) {
  static char const* const names[] = {"conv_forward", "conv_backward_data", "conv_backward_weights", "identity", "add",
                                      "relu"};
  auto const tensor = [&](int i) -> tensor_info const& { return p.tensors[static_cast<std::size_t>(i)]; };
  auto const& first = p.operations.front();
  if (!p.is_convolution(first) || first.alpha != 1) return "";
  tensor_info const& result = tensor(p.operations.back().out);
  for (tensor_info const& t : p.tensors)
    if (!t.packed_channels_last() && (&t != &result || t.pitch() == 0)) return "";
  bool const slice = writes_slice(p);
  if (slice && (first.kind != operation_kind::forward ||
                result.pitch() * static_cast<std::int64_t>(bytes_of(result.type)) % 16 != 0 || result.alignment < 16))
    return "";
  storage const type = tensor(first.a).type;
  std::string graph;
  for (std::size_t i = 0; i < p.operations.size(); ++i) {
    auto const& o = p.operations[i];
    graph += (i ? "," : "") + std::string(names[static_cast<int>(o.kind)]);
    bool const last = i + 1 == p.operations.size();
    if (i > 0 && (p.is_convolution(o) || o.a != p.operations[i - 1].out)) return "";
    if (tensor(o.out).kept != last) return "";
    storage const expected = last && o.kind != operation_kind::identity ? type : storage::f32;
    if (tensor(o.out).type != expected) return "";
    bool const bias = o.kind == operation_kind::add;
    if (bias && (tensor(o.b).type != storage::f32 || tensor(o.b).size[1] != tensor(o.b).elements())) return "";
  }
  if (tensor(first.b).type != type) return "";
  auto const& kernel = tensor(first.kind == operation_kind::backward_filter ? first.out : first.b);
  auto const& input = tensor(first.kind == operation_kind::backward_data ? first.out : first.a);
  std::int64_t const groups = input.size[1] / kernel.size[1];
  bool const depthwise = groups > 1 && groups == kernel.size[0] && kernel.size[1] == 1;
  std::int64_t const all = depthwise ? groups : kernel.size[0] / groups | kernel.size[1];
  std::string const layout = std::string(slice ? " slice " : " nhwc ") + (depthwise    ? "all "
                                                                          : groups > 1 ? "some "
                                                                                       : "one ");
  std::string const channels = layout + (all % 8 == 0 ? "8 " : all % 2 == 0 ? "2 " : "1 ");
  std::string const beta = first.beta == 0 ? "0" : first.beta == 1 ? "1" : "other";
  return graph + (type == storage::bf16 ? " bf16" : type == storage::f16 ? " fp16" : " float") + channels + beta;
}

inline support support_of(conv_program const& p) {
  auto const at = support_table().find(name_of(p));
  support s = at == support_table().end() ? support{} : at->second;
  auto const& o = p.operations.front();
  if (o.before != o.behind && !s.asymmetric) s.verdict = support::none;
  bool const spread = o.dilation != std::array<std::int64_t, 2>{1, 1} || o.stride[0] != o.stride[1];
  if (spread && !s.spread) s.verdict = support::none;
  return s;
}

}  // namespace dsl_test::simulated
