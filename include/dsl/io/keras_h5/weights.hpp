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

/// How the Keras model is made, and what a file must have.
struct keras_h5_options {
  /// Where the model keeps its layers with weights, in the network's order: for models inside of models, such as
  /// "layers/sequential/layers/conv2d", and for subclassed ones. Empty: keras_h5::groups().
  std::vector<std::string> groups{};
  /// Keras's layers are Conv2D(activation="relu"), not a Conv2D and an Activation.
  bool fused_activations = false;
  /// load: every weight of the network must be in the file, and no other layer's.
  bool strict = true;
  /// load: leave out weights that have another shape in the file, as Keras's skip_mismatch does.
  bool skip_mismatch = false;
};

}  // namespace dsl::TYPENET_MODE

namespace dsl::keras_h5::detail::TYPENET_MODE {

/// Names of the datasets of a network's parameters.
class dataset_names {
 public:
  [[gnu::cold]] dataset_names(graph_view const& g, keras_h5_options const& o);
  std::vector<std::string> const& all_groups() const { return groups_; }
  /// Of parameter i of a layer.
  static std::string dataset(std::string const& group, int i) { return group + "/vars/" + std::to_string(i); }

 private:
  static bool is_path(std::string const& name);
  std::vector<std::string> groups_;
};

/// The weights of one network against one file.
class weight_reader {
 public:
  weight_reader(file const& f, graph_view const& g, keras_h5_options const& o);

  /// By parameter, in our layout; empty: the file has none.
  [[gnu::cold]] std::vector<std::vector<float>> read(loaded_weights& found) const;

 private:
  [[gnu::cold]] void list_unexpected(loaded_weights& found, std::vector<std::string> used,
                                     std::vector<std::string> below) const;
  [[gnu::cold]] void require_all(loaded_weights const& found) const;
  /// Where branches have different lengths, activations that are layers give another order than those that are not:
  /// weights of one shape would change places, and nothing would say so.
  [[gnu::cold]] void check_activations() const;

  file const& file_;
  graph_view graph_;
  keras_h5_options const& options_;
  dataset_names names_;
  weight_layout layout_;
};

}  // namespace dsl::keras_h5::detail::TYPENET_MODE

namespace dsl::TYPENET_MODE {

/// Writes every parameter in float, with the running statistics, as Keras 3's model.save_weights("x.weights.h5") does;
/// load_weights of a model of the same layers reads it. Of processes that train together one saves. Throws
/// option_error, or file_error; then a file that was there before is as it was.
[[gnu::cold]] void save_keras_h5(engine& e, std::string const& path, keras_h5_options const& options = {});
[[gnu::cold]] void save_keras_h5(trainer& t, std::string const& path, keras_h5_options const& options = {});

/// Gives the network what such a file holds: every bit of float32, and float16 and bfloat16 exactly. What Keras's
/// optimizer has in the file stays there, and the optimizer's slots here stay as they are. A file with nothing for the
/// network is an error, however lenient the options are. Throws option_error, or
/// file_error where the file can't be read, is none of Keras's, or has other weights (format_error), and has changed
/// nothing then. Processes that train together must all load the same file.
[[gnu::cold]] loaded_weights load_keras_h5(engine& e, std::string const& path, keras_h5_options const& options = {});
[[gnu::cold]] loaded_weights load_keras_h5(trainer& t, std::string const& path, keras_h5_options const& options = {});

}  // namespace dsl::TYPENET_MODE

#ifndef TYPENET_COMPILED
#include <dsl/io/keras_h5/weights_inl.hpp>
#endif
