// SPDX-License-Identifier: MIT
#pragma once

#include <dsl/detail/mode.hpp>
#include <dsl/error.hpp>
#include <dsl/io/keras_h5/hdf5.hpp>
#include <dsl/io/weight_text.hpp>

#include <hdf5.h>
#include <string>
#include <utility>

namespace dsl::keras_h5::TYPENET_MODE {

TYPENET_INLINE format_error::format_error(fault f, std::string name, std::string const& what)
    : file_error(what), which(f), dataset(std::move(name)) {}

}  // namespace dsl::keras_h5::TYPENET_MODE

namespace dsl::keras_h5::detail::TYPENET_MODE {

TYPENET_INLINE silence::silence() {
  H5Eget_auto2(H5E_DEFAULT, &print_, &data_);
  H5Eset_auto2(H5E_DEFAULT, nullptr, nullptr);
}

TYPENET_INLINE std::string reason() {
  char text[61] = {};  // fixed size: no exception may pass through HDF5
  auto const innermost = [](unsigned n, H5E_error2_t const* e, void* to) -> herr_t {
    for (std::size_t i = 0; n == 0 && e->desc && e->desc[i] != 0 && i < sizeof text - 1; ++i)
      static_cast<char*>(to)[i] = e->desc[i];
    return 0;
  };
  H5Ewalk2(H5E_DEFAULT, H5E_WALK_UPWARD, innermost, text);
  return shown(text);
}

TYPENET_INLINE handle& handle::operator=(handle&& from) noexcept {
  std::swap(id_, from.id_);
  std::swap(close_, from.close_);
  return *this;
}

TYPENET_INLINE handle::~handle() {
  if (id_ >= 0) close_(id_);
}

}  // namespace dsl::keras_h5::detail::TYPENET_MODE
