// SPDX-License-Identifier: MIT
#pragma once

#include <dsl/detail/mode.hpp>
#include <dsl/io/keras_h5/groups.hpp>
#include <dsl/io/keras_h5/read.hpp>
#include <dsl/io/weight_layout.hpp>
#include <dsl/training/trainer.hpp>

#include <string>
#include <vector>

namespace dsl::TYPENET_MODE {

/// Options that describe the Keras model, and what a file must contain.
struct keras_h5_options {
  /// The groups of the layers with weights, in the network's order, for nested models, such as
  /// "layers/sequential/layers/conv2d", and for subclassed ones. Empty: keras_h5::groups().
  std::vector<std::string> groups{};
  /// Whether the model has Conv2D(activation="relu") instead of a Conv2D and an Activation.
  bool fused_activations = false;
  /// load: whether the file must have every weight of the network, and no other layer's.
  bool strict = true;
  /// load: skips weights that have another shape in the file, as Keras's skip_mismatch does.
  bool skip_mismatch = false;
  /// load: the groups of the layers to be loaded; empty: all. Other layers keep their weights, and the file may have
  /// more layers than those.
  std::vector<std::string> only{};
};

}  // namespace dsl::TYPENET_MODE

namespace dsl::keras_h5::detail::TYPENET_MODE {

/// The names of the datasets of a network's parameters.
class dataset_names {
 public:
  [[gnu::cold]] dataset_names(graph_view const& g, keras_h5_options const& o);
  std::vector<std::string> const& all_groups() const { return groups_; }
  /// Returns the dataset of parameter i of a layer.
  static std::string dataset(std::string const& group, int i) { return group + "/vars/" + std::to_string(i); }

 private:
  static bool is_path(std::string const& name);
  std::vector<std::string> groups_;
};

/// Reads the weights of a network from a file.
class weight_reader {
 public:
  weight_reader(file const& f, graph_view const& g, keras_h5_options const& o);

  /// Returns the numbers of each parameter, in typenet's layout; empty if the file has none.
  [[gnu::cold]] std::vector<std::vector<float>> read(loaded_weights& found) const;

 private:
  [[gnu::cold]] void list_unexpected(loaded_weights& found, std::vector<std::string> used,
                                     std::vector<std::string> below) const;
  [[gnu::cold]] void require_all(loaded_weights const& found) const;
  /// Checks that the model has as many activation layers as the options say. With branches of different lengths they
  /// change the order of layers, and weights of equal shape would be exchanged silently.
  [[gnu::cold]] void check_activations() const;

  file const& file_;
  graph_view graph_;
  keras_h5_options const& options_;
  dataset_names names_;
  weight_layout layout_;
};

}  // namespace dsl::keras_h5::detail::TYPENET_MODE

namespace dsl::TYPENET_MODE {

/// Writes all parameters in float, with the running statistics, as Keras 3's model.save_weights("x.weights.h5") does;
/// load_weights of a model with the same layers reads it. Of processes that train together, one saves. Throws
/// option_error, or file_error, which leaves an existing file as it was.
[[gnu::cold]] void save_keras_h5(engine& e, std::string const& path, keras_h5_options const& options = {});
[[gnu::cold]] void save_keras_h5(trainer& t, std::string const& path, keras_h5_options const& options = {});

/// Loads such a file: float32 bit by bit, float16 and bfloat16 exactly. The file's optimizer state is ignored, and the
/// optimizer's slots stay as they are. A file without any weight of the network is an error whatever the options.
/// Throws option_error, or file_error if the file cannot be read, is not one of Keras's, or has other weights
/// (format_error); then nothing has changed. Processes that train together must all load the same file.
[[gnu::cold]] loaded_weights load_keras_h5(engine& e, std::string const& path, keras_h5_options const& options = {});
[[gnu::cold]] loaded_weights load_keras_h5(trainer& t, std::string const& path, keras_h5_options const& options = {});

}  // namespace dsl::TYPENET_MODE

#ifndef TYPENET_COMPILED
#include <dsl/io/keras_h5/weights_inl.hpp>
#endif
