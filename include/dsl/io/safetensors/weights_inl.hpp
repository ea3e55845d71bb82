// SPDX-License-Identifier: MIT
#pragma once

#include <dsl/detail/message.hpp>
#include <dsl/detail/mode.hpp>
#include <dsl/io/safetensors/normalization.hpp>
#include <dsl/io/safetensors/read.hpp>
#include <dsl/io/safetensors/weights.hpp>
#include <dsl/io/safetensors/write.hpp>
#include <dsl/io/weight_layout.hpp>
#include <dsl/training/predictor.hpp>
#include <dsl/training/trainer.hpp>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace dsl::detail::TYPENET_MODE {

TYPENET_INLINE std::string batches_name(std::string const& variance) {
  return variance.substr(0, variance.rfind('.') + 1) + "num_batches_tracked";
}

TYPENET_INLINE void weight_reader::fail(std::string const& what, std::string const& advice) const {
  throw safetensors::format_error(safetensors::fault::unsuitable_tensor,
                                  "safetensors: " + file_.path() + " " + what + "; " + advice);
}

TYPENET_INLINE std::vector<std::string> weight_reader::names_in_file(std::vector<std::string> const& names) const {
  if (options_.parts.empty()) return names;
  std::vector<std::string> all(names.size());
  std::vector<bool> used(options_.parts.size());
  for (std::size_t k = 0; k < names.size(); ++k)
    for (std::size_t i = 0; i < options_.parts.size() && !names[k].empty() && all[k].empty(); ++i)
      if (weights_part const& p = options_.parts[i]; names[k].starts_with(p.network)) {
        all[k] = p.file + names[k].substr(p.network.size());
        if (all[k].empty())
          throw option_error("safetensors: each weight must have a name in the file; found that .parts gives " +
                             shown(names[k]) + " an empty one; set the .file of its part");
        used[i] = true;
      }
  std::vector<std::string> named = names;  // constants have no name
  named.erase(std::remove(named.begin(), named.end(), std::string{}), named.end());
  for (std::size_t i = 0; i < used.size(); ++i)
    if (!used[i])
      throw option_error(
          "safetensors: each of .parts must match a weight that no earlier part matches; found none that begins with " +
          shown(options_.parts[i].network) +
          (named.empty() ? "" : "; the names go from " + shown(named.front()) + " to " + shown(named.back())) +
          "; set .network to the beginning of one that weight_names() returns");
  std::vector<std::string> sorted = all;
  std::sort(sorted.begin(), sorted.end());
  for (std::size_t i = 1; i < sorted.size(); ++i)
    if (!sorted[i].empty() && sorted[i] == sorted[i - 1])
      throw option_error("safetensors: .parts must give each weight a different name in the file; found " +
                         shown(sorted[i]) + " twice; change one of the parts");
  return all;
}

TYPENET_INLINE bool weight_reader::is_wanted(std::string const& name) const {
  bool wanted = options_.parts.empty();
  for (weights_part const& p : options_.parts) wanted = wanted || name.starts_with(p.file);
  return wanted;
}

TYPENET_INLINE loaded_weights weight_reader::check(engine const& e, weight_layout const& layout,
                                                   std::vector<std::string> const& own,
                                                   std::vector<std::string> const& names) {
  loaded_weights found;
  std::vector<std::string> used;
  for (int k = 0; k < e.graph().size.parameters; ++k) {
    std::string const& name = names[static_cast<std::size_t>(k)];
    if (own[static_cast<std::size_t>(k)].empty()) continue;
    if (name.empty()) {
      found.skipped.push_back(own[static_cast<std::size_t>(k)]);
      continue;
    }
    used.push_back(name);
    if (e.graph().parameters[k].role == role::moving_variance &&
        options_.naming.convention == weight_convention::torch) {
      used.push_back(batches_name(name));
      if (auto const* const t = file_.find(used.back())) found.batches_tracked = read_batches(*t);
    }
    for (derived_tensor const& d : derived_from(e.graph(), k, name)) {
      used.push_back(d.name);
      if (auto const* const t = file_.find(d.name)) check_derived(*t, d);
    }
    if (safetensors::tensor const* const t = file_.find(name)) {
      if (options_.skip_mismatch && !has_shape(*t, layout.shape(k))) {
        found.mismatched.push_back(name);
        continue;
      }
      fits(*t, layout.shape(k));
      if (e.graph().parameters[k].constant) check_constant(*t, e.graph().parameters[k]);
      ++found.loaded;
      found.names.push_back(name);
    } else {
      found.missing.push_back(name);
    }
  }
  std::sort(used.begin(), used.end());
  for (safetensors::tensor const& t : file_.tensors())
    if (is_wanted(t.name) && !std::binary_search(used.begin(), used.end(), t.name)) found.unexpected.push_back(t.name);
  if (options_.strict || found.loaded == 0) require_all(found, e.graph());
  if (found.loaded == 0 && !found.mismatched.empty())
    fail("must have at least one weight whose shape fits the network; found only weights of other shapes, such as " +
             shown(found.mismatched[0]),
         "give another file, or the network that it belongs to");
  return found;
}

