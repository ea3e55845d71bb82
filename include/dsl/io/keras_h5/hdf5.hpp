// SPDX-License-Identifier: MIT
#pragma once

#include <dsl/detail/mode.hpp>
#include <dsl/error.hpp>
#include <dsl/io/weight_text.hpp>

#include <hdf5.h>

#include <string>
#include <utility>

namespace dsl::keras_h5::TYPENET_MODE {

/// The kinds of faults in a file.
enum class fault : unsigned char {
  not_hdf5,    // or damaged before anything could be read
  damaged,     // HDF5 cannot read on
  link,        // not a hard one: to another file, another name, or user-defined
  wrong_kind,  // a group instead of a dataset, or vice versa
  dtype,       // other than float, or 16-bit float
  shape,
  storage,             // a dataset not stored contiguously in this file: virtual, external, chunked or absent
  unsuitable_weights,  // a weight of the network is missing, or there is one that it lacks
};

/// Thrown for a file that is not a valid HDF5 file or has the weights of another network. Nothing has been changed
/// then.
struct TYPENET_EXPORT format_error : file_error {
  fault which;
  std::string dataset;  // or group; empty: the whole file
  format_error(fault f, std::string name, std::string const& what);
};

}  // namespace dsl::keras_h5::TYPENET_MODE

namespace dsl::keras_h5::detail::TYPENET_MODE {

using dsl::detail::shown;

/// Suppresses HDF5's error messages on stderr as long as the object exists. Like all of HDF5's state, this is per
/// thread or, if the library is not thread-safe, per process: no two threads may use such a library at once.
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

/// Returns the innermost cause of HDF5's last failure.
std::string reason();

/// An HDF5 identifier, which the destructor closes. It is below 0 if HDF5 could not create it.
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

#ifdef TYPENET_DEFINITIONS
#include <dsl/io/keras_h5/hdf5_inl.hpp>
#endif
