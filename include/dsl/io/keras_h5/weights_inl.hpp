// SPDX-License-Identifier: MIT
#pragma once

#include <dsl/data/normalization.hpp>
#include <dsl/detail/message.hpp>
#include <dsl/detail/mode.hpp>
#include <dsl/io/keras_h5/groups.hpp>
#include <dsl/io/keras_h5/read.hpp>
#include <dsl/io/keras_h5/weights.hpp>
#include <dsl/io/keras_h5/write.hpp>
#include <dsl/io/weight_layout.hpp>
#include <dsl/training/predictor.hpp>
#include <dsl/training/trainer.hpp>
#include <dsl/warning.hpp>

#include <algorithm>
#include <cstring>
#include <string>
#include <string_view>
#include <vector>

namespace dsl::keras_h5::detail::TYPENET_MODE {

/// Returns what the options say about the layers of the Keras model.
TYPENET_INLINE model_layers model_of(keras_h5_options const& o) {
  return {.fused_activations = o.fused_activations, .separable_convolutions = o.separable_convolutions};
}

TYPENET_INLINE dataset_names::dataset_names(graph_view const& g, keras_h5_options const& o)
    : groups_(o.groups.empty() ? groups(g, model_of(o)) : o.groups) {
  model_layers const of = model_of(o);
  if (o.groups.empty() && keras_layers(g, of).in_order() != keras_layers(g, of, true).in_order())
    throw option_error(
        "keras_h5: .groups must be given if branches have explicit padding, since the order of the layers in a Keras "
        "model then depends on where the model has ZeroPadding2D; start from keras_h5::groups(), and change it to the "
        "model's "
        "order unless typenet wrote the file");
  std::size_t layers = 0;
  for (int n = 0; n < g.size.nodes; ++n) layers += has_weights(g, g.nodes[n]);
  for (std::string const& group : groups_) {
    places_.push_back({group});
    if (places_.back().is_of("separable_conv2d")) places_.push_back({group, 1});
  }
  if (places_.size() != layers)
    throw option_error("keras_h5: .groups must have one entry for each of the network's " + std::to_string(layers) +
                       " layers with weights (a separable_conv2d is one entry for two layers); found " +
                       dsl::detail::counted(static_cast<long long>(groups_.size()), "entry", "entries") +
                       ", which stand for " + dsl::detail::counted(static_cast<long long>(places_.size()), "layer") +
                       "; start from keras_h5::groups()");
  check_separable(g);
  std::vector<std::string> sorted = groups_;
  std::sort(sorted.begin(), sorted.end());
  for (std::size_t i = 0; i < sorted.size(); ++i)
    if (!is_path(sorted[i]) || (i > 0 && sorted[i] == sorted[i - 1]))
      throw option_error("keras_h5: each group must be a unique path, such as \"layers/conv2d\"; found " +
                         shown(sorted[i]) +
                         (is_path(sorted[i]) ? " twice; change one of them" : "; leave out slashes at its ends"));
}

TYPENET_INLINE void dataset_names::check_separable(graph_view const& g) const {
  keras_layers const layers(g, {.separable_convolutions = true});
  std::size_t layer = 0;
  int before = -1;  // the last node with weights
  for (int n = 0; n < g.size.nodes; ++n) {
    if (!has_weights(g, g.nodes[n])) continue;
    layer_place const& place = places_[layer++];
    bool const follows = before >= 0 && g.tensors[g.input(g.nodes[n])].producer == before;
    if (place.first > 0 && !(follows && layers.ends_separable(g.nodes[n])))
      throw option_error(
          "keras_h5: a group of .groups whose name begins with separable_conv2d must be that of a depthwise "
          "convolution without bias and the 1x1 convolution directly after it; found " +
          shown(place.group) + " for other layers; start from keras_h5::groups()");
    before = n;
  }
}

TYPENET_INLINE bool dataset_names::is_path(std::string const& name) {
  return !name.empty() && name.front() != '/' && name.back() != '/' && name.find("//") == name.npos &&
         ("/" + name + "/").find("/./") == name.npos && name.find('\0') == name.npos;
}

TYPENET_INLINE weight_reader::weight_reader(file const& f, graph_view const& g, keras_h5_options const& o)
    : file_(f), graph_(g), options_(o), names_(g, o), layout_(g, weight_convention::keras) {}

TYPENET_INLINE std::vector<std::vector<float>> weight_reader::read(loaded_weights& found) const {
  if (options_.groups.empty()) check_activations();
  for (std::string const& wanted : options_.only)
    if (std::vector<std::string> const& all = names_.all_groups();
        std::find(all.begin(), all.end(), wanted) == all.end())
      throw option_error("keras_h5: each of .only must be the group of a layer of the network; found " + shown(wanted) +
                         "; choose from keras_h5::groups(), or from .groups");
  std::vector<std::vector<float>> all(static_cast<std::size_t>(graph_.size.parameters));
  std::vector<std::string> const own = weight_names(graph_, {.convention = weight_convention::keras});
  std::vector<std::string> used, below{"layers"};
  std::size_t layer = 0;
  for (int n = 0; n < graph_.size.nodes; ++n) {
    if (!has_weights(graph_, graph_.nodes[n])) continue;
    layer_place const& place = names_.places()[layer++];
    std::string const& group = place.group;
    if (!options_.only.empty() && std::find(options_.only.begin(), options_.only.end(), group) == options_.only.end()) {
      for (int i = 0; i < graph_.nodes[n].parameters; ++i)
        if (!graph_.parameters[graph_.nodes[n].first_parameter + i].constant)
          found.skipped.push_back(
              own[static_cast<std::size_t>(graph_.nodes[n].first_parameter) + static_cast<std::size_t>(i)]);
      continue;
    }
    below.push_back(group.substr(0, group.find('/')));
    for (int i = 0, in_file = 0; i < graph_.nodes[n].parameters; ++i) {
      int const k = graph_.nodes[n].first_parameter + i;
      if (graph_.parameters[k].constant) continue;
      used.push_back(place.dataset(in_file++));
      if (!file_.has(used.back())) {
        found.missing.push_back(used.back());
        continue;
      }
      std::vector<float> theirs;
      try {
        theirs = file_.read(used.back(), layout_.shape(k, place.is_depthwise()));
      } catch (format_error const& e) {
        if (!options_.skip_mismatch || e.which != fault::shape) throw;
        found.mismatched.push_back(used.back());
        continue;
      }
      std::vector<float>& ours = all[static_cast<std::size_t>(k)];
      ours.resize(theirs.size());
      layout_.to_ours(k, theirs.data(), ours.data());
      ++found.loaded;
      found.names.push_back(used.back());
    }
  }
  list_unexpected(found, std::move(used), std::move(below));
  if (options_.strict || found.loaded == 0) require_all(found);
  if (found.loaded == 0 && !found.mismatched.empty())
    file_.fail(
        fault::unsuitable_weights, found.mismatched[0],
        "must have at least one weight whose shape fits the network; found only weights of other shapes, such as " +
            shown(found.mismatched[0]),
        "give another file, or the network that it belongs to");
  return all;
}

TYPENET_INLINE void weight_reader::list_unexpected(loaded_weights& found, std::vector<std::string> used,
                                                   std::vector<std::string> below) const {
  std::sort(used.begin(), used.end());
  std::sort(below.begin(), below.end());
  below.erase(std::unique(below.begin(), below.end()), below.end());
  for (std::string const& top : below)
    for (std::string& name : file_.datasets(top))
      if (!std::binary_search(used.begin(), used.end(), name)) found.unexpected.push_back(std::move(name));
}

TYPENET_INLINE void weight_reader::require_all(loaded_weights const& found) const {
  std::string const of = " of the network's " + std::to_string(dsl::detail::weights_looked_for(found)) +
                         (options_.only.empty() ? " weights" : " weights in .only");
  if (options_.groups.empty() && !file_.has("layers"))
    file_.fail(fault::unsuitable_weights, found.missing.empty() ? "" : found.missing[0],
               "must have a group \"layers\", as Keras 3 makes it; found none",
               "save it with Keras 3: model.save_weights(\"x.weights.h5\"), or give the groups");
  if (!found.missing.empty())
    file_.fail(fault::unsuitable_weights, found.missing[0],
               "must have " + shown(found.missing[0]) + "; found " + std::to_string(found.loaded) + of,
               "load the file into the network that it belongs to, set .groups to its groups, or set .strict = false");
  for (std::string const& name : found.unexpected) {
    // With .only the file may have further layers, but the chosen ones must fit.
    std::string const layer = name.substr(0, name.rfind("/vars/"));
    auto const has = [&](std::vector<std::string> const& all) {
      return std::find(all.begin(), all.end(), layer) != all.end();
    };
    if (has(options_.unused) || (!options_.only.empty() && !has(options_.only))) continue;
    file_.fail(fault::unsuitable_weights, name, "must have no weights but the network's; found " + shown(name),
               "give the network that it belongs to, or .strict = false");
  }
}

TYPENET_INLINE void weight_reader::check_activations() const {
  model_layers of = model_of(options_);
  bool const fused = of.fused_activations;
  of.fused_activations = !fused;
  if (groups(graph_, of) == groups(graph_, model_of(options_))) return;
  int const wanted = keras_layers(graph_, model_of(options_)).activations();
  int there = 0;
  for (std::string const& name : file_.names_in("layers"))
    for (char const* kind : {"activation", "re_lu", "leaky_re_lu", "elu", "softmax"}) {
      std::string_view const rest = std::string_view(name).substr(std::min(name.size(), std::strlen(kind)));
      there += name.starts_with(kind) && (rest.empty() || rest.front() == '_') &&
               rest.find_first_not_of("_0123456789") == rest.npos;
    }
  // A last softmax follows everything else: whether it is a layer of its own changes no order.
  bool const ends_in_one = graph_.nodes[graph_.size.nodes - 1].kind == op::softmax;
  if (there != wanted && (!ends_in_one || there != wanted + (fused ? 1 : -1)))
    file_.fail(fault::unsuitable_weights, "layers",
               "must have " + std::to_string(wanted) + " activation layers; found " + std::to_string(there),
               std::string("set .fused_activations = ") + (fused ? "false" : "true") + ", or give the groups");
}

}  // namespace dsl::keras_h5::detail::TYPENET_MODE

