// SPDX-License-Identifier: MIT
#pragma once

#include <dsl/detail/mode.hpp>
#include <dsl/executors/cuda/cache_folder.hpp>
#include <dsl/executors/cuda/plan_search.hpp>

#include <cstdint>
#include <locale>
#include <memory>
#include <optional>
#include <sstream>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace dsl::cu::backend::TYPENET_MODE {

// Returns the FNV-1a hash of a text, for finding a file and detecting damage. It does not protect against an adversary,
// who could write plans anyway.
constexpr std::uint64_t checksum(std::string_view text) {
  std::uint64_t h = 0xcbf29ce484222325U;
  for (char const c : text) h = (h ^ static_cast<unsigned char>(c)) * 0x100000001b3U;
  return h;
}

// The content of a file: cuDNN's own description of a plan or, if it has none, the engine and its settings.
struct stored_plan {
  plan_facts facts{};
  std::string json{};
};

inline constexpr char const* plan_magic = "typenet plan 1";

inline std::string to_text(std::string const& key, stored_plan const& p) {
  std::ostringstream text;
  text.imbue(std::locale::classic());  // in the program's locale, 4096 may be written as 4 096
  text << plan_magic << '\n' << key << '\n';
  text << p.facts.engine << ' ' << p.facts.numerical_notes << ' ' << p.facts.behavior_notes << ' ' << p.facts.workspace
       << ' ' << p.facts.knobs.size();
  for (plan_facts::knob const& k : p.facts.knobs) text << ' ' << k.type << ' ' << k.value;
  text << '\n' << p.json.size() << '\n' << p.json << '\n';
  std::string const body = text.str();
  return body + std::to_string(checksum(body)) + '\n';
}

// Returns nothing unless the text is exactly what to_text() made for this key.
inline std::optional<stored_plan> from_text(std::string const& text, std::string const& key) {
  std::istringstream in(text);
  in.imbue(std::locale::classic());
  std::string line;
  stored_plan p;
  std::size_t knobs = 0, bytes = 0;
  if (!std::getline(in, line) || line != plan_magic || !std::getline(in, line) || line != key) return std::nullopt;
  in >> p.facts.engine >> p.facts.numerical_notes >> p.facts.behavior_notes >> p.facts.workspace >> knobs;
  if (!in || knobs > CUDNN_KNOB_TYPE_COUNTS) return std::nullopt;
  p.facts.knobs.resize(knobs);
  for (plan_facts::knob& k : p.facts.knobs) in >> k.type >> k.value;
  if (!(in >> bytes) || bytes > text.size() || in.get() != '\n') return std::nullopt;
  p.json.resize(bytes);
  in.read(p.json.data(), static_cast<std::streamsize>(bytes));
  // Converting the plan back must give the same text, including the checksum; so no field is damaged or missing, and
  // nothing follows.
  if (!in || to_text(key, p) != text) return std::nullopt;
  return p;
}

// Returns cuDNN's own description of a plan, or an empty text if cuDNN has no description for this engine.
inline std::string to_json(convolution_plan const& p) {
  try {
    std::vector<char> const json = p.plan.get_all<char>(CUDNN_ATTR_EXECUTION_PLAN_JSON_REPRESENTATION);
    return {json.begin(), json.end()};
  } catch (executor_error const&) {
    return {};
  }
}

// from_json() and from_engine() convert a stored plan back. They return nothing if cuDNN refuses the plan, for whatever
// reason; the caller then searches for a plan.
inline std::optional<convolution_plan> from_json(plan_target const& on, convolution_options const& o,
                                                 stored_plan const& stored) {
  if (stored.json.empty()) return std::nullopt;
  try {
    convolution_plan p{.pass = o.pass, .facts = stored.facts};
    p.plan = backend_descriptor(on.calls(), CUDNN_BACKEND_EXECUTION_PLAN_DESCRIPTOR, "a stored plan");
    on.prepare_plan(p.plan);
    p.plan.set(CUDNN_ATTR_EXECUTION_PLAN_JSON_REPRESENTATION, stored.json.data(),
               static_cast<std::int64_t>(stored.json.size()));
    p.plan.finalize();
    p.facts.workspace = p.plan.get<std::int64_t>(CUDNN_ATTR_EXECUTION_PLAN_WORKSPACE_SIZE);
    return p;
  } catch (executor_error const&) {
    return std::nullopt;
  }
}

