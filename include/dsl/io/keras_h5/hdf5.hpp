// SPDX-License-Identifier: MIT
#pragma once

#include <dsl/detail/mode.hpp>
#include <dsl/error.hpp>
#include <dsl/io/weight_text.hpp>

#include <hdf5.h>

#include <string>
#include <utility>

namespace dsl::keras_h5::TYPENET_MODE {

/// What is wrong with a file.
enum class fault : unsigned char {
  not_hdf5,    // or damaged before anything could be looked at
  damaged,     // HDF5 can't read on
  link,        // other than a hard one: to another file, another name, or of a user's own kind
  wrong_kind,  // a group where a dataset should be, or the other way round
  dtype,       // numbers of another type than float, or 16 bits of one
  shape,
  storage,  // a dataset whose numbers are not in this file in one piece: virtual, external, chunked, or not there
  unsuitable_weights,  // one that the network wants is missing, or there is one that it hasn't got
};

/// A file that is no sound HDF5 file, or holds other weights than were asked for. Nothing was changed.
struct TYPENET_EXPORT format_error : file_error {
  fault which;
  std::string dataset;  // or the group; empty: the file as a whole
  format_error(fault f, std::string name, std::string const& what);
};

}  // namespace dsl::keras_h5::TYPENET_MODE

namespace dsl::keras_h5::detail::TYPENET_MODE {

using dsl::detail::shown;

/// While one lives, HDF5 prints nothing of what fails to stderr. Like all of HDF5's state that is for the thread, or,
/// in a library without threads, for the process: no two threads may be in such a library at once.
class silence {
 public:
  silence();
  silence(silence const&) = delete;
  silence& operator=(silence const&) = delete;
  ~silence() { H5Eset_auto2(H5E_DEFAULT, print_, data_); }

 private:
  H5E_auto2_t print_ = nullptr;
  void* data_ = nullptr;
};

/// What HDF5 says of its last failure: the innermost cause.
[[gnu::cold]] std::string reason();

/// Something of HDF5's, closed with this; below 0 where HDF5 could not make it.
class handle {
 public:
  using closer = herr_t (*)(hid_t);
  handle() = default;
  handle(hid_t id, closer close) : id_(id), close_(close) {}
  handle(handle&& from) noexcept : id_(std::exchange(from.id_, -1)), close_(from.close_) {}
  handle& operator=(handle&& from) noexcept;
  ~handle();

  hid_t id() const { return id_; }
  explicit operator bool() const { return id_ >= 0; }

 private:
  hid_t id_ = -1;
  closer close_ = nullptr;
};

}  // namespace dsl::keras_h5::detail::TYPENET_MODE

#ifndef TYPENET_COMPILED
#include <dsl/io/keras_h5/hdf5_inl.hpp>
#endif
