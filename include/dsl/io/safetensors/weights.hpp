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

/// How weights are named in a file, and what a file must have.
struct weights_options {
  weight_naming naming{};
  /// load: every weight of the network must be in the file, and nothing else.
  bool strict = true;
  /// load: leave out weights that have another shape in the file, as the classifier has in a network of other classes.
  bool skip_mismatch = false;
  /// save, for torch: what every num_batches_tracked becomes; below 0: the trainer's steps. Torch reads it where a
  /// BatchNorm2d has momentum=None, and nowhere else.
  long long batches_tracked = -1;
};

}  // namespace dsl::TYPENET_MODE

namespace dsl::detail::TYPENET_MODE {

/// "0.1.running_var" -> "0.1.num_batches_tracked"
[[gnu::cold]] std::string batches_name(std::string const& variance);

/// The weights of one network against one file.
class weight_reader {
 public:
  weight_reader(safetensors::file const& f, weights_options const& o) : file_(f), options_(o) {}

  [[noreturn]] void fail(std::string const& what, std::string const& advice) const;

  /// Throws where there is something that the network can't take.
  [[gnu::cold]] loaded_weights check(engine const& e, weight_layout const& layout,
                                     std::vector<std::string> const& names);
  [[gnu::cold]] void read(safetensors::tensor const& t, std::vector<float>& out) const;

 private:
  static std::string shown(std::string const& name) { return safetensors::detail::shown(name); }

  [[gnu::cold]] void fits(safetensors::tensor const& t, std::vector<std::uint64_t> const& shape) const;
  [[gnu::cold]] long long read_batches(safetensors::tensor const& t) const;
  [[gnu::cold]] void require_all(loaded_weights const& found, graph_view const& g) const;

  safetensors::file const& file_;
  weights_options const& options_;
};

}  // namespace dsl::detail::TYPENET_MODE

namespace dsl::TYPENET_MODE {

/// Writes every parameter in float, with the running statistics, under the names that a PyTorch or Keras model of the
/// same layers has. Of processes that train together one saves. Throws file_error; then a file that was there before is
/// as it was.
[[gnu::cold]] void save_safetensors(engine& e, std::string const& path, weights_options const& options = {});
[[gnu::cold]] void save_safetensors(trainer& t, std::string const& path, weights_options options = {});

/// Gives the network what such a file holds: every bit of F32, and F16 and BF16 exactly. The optimizer's slots stay as
/// they are. A file with nothing for the network is an error, however lenient the options are. Throws file_error where
/// the file can't be read, breaks the format, or has other weights (format_error), and has changed nothing then.
/// Processes that train together must all load the same file.
[[gnu::cold]] loaded_weights load_safetensors(engine& e, std::string const& path, weights_options const& options = {});
[[gnu::cold]] loaded_weights load_safetensors(trainer& t, std::string const& path, weights_options const& options = {});

}  // namespace dsl::TYPENET_MODE

#ifndef TYPENET_COMPILED
#include <dsl/io/safetensors/weights_inl.hpp>
#endif