inline std::optional<convolution_plan> from_engine(plan_target const& on, convolution const& c,
                                                   convolution_options const& o, plan_facts const& facts) {
  api const& a = on.calls();
  try {
    convolution_plan p{.pass = o.pass, .facts = facts, .graph = std::make_shared<convolution_graph const>(on, c, o)};
    backend_descriptor engine(a, CUDNN_BACKEND_ENGINE_DESCRIPTOR, "a stored engine");
    engine.set(CUDNN_ATTR_ENGINE_OPERATION_GRAPH, p.graph->get());
    engine.set(CUDNN_ATTR_ENGINE_GLOBAL_INDEX, facts.engine);
    on.prepare_engine(engine);
    engine.finalize();
    for (plan_facts::knob const& k : facts.knobs) {
      backend_descriptor& knob = p.parts.emplace_back(a, CUDNN_BACKEND_KNOB_CHOICE_DESCRIPTOR, "a stored knob");
      knob.set(CUDNN_ATTR_KNOB_CHOICE_KNOB_TYPE, static_cast<cudnnBackendKnobType_t>(k.type));
      knob.set(CUDNN_ATTR_KNOB_CHOICE_KNOB_VALUE, k.value);
      knob.finalize();
    }
    p.config = backend_descriptor(a, CUDNN_BACKEND_ENGINECFG_DESCRIPTOR, "a stored configuration");
    p.config.set(CUDNN_ATTR_ENGINECFG_ENGINE, engine);
    p.config.set(CUDNN_ATTR_ENGINECFG_KNOB_CHOICES, p.parts);
    p.config.finalize();
    p.parts.push_back(std::move(engine));
    if (build(on, p) == CUDNN_STATUS_SUCCESS) return p;
    a.cudaGetLastError.function();
    return std::nullopt;
  } catch (executor_error const&) {
    return std::nullopt;
  }
}

}  // namespace dsl::cu::backend::TYPENET_MODE

namespace dsl::cu::TYPENET_MODE {

/// A cache of chosen plans, one file each, for later runs on the same device with the same cuDNN. A file that is
/// missing, damaged, of another format or refused by cuDNN is ignored, and replaced when its plan has been chosen
/// again.
class plan_cache {
 public:
  /// Uses the files in a folder. If `folder` is empty, no plan is stored.
  explicit plan_cache(std::string folder = cache_folder()) : folder_(std::move(folder)) {}

  /// Returns the stored plan of a convolution, or nothing. `way` is how the plan was chosen, such as "first"; plans
  /// chosen in different ways are separate entries.
  std::optional<convolution_plan> find(plan_target const& on, convolution const& c, convolution_options const& o,
                                       char const* way) const {
    std::string const key = key_of(on, c, o, way);
    std::optional<std::string> const text = read_cached(folder_, file_of(key));
    std::optional<backend::stored_plan> const stored = text ? backend::from_text(*text, key) : std::nullopt;
    if (!stored || (stored->facts.numerical_notes & backend::forbidden_notes(o)) != 0 ||
        backend::known_fault(c, o, stored->facts))
      return std::nullopt;
    std::optional<convolution_plan> p = backend::from_json(on, o, *stored);
    if (!p) p = backend::from_engine(on, c, o, stored->facts);
    if (p && p->facts.workspace > o.workspace_limit) p.reset();
    return p;
  }

  /// Stores a plan. Returns false if it could not be written, which is not an error.
  bool store(plan_target const& on, convolution const& c, convolution_options const& o, char const* way,
             convolution_plan const& p) const {
    if (folder_.empty()) return false;
    std::string const key = key_of(on, c, o, way);
    backend::stored_plan const stored{.facts = p.facts, .json = backend::to_json(p)};
    return write_cached(folder_, file_of(key), backend::to_text(key, stored));
  }

  std::string const& folder() const { return folder_; }
  /// Returns the name of the file for a key, such as "plan-1234567890.txt".
  static std::string file_of(std::string const& key) {
    return "plan-" + std::to_string(backend::checksum(key)) + ".txt";
  }
  static std::string key_of(plan_target const& on, convolution const& c, convolution_options const& o,
                            char const* way) {
    return on.name() + "; " + describe(c, o) + "; " + way;
  }

 private:
  std::string folder_;
};

}  // namespace dsl::cu::TYPENET_MODE
