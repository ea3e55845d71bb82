// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <charconv>
#include <cstdint>
#include <sstream>
#include <string>
#include <vector>

#include "support/simulated_device/cudnn_operations.hpp"
#include "support/simulated_device/cudnn_support.hpp"

namespace dsl_test::simulated {

/// A made-up implementation of a convolution. They differ in what a search for plans must look at.
struct engine_info {
  std::int64_t index;
  std::vector<cudnnBackendNumericalNote_t> notes;
  std::vector<cudnnBackendBehaviorNote_t> behavior;
  enum { none, some, packed_output, too_much } workspace;
  double microseconds;              // claimed duration; the quickest are nondeterministic, too large or refused
  bool listed_but_refused = false;  // heuristics offer it, a plan can't be made of it
};

inline std::vector<engine_info> const& all_engines() {
  using e = engine_info;
  static std::vector<engine_info> const all = {
      {0, {CUDNN_NUMERICAL_NOTE_TENSOR_CORE}, {}, e::some, 30},
      {1, {CUDNN_NUMERICAL_NOTE_TENSOR_CORE}, {}, e::none, 1, true},
      {2, {CUDNN_NUMERICAL_NOTE_TENSOR_CORE, CUDNN_NUMERICAL_NOTE_NONDETERMINISTIC}, {}, e::none, 10},
      {3, {CUDNN_NUMERICAL_NOTE_TENSOR_CORE}, {}, e::too_much, 5},
      {4, {CUDNN_NUMERICAL_NOTE_TENSOR_CORE}, {}, e::packed_output, 20},
      {5, {CUDNN_NUMERICAL_NOTE_WINOGRAD}, {}, e::some, 8},
      {6, {}, {}, e::none, 60},
      {8, {CUDNN_NUMERICAL_NOTE_TENSOR_CORE}, {}, e::none, 50},
      // The table does not say whether compiled kernels are deterministic.
      {7,
       {CUDNN_NUMERICAL_NOTE_TENSOR_CORE, CUDNN_NUMERICAL_NOTE_NONDETERMINISTIC},
       {CUDNN_BEHAVIOR_NOTE_RUNTIME_COMPILATION},
       e::none,
       40},
  };
  return all;
}
inline constexpr int runtime_engine = 7;

inline engine_info const* find_engine(std::int64_t index) {
  for (auto const& e : all_engines())
    if (e.index == index) return &e;
  return nullptr;
}
inline bool has_note(engine_info const& e, cudnnBackendNumericalNote_t n) {
  return std::find(e.notes.begin(), e.notes.end(), n) != e.notes.end();
}

inline std::int64_t workspace_of(engine_info const& e, conv_program const& p) {
  auto const& out = p.tensors[static_cast<std::size_t>(p.operations.back().out)];
  switch (e.workspace) {
    case engine_info::none: return 0;
    case engine_info::some: return 4096;
    case engine_info::packed_output: return out.elements() * static_cast<std::int64_t>(bytes_of(out.type)) + 256;
    case engine_info::too_much: return std::int64_t{1} << 40;
  }
  return 0;
}

/// Whether an engine runs a program. Real engines differ by graph and type, as the table of
/// tests/cuda/cudnn_support.txt says: what it lacks is refused.
inline bool runs(engine_info const& e, conv_program const& p) {
  support const s = support_of(p);
  auto const& o = p.operations.front();
  auto const& kernel = p.tensors[static_cast<std::size_t>(o.kind == operation_kind::backward_filter ? o.out : o.b)];
  if (s.verdict == support::none) return false;
  if (s.verdict == support::compiled || e.index == runtime_engine)
    return s.verdict == support::compiled && e.index == runtime_engine;
  bool const deterministic = !has_note(e, CUDNN_NUMERICAL_NOTE_NONDETERMINISTIC);
  if (deterministic && !s.deterministic) return false;
  if (has_note(e, CUDNN_NUMERICAL_NOTE_WINOGRAD))
    return s.strict && kernel.size[2] == 3 && kernel.size[3] == 3 && o.stride == std::array<std::int64_t, 2>{1, 1};
  if (e.notes.empty()) return s.strict;
  return deterministic || o.kind != operation_kind::forward;
}

// ---- a plan as text ----------------------------------------------------------------------------------------------
inline std::string to_json(conv_program const& p, std::size_t version, int device) {
  std::ostringstream out;
  out << R"({"simulated cudnnVersion":)" << version << R"(,"deviceVer":)" << device << R"(,"engine":)" << p.engine
      << R"(,"tensors":[)";
  auto const list = [&](auto const& numbers) {
    for (auto const n : numbers) out << ',' << n;
  };
  for (std::size_t i = 0; i < p.tensors.size(); ++i) {
    auto const& t = p.tensors[i];
    out << (i ? ",[" : "[") << t.id << ',' << static_cast<int>(t.type) << ',' << t.kept << ',' << t.alignment;
    list(t.size), list(t.stride);
    out << ']';
  }
  out << R"(],"operations":[)";
  for (std::size_t i = 0; i < p.operations.size(); ++i) {
    auto const& o = p.operations[i];
    out << (i ? ",[" : "[") << static_cast<int>(o.kind) << ',' << o.a << ',' << o.b << ',' << o.out << ','
        << std::bit_cast<std::uint32_t>(o.alpha) << ',' << std::bit_cast<std::uint32_t>(o.beta);
    list(o.stride), list(o.dilation), list(o.before), list(o.behind);
    out << ']';
  }
  out << "]}";
  return out.str();
}

/// Returns false unless to_json() has written the text.
inline bool from_json(std::string const& text, conv_program& p, std::size_t& version, int& device) {
  std::size_t at = 0;
  bool good = true;
  auto const skip = [&](std::string_view expected) {
    good = good && text.compare(at, expected.size(), expected) == 0;
    at += expected.size();
    return good;
  };
  auto const number = [&] {
    std::int64_t n = 0;
    if (!good || at > text.size()) return n;
    auto const [end, error] = std::from_chars(text.data() + at, text.data() + text.size(), n);
    good = error == std::errc{};
    at = static_cast<std::size_t>(end - text.data());
    return n;
  };
  auto const list = [&](auto& numbers) {
    for (auto& n : numbers) skip(","), n = number();
  };
  auto const more = [&](bool first) {
    if (!good || at >= text.size() || text[at] == ']') return false;
    return skip(first ? "[" : ",[");
  };
  skip(R"({"simulated cudnnVersion":)"), version = static_cast<std::size_t>(number());
  skip(R"(,"deviceVer":)"), device = static_cast<int>(number());
  skip(R"(,"engine":)"), p.engine = static_cast<int>(number());
  skip(R"(,"tensors":[)");
  while (more(p.tensors.empty())) {
    tensor_info& t = p.tensors.emplace_back();
    t.id = number();
    skip(","), t.type = static_cast<storage>(number());
    skip(","), t.kept = number() != 0;
    skip(","), t.alignment = number();
    list(t.size), list(t.stride), skip("]");
  }
  skip(R"(],"operations":[)");
  while (more(p.operations.empty())) {
    operation& o = p.operations.emplace_back();
    o.kind = static_cast<operation_kind>(number());
    for (int* i : {&o.a, &o.b, &o.out}) {
      skip(","), *i = static_cast<int>(number());
      good = good && *i < static_cast<int>(p.tensors.size()) && *i >= (i == &o.b ? -1 : 0);
    }
    for (float* f : {&o.alpha, &o.beta}) skip(","), *f = std::bit_cast<float>(static_cast<std::uint32_t>(number()));
    list(o.stride), list(o.dilation), list(o.before), list(o.behind), skip("]");
  }
  skip("]}");
  return good && at == text.size() && !p.operations.empty() && find_engine(p.engine);
}

}  // namespace dsl_test::simulated
