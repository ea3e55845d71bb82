// SPDX-License-Identifier: MIT
#pragma once

#include <dsl/files/atomic_file.hpp>
#include <dsl/detail/mode.hpp>
#include <dsl/io/keras_h5/hdf5.hpp>

#include <cstdint>
#include <string>
#include <vector>

namespace dsl::keras_h5::TYPENET_MODE {

/// A layer to write: its group, such as "layers/conv2d_1", and its variables in Keras's order, each row-major.
struct layer {
  struct variable {
    std::vector<std::uint64_t> shape{};
    std::vector<float> numbers{};
  };
  std::string group{};
  std::vector<variable> variables{};
};

}  // namespace dsl::keras_h5::TYPENET_MODE

namespace dsl::keras_h5::detail::TYPENET_MODE {

/// A file in memory. HDF5 changes arbitrary places of a file while writing, so the file on disk is written afterwards,
/// as a whole.
class image {
 public:
  explicit image(std::string const& name);

  void add(layer const& l);
  std::string bytes();

 private:
  template <class Result>
  static Result need(Result r, std::string const& name) {
    if (r < 0)
      throw file_error("keras_h5: HDF5 cannot create " + (name.empty() ? "the file" : shown(name)) + ": " + reason() +
                       "; give other groups, or free some memory");
    return r;
  }
  /// Writes the layer's name to its group, as Keras does. Reading does not need the name, since it finds a layer by its
  /// group.
  static void name_it(handle const& group, std::string const& name);

  silence silence_;
  handle file_;
  handle links_;
  handle dataset_;
};

}  // namespace dsl::keras_h5::detail::TYPENET_MODE

namespace dsl::keras_h5::TYPENET_MODE {

/// Writes a file atomically: an existing file is replaced only when the new one is complete. Throws file_error.
void write(std::string const& path, std::vector<layer> const& layers);

}  // namespace dsl::keras_h5::TYPENET_MODE

#ifdef TYPENET_DEFINITIONS
#include <dsl/io/keras_h5/write_inl.hpp>
#endif
