// SPDX-License-Identifier: MIT
#pragma once

#include <dsl/detail/mode.hpp>
#include <dsl/io/safetensors/read.hpp>
#include <dsl/io/weight_layout.hpp>
#include <dsl/training/trainer.hpp>

#include <cstdint>
#include <string>
#include <vector>

namespace dsl::TYPENET_MODE {

/// A part of a network to be loaded: the weights whose names begin with `network`, from those in the file whose names
/// begin with `file` instead. {"body.", "backbone."} loads body.0.weight from backbone.0.weight; an empty text stands
/// for all names.
struct weights_part {
  std::string network;
  std::string file;
};

/// Options for the names of weights in a file, and for what a file must contain.
struct weights_options {
  weight_naming naming{};
  /// load: whether the file must have every weight of the network, and nothing else; with .parts, every weight of these
  /// parts, and nothing else that begins with their names.
  bool strict = true;
  /// load: skips weights that have another shape in the file, such as those of a classifier for another number of
  /// classes.
  bool skip_mismatch = false;
  /// save, for torch: the value of every num_batches_tracked; below 0: the trainer's steps. Torch uses it only in a
  /// BatchNorm2d with momentum=None.
  long long batches_tracked = -1;
  /// load: the parts of the network to be loaded; empty: all of it. Other weights keep their values. If several parts
  /// match a weight, the first one applies.
  std::vector<weights_part> parts{};
  /// load: whether the network takes over the normalisation of the data, if the file has one; not with .parts.
  bool normalization = true;
};

}  // namespace dsl::TYPENET_MODE

namespace dsl::detail::TYPENET_MODE {

/// Returns a name of num_batches_tracked: "0.1.running_var" -> "0.1.num_batches_tracked".
[[gnu::cold]] std::string batches_name(std::string const& variance);

/// Reads the weights of a network from a file.
class weight_reader {
 public:
  weight_reader(safetensors::file const& f, weights_options const& o) : file_(f), options_(o) {}

  [[noreturn]] void fail(std::string const& what, std::string const& advice) const;

  /// Returns the name in the file of every weight of the network; empty for those in no part. Throws option_error for a
  /// part without weights, and if two weights would have one name.
  [[gnu::cold]] std::vector<std::string> names_in_file(std::vector<std::string> const& names) const;
  /// Compares the file with the network. Throws format_error if the options do not allow a difference.
  [[gnu::cold]] loaded_weights check(engine const& e, weight_layout const& layout, std::vector<std::string> const& own,
                                     std::vector<std::string> const& names);
  /// Whether a tensor has that shape; sizes of 1 at the end are ignored in PyTorch's files, in which the kernel of a
  /// 1x1 convolution may belong to an nn.Linear.
  [[gnu::cold]] bool has_shape(safetensors::tensor const& t, std::vector<std::uint64_t> const& shape) const;
  [[gnu::cold]] void read(safetensors::tensor const& t, std::vector<float>& out) const;

 private:
  static std::string shown(std::string const& name) { return safetensors::detail::shown(name); }

  [[gnu::cold]] void fits(safetensors::tensor const& t, std::vector<std::uint64_t> const& shape) const;
  [[gnu::cold]] long long read_batches(safetensors::tensor const& t) const;
  /// Whether a name in the file belongs to a part to be loaded.
  [[gnu::cold]] bool is_wanted(std::string const& name) const;
  [[gnu::cold]] void require_all(loaded_weights const& found, graph_view const& g) const;

  safetensors::file const& file_;
  weights_options const& options_;
};

}  // namespace dsl::detail::TYPENET_MODE

namespace dsl::TYPENET_MODE {

/// Writes all parameters in float, with the running statistics, under the names of a PyTorch or Keras model with the
/// same layers. Of processes that train together, one saves. Throws file_error, and leaves an existing file as it was.
[[gnu::cold]] void save_safetensors(engine& e, std::string const& path, weights_options const& options = {});
[[gnu::cold]] void save_safetensors(trainer& t, std::string const& path, weights_options options = {});

/// Loads such a file: F32 bit by bit, F16 and BF16 exactly. The optimizer's slots stay as they are. A file without any
/// weight of the network is an error whatever the options. Throws file_error if the file cannot be read, breaks the
/// format, or has other weights (format_error); then nothing has changed. Processes that train together must all load
/// the same file.
[[gnu::cold]] loaded_weights load_safetensors(engine& e, std::string const& path, weights_options const& options = {});
[[gnu::cold]] loaded_weights load_safetensors(trainer& t, std::string const& path, weights_options const& options = {});

}  // namespace dsl::TYPENET_MODE

#ifndef TYPENET_COMPILED
#include <dsl/io/safetensors/weights_inl.hpp>
#endif
