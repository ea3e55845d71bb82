// SPDX-License-Identifier: MIT
#pragma once

#include <dsl/files/atomic_file.hpp>
#include <dsl/detail/mode.hpp>
#include <dsl/io/keras_h5/hdf5.hpp>
#include <dsl/io/keras_h5/write.hpp>

#include <string>
#include <vector>

namespace dsl::keras_h5::detail::TYPENET_MODE {

TYPENET_INLINE image::image(std::string const& name) {
  handle const access(H5Pcreate(H5P_FILE_ACCESS), H5Pclose);
  need(H5Pset_fapl_core(access.id(), std::size_t{1} << 20, 0), "");
  need(H5Pset_fclose_degree(access.id(), H5F_CLOSE_STRONG), "");
  file_ = handle(need(H5Fcreate(name.c_str(), H5F_ACC_TRUNC, H5P_DEFAULT, access.id()), ""), H5Fclose);
  links_ = handle(need(H5Pcreate(H5P_LINK_CREATE), ""), H5Pclose);
  need(H5Pset_create_intermediate_group(links_.id(), 1), "");
  need(H5Pset_char_encoding(links_.id(), H5T_CSET_UTF8), "");
  dataset_ = handle(need(H5Pcreate(H5P_DATASET_CREATE), ""), H5Pclose);
  need(H5Pset_obj_track_times(dataset_.id(), false), "");  // equal weights give equal bytes
}

TYPENET_INLINE void image::add(layer const& l) {
  std::size_t const slash = l.group.rfind('/');
  std::string const name = slash == std::string::npos ? l.group : l.group.substr(slash + 1);
  handle const group(
      need(H5Gcreate2(file_.id(), (l.group + "/vars").c_str(), links_.id(), H5P_DEFAULT, H5P_DEFAULT), l.group),
      H5Gclose);
  name_it(group, name);
  for (std::size_t i = 0; i < l.variables.size(); ++i) {
    layer::variable const& v = l.variables[i];
    std::string const at = l.group + "/vars/" + std::to_string(i);
    std::vector<hsize_t> const dims(v.shape.begin(), v.shape.end());
    handle const space(need(H5Screate_simple(static_cast<int>(dims.size()), dims.data(), nullptr), at), H5Sclose);
    handle const numbers(need(H5Dcreate2(group.id(), std::to_string(i).c_str(), H5T_IEEE_F32LE, space.id(), links_.id(),
                                         dataset_.id(), H5P_DEFAULT),
                              at),
                         H5Dclose);
    need(H5Dwrite(numbers.id(), H5T_NATIVE_FLOAT, H5S_ALL, H5S_ALL, H5P_DEFAULT, v.numbers.data()), at);
  }
}

TYPENET_INLINE std::string image::bytes() {
  need(H5Fflush(file_.id(), H5F_SCOPE_GLOBAL), "");
  auto const size = static_cast<std::size_t>(need(H5Fget_file_image(file_.id(), nullptr, 0), ""));
  std::string all(size, '\0');
  need(H5Fget_file_image(file_.id(), all.data(), all.size()), "");
  return all;
}

TYPENET_INLINE void image::name_it(handle const& group, std::string const& name) {
  handle const type(need(H5Tcopy(H5T_C_S1), name), H5Tclose);
  need(H5Tset_size(type.id(), H5T_VARIABLE), name);
  need(H5Tset_cset(type.id(), H5T_CSET_UTF8), name);
  handle const space(need(H5Screate(H5S_SCALAR), name), H5Sclose);
  handle const attribute(need(H5Acreate2(group.id(), "name", type.id(), space.id(), H5P_DEFAULT, H5P_DEFAULT), name),
                         H5Aclose);
  char const* const text = name.c_str();
  need(H5Awrite(attribute.id(), type.id(), static_cast<void const*>(&text)), name);
}

}  // namespace dsl::keras_h5::detail::TYPENET_MODE

namespace dsl::keras_h5::TYPENET_MODE {

TYPENET_INLINE void write(std::string const& path, std::vector<layer> const& layers) {
  atomic_file to(path, "keras_h5");
  detail::image all(path);
  for (layer const& l : layers) all.add(l);
  to.write(all.bytes());
  to.commit();
}

}  // namespace dsl::keras_h5::TYPENET_MODE
