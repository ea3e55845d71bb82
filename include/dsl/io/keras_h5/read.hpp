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

/// A file that is read from. Everything is found by hard links, and a dataset is looked at before anything of it is
/// read: so nothing is taken from other files, nothing unpacked, and memory is what the network's own shapes need.
/// HDF5 itself parses the file. Throws file_error where it can't be read, of which format_error says that it is none of
/// these.
class file {
 public:
  explicit file(std::string path);

  std::string const& path() const { return path_; }

  /// Whether there is something of this name: "layers/conv2d/vars/0". Throws format_error for a link on the way there
  /// that isn't hard.
  [[gnu::cold]] bool has(std::string const& name) const;

  /// Names of all datasets below a group, in the order of the alphabet, without the states of random numbers that
  /// layers have.
  [[gnu::cold]] std::vector<std::string> datasets(std::string const& group) const;
  /// Names of what is directly in a group.
  [[gnu::cold]] std::vector<std::string> names_in(std::string const& group) const;

  /// Every number of one dataset: 32 bits as they are, 16 exactly. Throws format_error where it has another shape or
  /// type, or doesn't lie in this file in one piece; nothing is read then.
  [[gnu::cold]] std::vector<float> read(std::string const& name, std::vector<std::uint64_t> const& shape) const;

  [[noreturn]] void fail(fault which, std::string const& name, std::string const& what,
                         std::string const& advice) const;

 private:
  enum class number : unsigned char { f32, f16, bf16 };
  static constexpr char const* another = "give another file";
  // Keras's own files have a few groups a layer, three to six deep. Links may lead back, so that there is no end, or
  // meet again in one group, so that a small file has more names than memory has room for.
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
  [[gnu::cold]] std::string found_instead() const;

  /// Below 0: there is none.
  [[gnu::cold]] detail::handle find(std::string const& name) const;
  /// What a hard link leads to, never anything else's.
  [[gnu::cold]] detail::handle open(detail::handle const& group, std::string const& part,
                                    std::string const& name) const;
  [[noreturn, gnu::cold]] void fail_endless(std::string const& name) const;
  [[gnu::cold]] std::vector<std::string> names_in(detail::handle const& group, std::string const& name,
                                                  listing& left) const;
  [[gnu::cold]] void collect(detail::handle const& object, std::string const& name, int depth, listing& left,
                             std::vector<std::string>& all) const;

  [[gnu::cold]] void check_storage(detail::handle const& dataset, std::string const& name) const;
  [[gnu::cold]] void check_shape(detail::handle const& dataset, std::string const& name,
                                 std::vector<std::uint64_t> const& shape) const;
  /// How numbers are written. Keras has bfloat16 as bytes without a meaning, which an attribute gives them.
  [[gnu::cold]] number number_of(detail::handle const& dataset, detail::handle const& type,
                                 std::string const& name) const;
  static bool says_bfloat16(detail::handle const& dataset);
  [[gnu::cold]] void read_numbers(detail::handle const& dataset, hid_t type, void* to, std::string const& name) const;

  std::string path_;
  detail::handle file_;
};

}  // namespace dsl::keras_h5::TYPENET_MODE

#ifndef TYPENET_COMPILED
#include <dsl/io/keras_h5/read_inl.hpp>
#endif
