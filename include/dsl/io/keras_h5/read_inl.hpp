// SPDX-License-Identifier: MIT
#pragma once

#include <dsl/detail/mode.hpp>
#include <dsl/io/keras_h5/hdf5.hpp>
#include <dsl/io/keras_h5/read.hpp>
#include <dsl/io/weight_halves.hpp>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>
#include <utility>
#include <vector>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

namespace dsl::keras_h5::TYPENET_MODE {

TYPENET_INLINE file::file(std::string path) : path_(std::move(path)) {
  detail::silence const quiet;
  check_regular();
  detail::handle const access(H5Pcreate(H5P_FILE_ACCESS), H5Pclose);
  H5Pset_fclose_degree(access.id(), H5F_CLOSE_STRONG);
  file_ = detail::handle(H5Fopen(path_.c_str(), H5F_ACC_RDONLY, access.id()), H5Fclose);
  if (!file_)
    fail(fault::not_hdf5, {}, "must be an HDF5 file; found " + found_instead(),
         "save it with Keras 3: model.save_weights(\"x.weights.h5\")");
}

TYPENET_INLINE bool file::has(std::string const& name) const {
  detail::silence const quiet;
  return static_cast<bool>(find(name));
}

TYPENET_INLINE std::vector<std::string> file::datasets(std::string const& group) const {
  detail::silence const quiet;
  std::vector<std::string> all;
  listing left;
  if (detail::handle const from = find(group)) collect(from, group, 0, left, all);
  return all;
}

TYPENET_INLINE std::vector<std::string> file::names_in(std::string const& group) const {
  detail::silence const quiet;
  listing left;
  detail::handle const from = find(group);
  return from ? names_in(from, group, left) : std::vector<std::string>{};
}

TYPENET_INLINE std::vector<float> file::read(std::string const& name, std::vector<std::uint64_t> const& shape) const {
  detail::silence const quiet;
  detail::handle const dataset = find(name);
  if (!dataset || H5Iget_type(dataset.id()) != H5I_DATASET)
    fail(fault::wrong_kind, name, "must have a dataset " + detail::shown(name) + "; found none", another);
  check_storage(dataset, name);
  check_shape(dataset, name, shape);
  std::uint64_t count = 1;
  for (std::uint64_t d : shape) count *= d;
  detail::handle const type(H5Dget_type(dataset.id()), H5Tclose);
  number const kind = number_of(dataset, type, name);
  if (H5Dget_storage_size(dataset.id()) != count * (kind == number::f32 ? 4 : 2))
    fail(fault::storage, name,
         "must contain " + std::to_string(count * (kind == number::f32 ? 4 : 2)) + " bytes of " + detail::shown(name) +
             "; found " + std::to_string(H5Dget_storage_size(dataset.id())),
         another);
  std::vector<float> all(count);
  if (kind == number::f32) {
    read_numbers(dataset, H5T_NATIVE_FLOAT, all.data(), name);
    return all;
  }
  std::vector<std::uint16_t> halves(count);
  read_numbers(dataset, type.id(), halves.data(), name);
  for (std::size_t i = 0; i < count; ++i)
    all[i] = kind == number::f16 ? float_of_f16(halves[i]) : float_of_bf16(halves[i]);
  return all;
}

TYPENET_INLINE void file::fail(fault which, std::string const& name, std::string const& what,
                               std::string const& advice) const {
  throw format_error(which, name, "keras_h5: " + path_ + " " + what + "; " + advice);
}

TYPENET_INLINE void file::check_regular() const {
  auto const refuse = [&](std::string const& found) {
    throw file_error("keras_h5: cannot read " + path_ + ": " + found + "; " + another);
  };
  int const descriptor = ::open(path_.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (descriptor < 0) refuse(std::strerror(errno));
  struct stat status{};
  bool const known = ::fstat(descriptor, &status) == 0;
  ::close(descriptor);
  if (!known || !S_ISREG(status.st_mode)) refuse("it is not a regular file");
}

TYPENET_INLINE std::string file::found_instead() const {
  char begin[4] = {};
  int const descriptor = ::open(path_.c_str(), O_RDONLY | O_CLOEXEC);
  bool const archive = descriptor >= 0 && ::read(descriptor, begin, 4) == 4 && std::string_view(begin, 4) == "PK\3\4";
  if (descriptor >= 0) ::close(descriptor);
  return archive ? "an archive: a .keras file has model.weights.h5 inside" : detail::reason();
}

TYPENET_INLINE detail::handle file::find(std::string const& name) const {
  detail::handle at(H5Gopen2(file_.id(), "/", H5P_DEFAULT), H5Gclose);
  if (!at) fail(fault::damaged, "/", "is damaged: " + detail::reason(), another);
  for (std::size_t begin = 0; begin <= name.size();) {
    std::size_t const end = std::min(name.find('/', begin), name.size());
    std::string const part = name.substr(begin, end - begin), so_far = name.substr(0, end);
    if (H5Iget_type(at.id()) != H5I_GROUP)
      fail(fault::wrong_kind, so_far,
           "must have a group that contains " + detail::shown(so_far) + "; found a dataset in its place", another);
    htri_t const exists = H5Lexists(at.id(), part.c_str(), H5P_DEFAULT);
    if (exists < 0)
      fail(fault::damaged, so_far, "is damaged at " + detail::shown(so_far) + ": " + detail::reason(), another);
    if (exists == 0) return {};
    at = open(at, part, so_far);
    begin = end + 1;
  }
  return at;
}

TYPENET_INLINE detail::handle file::open(detail::handle const& group, std::string const& part,
                                         std::string const& name) const {
  H5L_info_t info{};
  bool const known = H5Lget_info(group.id(), part.c_str(), &info, H5P_DEFAULT) >= 0;
  if (known && info.type != H5L_TYPE_HARD)
    fail(fault::link, name,
         "must contain " + detail::shown(name) + " itself; found " +
             (info.type == H5L_TYPE_SOFT       ? "a soft link"
              : info.type == H5L_TYPE_EXTERNAL ? "a link to another file"
                                               : "a link of an unknown kind"),
         another);
  detail::handle object(known ? H5Oopen(group.id(), part.c_str(), H5P_DEFAULT) : -1, H5Oclose);
  if (!object) fail(fault::damaged, name, "is damaged at " + detail::shown(name) + ": " + detail::reason(), another);
  return object;
}

TYPENET_INLINE void file::fail_endless(std::string const& name) const {
  fail(fault::damaged, name, "has endlessly nested groups below " + detail::shown(name), another);
}

TYPENET_INLINE std::vector<std::string> file::names_in(detail::handle const& group, std::string const& name,
                                                       listing& left) const {
  struct taken {
    listing& left;
    std::vector<std::string> names{};
    bool too_long = false;
  } to{left};
  auto const keep = [](hid_t, char const* link, H5L_info_t const*, void* data) -> herr_t {
    try {
      taken& all = *static_cast<taken*>(data);
      std::size_t const length = ::strnlen(link, longest_link + 1);
      all.too_long = length > longest_link;
      if (all.too_long || all.left.links-- == 0 || !all.left.take(length)) return 1;  // ends the walk
      all.names.emplace_back(link, length);
      return 0;
    } catch (...) {
      return -1;  // no exception may pass through HDF5
    }
  };
  herr_t const ended = H5Literate(group.id(), H5_INDEX_NAME, H5_ITER_INC, nullptr, keep, &to);
  if (ended < 0) fail(fault::damaged, name, "is damaged at " + detail::shown(name) + ": " + detail::reason(), another);
  if (to.too_long)
    fail(fault::damaged, name,
         "must have names of at most 1024 bytes in " + detail::shown(name) + "; found a longer one", another);
  if (ended > 0) fail_endless(name);
  return std::move(to.names);
}

TYPENET_INLINE void file::collect(detail::handle const& object, std::string const& name, int depth, listing& left,
                                  std::vector<std::string>& all) const {
  if (H5Iget_type(object.id()) == H5I_DATASET) {
    if (!left.take(name.size())) fail_endless(name);
    return all.push_back(name);
  }
  if (H5Iget_type(object.id()) != H5I_GROUP || name.ends_with("/seed_generator")) return;
  if (depth == deepest) fail_endless(name);
  std::vector<std::string> const parts = names_in(object, name, left);
  for (std::string const& part : parts) {
    std::string inner = name;
    inner.append("/").append(part);
    collect(open(object, part, inner), inner, depth + 1, left, all);
  }
}

TYPENET_INLINE void file::check_storage(detail::handle const& dataset, std::string const& name) const {
  detail::handle const how(H5Dget_create_plist(dataset.id()), H5Pclose);
  H5D_layout_t const layout = how ? H5Pget_layout(how.id()) : H5D_LAYOUT_ERROR;
  char const* const found = layout == H5D_VIRTUAL                               ? "a view of other datasets"
                            : layout == H5D_CHUNKED                             ? "chunks, which may be compressed"
                            : layout != H5D_CONTIGUOUS && layout != H5D_COMPACT ? "an unknown layout"
                            : H5Pget_external_count(how.id()) != 0              ? "numbers in another file"
                                                                                : nullptr;
  if (found)
    fail(fault::storage, name, "must store the numbers of " + detail::shown(name) + " contiguously; found " + found,
         layout == H5D_CHUNKED ? "repack the file with contiguous storage, for example with h5repack" : another);
}

TYPENET_INLINE void file::check_shape(detail::handle const& dataset, std::string const& name,
                                      std::vector<std::uint64_t> const& shape) const {
  detail::handle const space(H5Dget_space(dataset.id()), H5Sclose);
  bool const simple = space && H5Sget_simple_extent_type(space.id()) != H5S_NULL;
  int const rank = simple ? H5Sget_simple_extent_ndims(space.id()) : -1;
  hsize_t dims[H5S_MAX_RANK] = {};
  std::vector<std::uint64_t> found;
  if (rank >= 0 && rank <= H5S_MAX_RANK && H5Sget_simple_extent_dims(space.id(), dims, nullptr) == rank)
    found.assign(dims, dims + rank);
  if (rank < 0 || found != shape)
    fail(fault::shape, name,
         "must have " + detail::shown(name) + " with shape " + detail::shown(shape) + "; found " +
             (rank < 0 ? "no shape" : detail::shown(found)),
         "give another file, or the network that it belongs to");
}

TYPENET_INLINE file::number file::number_of(detail::handle const& dataset, detail::handle const& type,
                                            std::string const& name) const {
  H5T_class_t const kind = H5Tget_class(type.id());
  std::size_t const bytes = H5Tget_size(type.id());
  if (H5Tequal(type.id(), H5T_IEEE_F32LE) > 0 || H5Tequal(type.id(), H5T_IEEE_F32BE) > 0) return number::f32;
  if (kind == H5T_FLOAT && bytes == 2 && H5Tget_order(type.id()) == H5T_ORDER_LE) {
    std::size_t sign = 0, exponent = 0, exponent_bits = 0, fraction = 0, fraction_bits = 0;
    H5Tget_fields(type.id(), &sign, &exponent, &exponent_bits, &fraction, &fraction_bits);
    if (sign == 15 && fraction == 0 && exponent == fraction_bits && H5Tget_norm(type.id()) == H5T_NORM_IMPLIED) {
      if (exponent_bits == 5 && fraction_bits == 10 && H5Tget_ebias(type.id()) == 15) return number::f16;
      if (exponent_bits == 8 && fraction_bits == 7 && H5Tget_ebias(type.id()) == 127) return number::bf16;
    }
  }
  if (kind == H5T_OPAQUE && bytes == 2 && says_bfloat16(dataset)) return number::bf16;
  fail(fault::dtype, name,
       "must have " + detail::shown(name) + " in float32, float16 or bfloat16; found " +
           (kind == H5T_FLOAT     ? "numbers of " + std::to_string(8 * bytes) + " bits"
            : kind == H5T_INTEGER ? "integers"
                                  : "something else"),
       "save it as float32 in the program that wrote the file");
}

TYPENET_INLINE bool file::says_bfloat16(detail::handle const& dataset) {
  if (H5Aexists(dataset.id(), "dtype") <= 0) return false;
  detail::handle const attribute(H5Aopen(dataset.id(), "dtype", H5P_DEFAULT), H5Aclose);
  detail::handle const type(H5Aget_type(attribute.id()), H5Tclose);
  detail::handle const space(H5Aget_space(attribute.id()), H5Sclose);
  if (H5Tis_variable_str(type.id()) <= 0 || H5Sget_simple_extent_npoints(space.id()) != 1) return false;
  char* text = nullptr;
  if (H5Aread(attribute.id(), type.id(), static_cast<void*>(&text)) < 0 || !text) return false;
  bool const says = std::string_view(text) == "bfloat16";
  H5free_memory(text);
  return says;
}

TYPENET_INLINE void file::read_numbers(detail::handle const& dataset, hid_t type, void* to,
                                       std::string const& name) const {
  if (H5Dread(dataset.id(), type, H5S_ALL, H5S_ALL, H5P_DEFAULT, to) < 0)
    fail(fault::damaged, name, "is damaged at " + detail::shown(name) + ": " + detail::reason(), another);
}

}  // namespace dsl::keras_h5::TYPENET_MODE
