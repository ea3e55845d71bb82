// SPDX-License-Identifier: MIT
#pragma once

#include <dsl/detail/mode.hpp>
#include <dsl/io/safetensors/read.hpp>
#include <dsl/io/weight_layout.hpp>
#include <dsl/training/forward.hpp>

#include <cstdint>
#include <string>
#include <vector>

namespace dsl::TYPENET_MODE {

/// A part of a network to be loaded. It consists of the weights whose names in the network begin with `network`; in the
/// file, their names begin with `file` instead. {"body.", "backbone."} loads body.0.weight from backbone.0.weight. An
/// empty text stands for all names.
struct weights_part {
  std::string network;
  std::string file;
};

/// Options for the names of weights in a file, and for the required content of the file.
struct weights_options {
  weight_naming naming{};
  /// load: whether the file must have all weights of the network, and nothing else. If .parts are given, it must have
  /// all weights of these parts, and nothing else whose name begins like theirs.
  bool strict = true;
  /// load: whether to skip weights that have a different shape in the file, such as those of a classifier for another
  /// number of classes.
  bool skip_mismatch = false;
  /// save, for torch: the value of every num_batches_tracked. If it is below 0, the number of the trainer's steps is
  /// written. Torch uses this value only in a BatchNorm2d with momentum=None.
  long long batches_tracked = -1;
  /// load: the parts of the network to be loaded; if empty, all of the network is loaded. Other weights keep their
  /// values. If several parts match a weight, the first of them applies.
  std::vector<weights_part> parts{};
  /// load: whether the file's normalisation of the data, if it has one, replaces that of the network. Ignored if .parts
  /// are given.
  bool normalization = true;
};

}  // namespace dsl::TYPENET_MODE

namespace dsl::detail::TYPENET_MODE {

/// Returns the name of the num_batches_tracked that belongs to a running variance: "0.1.running_var" ->
/// "0.1.num_batches_tracked".
std::string batches_name(std::string const& variance);

/// A tensor of a file that follows from the size of windows.
struct derived_tensor {
  std::string name{};
  safetensors::dtype type = safetensors::dtype::f32;
  std::uint64_t count = 0;
  window of{};
};

/// Reads the weights of a network from a file.
class weight_reader {
 public:
  weight_reader(safetensors::file const& f, weights_options const& o) : file_(f), options_(o) {}

  [[noreturn]] void fail(std::string const& what, std::string const& advice) const;

  /// Returns the name that every weight of the network has in the file; it is empty for a weight that is in no part.
  /// Throws option_error if a part has no weights, or if two weights would have the same name.
  std::vector<std::string> names_in_file(std::vector<std::string> const& names) const;
  /// Compares the file with the network. Throws format_error for a difference that the options do not allow.
  loaded_weights check(engine const& e, weight_layout const& layout, std::vector<std::string> const& own,
                       std::vector<std::string> const& names);
  /// Whether a tensor has that shape. In PyTorch's files, sizes of 1 at the end are ignored, because the kernel of a
  /// 1x1 convolution may come from an nn.Linear.
  bool has_shape(safetensors::tensor const& t, std::vector<std::uint64_t> const& shape) const;
  void read(safetensors::tensor const& t, std::vector<float>& out) const;

 private:
  static std::string shown(std::string const& name) { return safetensors::detail::shown(name); }

  void fits(safetensors::tensor const& t, std::vector<std::uint64_t> const& shape) const;
  /// Throws format_error if a tensor has other numbers than the network's constant, which loading never changes.
  void check_constant(safetensors::tensor const& t, parameter const& p) const;
  long long read_batches(safetensors::tensor const& t) const;
  /// Whether a name in the file belongs to a part to be loaded.
  bool is_wanted(std::string const& name) const;
  void require_all(loaded_weights const& found, graph_view const& g) const;
  /// Returns the tensors that torchvision saves together with a weight of attention in windows. typenet does not store
  /// them, since the network's type determines them.
  std::vector<derived_tensor> derived_from(graph_view const& g, int k, std::string const& name) const;
  void check_derived(safetensors::tensor const& t, derived_tensor const& d) const;

  safetensors::file const& file_;
  weights_options const& options_;
};

}  // namespace dsl::detail::TYPENET_MODE

namespace dsl::TYPENET_MODE {

/// Writes all parameters and running statistics as floats, under the names that they have in a PyTorch or Keras model
/// with the same layers. If several processes train together, only one of them should save. If this fails, throws
/// file_error and leaves an existing file unchanged.
void save_safetensors(engine& e, std::string const& path, weights_options const& options = {});
void save_safetensors(trainer& t, std::string const& path, weights_options options = {});

/// Loads the weights of a safetensors file: F32 numbers without any change, F16 and BF16 numbers by exact conversion.
/// The optimizer's slots do not change. A file that has none of the network's weights is an error, whatever the options
/// are. Throws file_error if the file cannot be read, breaks the format, or has other weights (format_error); then
/// nothing has changed. Processes that train together must all load the same file.
loaded_weights load_safetensors(engine& e, std::string const& path, weights_options const& options = {});
loaded_weights load_safetensors(trainer& t, std::string const& path, weights_options const& options = {});
loaded_weights load_safetensors(predictor& p, std::string const& path, weights_options const& options = {});

}  // namespace dsl::TYPENET_MODE

#ifdef TYPENET_DEFINITIONS
#include <dsl/io/safetensors/weights_inl.hpp>
#endif
