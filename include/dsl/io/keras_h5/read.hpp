// SPDX-License-Identifier: MIT
#pragma once

#include <dsl/detail/mode.hpp>
#include <dsl/io/keras_h5/hdf5.hpp>

#include <cstdint>
#include <string>
#include <vector>

#include <fcntl.h>
#include <sys/stat.h>

namespace dsl::keras_h5::TYPENET_MODE {

/// A file opened for reading. Only hard links are followed, and a dataset is checked before any of it is read. So
/// nothing is read from other files, nothing is decompressed, and the network's own shapes limit the memory that is
/// needed. HDF5 itself parses the file. Throws file_error if the file cannot be read, and the derived format_error if
/// the file is not a valid file of Keras weights.
class file {
 public:
  explicit file(std::string path);

  /// Returns the path that the constructor was given.
  std::string const& path() const { return path_; }

  /// Whether the file has an object with this name, such as "layers/conv2d/vars/0". Throws format_error if the path to
  /// it has a link that is not a hard link.
  bool has(std::string const& name) const;

  /// Returns the names of all datasets below a group, in alphabetical order. Random states of layers are left out.
  std::vector<std::string> datasets(std::string const& group) const;
  /// Returns the names of the objects that a group directly contains.
  std::vector<std::string> names_in(std::string const& group) const;

  /// Reads a dataset of 32-bit floats, or of 16-bit floats, which are converted exactly. Before reading, throws
  /// format_error if the dataset has another shape or type, or is not stored contiguously in this file.
  std::vector<float> read(std::string const& name, std::vector<std::uint64_t> const& shape) const;

  /// Throws format_error with a message about a name in the file.
  [[noreturn]] void fail(fault which, std::string const& name, std::string const& what,
                         std::string const& advice) const;

 private:
  enum class number : unsigned char { f32, f16, bf16 };
  static constexpr char const* another = "give another file";
  // Keras's own files have a few groups per layer, nested three to six deep. In a hostile file links may form a cycle,
  // or meet in one group so that a small file has more names than fit in memory.
  static constexpr int deepest = 32;
  static constexpr std::size_t longest_link = 1024;
  struct listing {  // what may still come
    int links = 200'000;
    std::size_t characters = std::size_t{64} << 20;
    bool take(std::size_t length) {
      if (length > characters) return false;
      characters -= length;
      return true;
    }
  };

  void check_regular() const;
  std::string found_instead() const;

  /// Returns the object with this name, or a handle below 0 if there is none.
  detail::handle find(std::string const& name) const;
  /// Opens the object that a hard link points to. Other links are not followed.
  detail::handle open(detail::handle const& group, std::string const& part, std::string const& name) const;
  [[noreturn, gnu::cold]] void fail_endless(std::string const& name) const;
  std::vector<std::string> names_in(detail::handle const& group, std::string const& name, listing& left) const;
  void collect(detail::handle const& object, std::string const& name, int depth, listing& left,
               std::vector<std::string>& all) const;

  void check_storage(detail::handle const& dataset, std::string const& name) const;
  void check_shape(detail::handle const& dataset, std::string const& name,
                   std::vector<std::uint64_t> const& shape) const;
  /// Returns the format of a dataset's numbers. Keras stores bfloat16 as opaque bytes, which an attribute describes.
  number number_of(detail::handle const& dataset, detail::handle const& type, std::string const& name) const;
  static bool says_bfloat16(detail::handle const& dataset);
  void read_numbers(detail::handle const& dataset, hid_t type, void* to, std::string const& name) const;

  std::string path_;
  detail::handle file_;
};

}  // namespace dsl::keras_h5::TYPENET_MODE

#ifdef TYPENET_DEFINITIONS
#include <dsl/io/keras_h5/read_inl.hpp>
#endif