TYPENET_INLINE void weight_reader::read(safetensors::tensor const& t, std::vector<float>& out) const {
  std::string_view const bytes = file_.bytes(t);
  out.resize(bytes.size() * 8 / static_cast<std::size_t>(safetensors::facts_of(t.type).bits));
  safetensors::read_floats(t.type, bytes, out.data());
}

TYPENET_INLINE void weight_reader::fits(safetensors::tensor const& t, std::vector<std::uint64_t> const& shape) const {
  using safetensors::dtype;
  if (t.type != dtype::f32 && t.type != dtype::f16 && t.type != dtype::bf16)
    fail("must have " + shown(t.name) + " in F32, F16 or BF16; found " + safetensors::facts_of(t.type).name,
         "save it as float32 in the program that wrote the file");
  if (!has_shape(t, shape))
    fail("must have " + shown(t.name) + " with shape " + safetensors::detail::shown(shape) + "; found " +
             safetensors::detail::shown(t.shape),
         "give another file, or the network that it belongs to, or load only what fits with .skip_mismatch = true");
}

TYPENET_INLINE void weight_reader::check_constant(safetensors::tensor const& t, parameter const& p) const {
  std::vector<float> all;
  read(t, all);
  auto const own = static_cast<float>(p.initial.number);
  for (float each : all)
    if (!(each == own))
      fail(message(
               {"must have ", shown(t.name), " with the constant ", p.initial.number, " of the network; found ", each}),
           "give the file of this network, or a network in which this is a weight, such as batch_norm");
}

TYPENET_INLINE bool weight_reader::has_shape(safetensors::tensor const& t,
                                             std::vector<std::uint64_t> const& shape) const {
  auto const without_ones = [](std::vector<std::uint64_t> s) {
    while (!s.empty() && s.back() == 1) s.pop_back();
    return s;
  };
  bool const torch = options_.naming.convention == weight_convention::torch;
  return t.shape == shape || (torch && without_ones(t.shape) == without_ones(shape));
}

TYPENET_INLINE long long weight_reader::read_batches(safetensors::tensor const& t) const {
  if (t.type != safetensors::dtype::i64 || !t.shape.empty())
    fail("must have " + shown(t.name) + " as a single I64; found " + safetensors::facts_of(t.type).name + " " +
             safetensors::detail::shown(t.shape),
         "give another file");
  long long batches = 0;
  std::memcpy(&batches, file_.bytes(t).data(), sizeof batches);
  return batches;
}

TYPENET_INLINE std::vector<derived_tensor> weight_reader::derived_from(graph_view const& g, int k,
                                                                       std::string const& name) const {
  node const& own = g.nodes[g.parameters[k].node];
  bool const by_table = own.kind == op::window_attention && name.ends_with("relative_position_bias_table");
  bool const by_cosines = own.kind == op::head_norm && name.ends_with("logit_scale");
  if (options_.naming.convention != weight_convention::torch || (!by_table && !by_cosines)) return {};
  node const* reader = &own;
  for (int n = 0; by_cosines && n < g.size.nodes; ++n)
    if (g.nodes[n].kind == op::bounded_window_attention && g.input(g.nodes[n]) == own.output) reader = &g.nodes[n];
  window const& w = reader->window;
  auto const tokens = static_cast<std::uint64_t>(w.height) * static_cast<std::uint64_t>(w.width);
  std::string const prefix = name.substr(0, name.rfind('.') + 1);
  std::vector<derived_tensor> all{{prefix + "relative_position_index", safetensors::dtype::i64, tokens * tokens, w}};
  if (by_cosines)
    all.push_back(
        {prefix + "relative_coords_table", safetensors::dtype::f32, 2 * static_cast<std::uint64_t>(offsets_in(w)), w});
  return all;
}

TYPENET_INLINE void weight_reader::check_derived(safetensors::tensor const& t, derived_tensor const& d) const {
  std::uint64_t count = 1;
  for (std::uint64_t const side : t.shape) count *= side;
  if (t.type != d.type || count != d.count)
    fail("must have " + shown(t.name) + " as " + std::to_string(d.count) + " numbers of type " +
             safetensors::facts_of(d.type).name + ", the number for windows of " + std::to_string(d.of.height) + "x" +
             std::to_string(d.of.width) + " pixels; found " + safetensors::facts_of(t.type).name + " " +
             safetensors::detail::shown(t.shape),
         "give another file, or the network that it belongs to");
}

