// SPDX-License-Identifier: MIT
#pragma once

#include <dsl/detail/mode.hpp>
#include <dsl/io/keras_h5/groups.hpp>
#include <dsl/io/keras_h5/read.hpp>
#include <dsl/io/weight_layout.hpp>
#include <dsl/training/forward.hpp>

#include <string>
#include <vector>

namespace dsl::TYPENET_MODE {

/// Options that describe the Keras model, and say what a file must contain.
struct keras_h5_options {
  /// The groups of the layers with weights, in the network's order. They must be given for nested models, where a group
  /// is for example "layers/sequential/layers/conv2d", and for subclassed models. If the name of a layer begins with
  /// separable_conv2d, the layer is two convolutions of the network; if it begins with conv2d, its depthwise
  /// convolution is a Conv2D with groups. Empty: keras_h5::groups().
  std::vector<std::string> groups{};
  /// Whether the model has Conv2D(activation="relu") instead of a Conv2D and an Activation.
  bool fused_activations = false;
  /// Whether the model has a SeparableConv2D instead of a depthwise convolution without bias and, directly behind it, a
  /// 1x1 convolution.
  bool separable_convolutions = false;
  /// load: whether the file must have all weights of the network, and no other layers.
  bool strict = true;
  /// load: whether to skip weights whose shape in the file is another one, as Keras's skip_mismatch does.
  bool skip_mismatch = false;
  /// load: the groups of the layers to be loaded; empty: all layers. Other layers keep their weights, and the file may
  /// have layers that are not loaded.
  std::vector<std::string> only{};
  /// load: groups of layers that the file may have in addition to the network's, such as "layers/normalization".
  std::vector<std::string> unused{};
};

}  // namespace dsl::TYPENET_MODE

namespace dsl::keras_h5::detail::TYPENET_MODE {

/// The place of the parameters of a network's layer: a group, and the number of the first of them in the group.
struct layer_place {
  std::string group;
  int first = 0;

  /// Returns the name of the dataset with parameter i of the layer.
  std::string dataset(int i) const { return group + "/vars/" + std::to_string(first + i); }
  /// Whether a convolution of each channel is a DepthwiseConv2D in Keras, or part of a SeparableConv2D.
  bool is_depthwise() const { return !is_of("conv2d") && !is_of("conv1d"); }
  /// Whether the group's own name begins with this class.
  bool is_of(char const* keras_class) const {
    return group.find(keras_class, group.rfind('/') + 1) == group.rfind('/') + 1;
  }
};

/// The names of the datasets of a network's parameters.
class dataset_names {
 public:
  dataset_names(graph_view const& g, keras_h5_options const& o);
  /// Returns the places of the network's layers with parameters.
  std::vector<layer_place> const& places() const { return places_; }
  /// Returns the groups; one of a SeparableConv2D holds two layers.
  std::vector<std::string> const& all_groups() const { return groups_; }

 private:
  static bool is_path(std::string const& name);
  /// Requires that each separable_conv2d stands for the two layers that Keras's SeparableConv2D consists of.
  void check_separable(graph_view const& g) const;
  std::vector<std::string> groups_;
  std::vector<layer_place> places_;
};

/// Reads the weights of a network from a file.
class weight_reader {
 public:
  weight_reader(file const& f, graph_view const& g, keras_h5_options const& o);

  /// Returns the numbers of each parameter, in typenet's layout. A parameter that the file lacks has none.
  std::vector<std::vector<float>> read(loaded_weights& found) const;

 private:
  void list_unexpected(loaded_weights& found, std::vector<std::string> used, std::vector<std::string> below) const;
  void require_all(loaded_weights const& found) const;
  /// Checks that the model has as many activation layers as the options say. If branches have different lengths,
  /// activation layers change the order of the other layers, and weights of equal shape would be exchanged silently.
  void check_activations() const;

  file const& file_;
  graph_view graph_;
  keras_h5_options const& options_;
  dataset_names names_;
  weight_layout layout_;
};

}  // namespace dsl::keras_h5::detail::TYPENET_MODE

namespace dsl::TYPENET_MODE {

/// Writes all parameters and running statistics as floats, as Keras 3's model.save_weights("x.weights.h5") does, and an
/// empty group for each separate activation layer if options.groups is empty; load_weights of a model with the same
/// layers can read the file. If several processes train together, only one of them should save. Throws option_error for
/// invalid options, and file_error if the file cannot be written; an existing file is then unchanged.
void save_keras_h5(engine& e, std::string const& path, keras_h5_options const& options = {});
void save_keras_h5(trainer& t, std::string const& path, keras_h5_options const& options = {});

/// Loads the weights of a Keras file: float32 numbers without any change, float16 and bfloat16 numbers by exact
/// conversion. The file's optimizer state is ignored, and the optimizer's slots stay as they are. A file that has none
/// of the network's weights is an error, whatever the options are. Throws option_error, or file_error if the file
/// cannot be read, is not one of Keras's, or has other weights (format_error); then nothing has changed. Processes that
/// train together must all load the same file.
loaded_weights load_keras_h5(engine& e, std::string const& path, keras_h5_options const& options = {});
loaded_weights load_keras_h5(trainer& t, std::string const& path, keras_h5_options const& options = {});
loaded_weights load_keras_h5(predictor& p, std::string const& path, keras_h5_options const& options = {});

}  // namespace dsl::TYPENET_MODE

#ifdef TYPENET_DEFINITIONS
#include <dsl/io/keras_h5/weights_inl.hpp>
#endif