namespace dsl::TYPENET_MODE {

TYPENET_INLINE void save_keras_h5(engine& e, std::string const& path, keras_h5_options const& options) {
  graph_view const& g = e.graph();
  weight_layout const layout(g, weight_convention::keras);
  std::vector<keras_h5::layer> layers;
  keras_h5::detail::dataset_names const names(g, options);
  auto place = names.places().begin();
  for (int n = 0; n < g.size.nodes; ++n) {
    if (!has_weights(g, g.nodes[n])) continue;
    keras_h5::layer& to = place->first > 0 ? layers.back() : layers.emplace_back();
    to.group = place->group;
    for (int k = g.nodes[n].first_parameter; k < g.nodes[n].first_parameter + g.nodes[n].parameters; ++k) {
      if (g.parameters[k].constant) continue;
      std::vector<float> ours(static_cast<std::size_t>(g.parameters[k].count()));
      e.read_parameter(k, ours.data());
      keras_h5::layer::variable& v =
          to.variables.emplace_back(layout.shape(k, place->is_depthwise()), std::vector<float>(ours.size()));
      layout.from_ours(k, ours.data(), v.numbers.data());
    }
    ++place;
  }
  // Keras also has groups for layers without weights. load_keras_h5 counts the activations.
  if (options.groups.empty()) {
    dsl::detail::keras_names activations;
    for (int left = keras_h5::detail::keras_layers(g, keras_h5::detail::model_of(options)).activations(); left > 0;
         --left)
      layers.push_back({.group = "layers/" + activations.next("activation")});
  }
  keras_h5::write(path, layers);
  if (auto const by = e.normalization(); by && !by->empty())
    on_warning(
        detail::message({"keras_h5: the weights were trained on normalised data, and ", path,
                         " cannot contain the mean and the deviation; normalise the inputs of the Keras model in the "
                         "same way"})
            .c_str());
}

TYPENET_INLINE void save_keras_h5(trainer& t, std::string const& path, keras_h5_options const& options) {
  save_keras_h5(t.engine(), path, options);
}

TYPENET_INLINE loaded_weights load_keras_h5(engine& e, std::string const& path, keras_h5_options const& options) {
  keras_h5::file const file(path);
  loaded_weights found;
  std::vector<std::vector<float>> const all = keras_h5::detail::weight_reader(file, e.graph(), options).read(found);
  for (int k = 0; k < e.graph().size.parameters; ++k)
    if (auto const& numbers = all[static_cast<std::size_t>(k)]; !numbers.empty()) e.write_parameter(k, numbers.data());
  return found;
}

TYPENET_INLINE loaded_weights load_keras_h5(trainer& t, std::string const& path, keras_h5_options const& options) {
  return load_keras_h5(t.engine(), path, options);
}

TYPENET_INLINE loaded_weights load_keras_h5(predictor& p, std::string const& path, keras_h5_options const& options) {
  return load_keras_h5(p.engine(), path, options);
}

}  // namespace dsl::TYPENET_MODE