TYPENET_INLINE void weight_reader::require_all(loaded_weights const& found, graph_view const& g) const {
  if (found.missing.empty() && found.unexpected.empty()) return;
  bool const torch = options_.naming.convention == weight_convention::torch;
  weight_naming other = options_.naming;
  other.convention = torch ? weight_convention::keras : weight_convention::torch;
  for (std::string const& name : weight_names(g, other))
    if (options_.parts.empty() && file_.find(name))
      fail("must have " + std::string(torch ? "PyTorch's" : "Keras's") + " names; found " + shown(name),
           std::string("load it with .naming = {weight_convention::") + (torch ? "keras}" : "torch}"));
  if (!found.missing.empty())
    fail("must have " + shown(found.missing[0]) + "; found " + std::to_string(found.loaded) +
             (found.skipped.empty() ? " of the network's " : " of its parts' ") +
             std::to_string(weights_looked_for(found)) + " weights" +
             (found.unexpected.empty() ? ""
                                       : ", and weights that the network lacks, such as " + shown(found.unexpected[0])),
         "load the file into the network that it belongs to, set .naming or .parts to the names in the file, or set "
         ".strict = false");
  fail("must have no weights but the network's; found " + shown(found.unexpected[0]),
       "load the file into the network that it belongs to, or set .strict = false");
}

}  // namespace dsl::detail::TYPENET_MODE

namespace dsl::TYPENET_MODE {

TYPENET_INLINE void save_safetensors(engine& e, std::string const& path, weights_options const& options) {
  bool const torch = options.naming.convention == weight_convention::torch;
  graph_view const& g = e.graph();
  weight_layout const layout(g, options.naming.convention);
  std::vector<std::string> const names = weight_names(g, options.naming);
  long long const batches = options.batches_tracked < 0 ? 0 : options.batches_tracked;
  std::vector<safetensors::source> tensors;
  std::vector<std::vector<float>> values(names.size());
  for (int k = 0; k < g.size.parameters; ++k) {
    auto const i = static_cast<std::size_t>(k);
    if (names[i].empty()) continue;
    std::vector<float> ours(static_cast<std::size_t>(g.parameters[k].count()));
    e.read_parameter(k, ours.data());
    values[i].resize(ours.size());
    layout.from_ours(k, ours.data(), values[i].data());
    tensors.push_back({names[i],
                       safetensors::dtype::f32,
                       layout.shape(k),
                       {reinterpret_cast<char const*>(values[i].data()), values[i].size() * sizeof(float)}});
    if (torch && g.parameters[k].role == role::moving_variance)
      tensors.push_back({detail::batches_name(names[i]),
                         safetensors::dtype::i64,
                         {},
                         {reinterpret_cast<char const*>(&batches), sizeof batches}});
  }
  safetensors::text_by_name metadata{{"format", torch ? "pt" : "keras"}};
  if (auto const known = e.normalization()) detail::put_normalization(g, *known, metadata);
  safetensors::write(path, std::move(tensors), std::move(metadata));
}

TYPENET_INLINE void save_safetensors(trainer& t, std::string const& path, weights_options options) {
  if (options.batches_tracked < 0) options.batches_tracked = static_cast<long long>(t.steps());
  save_safetensors(t.engine(), path, options);
}

TYPENET_INLINE loaded_weights load_safetensors(engine& e, std::string const& path, weights_options const& options) {
  safetensors::file const file(path);
  weight_layout const layout(e.graph(), options.naming.convention);
  detail::weight_reader reader(file, options);
  std::vector<std::string> const own = weight_names(e.graph(), options.naming), names = reader.names_in_file(own);
  loaded_weights found = reader.check(e, layout, own, names);
  auto const learned =
      options.parts.empty() && options.normalization ? detail::saved_normalization(e.graph(), file) : nullptr;
  std::vector<float> theirs, ours;
  for (int k = 0; k < e.graph().size.parameters; ++k)
    if (safetensors::tensor const* const t = file.find(names[static_cast<std::size_t>(k)]);
        t && !e.graph().parameters[k].constant && !names[static_cast<std::size_t>(k)].empty() &&
        reader.has_shape(*t, layout.shape(k))) {
      reader.read(*t, theirs);
      ours.resize(theirs.size());
      layout.to_ours(k, theirs.data(), ours.data());
      e.write_parameter(k, ours.data());
    }
  if (learned) e.set_normalization(learned);
  return found;
}

TYPENET_INLINE loaded_weights load_safetensors(trainer& t, std::string const& path, weights_options const& options) {
  return load_safetensors(t.engine(), path, options);
}

TYPENET_INLINE loaded_weights load_safetensors(predictor& p, std::string const& path, weights_options const& options) {
  return load_safetensors(p.engine(), path, options);
}

}  // namespace dsl::TYPENET_MODE
